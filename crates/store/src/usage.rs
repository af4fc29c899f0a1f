//! What each series takes of a store, and what the parts of the store take.
//!
//! A series' bytes are an estimate: the payload of its records, divided among the samples that share
//! a record or a page of a run. Heads, padding and what is shared beyond that are in the totals of the parts, which are
//! exact. Memory is that of the series asked for. Held by `tests/usage.rs`.

use crate::Result;
use crate::read::Notes;
use crate::runs::PageAt;
use crate::store::{Store, for_each_record};
use baro_log::{KEPT, PINS, RUNS};
use baro_ondisk::{Kind, Type, UnfoldedSamples};
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

/// Samples or frames of one series in one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsedPart {
    pub(crate) id: u32,
    pub(crate) rows: u64,
    /// Bytes of their values.
    pub(crate) bytes: u64,
    /// What they take there, in hundredths of a byte.
    pub(crate) centibytes: u64,
    pub(crate) times_ns: (i64, i64),
    /// Where: 0 is the log, then the runs.
    pub(crate) source: usize,
}

#[derive(Clone, Copy)]
struct Sum {
    samples: u64,
    /// Of a hundredth of a byte, so that shares of small records do not vanish.
    centibytes: u64,
    times: (i64, i64),
}

impl Store {
    /// Calls `each` with every series and channel that has data, by id; with `ids` only these.
    /// Reads the whole log and the runs' pages of more than one series; what is settled is counted in
    /// the runs only.
    ///
    /// # Errors
    /// The operating system refuses; damage is in the notes.
    pub fn usage(&self, ids: Option<&[u32]>, mut each: impl FnMut(SeriesUsage)) -> Result<Notes> {
        let empty = Sum { samples: 0, centibytes: 0, times: (i64::MAX, i64::MIN) };
        let mut sums: HashMap<u32, Sum> =
            ids.unwrap_or_default().iter().map(|id| (*id, empty)).collect();
        let notes = self.each_part(ids, |part| {
            let sum = match ids {
                Some(_) => sums.get_mut(&part.id),
                None => Some(sums.entry(part.id).or_insert(empty)),
            };
            if let Some(sum) = sum {
                sum.samples += part.rows;
                sum.centibytes += part.centibytes;
                let (min_ns, max_ns) = part.times_ns;
                sum.times = (sum.times.0.min(min_ns), sum.times.1.max(max_ns));
            }
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

    /// Calls `each` with what each series and channel has in each record of the log, and in each page
    /// of the runs; samples of the log only if they are in no run.
    ///
    /// # Errors
    /// The operating system refuses; damage is in the notes.
    pub(crate) fn each_part(
        &self,
        ids: Option<&[u32]>,
        mut each: impl FnMut(UsedPart),
    ) -> Result<Notes> {
        self.index()?;
        let settled = self.settled();
        let mut unfolded = UnfoldedSamples::default();
        let mut notes = self.blocks_with(self.access, |live, notes| {
            let header = &live.block.header;
            let in_runs = settled.covers(header.epoch, header.sequence);
            // Samples of a section are handed out unfolded; what they take is their share of it.
            let section = live.block.section().ok().flatten().map_or(0, |s| s.samples() as u64);
            let packed = live.block.section_bytes().len() as u64 * 100 / section.max(1);
            Ok(for_each_record(live, notes, &mut unfolded, |record| {
                let (time_ns, bytes) = (record.time_ns, record.payload.len() as u64);
                let mut add = |id, time_ns, bytes, centibytes| {
                    let times_ns = (time_ns, time_ns);
                    each(UsedPart { id, rows: 1, bytes, centibytes, times_ns, source: 0 });
                };
                if record.kind == Kind::Frame || (record.kind == Kind::Text && !in_runs) {
                    add(record.stream, time_ns, bytes, bytes * 100);
                }
                let samples = record.samples().filter(|samples| !samples.is_empty() && !in_runs);
                if let Some(samples) = samples {
                    let unfolded = record.producer == 0 && section > 0;
                    let share = if unfolded { packed } else { bytes * 100 / samples.len() as u64 };
                    samples.iter().for_each(|(id, time_ns, _)| add(id, time_ns, 8, share));
                }
                ControlFlow::Continue(())
            }))
        })?;
        let mut page = PageAt::new();
        for (source, run) in (1..).zip(&self.runs.files) {
            for entry in run.index.pages() {
                let within = |id: &u32| (entry.first_series..=entry.last_series).contains(id);
                if ids.is_some_and(|ids| !ids.iter().any(within)) {
                    continue;
                }
                let samples = u64::from(entry.samples);
                let centibytes = u64::from(entry.bytes) * 100;
                if entry.first_series == entry.last_series && run.mask_of(entry).is_none() {
                    let (id, rows, bytes) = (entry.first_series, samples, samples * 8);
                    let times_ns = (entry.time_min_ns, entry.time_max_ns);
                    each(UsedPart { id, rows, bytes, centibytes, times_ns, source });
                    continue;
                }
                let share = |rows: u64| centibytes * rows / samples.max(1);
                let read = page.with(run, entry, |page| {
                    if page.kind() == Type::Text {
                        return page.read_all_text(i64::MIN, i64::MAX, |id, time_ns, text| {
                            let (bytes, times_ns) = (text.len() as u64, (time_ns, time_ns));
                            let centibytes = share(1);
                            each(UsedPart { id, rows: 1, bytes, centibytes, times_ns, source });
                        });
                    }
                    page.read_all(i64::MIN, i64::MAX, |id, times_ns, _| {
                        let rows = times_ns.len() as u64;
                        if let (Some(first), Some(last)) = (times_ns.first(), times_ns.last()) {
                            let (centibytes, times_ns) = (share(rows), (*first, *last));
                            let bytes = rows * 8;
                            each(UsedPart { id, rows, bytes, centibytes, times_ns, source });
                        }
                    })
                })?;
                notes.damage.extend(read.err());
            }
        }
        Ok(self.with_headers(notes))
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
            runs_bytes: self.folder_bytes(RUNS)?,
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
