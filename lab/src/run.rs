//! `lab run`: one program in one guest, on a disk of a model with a file system on it.

use crate::cache::Cache;
use crate::guest::programs::{Brought, find, with_libraries};
use crate::kernels::{self, Kernel, Wanted};
use crate::machine::disk::{Driver, Model};
use crate::machine::session::{Exit, Stream};
use crate::machine::{Disks, Hardware, Machine};
use crate::project::{self, Profile};
use crate::tool::{Result, Trouble, at};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What to run, and where.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) kernel: &'static kernels::Series,
    pub(crate) wanted: Wanted,
    pub(crate) disk: &'static Model,
    /// ext4, f2fs or none.
    pub(crate) fs: String,
    /// Options of the mount, besides the file system's own.
    pub(crate) mount: String,
    /// Options of mkfs.
    pub(crate) mkfs: String,
    pub(crate) scheduler: Option<String>,
    pub(crate) hardware: Hardware,
    pub(crate) within: Duration,
    /// Files to bring: (host, guest).
    pub(crate) bring: Vec<(PathBuf, String)>,
    /// Further programs to bring.
    pub(crate) with: Vec<String>,
    /// Where files of /out go.
    pub(crate) out: Option<PathBuf>,
    pub(crate) profile: Profile,
    pub(crate) command: Vec<String>,
}

/// A machine with the agent of this source.
pub(crate) fn start(
    cache: &Cache,
    kernel: &Kernel,
    hardware: Hardware,
    disks: &Disks,
    profile: Profile,
) -> std::result::Result<Machine, String> {
    let agent = project::build("lab-agent", profile)?.ok_or("no agent in this project")?;
    Machine::start(cache, kernel, &agent, hardware, disks)
}

/// The shell that makes `fs` on the disk and mounts it at /mnt.
pub(crate) fn prepare(
    model: &Model,
    fs: &str,
    mkfs: &str,
    mount: &str,
    scheduler: Option<&str>,
) -> String {
    let device = model.device();
    let name = device.trim_start_matches("/dev/");
    let mut script = String::from("set -e\n");
    script +=
        &format!("echo {} > /sys/block/{name}/queue/rotational\n", u8::from(model.rotational));
    if let Some(scheduler) = scheduler {
        script += &format!("echo {scheduler} > /sys/block/{name}/queue/scheduler\n");
    }
    // QEMU's card erases block by block while the guest stands still: minutes for a whole card.
    let (ext4, f2fs, keep) = match model.driver {
        Driver::Virtio => ("", "", ""),
        Driver::Mmc => ("-E nodiscard", "-t 0", "nodiscard"),
    };
    let options: Vec<&str> = [keep, mount].into_iter().filter(|part| !part.is_empty()).collect();
    let options = options.join(",");
    let mount = if options.is_empty() { options } else { format!("-o {options}") };
    script += &match fs {
        "none" => String::new(),
        "ext4" => {
            format!("mkfs.ext4 -q -F {ext4} {mkfs} {device}\nmount -t ext4 {mount} {device} /mnt\n")
        }
        _ => format!(
            "mkfs.f2fs -q -f {f2fs} {mkfs} {device} >/dev/null\nmount -t f2fs {mount} {device} /mnt\n"
        ),
    };
    script
}

/// Brings a program with its libraries; what the guest has already is left out.
pub(crate) fn bring(
    machine: &mut Machine,
    host: &Path,
    guest: &str,
) -> std::result::Result<(), String> {
    for one in with_libraries(host, guest)? {
        bring_file(machine, &one)?;
    }
    Ok(())
}

fn bring_file(machine: &mut Machine, one: &Brought) -> std::result::Result<(), String> {
    if !machine.files.insert(one.guest.clone()) {
        return Ok(());
    }
    let (mode, bytes) = one.read()?;
    machine.session.put(&one.guest, mode, bytes)
}

/// A program of this project, else one of this machine.
pub(crate) fn program(
    name: &str,
    profile: Profile,
) -> std::result::Result<Option<PathBuf>, String> {
    Ok(project::build(name, profile)?.or_else(|| find(name)))
}

/// Runs it with our stdout and stderr; returns how it ended.
pub(crate) fn run(job: &Job) -> Result<Exit> {
    crate::tool::ready()?;
    let cache = Cache::open()?;
    let kernel = kernels::ready(&cache, job.kernel, job.wanted)?;
    let Some(name) = job.command.first() else {
        return Err(Trouble::Failed("no command given after --".to_owned()));
    };
    // What the guest has of its own goes before what the host has of that name.
    let applets = crate::tool::output(std::process::Command::new("busybox").arg("--list"))?;
    let mut programs = Vec::new();
    for name in job.with.iter().chain([name]) {
        if !applets.lines().any(|applet| applet == name) {
            let host = program(name, job.profile)?;
            let host =
                host.ok_or_else(|| format!("no program {name}, neither here nor in a guest"))?;
            programs.push((host, name.clone()));
        }
    }
    let image = tempfile("image");
    let _remove = Remove(image.clone());
    let disks = Disks::model(job.disk, image);
    let hardware = Hardware { card: job.disk.driver == Driver::Mmc, ..job.hardware };
    let begin = Instant::now();
    let mut machine = start(&cache, &kernel, hardware, &disks, job.profile)?;
    for (host, name) in &programs {
        let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !machine.files.contains(&format!("/bin/{file}")) {
            bring(&mut machine, host, &format!("/usr/bin/{file}"))?;
        }
    }
    for (host, guest) in &job.bring {
        bring_file(&mut machine, &Brought { host: host.clone(), guest: guest.clone() })?;
    }
    let script = prepare(job.disk, &job.fs, &job.mkfs, &job.mount, job.scheduler.as_deref());
    machine.sh(&script, 120)?;
    let mut argv = vec!["/bin/sh", "-c", "cd /mnt && exec \"$@\"", "sh"];
    let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    argv.push(if name.contains('/') { &file } else { name });
    argv.extend(job.command[1..].iter().map(String::as_str));
    let exit = machine.session.run(&argv, job.within, |stream, bytes| {
        // A reader that has gone is no reason to stop the guest.
        let _ = match stream {
            Stream::Out => std::io::stdout().write_all(bytes),
            Stream::Err => std::io::stderr().write_all(bytes),
        };
    });
    let exit = exit.map_err(|why| machine.explain(&why))?;
    let mut files = 0;
    if let Some(out) = &job.out {
        for file in machine.session.get("/out")? {
            let path = out.join(file.path.trim_start_matches("/out/"));
            write(&path, &file.bytes, file.mode)?;
            files += 1;
        }
        let path = out.join("console");
        write(&path, machine.console().as_bytes(), 0o644)?;
    }
    let differs = if kernel.differs { " (not the one of lab/kernels.lock)" } else { "" };
    eprintln!(
        "lab: Linux {} {}{differs}, {} on {}: exit {}{}, {files} files; {:.2} s, {:.2} s of it to start",
        kernel.release,
        kernel.package.version,
        job.fs,
        job.disk.name,
        exit.code,
        if exit.timed_out { " (killed: its time was over)" } else { "" },
        begin.elapsed().as_secs_f64(),
        machine.start_s,
    );
    Ok(exit)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> std::result::Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    std::fs::write(path, bytes).map_err(at(path))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(at(path))
}

/// A file's name in the temporary folder that nobody else has.
pub(crate) fn tempfile(name: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("baro-lab-{}-{name}-{number}", std::process::id()))
}

/// Removes a file on drop.
#[derive(Debug)]
pub(crate) struct Remove(pub(crate) PathBuf);

impl Drop for Remove {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Brings the load and judge of power cuts.
pub(crate) fn bring_load(
    machine: &mut Machine,
    profile: Profile,
) -> std::result::Result<(), String> {
    let load = project::build("lab-load", profile)?.ok_or("no lab-load in this project")?;
    bring(machine, &load, "/usr/bin/lab-load")
}

/// Brings a library that makes syncs do nothing.
pub(crate) fn bring_nosync(machine: &mut Machine) -> std::result::Result<(), String> {
    let (source, library) = (project::root().join("lab/load/nosync.c"), tempfile("nosync.so"));
    let _remove = Remove(library.clone());
    let mut cc = std::process::Command::new("cc");
    crate::tool::output(cc.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source))?;
    let one = Brought { host: library.clone(), guest: "/lib/nosync.so".to_owned() };
    bring_file(machine, &one)
}
