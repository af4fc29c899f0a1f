//! What happens to a request, as every source tells it.
//!
//! Invariant: fixed size, so that millions of them can pass; what a source does not tell is zero or
//! the default. Held by `events_of_the_kernel_become_events_of_requests`.

use super::class::{Class, Operation};
use crate::record::{Device, Name};
use crate::schema::KernelEvent;

/// The task in whose context something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// The kernel's number of the task; 0 is the idle task, -1 nobody that is known.
    pub pid: i32,
    /// Its name; empty if nobody told it.
    pub comm: Name,
}

impl Process {
    /// Whoever issued a request before anybody listened.
    #[must_use]
    pub fn unknown() -> Self {
        Self { pid: -1, comm: Name::new(b"(unknown)") }
    }

    /// All that come when the table is full.
    #[must_use]
    pub fn others() -> Self {
        Self { pid: -1, comm: Name::new(b"(others)") }
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is queued in the scheduler of the device.
    Insert,
    /// It is given to the driver.
    Issue,
    /// The driver gives it back; it will be issued again.
    Requeue,
    /// It is done, or a part of it.
    Complete {
        /// Whether it failed.
        failed: bool,
    },
}

/// Something that happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// When, in nanoseconds of the source's clock.
    pub time_ns: u64,
    /// The disk.
    pub device: Device,
    /// What happens.
    pub kind: Kind,
    /// Where, in sectors of 512 bytes; 0 for what has no place.
    pub sector: u64,
    /// How much: of the request, or what is done of it, in bytes.
    pub bytes: u64,
    /// Its class.
    pub class: Class,
    /// In whose context; says nothing of who asked when it is done.
    pub process: Process,
}

/// The place of what has none: `(sector_t) -1` in some events, 0 in others.
pub(super) fn place(sector: u64) -> u64 {
    if sector == u64::MAX { 0 } else { sector }
}

impl BlockEvent {
    /// The event of a request in an event of the kernel, if it is one. `pid`: the common field.
    #[must_use]
    pub fn from_kernel(time_ns: u64, pid: i32, event: &KernelEvent) -> Option<Self> {
        let of = |sectors: u32| u64::from(sectors) * 512;
        let (device, sector, bytes, rwbs, comm, kind) = match event {
            KernelEvent::RqInsert(e) => {
                (e.dev, e.sector, e.bytes.into(), e.rwbs, e.comm, Kind::Insert)
            }
            KernelEvent::RqIssue(e) => {
                (e.dev, e.sector, e.bytes.into(), e.rwbs, e.comm, Kind::Issue)
            }
            KernelEvent::RqRequeue(e) => {
                (e.dev, e.sector, of(e.sectors), e.rwbs, Name::default(), Kind::Requeue)
            }
            KernelEvent::RqComplete(e) => {
                let kind = Kind::Complete { failed: e.error != 0 };
                (e.dev, e.sector, of(e.sectors), e.rwbs, Name::default(), kind)
            }
            _ => return None,
        };
        let mut class = Class::parse(rwbs.as_bytes());
        // Up to 6.18 at least the kernel has no letter for writing zeroes. It is told from commands
        // of the driver's own, which have no sectors when they are issued, by having some.
        let sectors = match event {
            KernelEvent::RqInsert(e) => e.sectors,
            KernelEvent::RqIssue(e) => e.sectors,
            _ => 0,
        };
        if class.operation == Operation::Other && !class.has(Class::UNKNOWN) && sectors > 0 {
            class.operation = Operation::Zeroes;
        }
        let process = Process { pid, comm };
        Some(Self { time_ns, device, kind, sector: place(sector), bytes, class, process })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{RqComplete, RqIssue, RqRequeue};

    #[test]
    fn events_of_the_kernel_become_events_of_requests() {
        let (dev, rwbs) = (Device::new(8, 1), Name::new(b"FWFS"));
        let comm = Name::new(b"jbd2/sda1-8");
        let issue = RqIssue { dev, sector: 8, sectors: 16, bytes: 8_192, ioprio: None, rwbs, comm };
        let event = BlockEvent::from_kernel(7, 42, &KernelEvent::RqIssue(issue)).unwrap();
        let process = Process { pid: 42, comm };
        let class = Class::parse(b"FWFS");
        let expected = BlockEvent {
            time_ns: 7,
            device: dev,
            kind: Kind::Issue,
            sector: 8,
            bytes: 8_192,
            class,
            process,
        };
        assert_eq!(event, expected);
        let complete =
            RqComplete { dev, sector: u64::MAX, sectors: 3, error: -5, ioprio: None, rwbs };
        let event = BlockEvent::from_kernel(7, 0, &KernelEvent::RqComplete(complete)).unwrap();
        let kind = Kind::Complete { failed: true };
        assert_eq!((event.sector, event.bytes, event.kind), (0, 1_536, kind));
        let of = |sectors| {
            let rwbs = Name::new(b"NS");
            let issue = RqIssue { sectors, rwbs, ..issue };
            BlockEvent::from_kernel(7, 42, &KernelEvent::RqIssue(issue)).unwrap().class
        };
        assert_eq!((of(16).operation, of(0).operation), (Operation::Zeroes, Operation::Other));
        assert_eq!(of(16).to_string(), "WZS");
        let requeue = RqRequeue { dev, sector: 8, sectors: 16, ioprio: None, rwbs };
        let event = BlockEvent::from_kernel(7, 0, &KernelEvent::RqRequeue(requeue)).unwrap();
        assert_eq!((event.sector, event.bytes, event.kind), (8, 8_192, Kind::Requeue));
    }
}
