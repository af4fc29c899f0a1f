//! One value of each series over the whole interval, from aggregates as far as pages and tiles
//! have them. Sources must lie apart in time; what each knows of a series is joined in time order.
//!
//! Series are worked off in ranges, several at once on the processors there are; memory is that
//! of the ranges under way.

use super::emit::{Emitter, number};
use super::fold::Step;
use super::sources::{AnyPart, Sources, touches};
use super::{Every, Query, Target};
use crate::damage::Damage;
use crate::merge::{Gather, Portion, Wanted};
use crate::runs::{PageAt, RunFile};
use crate::{Error, Result};
use baro_ondisk::Type;
use baro_sys::schedule;
use baro_sys::storage::StorageFile;
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;

/// Pages of the largest run that are one range of series.
const RANGE_PAGES: usize = 32;
/// Up to so many series of a page are looked up one by one.
const SPARSE: usize = 4;
/// Samples merged at once.
const PORTION_SAMPLES: usize = 128 << 10;

type Found = (Vec<(u32, Step)>, Vec<Damage>);

/// Hands out one row of each of `ids` (sorted) that has samples.
pub(super) fn series<F: StorageFile>(
    sources: &Sources<F>,
    ids: &[u32],
    kind: &(dyn Fn(u32) -> Type + Sync),
    query: &Query,
    every: Every,
    out: &mut Emitter<'_>,
) -> Result<Vec<Damage>> {
    let ranges = ranges(sources, ids);
    let work = |range: &[u32]| totals(sources, range, kind, query);
    let mut totals = Totals { ids, place: 0, kind, every, start_ns: query.interval.from_ns, out };
    let mut damage = Vec::new();
    let workers = schedule::allowed_cpus().len().clamp(1, 16).min(ranges.len());
    if workers <= 1 {
        for range in ranges {
            let (steps, found) = work(range)?;
            damage.extend(found);
            if totals.hand_out(&steps).is_break() {
                break;
            }
        }
        return Ok(damage);
    }
    // Each worker takes every so many-th range, so that they come back in order.
    std::thread::scope(|scope| {
        let (work, ranges) = (&work, &ranges);
        let start = |first: usize| {
            let (done, found) = sync_channel(AHEAD);
            scope.spawn(move || {
                for range in ranges.iter().skip(first).step_by(workers) {
                    // Whoever asked may have had enough.
                    if done.send(work(range)).is_err() {
                        return;
                    }
                }
            });
            found
        };
        let queues: Vec<_> = (0..workers).map(start).collect();
        for (_, queue) in (0..ranges.len()).zip(queues.iter().cycle()) {
            let ended = |_| Error::Thread { name: "aggregating" };
            let (steps, found) = queue.recv().map_err(ended)??;
            damage.extend(found);
            if totals.hand_out(&steps).is_break() {
                break;
            }
        }
        Ok(damage)
    })
}

/// Ranges that a worker may be ahead.
const AHEAD: usize = 2;

/// What has been handed out.
struct Totals<'a, 'e> {
    ids: &'a [u32],
    place: usize,
    kind: &'a (dyn Fn(u32) -> Type + Sync),
    every: Every,
    start_ns: i64,
    out: &'a mut Emitter<'e>,
}

impl Totals<'_, '_> {
    fn hand_out(&mut self, steps: &[(u32, Step)]) -> ControlFlow<()> {
        for (id, step) in steps {
            while self.ids.get(self.place).is_some_and(|other| other < id) {
                self.place += 1;
            }
            let target = Target { id: *id, place: self.place };
            let value = step.value(self.every.aggregate);
            self.out.one(target, (self.kind)(*id).into(), self.start_ns, value, step.count)?;
        }
        ControlFlow::Continue(())
    }
}

/// Cuts the ids at the pages of the run with most of them.
fn ranges<'a, F: StorageFile>(sources: &Sources<F>, ids: &'a [u32]) -> Vec<&'a [u32]> {
    let largest = sources.runs.iter().max_by_key(|run| run.index.pages().len());
    let pages = largest.map_or(&[][..], |run| run.index.pages());
    let mut ranges = Vec::new();
    let mut rest = ids;
    for page in pages.iter().step_by(RANGE_PAGES).skip(1) {
        let (range, others) = rest.split_at(rest.partition_point(|id| *id < page.first_series));
        if !range.is_empty() {
            ranges.push(range);
        }
        rest = others;
    }
    if !rest.is_empty() {
        ranges.push(rest);
    }
    ranges
}

/// The totals of a range of ids.
fn totals<F: StorageFile>(
    sources: &Sources<F>,
    ids: &[u32],
    kind: &(dyn Fn(u32) -> Type + Sync),
    query: &Query,
) -> Result<Found> {
    let mut damage = Vec::new();
    // In time order, as joining demands.
    let mut found: Vec<(i64, Vec<(u32, Step)>)> = Vec::new();
    for run in &sources.runs {
        found.push((run.entry.time_min_ns, of_run(run, ids, query, &mut damage)?));
    }
    let start_ns = sources.parts.iter().map(|part| part.times_ns().0).min();
    if let Some(start_ns) = start_ns {
        let parts = sources.parts.iter().map(|part| AnyPart::<F>::Log(part.share())).collect();
        found.push((start_ns, of_log(parts, ids, kind, query)?));
    }
    found.sort_by_key(|source| source.0);
    let joined = found.into_iter().map(|source| source.1).reduce(join).unwrap_or_default();
    Ok((joined, damage))
}

/// Joins two lists sorted by series; the second is later.
fn join(first: Vec<(u32, Step)>, later: Vec<(u32, Step)>) -> Vec<(u32, Step)> {
    if first.is_empty() {
        return later;
    }
    let mut joined: Vec<(u32, Step)> = Vec::with_capacity(first.len().max(later.len()));
    let mut first = first.into_iter().peekable();
    for (id, step) in later {
        while let Some(before) = first.next_if(|before| before.0 <= id) {
            joined.push(before);
        }
        match joined.last_mut().filter(|last| last.0 == id) {
            Some(last) => last.1.join(&step),
            None => joined.push((id, step)),
        }
    }
    joined.extend(first);
    joined
}

fn add(to: &mut Vec<(u32, Step)>, id: u32, step: &Step) {
    if step.count == 0 {
        return;
    }
    match to.last_mut().filter(|last| last.0 == id) {
        Some(last) => last.1.join(step),
        None => to.push((id, *step)),
    }
}

fn of_run<F: StorageFile>(
    run: &RunFile<F>,
    ids: &[u32],
    query: &Query,
    damage: &mut Vec<Damage>,
) -> Result<Vec<(u32, Step)>> {
    let (mut steps, mut reader) = (Vec::with_capacity(ids.len()), PageAt::new());
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(steps) };
    let (from_ns, to_ns) = (query.interval.from_ns, query.interval.to_ns);
    let range = run.index.find(*first).start..run.index.find(*last).end;
    for entry in run.index.pages().get(range).unwrap_or(&[]) {
        let times = (entry.time_min_ns, entry.time_max_ns);
        if entry.kind == Type::Text || !touches(times, query.interval) {
            continue;
        }
        let start = ids.partition_point(|id| *id < entry.first_series);
        let end = ids.partition_point(|id| *id <= entry.last_series);
        let here = ids.get(start..end).unwrap_or(&[]);
        let inside =
            entry.time_min_ns >= from_ns && (entry.time_max_ns < to_ns || to_ns == i64::MAX);
        if let (Some(aggregate), [id]) = (entry.aggregate.as_ref().filter(|_| inside), here) {
            // The page is not read at all.
            add(&mut steps, *id, &Step::from(aggregate));
            continue;
        }
        let before = steps.len();
        let done = if here.is_empty() {
            continue;
        } else if here.len() <= SPARSE {
            reader.with(run, entry, |page| {
                for id in here {
                    if let Some(found) = page.aggregate(*id, from_ns, to_ns)? {
                        add(&mut steps, *id, &Step::from(&found));
                    }
                }
                Ok(())
            })?
        } else {
            let mut wanted = here.iter().copied().peekable();
            reader.with(run, entry, |page| {
                page.aggregate_all(from_ns, to_ns, |id, found| {
                    while wanted.next_if(|next| *next < id).is_some() {}
                    if wanted.peek() == Some(&id) {
                        add(&mut steps, id, &Step::from(found));
                    }
                })
            })?
        };
        if let Err(found) = done {
            // The page is left out whole; a series that began before it keeps what it had.
            steps.truncate(before);
            damage.push(found);
        }
    }
    Ok(steps)
}

fn of_log<F: StorageFile>(
    parts: Vec<AnyPart<F>>,
    ids: &[u32],
    kind: &(dyn Fn(u32) -> Type + Sync),
    query: &Query,
) -> Result<Vec<(u32, Step)>> {
    let wanted = Wanted { series: Some(ids), interval: query.interval };
    let mut gather = Gather::new(parts, wanted, PORTION_SAMPLES);
    let (mut portion, mut steps) = (Portion::default(), Vec::new());
    while gather.next(&mut portion)? {
        for (id, range) in portion.groups() {
            let (form, mut step) = (kind(id).into(), Step::EMPTY);
            for bits in portion.samples().bits.get(range).unwrap_or(&[]) {
                step.add(number(form, *bits));
            }
            add(&mut steps, id, &step);
        }
    }
    Ok(steps)
}
