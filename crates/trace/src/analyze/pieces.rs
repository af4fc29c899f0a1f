//! What a journal did while a handle was waited for: the wait in pieces, each with its cause.
//!
//! `start_this_handle` waits in a loop and no event tells where; but the journal's own events bound
//! each place (fs/jbd2/transaction.c and checkpoint.c, 5.10 to 6.18):
//! - the running transaction is locked (`wait_transaction_locked`): from `jbd2_commit_locking` to
//!   `jbd2_commit_flushing`, where all who wait are woken;
//! - it is full or too many credits are reserved (`add_transaction_credits`): the handle got a later
//!   transaction though this one was still running;
//! - the log has too little space (`__jbd2_log_wait_for_space`): the task itself calls
//!   `jbd2_log_do_checkpoint`, whose event comes at its beginning, and moves the tail at its end; or it
//!   waits for `j_checkpoint_mutex` while another does.
//!
//! What none of these bounds is a wait only where the task slept: [`split`] takes out what it was ready
//! or awake. What is left is unexplained and stays so.
//!
//! Invariant: pieces follow each other, fill the wait and nothing else, and no two neighbours are
//! alike. Held by `pieces_fill_a_wait`, `any_wait_is_filled`.

use crate::timeline::{CheckpointCall, Journal, TailMove, Transaction, Wait as Sleep, WaitKind};

/// Why a handle was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// This transaction was locked and waited for its open handles.
    Locked(u32),
    /// This transaction was running, but had no room for the handle.
    Full(u32),
    /// The task itself made room in the journal.
    Space,
    /// Another task made room in the journal.
    SpaceByOther(i32),
    /// The task was ready, but another ran.
    Ready,
    /// No sleep of the task was recorded: it ran, or slept too shortly to be kept.
    Awake,
    /// The task slept, and no event tells why.
    Unknown,
}

impl Cause {
    /// In one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Locked(_) => "locked",
            Self::Full(_) => "full",
            Self::Space => "space",
            Self::SpaceByOther(_) => "space (other)",
            Self::Ready => "ready",
            Self::Awake => "awake",
            Self::Unknown => "unexplained",
        }
    }
}

/// A part of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its cause.
    pub cause: Cause,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl Piece {
    /// How long it was.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// Pieces of one wait at most: what comes after is unexplained.
const PIECES_MAX: usize = 256;
/// Transactions before the one a handle got that it can have waited for: a journal has one that is
/// running and one that commits, and each piece ends with one of them.
const BEFORE_MAX: u32 = 1_024;

/// The pieces of a wait from `begin_ns` to `end_ns` by task `pid` for a handle of transaction `tid`.
#[must_use]
pub fn pieces(journal: &Journal, pid: i32, tid: u32, (begin_ns, end_ns): (u64, u64)) -> Vec<Piece> {
    let wait = Wait { journal, pid, tid, end_ns };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut now_ns = begin_ns;
    while now_ns < end_ns {
        let (cause, until_ns) = match pieces.len() {
            0..PIECES_MAX => wait.at(now_ns),
            _ => (Cause::Unknown, end_ns),
        };
        let until_ns = until_ns.clamp(now_ns + 1, end_ns);
        match pieces.last_mut().filter(|last| last.cause == cause) {
            Some(last) => last.end_ns = until_ns,
            None => pieces.push(Piece { cause, begin_ns: now_ns, end_ns: until_ns }),
        }
        now_ns = until_ns;
    }
    pieces
}

/// Splits what is unexplained of a wait by what its task did; `sleeps` are the task's waits in their
/// order, `end_ns` is the end of the trace.
#[must_use]
pub fn split(pieces: Vec<Piece>, sleeps: &[Sleep], end_ns: u64) -> Vec<Piece> {
    let mut split: Vec<Piece> = Vec::new();
    let mut push = |cause: Cause, begin_ns: u64, end_ns: u64| {
        if begin_ns >= end_ns {
            return;
        }
        match split.last_mut().filter(|last| last.cause == cause) {
            Some(last) => last.end_ns = end_ns,
            None => split.push(Piece { cause, begin_ns, end_ns }),
        }
    };
    for piece in pieces {
        if piece.cause != Cause::Unknown {
            push(piece.cause, piece.begin_ns, piece.end_ns);
            continue;
        }
        let mut now_ns = piece.begin_ns;
        // Waits of one task do not overlap: those before the first that reaches in are over.
        let first = sleeps.partition_point(|one| one.end_ns.unwrap_or(end_ns) <= now_ns);
        for sleep in sleeps.iter().skip(first).take_while(|one| one.begin_ns < piece.end_ns) {
            let within = |at_ns: u64| at_ns.clamp(now_ns, piece.end_ns);
            let begin_ns = within(sleep.begin_ns);
            let end_ns = within(sleep.end_ns.unwrap_or(end_ns)).max(begin_ns);
            let woken_ns = match sleep.kind {
                WaitKind::Runnable => begin_ns,
                // Until it ran again it was ready.
                _ => sleep.woken_ns.map_or(end_ns, |at_ns| at_ns.clamp(begin_ns, end_ns)),
            };
            push(Cause::Awake, now_ns, begin_ns);
            push(Cause::Unknown, begin_ns, woken_ns);
            push(Cause::Ready, woken_ns, end_ns);
            now_ns = end_ns;
        }
        push(Cause::Awake, now_ns, piece.end_ns);
    }
    split
}

#[derive(Clone, Copy)]
struct Wait<'a> {
    journal: &'a Journal,
    pid: i32,
    tid: u32,
    end_ns: u64,
}

impl<'a> Wait<'a> {
    /// Transactions up to its own, the latest first.
    fn earlier(self) -> impl Iterator<Item = &'a Transaction> {
        let first = self.tid.saturating_sub(BEFORE_MAX);
        self.journal.transactions.range(first..=self.tid).map(|(_, one)| one).rev()
    }

    /// Why it was waited at a time, and until when for this cause.
    fn at(self, now_ns: u64) -> (Cause, u64) {
        let locked = |one: &&Transaction| {
            one.locking_ns.is_some_and(|at_ns| at_ns <= now_ns)
                && self.unlocked_ns(one).is_none_or(|at_ns| at_ns > now_ns)
        };
        if let Some(one) = self.earlier().find(locked) {
            return (Cause::Locked(one.tid), self.unlocked_ns(one).unwrap_or(self.end_ns));
        }
        let space = self.own_space(now_ns);
        if let Some((_, until_ns)) = space.filter(|(begin_ns, _)| *begin_ns <= now_ns) {
            return (Cause::Space, until_ns);
        }
        // What was before it made room itself had another cause.
        let (cause, until_ns) = self.before_space(now_ns);
        (cause, space.map_or(until_ns, |(begin_ns, _)| until_ns.min(begin_ns)))
    }

    /// The same of a time in which the task makes no room itself, and no lock is held.
    fn before_space(self, now_ns: u64) -> (Cause, u64) {
        let running = |one: &&Transaction| {
            one.tid < self.tid
                // Without a beginning it is the first of the trace: it was there before.
                && one.begin_ns.is_none_or(|at_ns| at_ns <= now_ns)
                && one.locking_ns.is_some_and(|at_ns| at_ns > now_ns)
        };
        let full = self.earlier().find(running);
        let until_ns = full.and_then(|one| one.locking_ns).unwrap_or(self.end_ns);
        let until_ns = until_ns.min(self.end_ns);
        if let Some((pid, moved_ns)) = self.space_by_other(now_ns, until_ns) {
            return (Cause::SpaceByOther(pid), moved_ns);
        }
        match full {
            Some(one) => (Cause::Full(one.tid), until_ns),
            None => (Cause::Unknown, self.next_locking_ns(now_ns)),
        }
    }

    /// When its lock ended: with its flushing, or with what came later if that is not known.
    fn unlocked_ns(self, one: &Transaction) -> Option<u64> {
        one.flushing_ns.or(one.logging_ns).or(one.end_ns)
    }

    /// When the next lock within the wait begins.
    fn next_locking_ns(self, now_ns: u64) -> u64 {
        let first = self.tid.saturating_sub(BEFORE_MAX);
        let all = self.journal.transactions.range(first..=self.tid);
        let later = all.filter_map(|(_, one)| one.locking_ns).filter(|at_ns| *at_ns > now_ns);
        later.min().map_or(self.end_ns, |at_ns| at_ns.min(self.end_ns))
    }

    /// If the task made room itself from now on within the wait: from when, and until when. The event of a
    /// checkpoint comes at its beginning; it ends when the tail moves, else with the wait. Of a move
    /// without such an event the beginning is not known: it is now.
    fn own_space(self, now_ns: u64) -> Option<(u64, u64)> {
        let own = |pid: i32| pid == self.pid;
        let calls = self.calls(now_ns.saturating_sub(1), self.end_ns);
        let calls = calls.map(|call| (call.pid, call.time_ns)).filter(|(pid, _)| own(*pid));
        let span = calls.fold(None, |span: Option<(u64, u64)>, (_, at_ns)| {
            Some(span.map_or((at_ns, at_ns), |(first_ns, _)| (first_ns, at_ns)))
        });
        let tails = self.tails(now_ns, self.end_ns).filter(|tail| own(tail.pid));
        let moved_ns = tails.map(|tail| tail.time_ns).max();
        match (span, moved_ns) {
            (None, moved_ns) => moved_ns.map(|moved_ns| (now_ns, moved_ns)),
            (Some((first_ns, last_ns)), Some(moved_ns)) if moved_ns >= last_ns => {
                Some((first_ns, moved_ns))
            }
            (Some((first_ns, _)), _) => Some((first_ns, self.end_ns)),
        }
    }

    /// Who else made room between two times, and until when.
    fn space_by_other(self, now_ns: u64, until_ns: u64) -> Option<(i32, u64)> {
        let other = |pid: i32| pid != self.pid && self.journal.thread != Some(pid);
        let call = self.calls(now_ns, until_ns).filter(|call| other(call.pid)).last()?;
        let mut tails = self.tails(call.time_ns.saturating_sub(1), until_ns);
        let moved_ns = tails.find(|tail| tail.pid == call.pid).map(|tail| tail.time_ns);
        Some((call.pid, moved_ns.unwrap_or(until_ns)))
    }

    /// Calls for space after a time, up to another; they are kept in the order of time.
    fn calls(self, after_ns: u64, until_ns: u64) -> impl Iterator<Item = &'a CheckpointCall> {
        let all = &self.journal.checkpoints;
        let first = all.partition_point(|call| call.time_ns <= after_ns);
        all.iter().skip(first).take_while(move |call| call.time_ns <= until_ns)
    }

    /// Moves of the tail, likewise.
    fn tails(self, after_ns: u64, until_ns: u64) -> impl Iterator<Item = &'a TailMove> {
        let all = &self.journal.tails;
        let first = all.partition_point(|tail| tail.time_ns <= after_ns);
        all.iter().skip(first).take_while(move |tail| tail.time_ns <= until_ns)
    }
}
