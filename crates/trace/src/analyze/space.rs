//! Space in a journal over time: used, free, reserved (requirement 4 of paper D).
//!
//! Probes see the journal's own count of free blocks. Without them it is kept as books are: a commit
//! takes the blocks that it logged, a move of the tail gives back what it freed. Where the books
//! begin is not known until a tail has moved to a transaction from which on all are in the trace: what
//! is used then is the sum of their blocks. Such places also correct the books, and by how much is
//! told. The commit under way is not counted before it ends.
//!
//! Invariant: without samples each figure is an estimate or unknown; no free blocks are told without
//! the journal's size. Held by `space_of_a_hand_made_journal`, `books_are_corrected_where_they_can_be`.

mod report;

use super::{Options, Source};
use crate::record::Device;
use crate::timeline::{Journal, JournalSample};
use std::collections::BTreeMap;

/// Space of all journals.
#[derive(Clone, Debug)]
pub struct Space {
    head: String,
    head_json: serde_json::Value,
    span: (u64, u64),
    /// By journal.
    pub journals: Vec<JournalSpace>,
}

/// Space of one journal.
#[derive(Clone, Debug)]
pub struct JournalSpace {
    /// The name of the file system's device.
    pub device: String,
    /// Whether the levels were inferred.
    pub estimated: bool,
    /// Whether the books had a beginning; else used blocks are the least that there can have been.
    pub anchored: bool,
    /// What the corrections of the books were, all together without their signs.
    pub corrected_blocks: u64,
    /// Places where the books were compared.
    pub anchors: u64,
    /// Blocks for transactions: all but the journal's superblock.
    pub total_blocks: Option<u64>,
    /// The most that a transaction may have.
    pub max_transaction_blocks: Option<u64>,
    /// Levels over time.
    pub levels: Vec<Level>,
    /// Time with less than a quarter free; needs the total.
    pub below_quarter_ns: Option<u64>,
    /// Moves of the tail.
    pub tail_moves: u64,
    /// Blocks that these freed.
    pub freed_blocks: u64,
    /// Blocks that commits logged.
    pub logged_blocks: u64,
    /// Tasks that made room themselves: (pid, name, how often), the most often first.
    pub room_makers: Vec<(i32, String, u64)>,
}

/// What was used at a time; it holds until the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// When, by the tracer's clock.
    pub time_ns: u64,
    /// Blocks in use.
    pub used_blocks: u64,
    /// Credits that are reserved; only probes see them.
    pub reserved_credits: Option<u64>,
}

impl Space {
    /// The space of a timeline's journals.
    #[must_use]
    pub fn of(source: &Source<'_>, options: &Options) -> Self {
        let line = source.line;
        let journal = |(device, journal)| of_journal(source, options, device, journal);
        Self {
            head: super::show::head(line, "space"),
            head_json: super::show::head_json(line),
            span: (line.begin_ns, line.end_ns),
            journals: source.journals(options).map(journal).collect(),
        }
    }
}

impl JournalSpace {
    /// The least free blocks, and when; None without the total.
    #[must_use]
    pub fn least_free(&self) -> Option<(u64, u64)> {
        let (used_blocks, at_ns) = self.most_used()?;
        Some((self.total_blocks?.saturating_sub(used_blocks), at_ns))
    }

    /// The most used blocks, and when.
    #[must_use]
    pub fn most_used(&self) -> Option<(u64, u64)> {
        let first_most = |one: &&Level| (one.used_blocks, std::cmp::Reverse(one.time_ns));
        self.levels.iter().max_by_key(first_most).map(|one| (one.used_blocks, one.time_ns))
    }
}

fn of_journal(
    source: &Source<'_>,
    options: &Options,
    device: Device,
    journal: &Journal,
) -> JournalSpace {
    let last = journal.samples.last();
    let mut makers: BTreeMap<i32, u64> = BTreeMap::new();
    for call in &journal.checkpoints {
        *makers.entry(call.pid).or_default() += 1;
    }
    let mut makers: Vec<(i32, u64)> = makers.into_iter().collect();
    makers.sort_by_key(|(pid, calls)| (std::cmp::Reverse(*calls), *pid));
    makers.truncate(options.top);
    let named = |(pid, calls)| (pid, source.task_name(pid), calls);
    let logged = journal.transactions.values().filter_map(|one| one.stats);
    let books = if last.is_some() { Books::default() } else { Books::of(journal) };
    let mut space = JournalSpace {
        device: source.device_name(device),
        estimated: last.is_none(),
        anchored: last.is_some() || books.anchors > 0,
        corrected_blocks: books.corrected_blocks,
        anchors: books.anchors,
        total_blocks: last
            .map(|one| one.total_blocks)
            // Its first block is the journal's superblock.
            .or_else(|| options.journal_blocks.map(|blocks| blocks.saturating_sub(1))),
        max_transaction_blocks: last
            .map(|one| one.max_transaction_blocks)
            .or_else(|| source.max_transaction_blocks(device)),
        levels: if last.is_some() { exact(&journal.samples) } else { books.levels },
        below_quarter_ns: None,
        tail_moves: journal.tails.len() as u64,
        freed_blocks: sum(journal.tails.iter().map(|tail| tail.freed_blocks)),
        logged_blocks: sum(logged.map(|stats| u64::from(stats.blocks_logged))),
        room_makers: makers.into_iter().map(named).collect(),
    };
    space.below_quarter_ns = space.total_blocks.map(|total| {
        let ends = space.levels.iter().skip(1).map(|one| one.time_ns);
        let spans = space.levels.iter().zip(ends.chain([source.line.end_ns]));
        let little = |one: &Level| total.saturating_sub(one.used_blocks) < total / 4;
        sum(spans
            .filter(|(one, _)| little(one))
            .map(|(one, end_ns)| end_ns.saturating_sub(one.time_ns)))
    });
    space
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn exact(samples: &[JournalSample]) -> Vec<Level> {
    let level = |one: &JournalSample| Level {
        time_ns: one.time_ns,
        used_blocks: one.total_blocks.saturating_sub(one.free_blocks),
        reserved_credits: Some(one.reserved_credits),
    };
    samples.iter().map(level).collect()
}

/// Used blocks by what was logged and freed.
#[derive(Debug, Default)]
struct Books {
    levels: Vec<Level>,
    anchors: u64,
    corrected_blocks: u64,
}

/// What changes the books.
#[derive(Clone, Copy)]
enum Entry {
    /// A commit of this transaction has ended; it had logged so many blocks, if that is known.
    Logged(u32, Option<u64>),
    /// The tail has moved to this transaction; so many blocks became free.
    Freed(u32, u64),
}

impl Books {
    fn of(journal: &Journal) -> Self {
        let commits = journal.transactions.values().filter_map(|one| {
            let logged = one.stats.map(|stats| u64::from(stats.blocks_logged));
            Some((one.end_ns?, Entry::Logged(one.tid, logged)))
        });
        let freed = |tail: &crate::timeline::TailMove| {
            (tail.time_ns, Entry::Freed(tail.first_tid, tail.freed_blocks))
        };
        let mut entries: Vec<(u64, Entry)> = commits.collect();
        entries.extend(journal.tails.iter().map(freed));
        entries.sort_by_key(|(time_ns, _)| *time_ns);

        // Transactions that are in the journal, as far as they were seen, and their blocks.
        let mut within: BTreeMap<u32, u64> = BTreeMap::new();
        let (mut within_blocks, mut last_tid) = (0_u64, None);
        let mut books = Self::default();
        let mut relative: Vec<(u64, i64)> = Vec::with_capacity(entries.len());
        let mut used = 0_i64;
        let signed = |blocks: u64| i64::try_from(blocks).unwrap_or(i64::MAX);
        for (time_ns, entry) in entries {
            match entry {
                Entry::Logged(tid, logged) => {
                    last_tid = last_tid.max(Some(tid));
                    if let Some(logged) = logged {
                        used = used.saturating_add(signed(logged));
                        within_blocks = within_blocks.saturating_add(logged);
                        within.insert(tid, logged);
                    }
                }
                Entry::Freed(first_tid, freed) => {
                    used = used.saturating_sub(signed(freed));
                    while let Some(first) =
                        within.first_entry().filter(|one| *one.key() < first_tid)
                    {
                        within_blocks = within_blocks.saturating_sub(first.remove());
                    }
                    let all = last_tid.is_some_and(|last: u32| {
                        u64::from(last) + 1 == u64::from(first_tid) + within.len() as u64
                    });
                    if all {
                        let change = signed(within_blocks).saturating_sub(used);
                        if books.anchors == 0 {
                            // What came before had the same error.
                            relative
                                .iter_mut()
                                .for_each(|(_, one)| *one = one.saturating_add(change));
                        } else {
                            books.corrected_blocks += change.unsigned_abs();
                        }
                        books.anchors += 1;
                        used = signed(within_blocks);
                    }
                }
            }
            relative.push((time_ns, used));
        }
        // Never anchored, or wrong before: used blocks are at least none.
        let least = relative.iter().map(|(_, used)| *used).min().unwrap_or(0).min(0);
        let least = if books.anchors == 0 { least } else { 0 };
        let level = |(time_ns, used): (u64, i64)| Level {
            time_ns,
            used_blocks: u64::try_from(used.saturating_sub(least)).unwrap_or(0),
            reserved_credits: None,
        };
        books.levels = relative.into_iter().map(level).collect();
        books
    }
}
