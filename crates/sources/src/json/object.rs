//! One JSON object as samples, by the same rules as a header of CSV: the names of its keys say what they
//! are, and `--columns` says it where they do not.
//!
//! Long: a key of those that name series (`series`, `name`, `sensor` ..), `value`, and texts that are labels.
//! Wide: each key is a series. A key that names a series and has a number is a series itself, since a name is
//! a text. Where both readings are possible the object is refused: a series called `value` would get the
//! samples of every sensor.
//!
//! Invariant: an object has one reading or is refused. Held by `super::tests::a_named_value_is_long`.

use super::{JsonProblem, scalar, time};
use crate::csv::{VALUE_TYPE, is_name, is_value, is_value_name, time_unit_ns};
use crate::form::{Kind, Role, TextForm};
use crate::labels::labelled;
use crate::lines::quote;
use crate::number;
use crate::sample::{Mark, Scalar};
use crate::time::Times;
use baro_ondisk::{NameParser, is_called_id};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

type Member<'a> = (String, &'a RawValue);
pub(super) type Values<'a> = Vec<(Cow<'a, str>, Scalar<'a>, Mark)>;
type Labels = BTreeMap<String, String>;

/// What somebody has said of a key.
fn role(form: &TextForm, key: &str) -> Option<Role> {
    form.columns.iter().find(|(other, _)| other == key).map(|(_, role)| *role)
}

/// The key that is the time, where none is called `time` or `time_ns` or is said to be it.
fn other_time<'a>(
    members: &'a [Member<'_>],
    form: &TextForm,
) -> Result<Option<&'a str>, JsonProblem> {
    let keys = || members.iter().map(|(key, _)| key.as_str());
    let mut said = keys().filter(|key| role(form, key) == Some(Role::Time));
    match (said.next(), said.next()) {
        (Some(a), Some(b)) => return Err(JsonProblem::Times { a: quote(a), b: quote(b) }),
        (Some(time), None) => return Ok(Some(time)),
        (None, _) => {}
    }
    let free = || keys().filter(|key| role(form, key).is_none());
    if free().any(|key| matches!(key, "time" | "time_ns")) {
        return Ok(None);
    }
    let is_round =
        |key: &str| key.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("epoch"));
    let mut found = free().filter(|key| time_unit_ns(key).is_some() && !is_round(key));
    match (found.next(), found.next()) {
        (Some(a), Some(b)) => Err(JsonProblem::Times { a: quote(a), b: quote(b) }),
        (first, _) => Ok(first),
    }
}

/// The time of an object and its values.
pub(super) fn read<'a>(
    members: &'a [Member<'a>],
    form: &TextForm,
    early: &mut Option<bool>,
) -> Result<(Option<i64>, Values<'a>), JsonProblem> {
    let other = other_time(members, form)?;
    let said_time = other.is_some_and(|key| role(form, key).is_some());
    let is_time = |key: &str| {
        let named = matches!(key, "time" | "time_ns") && !said_time && role(form, key).is_none();
        named || other == Some(key)
    };
    let mut time_ns = None;
    let mut seen: HashSet<Cow<'_, str>> = HashSet::with_capacity(members.len());
    let mut names = NameParser::new();
    for (key, value) in members {
        // Names that are written otherwise and are one series are the same.
        let name = match key.as_str() {
            "time_ns" if is_time(key) => "time".into(),
            key if key.contains('{') => names.canonical(key).to_owned().into(),
            key => key.into(),
        };
        if !seen.insert(name) {
            return Err(JsonProblem::Twice { key: quote(key) });
        }
        if is_time(key) {
            // A name may say the unit.
            let times = match time_unit_ns(key) {
                _ if key == "time_ns" => Times::default(),
                Some(unit_ns @ 1..) => form.times.of_unit(unit_ns),
                _ => form.times,
            };
            time_ns = time(value, &times)?;
            let checked = time_ns.filter(|_| key != "time_ns");
            let form = checked.map_or(Ok(()), |ns| times.check_form(value.get(), ns, early));
            form.map_err(|fault| JsonProblem::Time { found: quote(value.get()), fault })?;
        }
    }
    // What `baro cat --format json` writes beside samples: a note is none, and a frame cannot be one.
    if is_note_of_cat(members) {
        return Ok((None, Vec::new()));
    }
    if seen.contains("channel") && seen.contains("hex") && seen.contains("bytes") {
        return Err(JsonProblem::Frame);
    }
    let rest: Vec<&Member<'_>> = members.iter().filter(|(key, _)| !is_time(key)).collect();
    let values = match long(&rest, form)? {
        Some((name, value)) => one(&rest, name, value, form, &mut names)?,
        None => many(&rest, form, &mut names)?,
    };
    let all_missing = || !rest.is_empty() && rest.iter().all(|(_, raw)| raw.get() == "null");
    if values.is_empty() && !all_missing() {
        return Err(JsonProblem::NoValues);
    }
    Ok((time_ns, values))
}

/// Whether an object is exactly what `baro cat` says of records that were lost or of a step of the clock:
/// another note is somebody's value.
fn is_note_of_cat(members: &[Member<'_>]) -> bool {
    let [(time, at), (note, said)] = members else { return false };
    let is_number = at.get().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let said: Option<String> = serde_json::from_str(said.get()).ok();
    let is_said = said.is_some_and(|said| {
        let lost = said.split_once(" records lost: ");
        said == "the realtime clock was stepped"
            || lost.is_some_and(|(count, _)| count.bytes().all(|byte| byte.is_ascii_digit()))
    });
    time == "time_ns" && note == "note" && is_number && is_said
}

/// The member that somebody has said to be this, or the one whose key says so.
fn place(
    rest: &[&Member<'_>],
    form: &TextForm,
    said: Role,
    is_word: fn(&str) -> bool,
) -> Result<Option<usize>, JsonProblem> {
    let at = |is: &dyn Fn(&str) -> bool| {
        let mut found = (0..rest.len()).filter(|at| rest.get(*at).is_some_and(|one| is(&one.0)));
        (found.next(), found.next())
    };
    let found = match at(&|key| role(form, key) == Some(said)) {
        (None, _) => at(&|key| role(form, key).is_none() && is_word(key)),
        found => found,
    };
    let key = |at: usize| rest.get(at).map_or(String::new(), |one| quote(&one.0));
    match found {
        (Some(a), Some(b)) => Err(JsonProblem::TwoOfAKind { a: key(a), b: key(b) }),
        (first, _) => Ok(first),
    }
}

/// The places of the name and of the value, if the object has one of each.
fn long(rest: &[&Member<'_>], form: &TextForm) -> Result<Option<(usize, usize)>, JsonProblem> {
    let said = |role_said| rest.iter().any(|(key, _)| role(form, key) == Some(role_said));
    let Some(value) = place(rest, form, Role::Value, is_value_name)? else {
        // A number under such a key is no name.
        let names = rest.iter().find(|(key, raw)| match role(form, key) {
            Some(role) => role == Role::Series,
            None => is_name(key) && raw.get().starts_with('"') && !said(Role::Series),
        });
        return match names {
            Some((key, _)) => Err(JsonProblem::ValueMissing { key: quote(key) }),
            None => Ok(None),
        };
    };
    if let Some(name) = place(rest, form, Role::Series, is_name)? {
        return Ok(Some((name, value)));
    }
    if said(Role::Value) {
        return Err(JsonProblem::NameMissing);
    }
    // A value alone is one of a series called so.
    let other =
        rest.iter().enumerate().find(|(at, (key, _))| *at != value && role(form, key).is_none());
    match other {
        Some((_, (key, _))) => {
            let value = rest.get(value).map_or(String::new(), |one| quote(&one.0));
            Err(JsonProblem::TwoWays { value, key: quote(key) })
        }
        None => Ok(None),
    }
}

/// One value with its name and labels.
fn one<'a>(
    rest: &[&'a Member<'a>],
    name_at: usize,
    value_at: usize,
    form: &TextForm,
    names: &mut NameParser,
) -> Result<Values<'a>, JsonProblem> {
    let (mut name, mut value, mut kind) = (String::new(), None, None);
    let mut labels = Labels::new();
    for (at, (key, raw)) in rest.iter().enumerate() {
        match role(form, key) {
            _ if at == name_at => {
                name = serde_json::from_str(raw.get())
                    .map_err(|_| JsonProblem::Series { found: quote(raw.get()) })?;
            }
            _ if at == value_at => value = Some(*raw),
            Some(Role::Skip) => {}
            Some(Role::Label) => label(key, raw, true, &mut labels)?,
            Some(_) => return Err(JsonProblem::Beside { key: quote(key) }),
            None if key == VALUE_TYPE => {
                let fail = || JsonProblem::Kind { found: quote(raw.get()) };
                let name: String = serde_json::from_str(raw.get()).map_err(|_| fail())?;
                kind = Some(Kind::of_name(&name).ok_or_else(fail)?);
            }
            None => label(key, raw, false, &mut labels)?,
        }
    }
    if name.is_empty() {
        return Err(JsonProblem::SeriesEmpty);
    }
    let (value, mark) = typed(&name, value.ok_or(JsonProblem::NoValues)?, kind)?;
    let twice = |label: String| JsonProblem::LabelTwice { label: quote(&label) };
    let series = labelled(names, Cow::Owned(name), &mut labels).map_err(twice)?;
    Ok(vec![(series, value, mark)])
}

/// Values of several series.
fn many<'a>(
    rest: &[&'a Member<'a>],
    form: &TextForm,
    names: &mut NameParser,
) -> Result<Values<'a>, JsonProblem> {
    let mut labels = Labels::new();
    let mut values = Vec::with_capacity(rest.len());
    let all_are_values = form.columns.iter().any(|(_, role)| matches!(role, Role::Values(_)));
    for (key, raw) in rest {
        let kind = match role(form, key) {
            Some(Role::Skip) => continue,
            Some(Role::Label) => {
                label(key, raw, true, &mut labels)?;
                continue;
            }
            Some(Role::Values(kind)) => kind,
            Some(Role::Time | Role::Series | Role::Value) | None => None,
        };
        if key.is_empty() {
            return Err(JsonProblem::SeriesEmpty);
        }
        // Programs write it for what they have no value of. Alone it is a number that is none.
        if raw.get() == "null" && (rest.len() > 1 || kind.is_some_and(|kind| kind != Kind::F64)) {
            continue;
        }
        let is_asked = rest.len() > 1 && !all_are_values && role(form, key).is_none();
        if is_asked && is_called_id(key) {
            return Err(JsonProblem::Id { key: quote(key) });
        }
        let (value, mark) = typed(key, raw, kind)?;
        values.push((Cow::Borrowed(key.as_str()), value, mark));
    }
    if !labels.is_empty() {
        for (name, _, _) in &mut values {
            let bare = std::mem::take(name);
            let twice = |label: String| JsonProblem::LabelTwice { label: quote(&label) };
            *name = labelled(names, bare, &mut labels.clone()).map_err(twice)?;
        }
    }
    Ok(values)
}

/// A label is a text, or what somebody has said to be one: each value of a number or a time would make a
/// series for good.
fn label(key: &str, raw: &RawValue, sure: bool, to: &mut Labels) -> Result<(), JsonProblem> {
    let text = raw.get();
    let fail = || JsonProblem::Label { key: quote(key), found: quote(text) };
    if matches!(key, "" | "__name__") {
        return Err(JsonProblem::LabelKey { key: quote(key) });
    }
    let value: String = match text.as_bytes().first() {
        Some(b'n') => return Ok(()),
        Some(b'"') => serde_json::from_str(text).map_err(|_| fail())?,
        Some(b'-' | b'0'..=b'9' | b't' | b'f') if sure => text.to_owned(),
        _ => return Err(fail()),
    };
    if !sure && is_value(&value) {
        return Err(fail());
    }
    // One that is empty is none.
    if !value.is_empty() {
        to.insert(key.to_owned(), value);
    }
    Ok(())
}

/// A value of this kind, if one is said.
fn typed<'a>(
    series: &str,
    raw: &'a RawValue,
    kind: Option<Kind>,
) -> Result<(Scalar<'a>, Mark), JsonProblem> {
    let Some(kind) = kind else { return Ok((scalar(series, raw)?, Mark::None)) };
    let text = raw.get();
    let digits = matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9'));
    let value = match kind {
        Kind::F64 if digits => number::exact_float(text).ok().map(Scalar::Float),
        Kind::I64 if digits => number::integer(text).ok(),
        Kind::U64 if digits => {
            let negative =
                |value: &Scalar<'_>| matches!(value, Scalar::Integer(value) if *value < 0);
            number::integer(text).ok().filter(|value| !negative(value))
        }
        kind => scalar(series, raw).ok().filter(|value| {
            matches!(
                (kind, value),
                (Kind::F64, Scalar::Float(_))
                    | (Kind::Bool, Scalar::Boolean(_))
                    | (Kind::Text, Scalar::Text(_))
            )
        }),
    };
    let fail = || JsonProblem::OfKind { series: quote(series), kind, found: quote(text) };
    Ok((value.ok_or_else(fail)?, Mark::As(kind.declares())))
}
