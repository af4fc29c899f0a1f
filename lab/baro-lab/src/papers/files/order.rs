//! What a writing process is told and what it says: lines of JSON on its pipes.
//!
//! First an [`Order`]; it prepares and says `ready`. Then for each phase a [`Go`]; it says a `point`
//! now and then, and its `report` when it reads `stop`. It ends when the pipe closes, so none is left
//! behind by whoever is killed.

use crate::files::{FilesReport, Point};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The line that ends a phase.
pub(super) const STOP: &str = "stop";

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Portions into files.
    Files,
    /// Portions of sensors into Barograph's store.
    Store,
}

/// What a process is to prepare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Who writes.
    pub kind: Kind,
    /// A folder to be made.
    pub folder: PathBuf,
    /// Files, or sensors.
    pub files: u64,
    /// Bytes of a portion.
    pub block_bytes: u64,
    /// See [`FilesSpec`](crate::files::FilesSpec).
    pub file_bytes_max: u64,
    /// The same.
    pub flat: bool,
    /// The same.
    pub sync: bool,
    /// The same.
    pub layer: bool,
    /// Of a store: size of its log.
    pub log_bytes: u64,
    /// Time between two points, ns.
    pub points_every_ns: u64,
    /// The `cgroup.procs` that it writes itself to before it prepares.
    pub group: Option<PathBuf>,
}

/// A phase begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Go {
    /// None: as fast as it goes.
    pub bytes_per_s: Option<u64>,
}

/// What a process says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// All is prepared.
    Ready {
        /// How long that took, ns.
        prepared_ns: u64,
    },
    /// How far it is in this phase.
    Point(Point),
    /// The phase is over.
    Report(Report),
    /// It cannot go on.
    Error(String),
}

/// What was written in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Bytes that came from the application.
    pub written_bytes: u64,
    /// Writes, or pushes.
    pub writes: u64,
    /// Files renamed.
    pub rotations: u64,
    /// From the first write to the last, ns.
    pub duration_ns: u64,
}

impl From<FilesReport> for Report {
    fn from(report: FilesReport) -> Self {
        let FilesReport { written_bytes, writes, rotations, duration_ns } = report;
        Self { written_bytes, writes, rotations, duration_ns }
    }
}
