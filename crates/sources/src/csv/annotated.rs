//! Annotated CSV, as InfluxDB 2 and 3 answer queries: several tables in one text, each with rows that say
//! the types, the tags and the defaults of its columns (`#datatype`, `#group`, `#default`) and a header.
//!
//! A row is a sample of the series `measurement_field{tag="value"}`, as in line protocol, at `_time`. What
//! the answer says about the query (`result`, `table`, `_start`, `_stop`) is no part of it. Every column
//! must be known to be a tag: one that is neither in the group nor of those above refuses its table, since
//! each value of it would make a series for good. A pivoted table (no `_field` and `_value`) has a field in
//! each column that is not in the group.
//!
//! An answer may have several results, such as a mean and a maximum by `yield`. The name of a series does not
//! say which, so one would overwrite the other: the first is taken, and rows of others are refused.
//!
//! Cells are taken as they stand, blanks too. An empty cell has its default, and without one no value; a
//! `_value` of text is an empty text then. Held by `tests::annotated_tables_become_series`.

use super::fields::{Fault, Field, Values, split};
use super::{CsvProblem, time_of};
use crate::form::Kind;
use crate::lines::quote;
use crate::number;
use crate::sample::{Joint, Mark, Sample, Scalar};
use crate::time::Times;
use baro_ondisk::write_name;
use std::borrow::Cow;
use std::collections::BTreeMap;

const DATATYPE: &str = "#datatype";
const GROUP: &str = "#group";
const DEFAULT: &str = "#default";
/// A tag that Prometheus writes to InfluxDB: the metric, which is the measurement too.
const METRIC: &str = "__name__";
/// What an answer says about its query.
const OF_QUERY: [&str; 4] = ["", "table", "_start", "_stop"];

/// What the text before the rows of a table has said.
#[derive(Debug, Default)]
pub(super) struct Annotated {
    types: Option<Vec<String>>,
    groups: Option<Vec<bool>>,
    defaults: Vec<String>,
    table: Table,
    /// The result that is taken, as soon as a row has said one.
    result: Option<String>,
}

#[derive(Debug, Default)]
enum Table {
    /// A header comes next.
    #[default]
    Coming,
    Columns(Vec<Column>),
    /// Its header, in this line, was refused.
    Refused(u64),
}

#[derive(Debug)]
struct Column {
    name: String,
    holds: Holds,
    default: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    /// Which result of the query the row is of.
    Result,
    Time,
    Measurement,
    FieldName,
    /// Its kind, if that is said.
    Value(Option<Kind>),
    Tag,
    /// A field of a pivoted table.
    Field(Kind),
}

/// Whether a line is one of those that say something about columns.
pub(super) fn is_annotation(content: &[u8]) -> bool {
    [DATATYPE, GROUP, DEFAULT].iter().any(|name| {
        content.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b','))
    })
}

/// Whether a line is a header of such a table, without any such line before it.
pub(super) fn is_header(text: &str) -> bool {
    let Ok(fields) = split(text, ',') else { return false };
    let has = |name: &&str| fields.iter().any(|field| field.text == *name);
    ["_time", "_value", "_field", "_measurement"].iter().all(has)
}

fn refused(said: String) -> Fault {
    Fault { offset: 0, problem: CsvProblem::Header { said } }
}

/// All cells of a line as they stand.
fn cells(text: &str) -> Result<Vec<Field<'_>>, Fault> {
    Ok(split(text, ',')?.into_iter().map(Field::exact).collect())
}

impl Annotated {
    /// A blank line ends a table.
    pub(super) fn blank(&mut self) {
        if !matches!(self.table, Table::Coming) {
            *self = Annotated { result: self.result.take(), ..Annotated::default() };
        }
    }

    /// A line that says something about columns.
    pub(super) fn annotation(&mut self, text: &str) -> Result<(), Fault> {
        self.blank();
        let fields = cells(text)?;
        let cells = || fields.iter().skip(1).map(|field| &*field.text);
        match fields.first().map(|field| field.text.trim()) {
            Some(DATATYPE) => {
                self.types = Some(cells().map(|cell| cell.trim().to_owned()).collect())
            }
            Some(GROUP) => self.groups = Some(cells().map(|cell| cell.trim() == "true").collect()),
            _ => self.defaults = cells().map(str::to_owned).collect(),
        }
        Ok(())
    }

    /// Any other line: a header or a row.
    pub(super) fn line<'a>(
        &mut self,
        line: u64,
        text: &'a str,
        times: &Times,
        each: &mut impl FnMut(Sample<'a>),
    ) -> Result<(), Fault> {
        match &self.table {
            Table::Columns(columns) => {
                let found = row(columns, self.result.as_deref(), (line, text), times, each)?;
                self.result = self.result.take().or(found);
                Ok(())
            }
            Table::Refused(header) => {
                // A row all the same: what stands in its quotes is no line of its own.
                cells(text)?;
                let said = format!("the columns of this row are refused: line {header} says why");
                Err(refused(said))
            }
            Table::Coming => {
                let columns = self.header(text);
                self.table = match &columns {
                    Ok(_) => Table::Coming,
                    Err(Fault { problem: CsvProblem::QuoteOpen, .. }) => Table::Coming,
                    Err(_) => Table::Refused(line),
                };
                self.table = Table::Columns(columns?);
                Ok(())
            }
        }
    }

    /// Whether a line would be taken as a row of the table.
    pub(super) fn is_row(&self, text: &str, times: &Times) -> bool {
        match &self.table {
            Table::Columns(columns) => {
                row(columns, self.result.as_deref(), (1, text), times, &mut |_| ()).is_ok()
            }
            Table::Refused(_) | Table::Coming => false,
        }
    }

    fn header(&self, text: &str) -> Result<Vec<Column>, Fault> {
        let fields = cells(text)?;
        let names: Vec<&str> = fields.iter().map(|field| &*field.text).collect();
        let has = |name: &str| names.contains(&name);
        for (name, found) in names.iter().enumerate().map(|(at, name)| (*name, at)) {
            if !name.is_empty() && names.iter().position(|one| *one == name) != Some(found) {
                return Err(refused(format!(
                    "expected each name once, found {:?} twice",
                    quote(name)
                )));
            }
        }
        for name in ["_time", "_measurement"] {
            if !has(name) {
                let found = quote(text);
                return Err(refused(format!(
                    "expected a column {name:?}, as a query of InfluxDB gives it, found {found:?}"
                )));
            }
        }
        let pivoted = !has("_field") && !has("_value");
        if has("_field") != has("_value") {
            let said = "expected columns _field and _value, or neither, found one of them";
            return Err(refused(said.to_owned()));
        }
        if pivoted && (self.types.is_none() || self.groups.is_none()) {
            let said = "expected columns _field and _value, or rows #datatype and #group that say which \
                        columns are fields";
            return Err(refused(said.to_owned()));
        }
        // An annotation has the place of the empty name at its begin.
        let place = |at: usize| at.checked_sub(usize::from(names.first() == Some(&"")));
        let said = |of: &Option<Vec<String>>, at| of.as_ref()?.get(place(at)?).cloned();
        let columns = names.iter().enumerate().map(|(at, name)| {
            let kind = said(&self.types, at);
            let grouped = self
                .groups
                .as_ref()
                .map(|of| place(at).and_then(|at| of.get(at)).copied().unwrap_or(false));
            let holds = match *name {
                "_time" => Holds::Time,
                "result" => Holds::Result,
                "_measurement" => Holds::Measurement,
                "_field" => Holds::FieldName,
                "_value" => {
                    Holds::Value(kind.as_deref().map(|kind| of_type(name, kind)).transpose()?)
                }
                name if OF_QUERY.contains(&name) => Holds::Nothing,
                name if grouped == Some(false) => match kind.as_deref() {
                    Some(kind) if pivoted => Holds::Field(of_type(name, kind)?),
                    _ => return Err(neither(name)),
                },
                name => match kind.as_deref() {
                    None | Some("string" | "tag") => Holds::Tag,
                    Some(_) => return Err(neither(name)),
                },
            };
            let default = place(at).and_then(|at| self.defaults.get(at)).cloned();
            Ok(Column { name: (*name).to_owned(), holds, default: default.unwrap_or_default() })
        });
        columns.collect()
    }
}

fn neither(name: &str) -> Fault {
    let name = quote(name);
    refused(format!(
        "column {name:?}: expected a tag, of type string and in the group, found another one: leave it \
         out in the query (drop)"
    ))
}

/// The kind of a value that InfluxDB calls so.
fn of_type(column: &str, name: &str) -> Result<Kind, Fault> {
    Ok(match name {
        "double" => Kind::F64,
        "long" => Kind::I64,
        "unsignedLong" => Kind::U64,
        "boolean" => Kind::Bool,
        "string" => Kind::Text,
        other => {
            let (column, found) = (quote(column), quote(other));
            return Err(refused(format!(
                "column {column:?}: expected double, long, unsignedLong, boolean or string, found \
                 {found:?}"
            )));
        }
    })
}

/// Hands on the samples of a row. Returns the name of its result, if it has one and that is the `first`.
fn row<'a>(
    columns: &[Column],
    first: Option<&str>,
    (line, text): (u64, &'a str),
    times: &Times,
    each: &mut impl FnMut(Sample<'a>),
) -> Result<Option<String>, Fault> {
    let fields = split(text, ',')?;
    if fields.len() != columns.len() {
        let (expected, found) = (columns.len(), fields.len());
        let problem = CsvProblem::FieldCount { expected, found };
        return Err(Fault { offset: text.len(), problem });
    }
    let (mut time_ns, mut measurement, mut field_name) = (None, None, None);
    let (mut tags, mut values) = (BTreeMap::new(), Vec::new());
    let mut result = None;
    let all = Values { decimal_comma: false };
    for (field, column) in fields.into_iter().zip(columns) {
        let mut field = match column.holds {
            Holds::Time => field,
            Holds::Value(Some(kind)) | Holds::Field(kind) if kind != Kind::Text => field,
            Holds::Value(None) if number::scalar(&field.text).is_ok() => field,
            _ => field.exact(),
        };
        let offset = field.offset;
        if field.text.is_empty() && !column.default.is_empty() {
            field.text = Cow::Owned(column.default.clone());
        }
        let within = |fault: Fault| {
            let (column, problem) = (quote(&column.name), Box::new(fault.problem));
            Fault { offset: fault.offset, problem: CsvProblem::Within { column, problem } }
        };
        match column.holds {
            Holds::Nothing => {}
            Holds::Result if field.text.is_empty() => {}
            Holds::Result => match first {
                Some(first) if first != field.text => {
                    let (first, found) = (quote(first), quote(&field.text));
                    return Err(Fault { offset, problem: CsvProblem::Result { first, found } });
                }
                Some(_) => {}
                None => result = Some(field.text.into_owned()),
            },
            Holds::Time => {
                let read = time_of(&field, times, &Values { decimal_comma: false }, &mut None)
                    .map_err(within)?;
                // These rows have a time, or say nothing.
                time_ns = Some(read.ok_or_else(|| {
                    let problem = CsvProblem::FieldMissing { field: "time" };
                    within(Fault { offset, problem })
                })?);
            }
            Holds::Measurement => measurement = Some((offset, field.text)),
            Holds::FieldName => field_name = Some((offset, field.text)),
            Holds::Tag if field.text.is_empty() => {}
            Holds::Tag => drop(tags.insert(column.name.as_str(), field.text)),
            Holds::Value(Some(Kind::Text)) => {
                values.push((None, Scalar::Text(field.text), Mark::As(Kind::Text.declares())));
            }
            Holds::Value(_) | Holds::Field(_) if field.text.is_empty() => {}
            Holds::Field(Kind::Text) => {
                let mark = Mark::As(Kind::Text.declares());
                values.push((Some(column.name.as_str()), Scalar::Text(field.text), mark));
            }
            Holds::Value(kind) => {
                let (value, mark) = all.read(field, kind, false).map_err(within)?;
                values.push((None, value, mark));
            }
            Holds::Field(kind) => {
                let (value, mark) = all.read(field, Some(kind), false).map_err(within)?;
                values.push((Some(column.name.as_str()), value, mark));
            }
        }
    }
    let named = |part: Option<(usize, Cow<'a, str>)>| match part {
        Some((_, name)) if !name.is_empty() => Ok(name),
        part => {
            let offset = part.map_or(0, |(offset, _)| offset);
            Err(Fault { offset, problem: CsvProblem::SeriesEmpty })
        }
    };
    let measurement = named(measurement)?;
    // Prometheus writes the metric here too, see `influx`.
    let repeated = match tags.remove(METRIC) {
        Some(metric) if metric != measurement => {
            return Err(Fault { offset: 0, problem: CsvProblem::Metric { found: quote(&metric) } });
        }
        found => found.is_some(),
    };
    let mut samples = Vec::with_capacity(values.len());
    for (field, value, mark) in values {
        let field = match field {
            Some(field) => Cow::Borrowed(field),
            None => named(field_name.clone())?,
        };
        let mut series = String::new();
        write_name(&mut series, &format!("{measurement}_{field}"), tags.iter());
        let joint = Some(Joint { repeated, ..Joint::behind(measurement.len()) });
        samples.push(Sample { line, time_ns, series: Cow::Owned(series), joint, value, mark });
    }
    samples.into_iter().for_each(each);
    Ok(result)
}
