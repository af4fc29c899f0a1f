//! A stand: ext4 on a slow device of our own, to make stalls on purpose; and its end.
//!
//! An image file, a loop device on it (the *lower* one) and a second loop device on the first (the
//! *upper* one) with the file system. What slows down is the lower one, by the block controller's
//! throttle for the root group, which all kernel threads are in. So the file system, its journal
//! and any tracer see a device that takes requests and completes them late, as a slow disk does;
//! throttled itself, it would hold back what has not become a request yet, which is another cause.
//! Version 1 of control groups only: version 2 limits no root group.
//!
//! Settings (throttle, write-back limit, queue) go through a journal of `baro-tune`, since loop devices
//! keep them when they are detached. It is in root's folders too, and found by the stand's name alone.
//!
//! A stand is root's, in a folder of root's ([`crate::ground`]): its files are made in the folder that is
//! held, and programs that take a path only get one that nobody else changes.
//!
//! Invariant: whatever was made and set is unmade when the stand is dropped, half-made ones
//! included, and what a killed run left is unmade by the next one in that folder. Held by
//! `a_stand_leaves_nothing` and `what_a_killed_stand_left_is_removed` in `tests/stand.rs`.

mod dismantle;
mod model;

pub use dismantle::{remove_leftovers, remove_leftovers_in};
pub use model::DeviceModel;

use crate::error::BenchError;
use crate::ground;
use baro_command::say;
use baro_sys::files;
use baro_sys::lock::LockFile;
use baro_sys::state::StateFolder;
use baro_tune::{DirtyLimit, Journal, OnConflict, Options, Setting};
use dismantle::{IMAGE, LOCK, MOUNT, PREFIX, dismantle, state_dir};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const GROUPS: &str = "/sys/fs/cgroup";
/// Version 2 beside version 1, as systemd's hybrid layout has it.
const UNIFIED: &str = "/sys/fs/cgroup/unified";
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// What a stand is made of.
#[derive(Clone, Copy, Debug)]
pub struct StandSpec<'a> {
    /// Bytes of the device; its image is sparse.
    pub bytes: u64,
    /// Further options of mkfs.
    pub mkfs: &'a [&'a str],
    /// Options of the mount, without blanks: `noatime,nodelalloc`.
    pub mount: &'a str,
}

/// What the device does in a second; 0 is as much as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// Bytes written.
    pub write_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Reads.
    pub reads: u64,
}

/// What is made on a stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4, with nothing left for later: lazy initialisation would write during a measurement.
    #[default]
    Ext4,
    /// f2fs.
    F2fs,
}

impl FileSystem {
    /// As mount calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::F2fs => "f2fs",
        }
    }

    fn mkfs(self) -> Command {
        let (program, ours): (_, &[&str]) = match self {
            Self::Ext4 => (
                "mkfs.ext4",
                &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
            ),
            Self::F2fs => ("mkfs.f2fs", &["-q", "-f", "-t", "0"]),
        };
        let mut command = Command::new(program);
        command.args(ours);
        command
    }
}

/// A mounted file system on a device that can be made slow; gone on drop.
#[derive(Debug)]
pub struct Stand {
    /// In which its folder lies.
    above: StateFolder,
    dir: PathBuf,
    kind: FileSystem,
    mount_options: String,
    lower: Device,
    upper: Device,
    settings: Option<Journal>,
    /// Held while the stand lives, and while a program works that makes a part of it;
    /// [`remove_leftovers`] looks at it.
    lock: LockFile,
}

/// A loop device.
#[derive(Clone, Debug, Default)]
struct Device {
    /// `loop3`.
    name: String,
    /// `7:3`.
    number: String,
}

/// Distinguishes stands of one process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

impl Stand {
    /// Makes a stand in a folder of its own below `parent`, after removing those of killed runs.
    /// The device is fast until [`set_speed`](Self::set_speed). Needs root.
    ///
    /// # Errors
    /// Somebody else could change what is in `parent`; or a step failed: its program, and what that said.
    pub fn build(parent: &Path, spec: &StandSpec<'_>) -> Result<Self, BenchError> {
        Self::build_as(FileSystem::Ext4, parent, spec)
    }

    /// The same with this file system.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_as(
        kind: FileSystem,
        parent: &Path,
        spec: &StandSpec<'_>,
    ) -> Result<Self, BenchError> {
        let above = ground::held(parent)?;
        remove_leftovers_in(&above);
        let serial = SERIAL.fetch_add(1, Relaxed);
        let folder =
            above.make_new(format!("{PREFIX}{}-{serial}", std::process::id()), ground::MODE)?;
        // The kernel shows resolved paths, and dismantle compares with them.
        let dir = folder.place()?;
        let Ok(lock) = folder.lock(LOCK)? else {
            return Err(BenchError::Refused(format!("{}: locked by another", dir.display())));
        };
        let mut stand = Self {
            above,
            dir: dir.clone(),
            kind,
            mount_options: spec.mount.to_owned(),
            lower: Device::default(),
            upper: Device::default(),
            settings: None,
            lock,
        };
        folder.make_new(MOUNT, ground::MODE)?;
        let image = dir.join(IMAGE);
        let file = folder.create_file(IMAGE, 0o600)?;
        files::set_length(&file, spec.bytes).map_err(BenchError::file("size the image", &image))?;
        stand.lower = stand.attach(&image, false)?;
        stand.upper = stand.attach(&Path::new("/dev").join(&stand.lower.name), true)?;
        let options = Options { state_dir: state_dir(&dir), ..Options::default() };
        stand.settings = Some(Journal::open(&options).map_err(BenchError::Settings)?.0);
        // Write-back throttling holds requests back by their latency: a cause of its own.
        let wbt = format!("/sys/block/{}/queue/wbt_lat_usec", stand.upper.name);
        if baro_sys::files::exists(Path::new(&wbt)) {
            stand.set(&Setting::new(wbt, "0"))?;
        }
        // A limit of dirty data that somebody left is kept by a loop device, and would be a cause too.
        let strict = format!("/sys/class/bdi/{}/strict_limit", stand.upper.number);
        if baro_sys::files::exists(Path::new(&strict)) {
            stand.set(&Setting::new(strict, "0"))?;
        }
        stand.run(kind.mkfs().args(spec.mkfs).arg(stand.device_path()))?;
        stand.mount()?;
        Ok(stand)
    }

    fn mount(&self) -> Result<(), BenchError> {
        let mut mount = Command::new("mount");
        mount.args(["-t", self.kind.name()]);
        if !self.mount_options.is_empty() {
            mount.args(["-o", &self.mount_options]);
        }
        self.run(mount.arg(self.device_path()).arg(self.mount_dir()))
    }

    /// Runs a program that makes a part of the stand. It goes on if this process is killed meanwhile, so it
    /// has the lock too: what it makes is removed once it has ended.
    fn run(&self, command: &mut Command) -> Result<(), BenchError> {
        self.output(command).map(drop)
    }

    fn output(&self, command: &mut Command) -> Result<String, BenchError> {
        output(command.stdin(self.lock.shared().map_err(BenchError::System)?))
    }

    /// A loop device on `backing`.
    fn attach(&self, backing: &Path, direct: bool) -> Result<Device, BenchError> {
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]);
        if direct {
            command.arg("--direct-io=on");
        }
        let shown = self.output(command.arg(backing))?;
        let name = shown.trim().strip_prefix("/dev/").unwrap_or_default().to_owned();
        let number = Path::new("/sys/block").join(&name).join("dev");
        let number = files::read_text(&number, TEXT_BYTES_MAX).map_err(BenchError::System)?;
        Ok(Device { name, number: number.trim().to_owned() })
    }

    /// Unmounts and mounts again: nothing of it is in memory, and its journal is empty.
    ///
    /// # Errors
    /// Somebody has a file of it open.
    pub fn remount(&self) -> Result<(), BenchError> {
        self.run(Command::new("umount").arg(self.mount_dir()))?;
        self.mount()
    }

    /// Where the file system is.
    #[must_use]
    pub fn mount_dir(&self) -> PathBuf {
        self.dir.join(MOUNT)
    }

    /// The folder of the stand, which is not on the stand.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The device with the file system: `/dev/loop3`.
    #[must_use]
    pub fn device_path(&self) -> PathBuf {
        Path::new("/dev").join(&self.upper.name)
    }

    /// Its name: `loop3`.
    #[must_use]
    pub fn device_name(&self) -> &str {
        &self.upper.name
    }

    /// Its number: `7:3`.
    #[must_use]
    pub fn device_number(&self) -> &str {
        &self.upper.number
    }

    /// The name of the journal's thread, as the kernel cuts it.
    #[must_use]
    pub fn journal_task(&self) -> String {
        format!("jbd2/{}-8", self.upper.name).chars().take(15).collect()
    }

    /// A control group of the stand's own, of version 1; gone with the stand.
    ///
    /// # Errors
    /// No such controller is mounted as version 1 has it.
    pub fn make_group(&self, controller: &str) -> Result<PathBuf, BenchError> {
        let group = Path::new(GROUPS).join(controller).join(dismantle::group_name(&self.dir));
        files::make_folder(&group).map_err(BenchError::file("make the control group", &group))?;
        Ok(group)
    }

    /// A control group of the stand's own that limits memory, page cache included, to `bytes`: the file
    /// to which a process writes its id to be in it. Of version 1, or of version 2, alone or
    /// beside version 1.
    ///
    /// # Errors
    /// Neither is to be had, with the reason.
    pub fn make_memory_group(&mut self, bytes: u64) -> Result<PathBuf, BenchError> {
        let one = Path::new(GROUPS).join("memory/memory.limit_in_bytes");
        if baro_sys::files::exists(&one) {
            let group = self.make_group("memory")?;
            files::write_setting(&group.join("memory.limit_in_bytes"), &bytes.to_string())?;
            return Ok(group.join("cgroup.procs"));
        }
        let has_memory = |file: &Path| {
            let controllers = files::read_text(file, TEXT_BYTES_MAX).unwrap_or_default();
            controllers.split_whitespace().any(|name| name == "memory")
        };
        let roots = [Path::new(GROUPS), Path::new(UNIFIED)];
        let root = roots.into_iter().find(|root| has_memory(&root.join("cgroup.controllers")));
        let root = root.ok_or_else(|| {
            BenchError::Refused(format!(
                "no memory controller below {GROUPS}, neither of version 1 nor of version 2"
            ))
        })?;
        let handed_on = root.join("cgroup.subtree_control");
        if !has_memory(&handed_on) {
            self.set(&Setting::new(handed_on.to_string_lossy(), "+memory"))?;
        }
        let group = root.join(dismantle::group_name(&self.dir));
        files::make_folder(&group).map_err(BenchError::file("make the control group", &group))?;
        files::write_setting(&group.join("memory.max"), &bytes.to_string())?;
        Ok(group.join("cgroup.procs"))
    }

    /// Changes a setting until the stand ends.
    ///
    /// # Errors
    /// The kernel refuses, or the journal of settings cannot be written.
    pub fn set(&mut self, setting: &Setting) -> Result<(), BenchError> {
        let Some(settings) = &mut self.settings else { return Ok(()) };
        settings.apply(setting).map_err(BenchError::Settings)?;
        Ok(())
    }

    /// How fast the device is from now on.
    ///
    /// # Errors
    /// No block controller of version 1 is mounted, or it refuses.
    pub fn set_speed(&mut self, speed: Speed) -> Result<(), BenchError> {
        let number = self.lower.number.clone();
        for (file, value) in [
            ("write_bps_device", speed.write_bytes),
            ("write_iops_device", speed.writes),
            ("read_bps_device", speed.read_bytes),
            ("read_iops_device", speed.reads),
        ] {
            let path = format!("{GROUPS}/blkio/blkio.throttle.{file}");
            self.set(&Setting::line(path, &number, value.to_string(), "0"))?;
        }
        Ok(())
    }

    /// Limits the dirty data of the device to `bytes`, until the stand ends or
    /// [`undo_settings`](Self::undo_settings).
    ///
    /// # Errors
    /// A kernel before 6.2, or it refuses.
    pub fn limit_dirty(&mut self, bytes: u64) -> Result<(), BenchError> {
        let limit =
            DirtyLimit::read(Path::new("/"), &self.upper.number).map_err(BenchError::Settings)?;
        limit.settings(bytes).iter().try_for_each(|setting| self.set(setting))
    }

    /// Limits the dirty data of the whole machine until settings are undone; writing back begins at
    /// half of it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn limit_dirty_of_machine(&mut self, bytes: u64) -> Result<(), BenchError> {
        // In an order in which the one below never is above.
        for (name, bytes) in [("dirty_background_bytes", bytes / 2), ("dirty_bytes", bytes)] {
            self.set(&Setting::new(format!("/proc/sys/vm/{name}"), bytes.to_string()))?;
        }
        Ok(())
    }

    /// Everything set is as it was found: a fast device without limits.
    pub fn undo_settings(&mut self) {
        if let Some(settings) = &mut self.settings {
            let report = settings.undo_all(OnConflict::Overwrite);
            if !report.is_clean() {
                say!("bench: {report}");
            }
        }
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        // First, or what is dirty would be written at the slow device's speed.
        self.undo_settings();
        drop(self.settings.take());
        for complaint in dismantle(&self.above, &dismantle::group_name(&self.dir)) {
            say!("bench: {complaint}");
        }
    }
}

/// What a program says that runs to its end.
fn output(command: &mut Command) -> Result<String, BenchError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let refused = |said: String| Err(BenchError::Refused(format!("{program}: {said}")));
    match command.output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            refused(format!("{}: {}", output.status, said.trim_end()))
        }
        Err(error) => refused(format!("{error}; is it installed?")),
    }
}
