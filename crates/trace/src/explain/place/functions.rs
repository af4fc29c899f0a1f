//! Functions of Linux 5.10 to 6.18 that tell what a task waits for, by what they wait for.
//!
//! Of fs/jbd2, fs/ext4, mm, block and kernel/locking.

use super::Cause;

/// Functions that sleep for all others: they tell nothing.
#[rustfmt::skip]
pub(super) const GENERIC: &[&str] = &[
    "__schedule", "schedule", "schedule_timeout", "schedule_timeout_uninterruptible",
    "schedule_timeout_killable", "io_schedule", "io_schedule_timeout", "bit_wait", "bit_wait_io",
    "__wait_on_bit", "__wait_on_bit_lock", "out_of_line_wait_on_bit",
    "out_of_line_wait_on_bit_lock", "schedule_preempt_disabled", "wait_for_completion",
    "__wait_for_common", "wait_for_completion_io", "wait_for_common", "wait_for_common_io",
    "wait_for_completion_io_timeout", "trace_event_raw_event_sched_switch",
    "__traceiter_sched_switch", "preempt_schedule", "preempt_schedule_common",
    "preempt_schedule_irq", "__cond_resched", "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock", "schedule_hrtimeout", "do_wait_intr",
    "event_triggers_post_call", "stacktrace_trigger", "trace_event_buffer_commit", "__trace_stack",
    "ftrace_stack_trace", "event_triggers_call", "trace_event_trigger_commit",
];

/// Functions of locks: the one that called them says which lock.
#[rustfmt::skip]
pub(super) const LOCKS: &[&str] = &[
    "rwsem_down_write_slowpath", "rwsem_down_read_slowpath", "__down_write", "__down_read",
    "down_write", "down_read", "down_write_killable", "down_read_killable", "__mutex_lock",
    "__mutex_lock_slowpath", "mutex_lock", "mutex_lock_io", "mutex_lock_io_nested",
    "mutex_lock_killable", "mutex_lock_interruptible", "__down_write_common", "__down_read_common",
    "__down_write_killable", "percpu_rwsem_wait", "__percpu_down_read", "percpu_down_write",
    "down_write_nested", "__down_common", "__down", "down", "__down_interruptible",
    "rt_mutex_slowlock", "rwbase_write_lock", "__rwbase_read_lock", "rt_mutex_slowlock_block",
];

/// Functions that tell, wherever in the stack they are.
#[rustfmt::skip]
pub(super) const TELLING: &[(Cause, &[&str])] = &[
    // DirtyLimitGlobal stands for all three: which it is, the events say.
    (
        Cause::DirtyLimitGlobal,
        &[
            "balance_dirty_pages", "balance_dirty_pages_ratelimited",
            "balance_dirty_pages_ratelimited_flags",
        ],
    ),
    (Cause::Handle, &["start_this_handle", "jbd2__journal_restart", "add_transaction_credits"]),
    (Cause::TransactionLocked, &["wait_transaction_locked", "wait_transaction_switching"]),
    (
        Cause::LogSpace,
        &[
            "__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint", "xlog_grant_head_wait",
            "xlog_grant_head_check",
        ],
    ),
    (
        Cause::Commit,
        &[
            "jbd2_log_wait_commit", "jbd2_complete_transaction", "ext4_fc_commit", "xfs_log_force_seq",
            "xlog_force_lsn", "xlog_wait_on_iclog", "xfs_log_force", "btrfs_sync_log",
            "btrfs_wait_for_commit", "wait_for_commit", "btrfs_commit_transaction",
        ],
    ),
    // A fast commit and a freeze wait so for the handles that are open.
    (Cause::OpenHandles, &["jbd2_journal_wait_updates", "jbd2_journal_lock_updates"]),
    (
        Cause::OrderedData,
        &[
            "journal_finish_inode_data_buffers", "jbd2_journal_finish_inode_data_buffers",
            "journal_submit_data_buffers", "jbd2_submit_inode_data",
            "jbd2_journal_submit_inode_data_buffers", "ext4_normal_submit_inode_data_buffers",
            "ext4_journal_submit_inode_data_buffers", "ext4_journal_finish_inode_data_buffers",
        ],
    ),
    (
        Cause::JournalWrite,
        &[
            "journal_wait_on_commit_record", "journal_submit_commit_record",
            "jbd2_write_superblock", "jbd2_update_log_tail", "jbd2_journal_update_sb_log_tail",
            // It takes the lock of the superblock's buffer, which is held while that is written.
            "jbd2_journal_set_features",
        ],
    ),
    (Cause::JournalBuffer, &["do_get_write_access"]),
    (Cause::Freeze, &["__sb_start_write", "ext4_freeze"]),
    (
        Cause::Writeback,
        &[
            "folio_wait_writeback", "__folio_wait_writeback", "wait_on_page_writeback",
            "folio_wait_stable", "wait_for_stable_page", "__filemap_fdatawait_range",
            "filemap_fdatawait_range", "inode_sleep_on_writeback", "__inode_wait_for_writeback",
            "wb_wait_for_completion", "sync_inodes_sb", "wait_sb_inodes",
            "filemap_fdatawait_range_keep_errors",
            // What md writes of itself before it writes data, and behind that (drivers/md/md.c).
            "md_write_start", "md_super_wait",
        ],
    ),
    (Cause::Flush, &["blkdev_issue_flush", "md_flush_request"]),
    (
        Cause::MetadataRead,
        &[
            "ext4_read_bh", "ext4_read_bh_lock", "ext4_bread", "ext4_bread_batch", "__bread_gfp",
            "bread_gfp", "ext4_sb_bread", "xfs_buf_iowait", "xfs_buf_read_map", "read_extent_buffer_pages",
            "btrfs_read_extent_buffer", "read_tree_block", "__ext4_sb_bread_gfp", "ext4_wait_block_bitmap",
            "ext4_read_inode_bitmap", "__ext4_get_inode_loc", "__read_extent_tree_block",
            "ext4_get_branch", "ext4_mb_init_cache", "ext4_read_block_bitmap", "__ext4_find_entry",
            "ext4_mb_load_buddy_gfp", "ext4_get_inode_loc", "ext4_dx_find_entry",
        ],
    ),
    (
        Cause::DataRead,
        &[
            "filemap_read", "filemap_fault", "filemap_get_pages", "filemap_update_page",
            "filemap_read_folio", "read_cache_folio", "do_read_cache_folio",
            "generic_file_buffered_read", "page_cache_ra_unbounded", "do_page_cache_ra",
            "page_cache_ra_order",
        ],
    ),
    (
        Cause::DirectIo,
        &[
            "__iomap_dio_rw", "iomap_dio_rw", "__blkdev_direct_IO", "__blkdev_direct_IO_simple",
            "blkdev_direct_IO", "do_blockdev_direct_IO", "inode_dio_wait", "__inode_dio_wait",
        ],
    ),
    (
        Cause::QueueFrozen,
        &[
            "__bio_queue_enter", "blk_queue_enter", "blk_mq_queue_enter", "blk_mq_freeze_queue_wait",
            "blk_mq_freeze_queue_wait_timeout", "blk_mq_freeze_queue", "elevator_change",
        ],
    ),
    (Cause::Tags, &["blk_mq_get_tag", "__blk_mq_get_tag", "blk_mq_get_request"]),
    (Cause::WritebackThrottle, &["wbt_wait"]),
    (
        Cause::Throttle,
        &[
            "ioc_rqos_throttle", "blkcg_iolatency_throttle", "blkcg_maybe_throttle_current",
            "blkcg_maybe_throttle_blkg", "blk_throttle_wait",
        ],
    ),
    (
        Cause::Reclaim,
        &[
            "shrink_node", "do_try_to_free_pages", "try_to_free_pages",
            "try_to_free_mem_cgroup_pages", "reclaim_throttle", "mem_cgroup_handle_over_high",
            "__mem_cgroup_handle_over_high", "shrink_lruvec", "congestion_wait",
            "mem_cgroup_out_of_memory", "mem_cgroup_oom_synchronize",
        ],
    ),
    (
        Cause::Daemon,
        &[
            "request_wait_answer", "fuse_simple_request", "__fuse_simple_request", "fuse_get_req",
            "rpc_wait_bit_killable", "rpc_wait_for_completion_task", "nfs_wait_bit_killable",
            "nfs4_wait_clnt_recover", "nbd_send_cmd", "p9_client_rpc", "ceph_osdc_wait_request",
            "fuse_wait_on_page_writeback", "fuse_wait_on_folio_writeback",
        ],
    ),
    (Cause::DirectIo, &["io_cqring_wait", "read_events", "do_io_getevents"]),
    (
        Cause::Lock,
        &[
            "flock_lock_inode_wait", "locks_lock_inode_wait", "posix_lock_inode_wait",
            "do_lock_file_wait", "fcntl_setlk", "fcntl_setlk64", "__break_lease",
        ],
    ),
    (
        Cause::Stopped,
        &["do_signal_stop", "ptrace_stop", "__refrigerator", "do_freezer_trap", "do_jobctl_trap"],
    ),
    (
        Cause::Timer,
        &["do_nanosleep", "hrtimer_nanosleep", "msleep", "common_nsleep"],
    ),
];

/// Functions that wait for a folio to be unlocked, if nothing inside says what is done with it.
#[rustfmt::skip]
pub(super) const FOLIO_LOCKS: &[&str] = &[
    "__folio_lock", "__lock_page", "__filemap_get_folio", "pagecache_get_page",
    "__filemap_get_folio_mpol", "filemap_get_folio", "write_cache_pages",
    "mpage_prepare_extent_to_map", "truncate_inode_pages_range", "writeback_iter",
    "writeback_get_folio", "ext4_page_mkwrite", "invalidate_inode_pages2_range",
    "grab_cache_page_write_begin", "find_lock_entries", "__folio_lock_or_retry",
    "__folio_lock_killable", "filemap_lock_folio", "ext4_write_begin", "ext4_da_write_begin",
];

pub(super) const FOLIO_WAITS: &[&str] =
    &["folio_wait_bit_common", "folio_wait_bit", "wait_on_page_bit_common", "wait_on_page_bit"];

pub(super) const BUFFER_WAITS: &[&str] = &["__wait_on_buffer", "wait_on_buffer", "__lock_buffer"];

/// Functions that a frozen file system holds: `sb_start_write` and its like are inlined in them, and it is
/// the lock for each processor (`percpu_rwsem`) that they wait for then.
#[rustfmt::skip]
pub(super) const FREEZE_HOLDS: &[&str] = &[
    "vfs_write", "do_iter_write", "vfs_iter_write", "vfs_iocb_iter_write", "do_iter_readv_writev",
    "vfs_writev", "do_writev", "do_pwritev", "ksys_write", "__kernel_write", "kernel_write",
    "io_write", "io_fallocate", "aio_write", "io_submit_one", "do_sendfile", "do_splice",
    "splice_file_range", "iter_file_splice_write", "vfs_copy_file_range", "vfs_fallocate",
    "vfs_clone_file_range", "do_clone_file_range", "vfs_dedupe_file_range_one",
    "mnt_want_write", "mnt_want_write_file", "__mnt_want_write", "filename_create", "path_openat",
    "open_last_lookups", "do_open", "do_truncate", "do_sys_ftruncate", "do_ftruncate",
    "vfs_truncate", "touch_atime", "ext4_evict_inode", "evict", "ext4_page_mkwrite", "filemap_page_mkwrite",
    "xfs_filemap_page_mkwrite", "__xfs_filemap_fault", "xfs_filemap_fault", "xfs_write_fault",
    "btrfs_page_mkwrite", "f2fs_vm_page_mkwrite", "f2fs_evict_inode", "block_page_mkwrite",
    "xfs_trans_alloc", "start_transaction", "btrfs_evict_inode", "lo_rw_aio", "loop_process_work",
    "ext4_setattr", "vfs_setxattr", "do_renameat2", "do_unlinkat", "do_rmdir", "do_mkdirat",
    "ovl_copy_up_flags", "ovl_start_write", "ovl_inode_lock_interruptible", "file_start_write",
];

/// The locks that are there for each processor.
pub(super) const PERCPU_LOCKS: &[&str] = &["percpu_rwsem_wait", "__percpu_down_read"];

/// Reading what was written to swap.
#[rustfmt::skip]
pub(super) const SWAP_READS: &[&str] = &[
    "do_swap_page", "swapin_readahead", "swap_cluster_readahead", "swap_vma_readahead",
    "swap_read_folio", "shmem_swapin_folio", "swapin_folio", "read_swap_cache_async",
    // Before there were folios.
    "swap_readpage", "shmem_swapin_page", "shmem_swapin",
];

/// Workers of loop devices.
#[rustfmt::skip]
pub(super) const LOOP_WORKERS: &[&str] = &[
    "loop_process_work", "loop_workfn", "loop_rootcg_workfn", "lo_rw_aio", "loop_queue_work",
    "loop_kthread_worker_fn", "lo_write_bvec", "lo_read_simple", "lo_req_flush",
];

/// Waits for a time.
#[rustfmt::skip]
pub(super) const TIMERS: &[&str] = &[
    "schedule_timeout", "schedule_timeout_uninterruptible", "schedule_timeout_killable",
    "io_schedule_timeout", "schedule_hrtimeout_range_clock", "schedule_hrtimeout",
];

/// Functions that send a request and wait for it, where those of the scheduler are left out.
#[rustfmt::skip]
pub(super) const REQUEST_WAITS: &[&str] = &[
    "submit_bio_wait", "blk_execute_rq", "blkdev_issue_zeroout", "blkdev_issue_discard",
    "bio_await_chain", "blk_wait_io", "blk_next_bio", "blkdev_issue_secure_erase",
];

/// How functions of ext4 and its journal are called: what waits in none of them waits for no such journal.
pub(super) const OF_JOURNAL: &[&str] = &[
    "ext4_",
    "__ext4_",
    "jbd2_",
    "__jbd2_",
    "kjournald2",
    "start_this_handle",
    "wait_transaction",
    "add_transaction_credits",
    "do_get_write_access",
    "journal_",
];

/// Whose lock it is, by the function that takes it.
#[rustfmt::skip]
pub(super) const LOCK_OWNERS: &[(Cause, &[&str])] = &[
    (
        Cause::InodeLock,
        &[
            "ext4_buffered_write_iter", "ext4_file_write_iter", "ext4_dio_write_iter",
            "ext4_dio_write_checks", "ext4_file_read_iter", "ext4_dio_read_iter", "ext4_fallocate",
            "vfs_fallocate", "do_truncate", "vfs_setxattr", "generic_file_write_iter",
            "ext4_llseek", "chmod_common", "chown_common", "vfs_utimes", "xfs_file_buffered_write",
            "xfs_ilock", "xfs_ilock_iocb", "btrfs_inode_lock", "btrfs_buffered_write",
            "f2fs_file_write_iter", "fuse_file_write_iter", "generic_file_read_iter",
            "ext4_sync_file", "fuse_cache_write_iter", "f2fs_preallocate_blocks",
            "blkdev_write_iter", "shmem_file_write_iter", "ext4_punch_hole", "ext4_zero_range",
            "ext4_collapse_range", "ext4_insert_range", "vfs_clone_file_range",
            "generic_file_llseek_size", "ext4_file_mmap", "do_sys_ftruncate", "ext4_release_file",
        ],
    ),
    (
        Cause::FolderLock,
        &[
            "path_openat", "open_last_lookups", "do_unlinkat", "filename_create", "lock_rename",
            "do_renameat2", "vfs_unlink", "vfs_rmdir", "do_rmdir", "iterate_dir", "lookup_slow",
            "vfs_rename", "walk_component", "__lookup_slow", "do_mkdirat", "do_last",
            "start_removing", "start_dirop", "lookup_one_qstr_excl", "d_alloc_parallel",
            "__start_dirop", "wrap_directory_iterator",
        ],
    ),
    (
        Cause::ExtentLock,
        &[
            "ext4_map_blocks", "ext4_da_map_blocks", "ext4_da_get_block_prep", "ext4_truncate",
            "ext4_map_query_blocks", "ext4_map_create_blocks", "ext4_ext_truncate",
            "ext4_da_update_reserve_space", "ext4_alloc_file_blocks", "ext4_insert_delayed_blocks",
        ],
    ),
    // That of a group of inodes, which is held while its table is made.
    (Cause::Lock, &["__ext4_new_inode", "ext4_init_inode_table", "ext4_group_add"]),
    (
        Cause::MemoryMapLock,
        &[
            "do_user_addr_fault", "lock_mm_and_find_vma", "vm_mmap_pgoff", "__vm_munmap",
            "do_madvise", "exc_page_fault", "__do_sys_brk", "do_mprotect_pkey",
        ],
    ),
];

/// Functions that read a block before a part of it is written: a buffer that is waited for in them has
/// data.
pub(super) const PARTIAL_WRITES: &[&str] =
    &["ext4_block_write_begin", "__block_write_begin_int", "ext4_block_zero_page_range"];

/// How functions are called that wait for a program that is a file system, or for a server: its side of a request,
/// and not that of who answers (`fuse_dev_`).
#[rustfmt::skip]
pub(super) const REMOTE: &[&str] = &[
    "fuse_file_", "fuse_cache_", "fuse_fsync", "fuse_flush", "fuse_direct_", "fuse_page_mkwrite",
    "nfs_file_", "nfs_wb_", "nfs4_file_", "netfs_", "cifs_", "v9fs_", "ceph_",
];

/// And those inside of which another file system, of this machine, is waited for.
#[rustfmt::skip]
pub(super) const LOCAL: &[&str] = &[
    "ext4_", "xfs_", "btrfs_", "f2fs_", "backing_file_", "cachefiles_", "handle_mm_fault",
    "exc_page_fault", "do_page_fault",
];
