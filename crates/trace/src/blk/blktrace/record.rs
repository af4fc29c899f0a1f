//! One record of a blktrace file.
//!
//! Invariant: every header of the right length is a record, if only one of an unknown kind. Held by
//! the fuzz target `blk_blktrace`.

use crate::blk::class::{Class, Operation};
use crate::blk::event::{BlockEvent, Kind, Process, place};
use crate::record::{Device, Name};

/// Categories, in the upper half of the action (`enum blktrace_cat`).
mod category {
    pub(super) const WRITE: u64 = 1 << 17;
    pub(super) const FLUSH: u64 = 1 << 18;
    pub(super) const SYNC: u64 = 1 << 19;
    /// A command of the driver's own.
    pub(super) const PC: u64 = 1 << 25;
    pub(super) const NOTIFY: u64 = 1 << 26;
    pub(super) const AHEAD: u64 = 1 << 27;
    pub(super) const META: u64 = 1 << 28;
    pub(super) const DISCARD: u64 = 1 << 29;
    pub(super) const FUA: u64 = 1 << 31;
}

/// The lower byte of the action (`enum blktrace_act`, `enum blktrace_notify`).
mod act {
    pub(super) const REQUEUE: u64 = 6;
    pub(super) const ISSUE: u64 = 7;
    pub(super) const COMPLETE: u64 = 8;
    pub(super) const INSERT: u64 = 12;
    pub(super) const REMAP: u64 = 15;
    pub(super) const NOTE_PROCESS: u64 = 0;
    pub(super) const NOTE_TIMESTAMP: u64 = 1;
    pub(super) const NOTE_MESSAGE: u64 = 2;
    /// The data behind the record begins with the number of a control group.
    pub(super) const CGROUP: u64 = 1 << 8;
}
const CGROUP_BYTES: usize = 8;

/// The byte order of the traced machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// That of a record that begins with `head`; None if it is none.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        [Self::Little, Self::Big]
            .into_iter()
            .find(|order| order.u32(head, 0) & 0xffff_ff00 == super::MAGIC)
    }

    fn number(self, bytes: &[u8], offset: usize, length: usize) -> u64 {
        let bytes = bytes.get(offset..offset + length).unwrap_or(&[]);
        let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        match self {
            Self::Little => bytes.iter().rev().fold(0, push),
            Self::Big => bytes.iter().fold(0, push),
        }
    }

    pub(super) fn u32(self, bytes: &[u8], offset: usize) -> u32 {
        self.number(bytes, offset, 4) as u32
    }
}

/// Where the fields of a version are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) header_bytes: usize,
    /// Offset and length of the action.
    action: (usize, usize),
    pid: usize,
    device: usize,
}

impl Layout {
    pub(super) const LONGEST_BYTES: usize = 64;
    /// `struct blk_io_trace`.
    pub(super) const V1: Self = Self { header_bytes: 48, action: (28, 4), pid: 32, device: 36 };
    /// `struct blk_io_trace2`.
    const V2: Self = Self { header_bytes: 64, action: (32, 8), pid: 28, device: 40 };

    pub(super) fn of(version: u8) -> Option<Self> {
        match version {
            7 => Some(Self::V1),
            8 => Some(Self::V2),
            _ => None,
        }
    }

    /// Bytes of data behind the header.
    pub(super) fn payload_bytes(&self, order: ByteOrder, header: &[u8]) -> usize {
        order.number(header, self.device + 10, 2) as usize
    }
}

/// What a note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The name of the record's task.
    Process(Name),
    /// What time it was when the trace began.
    Timestamp,
    /// Text of a driver or scheduler.
    Message,
    /// Another.
    Other,
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something happens to a request. The task has no name yet.
    Request(BlockEvent),
    /// A piece of a partition or volume goes to a disk.
    Remap {
        /// Where it came from.
        from: Device,
        /// Where there, in sectors.
        from_sector: u64,
    },
    /// Something is told beside.
    Note(Note),
    /// Another event of a piece or request: queued, merged, plugged, split.
    Other,
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Counts the records of a disk on a processor; notes have none.
    pub sequence: u32,
    /// When, in nanoseconds.
    pub time_ns: u64,
    /// The processor.
    pub cpu: u32,
    /// The disk.
    pub device: Device,
    /// The task.
    pub pid: i32,
    /// What it says.
    pub what: What,
}

impl Record {
    pub(super) fn decode(layout: &Layout, order: ByteOrder, header: &[u8], payload: &[u8]) -> Self {
        let (action_offset, action_length) = layout.action;
        let action = order.number(header, action_offset, action_length);
        let pid = order.u32(header, layout.pid) as i32;
        let device = Device(order.u32(header, layout.device));
        let time_ns = order.number(header, 8, 8);
        let own = if action & act::CGROUP == 0 { 0 } else { CGROUP_BYTES };
        let payload = payload.get(own..).unwrap_or(&[]);
        let kind = action & 0xff;
        let what = if action & category::NOTIFY != 0 {
            What::Note(match kind {
                act::NOTE_PROCESS => Note::Process(Name::new(payload)),
                act::NOTE_TIMESTAMP => Note::Timestamp,
                act::NOTE_MESSAGE => Note::Message,
                _ => Note::Other,
            })
        } else if kind == act::REMAP {
            // These are big-endian on every machine.
            let from = Device(ByteOrder::Big.u32(payload, 0));
            What::Remap { from, from_sector: ByteOrder::Big.number(payload, 8, 8) }
        } else {
            let failed = order.number(header, layout.device + 8, 2) != 0;
            let kind = match kind {
                act::INSERT => Some(Kind::Insert),
                act::ISSUE => Some(Kind::Issue),
                act::REQUEUE => Some(Kind::Requeue),
                act::COMPLETE => Some(Kind::Complete { failed }),
                _ => None,
            };
            let bytes = order.number(header, 24, 4);
            kind.map_or(What::Other, |kind| {
                What::Request(BlockEvent {
                    time_ns,
                    device,
                    kind,
                    sector: place(order.number(header, 16, 8)),
                    bytes,
                    class: class(action, bytes),
                    process: Process { pid, comm: Name::default() },
                })
            })
        };
        let (sequence, cpu) = (order.u32(header, 4), order.u32(header, layout.device + 4));
        Self { sequence, time_ns, cpu, device, pid, what }
    }
}

/// The class that blkparse prints for these bits.
fn class(action: u64, bytes: u64) -> Class {
    let is = |bits: u64| action & bits != 0;
    let flags = [
        (category::FLUSH, Class::PREFLUSH),
        (category::FUA, Class::FUA),
        (category::AHEAD, Class::AHEAD),
        (category::SYNC, Class::SYNC),
        (category::META, Class::META),
    ];
    let flags = flags.iter().filter(|(bit, _)| is(*bit)).fold(0, |all, (_, flag)| all | flag);
    let operation = if is(category::PC) {
        Operation::Other
    } else if is(category::DISCARD) {
        Operation::Discard
    } else if is(category::WRITE) {
        Operation::Write
    } else if bytes > 0 {
        Operation::Read
    } else if is(category::FLUSH) {
        Operation::Flush
    } else {
        Operation::Other
    };
    Class::new(operation, flags)
}
