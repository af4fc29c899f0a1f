//! Events of write-back: who is made to wait because too much is dirty, and for what.

use super::events;
use crate::record::{Device, Name};

events! {
    "writeback";
    /// A writer is about to sleep, or just misses it. All limits are in pages and those of the whole
    /// machine, even where a device's own limit is what holds the writer.
    "balance_dirty_pages" => BalanceDirtyPages, BalanceDirtyPagesSchema {
        /// The device, as `major:minor`.
        bdi: Name = "bdi",
        /// Where all writers stop.
        limit: u64 = "limit",
        /// What the kernel steers to.
        setpoint: u64 = "setpoint",
        /// What is dirty.
        dirty: u64 = "dirty",
        /// The device's share of the setpoint. Called `bdi_setpoint` up to 6.12.
        wb_setpoint: u64 = "wb_setpoint" | "bdi_setpoint",
        /// What is dirty of the device. Called `bdi_dirty` up to 6.12.
        wb_dirty: u64 = "wb_dirty" | "bdi_dirty",
        /// Rate that each writer of the device may have, in KB/s.
        dirty_ratelimit_kbs: u64 = "dirty_ratelimit",
        /// Rate that this task may have, in KB/s.
        task_ratelimit_kbs: u64 = "task_ratelimit",
        /// Pages that this task has dirtied since it slept last.
        dirtied: u32 = "dirtied",
        /// Pages after which it is to sleep.
        dirtied_pause: u32 = "dirtied_pause",
        /// How long this call has slept so far.
        paused_ms: u64 = "paused",
        /// How long it is about to sleep; 0 or less: not at all.
        pause_ms: i64 = "pause",
        /// From sleep to sleep.
        period_ms: u64 = "period",
        /// How long the task did other things between.
        think_ms: i64 = "think",
        /// The inode of the control group of the device's writer.
        cgroup_ino: u64 = "cgroup_ino",
    }
    /// What is dirty and where the limits are, for the whole machine, in pages. Comes often.
    "global_dirty_state" => GlobalDirtyState, GlobalDirtyStateSchema {
        /// Dirty pages.
        dirty: u64 = "nr_dirty",
        /// Pages on their way to a device.
        writeback: u64 = "nr_writeback",
        /// Where write-back begins.
        background_thresh: u64 = "background_thresh",
        /// Where writers begin to wait.
        dirty_thresh: u64 = "dirty_thresh",
        /// Where all writers stop.
        dirty_limit: u64 = "dirty_limit",
    }
    /// A task is about to wait for a folio that is being written. In 5.10 it is [`PageWait`].
    "folio_wait_writeback" => FolioWait, FolioWaitSchema {
        /// The device.
        bdi: Name = "name",
        /// The file.
        ino: u64 = "ino",
        /// The first page of the folio in the file.
        index: u64 = "index",
    }
    /// A task is about to wait for a page that is being written. In 5.10; later [`FolioWait`].
    "wait_on_page_writeback" => PageWait, PageWaitSchema {
        /// The device.
        bdi: Name = "name",
        /// The file.
        ino: u64 = "ino",
        /// The page in the file.
        index: u64 = "index",
    }
    /// The flusher waits for an inode that another is writing.
    "writeback_wait" => WritebackWait, WritebackWaitSchema {
        /// The device.
        bdi: Name = "name",
        /// Pages left to write.
        pages: i64 = "nr_pages",
        /// The file system, if it is about one.
        dev: Device = "sb_dev",
        /// 1 if all is to be waited for.
        sync_mode: i32 = "sync_mode",
        /// Why the flusher runs: a number of the kernel's.
        reason: i32 = "reason",
    }
}
