//! The stand: backing file, FUSE file system, loop device, ext4, in this order; and its end.
//!
//! Invariant: whatever was made is unmade when the stand is dropped, half-made stands included.
//! Held by `dismantle` (one routine for all cases) and `tests/run.rs`.
#![allow(clippy::disallowed_methods, reason = "automation, not a part of the product")]

use crate::disk::{DISK_NAME, Meter, SlowDisk};
use crate::dismantle::{
    BACKING_NAME, FUSE_NAME, LOCK_NAME, MOUNT_NAME, PREFIX, dismantle, loop_devices,
};
use crate::options::Options;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A mounted file system on a modelled disk.
#[derive(Debug)]
pub(crate) struct Stand {
    dir: PathBuf,
    device: PathBuf,
    /// Files of the device's queue that were changed, with what they held.
    queue: Vec<(PathBuf, String)>,
    meter: Arc<Meter>,
    fuse: Option<fuser::BackgroundSession>,
    /// Held while the stand lives; `remove_leftovers` looks at it.
    lock: File,
}

impl Stand {
    /// Builds everything; the disk is fast until [`engage`](Self::engage).
    pub(crate) fn build(options: &Options) -> Result<Self, String> {
        // The kernel shows resolved paths, and dismantle compares with them.
        let parent = options
            .dir
            .canonicalize()
            .map_err(|error| format!("--dir {}: {error}", options.dir.display()))?;
        let dir = parent.join(format!("{PREFIX}{}", std::process::id()));
        let place = |error| format!("{}: {error}", dir.display());
        std::fs::create_dir(&dir).map_err(place)?;
        let lock = File::create(dir.join(LOCK_NAME)).map_err(place)?;
        lock.try_lock().map_err(|error| format!("{}: {error}", dir.display()))?;
        let mut stand = Self {
            dir: dir.clone(),
            device: PathBuf::new(),
            queue: Vec::new(),
            meter: Arc::default(),
            fuse: None,
            lock,
        };
        std::fs::create_dir(dir.join(FUSE_NAME)).map_err(place)?;
        std::fs::create_dir(dir.join(MOUNT_NAME)).map_err(place)?;
        let backing = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(dir.join(BACKING_NAME))
            .map_err(place)?;
        backing.set_len(options.size_bytes).map_err(place)?;

        let loop_file = match options.speed {
            None => dir.join(BACKING_NAME),
            Some(speed) => {
                let disk =
                    SlowDisk::new(backing, speed, Arc::clone(&stand.meter)).map_err(place)?;
                let mut config = fuser::Config::default();
                config.mount_options = vec![fuser::MountOption::FSName("baro-media".to_owned())];
                let session = fuser::spawn_mount(disk, dir.join(FUSE_NAME), &config)
                    .map_err(|error| format!("mounting FUSE (is /dev/fuse there?): {error}"))?;
                stand.fuse = Some(session);
                dir.join(FUSE_NAME).join(DISK_NAME)
            }
        };
        stand.run(Command::new("losetup").args(["--find", "--direct-io=on"]).arg(loop_file))?;
        stand.device = loop_devices(&dir)
            .pop()
            .ok_or_else(|| "losetup said yes, but no loop device is attached".to_owned())?;
        stand.set_queue(&options.queue)?;
        stand.make_file_system(options)?;
        Ok(stand)
    }

    /// Sets files of the loop device's queue; their old values go back at the end, because a queue
    /// outlives the device that it was set for.
    fn set_queue(&mut self, settings: &[(&'static str, u32)]) -> Result<(), String> {
        let name = self.device.file_name().unwrap_or_default();
        let queue = Path::new("/sys/block").join(name).join("queue");
        for (file, value) in settings {
            let path = queue.join(file);
            let place = |error| format!("{}: {error}", path.display());
            let old = std::fs::read_to_string(&path).map_err(place)?;
            std::fs::write(&path, value.to_string()).map_err(place)?;
            self.queue.push((path, old));
        }
        Ok(())
    }

    /// Runs a program that makes a part of the stand. It goes on if this process is killed meanwhile, so it
    /// has the lock too: what it makes is removed once it has ended.
    fn run(&self, command: &mut Command) -> Result<(), String> {
        let lock = self.lock.try_clone().map_err(|error| format!("the stand's lock: {error}"))?;
        run(command.stdin(lock))
    }

    fn make_file_system(&self, options: &Options) -> Result<(), String> {
        // Nothing is left for later: lazy initialisation would write during a measurement. The
        // user's own -E, which comes later, replaces ours.
        let ours = ["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"];
        self.run(
            Command::new("mkfs.ext4").args(ours).args(&options.mkfs_options).arg(&self.device),
        )?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "ext4"]);
        if let Some(mount_options) = &options.mount_options {
            mount.args(["-o", mount_options]);
        }
        self.run(mount.arg(&self.device).arg(self.mount_dir()))
    }

    pub(crate) fn mount_dir(&self) -> PathBuf {
        self.dir.join(MOUNT_NAME)
    }

    pub(crate) fn device(&self) -> &Path {
        &self.device
    }

    /// From now on the disk is slow, and what goes through it is counted.
    pub(crate) fn engage(&self) {
        let meter = &self.meter;
        for count in
            [&meter.reads, &meter.read_bytes, &meter.writes, &meter.write_bytes, &meter.flushes]
        {
            count.store(0, Relaxed);
        }
        meter.slow.store(true, Relaxed);
    }

    /// The end of slowness, and what went through the disk meanwhile. None without a model.
    pub(crate) fn release(&self) -> Option<String> {
        let meter = &self.meter;
        meter.slow.store(false, Relaxed);
        self.fuse.as_ref()?;
        Some(format!(
            "reads {} ({} bytes), writes {} ({} bytes), flushes {}",
            meter.reads.load(Relaxed),
            meter.read_bytes.load(Relaxed),
            meter.writes.load(Relaxed),
            meter.write_bytes.load(Relaxed),
            meter.flushes.load(Relaxed),
        ))
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.meter.slow.store(false, Relaxed);
        for (path, old) in self.queue.drain(..) {
            if let Err(error) = std::fs::write(&path, old.trim()) {
                eprintln!("media: {}: {error}", path.display());
            }
        }
        // FUSE must go on answering while the file system above it is unmounted.
        for complaint in dismantle(&self.dir) {
            eprintln!("media: {complaint}");
        }
        drop(self.fuse.take());
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.output().map_err(|error| format!("{program} (is it installed?): {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}: {}", output.status, said.trim_end()))
}
