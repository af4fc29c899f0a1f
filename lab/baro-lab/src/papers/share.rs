//! Paper B: bandwidth by weight with BFQ, and what large I/O does to it (Linux 5.10, eMMC).
//! See docs/bench-share.md.
//!
//! Measured as in the paper: pairs of fio with weights 2:1 and 3:2, four at 3:2:2:1, by size of I/O;
//! BFQ's own parameters; a player beside a load. Then what it leaves open: pieces that are chosen
//! automatically, a group that is alone, a load that changes, a reader with deadlines. The bench
//! drives the library that `baro share` drives, with groups and settings of its own.
//!
//! Invariant: nothing is touched but the disk below the folder given and groups of the bench's own,
//! and all of it is as before at the end, of a killed run once the next has begun. Held by
//! `tests/bench_share.rs`.

mod cells;
mod claims;
mod completed;
mod deadline;
mod figures;
mod fio;
mod moment;
mod plan;
mod player;
mod printed;
mod read;
mod row;
mod session;
mod setting;
mod site;
mod study;
mod tables;
#[cfg(test)]
mod tests;

pub use deadline::read as read_by_deadline;
pub use player::video_path;
pub use study::study;

use baro_bench::error::BenchError;
use baro_bench::experiment::{Cell, Experiment, Machine, Plan};
use baro_share::{ShareError, observe};
use row::Case;
use serde_json::{Value, json};
use site::Site;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// In measurements and on the command line.
pub const NAME: &str = "share";

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The collapse and its cure, in three minutes.
    Quick,
    /// The paper's main rows, in 20 minutes.
    Default,
    /// Every row of the paper and of ours: a day on a slow disk.
    Full,
}

impl Extent {
    fn name(self) -> &'static str {
        match self {
            Extent::Quick => "quick",
            Extent::Default => "default",
            Extent::Full => "full",
        }
    }
}

/// What is measured, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareSpec {
    /// A folder on the disk that is shared.
    pub dir: PathBuf,
    /// How much.
    pub extent: Extent,
    /// How often each cell is measured.
    pub repeats: u32,
    /// How long each is measured, after its warm-up.
    pub seconds: u64,
    /// Bytes of each group's file.
    pub file_bytes: u64,
    /// Only cells whose name begins with one of these; empty: all.
    pub only: Vec<String>,
    /// How the reader with deadlines is started; the file follows.
    pub reader: Vec<OsString>,
}

/// The experiment on this machine.
#[derive(Debug)]
pub struct ShareExperiment {
    spec: ShareSpec,
    site: Site,
    plan: Plan,
}

impl ShareExperiment {
    /// Takes the place, after undoing what killed runs left.
    ///
    /// # Errors
    /// No root, no fio, a folder that is on no disk, another run in it.
    pub fn new(spec: ShareSpec) -> Result<Self, BenchError> {
        let file_mb = spec.file_bytes >> 20;
        for (field, found, fit, expected) in [
            ("repeats", u64::from(spec.repeats), (1..=100).contains(&spec.repeats), "1 to 100"),
            ("seconds", spec.seconds, (1..=3_600).contains(&spec.seconds), "1 to 3,600"),
            ("file (MiB)", file_mb, (8..=1 << 20).contains(&file_mb), "8 MiB to 1 TiB"),
        ] {
            if !fit {
                return Err(BenchError::Specification { field, found, expected });
            }
        }
        if let Some(missing) = fio::missing_program("fio") {
            return Err(BenchError::Refused(format!("skipped: {missing}")));
        }
        let plan = plan::plan(&spec);
        if plan.cells.is_empty() {
            return Err(BenchError::Refused(format!(
                "--only {}: no cell of this run begins so; they are named as \
                 pair/2:1/auto/direct-read/100M/libaio/1",
                spec.only.join(",")
            )));
        }
        let site = Site::new(&spec.dir, spec.file_bytes)?;
        Ok(Self { spec, site, plan })
    }

    /// The machine, with the queue as it was found.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let mut machine = Machine::of(self.site.folder()).with("disk", &self.site.disk);
        if let Ok(queue) = observe::queue(Path::new("/"), &self.site.disk) {
            machine = machine.with("scheduler", queue.scheduler);
        }
        machine
    }
}

impl Experiment for ShareExperiment {
    fn plan(&self) -> Plan {
        self.plan.clone()
    }

    fn measure(&mut self, cell: &Cell, stop: &AtomicBool) -> Result<Value, BenchError> {
        let case = Case::of_cell(&cell.id)
            .ok_or_else(|| BenchError::Refused(format!("no cell {}", cell.id)))?;
        cells::measure(self, &case, stop)
    }
}

fn refused(error: ShareError) -> BenchError {
    BenchError::Refused(error.to_string())
}

fn settings(spec: &ShareSpec) -> Value {
    json!({
        "extent": spec.extent.name(),
        "repeats": spec.repeats,
        "seconds": spec.seconds,
        "file_bytes": spec.file_bytes,
        "only": spec.only,
    })
}
