//! What a disk has completed at some places of it: of files, wherever their requests are counted.
//!
//! Control groups count a request when it is submitted. One of 100 MB is then counted seconds before a
//! slow disk has served it; here it counts as it is done.
//!
//! Invariant: a byte counts for the one place that has it, and a request that reaches over the end of a
//! place counts for the part inside. Held by the test below.

use super::event::{BlockEvent, Kind};
use super::{Operation, Sink};
use std::ops::Range;

/// Bytes completed at places, summed by whose they are.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Bytes of the disk, sorted, with the index of the owner.
    places: Vec<(Range<u64>, usize)>,
    done_bytes: Vec<u64>,
}

impl Places {
    /// Of owners that have these bytes of the disk each. Places of different owners must not overlap.
    #[must_use]
    pub fn new(owners: &[Vec<Range<u64>>]) -> Self {
        let mut places: Vec<_> = owners
            .iter()
            .enumerate()
            .flat_map(|(owner, places)| places.iter().map(move |place| (place.clone(), owner)))
            .filter(|(place, _)| !place.is_empty())
            .collect();
        places.sort_by_key(|(place, _)| place.start);
        Self { places, done_bytes: vec![0; owners.len()] }
    }

    /// What was read and written so far, by owner.
    #[must_use]
    pub fn done_bytes(&self) -> &[u64] {
        &self.done_bytes
    }
}

impl Sink for Places {
    fn take(&mut self, event: &BlockEvent) {
        let is_data = matches!(event.class.operation, Operation::Read | Operation::Write);
        if event.kind != (Kind::Complete { failed: false }) || !is_data {
            return;
        }
        let begin = event.sector.saturating_mul(512);
        let end = begin.saturating_add(event.bytes);
        let first = self.places.partition_point(|(place, _)| place.end <= begin);
        for (place, owner) in self.places.iter().skip(first) {
            if place.start >= end {
                break;
            }
            if let Some(bytes) = self.done_bytes.get_mut(*owner) {
                *bytes += place.end.min(end) - place.start.max(begin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blk::{Class, Process};
    use crate::record::Device;

    #[test]
    fn bytes_count_where_they_are_and_once() {
        let mut places = Places::new(&[
            vec![4096..8192, 65536..131_072],
            vec![8192..10240, 10240..12288],
            vec![],
        ]);
        let event = |kind, rwbs: &str, sector, bytes| BlockEvent {
            time_ns: 1,
            device: Device(1),
            kind,
            sector,
            bytes,
            class: Class::parse(rwbs.as_bytes()),
            process: Process::default(),
        };
        let done = Kind::Complete { failed: false };
        for (kind, rwbs, sector, bytes) in [
            // Over the end of one place into another's, before all, behind all.
            (done, "W", 8, 8192),
            (done, "R", 0, 4096),
            (done, "WS", 256, 4096),
            (done, "R", 128, 512),
            // All of a place and more.
            (done, "R", 100, 1 << 20),
            // No data, not done, failed.
            (done, "D", 8, 4096),
            (Kind::Issue, "W", 8, 4096),
            (Kind::Complete { failed: true }, "W", 8, 4096),
        ] {
            places.take(&event(kind, rwbs, sector, bytes));
        }
        assert_eq!(places.done_bytes(), [4096 + 512 + 65536, 4096, 0]);
    }
}
