//! Sums of one device or process: by column, and by class as the kernel has it.
//!
//! Invariant: the columns' sums are those of the classes. Held by `columns_are_sums_of_classes`.

use super::class::{Class, Column};
use std::collections::BTreeMap;

/// What was asked of a device, and what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests issued, each once.
    pub requests: u64,
    /// Their bytes.
    pub requested_bytes: u64,
    /// Requests done without an error.
    pub done_requests: u64,
    /// Bytes done without an error, those of requests too that were issued before anybody listened.
    pub done_bytes: u64,
    /// Requests that failed.
    pub failed_requests: u64,
    /// Bytes that failed.
    pub failed_bytes: u64,
}

impl Totals {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        let sum = |one: &mut u64, two: u64| *one = one.saturating_add(two);
        sum(&mut self.requests, other.requests);
        sum(&mut self.requested_bytes, other.requested_bytes);
        sum(&mut self.done_requests, other.done_requests);
        sum(&mut self.done_bytes, other.done_bytes);
        sum(&mut self.failed_requests, other.failed_requests);
        sum(&mut self.failed_bytes, other.failed_bytes);
    }

    /// Mean length of a request when it was issued, in bytes. Of devices that have no requests, and
    /// are seen only by what is done, mean length of that. None if there was nothing.
    #[must_use]
    pub fn mean_bytes(&self) -> Option<f64> {
        let (bytes, requests) = if self.requests > 0 {
            (self.requested_bytes, self.requests)
        } else {
            (self.done_bytes, self.done_requests)
        };
        (requests > 0).then(|| bytes as f64 / requests as f64)
    }
}

/// The traffic of a device or process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    columns: BTreeMap<Column, Totals>,
    classes: BTreeMap<(Column, Class), Totals>,
}

impl Traffic {
    pub(super) fn add(&mut self, column: Column, class: Class, totals: &Totals) {
        self.columns.entry(column).or_default().add(totals);
        self.classes.entry((column, class)).or_default().add(totals);
    }

    /// The sums of one column.
    #[must_use]
    pub fn column(&self, column: Column) -> Totals {
        self.columns.get(&column).copied().unwrap_or_default()
    }

    /// The sums of each class that came, in the order of the columns.
    pub fn classes(&self) -> impl Iterator<Item = (Column, Class, &Totals)> {
        self.classes.iter().map(|((column, class), totals)| (*column, *class, totals))
    }

    fn done(&self, columns: &[Column]) -> u64 {
        columns.iter().map(|column| self.column(*column).done_bytes).fold(0, u64::saturating_add)
    }

    /// Bytes read.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.done(&Column::READS)
    }

    /// Bytes written; without zeroes that the device writes by itself.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.done(&Column::WRITES)
    }

    /// The column's part of all bytes read and written, 0 to 1; 0 for one that moves no data.
    #[must_use]
    pub fn share(&self, column: Column) -> f64 {
        let all = self.done(&Column::OF_DATA);
        if all == 0 || !Column::OF_DATA.contains(&column) {
            return 0.0;
        }
        self.column(column).done_bytes as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_sums_of_classes() {
        let mut traffic = Traffic::default();
        let of = |bytes| Totals {
            requests: 1,
            requested_bytes: bytes,
            done_requests: 1,
            done_bytes: bytes,
            ..Totals::default()
        };
        for (letters, bytes) in [("W", 3_000), ("WS", 500), ("FWFS", 500), ("R", 1_000)] {
            let class = Class::parse(letters.as_bytes());
            traffic.add(class.column(false), class, &of(bytes));
        }
        traffic.add(Column::Discard, Class::parse(b"D"), &of(1 << 40));
        assert_eq!((traffic.read_bytes(), traffic.written_bytes()), (1_000, 4_000));
        let sync = traffic.column(Column::Ws);
        assert_eq!((sync.requests, sync.mean_bytes()), (2, Some(500.0)));
        assert_eq!(traffic.classes().count(), 5);
        let shares = [Column::W, Column::Ws, Column::R, Column::Discard].map(|c| traffic.share(c));
        assert_eq!(shares, [0.6, 0.2, 0.2, 0.0]);
        assert_eq!(traffic.column(Column::Rm).mean_bytes(), None);
        let only_done = Totals { done_requests: 2, done_bytes: 10, ..Totals::default() };
        assert_eq!(only_done.mean_bytes(), Some(5.0));
        assert_eq!(Traffic::default().share(Column::W), 0.0);
    }
}
