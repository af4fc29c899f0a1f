//! Stages of transactions on a time line (jbdstate of paper D, its requirement 2).
//!
//! Each transaction runs, is locked, flushes, logs and ends; later its blocks are home and it is
//! dropped. Durations are differences of the events' own times, not the kernel's, which are ticks.
//!
//! Why a commit came is not recorded. It is told where something else shows it: an fsync that began
//! before the commit and ended after it; a handle that waited as the transaction had no room. That a
//! timer did it is inferred from age alone, and marked so.
//!
//! Invariant: a duration is there only if both its sides are; sums are of all transactions, however
//! few are shown. Held by `stages_of_a_hand_made_journal`.

mod report;

use super::{Options, Source, plot};
use crate::record::Device;
use crate::timeline::{Handle, Journal, Stage, Sync, Transaction};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A transaction that nothing else has ended and that ran so long was ended by the timer: ext4's
/// default is 5 s (`JBD2_DEFAULT_MAX_COMMIT_AGE`), which it reaches to the tick.
const TIMER_NS: u64 = 4_900_000_000;
/// Between a handle that is asked for and the look at the transaction's state.
const SOON_NS: u64 = 100_000;

/// Stages whose durations are told, with their words, in the order of a transaction's life.
pub(super) const STAGES: [&str; 7] =
    ["running", "starting", "locked", "flushing", "logging", "commit", "checkpoint"];

/// Transactions of all journals.
#[derive(Clone, Debug)]
pub struct States {
    head: String,
    head_json: serde_json::Value,
    span: (u64, u64),
    /// By journal.
    pub journals: Vec<JournalStates>,
}

/// Transactions of one journal.
#[derive(Clone, Debug)]
pub struct JournalStates {
    /// The name of the file system's device.
    pub device: String,
    /// Transactions that were seen, whole or not.
    pub transactions: u64,
    /// Those whose commit was seen to its end.
    pub committed: u64,
    /// Those that were dropped: their blocks are home.
    pub dropped: u64,
    /// Handles of the commits, as the kernel counted them.
    pub handles: u64,
    /// Blocks of metadata, likewise.
    pub blocks: u64,
    /// Blocks written to the journal, likewise.
    pub blocks_logged: u64,
    /// Blocks that checkpoints wrote.
    pub checkpoint_written: u64,
    /// Blocks that had come home before their checkpoint.
    pub checkpoint_dropped: u64,
    /// Checkpoints that had to wait for a commit.
    pub forced_to_close: u64,
    /// Each stage: sum, longest, of which transaction.
    pub stages: Vec<StageTotal>,
    /// For each column of the time line: time with a locked transaction, and with a commit, in
    /// thousandths of the column.
    pub load: Vec<(u64, u64)>,
    /// Transactions whose commits took longest, in the order of their numbers.
    pub rows: Vec<StateRow>,
}

/// A stage, over all transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTotal {
    /// Transactions of which both sides are known.
    pub count: u64,
    /// All together.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Its transaction.
    pub max_tid: u32,
}

/// Why a transaction was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// This task synced a file meanwhile.
    Sync(i32, String),
    /// This task's handle had no room in it.
    Full(i32, String),
    /// It was as old as the timer lets it become; inferred.
    Age,
    /// Nothing tells.
    Unknown,
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct StateRow {
    /// What is known of it.
    pub transaction: Transaction,
    /// Durations of the stages in their order.
    pub durations_ns: [Option<u64>; 7],
    /// Why it was committed.
    pub why: Why,
}

/// Durations of the stages of a transaction.
pub(super) fn durations(one: &Transaction) -> [Option<u64>; 7] {
    let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
    [
        between(one.begin_ns, one.commit_ns),
        between(one.commit_ns, one.locking_ns),
        between(one.locking_ns, one.flushing_ns),
        between(one.flushing_ns, one.logging_ns),
        between(one.logging_ns, one.end_ns),
        one.commit_duration_ns(),
        between(one.end_ns, one.dropped_ns),
    ]
}

impl States {
    /// The transactions of a timeline.
    #[must_use]
    pub fn of(source: &Source<'_>, options: &Options) -> Self {
        let span = (source.line.begin_ns, source.line.end_ns);
        let asked = Asked::of(source);
        let none = OfDevice::default();
        let journal = |(device, journal)| {
            let asked = asked.0.get(&device).unwrap_or(&none);
            of_journal(source, options, (device, journal), asked, span)
        };
        Self {
            head: super::show::head(source.line, "transactions"),
            head_json: super::show::head_json(source.line),
            span,
            journals: source.journals(options).map(journal).collect(),
        }
    }
}

fn of_journal(
    source: &Source<'_>,
    options: &Options,
    (device, journal): (Device, &Journal),
    asked: &OfDevice<'_>,
    span: (u64, u64),
) -> JournalStates {
    let mut found = JournalStates {
        device: source.device_name(device),
        transactions: journal.transactions.len() as u64,
        committed: 0,
        dropped: 0,
        handles: 0,
        blocks: 0,
        blocks_logged: 0,
        checkpoint_written: 0,
        checkpoint_dropped: 0,
        forced_to_close: 0,
        stages: vec![StageTotal::default(); STAGES.len()],
        load: load(journal, span),
        rows: Vec::new(),
    };
    let mut longest: BTreeMap<(u64, Reverse<u32>), &Transaction> = BTreeMap::new();
    for one in journal.transactions.values() {
        found.add(one);
        // Of one that has not ended, what is known of its commit so far.
        let so_far_ns =
            one.commit_ns.map_or(0, |at| one.end_ns.unwrap_or(span.1).saturating_sub(at));
        longest.insert((so_far_ns, Reverse(one.tid)), one);
        if longest.len() > options.top {
            longest.pop_first();
        }
    }
    let mut shown: Vec<&Transaction> = longest.into_values().collect();
    shown.sort_by_key(|one| one.tid);
    let whys = whys(source, asked, &shown);
    found.rows = shown
        .into_iter()
        .zip(whys)
        .map(|(one, why)| StateRow { transaction: one.clone(), durations_ns: durations(one), why })
        .collect();
    found
}

impl JournalStates {
    fn add(&mut self, one: &Transaction) {
        self.committed += u64::from(one.end_ns.is_some());
        self.dropped += u64::from(one.dropped_ns.is_some());
        if let Some(stats) = &one.stats {
            self.handles += u64::from(stats.handles);
            self.blocks += u64::from(stats.blocks);
            self.blocks_logged += u64::from(stats.blocks_logged);
        }
        if let Some(stats) = &one.checkpoint {
            self.checkpoint_written += u64::from(stats.written);
            self.checkpoint_dropped += u64::from(stats.dropped);
            self.forced_to_close += u64::from(stats.forced_to_close);
        }
        for (total, ns) in self.stages.iter_mut().zip(durations(one)) {
            let Some(ns) = ns else { continue };
            total.count += 1;
            total.sum_ns = total.sum_ns.saturating_add(ns);
            if ns >= total.max_ns {
                (total.max_ns, total.max_tid) = (ns, one.tid);
            }
        }
    }
}

/// What tasks asked of journals, by device: gathered once, however many journals there are.
#[derive(Default)]
struct Asked<'a>(BTreeMap<Device, OfDevice<'a>>);

#[derive(Default)]
struct OfDevice<'a> {
    syncs: Vec<(i32, &'a Sync)>,
    handles: Vec<(i32, &'a Handle)>,
}

impl<'a> Asked<'a> {
    fn of(source: &Source<'a>) -> Self {
        let mut asked = Self::default();
        for (pid, task) in &source.line.tasks {
            for sync in &task.syncs {
                asked.0.entry(sync.device).or_default().syncs.push((*pid, sync));
            }
            for handle in &task.handles {
                asked.0.entry(handle.device).or_default().handles.push((*pid, handle));
            }
        }
        asked
    }
}

/// Why each of some transactions was committed: one pass over all syncs and handles.
fn whys(source: &Source<'_>, asked: &OfDevice<'_>, shown: &[&Transaction]) -> Vec<Why> {
    // The latest sync before each commit that ended after it, and who asked for a handle.
    let mut syncs: Vec<Option<(u64, i32)>> = vec![None; shown.len()];
    let mut full: Vec<Option<(u64, i32)>> = vec![None; shown.len()];
    let mut by_commit: Vec<(u64, usize)> =
        shown.iter().enumerate().filter_map(|(index, one)| Some((one.commit_ns?, index))).collect();
    by_commit.sort_unstable();
    let within = |begin_ns: u64, end_ns: u64| {
        let first = by_commit.partition_point(|(at_ns, _)| *at_ns < begin_ns);
        by_commit.iter().skip(first).take_while(move |(at_ns, _)| *at_ns <= end_ns)
    };
    let later = |best: &mut Option<(u64, i32)>, begin_ns: u64, pid: i32| {
        if best.is_none_or(|(at_ns, _)| begin_ns >= at_ns) {
            *best = Some((begin_ns, pid));
        }
    };
    for (pid, sync) in &asked.syncs {
        let end_ns = sync.end_ns.unwrap_or(u64::MAX);
        for (_, index) in within(sync.begin_ns, end_ns) {
            let ended = shown.get(*index).and_then(|one| one.end_ns);
            if ended.is_some_and(|at_ns| at_ns <= end_ns)
                && let Some(best) = syncs.get_mut(*index)
            {
                later(best, sync.begin_ns, *pid);
            }
        }
    }
    for (pid, handle) in &asked.handles {
        let Some(asked_ns) = handle.asked_ns else { continue };
        for (commit_ns, index) in within(asked_ns, handle.begin_ns) {
            // Who has just asked when the timer ends a transaction waits for the next one too.
            let has_waited = commit_ns - asked_ns >= SOON_NS;
            let had_no_room = |one: &&Transaction| {
                let is_old = durations(one)[0].is_some_and(|running_ns| running_ns >= TIMER_NS);
                one.tid < handle.tid && (has_waited || !is_old)
            };
            if shown.get(*index).is_some_and(had_no_room)
                && let Some(best) = full.get_mut(*index)
            {
                later(best, asked_ns, *pid);
            }
        }
    }
    let name = |pid: i32| (pid, source.task_name(pid));
    shown
        .iter()
        .zip(syncs.into_iter().zip(full))
        .map(|(one, found)| match found {
            (Some((_, pid)), _) => {
                let (pid, name) = name(pid);
                Why::Sync(pid, name)
            }
            (None, Some((_, pid))) => {
                let (pid, name) = name(pid);
                Why::Full(pid, name)
            }
            (None, None) => match durations(one) {
                [Some(running_ns), ..] if running_ns >= TIMER_NS => Why::Age,
                _ => Why::Unknown,
            },
        })
        .collect()
}

/// How much of each column of the time line a transaction was locked, and a commit under way.
fn load(journal: &Journal, span: (u64, u64)) -> Vec<(u64, u64)> {
    let mut sums = vec![(0_u64, 0_u64); plot::WIDTH];
    for one in journal.transactions.values() {
        let to_ns = |at_ns: Option<u64>| at_ns.unwrap_or(span.1);
        if let Some(from_ns) = one.locking_ns {
            let to_ns = to_ns(one.flushing_ns.or(one.logging_ns).or(one.end_ns));
            plot::spread(from_ns, to_ns, span, |column, ns| {
                if let Some(sum) = sums.get_mut(column) {
                    sum.0 += ns;
                }
            });
        }
        if let Some(from_ns) = one.commit_ns {
            plot::spread(from_ns, to_ns(one.end_ns), span, |column, ns| {
                if let Some(sum) = sums.get_mut(column) {
                    sum.1 += ns;
                }
            });
        }
    }
    let width_ns = (span.1.saturating_sub(span.0) / plot::WIDTH as u64).max(1);
    let thousandths = |ns: u64| (u128::from(ns) * 1_000 / u128::from(width_ns)).min(1_000) as u64;
    sums.into_iter().map(|(lock, commit)| (thousandths(lock), thousandths(commit))).collect()
}

/// The character of a stage in a row of the time line.
pub(super) fn mark(stage: Stage) -> char {
    match stage {
        Stage::Running => 'r',
        Stage::Starting => 's',
        Stage::Locked => 'L',
        Stage::Flushing => 'F',
        Stage::Logging => 'W',
        Stage::Committed => '.',
    }
}
