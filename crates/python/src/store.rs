//! A store opened for reading.

use crate::background;
use crate::batch::Batch;
use crate::calendar::Grid;
use crate::fill::{Fill, STEPS_MAX};
use crate::frames::Frames;
use crate::process::Process;
use crate::query::{Query, met};
use crate::{errors, table};
use baro_log::{open_folder, read_identity};
use baro_store::{
    Aggregate, Every, Interval, QueryNotes, Selection, Store as Inner, ValueType, Values,
};
use baro_sys::clock;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store that is read.
#[pyclass(frozen, subclass, module = "barograph._barograph")]
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    state: Arc<Mutex<State>>,
    process: Process,
}

#[derive(Debug)]
enum State {
    Open(Arc<Inner>),
    /// A thread has it, and puts it back.
    Refreshing,
    Closed,
}

/// A sample as Python has it: series, nanoseconds since 1970, value.
type Sample<'py> = (String, i64, Bound<'py, PyAny>);

/// Between two looks whether a refresh is over.
const PAUSE_NS: u64 = 500_000;

impl Store {
    fn inner(&self, py: Python<'_>) -> PyResult<Arc<Inner>> {
        self.process.check("the store")?;
        loop {
            match &*self.lock() {
                State::Open(store) => return Ok(Arc::clone(store)),
                State::Refreshing => {}
                State::Closed => return Err(errors::closed("the store")),
            }
            py.detach(|| clock::sleep_ns(PAUSE_NS));
            py.check_signals()?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Goes on to what is there now: a store that a query holds is opened anew. Files that were removed can
/// still be read by who has them open, so it is looked whether the store is still at its place.
fn refreshed(store: Arc<Inner>, path: &Path) -> (Arc<Inner>, PyResult<()>) {
    let there = open_folder(path).and_then(|folder| read_identity(&folder, path));
    let found = match there {
        Ok(identity) if identity.store == store.identity().store => None,
        Ok(_) => Some("another store is there".to_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(found) = found {
        let said = format!("{}: the store is not there any more: {found}", path.display());
        return (store, Err(errors::Gone::new_err(said)));
    }
    match Arc::try_unwrap(store) {
        Ok(mut store) => {
            let done = store.refresh().map_err(errors::store);
            (Arc::new(store), done)
        }
        Err(shared) => match Inner::open(path) {
            Ok(new) => (Arc::new(new), Ok(())),
            Err(error) => (shared, Err(errors::store(error))),
        },
    }
}

/// What is selected: nothing given is all that has values.
fn selected(store: &Inner, selectors: Option<&[String]>) -> PyResult<Selection> {
    let selection = match selectors {
        Some(selectors) => Selection::named(store.catalog(), selectors),
        None => Selection::all(store.catalog(), true),
    };
    let selection = selection.map_err(errors::store)?;
    let frames = selection.columns().iter().find(|column| column.is_frames());
    if let (Some(_), Some(frames)) = (selectors, frames) {
        return Err(errors::value(
            "selector",
            "series, or fields of a channel as CHANNEL.*",
            format!("the channel {}, whose frames are read by frames()", frames.name),
        ));
    }
    Ok(selection)
}

fn aggregate(name: &str) -> PyResult<Aggregate> {
    Aggregate::of_name(name).ok_or_else(|| {
        let all = Aggregate::ALL.map(|one| one.name().into_owned()).join(", ");
        errors::value("agg", &format!("one of {all}, or another percentile"), format!("{name:?}"))
    })
}

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let (process, place) = (Process::this()?, path.clone());
        let opened = background::run(py, move || Inner::open(&place))?.map_err(errors::store)?;
        let state = Arc::new(Mutex::new(State::Open(Arc::new(opened))));
        Ok(Store { path, state, process })
    }

    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Goes on to what has been recorded since the store was opened. Blocks for the disk.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.inner(py)?;
        *self.lock() = State::Refreshing;
        let (state, path) = (Arc::clone(&self.state), self.path.clone());
        let done = background::run(py, move || {
            let (store, done) = refreshed(store, &path);
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if let State::Refreshing = *state {
                *state = State::Open(store);
            }
            done
        });
        done?
    }

    /// Gives up its files and memory. What goes on reading keeps them.
    fn close(&self) {
        *self.lock() = State::Closed;
    }

    /// What was found damaged when it was opened, in sentences.
    #[getter]
    fn damage(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.inner(py)?.damage_so_far().iter().map(ToString::to_string).collect())
    }

    /// All series, and fields of channels, as rows of name, type and unit.
    #[pyo3(signature = (selectors=None))]
    fn series_table(&self, py: Python<'_>, selectors: Option<Vec<String>>) -> PyResult<Batch> {
        let store = self.inner(py)?;
        background::run(py, move || {
            let selection = match &selectors {
                Some(selectors) => Selection::named(store.catalog(), selectors),
                None => Selection::frames_and_fields(store.catalog()),
            };
            table::of(selection.map_err(errors::store)?.columns())
        })?
    }

    /// Asks; nothing is read before the query's rows are wanted.
    #[pyo3(signature = (selectors, start_ns, end_ns, every=None, last=None, limit=None, fill=None, keep_damaged=false))]
    #[allow(clippy::too_many_arguments, reason = "called by keyword, from one place")]
    fn ask(
        &self,
        py: Python<'_>,
        selectors: Option<Vec<String>>,
        start_ns: i64,
        end_ns: i64,
        every: Option<Asked>,
        last: Option<usize>,
        limit: Option<u64>,
        fill: Option<Bound<'_, PyAny>>,
        keep_damaged: bool,
    ) -> PyResult<Query> {
        let store = self.inner(py)?;
        let selection = Arc::new(selected(&store, selectors.as_deref())?);
        let mut query = baro_store::Query::raw(Interval { from_ns: start_ns, to_ns: end_ns });
        let mut grid = None;
        if let Some(every) = every {
            grid = every.grid()?;
            let step_ns = grid.as_ref().map_or(0, |grid: &Grid| grid.length_ns.unsigned_abs());
            let aggregate = aggregate(&every.aggregate)?;
            // Of all that there is, texts are left out as `baro query` does; of what was named, nothing.
            let mut columns = selection.columns().iter().filter(|_| selectors.is_some());
            if let Some(column) = columns.find(|column| column.folded(aggregate).is_none()) {
                let wanted = format!("count, first or last for texts, as {} has", column.name);
                return Err(errors::value("agg", &wanted, format!("{:?}", every.aggregate)));
            }
            query.every = Some(Every { step_ns, aggregate });
            query.steps = grid.as_ref().and_then(Grid::steps);
        }
        (query.last, query.limit) = (last, limit);
        let fill = fill.map(|fill| filling(&fill, grid, &query, &selection)).transpose()?;
        if matches!(fill, Some((Fill::Previous, _))) {
            // The store knows what was before the interval; texts are filled here.
            query.fill = Some(baro_store::Fill::Previous);
        }
        Ok(Query { store, selection, query, fill, keep_damaged, process: Process::this()? })
    }

    /// The newest sample of the one series of this name, or `None` if it has none. Blocks for the disk.
    fn last<'py>(&self, py: Python<'py>, series: String) -> PyResult<Option<Sample<'py>>> {
        let store = self.inner(py)?;
        let selection = selected(&store, Some(std::slice::from_ref(&series)))?;
        let [column] = selection.columns() else {
            let found = format!("{series:?}, which selects {}", selection.columns().len());
            return Err(errors::value(
                "series",
                "the name of one series (of several: query(..., last=1))",
                found,
            ));
        };
        let name = column.name.clone();
        let query = baro_store::Query { last: Some(1), ..baro_store::Query::raw(Interval::ALL) };
        let read = py.detach(|| {
            let mut found = None;
            let notes = store.query(&selection, &query, |batch| {
                if let Some(time_ns) = batch.times_ns.last() {
                    found = value_at(&batch.values, batch.times_ns.len() - 1)
                        .map(|value| (*time_ns, value));
                }
                ControlFlow::Continue(())
            })?;
            Ok::<(QueryNotes, Option<(i64, Value)>), baro_store::Error>((notes, found))
        });
        let (notes, found) = read.map_err(errors::store)?;
        // An older one is not the newest: what is damaged may have had that.
        if let Some(first) = met(&notes).first() {
            return Err(errors::Damaged::new_err(first.clone()));
        }
        found.map(|(time_ns, value)| Ok((name, time_ns, value.python(py)?))).transpose()
    }

    /// Frames of a channel, in the order of time.
    fn frames(
        &self,
        py: Python<'_>,
        channel: &str,
        start_ns: i64,
        end_ns: i64,
    ) -> PyResult<Frames> {
        Frames::of(self.inner(py)?, channel, Interval { from_ns: start_ns, to_ns: end_ns })
    }
}

/// Which steps are asked for, and what becomes of their samples.
#[derive(Debug, FromPyObject)]
struct Asked {
    /// The steps as a text, which may say some of the calendar.
    text: Option<String>,
    /// Their length, if they have one.
    length_ns: Option<i64>,
    aggregate: String,
    zone: Option<String>,
    offset_ns: i64,
}

impl Asked {
    /// `None` where the whole interval is one step.
    fn grid(&self) -> PyResult<Option<Grid>> {
        if let Some(text) = &self.text
            && let Some(grid) = Grid::of_calendar(text, self.zone.as_deref(), self.offset_ns)?
        {
            return Ok(Some(grid));
        }
        if let Some(zone) = &self.zone {
            let wanted = "none but for steps of days, weeks, months and years, such as \"1d\"";
            return Err(errors::value("zone", wanted, format!("{zone:?}")));
        }
        self.length_ns.map(|length_ns| Grid::fixed(length_ns, self.offset_ns)).transpose()
    }
}

/// What steps without a sample get.
fn filling(
    fill: &Bound<'_, PyAny>,
    grid: Option<Grid>,
    query: &baro_store::Query,
    selection: &Selection,
) -> PyResult<(Fill, Grid)> {
    let (Some(grid), Some(every)) = (grid, query.every) else {
        return Err(errors::value("fill", "steps of time to be filled (every=)", "none"));
    };
    let Interval { from_ns, to_ns } = query.interval;
    if from_ns != i64::MIN && to_ns != i64::MAX {
        let steps = to_ns.saturating_sub(from_ns) / grid.length_ns;
        if steps > STEPS_MAX {
            return Err(errors::value("every", &format!("at most {STEPS_MAX} steps"), steps));
        }
    }
    if let Ok(name) = fill.cast::<PyString>() {
        return match &*name.to_cow()? {
            "null" => Ok((Fill::Nothing, grid)),
            "previous" => Ok((Fill::Previous, grid)),
            other => {
                let wanted = "\"null\", \"previous\" or a number";
                Err(errors::value("fill", wanted, format!("{other:?}")))
            }
        };
    }
    let number = crate::push::float("fill", fill)?;
    let whole = number.fract() == 0.0 && number.abs() < 9e15;
    let kinds = selection.columns().iter().map(|column| (column.handed_out(Some(every)), column));
    for (kind, column) in kinds {
        let fits = match kind {
            Some(ValueType::F64) => true,
            Some(ValueType::I64) => whole,
            Some(ValueType::U64) => whole && number >= 0.0,
            Some(ValueType::Bool | ValueType::Text) => false,
            None => true,
        };
        if !fits {
            let found = format!("{number}, and {} has values of another type", column.name);
            return Err(errors::value("fill", "a number of the type of each series", found));
        }
    }
    Ok((Fill::Number(number), grid))
}

/// A value of any type.
enum Value {
    F64(f64),
    I64(i64),
    U64(u64),
    Bool(bool),
    Text(String),
}

fn value_at(values: &Values<'_>, at: usize) -> Option<Value> {
    Some(match values {
        Values::F64(values) => Value::F64(*values.get(at)?),
        Values::I64(values) => Value::I64(*values.get(at)?),
        Values::U64(values) => Value::U64(*values.get(at)?),
        Values::Bool(values) => Value::Bool(*values.get(at)?),
        Values::Text(texts) => Value::Text(texts.get(at)?.to_owned()),
    })
}

impl Value {
    fn python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Value::F64(value) => PyFloat::new(py, value).into_any(),
            Value::I64(value) => PyInt::new(py, value).into_any(),
            Value::U64(value) => PyInt::new(py, value).into_any(),
            Value::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
            Value::Text(value) => PyString::new(py, &value).into_any(),
        })
    }
}
