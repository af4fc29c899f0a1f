//! Where tasks waited: by task and place in the kernel, with who woke them.
//!
//! The place of a wait is the innermost function of its stack that tells something: those of the
//! scheduler, of mutexes and of waits for a bit say only that there was a wait. Where no function is
//! known, the place is the stack itself, by addresses, without the frames that all stacks of the trace
//! begin with.
//!
//! Invariant: a wait is in one row, and the rows of a kind sum up to its total. Held by
//! `waits_of_hand_made_tasks`.

mod place;
mod report;

use super::{Options, Source};
use crate::timeline::{Context, StackId, Wait, WaitKind};
use place::Places;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where tasks waited.
#[derive(Clone, Debug)]
pub struct Waits {
    head: String,
    head_json: serde_json::Value,
    /// By kind, in the order of [`WaitKind`]: all waits, and those with the longest sums.
    pub kinds: Vec<KindWaits>,
}

/// Waits of one kind.
#[derive(Clone, Debug)]
pub struct KindWaits {
    /// The kind.
    pub kind: WaitKind,
    /// Waits.
    pub count: u64,
    /// All together.
    pub sum_ns: u64,
    /// Rows that there are.
    pub all_rows: u64,
    /// Those with the longest sums, the longest first.
    pub rows: Vec<WaitRow>,
}

/// Waits of one task at one place.
#[derive(Clone, Debug)]
pub struct WaitRow {
    /// The task.
    pub pid: i32,
    /// Its name.
    pub task: String,
    /// The place; None if no stack was recorded.
    pub place: Option<String>,
    /// Who called it, the innermost first, of the longest wait.
    pub callers: Vec<String>,
    /// Waits.
    pub count: u64,
    /// All together.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// When that began, from the beginning of the trace.
    pub max_at_ns: u64,
    /// Waits that had not ended with the trace; they count up to there.
    pub open: u64,
    /// Who woke it most often, the first most.
    pub wakers: Vec<WakerRow>,
}

/// Who woke a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakerRow {
    /// The task, or what the processor did instead.
    pub name: String,
    /// Its pid, if it was a task.
    pub pid: Option<i32>,
    /// How often.
    pub count: u64,
}

/// Who is named of those that woke.
const WAKERS: usize = 2;
/// Those that are counted of one row; there are few as a rule, and a trace may say anything.
const WAKERS_COUNTED: usize = 64;

/// What a waker is counted as: a task, or an interrupt.
type WakerKey = Option<i32>;

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    sum_ns: u64,
    max_ns: u64,
    max_at_ns: u64,
    stack: Option<StackId>,
    open: u64,
    wakers: BTreeMap<WakerKey, u64>,
}

impl Sum {
    fn add(&mut self, wait: &Wait, now_ns: u64) {
        let ns = wait.duration_ns(now_ns);
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.open += u64::from(wait.end_ns.is_none());
        if ns >= self.max_ns {
            (self.max_ns, self.max_at_ns, self.stack) = (ns, wait.begin_ns, wait.stack);
        }
        if let Some(waker) = wait.waker {
            let key = (waker.context == Context::Task).then_some(waker.pid);
            if self.wakers.len() < WAKERS_COUNTED || self.wakers.contains_key(&key) {
                *self.wakers.entry(key).or_default() += 1;
            }
        }
    }
}

impl Waits {
    /// The waits of a timeline.
    #[must_use]
    pub fn of(source: &Source<'_>, options: &Options) -> Self {
        let line = source.line;
        let mut places = Places::new(&line.stacks, source.symbols);
        let mut sums: BTreeMap<(WaitKind, i32, Option<u32>), Sum> = BTreeMap::new();
        for (pid, task) in source.tasks() {
            for wait in &task.waits {
                let place = wait.stack.map(|stack| places.of(stack));
                sums.entry((wait.kind, pid, place)).or_default().add(wait, line.end_ns);
            }
        }
        let kinds =
            [WaitKind::Sleep, WaitKind::Runnable, WaitKind::Interruptible, WaitKind::Stopped];
        let kind = |kind: WaitKind| {
            let mut rows: Vec<_> = sums.iter().filter(|((of, ..), _)| *of == kind).collect();
            rows.sort_by_key(|((_, pid, place), sum)| (Reverse(sum.sum_ns), *pid, *place));
            KindWaits {
                kind,
                count: rows.iter().map(|(_, sum)| sum.count).sum(),
                sum_ns: rows.iter().fold(0, |all, (_, sum)| all.saturating_add(sum.sum_ns)),
                all_rows: rows.len() as u64,
                rows: rows
                    .into_iter()
                    .take(options.top)
                    .map(|((_, pid, place), sum)| row(source, &places, *pid, *place, sum))
                    .collect(),
            }
        };
        Self {
            head: super::show::head(line, "waits"),
            head_json: super::show::head_json(line),
            // Few are stopped by anybody; a trace without any says nothing of it, as earlier ones do.
            kinds: kinds
                .into_iter()
                .map(kind)
                .filter(|one| one.count > 0 || one.kind != WaitKind::Stopped)
                .collect(),
        }
    }
}

fn row(
    source: &Source<'_>,
    places: &Places<'_>,
    pid: i32,
    place: Option<u32>,
    sum: &Sum,
) -> WaitRow {
    let mut wakers: Vec<(WakerKey, u64)> =
        sum.wakers.iter().map(|(key, count)| (*key, *count)).collect();
    wakers.sort_by_key(|(key, count)| (Reverse(*count), *key));
    wakers.truncate(WAKERS);
    let waker = |(pid, count): (WakerKey, u64)| WakerRow {
        name: pid.map_or_else(|| "interrupt".to_owned(), |pid| source.task_name(pid)),
        pid,
        count,
    };
    WaitRow {
        pid,
        task: source.task_name(pid),
        place: place.map(|place| places.name(place)),
        callers: sum.stack.map_or_else(Vec::new, |stack| places.callers(stack)),
        count: sum.count,
        sum_ns: sum.sum_ns,
        max_ns: sum.max_ns,
        max_at_ns: sum.max_at_ns.saturating_sub(source.line.begin_ns),
        open: sum.open,
        wakers: wakers.into_iter().map(waker).collect(),
    }
}
