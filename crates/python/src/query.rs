//! A query: what was asked, and the ways in which its rows go to Python. Each of them reads anew, on a
//! thread of its own, so that Ctrl-C ends it and other threads of Python go on.
//!
//! Invariant: whoever gets rows gets all of them, or an exception that says what is missing, unless damage
//! was to be left out. Held by `tests/python.rs`.

use crate::background::{self, Waiting};
use crate::batch::Batch;
use crate::fill::{Fill, Filler};
use crate::gather::Gather;
use crate::process::Process;
use crate::wide::{self, Wide};
use crate::{arrow_c, errors};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use baro_store::{QueryNotes, Selection, Store as Inner};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are read before a stream is handed out: what most answers are. Who takes the rest waits for
/// it as it likes, with Python's lock or without.
const AHEAD_BYTES: usize = 256 << 20;
/// Batches that wait for who takes them.
const WAITING: usize = 1;

/// What was asked of a store.
#[pyclass(frozen, module = "barograph._barograph")]
#[derive(Debug)]
pub struct Query {
    pub(crate) store: Arc<Inner>,
    pub(crate) selection: Arc<Selection>,
    pub(crate) query: baro_store::Query,
    /// What steps without a sample get; `None`: they have no row.
    pub(crate) fill: Option<Fill>,
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
    if notes.read.blocks_recycled > 0 {
        met.push(format!(
            "a recorder has recycled {} blocks before they were read; ask again after refresh()",
            notes.read.blocks_recycled
        ));
    }
    if notes.sums_left_out > 0 {
        let count = notes.sums_left_out;
        met.push(format!("{count} sums are larger than their type and have no row"));
    }
    if notes.fields_missing > 0 {
        met.push(format!("{} frames are too short for a field", notes.fields_missing));
    }
    met
}

impl Query {
    fn gather(&self, rows_max: usize) -> Gather {
        Gather::new(self.selection.columns(), self.query.every, rows_max, self.fill.is_some())
    }

    /// Reads on a thread of its own, in batches of up to `rows_max` rows.
    fn start(&self, rows_max: usize) -> PyResult<Waiting<Sent>> {
        self.process.check("the query")?;
        let (send, receive) = sync_channel(WAITING);
        let (store, selection) = (Arc::clone(&self.store), Arc::clone(&self.selection));
        let (query, gather) = (self.query.clone(), self.gather(rows_max));
        let filler = self.fill.and_then(|fill| Filler::new(fill, &query));
        background::start(move || {
            let end = match read(&store, &selection, &query, gather, filler, &send) {
                Ok(Some(notes)) => Sent::End(met(&notes)),
                Ok(None) => return,
                Err(failed) => Sent::Failed(failed),
            };
            // Nobody takes any more: interrupted, or given up.
            let _ = send.send(end);
        })?;
        Ok(Waiting::new(receive))
    }
}

/// Reads all that is asked; `None` if nobody takes it any more.
fn read(
    store: &Inner,
    selection: &Selection,
    query: &baro_store::Query,
    mut gather: Gather,
    mut filler: Option<Filler>,
    send: &SyncSender<Sent>,
) -> Result<Option<QueryNotes>, Failed> {
    let (mut failed, mut taken) = (None, true);
    let mut each = |rows| send.send(Sent::Rows(rows)).is_ok();
    let notes = store.query(selection, query, |batch| {
        let name = selection.columns().get(batch.target.place);
        let name = name.map_or("", |column| column.name.as_str());
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
    });
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
    /// All rows: `(batches, what was met beside them)`.
    fn read(&self, py: Python<'_>) -> PyResult<(Vec<Batch>, Vec<String>)> {
        let mut waiting = self.start(usize::MAX >> 1)?;
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
        let waiting = Mutex::new(Some(self.start(rows)?));
        let process = Process::this()?;
        Ok(Batches { waiting, keep_damaged: self.keep_damaged, process })
    }

    /// A capsule with an Arrow stream of batches of at most `rows`.
    fn stream<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyCapsule>> {
        let mut waiting = self.start(rows)?;
        let (mut ahead, mut bytes, mut over) = (VecDeque::new(), 0, false);
        while bytes < AHEAD_BYTES && !over {
            match waiting.next(py)? {
                Some(Sent::Rows(rows)) => {
                    bytes += rows.get_array_memory_size();
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
        columns.map(|one| (one.name.clone(), one.kind, one.unit.clone())).collect()
    }
}

/// Batches of a query, one after the other.
#[pyclass(frozen, module = "barograph._barograph")]
#[derive(Debug)]
pub struct Batches {
    waiting: Mutex<Option<Waiting<Sent>>>,
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
        // Out of its place while it is waited for: the lock is never held then.
        let taken = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut waiting) = taken else { return Ok(None) };
        match waiting.next(py)? {
            Some(Sent::Rows(rows)) => {
                *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
                Ok(Some(Batch::new(rows)))
            }
            Some(Sent::End(met)) => match judged(&met, self.keep_damaged) {
                Some(said) => Err(errors::Damaged::new_err(said)),
                None => Ok(None),
            },
            Some(Sent::Failed(failed)) => Err(failed.raised()),
            None => Err(errors::bug("the reading thread has ended by itself")),
        }
    }
}

/// The rest of a query as another package takes it.
struct Stream {
    schema: SchemaRef,
    ahead: VecDeque<RecordBatch>,
    waiting: Option<Waiting<Sent>>,
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
