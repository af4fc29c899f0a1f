//! Paper A: how long write() keeps a recorder that stores 16 KiB each 5 ms, on ext4
//! (IPSJ Journal 61(8), 2020). See docs/bench-recorder.md.
//!
//! Measured as in the paper: the twelve cases of its table 1, the reader beside it of table 3, units
//! of flushing; then the same load through Barograph, and other ways to write. Beside each cell a
//! thread that only sleeps and wakes tells the machine's own delays, and a [`Witness`] says what the
//! slowest calls waited for.
//!
//! Invariant: nothing is touched but the folder given, or a device made in it; settings of the whole
//! machine only where that was asked for, and undone after each cell. Held by
//! `crates/cli/tests/bench_recorder.rs`.

pub mod case;
mod cells;
mod claims;
mod flusher;
mod handles;
mod own;
pub mod printed;
mod read;
mod site;
mod study;
#[cfg(test)]
mod tests;

pub use crate::stand::DeviceModel;
pub use case::{Background, CASES, Case};
pub use study::study;

use crate::error::BenchError;
use crate::experiment::{Cell, Experiment, Machine, Plan};
use crate::ways::WayKind;
use baro_sys::identity::alone_on_file_system;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use site::Site;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What is measured, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderSpec {
    /// A folder on the file system that is measured, or that holds the image of a modelled device.
    pub dir: PathBuf,
    /// The user's own device, or a model.
    pub device: DeviceModel,
    /// How many times each case of table 1 is measured; the worst counts, as in the paper.
    pub sets: u32,
    /// Writes of a set, 5 ms apart.
    pub writes: u32,
    /// Writes of every other cell.
    pub writes_beside: u32,
    /// Bytes of a recording, and of the loads' files.
    pub file_bytes: u64,
    /// The kernel's flusher is turned off for the whole machine where the paper does so.
    pub machine_wide: bool,
    /// Also what needs a library or is slow: POSIX AIO, MCAP, SQLite.
    pub all: bool,
    /// Only cells whose name begins with one of these; empty: all.
    pub only: Vec<String>,
}

/// What the witness says of a slow call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlier {
    /// `write`.
    pub call: String,
    /// How long it waited, ns.
    pub wait_ns: u64,
    /// What it waited for first: `transaction_locked`.
    pub cause: String,
    /// What is behind that.
    pub root: String,
    /// Time that nothing explains, ns.
    pub unexplained_ns: u64,
}

/// The calls that were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The thread that made them.
    pub tid: u32,
    /// When, on the monotonic clock: the thread also makes and syncs its files.
    pub when_ns: std::ops::Range<u64>,
}

/// Who says why calls were slow: the tracer, which this crate does not know.
pub trait Witness: fmt::Debug + Send {
    /// Begins to watch.
    ///
    /// # Errors
    /// Why it cannot: no root, no tracer.
    fn begin(&mut self) -> Result<(), String>;

    /// Ends, and explains the longest writes of these calls.
    ///
    /// # Errors
    /// What was watched cannot be read.
    fn end(&mut self, calls: &Calls) -> Result<Vec<Outlier>, String>;
}

/// The experiment on this machine.
#[derive(Debug)]
pub struct RecorderExperiment {
    spec: RecorderSpec,
    site: Site,
    witness: Option<Box<dyn Witness>>,
    /// Why there is none.
    unwatched: Option<String>,
}

/// Time that a cell takes beside its writes: files made and synced, the tracer begun and read.
const AROUND_NS: u64 = 2_500_000_000;

impl RecorderExperiment {
    /// Prepares the place: removes what a killed run left there, makes the modelled device.
    ///
    /// # Errors
    /// The folder is not on a disk, has too little room, or the device cannot be made (root).
    pub fn new(spec: RecorderSpec, witness: Option<Box<dyn Witness>>) -> Result<Self, BenchError> {
        for (field, found, fit, expected) in [
            ("sets", u64::from(spec.sets), (1..=100).contains(&spec.sets), "1 to 100"),
            (
                "writes",
                u64::from(spec.writes),
                (10..=1_000_000).contains(&spec.writes),
                "10 to 1,000,000",
            ),
            (
                "file_bytes",
                spec.file_bytes,
                (1 << 20..=1 << 40).contains(&spec.file_bytes),
                "1 MiB to 1 TiB",
            ),
        ] {
            if !fit {
                return Err(BenchError::Specification { field, found, expected });
            }
        }
        if spec.machine_wide && !baro_sys::schedule::is_root() {
            return Err(BenchError::Refused(
                "--machine-wide needs root: it changes vm.dirty_* of the whole machine for a while. \
                 Without it the flusher stays as it is"
                    .to_owned(),
            ));
        }
        let site = Site::new(&spec)?;
        Ok(Self { spec, site, witness, unwatched: None })
    }

    /// The machine, with what is special about the place.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let has = |yes: bool| if yes { "yes" } else { "no" };
        let traced = match (&self.witness, baro_sys::schedule::is_root()) {
            (None, _) => "not asked for",
            (Some(_), true) => "yes",
            (Some(_), false) => "no: needs root",
        };
        Machine::of(self.site.folder())
            .with("device model", self.spec.device.describe())
            .with("root", has(baro_sys::schedule::is_root()))
            .with("traced", traced)
            .with(
                "alone on the file system",
                match alone_on_file_system(self.site.folder()) {
                    Some(alone) => has(alone),
                    None => "not known",
                },
            )
    }
}

impl Experiment for RecorderExperiment {
    fn plan(&self) -> Plan {
        let spec = &self.spec;
        let cell = |id: String, writes: u32| Cell {
            id,
            expected_ns: u64::from(writes) * case::PERIOD_NS + AROUND_NS,
        };
        let mut cells = vec![cell("noise".to_owned(), spec.writes_beside)];
        // Sets in turn: what the machine does meanwhile meets all cases.
        for set in 1..=spec.sets {
            cells.extend(CASES.iter().map(|c| cell(format!("case/{}/{set}", c.name), spec.writes)));
            let own = ["idle", "BGTRUNC", "BGALL"];
            cells.extend(own.map(|load| cell(format!("barograph/{load}/{set}"), spec.writes)));
        }
        let beside = |id: String| cell(id, spec.writes_beside);
        cells.extend(
            ["alone", "NONE", "ALL", "barograph"].map(|who| beside(format!("reader/{who}"))),
        );
        cells.extend(case::UNITS_BYTES.map(|bytes| beside(format!("unit/{bytes}"))));
        let ways: &[WayKind] = if spec.all { &WayKind::ALL } else { &WayKind::ORDINARY };
        for load in ["idle", "BGALL"] {
            cells.extend(ways.iter().map(|way| beside(format!("way/{}/{load}", way.key()))));
        }
        let chosen = |id: &str| spec.only.iter().any(|prefix| id.starts_with(prefix.as_str()));
        cells.retain(|cell| spec.only.is_empty() || chosen(&cell.id));
        Plan {
            experiment: "recorder",
            settings: json!({
                "device": spec.device.describe(),
                "sets": spec.sets,
                "writes": spec.writes,
                "writes_beside": spec.writes_beside,
                "file_bytes": spec.file_bytes,
                "machine_wide": spec.machine_wide,
                "all": spec.all,
                "only": spec.only,
            }),
            cells,
        }
    }

    fn measure(&mut self, cell: &Cell, stop: &AtomicBool) -> Result<Value, BenchError> {
        cells::measure(self, &cell.id, stop)
    }
}
