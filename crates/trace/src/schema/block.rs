//! Events of the block layer: a request is queued, given to the driver, done.
//!
//! The class is a word of letters: `F` flush first, `R` read, `W` write, `D` discard, `N` none, then
//! `F` force unit access, `A` ahead, `S` sync, `M` metadata. Which of them the journal uses differs
//! between kernels, so it cannot tell journal from data. A partition's requests carry the disk's
//! device.

use super::events;
use crate::record::{Device, Name};

events! {
    "block";
    /// A request is given to the driver; again if the driver gave it back.
    "block_rq_issue" => RqIssue, RqIssueSchema {
        /// The disk.
        dev: Device = "dev",
        /// Where, in sectors of 512 bytes.
        sector: u64 = "sector",
        /// How long, in sectors.
        sectors: u32 = "nr_sector",
        /// How long, in bytes; of commands of the driver's own too, which have no sectors.
        bytes: u32 = "bytes",
        /// Priority: class above 13 bits. Not in 5.10 and 6.1, there in 6.12.
        ioprio: Option<u16> = "ioprio",
        /// The class.
        rwbs: Name = "rwbs",
        /// The task in whose context it is issued.
        comm: Name = "comm",
    }
    /// A request is done, or a part of it.
    "block_rq_complete" => RqComplete, RqCompleteSchema {
        /// The disk.
        dev: Device = "dev",
        /// Where, in sectors of 512 bytes.
        sector: u64 = "sector",
        /// What is done, in sectors.
        sectors: u32 = "nr_sector",
        /// 0, or why it failed: a negative errno.
        error: i32 = "error",
        /// Priority. Not in 5.10 and 6.1, there in 6.12.
        ioprio: Option<u16> = "ioprio",
        /// The class.
        rwbs: Name = "rwbs",
    }
    /// The driver gives a request back; it will be issued again.
    "block_rq_requeue" => RqRequeue, RqRequeueSchema {
        /// The disk.
        dev: Device = "dev",
        /// Where, in sectors of 512 bytes.
        sector: u64 = "sector",
        /// How long, in sectors.
        sectors: u32 = "nr_sector",
        /// Priority. Not in 5.10 and 6.1, there in 6.12.
        ioprio: Option<u16> = "ioprio",
        /// The class.
        rwbs: Name = "rwbs",
    }
    /// A request is queued in the scheduler of the device.
    "block_rq_insert" => RqInsert, RqInsertSchema {
        /// The disk.
        dev: Device = "dev",
        /// Where, in sectors of 512 bytes.
        sector: u64 = "sector",
        /// How long, in sectors.
        sectors: u32 = "nr_sector",
        /// How long, in bytes.
        bytes: u32 = "bytes",
        /// Priority. Not in 5.10 and 6.1, there in 6.12.
        ioprio: Option<u16> = "ioprio",
        /// The class.
        rwbs: Name = "rwbs",
        /// The task in whose context it is queued.
        comm: Name = "comm",
    }
}
