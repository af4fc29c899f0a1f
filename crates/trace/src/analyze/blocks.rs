//! Blocks of each transaction by list and stage, on a time line (jbdjhlen of paper D, its requirement
//! 3): SYNC data to be sent, metadata to commit, CHKP blocks to be brought home.
//!
//! Probes count the lists themselves: exact, but for those given up at their cap. The tracer's own
//! events have totals: of data what the commit sent itself (pages; kernels before 6.3 tell only the
//! files), of metadata what the commit counted, of blocks to bring home what the checkpoint found, or
//! before it what was committed. A block that a later transaction changes again moves there, so these
//! are estimates, from above.
//!
//! Invariant: a curve of estimates comes back to what it was when a transaction is dropped. Held by
//! `blocks_of_a_hand_made_journal`.

mod report;

use super::{Options, Source};
use crate::timeline::{Journal, ListLengths, Stage, Transaction};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Blocks of the transactions of all journals.
#[derive(Clone, Debug)]
pub struct Blocks {
    head: String,
    head_json: serde_json::Value,
    span: (u64, u64),
    /// By journal.
    pub journals: Vec<JournalBlocks>,
}

/// Blocks of the transactions of one journal.
#[derive(Clone, Debug)]
pub struct JournalBlocks {
    /// The name of the file system's device.
    pub device: String,
    /// Transactions that were seen.
    pub transactions: u64,
    /// Data to be sent, over time.
    pub data: Lane,
    /// Metadata to be committed.
    pub metadata: Lane,
    /// Blocks to be brought home, of all transactions.
    pub checkpoint: Lane,
    /// Transactions with the most blocks, in the order of their numbers.
    pub rows: Vec<BlockRow>,
}

/// A length over time.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// Unit of the values.
    pub unit: &'static str,
    /// Whether the values were inferred, not counted.
    pub estimated: bool,
    /// Times of the tracer's clock and values; each holds until the next.
    pub points: Vec<(u64, u64)>,
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct BlockRow {
    /// Its number.
    pub tid: u32,
    /// Begin of its commit from the beginning of the trace.
    pub at_ns: Option<u64>,
    /// Files whose data its commit sent or waited for.
    pub data_files: u64,
    /// Pages that its commit sent; None if the kernel does not tell.
    pub data_pages: Option<u64>,
    /// Metadata as the kernel counted it at its commit.
    pub metadata: Option<u64>,
    /// Blocks written to the journal.
    pub logged: Option<u64>,
    /// Blocks that its checkpoint found, written by it or before.
    pub checkpoint: Option<u64>,
    /// Lengths of its lists, where there were probes.
    pub lists: Vec<ListLengths>,
}

/// Samples of one transaction's lists that are shown: one for each stage.
const LISTS_MAX: usize = 8;

impl Blocks {
    /// The blocks of a timeline.
    #[must_use]
    pub fn of(source: &Source<'_>, options: &Options) -> Self {
        let line = source.line;
        let journals = source.journals(options).map(|(device, journal)| JournalBlocks {
            device: source.device_name(device),
            transactions: journal.transactions.len() as u64,
            data: data(journal),
            metadata: metadata(journal),
            checkpoint: checkpoint(journal),
            rows: rows(journal, options.top, line.begin_ns),
        });
        Self {
            head: super::show::head(line, "blocks"),
            head_json: super::show::head_json(line),
            span: (line.begin_ns, line.end_ns),
            journals: journals.collect(),
        }
    }
}

impl Lane {
    /// From points in any order.
    fn new(unit: &'static str, estimated: bool, mut points: Vec<(u64, u64)>) -> Self {
        points.sort_by_key(|(at_ns, _)| *at_ns);
        Self { unit, estimated, points }
    }

    /// The greatest value, and when it was reached.
    #[must_use]
    pub fn max(&self) -> Option<(u64, u64)> {
        self.points.iter().copied().min_by_key(|(at_ns, value)| (Reverse(*value), *at_ns))
    }
}

fn lists(journal: &Journal) -> impl Iterator<Item = (&Transaction, &ListLengths)> {
    journal.transactions.values().flat_map(|one| one.lists.iter().map(move |list| (one, list)))
}

/// Pages that commits sent, or files if nothing else is known.
fn data(journal: &Journal) -> Lane {
    let all = || journal.transactions.values();
    let pages = all().any(|one| one.data_pages > 0);
    if !pages && lists(journal).next().is_some() {
        let point = |(_, list): (&Transaction, &ListLengths)| (list.time_ns, list.data_files);
        let mut points: Vec<(u64, u64)> = lists(journal).map(point).collect();
        points.extend(
            all().filter(|one| !one.lists.is_empty()).filter_map(|one| Some((one.end_ns?, 0))),
        );
        return Lane::new("files", false, points);
    }
    let value = |one: &Transaction| if pages { one.data_pages } else { one.data_files };
    let mut points = Vec::new();
    for one in all() {
        if let Some(from_ns) = one.flushing_ns {
            points.push((from_ns, value(one)));
        }
        // They have been sent; whether they have arrived is waited for while it logs.
        points.extend(one.logging_ns.or(one.end_ns).map(|at_ns| (at_ns, 0)));
    }
    Lane::new(if pages { "pages" } else { "files" }, true, points)
}

fn metadata(journal: &Journal) -> Lane {
    let mut points = Vec::new();
    let exact = lists(journal).next().is_some();
    for (_, list) in lists(journal).filter(|(_, list)| list.stage < Stage::Committed) {
        points.push((list.time_ns, list.metadata));
    }
    for one in journal.transactions.values() {
        if let Some(stats) = one.stats.filter(|_| !exact) {
            points.extend(one.locking_ns.map(|at_ns| (at_ns, u64::from(stats.blocks))));
        }
        points.extend(one.end_ns.map(|at_ns| (at_ns, 0)));
    }
    Lane::new("blocks", !exact, points)
}

fn checkpoint(journal: &Journal) -> Lane {
    if !journal.samples.is_empty() {
        let point = |one: &crate::timeline::JournalSample| (one.time_ns, one.checkpoint_blocks);
        return Lane::new("blocks", false, journal.samples.iter().map(point).collect());
    }
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for one in journal.transactions.values() {
        let (Some(end_ns), Some(blocks)) = (one.end_ns, to_bring_home(one)) else { continue };
        let blocks = i64::try_from(blocks).unwrap_or(i64::MAX);
        changes.push((end_ns, blocks));
        changes.extend(one.dropped_ns.map(|at_ns| (at_ns.max(end_ns), -blocks)));
    }
    changes.sort_unstable();
    let mut now = 0_i64;
    let points = changes.into_iter().map(|(at_ns, change)| {
        now = now.saturating_add(change);
        (at_ns, u64::try_from(now).unwrap_or(0))
    });
    let points = points.collect();
    Lane::new("blocks", true, points)
}

fn to_bring_home(one: &Transaction) -> Option<u64> {
    let found = one.checkpoint.map(|stats| u64::from(stats.written) + u64::from(stats.dropped));
    found.or_else(|| one.stats.map(|stats| u64::from(stats.blocks)))
}

fn rows(journal: &Journal, top: usize, begin_ns: u64) -> Vec<BlockRow> {
    let mut most: BTreeMap<(u64, Reverse<u32>), &Transaction> = BTreeMap::new();
    for one in journal.transactions.values() {
        let of_lists = one.lists.iter().map(|list| list.metadata).max().unwrap_or(0);
        let of_stats = one.stats.map_or(0, |stats| u64::from(stats.blocks));
        most.insert((one.data_pages.saturating_add(of_stats.max(of_lists)), Reverse(one.tid)), one);
        if most.len() > top {
            most.pop_first();
        }
    }
    let mut shown: Vec<&Transaction> = most.into_values().collect();
    shown.sort_by_key(|one| one.tid);
    let row = |one: &Transaction| BlockRow {
        tid: one.tid,
        at_ns: one.commit_ns.map(|at_ns| at_ns.saturating_sub(begin_ns)),
        data_files: one.data_files,
        // Files without pages: this kernel does not tell of pages, or others had sent them.
        data_pages: (one.data_pages > 0 || one.data_files == 0).then_some(one.data_pages),
        metadata: one.stats.map(|stats| u64::from(stats.blocks)),
        logged: one.stats.map(|stats| u64::from(stats.blocks_logged)),
        checkpoint: one.checkpoint.map(|stats| u64::from(stats.written) + u64::from(stats.dropped)),
        lists: one.lists.iter().take(LISTS_MAX).copied().collect(),
    };
    shown.into_iter().map(row).collect()
}
