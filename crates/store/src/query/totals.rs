//! One value of each series over the whole interval, from aggregates as far as pages and tiles
//! have them. Where a source has its times for itself it is asked for aggregates; where several have
//! samples these are merged, so that of equal times the last recorded counts. What each region of time
//! has of a series is joined in time order.
//!
//! Series are worked off in ranges, several at once on the processors there are; memory is that
//! of the ranges under way.

use super::emit::{Emitter, Form};
use super::fold::Step;
use super::many::Texts;
use super::parallel::{in_order, workers};
use super::regions::{Region, regions};
use super::sources::{AnyPart, Sources, touches};
use super::{Aggregate, Every, Query, Target, Totals};
use crate::damage::Damage;
use crate::interval::Interval;
use crate::merge::{Gather, Portion, Wanted};
use crate::runs::{PageAt, RunFile, RunPart};
use crate::{Error, Result};
use baro_ondisk::Type;
use baro_runs::PageEntry;
use baro_sys::memory;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Pages of the largest run that are one range of series: few enough that what is known of it stays
/// in the processor's cache, enough that a worker seldom wakes another thread.
const RANGE_PAGES: usize = 16;
/// Up to so many series of a page are looked up one by one.
const SPARSE: usize = 4;
/// Samples merged at once.
const PORTION_SAMPLES: usize = 128 << 10;

/// What is asked.
#[derive(Clone, Copy)]
struct Asked<'a> {
    kind: &'a (dyn Fn(u32) -> Type + Sync),
    query: &'a Query,
    aggregate: Aggregate,
    /// Values in the form of [`Form::folded`], else all as floats.
    exact: bool,
}

/// The rows of a range of series, in columns.
#[derive(Debug, Default)]
pub(super) struct Rows {
    ids: Vec<u32>,
    /// Floats, or what [`Form::folded`] says.
    bits: Vec<u64>,
    /// Series whose value is larger than its type.
    too_large: u64,
}

impl Rows {
    pub(super) fn push(&mut self, id: u32, value: f64) {
        self.ids.push(id);
        self.bits.push(value.to_bits());
    }

    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.bits.clear();
        self.too_large = 0;
    }

    pub(super) fn totals(&self) -> Totals<'_> {
        Totals { ids: &self.ids, values: memory::as_floats(&self.bits) }
    }
}

/// What a worker hands over: rows, and what was damaged.
type Found = Result<(Rows, Vec<Damage>)>;

/// Takes rows as they come, by rising id.
pub(super) type Each<'a> = &'a mut dyn FnMut(&Totals<'_>) -> ControlFlow<()>;

/// Hands out one row of each of `ids` (sorted) that has samples, through [`Emitter`].
pub(super) fn rows(
    sources: &Sources,
    ids: &[u32],
    kind: &(dyn Fn(u32) -> Type + Sync),
    query: &Query,
    every: Every,
    out: &mut Emitter<'_>,
) -> Result<Vec<Damage>> {
    let (mut place, mut failed) = (0, None);
    let mut texts = Texts::new(sources, ids, kind, query);
    let mut flow = ControlFlow::Continue(());
    let mut hand_out = |rows: &Rows| {
        for (id, bits) in rows.ids.iter().zip(&rows.bits) {
            while ids.get(place).is_some_and(|other| other < id) {
                place += 1;
            }
            texts.hand_out(Some(*id), out).unwrap_or_else(|error| {
                failed = Some(error);
                ControlFlow::Break(())
            })?;
            let target = Target { id: *id, place };
            let form = Form::from(kind(*id)).folded(every.aggregate);
            out.one(target, form, query.interval.from_ns, *bits)?;
        }
        out.outlet.notes.sums_left_out += rows.too_large;
        ControlFlow::Continue(())
    };
    let mut each = |rows: &Rows| {
        flow = hand_out(rows);
        flow
    };
    let asked = Asked { kind, query, aggregate: every.aggregate, exact: true };
    let mut damage = work_off(sources, ids, asked, &mut each)?;
    if let Some(error) = failed {
        return Err(error);
    }
    if flow.is_continue() {
        let _ = texts.hand_out(None, out)?;
    }
    damage.extend(texts.into_damage());
    Ok(damage)
}

/// Hands out one row of each of `ids` (sorted) that has samples.
pub(super) fn series(
    sources: &Sources,
    ids: &[u32],
    kind: &(dyn Fn(u32) -> Type + Sync),
    query: &Query,
    aggregate: Aggregate,
    each: Each<'_>,
) -> Result<Vec<Damage>> {
    let asked = Asked { kind, query, aggregate, exact: false };
    work_off(sources, ids, asked, &mut |rows| each(&rows.totals()))
}

fn work_off(
    sources: &Sources,
    ids: &[u32],
    asked: Asked<'_>,
    each: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
) -> Result<Vec<Damage>> {
    let ranges = ranges(sources, ids);
    let (mut damage, mut failed) = (Vec::new(), None);
    let work = |work: &mut Work<'_>, at: usize, spare: Option<Found>| {
        let (mut rows, mut damage) = spare.and_then(Result::ok).unwrap_or_default();
        damage.clear();
        let range = ranges.get(at).copied().unwrap_or(&[]);
        work.range(range, &mut rows, &mut damage).map(|()| (rows, damage))
    };
    let take = |found: &mut Found| match found {
        Ok((rows, found)) => {
            damage.append(found);
            each(rows)
        }
        Err(_) => {
            failed = std::mem::replace(found, Ok(<_>::default())).err();
            ControlFlow::Break(())
        }
    };
    let all = in_order(
        ranges.len(),
        workers(),
        || Work::new(sources, asked),
        work,
        &mut Vec::new(),
        take,
    );
    match failed {
        Some(error) => Err(error),
        None if !all => Err(Error::Thread { name: "aggregating" }),
        None => Ok(damage),
    }
}

/// Cuts the ids at the pages of the run with most of them.
fn ranges<'a>(sources: &Sources, ids: &'a [u32]) -> Vec<&'a [u32]> {
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

/// Works off ranges; its memory is used again.
struct Work<'a> {
    sources: &'a Sources,
    asked: Asked<'a>,
    reader: PageAt,
    /// Of each region its earliest time and the steps, sorted by series.
    found: Vec<(i64, Vec<(u32, Step)>)>,
    /// Times of each run and of the log.
    spans: Vec<Option<(i64, i64)>>,
}

impl<'a> Work<'a> {
    fn new(sources: &'a Sources, asked: Asked<'a>) -> Self {
        Work { sources, asked, reader: PageAt::new(), found: Vec::new(), spans: Vec::new() }
    }

    /// The rows of a range of ids.
    fn range(&mut self, ids: &[u32], rows: &mut Rows, damage: &mut Vec<Damage>) -> Result<()> {
        rows.clear();
        let (sources, asked) = (self.sources, self.asked);
        let mut used = 0;
        let mut next = |found: &mut Vec<(i64, Vec<(u32, Step)>)>, time_ns| {
            if found.len() == used {
                found.push((0, Vec::new()));
            }
            used += 1;
            if let Some((start_ns, steps)) = found.get_mut(used - 1) {
                *start_ns = time_ns;
                steps.clear();
            }
            used - 1
        };
        self.spans.clear();
        self.spans.extend(sources.runs.iter().map(|run| span(run, ids, asked.query.interval)));
        let log = sources.parts.iter().map(|part| part.times_ns());
        self.spans.push(log.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))));
        for Region { interval, sources: of } in regions(&self.spans, asked.query.interval) {
            let place = next(&mut self.found, interval.from_ns);
            let Some((_, steps)) = self.found.get_mut(place) else { continue };
            match of.as_slice() {
                [run] if *run < sources.runs.len() => {
                    let Some(run) = sources.runs.get(*run) else { continue };
                    of_run(run, ids, interval, asked, &mut self.reader, steps, damage)?;
                }
                several => {
                    let parts = parts(sources, several, ids, interval);
                    damage.extend(of_merged(parts, ids, interval, asked, steps)?);
                }
            }
        }
        let found = self.found.get_mut(..used).unwrap_or(&mut []);
        let mut row = |(id, step): &(u32, Step)| {
            if !asked.exact {
                rows.push(*id, step.value((asked.kind)(*id).into(), asked.aggregate));
                return;
            }
            match step.bits((asked.kind)(*id).into(), asked.aggregate) {
                Some(bits) => {
                    rows.ids.push(*id);
                    rows.bits.push(bits);
                }
                None => rows.too_large += 1,
            }
        };
        match found.iter().filter(|source| !source.1.is_empty()).count() {
            0 | 1 => found.iter().flat_map(|source| &source.1).for_each(row),
            // In time order, as joining demands.
            _ => {
                found.sort_by_key(|source| source.0);
                let steps = found.iter_mut().map(|source| std::mem::take(&mut source.1));
                steps
                    .reduce(|a, b| join(a, b, asked.aggregate))
                    .unwrap_or_default()
                    .iter()
                    .for_each(&mut row);
            }
        }
        Ok(())
    }
}

/// Joins two lists sorted by series; the second is later.
fn join(
    first: Vec<(u32, Step)>,
    later: Vec<(u32, Step)>,
    aggregate: Aggregate,
) -> Vec<(u32, Step)> {
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
            Some(last) => last.1.join(&step, aggregate),
            None => joined.push((id, step)),
        }
    }
    joined.extend(first);
    joined
}

fn add(to: &mut Vec<(u32, Step)>, id: u32, step: &Step, aggregate: Aggregate) {
    if step.count == 0 {
        return;
    }
    match to.last_mut().filter(|last| last.0 == id) {
        Some(last) => last.1.join(step, aggregate),
        None => to.push((id, *step)),
    }
}

/// Pages of a run that can hold one of the ids, and are of numbers.
fn pages<'a>(run: &'a RunFile, ids: &[u32]) -> (usize, &'a [PageEntry]) {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return (0, &[]) };
    let range = run.index.find(*first).start..run.index.find(*last).end;
    (range.start, run.index.pages().get(range).unwrap_or(&[]))
}

/// Earliest and latest time of what a run has of the ids near the interval.
fn span(run: &RunFile, ids: &[u32], interval: Interval) -> Option<(i64, i64)> {
    let times = |page: &PageEntry| (page.time_min_ns, page.time_max_ns);
    let near = |page: &&PageEntry| page.kind != Type::Text && touches(times(page), interval);
    let near = pages(run, ids).1.iter().filter(near).map(times);
    near.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// What of the sources at these places is merged, the oldest first.
fn parts(sources: &Sources, places: &[usize], ids: &[u32], interval: Interval) -> Vec<AnyPart> {
    let mut parts = Vec::new();
    for place in places {
        match sources.runs.get(*place) {
            Some(run) => {
                let (start, pages) = pages(run, ids);
                let part = RunPart::within(Arc::clone(run), start..start + pages.len(), interval);
                parts.push(AnyPart::Run(Box::new(part)));
            }
            None => {
                let log = sources.parts.iter().filter(|p| touches(p.times_ns(), interval));
                parts.extend(log.map(|part| AnyPart::Log(part.share())));
            }
        }
    }
    parts
}

fn of_run(
    run: &RunFile,
    ids: &[u32],
    interval: Interval,
    asked: Asked<'_>,
    reader: &mut PageAt,
    steps: &mut Vec<(u32, Step)>,
    damage: &mut Vec<Damage>,
) -> Result<()> {
    let aggregate = asked.aggregate;
    let Interval { from_ns, to_ns } = interval;
    for entry in pages(run, ids).1 {
        let times = (entry.time_min_ns, entry.time_max_ns);
        if entry.kind == Type::Text || !touches(times, interval) {
            continue;
        }
        let start = ids.partition_point(|id| *id < entry.first_series);
        let end = ids.partition_point(|id| *id <= entry.last_series);
        let here = ids.get(start..end).unwrap_or(&[]);
        let inside =
            entry.time_min_ns >= from_ns && (entry.time_max_ns < to_ns || to_ns == i64::MAX);
        if let (Some(known), [id]) = (run.aggregate(entry).filter(|_| inside), here) {
            // The page is not read at all.
            add(steps, *id, &Step::known(known, aggregate), aggregate);
            continue;
        }
        let before = steps.len();
        let done = if here.is_empty() {
            continue;
        } else if here.len() <= SPARSE {
            reader.with(run, entry, |page| {
                for id in here {
                    if let Some(found) = page.aggregate(*id, from_ns, to_ns)? {
                        add(steps, *id, &Step::known(&found, aggregate), aggregate);
                    }
                }
                Ok(())
            })?
        } else {
            let mut wanted = here.iter().copied().peekable();
            let between = entry.last_series.saturating_sub(entry.first_series);
            let all = here.len() == between as usize + 1;
            reader.with(run, entry, |page| {
                page.aggregate_all(from_ns, to_ns, |id, found| {
                    while !all && wanted.next_if(|next| *next < id).is_some() {}
                    if all || wanted.peek() == Some(&id) {
                        add(steps, id, &Step::of(found, aggregate), aggregate);
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
    Ok(())
}

fn of_merged(
    parts: Vec<AnyPart>,
    ids: &[u32],
    interval: Interval,
    asked: Asked<'_>,
    steps: &mut Vec<(u32, Step)>,
) -> Result<Vec<Damage>> {
    let wanted = Wanted { series: Some(ids), interval };
    let mut gather = Gather::new(parts, wanted, PORTION_SAMPLES);
    let mut portion = Portion::default();
    while gather.next(&mut portion)? {
        for (id, range) in portion.groups() {
            let (form, mut step) = ((asked.kind)(id).into(), Step::EMPTY);
            for bits in portion.samples().bits.get(range).unwrap_or(&[]) {
                step.add_bits(form, *bits, asked.aggregate);
            }
            add(steps, id, &step, asked.aggregate);
        }
    }
    Ok(gather.into_parts().flat_map(AnyPart::into_damage).collect())
}
