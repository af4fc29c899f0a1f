//! Samples of runs and log together in time order, the one way by which everything that is not a
//! query reads them. Runs are sorted by series; so time is cut into slices that fit into memory, and
//! the samples of each are sorted once more.
//!
//! What a query hands out is what comes here, whatever has been settled and recycled: each series and
//! time once, of several the one recorded last. At one time they come in the order of declaration.
//!
//! Invariant: memory is bounded by [`Bounds`], but for a moment that has more samples than that. Held
//! by `tests/timeline.rs`.

use crate::columns::Columns;
use crate::interval::{Interval, Reading};
use crate::merge::{Gather, Portion, Wanted};
use crate::query::{AnyPart, Sources};
use crate::read::Notes;
use crate::read_pace::ReadPace;
use crate::window::{Span, Windows};
use crate::{Batch, Query, Result, Store, Values};
use baro_ondisk::Type;
use std::ops::ControlFlow;

/// What a slice may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Samples: 24 bytes each.
    pub(crate) rows: usize,
    /// Bytes of texts, and of the log that is in no run.
    pub(crate) bytes: usize,
}

impl Bounds {
    /// Those of a read in time order.
    pub(crate) fn of(reading: &Reading) -> Self {
        let bytes = reading.memory_bytes.max(1 << 20);
        // The more, the less often a page of a run is read.
        Bounds { rows: bytes / size_of::<Row>(), bytes }
    }
}

/// A sample; of a text `bits` is where it lies.
#[derive(Clone, Copy, Debug)]
struct Row {
    time_ns: i64,
    bits: u64,
    id: u32,
    text: bool,
}

/// A sample that is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Bits(u64),
    Text(&'a str),
}

/// What is asked for, and the rows of the slice that is being handed out.
#[derive(Debug)]
pub(crate) struct Slices<'a> {
    store: &'a Store,
    windows: Windows<'a>,
    /// Sorted, each once.
    ids: Vec<u32>,
    /// Those too whose declaration is lost.
    undeclared: bool,
    interval: Interval,
    bounds: Bounds,
    pace: ReadPace,
    rows: Vec<Row>,
    letters: String,
    next: usize,
    /// Where the next slice begins; none behind the last.
    from_ns: Option<i64>,
    /// All times there are.
    times: Span,
    length_ns: u64,
    notes: Notes,
}

impl<'a> Slices<'a> {
    /// Of these series (sorted, each once).
    pub(crate) fn new(
        store: &'a Store,
        ids: Vec<u32>,
        undeclared: bool,
        interval: Interval,
        (bounds, bytes_per_s): (Bounds, Option<u64>),
    ) -> Result<Self> {
        let mut slices = Slices {
            store,
            windows: Windows::new(store, bounds.bytes),
            interval,
            bounds,
            pace: ReadPace::new(bytes_per_s),
            rows: Vec::new(),
            letters: String::new(),
            next: 0,
            from_ns: None,
            times: Span::NONE,
            length_ns: 1,
            notes: Notes::default(),
            ids,
            undeclared,
        };
        if undeclared || !slices.ids.is_empty() {
            slices.times = slices.windows.times()?;
            let Span(first_ns, last_ns) = slices.times;
            let pieces = slices.windows.samples().div_ceil(bounds.rows as u64 / 2).max(1);
            slices.length_ns = (last_ns.abs_diff(first_ns) / pieces).saturating_add(1);
            let from_ns = interval.from_ns.max(first_ns);
            slices.from_ns = (from_ns <= last_ns && interval.holds(from_ns)).then_some(from_ns);
        }
        Ok(slices)
    }

    /// Hands out what lies before a time; all that is left without one.
    pub(crate) fn hand_out(
        &mut self,
        before_ns: Option<i64>,
        mut each: impl FnMut(i64, u32, Cell<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        loop {
            while let Some(row) = self.rows.get(self.next) {
                if before_ns.is_some_and(|before_ns| row.time_ns >= before_ns) {
                    return Ok(ControlFlow::Continue(()));
                }
                self.next += 1;
                self.notes.records += 1;
                let cell = match row.text {
                    true => Cell::Text(self.letters.get(place(row.bits)).unwrap_or("")),
                    false => Cell::Bits(row.bits),
                };
                if each(row.time_ns, row.id, cell).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            // What is behind the frames before it need not be read yet.
            let Some(from_ns) = self.from_ns else { return Ok(ControlFlow::Continue(())) };
            if before_ns.is_some_and(|before_ns| from_ns >= before_ns) {
                return Ok(ControlFlow::Continue(()));
            }
            self.load(from_ns)?;
        }
    }

    /// What was met.
    pub(crate) fn into_notes(mut self) -> Notes {
        self.notes.add(self.windows.notes);
        self.notes
    }

    /// Reads the slice that begins at `from_ns`.
    fn load(&mut self, from_ns: i64) -> Result<()> {
        let covered_ns = self.windows.at(from_ns)?;
        // What was recorded meanwhile may be seen too, if the log had to be looked at anew.
        self.times = self.times.and(self.windows.times()?);
        let last_ns = self.times.1;
        loop {
            let to_ns = from_ns.saturating_add_unsigned(self.length_ns).min(covered_ns);
            // The last time there is has none behind it.
            let to_ns = if to_ns > last_ns { i64::MAX } else { to_ns }.min(covered_ns);
            let to_ns = to_ns.min(self.interval.to_ns);
            let slice = Interval { from_ns, to_ns };
            if !self.fill(slice)? {
                self.length_ns = (to_ns.abs_diff(from_ns).min(self.length_ns) / 2).max(1);
                continue;
            }
            if self.rows.len() < self.bounds.rows / 4 {
                self.length_ns = self.length_ns.saturating_mul(2);
            }
            let more = to_ns <= last_ns && to_ns < self.interval.to_ns;
            self.from_ns = more.then_some(to_ns);
            break;
        }
        self.rows.sort_unstable_by_key(|row| (row.time_ns, row.id));
        self.pace.wait((self.rows.len() * 16 + self.letters.len()) as u64);
        Ok(())
    }

    /// Reads the samples of a slice, by series; false if there are too many, and a shorter one would
    /// have fewer.
    fn fill(&mut self, slice: Interval) -> Result<bool> {
        self.rows.clear();
        self.letters.clear();
        self.next = 0;
        let moment = slice.to_ns.abs_diff(slice.from_ns) <= 1;
        let (rows_max, bytes_max) = match moment {
            true => (usize::MAX, usize::MAX),
            false => (self.bounds.rows, self.bounds.bytes),
        };
        let sources = Sources::within(self.windows.runs(), self.windows.held(), slice);
        let (rows, letters) = (&mut self.rows, &mut self.letters);
        let mut full = false;
        let mut take = |batch: &Batch<'_>| {
            add(batch, rows, letters);
            full = rows.len() > rows_max || letters.len() > bytes_max;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let limit = (!moment).then(|| rows_max as u64 + 1);
        let query = Query { limit, ..Query::raw(slice) };
        let damage = match self.undeclared {
            false => self.store.query_sources(&sources, &self.ids, &query, &mut take)?.1,
            true => with_undeclared(&sources, self.store, &self.ids, &query, &mut take)?,
        };
        if !full {
            damage.into_iter().for_each(|damage| self.notes.take_damage(damage));
        }
        Ok(!full)
    }
}

/// Where a text lies.
fn place(bits: u64) -> std::ops::Range<usize> {
    let (start, length) = ((bits >> 32) as usize, bits as u32 as usize);
    start..start + length
}

fn add(batch: &Batch<'_>, rows: &mut Vec<Row>, letters: &mut String) {
    let id = batch.target.id;
    let times_ns = batch.times_ns.iter();
    let row = |time_ns: &i64, bits| Row { time_ns: *time_ns, bits, id, text: false };
    match batch.values {
        Values::F64(values) => rows.extend(times_ns.zip(values).map(|(t, v)| row(t, v.to_bits()))),
        Values::I64(values) => {
            rows.extend(times_ns.zip(values).map(|(t, v)| row(t, v.cast_unsigned())));
        }
        Values::U64(values) => rows.extend(times_ns.zip(values).map(|(t, v)| row(t, *v))),
        Values::Bool(values) => rows.extend(times_ns.zip(values).map(|(t, v)| row(t, (*v).into()))),
        Values::Text(texts) => rows.extend(times_ns.enumerate().filter_map(|(at, time_ns)| {
            let text = texts.get(at)?;
            let bits = ((letters.len() as u64) << 32) | text.len() as u64;
            letters.push_str(text);
            Some(Row { text: true, ..row(time_ns, bits) })
        })),
    }
}

/// All samples there are, those of series too whose declaration is lost but for their texts.
fn with_undeclared(
    sources: &Sources,
    store: &Store,
    ids: &[u32],
    query: &Query,
    take: &mut dyn FnMut(&Batch<'_>) -> ControlFlow<()>,
) -> Result<Vec<crate::Damage>> {
    const PORTION_SAMPLES: usize = 64 << 10;
    let wanted = Wanted { series: None, interval: query.interval };
    let mut gather = Gather::new(sources.share_parts(), wanted, PORTION_SAMPLES);
    let mut portion = Portion::default();
    while gather.next(&mut portion)? {
        let Columns { times_ns, bits, .. } = portion.samples();
        for (id, range) in portion.groups() {
            let target = crate::Target { id, place: 0 };
            let times_ns = times_ns.get(range.clone()).unwrap_or(&[]);
            let values = Values::U64(bits.get(range).unwrap_or(&[]));
            if take(&Batch { target, times_ns, values }).is_break() {
                return Ok(Vec::new());
            }
        }
    }
    let damage: Vec<_> = gather.into_parts().flat_map(AnyPart::into_damage).collect();
    let is_text = |id: &u32| store.catalog.kind(*id) == Some(Type::Text);
    let texts: Vec<u32> = ids.iter().copied().filter(is_text).collect();
    let (_, of_texts) = store.query_sources(sources, &texts, query, take)?;
    Ok(damage.into_iter().chain(of_texts).collect())
}
