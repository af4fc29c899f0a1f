//! `lab run`: one program in one guest, on a disk of a model with a file system on it.

use crate::cache::Cache;
use crate::guest::programs::Brought;
use crate::kernels::{self, Wanted};
use crate::machine::disk::{Driver, Model};
use crate::machine::session::{Exit, Stream};
use crate::machine::{Disks, Hardware};
use crate::project::Profile;
use crate::scratch::{Remove, tempfile};
use crate::site::{Site, bring, bring_file};
use crate::tool::{Result, Trouble, at, output};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// Runs it with our stdout and stderr; returns how it ended.
pub(crate) fn run(job: &Job) -> Result<Exit> {
    crate::tool::ready()?;
    let cache = Cache::open()?;
    let kernel = kernels::ready(&cache, job.kernel, job.wanted)?;
    let site = Site { cache: &cache, kernel: &kernel, profile: job.profile };
    let Some(name) = job.command.first() else {
        return Err(Trouble::Failed("no command given after --".to_owned()));
    };
    // What the guest has of its own goes before what the host has of that name.
    let applets = output(Command::new("busybox").arg("--list"))?;
    let mut programs = Vec::new();
    for name in job.with.iter().chain([name]) {
        if !applets.lines().any(|applet| applet == name) {
            let host = site.program(name)?;
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
    let mut machine = site.start(hardware, &disks)?;
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
