//! Texts of one series: slice by slice in the order of time, and for the last rows from the end back.
//!
//! A slice holds each text of a page once, however many of its samples have it: a page of a megabyte
//! may stand for gigabytes of rows. Those of the log are in memory already.
//!
//! Invariant: memory is that of a slice, whatever is asked for; a page outside the interval is not
//! read, and for the last rows no more pages than these rows need. Held by `tests/texts.rs`.

use super::{One, slice};
use crate::query::emit::Emitter;
use crate::query::sources::{Sources, touches};
use crate::query::steps::Grid;
use crate::query::{Aggregate, Query};
use crate::unsettled::TextSample;
use crate::{Interval, Result, ValueType};
use baro_ondisk::Type;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

/// Bytes that a slice holds, and those of the first one, which may have all that is wanted.
const SLICE_BYTES: u64 = 4 << 20;
const FIRST_BYTES: u64 = 64 << 10;
/// Texts of the log that are cut as one piece.
const PIECE_TEXTS: usize = 256;

/// A sample, and where its text lies.
#[derive(Clone, Debug)]
struct Row {
    time_ns: i64,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Page(Range<usize>),
    Log(usize),
}

/// What can be read of a series, and the slice that was read last.
struct Said<'a> {
    series: u32,
    /// Texts of the log in the interval, by time, each time once.
    recent: Vec<&'a TextSample>,
    cuts: Vec<i64>,
    rows: Vec<Row>,
    letters: String,
}

impl<'a> Said<'a> {
    fn new(sources: &'a Sources, series: u32, query: &Query) -> Self {
        let interval = query.interval;
        let of = sources.texts.iter().map(AsRef::as_ref);
        let of = of.filter(|text| text.series == series && interval.holds(text.time_ns));
        let mut recent: Vec<&TextSample> = of.collect();
        // Of several of one time the last that was recorded.
        recent.reverse();
        recent.sort_by_key(|text| text.time_ns);
        recent.dedup_by_key(|text| text.time_ns);
        let mut pieces: Vec<(i64, u64)> = Vec::new();
        for run in &sources.runs {
            let pages = run.index.pages().get(run.index.find(series)).unwrap_or(&[]);
            let of_text = pages.iter().filter(|page| page.kind == Type::Text);
            let near =
                of_text.filter(|page| touches((page.time_min_ns, page.time_max_ns), interval));
            let bytes = |samples| u64::from(samples) * size_of::<Row>() as u64;
            pieces.extend(
                near.map(|page| (page.time_min_ns, u64::from(page.bytes) + bytes(page.samples))),
            );
        }
        pieces.extend(recent.chunks(PIECE_TEXTS).filter_map(|texts| {
            let first = texts.first()?;
            Some((first.time_ns, size_of_val(texts) as u64))
        }));
        pieces.sort_unstable();
        let cuts = cuts(&pieces, interval, query.last.is_some());
        Said { series, recent, cuts, rows: Vec::new(), letters: String::new() }
    }

    fn slices(&self) -> usize {
        self.cuts.len().saturating_sub(1)
    }

    fn text(&self, row: &Row) -> &str {
        match &row.place {
            Place::Page(range) => self.letters.get(range.clone()).unwrap_or(""),
            Place::Log(at) => self.recent.get(*at).map_or("", |text| &text.text),
        }
    }
}

/// Cuts the interval so that each slice has a bounded number of bytes: start of the first slice, of
/// the next ones, and the end. The first that is read, which is the last if they are read `backwards`,
/// has few, and those behind it more and more.
fn cuts(pieces: &[(i64, u64)], interval: Interval, backwards: bool) -> Vec<i64> {
    let (mut cuts, mut bytes, mut most) = (Vec::new(), 0, FIRST_BYTES);
    let mut full = |bytes: &mut u64| {
        let full = *bytes >= most;
        if full {
            *bytes = 0;
            most = (most * 2).min(SLICE_BYTES);
        }
        full
    };
    // What ends at the last time there is has it within.
    let inside = |start_ns: i64| start_ns > interval.from_ns && start_ns < i64::MAX;
    if backwards {
        for (start_ns, of) in pieces.iter().rev() {
            bytes += of;
            let new = cuts.last().is_none_or(|last| last > start_ns);
            if new && inside(*start_ns) && full(&mut bytes) {
                cuts.push(*start_ns);
            }
        }
        cuts.reverse();
    } else {
        for (start_ns, of) in pieces {
            let new = cuts.last().is_none_or(|last| last < start_ns);
            if new && inside(*start_ns) && full(&mut bytes) {
                cuts.push(*start_ns);
            }
            bytes += of;
        }
    }
    cuts.insert(0, interval.from_ns);
    cuts.push(interval.to_ns);
    cuts
}

/// Samples of a step.
#[derive(Debug, Default)]
struct Step {
    start_ns: i64,
    count: u64,
    text: String,
}

impl One<'_> {
    pub(super) fn texts(
        &mut self,
        series: u32,
        query: &Query,
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        // They are counted, and have a first and a last; other aggregates have nothing to say of them.
        let every = query.every.filter(|every| every.aggregate.result(ValueType::Text).is_some());
        if query.every.is_some() && (every.is_none() || out.floats) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut said = Said::new(self.sources, series, query);
        let flow = match every.map(|every| every.aggregate) {
            None => self.rows(&mut said, query.last, out)?,
            Some(Aggregate::Count) => {
                self.text_steps(&mut said, query, Aggregate::Count, |step| {
                    out.step(step.start_ns, Some(step.count))
                })?
            }
            Some(aggregate) => {
                // Counted before, so that those that are not wanted need not be held.
                let mut skip = 0_usize;
                if let Some(last) = query.last {
                    let count = |_: &Step| {
                        skip += 1;
                        ControlFlow::Continue(())
                    };
                    let _ = self.text_steps(&mut said, query, Aggregate::Count, count)?;
                    skip = skip.saturating_sub(last);
                }
                self.text_steps(&mut said, query, aggregate, |step| {
                    if skip > 0 {
                        skip -= 1;
                        return ControlFlow::Continue(());
                    }
                    out.text(step.start_ns, &step.text)
                })?
            }
        };
        if flow.is_break() {
            return Ok(flow);
        }
        Ok(out.end())
    }

    fn rows(
        &mut self,
        said: &mut Said<'_>,
        last: Option<usize>,
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        let (mut first, mut skip, mut read) = (0, 0, None);
        if let Some(last) = last {
            // From the newest slice back, until there are enough.
            let mut rows = 0;
            first = said.slices();
            while first > 0 && rows < last {
                first -= 1;
                self.said(said, first)?;
                rows += said.rows.len();
                read = Some(first);
            }
            skip = rows.saturating_sub(last);
        }
        for at in first..said.slices() {
            // What was read last is the first that goes out.
            if read != Some(at) {
                self.said(said, at)?;
            }
            for row in said.rows.iter().skip(std::mem::take(&mut skip)) {
                if out.text(row.time_ns, said.text(row)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn text_steps(
        &mut self,
        said: &mut Said<'_>,
        query: &Query,
        aggregate: Aggregate,
        mut each: impl FnMut(&Step) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let (mut grid, mut step) = (Grid::of(query), Step::default());
        for at in 0..said.slices() {
            self.said(said, at)?;
            for row in &said.rows {
                let start_ns = grid.start_ns(row.time_ns);
                let new = step.count == 0 || start_ns != step.start_ns;
                if new && step.count > 0 && each(&step).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                if new {
                    (step.start_ns, step.count) = (start_ns, 0);
                }
                step.count += 1;
                if aggregate == Aggregate::Last || (new && aggregate == Aggregate::First) {
                    step.text.clear();
                    step.text.push_str(said.text(row));
                }
            }
        }
        Ok(if step.count > 0 { each(&step) } else { ControlFlow::Continue(()) })
    }

    /// Reads a slice, sorted, each time once.
    fn said(&mut self, said: &mut Said<'_>, at: usize) -> Result<()> {
        let interval = slice(&said.cuts, at);
        let Interval { from_ns, to_ns } = interval;
        said.rows.clear();
        said.letters.clear();
        let (rows, letters) = (&mut said.rows, &mut said.letters);
        let mut met: HashMap<(usize, usize), usize> = HashMap::new();
        for run in &self.sources.runs {
            let pages = run.index.pages().get(run.index.find(said.series)).unwrap_or(&[]);
            for entry in pages.iter().filter(|page| page.kind == Type::Text) {
                if !touches((entry.time_min_ns, entry.time_max_ns), interval) {
                    continue;
                }
                let before = (rows.len(), letters.len());
                met.clear();
                let done = self.memory.page.with(run, entry, |page| {
                    page.read_text(said.series, from_ns, to_ns, |time_ns, text| {
                        // Where it lies in the page says which one it is.
                        let key = (text.as_ptr() as usize, text.len());
                        let start = *met.entry(key).or_insert_with(|| {
                            letters.push_str(text);
                            letters.len() - text.len()
                        });
                        let place = Place::Page(start..start + text.len());
                        rows.push(Row { time_ns, place });
                    })
                })?;
                if let Err(damage) = done {
                    rows.truncate(before.0);
                    letters.truncate(before.1);
                    self.damage.push(damage);
                }
            }
        }
        let first = said.recent.partition_point(|text| text.time_ns < from_ns);
        let recent = said.recent.iter().enumerate().skip(first);
        let recent = recent.take_while(|(_, text)| interval.holds(text.time_ns));
        rows.extend(recent.map(|(at, text)| Row { time_ns: text.time_ns, place: Place::Log(at) }));
        if !rows.is_sorted_by(|a, b| a.time_ns < b.time_ns) {
            // Of several of one time the last.
            rows.reverse();
            rows.sort_by_key(|row| row.time_ns);
            rows.dedup_by_key(|row| row.time_ns);
        }
        Ok(())
    }
}
