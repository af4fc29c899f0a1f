//! The structures of the interface. Fixed-width fields in falling order of alignment: no padding,
//! no pointer, the same layout on 32 and 64 bits. Held by `tests/abi.rs` and `tests/c/abi.c`.

use crate::arguments::Versioned;
use std::ffi::c_char;

/// Reuse the oldest segment when the log is full, instead of refusing new records.
pub const BARO_INIT_RECYCLE: u32 = 1;
/// Write two segments now; the recorder adds the others in the background, until the log has
/// log_bytes, or what may be used of it.
pub const BARO_INIT_GROW: u32 = 2;

/// How a store is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_init_options {
    /// sizeof(baro_init_options)
    pub type_size: u32,
    /// BARO_INIT_... or 0.
    pub flags: u32,
    /// Bytes of the log, from 2 MiB on; 0: 1 GiB.
    pub log_bytes: u64,
}

/// Use the page cache even where direct I/O is possible.
pub const BARO_OPEN_BUFFERED: u32 = 1;
/// Rings are memory of this process: no other can attach, and they do not survive it.
pub const BARO_OPEN_RINGS_PRIVATE: u32 = 2;
/// The field cpu is meant.
pub const BARO_OPEN_CPU: u32 = 4;

/// How a store is opened for recording.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_open_options {
    /// sizeof(baro_open_options)
    pub type_size: u32,
    /// BARO_OPEN_... or 0.
    pub flags: u32,
    /// Longest time from push to durable that the writer aims at; 0: 100 ms.
    pub durable_within_ns: u64,
    /// Bytes of each ring: covers input rate x longest stall of the device; 0: 16 MiB.
    pub ring_bytes: u64,
    /// Largest payload of a record, at most a quarter of the ring; 0: 256 KiB.
    pub record_bytes_max: u64,
    /// Largest block, of which the writer has nine; holds the largest record; 0: 256 KiB. Above
    /// 100 MB/s 1 MiB is better.
    pub block_bytes: u64,
    /// Use at most so many bytes of a log that recycles, at least two segments; then the oldest
    /// segment is reused although the log could be larger; 0: all.
    pub keep_bytes: u64,
    /// Recycle nothing younger, in nanoseconds while the machine runs. If the log is full of
    /// younger data, new records are refused and counted (BARO_TROUBLE_HELD); 0: no limit.
    pub keep_ns: u64,
    /// The log grows only as long as its file system has so many bytes free.
    pub min_free_bytes: u64,
    /// Processor of the writer's threads, with BARO_OPEN_CPU.
    pub cpu: u32,
    /// SCHED_FIFO priority of the writer's threads, 1 to 99, used if granted; 0: none.
    pub fifo: u32,
    /// Folder of the rings, which must be a tmpfs; empty: the first of RUNTIME_DIRECTORY,
    /// /run/barograph-root (root), XDG_RUNTIME_DIR, /dev/shm that is one and in which nobody else
    /// can have put anything.
    pub ring_folder: [c_char; 256],
}

/// Type of a series: 64-bit floating point.
pub const BARO_F64: u32 = 1;
/// Type of a series: 64-bit signed integer.
pub const BARO_I64: u32 = 2;
/// Type of a series: 0 or 1, pushed as an integer.
pub const BARO_BOOL: u32 = 3;
/// Type of a series: text.
pub const BARO_TEXT: u32 = 4;
/// Not a series but a channel of frames.
pub const BARO_CHANNEL: u32 = 16;

/// How a series or channel is declared.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_declare_options {
    /// sizeof(baro_declare_options)
    pub type_size: u32,
    /// BARO_F64 (also 0), BARO_I64, BARO_BOOL, BARO_TEXT or BARO_CHANNEL.
    pub value_type: u32,
}

/// The writer makes progress.
pub const BARO_TROUBLE_NONE: u32 = 0;
/// Every segment holds data, and the store was made to stop then.
pub const BARO_TROUBLE_LOG_FULL: u32 = 1;
/// A write or sync failed; what was not durable is written again elsewhere.
pub const BARO_TROUBLE_DEVICE: u32 = 2;
/// The log is growing: every segment that is there holds data.
pub const BARO_TROUBLE_GROWING: u32 = 3;
/// Pins, or what is to be kept, hold every segment: new records are refused.
pub const BARO_TROUBLE_HELD: u32 = 4;

/// The writer's counters since the store was opened.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_status {
    /// sizeof(baro_status)
    pub type_size: u32,
    /// BARO_TROUBLE_...: why there is no progress.
    pub trouble: u32,
    /// Session of this open.
    pub session: u64,
    /// Blocks handed to the device.
    pub blocks: u64,
    /// Those of them that are durable.
    pub durable_blocks: u64,
    /// Bytes handed to the device, with padding, headers, and what was repeated.
    pub device_bytes: u64,
    /// Bytes of padding in them.
    pub padding_bytes: u64,
    /// Payload bytes of records in blocks, what was repeated counted once.
    pub payload_bytes: u64,
    /// Records in blocks.
    pub records: u64,
    /// Records lost and logged as gaps.
    pub lost: u64,
    /// Syncs completed.
    pub syncs: u64,
    /// Failed writes and syncs.
    pub failures: u64,
    /// Longest write.
    pub longest_write_ns: u64,
    /// Longest sync.
    pub longest_sync_ns: u64,
    /// Longest time from taking a record into a block to its being durable.
    pub longest_durable_ns: u64,
    /// Bytes of the recorder's memory with its rings, fixed at open but for further rings.
    pub memory_bytes: u64,
    /// Records that are still in rings: not durable yet, or (after baro_close) left in ring files
    /// for the next open.
    pub left: u64,
    /// Segments started.
    pub segments_started: u32,
    /// Segments that had a failed write or sync.
    pub segments_suspect: u32,
    /// Rings that are read.
    pub rings: u32,
    /// Rings whose positions were impossible; nothing more is read from them.
    pub rings_broken: u32,
    /// Segments that are there.
    pub segments_grown: u32,
    /// Segments that are to be there. What keeps the log from growing is told by baro_complaints.
    pub segments_target: u32,
}

/// How a pin is asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_pin_options {
    /// sizeof(baro_pin_options)
    pub type_size: u32,
    /// 0
    pub flags: u32,
    /// How far the window reaches back; at most ten years.
    pub before_ns: u64,
    /// How far it goes on; at most ten years.
    pub after_ns: u64,
    /// What people call it, at most 256 bytes; may be empty.
    pub name: [c_char; 264],
}

/// baro_pin_when: the value is above the limit.
pub const BARO_ABOVE: u32 = 1;
/// baro_pin_when: the value is at the limit or above.
pub const BARO_AT_LEAST: u32 = 2;
/// baro_pin_when: the value is below the limit.
pub const BARO_BELOW: u32 = 3;
/// baro_pin_when: the value is at the limit or below.
pub const BARO_AT_MOST: u32 = 4;

/// The recorder has not seen the pin yet.
pub const BARO_PIN_ASKED: u32 = 1;
/// The end of the pin's window is still to come.
pub const BARO_PIN_OPEN: u32 = 2;
/// Everything of the pin's window that was recorded is held.
pub const BARO_PIN_WHOLE: u32 = 3;
/// Less than the pin's window is held; the reason says what is missing.
pub const BARO_PIN_SHORT: u32 = 4;
/// The pin was not granted; the reason says why.
pub const BARO_PIN_REFUSED: u32 = 5;

/// A pin as it stands.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_pin_info {
    /// sizeof(baro_pin_info)
    pub type_size: u32,
    /// BARO_PIN_...
    pub state: u32,
    /// Its id: random, never 0.
    pub id: u64,
    /// Earliest time of a record in its window.
    pub from_ns: i64,
    /// First time behind its window.
    pub to_ns: i64,
    /// The moment that it is about.
    pub moment_ns: i64,
    /// Its name; empty if it has none.
    pub name: [c_char; 264],
    /// Why less than the window is held; else empty.
    pub reason: [c_char; 1032],
}

/// A ring's counters at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_ring_report {
    /// sizeof(baro_ring_report)
    pub type_size: u32,
    /// 1 if the writer has closed the ring.
    pub closed: u32,
    /// Random id of the ring's producer.
    pub producer: u64,
    /// Sequences handed out: records pushed and refused.
    pub offered: u64,
    /// Refused because the ring was full.
    pub refused_full: u64,
    /// Refused because they were too large.
    pub refused_large: u64,
    /// Every sequence below is written or a logged gap.
    pub written: u64,
    /// Every sequence below is durable or a logged gap.
    pub durable: u64,
    /// Bytes in the ring that are not durable yet.
    pub used_bytes: u64,
    /// Bytes of the ring.
    pub capacity_bytes: u64,
    /// Largest payload of a record.
    pub record_bytes_max: u64,
}

/// A frame of a channel.
pub const BARO_KIND_FRAME: u32 = 1;
/// A batch of samples: see baro_sample_get.
pub const BARO_KIND_SAMPLES: u32 = 2;
/// Records that were lost: see baro_gap_get.
pub const BARO_KIND_GAP: u32 = 3;
/// The realtime clock was stepped: payload i64 before, i64 after, each minus boottime.
pub const BARO_KIND_CLOCK: u32 = 4;
/// A sample of a series of type BARO_TEXT: the payload is UTF-8, `channel` is the series.
pub const BARO_KIND_TEXT: u32 = 7;

/// A record that was read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_record {
    /// sizeof(baro_record)
    pub type_size: u32,
    /// BARO_KIND_...; ignore kinds that you do not know.
    pub kind: u32,
    /// Session that wrote it.
    pub session: u64,
    /// Who pushed it; 0 is the writer.
    pub producer: u64,
    /// Number among those of its producer.
    pub sequence: u64,
    /// Time given by the producer.
    pub time_ns: i64,
    /// Bytes of the payload.
    pub payload_bytes: u64,
    /// Channel of a frame, else 0.
    pub channel: u32,
    /// 0
    pub reserved: u32,
}

/// One sample of a batch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_sample {
    /// sizeof(baro_sample)
    pub type_size: u32,
    /// Id of the series.
    pub series: u32,
    /// Its time.
    pub time_ns: i64,
    /// The value of a series of type BARO_F64.
    pub value: f64,
    /// The value of a series of any other type: the same bits.
    pub integer: i64,
}

/// Records lost, by cause.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_gap {
    /// sizeof(baro_gap)
    pub type_size: u32,
    /// 0
    pub reserved: u32,
    /// Refused because the ring was full.
    pub ring_full: u64,
    /// Refused because they were larger than the ring takes.
    pub too_large: u64,
    /// Discarded by the writer because the ring's contents were not valid.
    pub damaged: u64,
    /// Missing without a cause that was counted.
    pub unknown: u64,
}

/// The value of a sample, as the type of its series says: 64 bits.
#[repr(C)]
#[derive(Clone, Copy)]
pub union baro_value {
    /// Of a series of type BARO_F64.
    pub value: f64,
    /// Of a series of type BARO_I64 or, 0 or 1, BARO_BOOL.
    pub integer: i64,
}

impl std::fmt::Debug for baro_value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: both fields take any bits.
        write!(f, "{:#x}", unsafe { self.integer })
    }
}

/// Records were lost: `count` of them since the last such event, refused by a ring or given up, or
/// durable and not there any more.
pub const BARO_EVENT_LOST: u32 = 1;
/// Something goes wrong in the background, as baro_complaints tells it: the text is the sentence.
pub const BARO_EVENT_COMPLAINT: u32 = 2;
/// A pin is new or changed its state: `id`, and `state`, a BARO_PIN_...; the text is its name.
pub const BARO_EVENT_PIN: u32 = 3;
/// The writer is in trouble, or not any more: `state` is a BARO_TROUBLE_..., the text says it.
pub const BARO_EVENT_TROUBLE: u32 = 4;

/// Something that happened while recording: see baro_on_event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_event {
    /// sizeof(baro_event), as the library knows it.
    pub type_size: u32,
    /// BARO_EVENT_...; ignore kinds that you do not know.
    pub kind: u32,
    /// Records lost, else 0.
    pub count: u64,
    /// A pin's id, else 0.
    pub id: u64,
    /// BARO_PIN_... or BARO_TROUBLE_..., else 0.
    pub state: u32,
    /// 0
    pub reserved: u32,
}

/// A declared series or channel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_series {
    /// sizeof(baro_series)
    pub type_size: u32,
    /// Its id.
    pub id: u32,
    /// BARO_F64, BARO_I64, BARO_BOOL, BARO_TEXT or BARO_CHANNEL.
    pub value_type: u32,
    /// 0
    pub reserved: u32,
}

/// What a reader has met so far.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_read_report {
    /// sizeof(baro_read_report)
    pub type_size: u32,
    /// Series and channels in the catalog.
    pub series: u32,
    /// Records handed out.
    pub records: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Blocks that were durable once and are damaged or missing.
    pub blocks_damaged: u64,
    /// Blocks that a recorder reused before they were read.
    pub blocks_recycled: u64,
}

/// How a pool of plain files is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct baro_plain_options {
    /// sizeof(baro_plain_options)
    pub type_size: u32,
    /// Files that are kept ready, at most 64; 0: 2.
    pub ready: u32,
    /// Bytes reserved for each file, at most 16 TiB; 0: 100 MB. What is not written is given back.
    pub file_bytes: u64,
    /// Bytes that are handed to the disk at once, 4 KiB to 1 GiB; 0: 2 MiB.
    pub unit_bytes: u64,
}

macro_rules! versioned {
    ($($name:ident),*) => {$(
        // SAFETY: `repr(C)`; `tests/abi.rs` finds the fields without gaps; integers, floats and
        // arrays of them take any bits; type_size comes first.
        unsafe impl Versioned for $name {
            const NAME: &'static str = stringify!($name);
        }
    )*};
}
versioned!(
    baro_init_options,
    baro_open_options,
    baro_declare_options,
    baro_status,
    baro_pin_options,
    baro_pin_info,
    baro_ring_report,
    baro_record,
    baro_sample,
    baro_gap,
    baro_event,
    baro_series,
    baro_read_report,
    baro_plain_options
);
