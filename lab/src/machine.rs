//! A guest: QEMU with a kernel of Debian's, disks, a console that goes to a file, and an agent
//! that takes commands.
//!
//! A machine is booted once for each kernel and set of devices, and saved; from then on it is
//! restored, which takes a tenth of a second. What a restored machine was told to wait for was the
//! agent's next command, so that it is as if it had just booted. One with a card cannot be saved.
//!
//! Invariant: QEMU ends with the machine's owner, whatever happened to it; its files are removed then,
//! or by the next lab. Test: `cargo xtask lab test`.

pub(crate) mod disk;
pub(crate) mod qmp;
mod saved;
pub(crate) mod session;

use crate::cache::{Cache, Turn};
use crate::guest::initramfs;
use crate::kernels::Kernel;
use crate::scratch::tempfolder;
use crate::tool::{at, last_lines};
use disk::{Driver, Model};
use qmp::Qmp;
use session::Session;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest boot: ten times what a slow laptop takes.
const BOOT: Duration = Duration::from_secs(120);
/// Two to the power of 3 ns each: about what the emulator does, so that a busy guest's clock is not far
/// from its devices'.
const INSTRUCTIONS: &str = "shift=3,sleep=on,align=off";

/// The hardware of a machine; a saved one fits one kernel and one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hardware {
    pub(crate) memory_mib: u32,
    /// Bytes of each disk; a power of two, as SD cards are.
    pub(crate) disk_bytes: u64,
    /// Whether it has a card reader with a card. QEMU 7.2 does not save the state of the controller
    /// (its registers are zero when it is restored), so that such a machine is booted each time.
    pub(crate) card: bool,
    /// One or two. With two QEMU 7.2 now and then runs a breakpoint that the other has just patched
    /// away, of which Linux 6.12 dies; with one, two guests fit a host of two processors.
    pub(crate) processors: u8,
    /// The guest's clock counts its instructions, 8 ns each, while it has something to do, and goes
    /// with the host's while it waits: what the host does meanwhile takes no time in the guest. One
    /// processor; devices stay as fast as their models.
    pub(crate) counted: bool,
}

impl Default for Hardware {
    fn default() -> Self {
        Hardware {
            memory_mib: 512,
            disk_bytes: 2 << 30,
            card: false,
            processors: 2,
            counted: false,
        }
    }
}

/// What is behind a disk of the guest.
#[derive(Debug, Clone)]
pub(crate) enum Backing {
    /// Nothing written to it matters.
    Blank,
    /// A file, made if it is not there; limits of a model.
    File(PathBuf, &'static Model),
    /// A file whose writes and flushes are logged to another.
    Logged { image: PathBuf, log: PathBuf },
}

/// The disks of a guest.
#[derive(Debug, Clone)]
pub(crate) struct Disks {
    /// /dev/vda
    pub(crate) first: Backing,
    /// /dev/vdb
    pub(crate) second: Backing,
    /// /dev/mmcblk0, where the hardware has a card.
    pub(crate) card: Backing,
}

impl Disks {
    pub(crate) fn blank() -> Self {
        Disks { first: Backing::Blank, second: Backing::Blank, card: Backing::Blank }
    }

    /// A disk of a model, behind its driver.
    pub(crate) fn model(model: &'static Model, image: PathBuf) -> Self {
        let backing = Backing::File(image, model);
        match model.driver {
            Driver::Virtio => Disks { first: backing, ..Disks::blank() },
            Driver::Mmc => Disks { card: backing, ..Disks::blank() },
        }
    }
}

/// A running guest.
#[derive(Debug)]
pub(crate) struct Machine {
    qemu: Qemu,
    pub(crate) session: Session,
    /// Places in the guest that the first file system has taken.
    pub(crate) files: std::collections::BTreeSet<String>,
    /// Seconds from nothing to a first answer.
    pub(crate) start_s: f64,
    _turn: Turn,
}

/// The program, its folder and its sockets.
#[derive(Debug)]
struct Qemu {
    child: Child,
    folder: PathBuf,
}

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Machine {
    /// A machine that waits for commands: restored if one is saved, else booted and saved first.
    pub(crate) fn start(
        cache: &Cache,
        kernel: &Kernel,
        agent: &Path,
        hardware: Hardware,
        disks: &Disks,
    ) -> Result<Machine, String> {
        let turn = cache.turn()?;
        let initramfs = initramfs::make(kernel, agent)?;
        let state = saved::ready(cache, kernel, &initramfs, hardware)?;
        let begin = Instant::now();
        let memory = state.memory.as_deref();
        let mut qemu = Qemu::start(kernel, &state.initrd, hardware, disks, memory)?;
        let session = if memory.is_some() { qemu.restored() } else { qemu.booted() };
        let session = session.map_err(|why| qemu.explain(&why))?;
        let mut machine = Machine {
            qemu,
            session,
            files: initramfs.files,
            start_s: begin.elapsed().as_secs_f64(),
            _turn: turn,
        };
        machine.set_clock()?;
        Ok(machine)
    }

    /// The clock of a restored machine stands where it was saved.
    fn set_clock(&mut self) -> Result<(), String> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_err(|error| error.to_string())?.as_secs();
        let set = format!("date -s @{now} >/dev/null");
        self.session.sh(&set, Duration::from_secs(10))?.ok().map(|_| ())
    }

    /// A line of shell that must succeed.
    pub(crate) fn sh(&mut self, script: &str, within_s: u64) -> Result<String, String> {
        let output = self.session.sh(script, Duration::from_secs(within_s));
        output.and_then(session::Output::ok).map_err(|why| self.explain(&why))
    }

    /// A message with the last words of the guest's kernel.
    pub(crate) fn explain(&self, why: &str) -> String {
        self.qemu.explain(why)
    }

    /// What the guest's kernel has printed.
    pub(crate) fn console(&self) -> String {
        self.qemu.console()
    }

    /// Runs a line of shell and, some time after it has said `ready`, kills the machine in the
    /// middle of whatever it does.
    ///
    /// # Errors
    /// The line ended by itself, or never said it.
    pub(crate) fn kill_while_running(
        mut self,
        line: &str,
        ready: &str,
        after: Duration,
    ) -> Result<(), String> {
        let process = self.qemu.child.id().to_string();
        let mut said = String::new();
        let mut killer = None;
        let argv = ["/bin/sh", "-c", line];
        let ended = self.session.run(&argv, after + Duration::from_secs(120), |_, bytes| {
            said += &String::from_utf8_lossy(bytes);
            if killer.is_none() && said.lines().any(|line| line == ready) {
                let process = process.clone();
                killer = Some(std::thread::spawn(move || {
                    std::thread::sleep(after);
                    let _ = Command::new("kill").args(["-9", &process]).status();
                }));
            }
        });
        let killed = killer.map(std::thread::JoinHandle::join).is_some();
        match ended {
            Err(_) if killed => Ok(()),
            ended => {
                Err(self.explain(&format!("{line}: not killed while running: {ended:?} {said}")))
            }
        }
    }
}

impl Qemu {
    fn start(
        kernel: &Kernel,
        initrd: &Path,
        hardware: Hardware,
        disks: &Disks,
        incoming: Option<&Path>,
    ) -> Result<Qemu, String> {
        let folder = tempfolder("m")?;
        let place = folder.display();
        // However we end, the machine ends with us.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "qemu-system-x86_64"]);
        command.args(["-cpu", "max", "-machine", "pc", "-accel"]);
        match hardware.counted {
            false => command.arg("tcg,thread=multi"),
            true => command.args(["tcg,thread=single", "-icount", INSTRUCTIONS]),
        };
        command.arg("-smp").arg(hardware.processors.to_string());
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        command.arg("-m").arg(hardware.memory_mib.to_string());
        command.arg("-kernel").arg(&kernel.vmlinux).arg("-initrd").arg(initrd);
        let card = if hardware.card { " lab_card" } else { "" };
        command.arg("-append").arg(format!(
            "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr audit=0 tsc=reliable{card}"
        ));
        command.args(["-monitor", "none", "-serial", &format!("file:{place}/console")]);
        command.args(["-chardev", &format!("socket,id=lab,path={place}/port,server=on,wait=off")]);
        command.args(["-device", "virtio-serial-pci,id=serial"]);
        command.args(["-device", "virtserialport,bus=serial.0,chardev=lab,name=lab"]);
        command.args(["-qmp", &format!("unix:{place}/qmp,server=on,wait=off")]);
        let all = [("d0", &disks.first), ("d1", &disks.second), ("d2", &disks.card)];
        for (id, backing) in all.into_iter().take(if hardware.card { 3 } else { 2 }) {
            drive(&mut command, &folder, id, backing, hardware.disk_bytes)?;
        }
        for id in ["d0", "d1"] {
            command.arg("-device").arg(format!("virtio-blk-pci,drive={id},write-cache=on"));
        }
        if hardware.card {
            command.args(["-device", "sdhci-pci", "-device", "sd-card,drive=d2,spec_version=3"]);
        }
        if let Some(memory) = incoming {
            command.arg("-incoming").arg(format!("exec:cat '{}'", memory.display()));
        }
        let said = fs::File::create(folder.join("qemu")).map_err(at(&folder))?;
        // Of a group of its own: an interrupt at the terminal is for us, who clean up.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).process_group(0);
        let child = command.spawn().map_err(|error| format!("qemu-system-x86_64: {error}"))?;
        Ok(Qemu { child, folder })
    }

    fn port(&self) -> Result<std::os::unix::net::UnixStream, String> {
        qmp::connect(&self.folder.join("port"), Duration::from_secs(10))
    }

    /// Waits for a machine that boots.
    fn booted(&mut self) -> Result<Session, String> {
        Session::greet(self.port()?, BOOT)
    }

    /// Waits for a machine that is restored and lets it go on.
    fn restored(&mut self) -> Result<Session, String> {
        let mut qmp = Qmp::open(&self.folder.join("qmp"))?;
        qmp.until("query-status", |status| status != "inmigrate", Duration::from_secs(30))?;
        let port = self.port()?;
        qmp.ask("cont", &serde_json::json!({}))?;
        Session::greet(port, Duration::from_secs(30))
    }

    fn console(&self) -> String {
        let bytes = fs::read(self.folder.join("console")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn explain(&self, why: &str) -> String {
        let said = fs::read_to_string(self.folder.join("qemu")).unwrap_or_default();
        let mut text = why.trim_end().to_owned();
        for (who, said) in [("QEMU", said), ("console", self.console())] {
            if !said.trim().is_empty() {
                text += &format!("; {who}: {}", last_lines(&said, 6));
            }
        }
        text
    }
}

/// A drive of QEMU's by its id.
fn drive(
    command: &mut Command,
    folder: &Path,
    id: &str,
    backing: &Backing,
    bytes: u64,
) -> Result<(), String> {
    let sized = |path: &Path| -> Result<(), String> {
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(at(path))?;
        let found = file.metadata().map_err(at(path))?.len();
        if found > bytes {
            return Err(format!(
                "{}: at most {bytes} bytes expected, found {found}",
                path.display()
            ));
        }
        file.set_len(bytes).map_err(at(path))
    };
    // The host's own power is not at stake: its disk is not asked to flush.
    let plain = |path: &Path, limits: &str| {
        let path = comma(path);
        format!("file={path},if=none,id={id},format=raw,cache=unsafe,discard=unmap{limits}")
    };
    match backing {
        Backing::Blank => {
            let path = folder.join(id);
            sized(&path)?;
            command.arg("-drive").arg(plain(&path, ""));
        }
        Backing::File(path, model) => {
            sized(path)?;
            command.arg("-drive").arg(plain(path, &model.throttling()));
        }
        // Without a flush of its own beneath, a flush is logged when it arrives.
        Backing::Logged { image, log } => {
            sized(image)?;
            fs::write(log, b"").map_err(at(log))?;
            command.arg("-blockdev").arg(format!(
                "driver=blklogwrites,node-name={id},log-sector-size=512,file.driver=file,\
                 file.cache.no-flush=on,log.cache.no-flush=on,file.filename={},log.driver=file,\
                 log.filename={}",
                comma(image),
                comma(log)
            ));
        }
    }
    Ok(())
}

/// QEMU's options end at a comma; two are one.
fn comma(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}
