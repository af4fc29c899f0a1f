//! Paper C's experiment: portions of sensor data into F files, on a machine and folder of the user's.
//!
//! [`FilesExperiment`] measures: each cell on a [`stand`] of its own with the paper's
//! proportions ([`model`]), by processes that are this program once more ([`work`]). [`study()`]
//! puts the paper's tables and figures beside what was measured and judges its claims, from the
//! measurement alone. What the paper could not do is measured too: a given rate, reads, and
//! Barograph's store under the same load.
//!
//! Invariant: a cell that is measured again gives no second one, and a run that is killed anywhere
//! leaves what the next run in that folder removes. Held by
//! `a_run_that_is_killed_again_and_again_measures_each_cell_once` in `tests/bench_files.rs`.

mod bed;
mod claims;
mod figures;
mod greedy;
pub mod model;
mod order;
pub mod paper;
mod plan;
mod rate;
mod reads;
mod records;
mod sensors;
mod study;
mod tables;
#[cfg(test)]
mod tests;
mod traffic;
mod worker;
mod writers;

pub use greedy::Greedy;
pub use model::{Device, Scale};
pub use order::{Go, Kind, Order, Report, Said};
pub use plan::{Extent, FilesCell, Times, Variant, What, cells};
pub use rate::Rate;
pub use reads::{Reading, Way};
pub use sensors::StoreWriter;
pub use study::study;
pub use traffic::{Class, Traffic};
pub use worker::work;

use baro_bench::error::BenchError;
use baro_bench::experiment::{Cell, Experiment, Plan, unavailable};
use baro_bench::stand;
use baro_sys::disk::Disk;
use baro_sys::place::Place;
use baro_sys::storage::Storage;
use baro_sys::{files, schedule};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The experiment's name, in measurements too.
pub const NAME: &str = "files";
/// Divides the paper's sizes unless asked otherwise.
pub const SCALE: u64 = 50;
/// Room beside the file system's image, for the measurement and what else grows.
const SPARE_BYTES: u64 = 64 << 20;
const SCALE_MAX: u64 = 1_000;

/// What is measured where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesOptions {
    /// Images, or files, are made below it.
    pub dir: PathBuf,
    /// How much.
    pub extent: Extent,
    /// What the device is like.
    pub device: Device,
    /// Divides the paper's sizes, 1 to 1,000.
    pub scale: u64,
    /// Only cells whose name begins with one of these; all if empty.
    pub only: Vec<String>,
    /// Program and arguments of a writing process, which calls [`work`].
    pub worker: Vec<OsString>,
    /// Why there is no stand: found by [`FilesExperiment::new`].
    pub no_stand: Option<String>,
    /// Why no device is modelled though one was asked for: found there too.
    pub no_model: Option<String>,
}

/// Paper C's experiment on a machine and folder of the user's: portions of sensor data into many files.
#[derive(Debug)]
pub struct FilesExperiment {
    options: FilesOptions,
    cells: Vec<FilesCell>,
}

impl FilesExperiment {
    /// Looks at what the machine offers, and removes what killed runs left in the folder.
    ///
    /// # Errors
    /// The folder is of no use, too small, or no cell is left.
    pub fn new(mut options: FilesOptions) -> Result<Self, BenchError> {
        if !(1..=SCALE_MAX).contains(&options.scale) {
            let (field, expected) = ("scale", "1 to 1,000");
            return Err(BenchError::Specification { field, found: options.scale, expected });
        }
        stand::remove_leftovers(&options.dir);
        bed::remove_leftovers(&options.dir);
        options.no_stand = why_no_stand();
        if options.device != Device::None {
            options.no_model = why_no_model(&options);
        }
        if options.no_model.is_some() {
            options.device = Device::None;
        }
        fit(&options)?;
        let wanted = |cell: &FilesCell| {
            options.only.is_empty() || options.only.iter().any(|part| cell.id.starts_with(part))
        };
        let cells: Vec<FilesCell> =
            plan::cells(options.extent).into_iter().filter(wanted).collect();
        if cells.is_empty() {
            return Err(BenchError::Refused(format!(
                "no cell of a {} run has a name that begins with one of {:?}; names are like {}",
                options.extent.name(),
                options.only,
                plan::cells(options.extent).first().map_or("", |cell| cell.id.as_str())
            )));
        }
        Ok(Self { options, cells })
    }

    /// Why cells are measured without a device model, without limits and without classes of
    /// requests; None: they are not.
    #[must_use]
    pub fn no_stand(&self) -> Option<&str> {
        self.options.no_stand.as_deref()
    }

    /// Why the device is the machine's own though a model was asked for.
    #[must_use]
    pub fn no_model(&self) -> Option<&str> {
        self.options.no_model.as_deref()
    }
}

/// What a stand needs: root, and the block controller that models a device.
fn why_no_stand() -> Option<String> {
    if !schedule::is_root() {
        return Some("needs root, for loop devices and control groups".to_owned());
    }
    if !files::exists(Path::new("/dev/loop-control")) {
        return Some("the kernel has no loop devices (/dev/loop-control)".to_owned());
    }
    None
}

/// What limits the device below a stand; see there.
const THROTTLE: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device";

fn why_no_model(options: &FilesOptions) -> Option<String> {
    if let Some(reason) = &options.no_stand {
        return Some(reason.clone());
    }
    let missing = !files::exists(Path::new(THROTTLE));
    missing.then(|| {
        format!(
            "needs the block controller of control groups in version 1, and {THROTTLE} is missing"
        )
    })
}

/// Whether the folder can take the experiment.
fn fit(options: &FilesOptions) -> Result<(), BenchError> {
    let dir = &options.dir;
    let refused = |what: String| Err(BenchError::Refused(format!("{}: {what}", dir.display())));
    let place = Place::of(dir)?;
    let networked = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph"];
    if networked.contains(&place.kind.as_str()) || place.kind.starts_with("fuse.sshfs") {
        return refused(format!(
            "it lies on {}: what is measured would be the network; name a folder on a disk of this \
             machine",
            place.kind
        ));
    }
    let modelled = options.no_stand.is_none() && options.device != Device::None;
    if ["tmpfs", "ramfs"].contains(&place.kind.as_str()) && !modelled {
        return refused(format!(
            "it lies on {}, in memory: as root a device can be modelled there (--device hdd), else \
             name a folder on a disk",
            place.kind
        ));
    }
    let needed = Scale(options.scale).capacity_bytes() + SPARE_BYTES;
    let free = Disk::open(dir)?.available_bytes()?;
    if let Some(free) = free.filter(|free| *free < needed) {
        return refused(format!(
            "expected {} MB of free space, found {} MB; name a larger --scale (now {}) or another \
             folder",
            needed / 1_000_000,
            free / 1_000_000,
            options.scale
        ));
    }
    Ok(())
}

/// Whether the kernel has f2fs, and its tools are there.
fn why_no_f2fs() -> Option<String> {
    let known = files::read_text(Path::new("/proc/filesystems"), 64 << 10).unwrap_or_default();
    if !known.lines().any(|line| line.trim() == "f2fs") {
        return Some("this kernel has no f2fs (/proc/filesystems; modprobe f2fs)".to_owned());
    }
    let tools = ["/usr/sbin/mkfs.f2fs", "/sbin/mkfs.f2fs", "/usr/bin/mkfs.f2fs"];
    let found = tools.iter().any(|path| files::exists(Path::new(path)));
    (!found).then(|| "mkfs.f2fs is missing (package f2fs-tools)".to_owned())
}

impl Experiment for FilesExperiment {
    fn plan(&self) -> Plan {
        let options = &self.options;
        let stand = if options.no_stand.is_some() { "none" } else { "loop" };
        Plan {
            experiment: NAME,
            settings: json!({
                "extent": options.extent.name(),
                "device": options.device.name(),
                "scale": options.scale,
                "stand": stand,
                "only": options.only,
            }),
            cells: self.cells.iter().map(FilesCell::cell).collect(),
        }
    }

    fn measure(&mut self, cell: &Cell, stop: &AtomicBool) -> Result<Value, BenchError> {
        let Some(found) = self.cells.iter().find(|found| found.id == cell.id) else {
            return Ok(unavailable("no such cell"));
        };
        let (cell, options) = (found, &self.options);
        match cell.what {
            What::Greedy(variant) if variant.f2fs && options.no_stand.is_some() => {
                Ok(unavailable("needs a file system of its own, and so root"))
            }
            What::Greedy(variant) if variant.f2fs && why_no_f2fs().is_some() => {
                Ok(unavailable(why_no_f2fs().unwrap_or_default()))
            }
            What::Greedy(variant) => greedy::measure(options, cell, Kind::Files, &variant, stop),
            What::Store => greedy::measure(options, cell, Kind::Store, &Variant::BASE, stop),
            What::Rate(kind) => rate::measure(options, cell, kind, stop),
            What::Read(of) => reads::measure(options, cell, of, stop),
        }
    }
}
