//! Which column of a file is what.
//!
//! Some names say it: `time`, `series`, `value` and a few others. What they do not say, the caller may
//! ([`Choice`]), and what nobody says refuses the file before a row is read: a number beside `value`
//! may be a quality, a sensor's number, or another measurement, and whichever is guessed, samples of
//! several sensors could become one series. So may a number that is called as names are. Times of a clock
//! whose zone nobody says are refused too.
//!
//! Invariant: each column of a file is read or named in an error or a choice, none is passed over.
//! Held by `a_column_that_is_not_understood_refuses_the_file` (`tests/columns.rs`).

use super::cells::{self, Kind};
use super::choice::{Choice, Role, TimeUnit};
use super::int96;
use crate::long::REST;
use crate::{Error, Result};
use arrow_schema::{DataType, Field, Schema, TimeUnit as ArrowUnit};
use baro_ondisk::{NameParser, is_called_id};
use parquet::schema::types::SchemaDescriptor;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// How much of a name an error quotes.
pub(super) const SHOWN_CHARS_MAX: usize = 60;

const TIMES: [&str; 6] = ["time", "timestamp", "@timestamp", "ts", "datetime", "date"];
const NAMES: [&str; 5] = ["series", "name", "metric", "measurement", "__name__"];
/// What else names series where texts are written; of numbers it says that they are hardly values.
const OTHER_NAMES: [&str; 3] = ["sensor", "signal", "variable"];
/// What pandas calls the index of a table, if it has no name.
const INDEX: &str = "__index_level_0__";
const VALUE: &str = "value";
/// Values by type, as an export of several types has them.
const TYPED: [(&str, Kind); 5] = [
    ("value_f64", Kind::Float),
    ("value_i64", Kind::Integer),
    ("value_u64", Kind::Integer),
    ("value_bool", Kind::Boolean),
    ("value_text", Kind::Text),
];

/// Which columns of a file are for what; others are not read.
#[derive(Debug)]
pub(super) struct Layout {
    /// Places of all that are read, in the order of the file.
    pub(super) fields: BTreeSet<usize>,
    pub(super) time: usize,
    /// Nanoseconds of one.
    pub(super) time_unit_ns: i64,
    /// Whether the unit of integers is not known for sure.
    pub(super) unit_is_taken: bool,
    /// Whether times are those of the clock that the choice has.
    pub(super) is_of_clock: bool,
    /// Times of this column have no zone, and nobody has said one.
    pub(super) taken_as_utc: Option<usize>,
    /// What is left of times in microseconds.
    pub(super) rest: Option<usize>,
    pub(super) series: Option<usize>,
    /// By rising name.
    pub(super) labels: Vec<usize>,
    pub(super) values: Vec<usize>,
    /// With what is appended to the metric.
    pub(super) own_series: Vec<(usize, String)>,
}

struct Columns<'a> {
    schema: &'a Schema,
    chosen: &'a [(String, Role)],
}

impl<'a> Columns<'a> {
    fn all(&self) -> impl Iterator<Item = (usize, &'a Field)> {
        self.schema.fields().iter().map(Arc::as_ref).enumerate()
    }

    fn chosen(&self, field: &Field) -> Option<Role> {
        self.chosen.iter().rev().find(|(name, _)| name == field.name()).map(|(_, role)| *role)
    }

    fn with(&self, role: Role) -> impl Iterator<Item = (usize, &'a Field)> {
        self.all().filter(move |(_, field)| self.chosen(field) == Some(role))
    }

    /// The index of a table of pandas that has no name.
    fn index(&self) -> Option<(usize, &'a Field)> {
        self.all().find(|(_, field)| field.name() == INDEX && self.chosen(field).is_none())
    }

    /// Whether these are numbers of rows, which say nothing.
    fn is_row_number(&self, field: &Field) -> bool {
        self.chosen(field).is_none() && field.name() == INDEX && field.data_type().is_integer()
    }

    /// Refuses a second column that is called as times are: it is no series.
    fn one_time(&self, time: usize) -> Result<()> {
        let is_named =
            |field: &Field| TIMES.iter().any(|name| field.name().eq_ignore_ascii_case(name));
        let mut others =
            self.all().filter(|(at, field)| *at != time && self.chosen(field).is_none());
        others.find(|(_, field)| is_named(field)).map_or(Ok(()), |(_, field)| {
            let name = shown(field.name());
            let what = format!(
                "one column of times; say which it is with --columns '{name}=time', or leave this one \
                 out with '{name}=skip'"
            );
            Err(refused(field, what))
        })
    }

    /// Refuses a number that may tell rows apart, or be a series itself: one beside `value` where no text
    /// names the series, and one that is called as names are.
    fn one_reading(
        &self,
        (at, field): (usize, &Field),
        time: usize,
        values: &[usize],
    ) -> Result<()> {
        let mut names = NAMES.iter().chain(&OTHER_NAMES);
        // An index of a table of pandas may be anything, if it is no number of a row.
        let is_name =
            field.name() == INDEX || names.any(|name| field.name().eq_ignore_ascii_case(name));
        let is_name = is_name || is_called_id(field.name());
        let value = values
            .iter()
            .find(|value| **value != time)
            .and_then(|value| self.schema.fields().get(*value).filter(|_| !values.contains(&at)));
        if !is_number(field.data_type()) || value.is_none() && !is_name {
            return Ok(());
        }
        let name = shown(field.name());
        let series = value.map_or_else(|| name.clone(), |value| shown(value.name()));
        let what = format!(
            "columns of which is known what they are, or names of series as text; say it with --columns \
             '{name}=label' (it tells series apart), '{name}=skip', or '{series}=value' (each column is a \
             series)"
        );
        Err(refused(field, what))
    }

    /// The only one of a role, or the first of these names that nobody says anything of.
    fn only(&self, role: Role, names: &[&str]) -> Result<Option<(usize, &'a Field)>> {
        let mut chosen = self.with(role);
        if let Some(first) = chosen.next() {
            return match chosen.next() {
                Some((_, second)) => Err(refused(second, "one column of that role".to_owned())),
                None => Ok(Some(first)),
            };
        }
        let named = |name: &&str| {
            let mut free = self.all().filter(|(_, field)| self.chosen(field).is_none());
            free.find(|(_, field)| field.name().eq_ignore_ascii_case(name))
        };
        Ok(names.iter().find_map(named))
    }
}

impl Layout {
    pub(super) fn of(schema: &Schema, stored: &SchemaDescriptor, choice: &Choice) -> Result<Self> {
        let columns = Columns { schema, chosen: &choice.columns };
        let is_there = |name: &String| schema.fields().iter().any(|field| field.name() == name);
        if let Some((name, _)) = choice.columns.iter().find(|(name, _)| !is_there(name)) {
            let found = format!("none of the name {} ({})", shown(name), listed(schema));
            return Err(Error::Layout { found, expected: "the columns that a choice names" });
        }
        let time = columns.only(Role::Time, &TIMES)?.or_else(|| {
            columns
                .index()
                .filter(|(_, field)| matches!(field.data_type(), DataType::Timestamp(..)))
        });
        let Some((time, field)) = time else {
            let found = format!("columns {}", listed(schema));
            let expected = "a column time (timestamp, ts, datetime, date; or one that is chosen), \
                            with series and value, or with one column for each series";
            return Err(Error::Layout { found, expected });
        };
        let (time_unit_ns, is_number) = unit_of(field, choice)?;
        let is_text = cells::is_text(field.data_type());
        let has_zone =
            is_number || is_text || matches!(field.data_type(), DataType::Timestamp(_, Some(_)));
        let is_int96 = int96::leaf_of(stored, time).is_some();
        let taken_as_utc = (!has_zone && !is_int96 && choice.clock.is_none()).then_some(time);
        let mut layout = Layout {
            fields: BTreeSet::from([time]),
            time,
            time_unit_ns,
            unit_is_taken: is_number && said_unit(field, choice).is_none(),
            is_of_clock: !has_zone && choice.clock.is_some(),
            taken_as_utc,
            rest: None,
            series: None,
            labels: Vec::new(),
            values: Vec::new(),
            own_series: Vec::new(),
        };
        let series = columns.only(Role::Series, &NAMES)?;
        let series = series.filter(|(_, field)| {
            columns.chosen(field).is_some() || cells::is_text(field.data_type())
        });
        let values = values(&columns);
        match series {
            Some((at, field)) if !cells::is_text(field.data_type()) => {
                let _ = at;
                return Err(refused(field, "names of series as text".to_owned()));
            }
            Some((at, _)) if !values.is_empty() => layout.long(&columns, at, &values)?,
            _ => layout.wide(&columns)?,
        }
        if layout.values.is_empty() {
            let found = format!("columns {}", listed(schema));
            return Err(Error::Layout { found, expected: "a column with values beside the times" });
        }
        layout.distinct(schema)?;
        columns.one_time(time)?;
        layout.labels.sort_by_key(|at| schema.fields().get(*at).map(|field| field.name()));
        let own_series = layout.own_series.iter().map(|(at, _)| *at);
        let read = layout.series.into_iter().chain(layout.rest).chain(own_series);
        let read = read.chain(layout.labels.iter().copied()).chain(layout.values.iter().copied());
        layout.fields.extend(read);
        Ok(layout)
    }

    /// A row is a sample; what else it has of text is a label.
    fn long(&mut self, columns: &Columns<'_>, series: usize, values: &[usize]) -> Result<()> {
        self.series = Some(series);
        for (at, field) in columns.all() {
            if at == self.time || at == series {
                continue;
            }
            let of_value = suffix(field.name()).filter(|_| columns.chosen(field).is_none());
            match columns.chosen(field) {
                Some(Role::Skip) => {}
                Some(Role::Label) => self.label(at, field)?,
                Some(Role::Field) => {
                    self.own_series.push((at, format!("_{}", known(field)?.name())));
                }
                _ if values.contains(&at) => self.values.push(known(field).map(|_| at)?),
                None if *field.data_type() == DataType::Null => {}
                None if columns.is_row_number(field) => {}
                None if self.time_unit_ns == 1_000 && is_rest(field) => self.rest = Some(at),
                None if of_value.is_some() && Kind::of(field.data_type()).is_some() => {
                    self.own_series.push((at, format!("_{}", of_value.unwrap_or_default())));
                }
                None if cells::is_text(field.data_type()) => self.label(at, field)?,
                _ => {
                    let name = shown(field.name());
                    let what = format!(
                        "columns of which is known what they are, beside time, series and value \
                         (texts are labels); say it with --columns '{name}=label', =field (a \
                         series of its own) or =skip"
                    );
                    return Err(refused(field, what));
                }
            }
        }
        Ok(())
    }

    /// A row has a value of several series, which are named as the columns.
    fn wide(&mut self, columns: &Columns<'_>) -> Result<()> {
        let is_said = columns.with(Role::Value).next().is_some();
        let values = values(columns);
        for (at, field) in columns.all() {
            let is_free = at != self.time && columns.chosen(field).is_none();
            if is_free && !is_said && !columns.is_row_number(field) {
                columns.one_reading((at, field), self.time, &values)?;
            }
            match columns.chosen(field) {
                _ if at == self.time => {}
                Some(Role::Skip) => {}
                None if columns.is_row_number(field) => {}
                Some(Role::Label) => self.label(at, field)?,
                _ if field.name().is_empty() => {
                    let what =
                        "a name for each column; leave it out with --columns =skip".to_owned();
                    return Err(refused(field, what));
                }
                Some(_) => self.values.push(known(field).map(|_| at)?),
                None if *field.data_type() == DataType::Null => self.values.push(at),
                None if cells::is_text(field.data_type()) => {
                    let name = shown(field.name());
                    let what = format!(
                        "columns of which is known what they are (beside time, each number is a \
                         series); a text tells rows apart or is a series itself: say it with \
                         --columns '{name}=label', =value or =skip"
                    );
                    return Err(refused(field, what));
                }
                None => self.values.push(known(field).map(|_| at)?),
            }
        }
        Ok(())
    }

    /// No two columns are one series, however their names are written.
    fn distinct(&self, schema: &Schema) -> Result<()> {
        let (mut seen, mut parser) = (HashSet::new(), NameParser::new());
        let mut check = |at: usize, name: &str| match schema.fields().get(at) {
            Some(field) if !seen.insert(parser.canonical(name).to_owned()) => {
                let name = shown(field.name());
                let what = format!(
                    "columns of different series; leave one out with --columns '{name}=skip', or \
                     rename it"
                );
                Err(refused(field, what))
            }
            _ => Ok(()),
        };
        self.own_series.iter().try_for_each(|(at, name)| check(*at, name))?;
        if self.series.is_some() {
            return Ok(());
        }
        let mut wide = self.values.iter().filter_map(|at| Some((*at, schema.fields().get(*at)?)));
        wide.try_for_each(|(at, field)| check(at, field.name()))
    }

    fn label(&mut self, at: usize, field: &Field) -> Result<()> {
        if field.name() == "__name__" || field.name().is_empty() {
            return Err(refused(field, "a name that a label can have".to_owned()));
        }
        known(field)?;
        self.labels.push(at);
        Ok(())
    }

    /// The schema, with texts as views into their pages.
    pub(super) fn views(&self, schema: &Schema) -> Schema {
        let field = |field: &Arc<Field>| match cells::is_text(field.data_type()) {
            true => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
            false => field.clone(),
        };
        Schema::new_with_metadata(
            schema.fields().iter().map(field).collect::<Vec<_>>(),
            schema.metadata().clone(),
        )
    }
}

/// The columns that have a row's value: chosen, or `value`, or those by type.
fn values(columns: &Columns<'_>) -> Vec<usize> {
    let chosen: Vec<usize> = columns.with(Role::Value).map(|(at, _)| at).collect();
    if !chosen.is_empty() {
        return chosen;
    }
    let free = || columns.all().filter(|(_, field)| columns.chosen(field).is_none());
    let mut named = free().filter(|(_, field)| field.name().eq_ignore_ascii_case(VALUE));
    if let Some((at, _)) = named.next() {
        return vec![at];
    }
    let is_typed = |field: &Field| {
        let kind = Kind::of(field.data_type());
        TYPED.iter().any(|(name, typed)| field.name() == name && kind == Some(*typed))
    };
    free().filter(|(_, field)| is_typed(field)).map(|(at, _)| at).collect()
}

/// Whether values of this type could be numbers of things.
fn is_number(kind: &DataType) -> bool {
    matches!(Kind::of(kind), Some(Kind::Integer | Kind::Float | Kind::Boolean))
}

/// What stands behind `value_`.
fn suffix(name: &str) -> Option<&str> {
    let (before, behind) = name.split_at_checked(VALUE.len() + 1)?;
    (before.eq_ignore_ascii_case("value_") && !behind.is_empty()).then_some(behind)
}

/// A column whose values can be taken.
fn known(field: &Field) -> Result<&Field> {
    match Kind::of(field.data_type()) {
        Some(_) => Ok(field),
        None => {
            let name = shown(field.name());
            let what = format!(
                "columns of numbers, truth values or text; leave it out with --columns '{name}=skip'"
            );
            Err(refused(field, what))
        }
    }
}

/// Whether it is what `baro export --time-unit us` and tables of `baro lake` have beside microseconds.
fn is_rest(field: &Field) -> bool {
    field.name() == REST && *field.data_type() == DataType::Int16
}

/// The unit of a time that is a number: what was said, or what its name ends with.
fn said_unit(field: &Field, choice: &Choice) -> Option<TimeUnit> {
    let by_name = || match field.name().rsplit_once('_')?.1.to_ascii_lowercase().as_str() {
        "s" => Some(TimeUnit::Seconds),
        "ms" => Some(TimeUnit::Milliseconds),
        "us" => Some(TimeUnit::Microseconds),
        "ns" => Some(TimeUnit::Nanoseconds),
        _ => None,
    };
    choice.unit.or_else(by_name)
}

/// Nanoseconds of one, and whether it is a number, in a unit that is said or taken.
fn unit_of(field: &Field, choice: &Choice) -> Result<(i64, bool)> {
    Ok(match field.data_type() {
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => (1, false),
        DataType::Timestamp(ArrowUnit::Microsecond, _) => (1_000, false),
        DataType::Timestamp(ArrowUnit::Millisecond, _) => (1_000_000, false),
        DataType::Timestamp(ArrowUnit::Second, _) => (1_000_000_000, false),
        DataType::Date32 => (86_400_000_000_000, false),
        kind if cells::is_text(kind) && choice.texts.is_some() => (1, false),
        kind if kind.is_integer() && *kind != DataType::UInt64 => {
            (said_unit(field, choice).unwrap_or_default().ns(), true)
        }
        // As in text, where a number with a point is seconds.
        DataType::Float64 => (said_unit(field, choice).unwrap_or(TimeUnit::Seconds).ns(), true),
        _ => {
            let what = "times as timestamps, dates, integers with their precision, or seconds as \
                        numbers of 64 bits with a point";
            let what = what.to_owned();
            return Err(refused(field, what));
        }
    })
}

fn refused(field: &Field, expected: String) -> Error {
    let (column, found) = (shown(field.name()), cells::type_name(field.data_type()));
    Error::Column { column, expected, found }
}

/// So much of a name as an error has room for.
fn shown(name: &str) -> String {
    name.chars().take(SHOWN_CHARS_MAX).collect()
}

fn listed(schema: &Schema) -> String {
    let all = schema.fields().iter().take(20);
    let one = |field: &Arc<Field>| {
        format!("{} ({})", shown(field.name()), cells::type_name(field.data_type()))
    };
    all.map(one).collect::<Vec<_>>().join(", ")
}
