//! Events of jbd2, the journal of ext4: handles, transactions, their commit, checkpoints.
//!
//! In the order in which one transaction has them: `jbd2_handle_start` for each handle (after it has
//! waited for its place in a transaction), `jbd2_handle_stats` when the handle ends, and in the
//! journal's thread `jbd2_start_commit`, `_commit_locking`, `_commit_flushing`, `_commit_logging`,
//! `jbd2_run_stats`, `jbd2_end_commit`; later, when its blocks have come home, `jbd2_checkpoint_stats`
//! and `jbd2_drop_transaction`. Fields called jiffies are ticks of the kernel (4 ms at 250 Hz), of
//! no use below one tick.
//!
//! A transaction's number is an unsigned long on some kernels and has 4 bytes on others; both are read
//! as `u32`, which is what jbd2 counts with.

use super::events;
use crate::record::Device;

events! {
    "jbd2";
    /// A handle has got its place in a transaction: its wait, if any, is over.
    "jbd2_handle_start" => HandleStart, HandleStartSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction.
        tid: u32 = "tid",
        /// What the handle is for: a number of the file system's own.
        kind: u32 = "type",
        /// The line of the caller's source.
        line: u32 = "line_no",
        /// Blocks that it may change.
        requested_blocks: i32 = "requested_blocks",
    }
    /// A handle ends; a wait for its commit, if it is synchronous, comes after this.
    "jbd2_handle_stats" => HandleStats, HandleStatsSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction.
        tid: u32 = "tid",
        /// What the handle was for.
        kind: u32 = "type",
        /// The line of the caller's source.
        line: u32 = "line_no",
        /// How long it was open.
        interval_jiffies: i32 = "interval",
        /// True if its commit is waited for.
        sync: bool = "sync",
        /// Blocks that it was allowed to change.
        requested_blocks: i32 = "requested_blocks",
        /// Blocks that it changed.
        dirtied_blocks: i32 = "dirtied_blocks",
    }
    /// A handle was given more blocks in the same transaction, without a wait.
    "jbd2_handle_extend" => HandleExtend, HandleExtendSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction.
        tid: u32 = "tid",
        /// What the handle is for.
        kind: u32 = "type",
        /// The line of the caller's source.
        line: u32 = "line_no",
        /// Blocks that it had left.
        buffer_credits: i32 = "buffer_credits",
        /// Blocks that it was given.
        requested_blocks: i32 = "requested_blocks",
    }
    /// A handle went on in another transaction; its wait for that is over, and nothing tells its
    /// beginning.
    "jbd2_handle_restart" => HandleRestart, HandleRestartSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction that it goes on in.
        tid: u32 = "tid",
        /// What the handle is for.
        kind: u32 = "type",
        /// The line of the caller's source.
        line: u32 = "line_no",
        /// Blocks that it may change.
        requested_blocks: i32 = "requested_blocks",
    }
    /// The journal's thread begins to commit.
    "jbd2_start_commit" => StartCommit, StartCommitSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// A flag that the kernel keeps with the transaction; nothing here relies on it.
        sync: bool = "sync_commit",
        /// The transaction.
        tid: u32 = "transaction",
    }
    /// The transaction takes no more handles and waits for the open ones to end.
    "jbd2_commit_locking" => CommitLocking, CommitLockingSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// See [`StartCommit`].
        sync: bool = "sync_commit",
        /// The transaction.
        tid: u32 = "transaction",
    }
    /// All handles have ended, new ones get the next transaction; data is being sent.
    "jbd2_commit_flushing" => CommitFlushing, CommitFlushingSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// See [`StartCommit`].
        sync: bool = "sync_commit",
        /// The transaction.
        tid: u32 = "transaction",
    }
    /// Metadata is being written to the journal, then data sent before is waited for.
    "jbd2_commit_logging" => CommitLogging, CommitLoggingSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// See [`StartCommit`].
        sync: bool = "sync_commit",
        /// The transaction.
        tid: u32 = "transaction",
    }
    /// The commit is on the device; those who wait for it are woken next.
    "jbd2_end_commit" => EndCommit, EndCommitSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// See [`StartCommit`].
        sync: bool = "sync_commit",
        /// The transaction.
        tid: u32 = "transaction",
        /// The oldest transaction that is still in the journal.
        head: u32 = "head",
    }
    /// A transaction's blocks are all at their places; the journal forgets it.
    "jbd2_drop_transaction" => DropTransaction, DropTransactionSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// See [`StartCommit`].
        sync: bool = "sync_commit",
        /// The transaction.
        tid: u32 = "transaction",
    }
    /// Data of one file is sent before its transaction commits (data=ordered).
    "jbd2_submit_inode_data" => SubmitInodeData, SubmitInodeDataSchema {
        /// The file's file system.
        dev: Device = "dev",
        /// The file.
        ino: u64 = "ino",
    }
    /// What a commit was: times of its stages and numbers of blocks.
    "jbd2_run_stats" => RunStats, RunStatsSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction.
        tid: u32 = "tid",
        /// The longest wait of a handle for this transaction to begin.
        wait_jiffies: u64 = "wait",
        /// From the request of the commit to its beginning.
        request_delay_jiffies: u64 = "request_delay",
        /// How long it took handles.
        running_jiffies: u64 = "running",
        /// How long it waited for open handles.
        locked_jiffies: u64 = "locked",
        /// How long data was sent.
        flushing_jiffies: u64 = "flushing",
        /// How long metadata was written.
        logging_jiffies: u64 = "logging",
        /// Handles that it had.
        handles: u32 = "handle_count",
        /// Blocks of metadata.
        blocks: u32 = "blocks",
        /// Blocks written to the journal, descriptors and all.
        blocks_logged: u32 = "blocks_logged",
    }
    /// Space in the journal has been made, or not; in the context of who waited for it.
    "jbd2_checkpoint" => Checkpoint, CheckpointSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// 0 if the journal's tail has moved.
        result: i32 = "result",
    }
    /// What it cost to bring the blocks of a transaction to their places.
    "jbd2_checkpoint_stats" => CheckpointStats, CheckpointStatsSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction.
        tid: u32 = "tid",
        /// How long it took.
        time_jiffies: u64 = "chp_time",
        /// Checkpoints that had to wait for the commit first.
        forced_to_close: u32 = "forced_to_close",
        /// Blocks written by checkpoints.
        written: u32 = "written",
        /// Blocks that had been written otherwise.
        dropped: u32 = "dropped",
    }
    /// A block's lock was waited for, a tenth of a second or longer.
    "jbd2_lock_buffer_stall" => LockBufferStall, LockBufferStallSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// How long, in milliseconds.
        stall_ms: u64 = "stall_ms",
    }
    /// The journal's superblock is about to be written, as when its tail moves.
    "jbd2_write_superblock" => WriteSuperblock, WriteSuperblockSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// Flags of the request. Called `write_op` in 5.10.
        write_flags: u32 = "write_flags" | "write_op",
    }
    /// The journal's tail moves: blocks of the journal become free.
    "jbd2_update_log_tail" => UpdateLogTail, UpdateLogTailSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction that was the oldest.
        tail_sequence: u32 = "tail_sequence",
        /// The transaction that now is.
        first_tid: u32 = "first_tid",
        /// Where it begins, in blocks of the journal.
        block: u64 = "block_nr",
        /// Blocks that became free.
        freed_blocks: u64 = "freed",
    }
}
