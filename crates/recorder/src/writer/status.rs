//! What the recorder tells about itself. The engine counts; rings, growth and memory are filled in by who
//! is asked.

use crate::keeper::Growth;
use crate::ring::RingReport;
use baro_log::{Logged, LostUnsettled};
use std::fmt;

/// Why the writer cannot make progress.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Trouble {
    /// It can.
    #[default]
    None,
    /// Every segment holds data, and the store's policy is to stop.
    LogFull,
    /// Every segment is in use, and others are being added to the log.
    Growing,
    /// No segment may be reused.
    Held {
        /// Held by pins.
        pinned: u32,
        /// Younger than what is to be kept.
        young: u32,
        /// With samples that are in no run yet.
        unsettled: u32,
    },
    /// A write or sync failed; what was not durable is written again elsewhere.
    Device {
        /// The device's last error.
        error: String,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::None => Ok(()),
            Trouble::LogFull => f.write_str("the log is full: new records are refused"),
            Trouble::Growing => f.write_str("waits for the log to grow"),
            Trouble::Held { pinned, young, unsettled } => write!(
                f,
                "no segment may be reused: {pinned} are held by pins, {young} are younger than \
                 what is to be kept, {unsettled} are not settled; new records are refused"
            ),
            Trouble::Device { error } => f.write_str(error),
        }
    }
}

/// The recorder's counters since the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Session of this open.
    pub session: u64,
    /// Locked memory of the recorder in bytes, fixed at open but for further rings. Samples take
    /// more that is not locked, reserved at open and untouched before the first one: about 3 bytes
    /// for each of `block_bytes`, and 0.4 MiB. 0 of a recorder that is closed.
    pub memory_bytes: usize,
    /// Blocks handed to the device.
    pub blocks: u64,
    /// Bytes handed to the device: blocks with padding, segment headers, and what was repeated.
    pub device_bytes: u64,
    /// Bytes of padding in them.
    pub padding_bytes: u64,
    /// Payload bytes of records in blocks, what was repeated counted once, as in the next two.
    pub payload_bytes: u64,
    /// Records in blocks, gap and clock records included.
    pub records: u64,
    /// Samples in blocks, texts included.
    pub samples: u64,
    /// Bytes of samples in blocks: sections, and texts and samples that stay in a body.
    pub sample_bytes: u64,
    /// Records lost and logged as gaps.
    pub lost: u64,
    /// Syncs completed.
    pub syncs: u64,
    /// Segments started.
    pub segments_started: u32,
    /// Segments that had a failed write or sync.
    pub segments_suspect: u32,
    /// Failed writes and syncs.
    pub failures: u64,
    /// Longest write, nanoseconds from submission to completion.
    pub longest_write_ns: u64,
    /// Longest sync.
    pub longest_sync_ns: u64,
    /// Longest time from taking a record into a block to its being durable.
    pub longest_durable_ns: u64,
    /// Blocks of the session that are durable.
    pub durable_blocks: u64,
    /// Rings that are read, each with its counters.
    pub rings: Vec<RingReport>,
    /// Rings whose positions were impossible; nothing more is read from them.
    pub rings_broken: u32,
    /// Records that were in them and wait for room in the log: lost if none comes.
    pub given_up: u64,
    /// Bytes handed to the device beside those of the log: growth, segments copied out.
    pub other_bytes: u64,
    /// Segments that can be started without reusing any.
    pub segments_blank: u32,
    /// Segments held by pins, as of the last start of one.
    pub segments_held: u32,
    /// Segments with samples that are in no run, as of the last start of one or the last settling;
    /// 0 unless [`Retention::keep_unsettled`](crate::Retention::keep_unsettled).
    pub segments_unsettled: u32,
    /// Segments that the log has or will have.
    pub segments_usable: u32,
    /// Of lower epochs no samples are missing in the runs, and they are durable; 0 unless
    /// [`Retention::keep_unsettled`](crate::Retention::keep_unsettled).
    pub unsettled_from_epoch: u64,
    /// Segments recycled of which not all is in runs, nor has been read for one that is being written.
    pub segments_lost_unsettled: u32,
    /// Records in them that are in no run, as far as that is known. What another process settles counts
    /// as in none until it has settled the segment whole.
    pub records_lost_unsettled: u64,
    /// Samples in them, of this session.
    pub samples_lost_unsettled: u64,
    /// Records of another type than their series is declared with; in `lost` too.
    pub records_misfit: u64,
    /// Records with an id that nobody has declared: they are recorded, and nobody finds them by a name.
    pub records_undeclared: u64,
    /// Nothing is written any more: the store is gone, or another process writes it; `trouble` says
    /// which.
    pub stopped: bool,
    /// The oldest segment is older than what is to be kept, as of the last attempt to start one.
    pub may_reuse: bool,
    /// How far the log has grown.
    pub growth: Growth,
    /// Why there is no progress.
    pub trouble: Trouble,
}

impl Status {
    /// What is lost by now: what settling had read may turn out to be after the writer has looked.
    pub(crate) fn set_lost(&mut self, lost: LostUnsettled) {
        self.segments_lost_unsettled = lost.segments;
        self.records_lost_unsettled = lost.held.records;
        self.samples_lost_unsettled = lost.held.samples;
    }
}

impl From<&Status> for Logged {
    fn from(status: &Status) -> Self {
        Logged {
            sample_bytes: status.sample_bytes,
            segments_unsettled: status.segments_unsettled,
            segments_usable: status.segments_usable,
            unsettled_from_epoch: status.unsettled_from_epoch,
            held: matches!(status.trouble, Trouble::Held { unsettled, .. } if unsettled > 0),
        }
    }
}
