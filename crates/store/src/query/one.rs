//! One series from all that has it: of each run only the pages that can hold it are read, and of a
//! page only the tiles.

mod texts;

use super::Query;
use super::emit::Emitter;
use super::fold::Fold;
use super::sources::{Sources, touches};
use super::stretch::{Stretch, stretches};
use crate::Result;
use crate::columns::Columns;
use crate::damage::Damage;
use crate::interval::Interval;
use crate::merge::Part;
use crate::runs::PageAt;
use baro_ondisk::{SampleColumns, Type};
use std::ops::ControlFlow;

/// Samples of a series that are held at once.
const SLICE_SAMPLES: u64 = 256 << 10;

/// Reads series one by one; its memory is used again.
#[derive(Debug)]
pub(super) struct One<'a> {
    sources: &'a Sources,
    memory: Memory,
    pub(super) damage: Vec<Damage>,
}

/// Buffers of [`One`], kept from query to query: memory that is new each time costs more than what
/// a small query does with it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    page: PageAt,
    scratch: SampleColumns,
    strip: Columns,
    times_ns: Vec<i64>,
    bits: Vec<u64>,
    rows: Vec<(i64, u64)>,
}

/// Samples above which buffers are not worth being kept.
const KEPT_SAMPLES: usize = 128 << 10;

impl Memory {
    /// Whether it is small enough to be kept.
    pub(crate) fn is_small(&self) -> bool {
        self.times_ns.capacity() <= KEPT_SAMPLES && self.rows.capacity() <= KEPT_SAMPLES
    }
}

impl<'a> One<'a> {
    pub(super) fn new(sources: &'a Sources, memory: Memory) -> Self {
        One { sources, memory, damage: Vec::new() }
    }

    /// The buffers, for the next query.
    pub(super) fn take_memory(&mut self) -> Memory {
        std::mem::take(&mut self.memory)
    }

    /// Puts a series' samples into `times_ns` and `bits`, sorted, each time once; false, and nothing
    /// is read, if they may be more than `samples_max`.
    pub(super) fn whole(
        &mut self,
        series: u32,
        interval: Interval,
        samples_max: u64,
        (times_ns, bits): (&mut Vec<i64>, &mut Vec<u64>),
    ) -> Result<bool> {
        if total(&self.own(series, interval)) > samples_max {
            return Ok(false);
        }
        // Read where the caller wants them.
        std::mem::swap(&mut self.memory.times_ns, times_ns);
        std::mem::swap(&mut self.memory.bits, bits);
        let read = self.slice(series, interval);
        std::mem::swap(&mut self.memory.times_ns, times_ns);
        std::mem::swap(&mut self.memory.bits, bits);
        read.map(|()| true)
    }

    /// Hands out one series.
    pub(super) fn series(
        &mut self,
        series: u32,
        kind: Type,
        query: &Query,
        fold: Option<&mut Fold>,
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        if kind == Type::Text {
            return self.texts(series, query, out);
        }
        let mut fold = fold;
        if let Some(fold) = fold.as_deref_mut().filter(|fold| fold.joins()) {
            return self.steps(series, kind, query.interval, fold, out);
        }
        let cuts = self.cuts(series, query.interval);
        let newest_first = query.last.filter(|_| fold.is_none() && cuts.len() > 2);
        if let Some(last) = newest_first {
            // From the newest slice back, until there are enough.
            let mut first = cuts.len() - 1;
            let mut rows = 0;
            while first > 0 && rows < last {
                first -= 1;
                self.slice(series, slice(&cuts, first))?;
                rows += self.memory.times_ns.len();
            }
            // What was read last is the first that goes out.
            let read = first + 1 < cuts.len();
            if read && out.rows(&self.memory.times_ns, &self.memory.bits).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let cuts = cuts.get(first + 1..).unwrap_or(&[]);
            if self.slices(series, kind, cuts, None, out)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            return Ok(out.end());
        }
        if self.slices(series, kind, &cuts, fold.as_deref_mut(), out)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if let Some(fold) = fold
            && fold.end(out)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        Ok(out.end())
    }

    /// Folds with the help of aggregates: a page of this series alone whose times nothing else
    /// touches is asked for its steps; the rest is read.
    fn steps(
        &mut self,
        series: u32,
        kind: Type,
        interval: Interval,
        fold: &mut Fold,
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        for stretch in stretches(self.sources, series, interval) {
            let Stretch { interval, page } = stretch;
            let whole = page.and_then(|(run, page)| {
                let run = self.sources.runs.get(run)?;
                Some((run, run.index.pages().get(page)?))
            });
            let flow = match whole.filter(|(_, entry)| fold.worth(entry)) {
                Some((run, entry)) => {
                    let found = fold.page(
                        (run, entry),
                        (series, kind.into()),
                        interval,
                        &mut self.memory.page,
                        out,
                    )?;
                    match found {
                        Ok(flow) => flow,
                        Err(damage) => {
                            self.damage.push(damage);
                            ControlFlow::Continue(())
                        }
                    }
                }
                None => {
                    let cuts = self.cuts(series, interval);
                    self.slices(series, kind, &cuts, Some(fold), out)?
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        if fold.end(out)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        Ok(out.end())
    }

    fn slices(
        &mut self,
        series: u32,
        kind: Type,
        cuts: &[i64],
        mut fold: Option<&mut Fold>,
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        for at in 0..cuts.len().saturating_sub(1) {
            self.slice(series, slice(cuts, at))?;
            let flow = match &mut fold {
                None => out.rows(&self.memory.times_ns, &self.memory.bits),
                Some(fold) => {
                    let mut flow = ControlFlow::Continue(());
                    for (time_ns, bits) in self.memory.times_ns.iter().zip(&self.memory.bits) {
                        flow = fold.add(*time_ns, (kind.into(), *bits), out)?;
                        if flow.is_break() {
                            break;
                        }
                    }
                    flow
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Start and samples of all that touches the interval and holds this series alone: of several
    /// series in a page or strip each has few.
    fn own(&self, series: u32, interval: Interval) -> Vec<(i64, u32)> {
        let mut own = Vec::new();
        for run in &self.sources.runs {
            for page in run.index.pages().get(run.index.find(series)).unwrap_or(&[]) {
                let times = (page.time_min_ns, page.time_max_ns);
                if page.first_series == page.last_series && touches(times, interval) {
                    own.push((page.time_min_ns, page.samples));
                }
            }
        }
        for part in &self.sources.parts {
            for piece in part.find(series).map(|at| part.piece(at)) {
                let times = (piece.time_min_ns, piece.time_max_ns);
                if piece.first_series == piece.last_series && touches(times, interval) {
                    own.push((piece.time_min_ns, piece.samples));
                }
            }
        }
        own
    }

    /// Cuts the interval so that each slice has a bounded number of samples: start of the first
    /// slice, of the next ones, and the end.
    fn cuts(&self, series: u32, interval: Interval) -> Vec<i64> {
        let mut starts = self.own(series, interval);
        let total = total(&starts);
        let mut cuts = vec![interval.from_ns];
        if total > SLICE_SAMPLES {
            starts.sort_unstable();
            let mut samples = 0;
            for (start_ns, count) in starts {
                let last = cuts.last().copied().unwrap_or(i64::MIN);
                // What ends at the last time there is has it within.
                if samples >= SLICE_SAMPLES && start_ns > last && start_ns < i64::MAX {
                    cuts.push(start_ns);
                    samples = 0;
                }
                samples += u64::from(count);
            }
        }
        cuts.push(interval.to_ns);
        cuts
    }

    /// Reads the series' samples of a slice, sorted, each time once.
    fn slice(&mut self, series: u32, interval: Interval) -> Result<()> {
        let Interval { from_ns, to_ns } = interval;
        self.memory.times_ns.clear();
        self.memory.bits.clear();
        for run in &self.sources.runs {
            let pages = run.index.pages().get(run.index.find(series)).unwrap_or(&[]);
            for entry in pages.iter().filter(|page| page.kind != Type::Text) {
                if !touches((entry.time_min_ns, entry.time_max_ns), interval) {
                    continue;
                }
                let before = self.memory.times_ns.len();
                let (times_ns, bits) = (&mut self.memory.times_ns, &mut self.memory.bits);
                let done = self
                    .memory
                    .page
                    .with(run, entry, |page| page.read(series, from_ns, to_ns, times_ns, bits))?;
                if let Err(damage) = done {
                    self.memory.times_ns.truncate(before);
                    self.memory.bits.truncate(before);
                    self.damage.push(damage);
                }
            }
        }
        for at in 0..self.sources.parts.len() {
            let Some(part) = self.sources.parts.get(at) else { continue };
            let touched = |at: &usize| {
                let piece = part.piece(*at);
                touches((piece.time_min_ns, piece.time_max_ns), interval)
            };
            let mut pieces = part.find(series).filter(touched).peekable();
            if pieces.peek().is_none() {
                continue;
            }
            let mut part = part.share();
            for piece in pieces {
                self.memory.strip.clear();
                part.decode(piece, &mut self.memory.scratch, &mut self.memory.strip)?;
                let Columns { series: ids, times_ns, bits } = &self.memory.strip;
                let start = ids.partition_point(|id| *id < series);
                let end = ids.partition_point(|id| *id <= series);
                let times = times_ns.get(start..end).unwrap_or(&[]);
                let first = start + times.partition_point(|time_ns| *time_ns < from_ns);
                let open = to_ns == i64::MAX;
                let last = start + times.partition_point(|time_ns| open || *time_ns < to_ns);
                let last = last.max(first);
                self.memory.times_ns.extend_from_slice(times_ns.get(first..last).unwrap_or(&[]));
                self.memory.bits.extend_from_slice(bits.get(first..last).unwrap_or(&[]));
            }
            self.damage.append(&mut part.damage);
        }
        self.sort();
        Ok(())
    }

    /// By time, the last of equals.
    fn sort(&mut self) {
        if self.memory.times_ns.is_sorted_by(|a, b| a < b) {
            return;
        }
        self.memory.rows.clear();
        self.memory
            .rows
            .extend(self.memory.times_ns.iter().copied().zip(self.memory.bits.iter().copied()));
        self.memory.rows.sort_by_key(|row| row.0);
        self.memory.times_ns.clear();
        self.memory.bits.clear();
        for (at, row) in self.memory.rows.iter().enumerate() {
            if self.memory.rows.get(at + 1).is_none_or(|next| next.0 != row.0) {
                self.memory.times_ns.push(row.0);
                self.memory.bits.push(row.1);
            }
        }
    }
}

fn total(pieces: &[(i64, u32)]) -> u64 {
    pieces.iter().map(|piece| u64::from(piece.1)).sum()
}

fn slice(cuts: &[i64], at: usize) -> Interval {
    let cut = |at: usize| cuts.get(at).copied().unwrap_or(i64::MAX);
    Interval { from_ns: cut(at), to_ns: cut(at + 1) }
}
