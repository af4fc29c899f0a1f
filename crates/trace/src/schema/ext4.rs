//! Events of ext4: fsync, and the request for a handle, which comes before any wait for it.
//!
//! Which event asks for a handle has changed: `ext4_journal_start` up to 6.1, `_sb` and `_inode`
//! from 6.2 on. A request that jbd2 does not follow by a `jbd2_handle_start` of the same task was for
//! a handle inside another.

use super::events;
use crate::record::Device;

events! {
    "ext4";
    /// fsync or fdatasync of a file begins.
    "ext4_sync_file_enter" => SyncFileEnter, SyncFileEnterSchema {
        /// The file system.
        dev: Device = "dev",
        /// The file.
        ino: u64 = "ino",
        /// The folder it is in.
        parent: u64 = "parent",
        /// True for fdatasync.
        datasync: bool = "datasync",
    }
    /// It ends.
    "ext4_sync_file_exit" => SyncFileExit, SyncFileExitSchema {
        /// The file system.
        dev: Device = "dev",
        /// The file.
        ino: u64 = "ino",
        /// 0 or a negative errno.
        ret: i32 = "ret",
    }
    /// A handle is asked for. Up to 6.1.
    "ext4_journal_start" => JournalStart, JournalStartSchema {
        /// The file system.
        dev: Device = "dev",
        /// Address of the caller.
        ip: u64 = "ip",
        /// Blocks that it may change.
        blocks: i32 = "blocks",
        /// Blocks reserved for a handle after it.
        reserved_blocks: i32 = "rsv_blocks",
        /// Blocks that it may revoke. There in 5.10; kernels before may lack it.
        revoke_blocks: Option<i32> = "revoke_creds",
        /// What it is for, as in jbd2's events. Neither in 5.10 nor in 6.1.
        kind: Option<i32> = "type",
    }
    /// A handle is asked for, for no single file. From 6.2 on.
    "ext4_journal_start_sb" => JournalStartSb, JournalStartSbSchema {
        /// The file system.
        dev: Device = "dev",
        /// Address of the caller.
        ip: u64 = "ip",
        /// Blocks that it may change.
        blocks: i32 = "blocks",
        /// Blocks reserved for a handle after it.
        reserved_blocks: i32 = "rsv_blocks",
        /// Blocks that it may revoke.
        revoke_blocks: i32 = "revoke_creds",
        /// What it is for, as in jbd2's events.
        kind: i32 = "type",
    }
    /// A handle is asked for, for a file. From 6.2 on.
    "ext4_journal_start_inode" => JournalStartInode, JournalStartInodeSchema {
        /// The file system.
        dev: Device = "dev",
        /// The file.
        ino: u64 = "ino",
        /// Address of the caller.
        ip: u64 = "ip",
        /// Blocks that it may change.
        blocks: i32 = "blocks",
        /// Blocks reserved for a handle after it.
        reserved_blocks: i32 = "rsv_blocks",
        /// Blocks that it may revoke.
        revoke_blocks: i32 = "revoke_creds",
        /// What it is for, as in jbd2's events.
        kind: i32 = "type",
    }
    /// A handle that was reserved begins.
    "ext4_journal_start_reserved" => JournalStartReserved, JournalStartReservedSchema {
        /// The file system.
        dev: Device = "dev",
        /// Address of the caller.
        ip: u64 = "ip",
        /// Blocks that it may change.
        blocks: i32 = "blocks",
    }
    /// Pages of a file have been sent; in the journal's thread: data of an ordered commit.
    "ext4_writepages_result" => WritepagesResult, WritepagesResultSchema {
        /// The file system.
        dev: Device = "dev",
        /// The file.
        ino: u64 = "ino",
        /// 0 or a negative errno.
        ret: i32 = "ret",
        /// Pages that were sent.
        pages_written: i32 = "pages_written",
        /// Pages that were passed over.
        pages_skipped: i64 = "pages_skipped",
        /// 1 if all is to be waited for.
        sync_mode: i32 = "sync_mode",
    }
}
