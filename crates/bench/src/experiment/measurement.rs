//! The file of a measurement: JSON lines, the first says of what, each other one is a cell.
//!
//! A line is appended and synced when its cell is measured. A line that is torn (the machine
//! stopped while it was written) is cut off when the measurement is continued, and passed over when
//! it is read.
//!
//! Invariant: reading what any prefix of the file holds gives the cells whose lines are whole.
//! Held by `every_prefix_of_a_measurement_gives_its_whole_cells`.

use super::Machine;
use crate::error::BenchError;
use baro_sys::{clock, files};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Of the file's form. A reader refuses what is newer.
pub const VERSION: u32 = 1;
/// Far more than a full run stores.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Marks the file, and the version of its form.
    pub barograph_measurement: u32,
    /// `recorder` or `files`.
    pub experiment: String,
    /// What was asked for.
    pub settings: Value,
    /// Where.
    pub machine: Machine,
    /// When it was begun, ns since 1970.
    pub begun_unix_ns: i64,
}

impl Head {
    /// Of a measurement that begins now.
    #[must_use]
    pub fn new(experiment: &str, settings: Value, machine: Machine) -> Self {
        Self {
            barograph_measurement: VERSION,
            experiment: experiment.to_owned(),
            settings,
            machine,
            begun_unix_ns: clock::realtime_ns(),
        }
    }
}

/// A cell that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its name.
    pub cell: String,
    /// How long it took, with preparation, ns.
    pub took_ns: u64,
    /// What the experiment stored.
    pub data: Value,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Its first line.
    pub head: Head,
    /// By their names.
    pub cells: BTreeMap<String, Measured>,
}

impl Measurement {
    /// Reads a file.
    ///
    /// # Errors
    /// It is not there, is no measurement, or is of a newer version.
    pub fn read(path: &Path) -> Result<Self, BenchError> {
        let text = files::read_text(path, FILE_BYTES_MAX)?;
        Self::parse(&text)
            .map(|(measurement, _)| measurement)
            .map_err(|reason| BenchError::Measurement { path: path.to_path_buf(), reason })
    }

    /// The measurement in a text, and how many bytes of it are whole lines that belong to it.
    pub(super) fn parse(text: &str) -> Result<(Self, usize), String> {
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().filter(|line| line.ends_with('\n'));
        let first = first.ok_or("it has no whole first line; remove it and measure again")?;
        let value: Value = serde_json::from_str(first).map_err(
            |_| "its first line is no JSON: this is no measurement of baro bench or baro-lab",
        )?;
        let version = value.get("barograph_measurement").and_then(Value::as_u64);
        let version = version
            .ok_or("no measurement of baro bench or baro-lab: its first line does not say so")?;
        if version > u64::from(VERSION) {
            return Err(format!(
                "it has version {version}, this baro reads up to {VERSION}: study it with the baro \
                 that made it, or a newer one"
            ));
        }
        let head: Head =
            serde_json::from_value(value).map_err(|error| format!("its first line: {error}"))?;
        let mut whole = first.len();
        let mut cells = BTreeMap::new();
        for line in lines {
            let Ok(measured) = serde_json::from_str::<Measured>(line) else { break };
            if !line.ends_with('\n') {
                break;
            }
            whole += line.len();
            cells.insert(measured.cell.clone(), measured);
        }
        Ok((Self { head, cells }, whole))
    }

    /// What a cell stored; None if it is not there or could not be measured.
    #[must_use]
    pub fn data(&self, cell: &str) -> Option<&Value> {
        let data = &self.cells.get(cell)?.data;
        data.get("unavailable").is_none().then_some(data)
    }

    /// Why a cell could not be measured.
    #[must_use]
    pub fn unavailable(&self, cell: &str) -> Option<&str> {
        self.cells.get(cell)?.data.get("unavailable")?.as_str()
    }

    /// A number in a cell, by a path of keys with `.` between them: `push.max_ns`.
    #[must_use]
    pub fn number(&self, cell: &str, path: &str) -> Option<f64> {
        let data = self.data(cell)?;
        path.split('.').try_fold(data, |value, key| value.get(key))?.as_f64()
    }
}

/// A measurement that is being made.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    file: File,
    measurement: Measurement,
}

impl Store {
    /// Begins the file, or continues it.
    pub(super) fn open(path: &Path, head: Head) -> Result<Self, BenchError> {
        // What is read is what is written: another file may have the name a moment later.
        let mut file = files::open_append(path).map_err(BenchError::file("open", path))?;
        let wrong = |reason| BenchError::Measurement { path: path.to_path_buf(), reason };
        let mut text = String::new();
        let read = (&mut file).take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
        if read.map_err(BenchError::file("read", path))? as u64 > FILE_BYTES_MAX {
            return Err(wrong(format!("it is longer than {FILE_BYTES_MAX} bytes; name another")));
        }
        // A first line that is torn holds no cell yet.
        if !text.contains('\n') {
            let begun = text.is_empty() || text.starts_with("{\"barograph_measurement\"");
            if !begun {
                return Err(wrong("it is there and is no measurement; name another".to_owned()));
            }
            let mut store = Self {
                path: path.to_path_buf(),
                file,
                measurement: Measurement { head, cells: BTreeMap::new() },
            };
            files::set_length(&store.file, 0).map_err(BenchError::file("empty", path))?;
            let line = serde_json::to_string(&store.measurement.head);
            store.append(line)?;
            return Ok(store);
        }
        let (measurement, whole) = Measurement::parse(&text).map_err(wrong)?;
        same(&measurement.head, &head).map_err(wrong)?;
        files::set_length(&file, whole as u64).map_err(BenchError::file("cut", path))?;
        Ok(Self { path: path.to_path_buf(), file, measurement })
    }

    pub(super) fn has(&self, cell: &str) -> bool {
        self.measurement.cells.contains_key(cell)
    }

    pub(super) fn len(&self) -> usize {
        self.measurement.cells.len()
    }

    /// Stores a cell durably.
    pub(super) fn add(&mut self, cell: &str, took_ns: u64, data: Value) -> Result<(), BenchError> {
        let measured = Measured { cell: cell.to_owned(), took_ns, data };
        self.append(serde_json::to_string(&measured))?;
        self.measurement.cells.insert(cell.to_owned(), measured);
        Ok(())
    }

    fn append(&mut self, line: serde_json::Result<String>) -> Result<(), BenchError> {
        let wrong = |error: serde_json::Error| BenchError::Measurement {
            path: self.path.clone(),
            reason: format!("a line cannot be written: {error}"),
        };
        let line = line.map_err(wrong)? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(BenchError::file("write to", &self.path))
    }

    pub(super) fn into_measurement(self) -> Measurement {
        self.measurement
    }
}

/// Whether one measurement may be continued as the other.
fn same(there: &Head, here: &Head) -> Result<(), String> {
    let other = "; name another file to measure anew";
    if there.experiment != here.experiment {
        return Err(format!(
            "it is of the experiment {}, not {}{other}",
            there.experiment, here.experiment
        ));
    }
    if there.settings != here.settings {
        return Err(format!(
            "it was begun with {}, not {}: go on with the same options{other}",
            there.settings, here.settings
        ));
    }
    if let Some((name, here, there)) = here.machine.differs(&there.machine) {
        return Err(format!("it was begun where {name} is {there}, here it is {here}{other}"));
    }
    Ok(())
}
