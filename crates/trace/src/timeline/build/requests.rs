//! Requests of disks: queued, with the driver, done.
//!
//! The kernel tells of a request by its place, which is all that its events have in common. Two kinds have
//! none: a flush without data, and a command of the driver's own. Both are issued at sector 0
//! (`blk_rq_trace_sector` of include/linux/blktrace_api.h) and done at the last sector that there can be
//! (`blk_rq_pos` is -1).
//!
//! What is done and was not seen to be issued was with the driver when the trace began, unless events were lost or
//! it is the rest of one that failed.
//!
//! Invariant: what is done is not with the driver any more. Held by
//! `parts_of_a_request_add_up` (below) and `flushes_end` of the recorded traces.

use super::super::{Disk, Request};
use super::{At, Builder};
use crate::record::Device;
use crate::schema::{RqComplete, RqInsert, RqIssue, RqRequeue};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Requests that are in the queues and drivers of a machine at once, at most.
const REQUESTS_MAX: usize = 1 << 20;

/// Where a flush without data is, and a command: nowhere else is a request.
const FLUSH: u64 = u64::MAX;
const COMMAND: u64 = u64::MAX - 1;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Whether it is told that a driver gives a request back.
    pub(super) tells_requeues: bool,
    /// When they were queued, by whom.
    queued: HashMap<(Device, u64), (u64, i32)>,
    /// With the driver.
    issued: HashMap<(Device, u64), Issued>,
    /// Done, and not seen to be issued.
    earlier: BTreeMap<Device, Vec<Request>>,
    /// Where the rest of a request would be that failed.
    failed: HashSet<(Device, u64)>,
}

#[derive(Debug)]
struct Issued {
    /// Of the disk's.
    index: usize,
    left_bytes: u32,
    /// The driver gave it back.
    requeued: bool,
}

/// Where a request is that is queued, issued or given back.
fn place(sector: u64, sectors: u32, bytes: u32) -> u64 {
    match (sectors, bytes) {
        (0, 0) => FLUSH,
        (0, _) => COMMAND,
        _ => sector,
    }
}

impl Builder {
    pub(super) fn queue(&mut self, at: At, event: &RqInsert) {
        let place = place(event.sector, event.sectors, event.bytes);
        if self.requests.queued.len() < REQUESTS_MAX {
            self.requests.queued.insert((event.dev, place), (at.time_ns, at.pid));
        }
    }

    pub(super) fn issue(&mut self, at: At, event: &RqIssue) {
        let place = (event.dev, place(event.sector, event.sectors, event.bytes));
        let queued = self.requests.queued.remove(&place);
        if !self.room() {
            return;
        }
        let disk: &mut Disk = self.line.disks.entry(event.dev).or_default();
        if let Some(open) = self.requests.issued.get_mut(&place)
            && let Some(request) = disk.requests.get_mut(open.index)
        {
            let is_alike = open.left_bytes == event.bytes && request.class == event.rwbs;
            // Given to the driver again, as it could not take it: its first time counts.
            if is_alike && (open.requeued || !self.requests.tells_requeues || place.1 >= COMMAND) {
                open.requeued = false;
                return;
            }
            // Another one; that the one before was done is lost, and so its time.
            request.done_ns.get_or_insert(request.issued_ns);
        }
        if self.requests.issued.len() < REQUESTS_MAX {
            let index = disk.requests.len();
            let issued = Issued { index, left_bytes: event.bytes, requeued: false };
            self.requests.issued.insert(place, issued);
        }
        disk.requests.push(Request {
            sector: event.sector,
            bytes: event.bytes,
            class: event.rwbs,
            pid: queued.map_or(at.pid, |(_, pid)| pid),
            queued_ns: queued.map(|(time_ns, _)| time_ns),
            issued_ns: at.time_ns,
            done_ns: None,
        });
    }

    /// The driver gave a request back.
    pub(super) fn requeue(&mut self, event: &RqRequeue) {
        // One that is nowhere is the only one of its kind, given back or not.
        let open = self.requests.issued.get_mut(&(event.dev, event.sector));
        if let Some(open) = open.filter(|_| event.sectors > 0) {
            open.requeued = true;
        }
    }

    pub(super) fn complete(&mut self, at: At, event: &RqComplete) {
        let place = match (event.sector, event.sectors) {
            (0 | u64::MAX, 0) => FLUSH,
            (u64::MAX, _) => COMMAND,
            (sector, _) => sector,
        };
        let Some(mut open) = self.requests.issued.remove(&(event.dev, place)) else {
            return self.complete_earlier(at, event, place);
        };
        let disk = self.line.disks.get_mut(&event.dev);
        let Some(request) = disk.and_then(|disk| disk.requests.get_mut(open.index)) else { return };
        request.done_ns = Some(at.time_ns);
        // A part of it is done: the rest is a request that begins behind that part.
        open.left_bytes = open.left_bytes.saturating_sub(event.sectors.saturating_mul(512));
        if open.left_bytes > 0 && place < COMMAND {
            let behind = (event.dev, place.saturating_add(u64::from(event.sectors)));
            if event.error == 0 {
                self.requests.issued.insert(behind, open);
            } else if self.requests.failed.len() < REQUESTS_MAX {
                self.requests.failed.insert(behind);
            }
        }
    }

    /// A request is done that was not seen to be issued.
    fn complete_earlier(&mut self, at: At, event: &RqComplete, place: u64) {
        // What ends without a length may be the end of a write's flush, which is told beside the write's own: seen on
        // 5.10 at the write's place, and on 6.18 at the first sector.
        let is_nothing = place >= COMMAND || event.sectors == 0;
        if self.requests.failed.remove(&(event.dev, place)) || is_nothing || !self.room() {
            return;
        }
        self.requests.earlier.entry(event.dev).or_default().push(Request {
            sector: event.sector,
            bytes: event.sectors.saturating_mul(512),
            class: event.rwbs,
            pid: Request::BEFORE,
            queued_ns: None,
            issued_ns: self.line.begin_ns,
            done_ns: Some(at.time_ns),
        });
    }

    /// Puts those that were with the driver when the trace began before the others. Where events were lost, one that
    /// was not seen to be issued may have been issued within the trace.
    pub(super) fn add_earlier(&mut self) {
        let is_lost = self.line.lost_events > 0 || self.line.lost_places > 0;
        for (device, requests) in std::mem::take(&mut self.requests.earlier) {
            if !is_lost {
                let disk = self.line.disks.entry(device).or_default();
                disk.requests.splice(0..0, requests);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Name;
    use crate::schema::KernelEvent;
    use crate::timeline::build::Context;
    use crate::timeline::{Limits, Timeline};

    const DISK: Device = Device(8 << 20);

    fn issue(sector: u64, sectors: u32) -> KernelEvent {
        let (rwbs, comm) = (Name::new(b"WS"), Name::new(b"a"));
        let bytes = sectors * 512;
        KernelEvent::RqIssue(RqIssue {
            dev: DISK,
            sector,
            sectors,
            bytes,
            ioprio: None,
            rwbs,
            comm,
        })
    }

    fn done(sector: u64, sectors: u32) -> KernelEvent {
        let rwbs = Name::new(b"WS");
        KernelEvent::RqComplete(RqComplete {
            dev: DISK,
            sector,
            sectors,
            error: 0,
            ioprio: None,
            rwbs,
        })
    }

    fn back(sector: u64, sectors: u32) -> KernelEvent {
        let rwbs = Name::new(b"WS");
        KernelEvent::RqRequeue(RqRequeue { dev: DISK, sector, sectors, ioprio: None, rwbs })
    }

    /// (sector, bytes, issued, done), where an event comes every 10 ns.
    fn of(events: &[KernelEvent], tells_requeues: bool) -> Vec<(u64, u32, u64, Option<u64>)> {
        let mut builder = Builder::new(Limits::default());
        builder.requests.tells_requeues = tells_requeues;
        for (number, event) in events.iter().enumerate() {
            let time_ns = 10 * (1 + number as u64);
            builder.known(At { cpu: 0, time_ns, pid: 1, context: Context::Task }, event);
        }
        let line: Timeline = builder.finish();
        let requests = line.disks.values().flat_map(|disk| &disk.requests);
        requests.map(|one| (one.sector, one.bytes, one.issued_ns, one.done_ns)).collect()
    }

    #[test]
    fn a_flush_and_a_request_at_the_first_sector_are_two() {
        let events = [
            issue(0, 8),
            issue(0, 0),
            done(u64::MAX, 0),
            done(0, 8),
            issue(0, 0),
            done(u64::MAX, 0),
        ];
        assert_eq!(
            of(&events, true),
            [(0, 4_096, 10, Some(40)), (0, 0, 20, Some(30)), (0, 0, 50, Some(60))]
        );
    }

    #[test]
    fn what_was_with_the_driver_before_is_of_the_traces_begin() {
        // The end of a flush behind a write has no length, and no issue of its own.
        let events = [issue(8, 16), done(64, 8), done(8, 16), done(8, 0), done(0, 0)];
        assert_eq!(of(&events, true), [(64, 4_096, 0, Some(20)), (8, 8_192, 10, Some(30))]);
        // The rest of one that failed is none.
        let failed = |sector, sectors| match done(sector, sectors) {
            KernelEvent::RqComplete(event) => {
                KernelEvent::RqComplete(RqComplete { error: -5, ..event })
            }
            other => other,
        };
        let events = [issue(8, 16), failed(8, 8), done(16, 8)];
        assert_eq!(of(&events, true), [(8, 8_192, 10, Some(20))]);
        let mut builder = Builder::new(Limits::default());
        builder.lost(Some(1));
        builder.known(At { cpu: 0, time_ns: 5, pid: 1, context: Context::Task }, &done(64, 8));
        assert!(builder.finish().disks.is_empty());
    }

    #[test]
    fn parts_of_a_request_add_up() {
        // Written one behind the other, the first in two parts.
        let events = [issue(8, 16), done(8, 8), done(16, 8), issue(24, 16), done(24, 16)];
        assert_eq!(of(&events, true), [(8, 8_192, 10, Some(30)), (24, 8_192, 40, Some(50))]);
        assert_eq!(of(&events, false), [(8, 8_192, 10, Some(30)), (24, 8_192, 40, Some(50))]);
    }

    #[test]
    fn what_was_given_back_is_one_and_what_was_not_is_two() {
        let events = [issue(8, 8), back(8, 8), issue(8, 8), done(8, 8)];
        assert_eq!(of(&events, true), [(8, 4_096, 10, Some(40))]);
        // Its end was lost; the block is written again.
        let events = [issue(8, 8), issue(8, 8), done(8, 8)];
        assert_eq!(of(&events, true), [(8, 4_096, 10, Some(10)), (8, 4_096, 20, Some(30))]);
        // An old trace does not tell which of both it is.
        assert_eq!(of(&events, false), [(8, 4_096, 10, Some(30))]);
    }
}
