//! What the next writer would find in a ring, without taking it over: for `baro info`, and for the
//! fuzzer, since a ring's contents are as hostile as a file's.

use super::consumer::{Next, RingReader};
use super::{Ring, RingReport};
use crate::Result;
use baro_ondisk::{Gap, StoreId};
use baro_sys::memory::SharedMemory;

/// What a ring holds that is not durable yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RingContents {
    /// The ring's counters.
    pub report: RingReport,
    /// Records that wait.
    pub records: u64,
    /// Their payload bytes.
    pub payload_bytes: u64,
    /// Records lost among them, by cause.
    pub gaps: Gap,
}

/// Reads the ring in `memory` as its next writer would. Changes nothing; beside a running
/// recorder it is one moment's view.
///
/// # Errors
/// It is no ring, not of this version, or (with `store`) not of that store.
pub fn inspect(memory: SharedMemory, store: Option<StoreId>) -> Result<RingContents> {
    let mut reader = RingReader::at_released(Ring::attach(memory, store)?, 0);
    let mut contents = RingContents { report: reader.report(), ..RingContents::default() };
    let mut payload = Vec::new();
    loop {
        match reader.next() {
            Next::Empty => return Ok(contents),
            Next::Record(head) => {
                payload.resize(head.length, 0);
                reader.copy_payload(&mut payload);
                contents.records += 1;
                contents.payload_bytes += head.length as u64;
                reader.take_record(&head);
            }
            Next::Gap(gap) => {
                let sum = |a: u64, b: u64| a.saturating_add(b);
                contents.gaps.ring_full = sum(contents.gaps.ring_full, gap.ring_full);
                contents.gaps.too_large = sum(contents.gaps.too_large, gap.too_large);
                contents.gaps.damaged = sum(contents.gaps.damaged, gap.damaged);
                contents.gaps.unknown = sum(contents.gaps.unknown, gap.unknown);
                reader.take_gap(&gap);
            }
        }
    }
}
