//! What each series takes of a store, and what the parts of the store take.
//!
//! A series' bytes are an estimate: the payload of its records, divided among the samples that share
//! a record. Heads, padding and what is shared beyond that are in the totals of the parts, which are
//! exact. Memory is that of the series asked for. Held by `tests/usage.rs`.

use crate::Result;
use crate::read::Notes;
use crate::store::Store;
use baro_ondisk::Kind;
use baro_recorder::log::{KEPT, PINS};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What one series or channel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesUsage {
    /// Its id.
    pub id: u32,
    /// Samples or frames, duplicates counted.
    pub samples: u64,
    /// Their bytes in the store, an estimate.
    pub bytes: u64,
    /// Time of the earliest.
    pub first_ns: i64,
    /// Time of the latest.
    pub last_ns: i64,
}

/// What the parts of a store take, in bytes of their files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The log: its segment files, whether used or not.
    pub log_bytes: u64,
    /// Live blocks in them, padding included.
    pub log_used_bytes: u64,
    /// Runs and their indexes.
    pub runs_bytes: u64,
    /// The catalog.
    pub catalog_bytes: u64,
    /// Files of pins.
    pub pins_bytes: u64,
    /// Segments that were copied out of the log for pins.
    pub kept_bytes: u64,
}

/// Folder of the runs.
const RUNS_FOLDER: &str = "runs";

#[derive(Clone, Copy)]
struct Sum {
    samples: u64,
    /// Of a hundredth of a byte, so that shares of small records do not vanish.
    centibytes: u64,
    times: (i64, i64),
}

impl<S: Storage> Store<S> {
    /// Calls `each` with every series and channel that has data, by id; with `ids` only these.
    /// Reads the whole log.
    ///
    /// # Errors
    /// The operating system refuses; damage is in the notes.
    pub fn usage(&self, ids: Option<&[u32]>, mut each: impl FnMut(SeriesUsage)) -> Result<Notes> {
        let empty = Sum { samples: 0, centibytes: 0, times: (i64::MAX, i64::MIN) };
        let mut sums: HashMap<u32, Sum> =
            ids.unwrap_or_default().iter().map(|id| (*id, empty)).collect();
        let mut add = |id: u32, time_ns: i64, centibytes: u64| {
            let sum = match ids {
                Some(_) => sums.get_mut(&id),
                None => Some(sums.entry(id).or_insert(empty)),
            };
            if let Some(sum) = sum {
                sum.samples += 1;
                sum.centibytes += centibytes;
                sum.times = (sum.times.0.min(time_ns), sum.times.1.max(time_ns));
            }
        };
        let notes = self.records_as_written(|record| {
            let centibytes = record.payload.len() as u64 * 100;
            if record.kind == Kind::Frame || record.text().is_some() {
                add(record.stream, record.time_ns, centibytes);
            }
            if let Some(samples) = record.samples().filter(|samples| !samples.is_empty()) {
                let share = centibytes / samples.len() as u64;
                samples.iter().for_each(|(id, time_ns, _)| add(id, time_ns, share));
            }
            ControlFlow::Continue(())
        })?;
        let mut found: Vec<_> = sums.into_iter().filter(|(_, sum)| sum.samples > 0).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        for (id, sum) in found {
            let (first_ns, last_ns) = sum.times;
            let bytes = sum.centibytes.div_ceil(100);
            each(SeriesUsage { id, samples: sum.samples, bytes, first_ns, last_ns });
        }
        Ok(notes)
    }

    /// What the parts of the store take. Looks at the sizes of files, and reads nothing.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn parts(&self) -> Result<Parts> {
        let info = self.info()?;
        let grown = u64::from(info.segments_grown);
        Ok(Parts {
            log_bytes: grown * self.identity().segment_bytes,
            log_used_bytes: info.block_bytes.saturating_sub(info.kept_bytes),
            runs_bytes: self.folder_bytes(RUNS_FOLDER)?,
            catalog_bytes: info.catalog_bytes,
            pins_bytes: self.folder_bytes(PINS)?,
            kept_bytes: self.folder_bytes(KEPT)?,
        })
    }

    /// Bytes of the files of a folder; 0 if there is none.
    fn folder_bytes(&self, folder: &str) -> Result<u64> {
        let names = match self.storage.list(folder) {
            Err(error) if error.is_missing() => return Ok(0),
            other => other?,
        };
        let mut bytes = 0;
        for name in names {
            let file = self.storage.open(&format!("{folder}/{name}"), Access::Read);
            match file.and_then(|file| file.size_bytes()) {
                Ok(found) => bytes += found,
                // Gone since.
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(bytes)
    }
}
