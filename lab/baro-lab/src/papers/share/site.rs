//! Where it is measured: a folder on the disk with a file for each group, and a run directory for
//! the groups, so that a user's own groups are never met.
//!
//! Both are held by locks that end with the process. What a killed run left is undone by the next:
//! its settings by the journal in its run directory, its control groups by the registry there, its
//! files by their names.
//!
//! Invariant: nothing is left but the encoded video, whatever ends a run, once the next has begun.
//! Held by `a_run_that_is_killed_leaves_nothing_to_the_next` in `tests/bench_share.rs`.

use super::refused;
use baro_bench::error::BenchError;
use baro_bench::ground;
use baro_bench_sys::calls;
use baro_command::say;
use baro_share::{Controller, Policy, Registry, observe};
use baro_sys::disk::Disk;
use baro_sys::lock::{Holder, LockFile};
use baro_sys::memory::AlignedBuffer;
use baro_sys::place::Place;
use baro_sys::state::StateFolder;
use baro_sys::storage::Storage;
use baro_sys::{clock, files, schedule};
use baro_tune::Journal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Run directories of all runs are here, where only root can put anything, each with the id of its process.
const RUN_DIR: &str = "/run/barograph-root/bench";
const RUN_PREFIX: &str = "bench-";
const GROUPS: &str = "groups";
const SETTINGS: &str = "settings";
const LOCK: &str = "lock";
/// The folder in the one that was given.
pub(super) const FOLDER: &str = "baro-bench-share";
/// How long another run may take to undo what a killed one left: 10 s.
const UNDONE_TRIES: u32 = 200;
const UNDONE_PAUSE_NS: u64 = 50_000_000;
const LAY_OUT_BYTES: usize = 4 << 20;
/// Beside a file, for what the file system needs to keep it.
const SPARE_BYTES: u64 = 4 << 20;

/// The place of a run.
#[derive(Debug)]
pub(super) struct Site {
    folder: PathBuf,
    run_dir: PathBuf,
    registry: Registry,
    /// Name of the disk: `loop3`.
    pub(super) disk: String,
    /// `7:3`.
    pub(super) number: String,
    pub(super) file_bytes: u64,
    _locks: [LockFile; 2],
}

impl Site {
    /// Takes the place, after removing what killed runs left.
    ///
    /// # Errors
    /// No root, no disk of its own below the folder, another run in it.
    pub(super) fn new(dir: &Path, file_bytes: u64) -> Result<Self, BenchError> {
        if !schedule::is_root() {
            return Err(BenchError::Refused(
                "bench share makes control groups and chooses the disk's scheduler: run it with sudo"
                    .to_owned(),
            ));
        }
        let above = ground::held(dir)?;
        let place = Place::of(dir)?;
        let queue = place.queue.ok_or_else(|| {
            BenchError::Refused(format!(
                "{}: is on {}: expected a file system on a disk of this machine, whose bandwidth can \
                 be shared",
                dir.display(),
                place.kind
            ))
        })?;
        let number = observe::queue(Path::new("/"), &queue.disk).map_err(refused)?.number;
        remove_leftovers();
        let runs = StateFolder::make_all(Path::new(RUN_DIR), 0o755)?;
        let name = format!("{RUN_PREFIX}{}", std::process::id());
        let run_dir = Path::new(RUN_DIR).join(&name);
        let run_lock = runs.make_below(&name, 0o755)?.lock(LOCK)?;
        let run_lock = run_lock.map_err(|holder| in_use(&run_dir, holder))?;
        let registry = Registry::open(&run_dir.join(GROUPS)).map_err(refused)?;
        let held = above.make_below(FOLDER, ground::MODE)?;
        let folder = held.place()?;
        let folder_lock = match take(&held) {
            Ok(lock) => lock,
            Err(error) => {
                remove_run(&runs, &name);
                return Err(error);
            }
        };
        let locks = [run_lock, folder_lock];
        let site =
            Self { folder, run_dir, registry, disk: queue.disk, number, file_bytes, _locks: locks };
        site.remove_files();
        Ok(site)
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Where the journal of settings is.
    pub(super) fn state_dir(&self) -> PathBuf {
        self.run_dir.join(SETTINGS)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a group; `device` has that of the first.
    pub(super) fn file(&self, group: usize) -> PathBuf {
        self.folder.join(format!("group-{group}"))
    }

    /// Writes the files of the first `groups`, where they are not there yet: what was never written
    /// would be read without the disk, and written with more than the data.
    ///
    /// # Errors
    /// No room, or the disk fails; [`BenchError::Stopped`].
    pub(super) fn lay_out(&self, groups: usize, stop: &AtomicBool) -> Result<(), BenchError> {
        let missing = (0..groups).map(|group| self.file(group)).filter(|file| !files::exists(file));
        for path in missing {
            let free = Disk::open(&self.folder)?.available_bytes()?.unwrap_or(u64::MAX);
            if free < self.file_bytes + SPARE_BYTES {
                return Err(BenchError::Refused(format!(
                    "{}: {} MB free: expected {} MB more for the file of a group; choose a smaller \
                     --file",
                    self.folder.display(),
                    free / 1_000_000,
                    (self.file_bytes + SPARE_BYTES - free) / 1_000_000
                )));
            }
            let result = write(&path, self.file_bytes, stop);
            if result.is_err() {
                // Half a file would be taken for a whole one.
                let _ = files::remove(&path);
            }
            result?;
        }
        Ok(())
    }

    /// Nothing of a group's file is in memory afterwards, nor waits to be written.
    ///
    /// # Errors
    /// The disk fails.
    pub(super) fn drop_cached(&self, path: &Path) -> Result<(), BenchError> {
        let file = files::open_to_write(path).map_err(BenchError::file("open", path))?;
        file.sync_all().map_err(BenchError::file("sync", path))?;
        let bytes = files::size_bytes(path)?;
        calls::drop_cached(&file, 0, bytes).map_err(BenchError::file("drop from memory", path))
    }

    /// Bytes of a file that are in memory: nobody waits for the disk for them.
    ///
    /// # Errors
    /// It cannot be opened or mapped.
    pub(super) fn cached_bytes(&self, path: &Path) -> Result<u64, BenchError> {
        let file = files::open_to_write(path).map_err(BenchError::file("open", path))?;
        let bytes = files::size_bytes(path)?;
        calls::cached_bytes(&file, bytes).map_err(BenchError::file("map", path))
    }

    fn remove_files(&self) {
        for name in files::list(&self.folder).unwrap_or_default() {
            if name.starts_with("group-") || name.ends_with(".part") {
                let _ = files::remove(&self.folder.join(name));
            }
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.remove_files();
        let _ = files::remove(&self.folder.join(LOCK));
        files::remove_if_empty(&self.folder);
        let name = self.run_dir.file_name().unwrap_or_default().to_string_lossy();
        if let Ok(runs) = StateFolder::open(Path::new(RUN_DIR)) {
            remove_run(&runs, &name);
        }
    }
}

fn take(folder: &StateFolder) -> Result<LockFile, BenchError> {
    folder.lock(LOCK)?.map_err(|holder| in_use(folder.path(), holder))
}

fn in_use(folder: &Path, holder: Holder) -> BenchError {
    let by = holder.pid.map_or_else(String::new, |pid| format!(" by process {pid}"));
    BenchError::Refused(format!(
        "{}: is in use{by}: wait for it, or choose another --dir",
        folder.display()
    ))
}

/// Removes what a run has in its run directory, by its names; what is not undone keeps it.
fn remove_run(runs: &StateFolder, name: &str) {
    let Ok(run) = runs.below(name) else { return };
    let settings = Journal::remove_folder(&run.path().join(SETTINGS));
    if settings.is_ok() && run.remove_folder(GROUPS).is_ok() {
        let _ = run.remove(LOCK);
        let _ = runs.remove_folder(name);
    }
}

fn write(path: &Path, bytes: u64, stop: &AtomicBool) -> Result<(), BenchError> {
    let file = calls::open_direct(path).map_err(BenchError::file("make", path))?;
    let (mut buffer, _) = AlignedBuffer::new(LAY_OUT_BYTES)?;
    // Nothing that a device could store as less.
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    for chunk in buffer.chunks_exact_mut(8) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        chunk.copy_from_slice(&word.to_ne_bytes());
    }
    let mut at = 0;
    while at < bytes {
        if stop.load(Relaxed) {
            return Err(BenchError::Stopped);
        }
        let part = buffer.len().min(usize::try_from(bytes - at).unwrap_or(usize::MAX));
        let data = buffer.get(..part).unwrap_or_default();
        files::write_at(&file, data, at).map_err(BenchError::file("write", path))?;
        at += part as u64;
    }
    file.sync_all().map_err(BenchError::file("sync", path))
}

/// Undoes what killed runs left: settings, then control groups, then the run directory. What cannot
/// be undone is said and stays for the next run.
fn remove_leftovers() {
    let Ok(runs) = StateFolder::open(Path::new(RUN_DIR)) else { return };
    let names = runs.list().unwrap_or_default();
    for name in names.iter().filter(|name| name.starts_with(RUN_PREFIX)) {
        let dir = Path::new(RUN_DIR).join(name);
        // One that is just beginning has its folder a moment before its lock.
        let pid = name.strip_prefix(RUN_PREFIX).unwrap_or_default();
        let beginning =
            !files::exists(&dir.join(LOCK)) && files::exists(&Path::new("/proc").join(pid));
        if beginning {
            continue;
        }
        // Held while it is undone, so that two runs that begin at once do not undo it both.
        let Some(_lock) = take_left(&runs, name, pid) else { continue };
        say!("bench: undoing what a killed run left ({})", dir.display());
        if let Err(error) = undo(&dir) {
            say!("bench: {error}; it is tried again by the next run");
            continue;
        }
        remove_run(&runs, name);
    }
}

/// The lock of what a killed run left; None if the run lives, or another one has just undone it.
fn take_left(runs: &StateFolder, name: &str, pid: &str) -> Option<LockFile> {
    for _ in 0..UNDONE_TRIES {
        match runs.below(name).ok()?.lock(LOCK) {
            Ok(Ok(lock)) => return Some(lock),
            Ok(Err(holder)) if holder.pid.is_some_and(|holder| holder.to_string() != pid) => {
                clock::sleep_ns(UNDONE_PAUSE_NS);
            }
            _ => return None,
        }
    }
    None
}

fn undo(dir: &Path) -> Result<(), BenchError> {
    let registry = Registry::open(&dir.join(GROUPS)).map_err(refused)?;
    let policy = Policy { remedies: false, ..Policy::default() };
    let opened = Controller::open(&registry, &dir.join(SETTINGS), policy).map_err(refused)?;
    let Some((controller, report)) = opened else {
        return Ok(());
    };
    let left = registry.list();
    let closed = controller.close();
    for report in [report, closed] {
        if !report.is_clean() {
            return Err(BenchError::Refused(report.to_string()));
        }
    }
    match left.first() {
        None => Ok(()),
        Some(entry) => Err(BenchError::Refused(format!(
            "the control group of {} cannot be removed: its processes have not ended",
            entry.asked.name
        ))),
    }
}
