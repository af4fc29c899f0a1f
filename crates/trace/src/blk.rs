//! Traffic of block devices by class of request: how much of it is data, metadata, journal.
//!
//! All sources give the same [`BlockEvent`]s: the kernel's tracepoints, live or from a trace file
//! ([`BlockEvent::from_kernel`]), files of blktrace ([`blktrace`]), the text of blkparse
//! ([`blkparse`]), and that of perf script, trace-cmd and ftrace ([`printed`]). [`Accounting`] takes them in the order of time and sums them by device, process
//! and class, [`Places`] by where they are; [`figures`] has what follows from sums: shares, write amplification, lifetime.
//!
//! Invariant: pure and bounded, whatever the events. Each request counts once, however often it was
//! issued, and each byte once, when it is done. Held by `a_request_issued_again_counts_once`,
//! `parts_of_a_request_add_up`, `tables_are_bounded` and the fuzz targets `blk_blktrace`,
//! `blk_blkparse` and `blk_printed`.

mod accounting;
pub mod blkparse;
pub mod blktrace;
mod class;
mod event;
pub mod figures;
mod interval;
mod pending;
mod places;
pub mod printed;
mod traffic;

pub use accounting::{Accounting, Counts, DEVICES_MAX, ROWS_MAX};
pub use class::{Class, Column, Operation};
pub use event::{BlockEvent, Kind, Process};
pub use pending::PENDING_MAX;
pub use places::Places;
pub use traffic::{Totals, Traffic};

/// What events of requests are given to, one after the other in the order of time.
pub trait Sink {
    /// Takes an event.
    fn take(&mut self, event: &BlockEvent);
}

impl Sink for Accounting {
    fn take(&mut self, event: &BlockEvent) {
        Accounting::take(self, event);
    }
}
