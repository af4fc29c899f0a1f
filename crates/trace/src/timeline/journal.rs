//! A journal: its transactions with their stages, its space, its checkpoints.

use crate::schema::{CheckpointStats, RunStats};
use std::collections::BTreeMap;

/// The journal of one file system.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Transactions by their number.
    pub transactions: BTreeMap<u32, Transaction>,
    /// The journal's thread, once it has been seen.
    pub thread: Option<i32>,
    /// Moves of its tail, by which space becomes free.
    pub tails: Vec<TailMove>,
    /// Calls for space, each by a task that needed it.
    pub checkpoints: Vec<CheckpointCall>,
    /// What the probes saw of it.
    pub samples: Vec<JournalSample>,
    /// Waits for its handles.
    pub handles: HandleWaits,
    /// The same by what handles are for: a number of the file system's own. There are 12; of what
    /// would be more than [`KINDS_MAX`] the rest is in no kind.
    pub kinds: BTreeMap<u32, HandleWaits>,
    /// Writes of its superblock.
    pub superblock_writes: u64,
    /// Locks of blocks that were waited for longer than a tenth of a second: (time, milliseconds).
    pub buffer_stalls: Vec<(u64, u64)>,
}

/// Waits for the handles of a journal, short ones too, as a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleWaits {
    /// Handles.
    pub count: u64,
    /// Those whose wait is not known, as of restarted ones; they are in no bucket.
    pub unknown: u64,
    /// All known waits together.
    pub sum_wait_ns: u64,
    /// The longest.
    pub max_wait_ns: u64,
    /// Handles by wait: bucket n has those of 2^n up to 2^(n+1) ns; the first also those of 0.
    pub buckets: [u64; WAIT_BUCKETS],
}

/// Kinds of handles that are told apart in one journal.
pub const KINDS_MAX: usize = 64;

/// Buckets of [`HandleWaits`]: the last begins at 2^39 ns, nine minutes.
pub const WAIT_BUCKETS: usize = 40;

impl Default for HandleWaits {
    fn default() -> Self {
        let buckets = [0; WAIT_BUCKETS];
        Self { count: 0, unknown: 0, sum_wait_ns: 0, max_wait_ns: 0, buckets }
    }
}

impl HandleWaits {
    /// Counts a handle.
    pub fn add(&mut self, wait_ns: Option<u64>) {
        self.count += 1;
        let Some(wait_ns) = wait_ns else {
            self.unknown += 1;
            return;
        };
        self.sum_wait_ns = self.sum_wait_ns.saturating_add(wait_ns);
        self.max_wait_ns = self.max_wait_ns.max(wait_ns);
        let bucket = wait_ns.checked_ilog2().unwrap_or(0) as usize;
        self.buckets[bucket.min(WAIT_BUCKETS - 1)] += 1;
    }
}

/// A stage of a transaction's life, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It takes handles.
    Running,
    /// Its commit has begun, but it is not locked yet.
    Starting,
    /// It takes no more handles and waits for the open ones.
    Locked,
    /// Its data is sent to the disk; handles get the next transaction.
    Flushing,
    /// Its metadata is written to the journal, its data is waited for.
    Logging,
    /// It is in the journal; its blocks are on their way home.
    Committed,
}

/// One transaction.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    /// Its number.
    pub tid: u32,
    /// Its first handle, if it began within the trace.
    pub begin_ns: Option<u64>,
    /// `jbd2_start_commit`.
    pub commit_ns: Option<u64>,
    /// `jbd2_commit_locking`.
    pub locking_ns: Option<u64>,
    /// `jbd2_commit_flushing`.
    pub flushing_ns: Option<u64>,
    /// `jbd2_commit_logging`.
    pub logging_ns: Option<u64>,
    /// `jbd2_end_commit`.
    pub end_ns: Option<u64>,
    /// `jbd2_drop_transaction`: its blocks are home.
    pub dropped_ns: Option<u64>,
    /// Handles that were seen to begin.
    pub handles_seen: u64,
    /// What the kernel counted of its commit.
    pub stats: Option<RunStats>,
    /// What the kernel counted of its checkpoint.
    pub checkpoint: Option<CheckpointStats>,
    /// Files whose data its commit sent or waited for.
    pub data_files: u64,
    /// Pages of data that its commit sent; not told by kernels before 6.3.
    pub data_pages: u64,
    /// Lengths of its lists, as the probes counted them.
    pub lists: Vec<ListLengths>,
}

/// Lengths of a transaction's lists at one time (requirement 3 of paper D).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLengths {
    /// When.
    pub time_ns: u64,
    /// The stage that it has just reached.
    pub stage: Stage,
    /// Files with data to be sent or waited for.
    pub data_files: u64,
    /// Blocks that are reserved.
    pub reserved: u64,
    /// Blocks of metadata (`t_buffers`).
    pub metadata: u64,
    /// Blocks that are being written to the journal (`t_shadow_list`).
    pub shadow: u64,
    /// Blocks that are forgotten after the commit.
    pub forget: u64,
    /// Blocks to be brought home.
    pub checkpoint: u64,
    /// True if counting was given up at the cap: the lengths are lower bounds.
    pub capped: bool,
}

/// The journal's tail has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailMove {
    /// When.
    pub time_ns: u64,
    /// The task in whose context.
    pub pid: i32,
    /// Blocks that became free.
    pub freed_blocks: u64,
    /// The oldest transaction now.
    pub first_tid: u32,
}

/// A task made room in the journal, or tried to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointCall {
    /// When it was done.
    pub time_ns: u64,
    /// The task.
    pub pid: i32,
    /// 0 if the tail has moved.
    pub result: i32,
}

/// What the probes saw of a journal at one time (requirement 4 of paper D). Blocks of the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalSample {
    /// When.
    pub time_ns: u64,
    /// All blocks of its log.
    pub total_blocks: u64,
    /// Free ones.
    pub free_blocks: u64,
    /// Credits reserved for handles to come.
    pub reserved_credits: u64,
    /// The most blocks a transaction may have.
    pub max_transaction_blocks: u64,
    /// Number of the running transaction; 0: none.
    pub running_tid: u32,
    /// Its credits.
    pub running_credits: u64,
    /// Its open handles.
    pub running_updates: u32,
    /// Number of the transaction that commits; 0: none.
    pub committing_tid: u32,
    /// Its credits.
    pub committing_credits: u64,
    /// The oldest transaction whose blocks are not home; 0: none.
    pub checkpoint_tid: u32,
    /// Blocks that are not home, of all transactions.
    pub checkpoint_blocks: u64,
}

impl Transaction {
    /// Its stage at a time; None if it is not known to have begun.
    #[must_use]
    pub fn stage(&self, time_ns: u64) -> Option<Stage> {
        let reached = |at: Option<u64>| at.is_some_and(|at| at <= time_ns);
        [
            (self.end_ns, Stage::Committed),
            (self.logging_ns, Stage::Logging),
            (self.flushing_ns, Stage::Flushing),
            (self.locking_ns, Stage::Locked),
            (self.commit_ns, Stage::Starting),
            (self.begin_ns, Stage::Running),
        ]
        .into_iter()
        .find_map(|(at, stage)| reached(at).then_some(stage))
    }

    /// How long its commit took; None if beginning or end are not in the trace.
    #[must_use]
    pub fn commit_duration_ns(&self) -> Option<u64> {
        Some(self.end_ns?.saturating_sub(self.commit_ns?))
    }
}

impl Journal {
    /// Counts a handle of a kind.
    pub fn handle(&mut self, kind: u32, wait_ns: Option<u64>) {
        self.handles.add(wait_ns);
        if self.kinds.len() < KINDS_MAX || self.kinds.contains_key(&kind) {
            self.kinds.entry(kind).or_default().add(wait_ns);
        }
    }

    /// The transaction that was running (or locked) at a time.
    #[must_use]
    pub fn running(&self, time_ns: u64) -> Option<&Transaction> {
        let is = |stage| matches!(stage, Stage::Running | Stage::Starting | Stage::Locked);
        let all = self.transactions.values().rev();
        all.into_iter().find(|one| one.stage(time_ns).is_some_and(is))
    }

    /// The transaction whose commit was under way at a time.
    #[must_use]
    pub fn committing(&self, time_ns: u64) -> Option<&Transaction> {
        let is = |stage| !matches!(stage, Stage::Running | Stage::Committed);
        self.transactions.values().find(|one| one.stage(time_ns).is_some_and(is))
    }
}
