//! CSV whose first line names its columns.
//!
//! Wide: a time, and a column for each series, by whose name it goes; an empty cell is no sample. Long:
//! a time, the name of a series and its value, in any order; what further columns hold are labels of the
//! series. `time`, `timestamp`, `ts`, `date`, `datetime` and `epoch` are times, with `_s`, `_ms`, `_us`
//! or `_ns` behind them in that unit; `series`, `name`, `sensor`, `metric`, `signal` and `variable` are
//! names, `value` is a value. `:i64` and the like behind a name of values says their type, and so does a
//! column `value_type` in a long file, for each row.
//!
//! Nothing is guessed: where two readings are possible the header is refused, and a label whose value
//! is a number or a time too, since each value of it would make a series for good.

use super::fields::{Fault, Field, Values, is_value, split, unguarded};
use super::{CsvProblem, time_of};
use crate::form::{Kind, Role, TextForm};
use crate::lines::quote;
use crate::sample::{Mark, Sample, Scalar};
use crate::time::Times;
use baro_ondisk::{NameParser, write_name};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

/// What may stand between fields, in the order in which it is tried.
const SEPARATORS: [char; 3] = [',', ';', '\t'];
const TIMES: [&str; 7] = ["time", "_time", "timestamp", "ts", "date", "datetime", "epoch"];
const NAMES: [&str; 6] = ["series", "name", "sensor", "metric", "signal", "variable"];
const VALUES: [&str; 2] = ["value", "_value"];
/// The column in which a long file says the type of each value.
pub(super) const VALUE_TYPE: &str = "value_type";

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
enum Holds {
    Time,
    Name,
    Value(Option<Kind>),
    Type,
    /// `sure`: somebody has said so.
    Label {
        sure: bool,
    },
    Nothing,
    /// Values of a series of this name.
    Series(String, Option<Kind>),
}

/// The columns of a header.
#[derive(Debug)]
pub(super) struct Columns {
    /// The header, as it was written.
    header: String,
    separator: char,
    names: Vec<String>,
    holds: Vec<Holds>,
    time: usize,
    times: Times,
    values: Values,
    labelled: bool,
    parser: NameParser,
}

/// What a line turned out to be.
pub(super) enum Header {
    /// The header of plain rows.
    Rows,
    Columns(Box<Columns>),
}

fn is_word(words: &[&str], name: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// Nanoseconds of a unit that a time's name says; 0 if it says none. `None` if it is no time's name.
fn time_unit_ns(name: &str) -> Option<i64> {
    if is_word(&TIMES, name) {
        return Some(0);
    }
    let (head, unit) = name.rsplit_once('_')?;
    let unit_ns = match unit {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        _ => return None,
    };
    is_word(&TIMES, head).then_some(unit_ns)
}

/// A name and the kind behind its last colon.
fn marked(name: &str) -> (&str, Option<Kind>) {
    match name.rsplit_once(':').map(|(head, kind)| (head, Kind::of_name(kind))) {
        Some((head, Some(kind))) if !head.is_empty() => (head, Some(kind)),
        _ => (name, None),
    }
}

fn refused(offset: usize, said: String) -> Fault {
    Fault { offset, problem: CsvProblem::Header { said } }
}

/// Reads a line as a header; `None` if it is none, since no column of it is a time.
pub(super) fn header(text: &str, form: &TextForm) -> Result<Option<Header>, Fault> {
    for separator in SEPARATORS {
        let Ok(fields) = split(text, separator) else { continue };
        let role = |name: &str| {
            form.columns.iter().find(|(other, _)| other == name).map(|(_, role)| *role)
        };
        let is_time = |field: &Field<'_>| match role(&field.text) {
            Some(role) => role == Role::Time,
            None => time_unit_ns(&field.text).is_some(),
        };
        if fields.len() < 2 || !fields.iter().any(is_time) {
            continue;
        }
        let names =
            |names: &[&str]| fields.iter().map(|field| &*field.text).eq(names.iter().copied());
        if separator == ','
            && form.columns.is_empty()
            && (names(&["time", "series", "value"])
                || names(&["time", "series", "value", VALUE_TYPE]))
        {
            return Ok(Some(Header::Rows));
        }
        return Columns::new(text, separator, fields, form, &role).map(Some);
    }
    Ok(None)
}

impl Columns {
    fn new(
        header: &str,
        separator: char,
        fields: Vec<Field<'_>>,
        form: &TextForm,
        role: &dyn Fn(&str) -> Option<Role>,
    ) -> Result<Header, Fault> {
        let mut seen = HashSet::new();
        for field in &fields {
            if field.text.is_empty() && role("").is_none() {
                let said = "expected a name for each column, found one without (--columns =time or \
                            =skip says what it is)";
                return Err(refused(field.offset, said.into()));
            }
            if !seen.insert(&*field.text) {
                let name = quote(&field.text);
                let said = format!("expected each name once, found {name:?} twice");
                return Err(refused(field.offset, said));
            }
        }
        let said_time = fields.iter().any(|field| role(&field.text) == Some(Role::Time));
        let long = |said: Role, words: &[&str]| {
            let by_role = fields.iter().position(|field| role(&field.text) == Some(said));
            let by_word = |field: &Field<'_>| {
                role(&field.text).is_none() && is_word(words, marked(&field.text).0)
            };
            let mut found = fields.iter().enumerate().filter(|(_, field)| by_word(field));
            match (by_role, found.next(), found.next()) {
                (Some(at), ..) => Ok(Some(at)),
                (None, Some((at, _)), None) => Ok(Some(at)),
                (None, None, _) => Ok(None),
                (None, Some((_, a)), Some((_, b))) => Err(two(a, b)),
            }
        };
        let values_at = long(Role::Value, &VALUES)?;
        let (names_at, values_at) = match (long(Role::Series, &NAMES), values_at) {
            (Ok(Some(names)), Some(values)) => (Some(names), Some(values)),
            (Err(fault), Some(_)) => return Err(fault),
            (Ok(Some(names)), None) => {
                let field = &fields[names];
                let name = quote(&field.text);
                let said = format!(
                    "expected a column value beside {name:?}, which names series, found none; \
                     --columns says what columns are, such as {name}=label, {name}=values or \
                     OTHER=value"
                );
                return Err(refused(field.offset, said));
            }
            (Err(fault), None) => return Err(fault),
            // A value without a name is one of a series called so.
            (Ok(None), values) => {
                if values.is_some_and(|at| role(&fields[at].text) == Some(Role::Value)) {
                    let said = "expected a column of names of series, found none (--columns \
                                NAME=series says which it is)";
                    return Err(refused(0, said.into()));
                }
                (None, None)
            }
        };
        let mut holds = Vec::with_capacity(fields.len());
        let mut time = None;
        let mut times = form.times;
        for (at, field) in fields.iter().enumerate() {
            let name = &*field.text;
            let (bare, kind) = marked(name);
            let said = role(name);
            let as_time = said == Some(Role::Time)
                || said.is_none() && !said_time && time_unit_ns(name).is_some();
            holds.push(if as_time {
                if let Some(first) = time.replace(at) {
                    return Err(two(&fields[first], field));
                }
                if let Some(unit_ns) = time_unit_ns(name).filter(|unit_ns| *unit_ns > 0) {
                    times = times.of_unit(unit_ns);
                }
                Holds::Time
            } else if names_at == Some(at) {
                Holds::Name
            } else if values_at == Some(at) {
                Holds::Value(kind)
            } else {
                let long = names_at.is_some();
                match said {
                    Some(Role::Skip) => Holds::Nothing,
                    Some(Role::Label) => Holds::Label { sure: true },
                    Some(Role::Values(kind)) if !long => Holds::Series(name.to_owned(), kind),
                    None if long && name == VALUE_TYPE => Holds::Type,
                    None if long => Holds::Label { sure: false },
                    None => Holds::Series(bare.to_owned(), kind),
                    Some(_) => {
                        let name = quote(name);
                        let said = format!(
                            "expected label or skip for column {name:?} beside one of names and \
                             one of values"
                        );
                        return Err(refused(field.offset, said));
                    }
                }
            });
        }
        let Some(time) = time else {
            return Err(refused(0, "expected a column of times, found none".into()));
        };
        let has = |wanted: fn(&Holds) -> bool| holds.iter().any(wanted);
        if names_at.is_none() && !has(|holds| matches!(holds, Holds::Series(..))) {
            return Err(refused(0, "expected a column of values, found none".into()));
        }
        let labelled = has(|holds| matches!(holds, Holds::Label { .. }));
        Ok(Header::Columns(Box::new(Columns {
            header: header.to_owned(),
            separator,
            names: fields.into_iter().map(|field| field.text.into_owned()).collect(),
            holds,
            time,
            times,
            values: Values { decimal_comma: form.decimal_comma },
            labelled,
            parser: NameParser::new(),
        })))
    }

    /// Whether a line that begins with `#` is a comment: not where names may.
    pub(super) fn has_comments(&self) -> bool {
        self.time == 0
    }

    /// Whether this is its header once more.
    pub(super) fn is_same(&self, text: &str) -> bool {
        text == self.header
    }

    /// Whether this may be another header, as no value is in it.
    pub(super) fn is_header(&self, text: &str) -> bool {
        let Ok(fields) = split(text, self.separator) else { return false };
        // Cells of values would be read as such.
        fields.iter().any(|field| time_unit_ns(&field.text).is_some())
            && !fields.iter().any(|field| is_value(&field.text))
    }

    /// Hands on the samples of a row, all or none.
    pub(super) fn row<'a>(
        &mut self,
        line: u64,
        text: &'a str,
        each: &mut impl FnMut(Sample<'a>),
    ) -> Result<(), Fault>
    where
        Self: 'a,
    {
        let fields = split(text, self.separator)?;
        if fields.len() != self.holds.len() {
            let (expected, found) = (self.holds.len(), fields.len());
            let problem = CsvProblem::FieldCount { expected, found };
            return Err(Fault { offset: text.len(), problem });
        }
        let all_quoted = fields.iter().all(|field| field.quoted);
        let (mut name, mut value, mut kind) = (None, None, None);
        let (mut time_ns, mut labels) = (None, BTreeMap::new());
        let mut wide = Vec::new();
        for (at, (field, holds)) in fields.into_iter().zip(&self.holds).enumerate() {
            let offset = field.offset;
            match holds {
                Holds::Nothing => {}
                Holds::Time => time_ns = time_of(&field, &self.times)?,
                Holds::Name if field.text.is_empty() => {
                    return Err(Fault { offset, problem: CsvProblem::SeriesEmpty });
                }
                Holds::Name => name = Some((offset, unguarded(field.text))),
                Holds::Value(said) => value = Some((field, *said)),
                Holds::Type => {
                    let Some(found) = Kind::of_name(&field.text) else {
                        let problem = CsvProblem::Kind { found: quote(&field.text) };
                        return Err(Fault { offset, problem });
                    };
                    kind = Some(found);
                }
                Holds::Label { .. } if field.text.is_empty() => {}
                Holds::Label { sure } => {
                    let column = self.names.get(at).map(String::as_str).unwrap_or_default();
                    if !sure && is_value(&field.text) {
                        let (column, found) = (quote(column), quote(&field.text));
                        let problem = CsvProblem::LabelNumber { column, found };
                        return Err(Fault { offset, problem });
                    }
                    labels.insert(column.to_owned(), field.text.into_owned());
                }
                Holds::Series(..) if field.text.is_empty() && !field.quoted => {}
                Holds::Series(series, kind) => {
                    let read = self.values.read(field, *kind, all_quoted);
                    let (value, mark) = read.map_err(|fault| within(fault, series))?;
                    wide.push((series.clone(), value, mark));
                }
            }
        }
        if let (Some((offset, name)), Some((field, said))) = (name, value) {
            let (value, mark) = self.values.read(field, kind.or(said), all_quoted)?;
            let series = self.labelled_name(offset, name, &mut labels)?;
            each(Sample { line, time_ns, series, value, mark });
            return Ok(());
        }
        let mut named: Vec<(Cow<'a, str>, Scalar<'a>, Mark)> = Vec::with_capacity(wide.len());
        for (series, value, mark) in wide {
            let mut labels = labels.clone();
            named.push((self.labelled_name(0, series.into(), &mut labels)?, value, mark));
        }
        for (series, value, mark) in named {
            each(Sample { line, time_ns, series, value, mark });
        }
        Ok(())
    }

    /// A name with the labels of the row beside those that it has.
    fn labelled_name<'n>(
        &mut self,
        offset: usize,
        name: Cow<'n, str>,
        labels: &mut BTreeMap<String, String>,
    ) -> Result<Cow<'n, str>, Fault> {
        if !self.labelled || labels.is_empty() {
            return Ok(name);
        }
        self.parser.parse(&name);
        for at in 0..self.parser.len() {
            let Some((key, value)) = self.parser.label_at(&name, at) else { continue };
            if labels.insert(key.to_string(), value.into_owned()).is_some() {
                let label = quote(&key);
                let problem = CsvProblem::LabelTwice { label };
                return Err(Fault { offset, problem });
            }
        }
        let mut text = String::new();
        write_name(&mut text, &self.parser.metric(&name), labels.iter());
        Ok(text.into())
    }
}

/// A fault of a cell, with the name of its column.
fn within(fault: Fault, column: &str) -> Fault {
    let (column, problem) = (quote(column), Box::new(fault.problem));
    Fault { offset: fault.offset, problem: CsvProblem::Within { column, problem } }
}

fn two(a: &Field<'_>, b: &Field<'_>) -> Fault {
    let (a_name, b_name) = (quote(&a.text), quote(&b.text));
    let said = format!(
        "expected one column of its kind, found {a_name:?} and {b_name:?} (--columns {a_name}=skip \
         or --columns {b_name}=skip says which counts)"
    );
    refused(b.offset, said)
}
