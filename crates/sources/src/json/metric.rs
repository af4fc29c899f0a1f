//! A series as VictoriaMetrics exports it, whose times are milliseconds unless somebody says another unit.
//! Invariant: such a line is taken whole. Held by `super::tests::a_series_of_victoriametrics_is_read`.

use super::{JsonProblem, Members};
use crate::lines::quote;
use crate::number;
use crate::sample::Scalar;
use crate::time::Times;
use baro_ondisk::write_name;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Samples of one series.
pub(super) type Timed = (String, Vec<(i64, Scalar<'static>)>);

/// The series of an object; `None` if it is none of VictoriaMetrics'.
pub(super) fn read(
    members: &[(String, &RawValue)],
    times: &Times,
) -> Result<Option<Timed>, JsonProblem> {
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw);
    let (Some(metric), Some(values), Some(stamps), 3) =
        (member("metric"), member("values"), member("timestamps"), members.len())
    else {
        return Ok(None);
    };
    let wrong = |raw: &RawValue| JsonProblem::Metric { found: quote(raw.get()) };
    let Members(given) = serde_json::from_str(metric.get()).map_err(|_| wrong(metric))?;
    let mut labels = BTreeMap::new();
    for (key, value) in given {
        let value: String = serde_json::from_str(value.get()).map_err(|_| wrong(metric))?;
        if key.is_empty() {
            return Err(wrong(metric));
        }
        if labels.insert(key.clone(), value).is_some() {
            return Err(JsonProblem::Twice { key: quote(&key) });
        }
    }
    let raw: Vec<&RawValue> = serde_json::from_str(values.get()).map_err(|_| wrong(values))?;
    let counts: Vec<i64> = serde_json::from_str(stamps.get()).map_err(|_| wrong(stamps))?;
    if raw.len() != counts.len() {
        return Err(wrong(stamps));
    }
    let mut series = String::new();
    let name = labels.get("__name__").map_or("", String::as_str);
    write_name(&mut series, name, labels.iter().filter(|(key, _)| *key != "__name__"));
    if series.is_empty() {
        return Err(JsonProblem::SeriesEmpty);
    }
    let times = times.of_milliseconds();
    let mut samples = Vec::with_capacity(raw.len());
    for (value, count) in raw.into_iter().zip(counts) {
        let value = match value.get() {
            "null" => Scalar::Float(f64::NAN),
            // JSON has no infinities.
            "\"Infinity\"" => Scalar::Float(f64::INFINITY),
            "\"-Infinity\"" => Scalar::Float(f64::NEG_INFINITY),
            // All values are floats there, also those that look like integers, however large.
            text => match number::scalar(text) {
                Ok(Scalar::Integer(value)) => Scalar::Integer(value),
                _ => Scalar::Float(number::float(text).map_err(|_| wrong(value))?),
            },
        };
        let time_ns = times.count(count).map_err(|fault| {
            let found = count.to_string();
            JsonProblem::MetricTime { found, fault }
        })?;
        samples.push((time_ns, value));
    }
    Ok(Some((series, samples)))
}
