//! The table of causes: what is made, what an explanation must call it, and where the victim must
//! be seen.
//!
//! Invariant: names are unique and are those of the command line. Held by
//! `names_are_unique_and_each_says_what_it_expects`.

use super::{Cause, Place, device, journal, limits, locks};
use baro_bench::stand::StandSpec;

const MIB: u64 = 1 << 20;
const PLAIN: StandSpec<'static> = StandSpec { bytes: 512 * MIB, mkfs: &[], mount: "noatime" };
/// Bitmaps that must be read, in 32 groups: a file system of today knows of an empty group that it
/// is empty.
const COLD: StandSpec<'static> = StandSpec {
    bytes: 1024 * MIB,
    mkfs: &["-O", "^metadata_csum,^uninit_bg,^flex_bg", "-g", "8192", "-N", "16384"],
    mount: "noatime,no_prefetch_block_bitmaps",
};
const DIRTY: Place = Place::In(&["balance_dirty_pages"]);
const DIRECT: Place = Place::In(&["__iomap_dio_rw", "iomap_dio_complete_work", "blkdev_issue"]);

/// All causes.
pub static CAUSES: &[Cause] = &[
    Cause {
        name: "log_space",
        what: "the journal is full; old transactions are written home one block at a time",
        expect: &["log_space"],
        place: Place::In(&["__jbd2_log_wait_for_space"]),
        others: &[],
        holder: None,
        global: false,
        stand: StandSpec { mkfs: &["-J", "size=4", "-N", "65536"], ..PLAIN },
        act: journal::log_space,
    },
    Cause {
        name: "transaction_locked",
        what: "a transaction is to end, and one task still has a handle while it reads a bitmap",
        expect: &["transaction_locked"],
        place: Place::In(&["wait_transaction_locked"]),
        others: &[
            (
                "holder",
                Place::In(&[
                    "ext4_read_block_bitmap",
                    "ext4_wait_block_bitmap",
                    "ext4_mb_init_cache",
                ]),
            ),
            ("jbd2", Place::In(&["jbd2_journal_wait_updates"])),
        ],
        holder: Some("holder"),
        global: false,
        stand: COLD,
        act: journal::transaction_locked,
    },
    Cause {
        name: "transaction_full",
        what: "the running transaction has all it may have while the one before is still written",
        expect: &["transaction_full"],
        place: Place::In(&["wait_transaction_locked", "add_transaction_credits"]),
        // It writes the transaction before, so the running one cannot be locked.
        others: &[("jbd2", Place::At(&["jbd2_journal_commit_transaction"]))],
        holder: None,
        global: false,
        stand: StandSpec { mkfs: &["-J", "size=8", "-N", "65536"], ..PLAIN },
        act: journal::transaction_full,
    },
    Cause {
        name: "ordered_data",
        what: "a commit writes 32 MiB of another's data before it ends (nodelalloc)",
        expect: &["ordered_data"],
        place: Place::In(&["jbd2_log_wait_commit"]),
        others: &[(
            "jbd2",
            Place::In(&[
                "jbd2_journal_finish_inode_data_buffers",
                "ext4_normal_submit_inode_data_buffers",
                "ext4_journal_submit_inode_data_buffers",
                "ext4_journal_finish_inode_data_buffers",
                "__filemap_fdatawait_range",
            ]),
        )],
        holder: None,
        global: false,
        stand: StandSpec { mount: "noatime,nodelalloc", ..PLAIN },
        act: journal::ordered_data,
    },
    Cause {
        name: "dirty_limit_device",
        what: "the device has all the dirty data it may have",
        expect: &["dirty_limit_device"],
        place: DIRTY,
        others: &[],
        holder: None,
        global: false,
        stand: PLAIN,
        act: limits::dirty_limit_device,
    },
    Cause {
        name: "dirty_limit_global",
        what: "the machine has all the dirty data it may have",
        expect: &["dirty_limit_global"],
        place: DIRTY,
        others: &[],
        holder: None,
        global: true,
        stand: PLAIN,
        act: limits::dirty_limit_global,
    },
    Cause {
        name: "folio_lock",
        what: "the page to be written is being read for another",
        expect: &["folio_lock"],
        place: Place::At(&["__folio_lock", "__filemap_get_folio", "folio_wait_bit_common"]),
        others: &[("holder", Place::In(&["filemap_read", "filemap_get_pages"]))],
        holder: None,
        global: false,
        stand: PLAIN,
        act: locks::folio_lock,
    },
    Cause {
        name: "inode_lock",
        what: "another writes the same file, past the page cache and beyond its end",
        expect: &["inode_lock"],
        // The function of the lock is one of the scheduler's, which the kernel leaves out.
        place: Place::At(&["ext4_buffered_write_iter", "rwsem_down_write_slowpath"]),
        others: &[("antagonist", Place::In(&["__iomap_dio_rw"]))],
        holder: Some("antagonist"),
        global: false,
        stand: PLAIN,
        act: locks::inode_lock,
    },
    Cause {
        name: "slow_device",
        what: "direct writes to a device of 2 MiB/s",
        expect: &["device", "slow_device"],
        place: DIRECT,
        others: &[],
        holder: None,
        global: false,
        stand: PLAIN,
        act: device::slow_device,
    },
    Cause {
        name: "fsync_behind_stream",
        what: "a few bytes are made durable behind 8 MiB of another's",
        expect: &["device_queue", "device", "fsync_behind_stream"],
        place: Place::In(&["jbd2_log_wait_commit", "file_write_and_wait_range"]),
        others: &[],
        holder: None,
        global: false,
        stand: PLAIN,
        act: device::fsync_behind_stream,
    },
    Cause {
        name: "truncate_fallocate",
        what: "a file of many extents is cut and room reserved, with a handle held over slow reads",
        expect: &["truncate", "fallocate", "truncate_fallocate", "transaction_locked"],
        place: Place::In(&["wait_transaction_locked"]),
        others: &[("antagonist", Place::In(&["ext4_truncate", "ext4_fallocate"]))],
        holder: Some("antagonist"),
        global: false,
        stand: PLAIN,
        act: journal::truncate_fallocate,
    },
    Cause {
        name: "memory_reclaim",
        what: "the group of the victim has no memory left but dirty pages",
        expect: &["reclaim", "memory_reclaim"],
        place: Place::In(&["try_to_free_mem_cgroup_pages"]),
        others: &[],
        holder: None,
        global: false,
        stand: PLAIN,
        act: limits::memory_reclaim,
    },
    Cause {
        name: "cgroup_throttle",
        what: "the group of the victim gets 2 MiB/s of a fast device",
        expect: &["throttle", "cgroup_throttle"],
        place: DIRECT,
        others: &[],
        holder: None,
        global: false,
        stand: PLAIN,
        act: device::cgroup_throttle,
    },
    Cause {
        name: "cpu_preemption",
        what: "a task of real-time priority has the victim's processor",
        expect: &["cpu", "cpu_preemption"],
        place: Place::Ready,
        others: &[],
        holder: None,
        global: false,
        stand: PLAIN,
        act: device::cpu_preemption,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_each_says_what_it_expects() {
        for (at, cause) in CAUSES.iter().enumerate() {
            assert!(CAUSES.iter().skip(at + 1).all(|other| other.name != cause.name));
            assert!(!cause.expect.is_empty() && !cause.what.is_empty(), "{}", cause.name);
            assert!(crate::causes::find(cause.name).is_some());
        }
        assert_eq!(CAUSES.iter().filter(|cause| cause.global).count(), 1);
    }
}
