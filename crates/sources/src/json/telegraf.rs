//! Metrics as Telegraf writes them in JSON (`data_format = "json"`): one an object, or a batch of them under
//! `metrics`. Each field is a series `name_field{tags}`, as of the line protocol, which has the same metrics.
//!
//! Integers have no mark there, so a series that is new takes numbers with and without a point. Times are
//! integers of seconds unless Telegraf was told otherwise, which `--precision` says.
//!
//! Invariant: an object is taken whole, a batch too. Held by `super::tests::metrics_of_telegraf_are_series`.

use super::{JsonProblem, Members, scalar};
use crate::lines::quote;
use crate::sample::{Joint, Scalar};
use crate::time::Times;
use baro_ondisk::write_name;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A tag that says the name once more.
const METRIC: &str = "__name__";

pub(super) type Found = (Option<i64>, String, Joint, Scalar<'static>);

/// The samples of an object; `None` if it is none of Telegraf's.
pub(super) fn read(
    members: &[(String, &RawValue)],
    times: &Times,
) -> Result<Option<Vec<Found>>, JsonProblem> {
    let mut found = Vec::new();
    match members {
        [(key, batch)] if key == "metrics" && batch.get().starts_with('[') => {
            let metrics: Vec<&RawValue> =
                serde_json::from_str(batch.get()).map_err(|_| wrong(batch))?;
            for metric in metrics {
                let Members(members) =
                    serde_json::from_str(metric.get()).map_err(|_| wrong(metric))?;
                if !one(&members, times, &mut found)? {
                    return Err(wrong(metric));
                }
            }
            Ok(Some(found))
        }
        members => Ok(one(members, times, &mut found)?.then_some(found)),
    }
}

fn wrong(raw: &RawValue) -> JsonProblem {
    JsonProblem::Telegraf { found: quote(raw.get()) }
}

/// Takes one metric; false if it is none.
fn one(
    members: &[(String, &RawValue)],
    times: &Times,
    to: &mut Vec<Found>,
) -> Result<bool, JsonProblem> {
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw);
    let (Some(fields), Some(name), Some(tags), Some(time)) =
        (member("fields"), member("name"), member("tags"), member("timestamp"))
    else {
        return Ok(false);
    };
    if members.len() != 4 || !fields.get().starts_with('{') {
        return Ok(false);
    }
    // These have a time: those of a batch would else be taken at one.
    let time_ns = Some(super::time(time, times)?.ok_or_else(|| wrong(time))?);
    let name: String = serde_json::from_str(name.get()).map_err(|_| wrong(name))?;
    let mut labels = BTreeMap::new();
    let mut repeated = false;
    let Members(given) = serde_json::from_str(tags.get()).map_err(|_| wrong(tags))?;
    for (key, raw) in given {
        let value: String = serde_json::from_str(raw.get()).map_err(|_| wrong(tags))?;
        match key.as_str() {
            "" => return Err(wrong(tags)),
            METRIC if value == name => repeated = true,
            METRIC => return Err(wrong(tags)),
            _ if labels.insert(key.clone(), value).is_some() => {
                return Err(JsonProblem::Twice { key: quote(&key) });
            }
            _ => {}
        }
    }
    // A tag that is empty is not there.
    labels.retain(|_, value| !value.is_empty());
    let Members(given) = serde_json::from_str(fields.get()).map_err(|_| wrong(fields))?;
    if name.is_empty() || given.is_empty() || given.iter().any(|(key, _)| key.is_empty()) {
        return Err(wrong(fields));
    }
    let mut seen = std::collections::HashSet::new();
    let is_alone = given.len() == 1;
    for (key, raw) in given {
        if !seen.insert(key.clone()) {
            return Err(JsonProblem::Twice { key: quote(&key) });
        }
        // As in any other object: what has no value makes no series.
        if raw.get() == "null" && !is_alone {
            continue;
        }
        let mut series = String::new();
        write_name(&mut series, &format!("{name}_{key}"), labels.iter());
        let joint = Joint { repeated, ..Joint::behind(name.len()) };
        to.push((time_ns, series, joint, owned(scalar(&key, raw)?)));
    }
    Ok(true)
}

fn owned(value: Scalar<'_>) -> Scalar<'static> {
    match value {
        Scalar::Float(value) => Scalar::Float(value),
        Scalar::Integer(value) => Scalar::Integer(value),
        Scalar::Unsigned(value) => Scalar::Unsigned(value),
        Scalar::Boolean(value) => Scalar::Boolean(value),
        Scalar::Text(text) => Scalar::Text(text.into_owned().into()),
        Scalar::Quoted(text) => Scalar::Quoted(text.into_owned().into()),
        Scalar::QuotedComma(text) => Scalar::QuotedComma(text.into_owned().into()),
        Scalar::Nothing => Scalar::Nothing,
        Scalar::QuotedNothing(text) => Scalar::QuotedNothing(text.into_owned().into()),
    }
}
