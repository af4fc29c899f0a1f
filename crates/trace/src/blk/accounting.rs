//! Sums events of requests by device, process and class.
//!
//! A request counts when it is issued, its bytes when they are done without an error, as
//! `/proc/diskstats` counts them. It belongs to who queued it in the scheduler if that was seen, else
//! to who issued it: with a scheduler, a worker of the kernel issues for others.
//!
//! Three things need care. A request that the driver gave back is issued again. A part of a request
//! can be done before the rest. And the kernel tells the end of a write that was surrounded by
//! flushes a second time, without bytes: what has none counts only if its issue was seen.
//!
//! Invariant: at most [`ROWS_MAX`] rows and [`DEVICES_MAX`] devices; what comes beyond is summed under
//! `(others)`, or counted as left out. Held by `tables_are_bounded`.

#[cfg(test)]
mod tests;

use super::class::{Class, Column};
use super::event::{BlockEvent, Kind, Process, place};
use super::interval::Interval;
use super::pending::{At, PENDING_MAX, Places, Request};
use super::traffic::{Totals, Traffic};
use crate::record::Device;
use std::collections::{BTreeMap, BTreeSet};

/// Devices that are told apart.
pub const DEVICES_MAX: usize = 4_096;
/// Rows of device, process and class, beside those of `(others)`: a process takes some 1.6 KB with what is
/// made of it, so all of them less than any input may take.
pub const ROWS_MAX: usize = 1 << 15;
/// Who queued a request is forgotten when it was not issued for so long: it was merged into another.
const QUEUED_NS_MAX: u64 = 60_000_000_000;

/// What was seen beside the sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events taken.
    pub events: u64,
    /// Requests issued again after the driver gave them back.
    pub reissued_requests: u64,
    /// Ends of requests whose issue was not seen.
    pub unmatched_requests: u64,
    /// Requests issued and not done yet.
    pub pending_requests: u64,
    /// Requests that were not done for so long that they were forgotten.
    pub forgotten_requests: u64,
    /// Events of devices beyond [`DEVICES_MAX`].
    pub left_out_events: u64,
}

/// Sums of events.
#[derive(Debug)]
pub struct Accounting {
    rows: BTreeMap<(Device, Process, Column, Class), Totals>,
    devices: BTreeSet<Device>,
    rows_max: usize,
    issued: Places<Request>,
    /// Who queued what is not issued, and when.
    queued: Places<(Process, u64)>,
    counts: Counts,
    interval: Interval,
}

impl Default for Accounting {
    fn default() -> Self {
        Self::with_limits(PENDING_MAX, ROWS_MAX)
    }
}

impl Accounting {
    fn with_limits(pending_max: usize, rows_max: usize) -> Self {
        Self {
            rows: BTreeMap::new(),
            devices: BTreeSet::new(),
            rows_max,
            issued: Places::new(pending_max),
            queued: Places::new(pending_max),
            counts: Counts::default(),
            interval: Interval::default(),
        }
    }

    /// Takes an event. Events come in the order of time.
    pub fn take(&mut self, event: &BlockEvent) {
        if !self.devices.contains(&event.device) {
            if self.devices.len() == DEVICES_MAX {
                self.counts.left_out_events += 1;
                return;
            }
            self.devices.insert(event.device);
        }
        self.counts.events += 1;
        self.interval.take(event.time_ns);
        let sector = if event.bytes == 0 { 0 } else { place(event.sector) };
        let at = (event.device, sector, event.bytes > 0);
        match event.kind {
            Kind::Insert => {
                while self.queued.take(at, |_| true).is_some() {}
                self.queued.add(at, (event.process, event.time_ns));
            }
            Kind::Issue => self.issue(at, event),
            Kind::Requeue => {
                if let Some(request) = self.issued.find(at, |request| !request.requeued) {
                    request.requeued = true;
                }
            }
            Kind::Complete { failed } => self.complete(at, event, failed),
        }
        self.counts.pending_requests = self.issued.len() as u64;
    }

    fn issue(&mut self, at: At, event: &BlockEvent) {
        if let Some(request) = self.issued.find(at, |request| request.requeued) {
            request.requeued = false;
            self.counts.reissued_requests += 1;
            return;
        }
        let queued = self.queued.take(at, |_| true);
        let recent =
            |(_, time_ns): &(Process, u64)| event.time_ns.saturating_sub(*time_ns) <= QUEUED_NS_MAX;
        let process = queued.filter(recent).map_or(event.process, |(process, _)| process);
        let class = event.class;
        let request = Request { class, left_bytes: event.bytes, process, requeued: false };
        if self.issued.add(at, request).is_some() {
            self.counts.forgotten_requests += 1;
        }
        let totals = Totals { requests: 1, requested_bytes: event.bytes, ..Totals::default() };
        self.add(event.device, process, class, event.bytes == 0, &totals);
    }

    fn complete(&mut self, at: At, event: &BlockEvent, failed: bool) {
        // A read and a write can be under way at one place: the operation tells them apart.
        let same = |request: &Request| request.class.operation == event.class.operation;
        let found = self.issued.take(at, same).or_else(|| self.issued.take(at, |_| true));
        if found.is_none() && event.bytes == 0 {
            return;
        }
        let unknown = || Request {
            class: event.class,
            left_bytes: event.bytes,
            process: Process::unknown(),
            requeued: false,
        };
        if found.is_none() {
            self.counts.unmatched_requests += 1;
        }
        let request = found.unwrap_or_else(unknown);
        let left_bytes = request.left_bytes.saturating_sub(event.bytes);
        if left_bytes > 0 {
            // What is left may be issued again without another word.
            let (device, sector, _) = at;
            let rest = (device, sector.saturating_add(event.bytes / 512), true);
            self.issued.add(rest, Request { left_bytes, requeued: true, ..request });
        }
        let (requests, bytes) = (u64::from(left_bytes == 0), event.bytes);
        let totals = if failed {
            Totals { failed_requests: requests, failed_bytes: bytes, ..Totals::default() }
        } else {
            Totals { done_requests: requests, done_bytes: bytes, ..Totals::default() }
        };
        self.add(event.device, request.process, request.class, bytes == 0, &totals);
    }

    fn add(&mut self, device: Device, who: Process, class: Class, empty: bool, totals: &Totals) {
        let column = class.column(empty);
        let mut key = (device, who, column, class);
        if self.rows.len() >= self.rows_max && !self.rows.contains_key(&key) {
            // Bounded by devices and columns.
            key = (device, Process::others(), column, Class::default());
        }
        self.rows.entry(key).or_default().add(totals);
    }

    /// What was seen beside the sums.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// From the first event to the last, in nanoseconds.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.interval.span_ns()
    }

    /// Events whose time is far from all others': counted, and no part of the interval.
    #[must_use]
    pub fn odd_times(&self) -> u64 {
        self.interval.alone()
    }

    /// The traffic of each device that had any.
    #[must_use]
    pub fn by_device(&self) -> BTreeMap<Device, Traffic> {
        let mut traffic: BTreeMap<Device, Traffic> = BTreeMap::new();
        for ((device, _, column, class), totals) in &self.rows {
            traffic.entry(*device).or_default().add(*column, *class, totals);
        }
        traffic
    }

    /// The traffic of each process on one device.
    #[must_use]
    pub fn by_process(&self, device: Device) -> BTreeMap<Process, Traffic> {
        let mut traffic: BTreeMap<Process, Traffic> = BTreeMap::new();
        let rows = self.rows.iter().filter(|((of, ..), _)| *of == device);
        for ((_, process, column, class), totals) in rows {
            traffic.entry(*process).or_default().add(*column, *class, totals);
        }
        traffic
    }
}
