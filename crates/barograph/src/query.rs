//! Reading: what is asked, and the columns that come back.

use crate::time::nanoseconds;
use crate::{Error, Result, Store, Time};
use baro_store::{Aggregate, Every, Interval, QueryNotes, Selection, Values};
use std::ops::ControlFlow;
use std::time::Duration;

/// What is asked of some series: see [`Store::query`]. Ends with [`Query::columns`] or [`Query::each`].
///
/// ```no_run
/// use barograph::{Aggregate, Store};
/// use std::time::Duration;
///
/// let store = Store::open("/data/store")?;
/// let minute = Duration::from_secs(60);
/// let hours = Duration::from_secs(3 * 3600);
/// for column in store.query("temp{room=\"a\"}").last(hours).every(minute, Aggregate::Max).columns()? {
///     let column = column?;
///     for (time, value) in column.rows() {
///         println!("{} {time:?} {value:?}", column.name());
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is read before .columns() or .each()"]
pub struct Query<'a> {
    store: &'a Store,
    selector: &'a str,
    query: baro_store::Query,
}

impl<'a> Query<'a> {
    pub(crate) fn new(store: &'a Store, selector: &'a str) -> Self {
        Query { store, selector, query: baro_store::Query::raw(Interval::ALL) }
    }

    /// Nothing before this moment.
    pub fn from(mut self, time: impl Into<Time>) -> Self {
        self.query.interval.from_ns = time.into().ns();
        self
    }

    /// Nothing at this moment or later.
    pub fn to(mut self, time: impl Into<Time>) -> Self {
        self.query.interval.to_ns = time.into().ns();
        self
    }

    /// Nothing older than this, counted back from now.
    pub fn last(self, duration: Duration) -> Self {
        self.from(Time::now().before(duration))
    }

    /// The newest `count` samples, or steps, of each series.
    pub fn newest(mut self, count: usize) -> Self {
        self.query.last = Some(count);
        self
    }

    /// One value for each step of time instead of the samples. Steps begin at multiples of `step` since
    /// 1970; one without samples has no row. A step of zero is the whole interval.
    pub fn every(mut self, step: Duration, aggregate: Aggregate) -> Self {
        let step_ns = nanoseconds(step).unsigned_abs();
        self.query.every = Some(Every { step_ns, aggregate });
        self
    }

    /// A column for each selected series that has rows, read when it is asked for; memory is that of one.
    ///
    /// # Errors
    /// The selector is not understood or names nothing.
    pub fn columns(self) -> Result<Columns<'a>> {
        let names = self.names()?;
        Ok(Columns {
            store: self.store,
            query: self.query,
            names: names.into_iter(),
            missing: None,
            told: false,
        })
    }

    /// Calls `each` with the rows of each selected series, some thousands at a time, until it breaks.
    /// What was met beside them, damage too, is in the notes.
    ///
    /// # Errors
    /// The selector is not understood or names nothing; the disk refuses.
    pub fn each(
        &self,
        mut each: impl FnMut(&str, &[i64], Values<'_>) -> ControlFlow<()>,
    ) -> Result<QueryNotes> {
        let selection = self.selection()?;
        let columns = selection.columns();
        Ok(self.store.inner.query(&selection, &self.query, |batch| {
            let name = columns.get(batch.target.place).map_or("", |column| column.name.as_str());
            each(name, batch.times_ns, batch.values)
        })?)
    }

    fn selection(&self) -> Result<Selection> {
        Ok(Selection::named(self.store.inner.catalog(), &[self.selector])?)
    }

    fn names(&self) -> Result<Vec<(String, String)>> {
        let selection = self.selection()?;
        let series = selection.columns().iter().filter(|column| !column.is_frames());
        Ok(series.map(|column| (column.name.clone(), column.unit.clone())).collect())
    }
}

/// The columns of a query, one after the other. An error ends none of the others. Where rows are missing, by
/// damage or because the recorder has reused what was being read, [`Error::Missing`] comes behind the last.
#[derive(Debug)]
pub struct Columns<'a> {
    store: &'a Store,
    query: baro_store::Query,
    names: std::vec::IntoIter<(String, String)>,
    missing: Option<String>,
    told: bool,
}

impl Columns<'_> {
    /// Why rows are missing in what was handed out so far, in a sentence: the first damage that was met.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    fn read(&mut self, name: String, unit: String) -> Result<Column> {
        let mut column = Column { name, unit, times_ns: Vec::new(), rows: Rows::None };
        let selection = Selection::named(self.store.inner.catalog(), &[&column.name])?;
        let notes = self.store.inner.query(&selection, &self.query, |batch| {
            column.times_ns.extend_from_slice(batch.times_ns);
            column.rows.extend(batch.values);
            ControlFlow::Continue(())
        })?;
        if self.missing.is_none() {
            let recycled = notes.read.blocks_recycled;
            self.missing = match notes.read.damage.first() {
                Some(damage) => Some(damage.to_string()),
                None if recycled > 0 => {
                    Some(format!("the recorder has reused {recycled} blocks before they were read"))
                }
                None if notes.sums_left_out > 0 => Some(format!(
                    "{} sums of {} are larger than their type",
                    notes.sums_left_out, column.name
                )),
                None => None,
            };
        }
        Ok(column)
    }
}

impl Iterator for Columns<'_> {
    type Item = Result<Column>;

    fn next(&mut self) -> Option<Result<Column>> {
        loop {
            let Some((name, unit)) = self.names.next() else {
                let told = std::mem::replace(&mut self.told, true);
                let why = self.missing.clone().filter(|_| !told)?;
                return Some(Err(Error::Missing { why }));
            };
            match self.read(name, unit) {
                Ok(column) if column.is_empty() => {}
                read => return Some(read),
            }
        }
    }
}

/// One series' rows by rising time.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    unit: String,
    times_ns: Vec<i64>,
    rows: Rows,
}

#[derive(Clone, Debug, PartialEq)]
enum Rows {
    None,
    F64(Vec<f64>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    Bool(Vec<bool>),
    Text(Vec<String>),
}

impl Rows {
    /// A series has one type, so that what follows has that of what is there.
    fn extend(&mut self, values: Values<'_>) {
        if let Rows::None = self {
            *self = match values {
                Values::F64(_) => Rows::F64(Vec::new()),
                Values::I64(_) => Rows::I64(Vec::new()),
                Values::U64(_) => Rows::U64(Vec::new()),
                Values::Bool(_) => Rows::Bool(Vec::new()),
                Values::Text(_) => Rows::Text(Vec::new()),
            };
        }
        match (self, values) {
            (Rows::F64(rows), Values::F64(values)) => rows.extend_from_slice(values),
            (Rows::I64(rows), Values::I64(values)) => rows.extend_from_slice(values),
            (Rows::U64(rows), Values::U64(values)) => rows.extend_from_slice(values),
            (Rows::Bool(rows), Values::Bool(values)) => rows.extend_from_slice(values),
            (Rows::Text(rows), Values::Text(texts)) => {
                let text = |at| texts.get(at).unwrap_or_default().to_owned();
                rows.extend((0..values.len()).map(text));
            }
            _ => debug_assert!(false, "a series of two types"),
        }
    }
}

/// A value of a series, of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Floating point.
    F64(f64),
    /// An integer.
    I64(i64),
    /// An integer of a field of type u64.
    U64(u64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(&'a str),
}

impl Column {
    /// The series' name with its labels.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its unit, empty if none was declared.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Time of each row, nanoseconds since the Unix epoch.
    #[must_use]
    pub fn times_ns(&self) -> &[i64] {
        &self.times_ns
    }

    /// All values as one slice, if they are floating point numbers.
    #[must_use]
    pub fn f64s(&self) -> Option<&[f64]> {
        if let Rows::F64(values) = &self.rows { Some(values) } else { None }
    }

    /// All values as one slice, if they are integers.
    #[must_use]
    pub fn i64s(&self) -> Option<&[i64]> {
        if let Rows::I64(values) = &self.rows { Some(values) } else { None }
    }

    /// Each row's time and value, whatever its type.
    pub fn rows(&self) -> impl Iterator<Item = (Time, Value<'_>)> {
        let value = |at: usize| match &self.rows {
            Rows::None => None,
            Rows::F64(values) => values.get(at).copied().map(Value::F64),
            Rows::I64(values) => values.get(at).copied().map(Value::I64),
            Rows::U64(values) => values.get(at).copied().map(Value::U64),
            Rows::Bool(values) => values.get(at).copied().map(Value::Bool),
            Rows::Text(values) => values.get(at).map(|text| Value::Text(text)),
        };
        let times = self.times_ns.iter().enumerate();
        times.filter_map(move |(at, time)| Some((Time::from(*time), value(at)?)))
    }
}

impl From<baro_store::UnknownName> for Error {
    fn from(unknown: baro_store::UnknownName) -> Error {
        let why = "no series or channel has this name".to_owned();
        Error::Text { what: "name", text: unknown.name, why }
    }
}
