//! Where a task sleeps: its kernel stack as a list of causes, the outermost first.
//!
//! A stack has several telling functions, one inside the other: a handle that is waited for since
//! the journal has no room since blocks of an old transaction are being written. Each is a layer.
//!
//! Names of functions are those of Linux 5.10 to 6.18 (fs/jbd2, fs/ext4, mm, block, kernel/locking);
//! static functions may be inlined, so each layer has more than one. Kernel versions and compilers
//! differ in suffixes (`.isra.0`, `.part.0`), which are ignored.
//!
//! Invariant: any stack gives some layers or none. Held by `stacks_of_kernels_have_their_layers`.

mod functions;

use super::Cause;
use functions::{
    BUFFER_WAITS, FOLIO_LOCKS, FOLIO_WAITS, FREEZE_HOLDS, GENERIC, LOCAL, LOCK_OWNERS, LOCKS,
    LOOP_WORKERS, OF_JOURNAL, PARTIAL_WRITES, PERCPU_LOCKS, REMOTE, REQUEST_WAITS, SWAP_READS,
    TELLING, TIMERS,
};

/// A layer of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// What is waited for.
    pub cause: Cause,
    /// The function that tells.
    pub function: String,
}

/// The layers of a stack, and whether the stack is one of I/O (`io_schedule`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Layers, the outermost first.
    pub layers: Vec<Layer>,
    /// Whether the kernel counts this sleep as one for I/O.
    pub is_io: bool,
    /// Whether the task is the kernel's flusher.
    pub is_flusher: bool,
    /// Whether the task is the journal's thread in a commit.
    pub is_commit: bool,
    /// Whether a function of ext4 or of its journal is in it.
    pub is_of_journal: bool,
    /// Whether the task serves a loop device.
    pub is_loop_worker: bool,
    /// Whether what is waited for is in swap.
    pub is_swap: bool,
    /// Whether the kernel was to wake the task when a time is over, if nothing comes before.
    pub is_timed: bool,
    /// Whether its outermost functions are missing: what is not in it is no sign then.
    pub is_cut: bool,
    /// The innermost function that is not of the scheduler or of locks.
    pub innermost: Option<String>,
}

/// A function's name without what the compiler put behind it.
fn plain(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

impl Place {
    /// The place of a stack, its innermost function first; None: a function without a name.
    #[must_use]
    pub fn of<'a>(functions: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        Self::cut(functions, false)
    }

    /// The same of a stack whose outermost functions may be missing.
    #[must_use]
    pub fn cut<'a>(functions: impl IntoIterator<Item = Option<&'a str>>, is_cut: bool) -> Self {
        let names: Vec<&str> = functions.into_iter().map(|name| name.map_or("?", plain)).collect();
        let has = |list: &[&str]| names.iter().any(|name| list.contains(name));
        let mut place = Self {
            is_io: has(&["io_schedule", "io_schedule_timeout", "bit_wait_io", "mutex_lock_io"])
                || has(REQUEST_WAITS),
            is_of_journal: names
                .iter()
                .any(|name| OF_JOURNAL.iter().any(|of| name.starts_with(of))),
            is_flusher: has(&["wb_workfn", "wb_writeback", "wb_do_writeback"]),
            is_commit: has(&["jbd2_journal_commit_transaction", "kjournald2"]),
            is_loop_worker: has(LOOP_WORKERS),
            is_swap: has(SWAP_READS),
            is_timed: has(TIMERS),
            is_cut,
            ..Self::default()
        };
        for name in names.iter().rev() {
            if let Some((cause, _)) = TELLING.iter().find(|(_, list)| list.contains(name)) {
                place.add(*cause, name);
            }
        }
        let own = |name: &&&str| !GENERIC.contains(*name) && !LOCKS.contains(*name);
        let innermost = names.iter().find(own).copied().filter(|name| *name != "?");
        place.innermost = innermost.map(str::to_owned);
        // The trap of the freezer of version 2, and the stop by a signal, may be inlined in what takes signals.
        if let Some(name) = innermost.filter(|name| *name == "get_signal") {
            place.add(Cause::Stopped, name);
        }
        let held = innermost.filter(|name| has(PERCPU_LOCKS) && FREEZE_HOLDS.contains(name));
        if let Some(name) = held {
            place.add(Cause::Freeze, name);
            return place;
        }
        // The functions that wait for a folio's bit may be inlined in those that lock it; and the
        // probes' stacks leave out those of the scheduler.
        let locks = !has(LOCKS) && innermost.is_some_and(|name| FOLIO_LOCKS.contains(&name));
        if place.is_swap && !place.has(Cause::Reclaim) {
            let by = names.iter().find(|name| SWAP_READS.contains(*name)).copied();
            place.add(Cause::DataRead, by.unwrap_or("do_swap_page"));
        } else if (has(FOLIO_WAITS) || locks) && !place.has(Cause::Writeback) {
            place.folio(&names);
        } else if let Some(name) = names.iter().find(|name| BUFFER_WAITS.contains(*name)) {
            place.buffer(name, has(PARTIAL_WRITES));
        } else if has(LOCKS) || place.layers.is_empty() && !place.is_io {
            place.lock(innermost, has(LOCKS));
        }
        if !has(LOCKS) {
            place.remote(&names);
        }
        place
    }

    /// I/O of a file system that is a program or is on a server, unless a file system of this machine is inside of
    /// it: one that a program passes reads on to, or that a fault within a copy is about.
    fn remote(&mut self, names: &[&str]) {
        let begins = |name: &str, list: &[&str]| list.iter().any(|begin| name.starts_with(begin));
        let ends = |name: &&&str| begins(name, REMOTE) || begins(name, LOCAL);
        let by = names.iter().find(ends).filter(|name| begins(name, REMOTE));
        let is_io = match self.layers.last() {
            Some(layer) => layer.cause.is_io(),
            None => self.is_io,
        };
        if let Some(name) = by.filter(|_| is_io && !self.has(Cause::Reclaim)) {
            self.add(Cause::Daemon, name);
        }
    }

    /// Whether the task was stopped there: by a signal, a debugger or a freezer.
    pub(super) fn is_stop(&self) -> bool {
        self.has(Cause::Stopped)
    }

    fn has(&self, cause: Cause) -> bool {
        self.layers.iter().any(|layer| layer.cause == cause)
    }

    fn add(&mut self, cause: Cause, function: &str) {
        match self.layers.last_mut() {
            // Inner functions of the same layer say it more exactly.
            Some(last) if last.cause == cause => last.function = function.to_owned(),
            _ => self.layers.push(Layer { cause, function: function.to_owned() }),
        }
    }

    /// A folio is waited for that is not being written: it is read, or locked for something else.
    fn folio(&mut self, names: &[&str]) {
        if self.layers.last().is_some_and(|last| last.cause == Cause::DataRead) {
            return;
        }
        let by = names.iter().find(|name| FOLIO_LOCKS.contains(*name));
        self.add(Cause::FolioLock, by.copied().unwrap_or("folio_wait_bit_common"));
    }

    /// A buffer of metadata: read, written by a checkpoint or a commit, or locked.
    fn buffer(&mut self, name: &str, partial_write: bool) {
        let told = [Cause::MetadataRead, Cause::LogSpace, Cause::JournalBuffer, Cause::DataRead];
        if told.iter().any(|cause| self.has(*cause)) {
            return;
        }
        let cause = match (self.is_commit, partial_write) {
            (true, _) => Cause::JournalWrite,
            (false, true) => Cause::DataRead,
            // What it is read for is said further out.
            (false, false) if self.is_cut => return,
            (false, false) => Cause::MetadataRead,
        };
        self.add(cause, name);
    }

    fn lock(&mut self, innermost: Option<&str>, certain: bool) {
        let Some(name) = innermost else { return };
        let owner = LOCK_OWNERS.iter().find(|(_, list)| list.contains(&name));
        match owner {
            Some((cause, _)) => self.add(*cause, name),
            // The mutex of checkpoints is what room in the journal is waited for with.
            None if self.has(Cause::LogSpace) => {}
            None if certain => self.add(Cause::Lock, name),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{
        Commit, DataRead, FolderLock, FolioLock, Handle, InodeLock, JournalWrite, LogSpace,
        MetadataRead, OrderedData, TransactionLocked, Writeback,
    };

    #[test]
    fn stacks_of_kernels_have_their_layers() {
        let of = |text: &str| {
            let place = Place::of(text.split(" < ").map(Some));
            place.layers.iter().map(|layer| layer.cause).collect::<Vec<_>>()
        };
        let cases: [(&str, &[Cause]); 14] = [
            (
                "__schedule < schedule < wait_transaction_locked < add_transaction_credits < \
              start_this_handle < jbd2__journal_start < ext4_dirty_inode",
                &[Handle, TransactionLocked],
            ),
            (
                "schedule < io_schedule < bit_wait_io < __wait_on_bit < out_of_line_wait_on_bit < \
              __wait_on_buffer < jbd2_log_do_checkpoint < __jbd2_log_wait_for_space < \
              add_transaction_credits < start_this_handle",
                &[Handle, LogSpace],
            ),
            (
                "schedule < jbd2_log_wait_commit < jbd2_log_do_checkpoint < \
              __jbd2_log_wait_for_space.part.0 < start_this_handle",
                &[Handle, LogSpace, Commit],
            ),
            ("mutex_lock_io < __jbd2_log_wait_for_space < start_this_handle", &[Handle, LogSpace]),
            ("schedule < jbd2_log_wait_commit < ext4_fsync_journal < ext4_sync_file", &[Commit]),
            (
                "io_schedule < folio_wait_bit_common < folio_wait_bit < folio_wait_writeback < \
              __filemap_fdatawait_range < filemap_fdatawait_range_keep_errors < \
              jbd2_journal_finish_inode_data_buffers < jbd2_journal_commit_transaction < kjournald2",
                &[OrderedData, Writeback],
            ),
            (
                "io_schedule < bit_wait_io < __wait_on_bit < out_of_line_wait_on_bit < __wait_on_buffer < \
              jbd2_journal_commit_transaction < kjournald2",
                &[JournalWrite],
            ),
            (
                "schedule < schedule_preempt_disabled < rwsem_down_write_slowpath < down_write < \
              ext4_buffered_write_iter < vfs_write",
                &[InodeLock],
            ),
            // As probes see it: functions of locks are left out.
            ("ext4_buffered_write_iter < vfs_write < ksys_write", &[InodeLock]),
            ("rwsem_down_write_slowpath < down_write < path_openat < do_filp_open", &[FolderLock]),
            (
                "io_schedule < folio_wait_bit_common < __filemap_get_folio < ext4_write_begin < \
              generic_perform_write < ext4_buffered_write_iter",
                &[FolioLock],
            ),
            (
                "io_schedule < bit_wait_io < __wait_on_buffer < ext4_read_bh < __ext4_get_inode_loc < \
              ext4_reserve_inode_write",
                &[MetadataRead],
            ),
            ("__wait_on_buffer < ext4_block_write_begin < ext4_da_write_begin", &[DataRead]),
            (
                "ext4_da_get_block_prep < ext4_block_write_begin < ext4_da_write_begin",
                &[Cause::ExtentLock],
            ),
        ];
        // An md marks itself as written to before it is.
        let marked = "md_write_start < raid1_make_request < md_handle_request < submit_bio_noacct";
        assert_eq!(of(marked), [Cause::Writeback]);
        // A queue that is emptied; the lock of a group of inodes, and who holds it.
        let entering = "__bio_queue_enter < blk_mq_submit_bio < __iomap_dio_rw";
        assert_eq!(of(entering), [Cause::DirectIo, Cause::QueueFrozen]);
        assert_eq!(of("blk_mq_freeze_queue_wait < elevator_change < x"), [Cause::QueueFrozen]);
        assert_eq!(of("__ext4_new_inode < ext4_create < path_openat"), [Cause::Lock]);
        let place = |text: &str| Place::of(text.split(" < ").map(Some));
        assert!(place("submit_bio_wait < blkdev_issue_zeroout < ext4_lazyinit_thread").is_io);
        assert!(place("schedule < start_this_handle").is_of_journal);
        assert!(!place("btrfs_sync_log < btrfs_sync_file < do_fsync").is_of_journal);
        // A frozen file system; other locks of each processor; swap; a fast commit.
        let percpu = "percpu_rwsem_wait < __percpu_down_read < ";
        for name in ["vfs_write", "mnt_want_write", "ext4_page_mkwrite", "io_write"] {
            assert_eq!(of(&format!("{percpu}{name} < x")), [Cause::Freeze], "{name}");
        }
        assert_eq!(of(&format!("{percpu}copy_process < kernel_clone")), [Cause::Lock]);
        assert_eq!(of("folio_wait_bit_common < do_swap_page < handle_mm_fault"), [DataRead]);
        assert_eq!(of("io_schedule < __lock_page < shmem_swapin_page < shmem_fault"), [DataRead]);
        assert_eq!(
            of("schedule < jbd2_journal_lock_updates < ext4_fc_commit < ext4_sync_file"),
            [Commit, Cause::OpenHandles]
        );
        for (stack, layers) in cases {
            assert_eq!(of(stack), layers, "{stack}");
        }
        assert_eq!(
            of("io_schedule < folio_wait_bit_common < filemap_get_pages < filemap_read"),
            [DataRead]
        );
        // A buffer is of metadata where nothing further out says otherwise.
        let buffer = "io_schedule < __wait_on_buffer < x".split(" < ").map(Some);
        let of = |is_cut| Place::cut(buffer.clone(), is_cut).layers.len();
        assert_eq!((of(false), of(true)), (1, 0));
        assert_eq!(Place::of([]).layers, []);
        assert_eq!(Place::of([None, None]).innermost, None);
    }
}
