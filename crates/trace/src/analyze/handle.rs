//! Waits for handles: how many, how long, which were the longest and what the journal did meanwhile
//! (jbdhdltime of paper D, its requirement 1).
//!
//! The histogram counts each handle whose request was seen; the rows are those that the timeline
//! kept one by one. A wait that no event bounds (of a restarted handle) is counted as unknown.
//!
//! Invariant: buckets, unknown ones and the count of a journal agree. Held by
//! `handles_of_a_hand_made_journal`.

mod report;

use super::{Options, Piece, Source, pieces, split};
use crate::record::Device;
use crate::timeline::{Handle, HandleWaits, Journal};
use std::collections::BTreeMap;

/// Who is named of those that held a transaction open.
const HOLDERS: usize = 3;

/// Waits for the handles of all journals.
#[derive(Clone, Debug)]
pub struct Handles {
    head: String,
    head_json: serde_json::Value,
    /// By journal.
    pub journals: Vec<JournalHandles>,
}

/// Waits for the handles of one journal.
#[derive(Clone, Debug)]
pub struct JournalHandles {
    /// The name of the file system's device.
    pub device: String,
    /// All of them.
    pub waits: HandleWaits,
    /// By what they were for, the longest in sum first.
    pub kinds: Vec<KindRow>,
    /// The longest waits, the longest first.
    pub longest: Vec<HandleRow>,
    /// Handles that were open longest, the longest first.
    pub open: Vec<HandleRow>,
    /// Handles that the timeline has one by one.
    pub kept: u64,
}

/// Waits for handles of one kind.
#[derive(Clone, Debug)]
pub struct KindRow {
    /// The kind, by number.
    pub kind: u32,
    /// Its waits.
    pub waits: HandleWaits,
}

/// One handle.
#[derive(Clone, Debug)]
pub struct HandleRow {
    /// Its task.
    pub pid: i32,
    /// The task's name.
    pub task: String,
    /// The handle.
    pub handle: Handle,
    /// When it was asked for, or given if that is not known, from the beginning of the trace.
    pub at_ns: u64,
    /// How long it was open; up to the end of the trace if it was not closed before.
    pub open_ns: u64,
    /// What the journal did during its wait.
    pub pieces: Vec<Piece>,
    /// Who held the transactions open that it waited for, the last to let go first.
    pub holders: Vec<Holder>,
}

/// A handle that was open while its transaction was locked and another handle waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its task.
    pub pid: i32,
    /// The task's name.
    pub task: String,
    /// What it was for.
    pub kind: u32,
    /// The transaction.
    pub tid: u32,
    /// How long it was open in all.
    pub open_ns: u64,
    /// How long of that the other waited for the locked transaction.
    pub overlap_ns: u64,
}

/// What a handle of ext4 is for: `EXT4_HT_*` of `fs/ext4/ext4_jbd2.h`, the same from 3.10 to 6.18.
#[must_use]
pub fn kind_name(kind: u32) -> Option<&'static str> {
    const NAMES: [&str; 12] = [
        "misc",
        "inode",
        "write_page",
        "map_blocks",
        "dir",
        "truncate",
        "quota",
        "resize",
        "migrate",
        "move_extents",
        "xattr",
        "ext_convert",
    ];
    NAMES.get(usize::try_from(kind).ok()?).copied()
}

impl Handles {
    /// The waits of a timeline.
    #[must_use]
    pub fn of(source: &Source<'_>, options: &Options) -> Self {
        let mut open = BTreeMap::new();
        let mut longest = BTreeMap::new();
        let mut kept: BTreeMap<Device, Vec<(i32, &Handle)>> = BTreeMap::new();
        for (pid, handle) in all(source) {
            kept.entry(handle.device).or_default().push((pid, handle));
            let open_ns = open_ns(handle, source.line.end_ns);
            let of_device = |map: &mut BTreeMap<Device, Best>, ns| {
                map.entry(handle.device).or_default().offer(options.top, ns, (pid, *handle));
            };
            of_device(&mut open, open_ns);
            if let Some(wait_ns) = handle.wait_ns() {
                of_device(&mut longest, wait_ns);
            }
        }
        let journals = source.journals(options).map(|(device, journal)| {
            let longest = longest.remove(&device).unwrap_or_default().sorted();
            let open = open.remove(&device).unwrap_or_default().sorted();
            let mut kinds: Vec<KindRow> = journal
                .kinds
                .iter()
                .map(|(kind, waits)| KindRow { kind: *kind, waits: *waits })
                .collect();
            kinds.sort_by_key(|row| (std::cmp::Reverse(row.waits.sum_wait_ns), row.kind));
            let row = |(pid, handle)| row(source, journal, pid, handle);
            let mut longest: Vec<HandleRow> = longest.into_iter().map(row).collect();
            let kept = kept.get(&device).map_or(&[][..], Vec::as_slice);
            find_holders(source, kept, &mut longest);
            JournalHandles {
                device: source.device_name(device),
                waits: journal.handles,
                kinds,
                longest,
                open: open.into_iter().map(row).collect(),
                kept: kept.len() as u64,
            }
        });
        Self {
            head: super::show::head(source.line, "handles"),
            head_json: super::show::head_json(source.line),
            journals: journals.collect(),
        }
    }
}

/// The handles with the greatest figures.
#[derive(Debug, Default)]
struct Best {
    /// By figure; the number keeps equal ones apart and in their order.
    found: BTreeMap<(u64, std::cmp::Reverse<u64>), (i32, Handle)>,
    offered: u64,
}

impl Best {
    fn offer(&mut self, top: usize, ns: u64, one: (i32, Handle)) {
        self.offered += 1;
        if self.found.len() >= top
            && self.found.first_key_value().is_none_or(|(least, _)| ns <= least.0)
        {
            return;
        }
        self.found.insert((ns, std::cmp::Reverse(self.offered)), one);
        if self.found.len() > top {
            self.found.pop_first();
        }
    }

    fn sorted(self) -> Vec<(i32, Handle)> {
        self.found.into_values().rev().collect()
    }
}

fn all<'a>(source: &Source<'a>) -> impl Iterator<Item = (i32, &'a Handle)> {
    source.line.tasks.iter().flat_map(|(pid, task)| task.handles.iter().map(|one| (*pid, one)))
}

fn open_ns(handle: &Handle, end_ns: u64) -> u64 {
    handle.end_ns.unwrap_or(end_ns).saturating_sub(handle.begin_ns)
}

fn row(source: &Source<'_>, journal: &Journal, pid: i32, handle: Handle) -> HandleRow {
    let mut pieces = handle.asked_ns.map_or_else(Vec::new, |asked_ns| {
        pieces(journal, pid, handle.tid, (asked_ns, handle.begin_ns))
    });
    // A trace without any wait has no scheduler in it: then nobody knows who slept.
    if source.line.tasks.values().any(|task| !task.waits.is_empty()) {
        let sleeps = source.line.tasks.get(&pid).map_or(&[][..], |task| &task.waits);
        pieces = split(pieces, sleeps, source.line.end_ns);
    }
    HandleRow {
        pid,
        task: source.task_name(pid),
        handle,
        at_ns: handle.asked_ns.unwrap_or(handle.begin_ns).saturating_sub(source.line.begin_ns),
        open_ns: open_ns(&handle, source.line.end_ns),
        pieces,
        holders: Vec::new(),
    }
}

/// Finds who held open what the handles of `rows` waited for, in one pass over all of their journal.
fn find_holders(source: &Source<'_>, of_journal: &[(i32, &Handle)], rows: &mut [HandleRow]) {
    use super::Cause;
    // Locked transaction -> rows that waited for it, and when.
    let mut waited: BTreeMap<u32, Vec<(usize, u64, u64)>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        for piece in &row.pieces {
            if let Cause::Locked(tid) = piece.cause {
                waited.entry(tid).or_default().push((index, piece.begin_ns, piece.end_ns));
            }
        }
    }
    for (pid, handle) in of_journal.iter().copied() {
        for (index, begin_ns, end_ns) in waited.get(&handle.tid).into_iter().flatten() {
            let until_ns = handle.end_ns.unwrap_or(source.line.end_ns).min(*end_ns);
            let overlap_ns = until_ns.saturating_sub(handle.begin_ns.max(*begin_ns));
            let Some(row) = rows.get_mut(*index).filter(|row| row.pid != pid) else { continue };
            if overlap_ns == 0 {
                continue;
            }
            row.holders.push(Holder {
                pid,
                task: source.task_name(pid),
                kind: handle.kind,
                tid: handle.tid,
                open_ns: open_ns(handle, source.line.end_ns),
                overlap_ns,
            });
            row.holders.sort_by_key(|one| (std::cmp::Reverse(one.overlap_ns), one.pid));
            row.holders.truncate(HOLDERS);
        }
    }
}
