//! The records of all processors in the order of time, with the names of their tasks.
//!
//! A file that is damaged ends where it is, and the others go on. Records that the kernel dropped
//! leave a jump in the numbers of their disk and processor; they are counted.
//!
//! Invariant: records of one file keep their order; tables are bounded by [`FILES_MAX`] and
//! [`NAMES_MAX`]. Held by `processors_are_merged_and_tasks_have_names`.

use super::{BlktraceError, FILES_MAX, Note, Reader, Record, What};
use crate::blk::event::BlockEvent;
use crate::record::{Device, Name};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Read;

/// Tasks whose names are remembered.
pub const NAMES_MAX: usize = 1 << 16;
/// Pairs of disk and processor whose numbers are followed.
const SEQUENCES_MAX: usize = 1 << 16;

/// What was in the files beside events of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// All records.
    pub records: u64,
    /// Records that the numbers show to be missing.
    pub lost_records: u64,
    /// Pieces of partitions and volumes that were mapped to their disk.
    pub remaps: u64,
    /// Names of tasks, times, messages.
    pub notes: u64,
}

/// Reads the files of one trace.
#[derive(Debug)]
pub struct Merged<R> {
    readers: Vec<Reader<R>>,
    /// The next record of each file.
    pending: Vec<Option<Record>>,
    order: BinaryHeap<Reverse<(u64, usize)>>,
    names: BTreeMap<i32, Name>,
    sequences: BTreeMap<(Device, u32), u32>,
    damage: Vec<(usize, BlktraceError)>,
    counts: TraceCounts,
}

impl<R: Read> Merged<R> {
    /// Reads `inputs` side by side, at most [`FILES_MAX`] of them; further ones are left out.
    pub fn new(inputs: impl IntoIterator<Item = R>) -> Self {
        let readers: Vec<_> = inputs.into_iter().take(FILES_MAX).map(Reader::new).collect();
        let mut merged = Self {
            pending: vec![None; readers.len()],
            readers,
            order: BinaryHeap::new(),
            names: BTreeMap::new(),
            sequences: BTreeMap::new(),
            damage: Vec::new(),
            counts: TraceCounts::default(),
        };
        (0..merged.readers.len()).for_each(|file| merged.go_on(file));
        merged
    }

    fn go_on(&mut self, file: usize) {
        let Some(reader) = self.readers.get_mut(file) else { return };
        match reader.next() {
            Some(Ok(record)) => {
                self.order.push(Reverse((record.time_ns, file)));
                self.pending[file] = Some(record);
            }
            None => {}
            Some(Err(error)) => self.damage.push((file, error)),
        }
    }

    fn understand(&mut self, record: &Record) -> Option<BlockEvent> {
        self.counts.records += 1;
        if !matches!(record.what, What::Note(_)) {
            self.follow(record);
        }
        match record.what {
            What::Request(mut event) => {
                event.process.comm = self.names.get(&record.pid).copied().unwrap_or_default();
                return Some(event);
            }
            What::Remap { .. } => self.counts.remaps += 1,
            What::Note(note) => {
                self.counts.notes += 1;
                if let Note::Process(name) = note
                    && (self.names.len() < NAMES_MAX || self.names.contains_key(&record.pid))
                {
                    self.names.insert(record.pid, name);
                }
            }
            What::Other => {}
        }
        None
    }

    fn follow(&mut self, record: &Record) {
        let place = (record.device, record.cpu);
        if let Some(last) = self.sequences.get_mut(&place) {
            let missing = record.sequence.saturating_sub(*last).saturating_sub(1);
            self.counts.lost_records += u64::from(missing);
            *last = record.sequence.max(*last);
        } else if self.sequences.len() < SEQUENCES_MAX {
            self.sequences.insert(place, record.sequence);
        }
    }

    /// What was in the files so far.
    #[must_use]
    pub fn counts(&self) -> TraceCounts {
        self.counts
    }

    /// Files that are not read to their end, by number, with the reason.
    #[must_use]
    pub fn damage(&self) -> &[(usize, BlktraceError)] {
        &self.damage
    }
}

/// The events of requests. Blocks as the inputs do.
impl<R: Read> Iterator for Merged<R> {
    type Item = BlockEvent;

    fn next(&mut self) -> Option<BlockEvent> {
        while let Some(Reverse((_, file))) = self.order.pop() {
            let record = self.pending.get_mut(file)?.take()?;
            self.go_on(file);
            if let Some(event) = self.understand(&record) {
                return Some(event);
            }
        }
        None
    }
}
