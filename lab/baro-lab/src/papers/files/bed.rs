//! Where a cell is measured: a stand of its own, or a folder where there is no stand to be had.
//!
//! On a stand the file system is new, as in the paper, the device modelled and the writers' memory
//! limited. Without root it is the folder as it is: no device model, no limit of memory, nothing
//! counted by class; each is said.
//!
//! Invariant: when the bed is gone the writers are, then the file system, with the device fast
//! again before that. Held by the run of `tests/bench_files.rs`.

use super::FilesOptions;
use super::model::{Device, Scale};
use super::order::{Go, Order, Report};
use super::plan::Variant;
use super::traffic::Watch;
use super::writers::Writers;
use crate::files::Point;
use baro_bench::error::BenchError;
use baro_bench::ground;
use baro_bench::stand::{FileSystem, Speed, Stand, StandSpec};
use baro_command::say;
use baro_sys::{files, footprint};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Begins the name of a folder that is used without a stand; the process id follows.
pub(super) const PLAIN: &str = "baro-bench-files-";

/// A place for one cell.
#[derive(Debug)]
pub(super) struct Bed {
    // In the order in which they are to go.
    writers: Option<Writers>,
    stand: Option<Stand>,
    plain: Option<PlainFolder>,
    device: Device,
    group: Option<PathBuf>,
    /// Limits that are in force.
    pub(super) memory_bytes: Option<u64>,
    /// The same.
    pub(super) dirty_bytes: Option<u64>,
    /// What is not as it was to be, and why.
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
struct PlainFolder(PathBuf);

impl Drop for PlainFolder {
    fn drop(&mut self) {
        let _ = files::remove_tree(&self.0);
    }
}

impl Bed {
    /// Makes it. The device is fast until [`slow_down`](Self::slow_down).
    pub(super) fn make(
        options: &FilesOptions,
        variant: &Variant,
        memory_bytes: u64,
        dirty_bytes: u64,
    ) -> Result<Self, BenchError> {
        let mut bed = Self {
            writers: None,
            stand: None,
            plain: None,
            device: options.device,
            group: None,
            memory_bytes: None,
            dirty_bytes: None,
            notes: Vec::new(),
        };
        if let Some(reason) = &options.no_stand {
            let name = format!("{PLAIN}{}", std::process::id());
            let folder = ground::make_own(&options.dir, name)?;
            bed.plain = Some(PlainFolder(folder));
            bed.device = Device::None;
            bed.notes.push(format!("no stand, no limits: {reason}"));
            return Ok(bed);
        }
        bed.notes
            .extend(options.no_model.iter().map(|reason| format!("no device model: {reason}")));
        let scale = Scale(options.scale);
        let journal = format!("size={}", scale.journal_mib());
        let (kind, mkfs): (_, Vec<&str>) = if variant.f2fs {
            (FileSystem::F2fs, Vec::new())
        } else {
            (FileSystem::Ext4, vec!["-J", &journal])
        };
        let spec = StandSpec { bytes: scale.capacity_bytes(), mkfs: &mkfs, mount: "" };
        let stand = bed.stand.insert(Stand::build_as(kind, &options.dir, &spec)?);
        match stand.limit_dirty(dirty_bytes) {
            Ok(()) => bed.dirty_bytes = Some(dirty_bytes),
            Err(error) => bed.notes.push(format!("dirty data is not limited: {error}")),
        }
        match stand.make_memory_group(memory_bytes) {
            Ok(group) => (bed.group, bed.memory_bytes) = (Some(group), Some(memory_bytes)),
            Err(error) => bed.notes.push(format!("memory is not limited: {error}")),
        }
        Ok(bed)
    }

    /// The folder to write below.
    pub(super) fn folder(&self) -> PathBuf {
        match (&self.stand, &self.plain) {
            (Some(stand), _) => stand.mount_dir(),
            (None, Some(plain)) => plain.0.clone(),
            (None, None) => PathBuf::new(),
        }
    }

    /// The group that writers join.
    pub(super) fn group(&self) -> Option<PathBuf> {
        self.group.clone()
    }

    /// The device is as slow as its model, from now on.
    pub(super) fn slow_down(&mut self) -> Result<(), BenchError> {
        let speed = self.device.speed();
        match &mut self.stand {
            Some(stand) if speed != Speed::default() => stand.set_speed(speed),
            _ => Ok(()),
        }
    }

    /// It is as fast as the machine.
    pub(super) fn speed_up(&mut self) -> Result<(), BenchError> {
        match &mut self.stand {
            Some(stand) if self.device != Device::None => stand.set_speed(Speed::default()),
            _ => Ok(()),
        }
    }

    /// Nothing of the file system is in memory.
    pub(super) fn forget(&self) -> Result<(), BenchError> {
        match (&self.stand, &self.plain) {
            (Some(stand), _) => stand.remount(),
            (None, Some(plain)) => Ok(footprint::drop_cached(&plain.0)?),
            (None, None) => Ok(()),
        }
    }

    pub(super) fn watch(&self) -> Result<Option<Watch>, BenchError> {
        self.stand.as_ref().map(|stand| Watch::start(&stand.device_path())).transpose()
    }

    pub(super) fn sync(&self) -> Result<(), BenchError> {
        Ok(footprint::sync_file_system(&self.folder())?)
    }

    /// Starts writers and waits until they have prepared.
    pub(super) fn start(
        &mut self,
        command: &[std::ffi::OsString],
        orders: &[Order],
        stop: &AtomicBool,
    ) -> Result<(), BenchError> {
        self.writers = Some(Writers::start(command, orders, stop)?);
        Ok(())
    }

    pub(super) fn go(&mut self, go: Go) -> Result<(), BenchError> {
        self.writers.as_mut().map_or(Ok(()), |writers| writers.go(go))
    }

    pub(super) fn points(&mut self) -> Result<Vec<Point>, BenchError> {
        self.writers.as_mut().map_or(Ok(Vec::new()), Writers::points)
    }

    /// Tells the writers to end the phase, and waits for them on a device that stays as slow.
    pub(super) fn pause(&mut self, stop: &AtomicBool) -> Result<Report, BenchError> {
        let Some(writers) = &mut self.writers else { return Ok(Report::default()) };
        writers.stop()?;
        writers.reports(stop)
    }

    /// Tells the writers to end the phase, lets the device go fast, and waits for them: one that is
    /// inside a call for a slow device's sake need not be waited for at that speed.
    pub(super) fn end_phase(&mut self, stop: &AtomicBool) -> Result<Report, BenchError> {
        if let Some(writers) = &mut self.writers {
            writers.stop()?;
        }
        self.speed_up()?;
        self.writers.as_mut().map_or(Ok(Report::default()), |writers| writers.reports(stop))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(stand) = &mut self.stand {
            // A writer that waits for the device ends only when the device is done.
            stand.undo_settings();
        }
        self.writers = None;
    }
}

/// Removes the folders of runs that were killed.
pub(super) fn remove_leftovers(dir: &Path) {
    let names = baro_sys::files::list(dir).unwrap_or_default();
    for name in names {
        let pid = name.strip_prefix(PLAIN).filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()));
        let is_over = pid.is_some_and(|pid| !files::exists(&Path::new("/proc").join(pid)));
        if is_over && ground::may_clear(dir, &name) {
            say!("bench: removing what a killed run left: {name}");
            let _ = files::remove_tree(&dir.join(name));
        }
    }
}
