//! Samples of selected series over an interval: as they are, or folded into steps of time.
//!
//! A [`Query`] says what is wanted of each series; [`Store::query`] hands it out in [`Batch`]es,
//! series by series, each in rising time, with memory bounded whatever the query is. Of several
//! samples of one series and time the last recorded counts.

mod aggregate;
mod batch;
mod before;
mod each;
mod emit;
mod few;
mod fields;
mod fold;
mod many;
mod newest;
mod one;
mod outline;
mod parallel;
mod regions;
mod sources;
mod steps;
mod stretch;
mod totals;

pub(crate) use few::Spare;

pub use aggregate::{Aggregate, Every, Fill};
pub use batch::{Batch, Target, Texts, Totals, Values};
pub use outline::Outline;
pub use steps::Steps;

use self::before::Before;
use self::emit::{Emitter, Taker};
use self::fold::Fold;
use self::one::One;
pub(crate) use self::sources::{AnyPart, Sources};
use crate::damage::Damage;
use crate::facts::Wanted;
use crate::interval::Interval;
use crate::read::Notes;
use crate::{Column, Result, Selection, Store};
use std::ops::ControlFlow;

/// What is wanted of each selected series.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Samples with `from_ns <= time < to_ns`.
    pub interval: Interval,
    /// Fold into steps of time; `None` hands out samples as they were recorded.
    pub every: Option<Every>,
    /// Where its steps begin and end; `None`: at multiples of [`Every::step_ns`]. With these that is about
    /// their length, and not 0.
    pub steps: Option<Steps>,
    /// What steps without a sample have; `None`: no row.
    pub fill: Option<Fill>,
    /// At most so many of the newest samples (or steps) of each series.
    pub last: Option<usize>,
    /// At most so many rows in all.
    pub limit: Option<u64>,
}

impl Query {
    /// All samples of an interval.
    #[must_use]
    pub fn raw(interval: Interval) -> Self {
        Query { interval, every: None, steps: None, fill: None, last: None, limit: None }
    }

    /// One value for each step of time; see [`Every`].
    #[must_use]
    pub fn every(interval: Interval, every: Every) -> Self {
        Query { every: Some(every), ..Query::raw(interval) }
    }
}

/// What a query met beside what it handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryNotes {
    /// Rows handed out.
    pub rows: u64,
    /// Batches handed out.
    pub batches: u64,
    /// Fields that frames were too short for.
    pub fields_missing: u64,
    /// Sums of integers that are larger than their type: they have no row.
    pub sums_left_out: u64,
    /// What was read, and damage that was met; the data of damaged places is missing.
    pub read: Notes,
}

impl QueryNotes {
    /// Puts two passes together; damage that both met counts once.
    fn add(&mut self, other: QueryNotes) {
        self.rows += other.rows;
        self.batches += other.batches;
        self.fields_missing += other.fields_missing;
        self.sums_left_out += other.sums_left_out;
        self.read.add(other.read);
    }
}

/// What the sources said, and damage that a query met: a page that is asked for again is damaged once.
fn notes_with(mut notes: Notes, damage: Vec<Damage>) -> Notes {
    damage.into_iter().for_each(|damage| notes.take_damage(damage));
    notes
}

impl Store {
    /// Calls `each` with what the query asks for, series by series in the order of
    /// [`Selection::columns`], each by rising time, until it breaks.
    ///
    /// # Errors
    /// The operating system refuses; damage is in the notes.
    pub fn query(
        &self,
        selection: &Selection,
        query: &Query,
        mut each: impl FnMut(&Batch<'_>) -> ControlFlow<()>,
    ) -> Result<QueryNotes> {
        self.in_groups(selection, query, Taker::Batches(&mut each))
    }

    /// Series and fields of frames are read in ways of their own.
    fn in_groups(
        &self,
        selection: &Selection,
        query: &Query,
        mut to: Taker<'_>,
    ) -> Result<QueryNotes> {
        let columns = selection.columns();
        let (mut notes, mut query) = (QueryNotes::default(), query.clone());
        let mut place = 0;
        for group in columns.chunk_by(|a, b| a.is_series() == b.is_series()) {
            let mut out = Emitter::new(&query, to.again());
            let read = if group.first().is_some_and(Column::is_series) {
                let ids: Vec<u32> = group.iter().map(|column| column.id).collect();
                out.first_place = place;
                self.emit_ids(&ids, &query, &mut out)?
            } else {
                let range = place..place + group.len();
                let (read, fields_missing) =
                    fields::columns(self, selection, range, &query, &mut out, None)?;
                QueryNotes { read, fields_missing, ..QueryNotes::default() }
            };
            place += group.len();
            let emit::Outlet { notes: found, broken, .. } = out.outlet;
            if let Some(limit) = &mut query.limit {
                *limit -= found.rows.min(*limit);
            }
            notes.add(found);
            notes.add(read);
            if broken || query.limit == Some(0) {
                break;
            }
        }
        Ok(self.query_notes(notes))
    }

    fn query_notes(&self, mut notes: QueryNotes) -> QueryNotes {
        notes.read = self.with_headers(notes.read);
        notes
    }

    /// The same of series by their ids, sorted and each once; the place of a target is that in
    /// `ids`. Channels of frames have no samples.
    ///
    /// # Errors
    /// The operating system refuses; more of the log is unsettled than a query holds; a
    /// percentile of too many samples. Damage is in the notes.
    pub fn query_ids(
        &self,
        ids: &[u32],
        query: &Query,
        mut each: impl FnMut(&Batch<'_>) -> ControlFlow<()>,
    ) -> Result<QueryNotes> {
        let mut out = Emitter::new(query, Taker::Batches(&mut each));
        let read = self.emit_ids(ids, query, &mut out)?;
        let mut notes = out.outlet.notes;
        notes.add(read);
        Ok(self.query_notes(notes))
    }

    /// Returns what was met; what was handed out is in the emitter's notes.
    fn emit_ids(&self, ids: &[u32], query: &Query, out: &mut Emitter<'_>) -> Result<QueryNotes> {
        let wanted = self.wanted(ids, query.interval);
        let (sources, interval) = match newest::asks_newest(ids, query) {
            Some(rows) => newest::sources(self, ids, query, &wanted, rows)?,
            None => (Sources::of(self, &wanted)?, query.interval),
        };
        let query = Query { interval, ..query.clone() };
        let (before, mut notes) = Before::of_ids(self, ids, &query)?;
        let damage = self.fill(&sources, ids, &query, &before, out)?;
        let read = notes_with(sources.notes, damage);
        notes.add(QueryNotes { read, ..QueryNotes::default() });
        Ok(notes)
    }

    /// What of the log is wanted for these series.
    fn wanted(&self, ids: &[u32], interval: Interval) -> Wanted {
        // Of many it is not worth looking.
        let many = ids.len() > newest::SERIES_MAX;
        let (mut numbers, mut texts) = (many, many);
        for id in ids.iter().take(newest::SERIES_MAX) {
            match self.catalog.kind(*id) {
                Some(baro_ondisk::Type::Channel) => {}
                Some(baro_ondisk::Type::Text) => texts = true,
                Some(_) => numbers = true,
                None => (numbers, texts) = (true, true),
            }
        }
        Wanted { interval, numbers, texts }
    }

    /// The same of sources that are at hand.
    pub(crate) fn query_sources(
        &self,
        sources: &Sources,
        ids: &[u32],
        query: &Query,
        each: &mut dyn FnMut(&Batch<'_>) -> ControlFlow<()>,
    ) -> Result<(QueryNotes, Vec<Damage>)> {
        let mut out = Emitter::new(query, Taker::Batches(each));
        let damage = self.fill(sources, ids, query, &Before::default(), &mut out)?;
        Ok((out.outlet.notes, damage))
    }

    fn fill(
        &self,
        sources: &Sources,
        ids: &[u32],
        query: &Query,
        before: &Before,
        out: &mut Emitter<'_>,
    ) -> Result<Vec<Damage>> {
        let kind = |id| self.catalog.kind(id).unwrap_or(baro_ondisk::Type::I64);
        let many = sources.are_fewer_than(ids.len());
        let total = query.every.filter(|every| {
            let joins = every.step_ns == 0 && every.aggregate.joins() && query.fill.is_none();
            joins && (many || sources.apart())
        });
        let damage = if let Some(every) = total {
            totals::rows(sources, ids, &kind, query, every, out)?
        } else if many {
            many::series(sources, ids, &kind, query, before, out)?
        } else if query.every.is_none() && query.last.is_none() && ids.len() >= few::MIN {
            few::series(sources, ids, &kind, query, &self.spare, out)?
        } else {
            let mut one = One::new(sources, self.spare.take());
            let mut fold = Fold::of(query, before.clone());
            for (place, id) in ids.iter().enumerate() {
                let target = Target { id: *id, place };
                out.series(target, kind(*id).into());
                if let Some(fold) = &mut fold {
                    fold.begin(target, kind(*id).into(), out);
                }
                if one.series(*id, kind(*id), query, fold.as_mut(), out)?.is_break() {
                    break;
                }
            }
            self.spare.give_back(one.take_memory());
            one.damage
        };
        Ok(damage)
    }

    /// One aggregate over the whole interval of each of many series (ids sorted and each once), in
    /// columns: a million rows without a call for each. Calls `each` until it breaks.
    ///
    /// # Errors
    /// As [`Store::query_ids`].
    pub fn totals(
        &self,
        ids: &[u32],
        interval: Interval,
        aggregate: Aggregate,
        mut each: impl FnMut(&Totals<'_>) -> ControlFlow<()>,
    ) -> Result<QueryNotes> {
        let query = Query::every(interval, Every { step_ns: 0, aggregate });
        let mut notes = QueryNotes::default();
        let mut counted = |rows: &Totals<'_>| {
            notes.rows += rows.ids.len() as u64;
            notes.batches += 1;
            each(rows)
        };
        let sources = Sources::of(self, &self.wanted(ids, interval))?;
        let many = sources.are_fewer_than(ids.len());
        if aggregate.joins() && (many || sources.apart()) {
            let kind = |id| self.catalog.kind(id).unwrap_or(baro_ondisk::Type::I64);
            let damage = totals::series(&sources, ids, &kind, &query, aggregate, &mut counted)?;
            notes.read = notes_with(sources.notes, damage);
            return Ok(self.query_notes(notes));
        }
        // Sample by sample, gathered into columns.
        let (mut rows, mut held, mut flow) =
            (totals::Rows::default(), 0, ControlFlow::Continue(()));
        let mut take = |batch: &Batch<'_>| {
            let value = match batch.values {
                Values::F64(values) => values.first().copied(),
                Values::I64(values) => values.first().map(|value| *value as f64),
                _ => None,
            };
            // Texts have no columns of numbers.
            let Some(value) = value else { return flow };
            rows.push(batch.target.id, value);
            held += 1;
            if held == emit::BATCH_ROWS {
                flow = counted(&rows.totals());
                rows.clear();
                held = 0;
            }
            flow
        };
        let mut out = Emitter::new(&query, Taker::Batches(&mut take));
        out.floats = true;
        let (before, before_notes) = Before::of_ids(self, ids, &query)?;
        let damage = self.fill(&sources, ids, &query, &before, &mut out)?;
        if held > 0 && flow.is_continue() {
            let _ = counted(&rows.totals());
        }
        notes.read = notes_with(sources.notes, damage);
        notes.add(before_notes);
        Ok(self.query_notes(notes))
    }

    /// Name, unit and type of what a batch is of.
    #[must_use]
    pub fn column(&self, selection: &Selection, target: Target) -> Option<Column> {
        selection.columns().get(target.place).cloned()
    }
}
