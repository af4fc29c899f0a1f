//! A query: what was asked, and the ways in which its rows go to Python. Each of them reads anew, on a
//! thread of its own, so that Ctrl-C ends it and other threads of Python go on.
//!
//! Invariant: whoever gets rows gets all of them, or an exception that says what is missing, unless damage
//! was to be left out. Held by `tests/python.rs`.

use crate::background::{self, Rest, Waiting};
use crate::batch::Batch;
use crate::calendar::Grid;
use crate::fill::{Fill, Filler};
use crate::gather::Gather;
use crate::process::Process;
use crate::wide::{self, Wide};
use crate::{arrow_c, errors};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use baro_store::{Column, QueryNotes, Selection, Store as Inner, Target};
use baro_sys::schedule;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Bytes that are read before a stream is handed out: what most answers are. Who takes the rest waits for
/// it as it likes, with Python's lock or without.
const AHEAD_BYTES: usize = 256 << 20;
/// Bytes of a row, about: of its series, time and value.
const ROW_BYTES: usize = 20;
/// Batches that wait for who takes them.
const WAITING: usize = 1;

/// From so many series on further threads gain more than they cost to start.
const APART_MIN: usize = 24;
/// Threads of a query at most.
const THREADS_MAX: usize = 16;

/// What was asked of a store.
#[pyclass(frozen, module = "barograph._barograph")]
#[derive(Debug)]
pub struct Query {
    pub(crate) store: Arc<Inner>,
    pub(crate) selection: Arc<Selection>,
    pub(crate) query: baro_store::Query,
    /// What steps without a sample get; `None`: they have no row.
    pub(crate) fill: Option<(Fill, Grid)>,
    /// Rows that are readable are handed out, whatever was met beside them.
    pub(crate) keep_damaged: bool,
    pub(crate) process: Process,
}

/// What the reading thread sends.
#[derive(Debug)]
pub(crate) enum Sent {
    Rows(RecordBatch),
    /// The end, with what was met.
    End(Vec<String>),
    Failed(Failed),
}

/// Why a query ended early.
#[derive(Debug)]
pub(crate) enum Failed {
    Store(baro_store::Error),
    Arrow(ArrowError),
}

impl Failed {
    fn raised(self) -> PyErr {
        match self {
            Failed::Store(error) => errors::store(error),
            Failed::Arrow(error) => errors::arrow("query", &error),
        }
    }

    fn said(&self) -> String {
        match self {
            Failed::Store(error) => error.to_string(),
            Failed::Arrow(error) => error.to_string(),
        }
    }
}

/// What a query met beside its rows, in sentences.
pub(crate) fn met(notes: &QueryNotes) -> Vec<String> {
    let mut met: Vec<String> = notes.read.damage.iter().map(ToString::to_string).collect();
    met.extend(recycled(notes.read.blocks_recycled));
    if notes.sums_left_out > 0 {
        let count = notes.sums_left_out;
        met.push(format!("{count} sums are larger than their type and have no row"));
    }
    if notes.fields_missing > 0 {
        met.push(format!("{} frames are too short for a field", notes.fields_missing));
    }
    met
}

/// Blocks that were gone before they were read, in a sentence.
pub(crate) fn recycled(blocks: u64) -> Option<String> {
    let said = format!(
        "a recorder has recycled {blocks} blocks before they were read; ask again after refresh()"
    );
    (blocks > 0).then_some(said)
}

impl Query {
    fn gather(&self, rows_max: usize) -> Gather {
        Gather::new(self.selection.columns(), self.query.every, rows_max, self.fill.is_some())
    }

    /// Reads in batches of up to `rows_max` rows, on a thread of its own, or on several.
    fn start(&self, rows_max: usize, of_one: bool) -> PyResult<Reading> {
        self.process.check("the query")?;
        let mut parts = VecDeque::new();
        for part in self.parts() {
            let (send, receive) = sync_channel(WAITING);
            let (store, selection) = (Arc::clone(&self.store), Arc::clone(&self.selection));
            let (query, mut gather) = (self.query.clone(), self.gather(rows_max));
            if of_one {
                gather = gather.of_one().map_err(|error| errors::arrow("query", &error))?;
            }
            let filler = self.fill.clone();
            let filler = filler.map(|(fill, grid)| Filler::new(fill, grid, query.interval));
            background::start(move || {
                let end = match read(&store, &selection, &query, part, (gather, filler), &send) {
                    Ok(Some(notes)) => Sent::End(met(&notes)),
                    Ok(None) => return,
                    Err(failed) => Sent::Failed(failed),
                };
                // Nobody takes any more: interrupted, or given up.
                let _ = send.send(end);
            })?;
            parts.push_back(Waiting::new(receive));
        }
        Ok(Reading { parts, met: Vec::new() })
    }

    /// Columns that are read by a thread each: the store itself uses all processors for samples as they
    /// are, and not for steps of time.
    fn parts(&self) -> Vec<Option<Range<usize>>> {
        let columns = self.selection.columns();
        let apart = self.query.every.is_some_and(|every| every.step_ns > 0)
            && self.query.limit.is_none()
            && columns.len() >= APART_MIN
            && columns.iter().all(Column::is_series);
        let threads = schedule::allowed_cpus().len().clamp(1, THREADS_MAX);
        if !apart || threads == 1 {
            return vec![None];
        }
        let each = columns.len().div_ceil(threads);
        let begins = (0..columns.len()).step_by(each);
        begins.map(|begin| Some(begin..columns.len().min(begin + each))).collect()
    }
}

/// The threads of a query, whose rows come one thread after the other.
#[derive(Debug)]
struct Reading {
    parts: VecDeque<Waiting<Sent>>,
    /// What the threads that have ended have met.
    met: Vec<String>,
}

impl Reading {
    /// The next that is sent; the end once, with what all have met. `None`: a thread has ended by itself.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Sent>> {
        loop {
            let Some(part) = self.parts.front_mut() else { return Ok(None) };
            let sent = part.next(py)?;
            if let Some(sent) = self.judged(sent) {
                return Ok(sent);
            }
        }
    }

    /// The same for a caller that is not Python.
    fn next_anywhere(&mut self) -> Option<Sent> {
        loop {
            let sent = self.parts.front_mut()?.next_anywhere();
            if let Some(sent) = self.judged(sent) {
                return sent;
            }
        }
    }

    /// What is to be handed out; `None` where the next thread is to be asked.
    fn judged(&mut self, sent: Option<Sent>) -> Option<Option<Sent>> {
        let Some(Sent::End(met)) = sent else { return Some(sent) };
        for one in met {
            if !self.met.contains(&one) {
                self.met.push(one);
            }
        }
        self.parts.pop_front();
        let is_over = self.parts.is_empty();
        is_over.then(|| Some(Sent::End(std::mem::take(&mut self.met))))
    }
}

/// Reads all that is asked, or some of its columns; `None` if nobody takes it any more.
fn read(
    store: &Inner,
    selection: &Selection,
    query: &baro_store::Query,
    part: Option<Range<usize>>,
    (mut gather, mut filler): (Gather, Option<Filler>),
    send: &SyncSender<Sent>,
) -> Result<Option<QueryNotes>, Failed> {
    let (mut failed, mut taken) = (None, true);
    let mut each = |rows| send.send(Sent::Rows(rows)).is_ok();
    let columns = selection.columns();
    let first = part.as_ref().map_or(0, |part| part.start);
    let mut take = |batch: &baro_store::Batch<'_>| {
        let target = Target { place: batch.target.place + first, ..batch.target };
        let batch = &baro_store::Batch { target, ..*batch };
        let name = columns.get(target.place).map_or("", |column| column.name.as_str());
        let done = match &mut filler {
            Some(filler) => filler.take(name, batch, &mut gather, &mut each),
            None => gather.take(name, batch, 0..batch.times_ns.len(), &mut each),
        };
        match done {
            Ok(true) => return ControlFlow::Continue(()),
            Ok(false) => taken = false,
            Err(error) => failed = Some(Failed::Arrow(error)),
        }
        ControlFlow::Break(())
    };
    let notes = match &part {
        None => store.query(selection, query, &mut take),
        Some(part) => {
            let some = columns.get(part.clone()).unwrap_or(&[]);
            let ids: Vec<u32> = some.iter().map(|column| column.id).collect();
            store.query_ids(&ids, query, &mut take)
        }
    };
    let notes = notes.map_err(Failed::Store)?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    if let (Some(filler), true) = (&mut filler, taken) {
        taken = filler.end(&mut gather, &mut each).map_err(Failed::Arrow)?;
    }
    if let Some(rows) = gather.rest().map_err(Failed::Arrow)? {
        taken &= each(rows);
    }
    Ok(taken.then_some(notes))
}

/// What was met, if it is to be told as an exception.
fn judged(met: &[String], keep_damaged: bool) -> Option<String> {
    let first = met.first().filter(|_| !keep_damaged)?;
    let more = match met.len() {
        1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    Some(format!(
        "rows are missing: {first}{more}; query(..., damaged=\"skip\") hands out the others"
    ))
}

#[pymethods]
impl Query {
    /// All rows: `(batches, what was met beside them)`; of one series without the column of its name.
    #[pyo3(signature = (of_one=false))]
    fn read(&self, py: Python<'_>, of_one: bool) -> PyResult<(Vec<Batch>, Vec<String>)> {
        let mut waiting = self.start(usize::MAX >> 1, of_one)?;
        let mut batches = Vec::new();
        loop {
            match waiting.next(py)? {
                Some(Sent::Rows(rows)) => batches.push(Batch::new(rows)),
                Some(Sent::End(met)) => {
                    if let Some(said) = judged(&met, self.keep_damaged) {
                        return Err(errors::Damaged::new_err(said));
                    }
                    if batches.is_empty() {
                        let none = RecordBatch::new_empty(self.gather(1).schema());
                        batches.push(Batch::new(none));
                    }
                    return Ok((batches, met));
                }
                Some(Sent::Failed(failed)) => return Err(failed.raised()),
                None => return Err(errors::bug("the reading thread has ended by itself")),
            }
        }
    }

    /// Rows in batches of at most `rows`, read as they are asked for.
    fn batches(&self, rows: usize) -> PyResult<Batches> {
        let rest = Rest::new(self.start(rows, false)?);
        let process = Process::this()?;
        Ok(Batches { rest, keep_damaged: self.keep_damaged, process })
    }

    /// A capsule with an Arrow stream of batches of at most `rows`.
    fn stream<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyCapsule>> {
        let mut waiting = self.start(rows, false)?;
        let (mut ahead, mut bytes, mut over) = (VecDeque::new(), 0, false);
        while bytes < AHEAD_BYTES && !over {
            match waiting.next(py)? {
                Some(Sent::Rows(rows)) => {
                    bytes += rows.num_rows() * ROW_BYTES;
                    ahead.push_back(rows);
                }
                Some(Sent::End(met)) => match judged(&met, self.keep_damaged) {
                    Some(said) => return Err(errors::Damaged::new_err(said)),
                    None => over = true,
                },
                Some(Sent::Failed(failed)) => return Err(failed.raised()),
                None => return Err(errors::bug("the reading thread has ended by itself")),
            }
        }
        let waiting = (!over).then_some(waiting);
        let schema = self.gather(1).schema();
        let process = Process::this()?;
        let keep_damaged = self.keep_damaged;
        let stream = Stream { schema, ahead, waiting, keep_damaged, process };
        arrow_c::stream(py, Box::new(stream))
    }

    /// A capsule with the Arrow schema of its rows.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow_c::schema(py, &self.gather(1).schema())
    }

    /// All rows with a column for each series.
    fn wide(&self, py: Python<'_>) -> PyResult<Batch> {
        self.process.check("the query")?;
        let (store, selection) = (Arc::clone(&self.store), Arc::clone(&self.selection));
        let query = self.query.clone();
        let read = background::run(py, move || {
            let mut wide = Wide::new(selection.columns(), query.every);
            let mut fits = true;
            let notes = store.query(&selection, &query, |batch| {
                fits &= wide.take(batch);
                ControlFlow::Continue(())
            });
            let notes = notes.map_err(Failed::Store)?;
            if !fits {
                let said = "a series has values of another type than it is declared with";
                return Err(Failed::Arrow(ArrowError::SchemaError(said.to_owned())));
            }
            Ok((wide.finish().map_err(Failed::Arrow)?, met(&notes)))
        })?;
        let (rows, met) = read.map_err(Failed::raised)?;
        match judged(&met, self.keep_damaged) {
            Some(said) => Err(errors::Damaged::new_err(said)),
            None => Ok(Batch::new(rows)),
        }
    }

    /// A capsule with the Arrow schema of the same.
    fn wide_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow_c::schema(py, &wide::schema(self.selection.columns(), self.query.every))
    }

    /// Name, type and unit of each series that it is of.
    fn series(&self) -> Vec<(String, &'static str, String)> {
        let columns = self.selection.columns().iter();
        columns.map(|one| (one.name.clone(), one.kind_name(), one.unit.clone())).collect()
    }
}

/// Batches of a query, one after the other.
#[pyclass(frozen, module = "barograph._barograph")]
#[derive(Debug)]
pub struct Batches {
    rest: Rest<Reading>,
    keep_damaged: bool,
    process: Process,
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.process.check("the query")?;
        self.rest.take(|reading| match reading.next(py) {
            // Interrupted: the next call goes on.
            Err(interrupted) => (Err(interrupted), true),
            Ok(Some(Sent::Rows(rows))) => (Ok(Some(Batch::new(rows))), true),
            Ok(Some(Sent::End(met))) => match judged(&met, self.keep_damaged) {
                Some(said) => (Err(errors::Damaged::new_err(said)), false),
                None => (Ok(None), false),
            },
            Ok(Some(Sent::Failed(failed))) => (Err(failed.raised()), false),
            Ok(None) => (Err(errors::bug("the reading thread has ended by itself")), false),
        })
    }
}

/// The rest of a query as another package takes it.
struct Stream {
    schema: SchemaRef,
    ahead: VecDeque<RecordBatch>,
    waiting: Option<Reading>,
    keep_damaged: bool,
    process: Process,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(rows) = self.ahead.pop_front() {
            return Some(Ok(rows));
        }
        // A NUL would end the text for who reads it in C.
        let failed = |said: String| Some(Err(ArrowError::ComputeError(said.replace('\0', " "))));
        let waiting = self.waiting.as_mut()?;
        if !self.process.is_here() {
            std::mem::forget(self.waiting.take());
            return failed("the query belongs to the parent process".to_owned());
        }
        let sent = waiting.next_anywhere();
        if let Some(Sent::Rows(rows)) = sent {
            return Some(Ok(rows));
        }
        self.waiting = None;
        match sent {
            Some(Sent::End(met)) => judged(&met, self.keep_damaged).and_then(failed),
            Some(Sent::Failed(why)) => failed(why.said()),
            _ => failed("the reading thread has ended by itself".to_owned()),
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
