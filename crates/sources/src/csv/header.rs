//! The first line of CSV that names its columns, and what they hold.
//!
//! Wide: a time, and a column for each series, by whose name it goes; an empty cell is no sample. Long:
//! a time, the name of a series and its value, in any order; what further columns hold are labels of the
//! series. `time`, `timestamp`, `@timestamp`, `ts`, `date`, `datetime` and `epoch` are times, with `_s`, `_ms`,
//! `_us` or `_ns` behind them in that unit; `series`, `name`, `sensor`, `metric`, `signal` and `variable` are
//! names, `value` is a value. `:i64` and the like behind a name of values says their type, and so does a
//! column `value_type` in a long file, for each row.
//!
//! A first column without a name has numbers of rows, as pandas and R write them: it is passed over.
//!
//! Nothing is guessed: where two readings are possible the header is refused, and a label whose value
//! is a number or a time too, since each value of it would make a series for good. So is a column `value`
//! beside others and without names: these may tell series apart, and read as series of their own they would
//! leave one value of several at each time.

use super::CsvProblem;
use super::columns::Columns;
use super::fields::{Fault, Field, Values, split};
use crate::form::{Kind, Role, TextForm};
use crate::lines::quote;
use crate::time::Times;
use baro_ondisk::{NameParser, is_called_id};
use std::collections::HashSet;

/// What may stand between fields, in the order in which it is tried.
pub(super) const SEPARATORS: [char; 3] = [',', ';', '\t'];
const TIMES: [&str; 8] =
    ["time", "_time", "timestamp", "@timestamp", "ts", "date", "datetime", "epoch"];
/// How many columns an error names.
const SHOWN_MAX: usize = 20;
const NAMES: [&str; 6] = ["series", "name", "sensor", "metric", "signal", "variable"];
const VALUES: [&str; 2] = ["value", "_value"];
/// The column in which a long file says the type of each value.
pub(crate) const VALUE_TYPE: &str = "value_type";

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Holds {
    Time,
    Name,
    Value(Option<Kind>),
    Type,
    /// `sure`: somebody has said so.
    Label {
        sure: bool,
    },
    Nothing,
    /// Numbers of rows, which say nothing.
    RowNumber,
    /// Nothing may be in it: one of those without a name that spreadsheets write behind the others.
    Blank,
    /// Values of a series of this name.
    Series(String, Option<Kind>),
}

fn is_word(words: &[&str], name: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// Nanoseconds of a unit that a time's name says; 0 if it says none. `None` if it is no time's name.
pub(crate) fn time_unit_ns(name: &str) -> Option<i64> {
    if is_word(&TIMES, name) {
        return Some(0);
    }
    let (head, unit) = name.rsplit_once('_')?;
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let (_, unit_ns) = units.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    is_word(&TIMES, head).then_some(unit_ns)
}

/// Whether a column of this name names series, also as the key of a JSON object.
pub(crate) fn is_name(name: &str) -> bool {
    is_word(&NAMES, name)
}

/// Whether a column of this name has the values of a long file, also as the key of a JSON object.
pub(crate) fn is_value_name(name: &str) -> bool {
    is_word(&VALUES, name)
}

/// What is said of a column, or key of a JSON object, that is called as numbers of devices are.
pub(crate) fn what_is(name: &str) -> String {
    format!(
        "expected to know what {name:?} is: --columns {name}=label if it tells series apart, {name}=skip if \
         it says nothing, {name}=values if it is a series"
    )
}

/// A name and the kind behind its last colon.
fn marked(name: &str) -> (&str, Option<Kind>) {
    match name.rsplit_once(':').map(|(head, kind)| (head, Kind::of_name(kind))) {
        Some((head, Some(kind))) if !head.is_empty() => (head, Some(kind)),
        _ => (name, None),
    }
}

/// What other programs call a type, behind the last colon of a name: hardly a part of it.
fn other_kind(name: &str) -> Option<&str> {
    const OTHERS: [&str; 24] = [
        "float", "float32", "float64", "double", "real", "f32", "int", "int8", "int16", "int32",
        "int64", "integer", "long", "i32", "u32", "uint8", "uint16", "uint32", "uint64", "number",
        "string", "str", "varchar", "boolean",
    ];
    let (_, kind) = name.rsplit_once(':')?;
    is_word(&OTHERS, kind).then_some(kind)
}

pub(super) fn refused(offset: usize, said: String) -> Fault {
    Fault { offset, problem: CsvProblem::Header { said } }
}

/// What a line turned out to be.
pub(super) enum Header {
    /// The header of plain rows.
    Rows,
    Columns(Box<Columns>),
}

/// What each column of a header holds.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) names: Vec<String>,
    pub(super) holds: Vec<Holds>,
    /// Which is the time.
    pub(super) time: usize,
    pub(super) times: Times,
}

/// The role that somebody has said of a column.
fn role(form: &TextForm, name: &str) -> Option<Role> {
    form.columns.iter().find(|(other, _)| other == name).map(|(_, role)| *role)
}

/// What separates the fields of a line that is no row.
pub(super) fn separator_of(text: &str) -> char {
    let several = |separator: &char| split(text, *separator).is_ok_and(|fields| fields.len() > 1);
    SEPARATORS.into_iter().find(several).unwrap_or(',')
}

/// Names of columns that somebody speaks of and that are not among these: a mistake of writing would make
/// another series of each row.
fn all_are_there(fields: &[Field<'_>], form: &TextForm) -> Result<(), Fault> {
    let is_there = |name: &str| fields.iter().any(|field| field.text == name);
    let Some((name, _)) = form.columns.iter().find(|(name, _)| !is_there(name)) else {
        return Ok(());
    };
    let shown = fields.iter().take(SHOWN_MAX).map(|field| format!("{:?}", quote(&field.text)));
    let (name, found) = (quote(name), shown.collect::<Vec<_>>().join(", "));
    Err(refused(0, format!("expected a column {name:?}, which --columns names, found {found}")))
}

/// Reads a line as a header; `None` if it is none, since no column of it is a time.
pub(super) fn header(text: &str, form: &TextForm) -> Result<Option<Header>, Fault> {
    for separator in SEPARATORS {
        let Ok(fields) = split(text, separator) else { continue };
        let is_time = |field: &Field<'_>| match role(form, &field.text) {
            Some(role) => role == Role::Time,
            None => time_unit_ns(&field.text).is_some(),
        };
        if fields.len() < 2 || !fields.iter().any(is_time) {
            continue;
        }
        // Else all of the file would be names of columns, and no row.
        if let Some(field) = fields.iter().find(|field| !field.quoted && field.text.contains('\r'))
        {
            let said = "expected lines that end with LF, or with CR and LF, found CR alone (as old \
                        Macintosh programs write it; convert it with: tr '\\r' '\\n')";
            return Err(refused(field.offset, said.into()));
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
        let values = Values { decimal_comma: form.decimal_comma };
        let columns = Columns::new(text, separator, values, layout(fields, form)?);
        return Ok(Some(Header::Columns(Box::new(columns))));
    }
    Ok(None)
}

/// Names that are written otherwise and are one series are the same.
fn distinct(fields: &[Field<'_>], form: &TextForm) -> Result<(), Fault> {
    let (mut seen, mut parser) = (HashSet::new(), NameParser::new());
    for (at, field) in fields.iter().enumerate() {
        if field.text.is_empty() && role(form, "").is_none() && at > 0 {
            let said = "expected a name for each column, found one without (--columns =time or \
                        =skip says what it is)";
            return Err(refused(field.offset, said.into()));
        }
        let (name, _) = marked(&field.text);
        if !seen.insert(parser.canonical(name).to_owned()) {
            let name = quote(name);
            let said = format!("expected each name once, found {name:?} twice");
            return Err(refused(field.offset, said));
        }
    }
    Ok(())
}

/// The column that somebody has said to be this, or the one whose name says so.
fn place(
    fields: &[Field<'_>],
    form: &TextForm,
    said: Role,
    words: &[&str],
) -> Result<Option<usize>, Fault> {
    if let Some(at) = fields.iter().position(|field| role(form, &field.text) == Some(said)) {
        return Ok(Some(at));
    }
    let by_word = |field: &Field<'_>| {
        role(form, &field.text).is_none() && is_word(words, marked(&field.text).0)
    };
    let mut found = fields.iter().enumerate().filter(|(_, field)| by_word(field));
    match (found.next(), found.next()) {
        (Some((_, a)), Some((_, b))) => Err(two(a, b)),
        (first, _) => Ok(first.map(|(at, _)| at)),
    }
}

/// Columns of names and of values, if the file is long.
fn long(fields: &[Field<'_>], form: &TextForm) -> Result<Option<(usize, usize)>, Fault> {
    let values = place(fields, form, Role::Value, &VALUES)?;
    let names = place(fields, form, Role::Series, &NAMES)?;
    match (names, values) {
        (Some(names), Some(values)) => Ok(Some((names, values))),
        (Some(names), None) => {
            let field = &fields[names];
            let name = quote(&field.text);
            let said = format!(
                "expected a column value beside {name:?}, which names series, found none; --columns \
                 says what columns are, such as {name}=label, {name}=values or OTHER=value"
            );
            Err(refused(field.offset, said))
        }
        (None, Some(values)) if role(form, &fields[values].text) == Some(Role::Value) => {
            let said = "expected a column of names of series, found none (--columns NAME=series says \
                        which it is)";
            Err(refused(0, said.into()))
        }
        // A value without a name is one of a series called so.
        (None, _) => Ok(None),
    }
}

/// Refuses a column of which nobody has said what it is beside one called `value` and none of names: it may
/// tell series apart, or be one.
fn one_reading(fields: &[Field<'_>], form: &TextForm) -> Result<(), Fault> {
    let unsaid = |field: &&Field<'_>| role(form, &field.text).is_none();
    let mut values = fields.iter().filter(unsaid);
    let Some(value) = values.find(|field| is_word(&VALUES, marked(&field.text).0)) else {
        return Ok(());
    };
    let other = fields.iter().find(|field| {
        let is_known = time_unit_ns(&field.text).is_some() || marked(&field.text).1.is_some();
        unsaid(field) && field.text != value.text && !field.text.is_empty() && !is_known
    });
    other.map_or(Ok(()), |other| {
        let (value, name) = (quote(&value.text), quote(&other.text));
        let said = format!(
            "expected to know what {name:?} is beside {value:?}, and no column of names: --columns \
             {name}=label if it tells series apart, {name}=skip if it says nothing, {value}=values if \
             each column is a series"
        );
        Err(refused(other.offset, said))
    })
}

fn layout(mut fields: Vec<Field<'_>>, form: &TextForm) -> Result<Layout, Fault> {
    // Spreadsheets write cells that were used once.
    let blank = fields.iter().skip(1).rev().take_while(|field| field.text.is_empty()).count();
    fields.truncate(fields.len() - blank);
    distinct(&fields, form)?;
    all_are_there(&fields, form)?;
    let long = long(&fields, form)?;
    if long.is_none() {
        one_reading(&fields, form)?;
    }
    let said_time = fields.iter().any(|field| role(form, &field.text) == Some(Role::Time));
    let mut holds = Vec::with_capacity(fields.len());
    let all_are_values = form.columns.iter().any(|(_, role)| matches!(role, Role::Values(_)));
    let (mut time, mut times) = (None, form.times);
    for (at, field) in fields.iter().enumerate() {
        let said = role(form, &field.text);
        let unit_ns = time_unit_ns(&field.text);
        if said == Some(Role::Time) || said.is_none() && !said_time && unit_ns.is_some() {
            if let Some(first) = time.replace(at) {
                return Err(two(&fields[first], field));
            }
            if let Some(unit_ns) = unit_ns.filter(|unit_ns| *unit_ns > 0) {
                times = times.of_unit(unit_ns);
            }
            holds.push(Holds::Time);
        } else {
            let held = held(at, field, said, long)?;
            if said.is_none()
                && !all_are_values
                && matches!(&held, Holds::Series(name, None) if is_called_id(name))
            {
                return Err(refused(field.offset, what_is(&quote(&field.text))));
            }
            holds.push(held);
        }
    }
    let Some(time) = time else {
        return Err(refused(0, "expected a column of times, found none".into()));
    };
    holds.extend(std::iter::repeat_n(Holds::Blank, blank));
    let values = |holds: &Holds| matches!(holds, Holds::Series(..) | Holds::Value(_));
    if !holds.iter().any(values) {
        return Err(refused(0, "expected a column of values, found none".into()));
    }
    let names = fields.into_iter().map(|field| field.text.into_owned()).collect();
    Ok(Layout { names, holds, time, times })
}

/// What a column holds that is no time.
fn held(
    at: usize,
    field: &Field<'_>,
    said: Option<Role>,
    long: Option<(usize, usize)>,
) -> Result<Holds, Fault> {
    let (bare, kind) = marked(&field.text);
    match (said, long) {
        (_, Some((names, _))) if names == at => Ok(Holds::Name),
        (_, Some((_, values))) if values == at => Ok(Holds::Value(kind)),
        (Some(Role::Skip), _) => Ok(Holds::Nothing),
        (Some(Role::Label), _) => Ok(Holds::Label { sure: label(field)? }),
        (Some(Role::Values(kind)), None) => Ok(Holds::Series(field.text.to_string(), kind)),
        (None, _) if at == 0 && field.text.is_empty() => Ok(Holds::RowNumber),
        (None, _) if other_kind(&field.text).is_some() => {
            let (name, found) =
                (quote(&field.text), quote(other_kind(&field.text).unwrap_or_default()));
            let said = format!(
                "expected f64, i64, u64, bool or text behind the colon of {name:?}, found {found:?} \
                 (--columns {name}=f64 and the like keep the name)"
            );
            Err(refused(field.offset, said))
        }
        (None, Some(_)) if field.text == VALUE_TYPE => Ok(Holds::Type),
        (None, Some(_)) => label(field).map(|_| Holds::Label { sure: false }),
        (None, None) => Ok(Holds::Series(bare.to_owned(), kind)),
        (Some(_), _) => {
            let name = quote(&field.text);
            let said = format!(
                "expected label or skip for column {name:?} beside one of names and one of values"
            );
            Err(refused(field.offset, said))
        }
    }
}

/// A series has one metric, and it is no label of it.
fn label(field: &Field<'_>) -> Result<bool, Fault> {
    if matches!(&*field.text, "" | "__name__") {
        let name = quote(&field.text);
        let said = format!(
            "expected a name that a label can have, found {name:?} (--columns {name}=series if it names \
             the series, else {name}=skip)"
        );
        return Err(refused(field.offset, said));
    }
    Ok(true)
}

fn two(a: &Field<'_>, b: &Field<'_>) -> Fault {
    let (a_name, b_name) = (quote(&a.text), quote(&b.text));
    // Half of a time would put all rows of a day at midnight.
    let is_day = |field: &Field<'_>| field.text.eq_ignore_ascii_case("date");
    let both =
        "if one has the day and the other one the time of day, join them to one before; else ";
    let both = if is_day(a) || is_day(b) { both } else { "" };
    let next =
        format!("{both}--columns {a_name}=skip or --columns {b_name}=skip says which counts");
    let said = format!("expected one column of its kind, found {a_name:?} and {b_name:?} ({next})");
    refused(b.offset, said)
}
