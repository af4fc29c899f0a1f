//! One query of PromQL, asked on the command line: the engine and the bounds are those of the server.

use crate::api::results::{Bounds, at_once, number, over};
use crate::api::{STACK_BYTES, VALUE_BYTES};
use crate::source::Stored;
use baro_command::failure::{Outcome, Result};
use baro_command::promql::{Form, Promql};
use baro_ondisk::write_name;
use baro_promql::{Answer, Labels, Query, Times, is_absent};
use baro_store::Store;
use baro_sys::clock;
use serde_json::json;

/// Longest query.
const TIMEOUT_NS: u64 = 120_000_000_000;

/// A value of a series at a time.
struct Row<'a> {
    time_ns: i64,
    labels: &'a Labels,
    value: f64,
}

pub(crate) fn run(asked: &Promql) -> Result<Outcome> {
    // A query within a query within a query takes a stack of its own.
    let worker = std::thread::Builder::new().name("query".to_owned()).stack_size(STACK_BYTES);
    std::thread::scope(|scope| {
        let answered = worker.spawn_scoped(scope, || answer(asked))?.join();
        answered.map_err(|_| "the query has failed within")?
    })
}

fn answer(asked: &Promql) -> Result<Outcome> {
    let query = Query::parse(&asked.query).map_err(|error| error.to_string())?;
    let step_ns = i64::try_from(asked.step_ns).unwrap_or(i64::MAX);
    let is_range = step_ns > 0;
    if is_range && !query.has_steps() {
        return Err(
            "expected a query with a value at each step, found a range or a text: leave --every \
                    out, or put a function around it"
                .into(),
        );
    }
    let times = match is_range {
        true => Times::range(asked.from_ns, asked.to_ns, step_ns),
        false => Times::at(asked.to_ns),
    };
    let values_max = usize::try_from(asked.memory / VALUE_BYTES).unwrap_or(usize::MAX);
    let lookback_ns = i64::try_from(asked.lookback).unwrap_or(i64::MAX);
    let times = Times { values_max, lookback_ns, ..times };
    let store = Store::open(&asked.store)?;
    let source = Stored::new(&store, clock::monotonic_ns().saturating_add(TIMEOUT_NS));
    let answer = query.evaluate(&source, &times).map_err(|error| error.to_string())?;
    let warnings = source.into_warnings();
    let is_empty = match asked.form {
        Form::Json => {
            let bytes_max = usize::try_from(asked.memory).unwrap_or(usize::MAX);
            let bounds = Bounds { bytes_max, series_max: usize::MAX };
            let text = match is_range {
                true => over(answer, &times, bounds),
                false => at_once(answer, asked.to_ns, bounds),
            };
            let (text, _) = text.map_err(|refusal| refusal.to_string())?;
            let warned = match warnings.is_empty() {
                true => String::new(),
                false => format!(r#","warnings":{}"#, json!(warnings)),
            };
            out!(r#"{{"status":"success","data":{text}{warned}}}"#);
            false
        }
        form => print(&answer, &times, form) == 0,
    };
    for warning in &warnings {
        say!("damage: {warning}");
    }
    if is_empty && warnings.is_empty() {
        say!(
            "note: nothing has a value then: a sample counts for {} where none follows (--lookback), and \
             the time is now where --to says no other",
            baro_show::duration(asked.lookback)
        );
    }
    Ok(Outcome::lost_if(!warnings.is_empty()))
}

/// Prints each value in a line; returns how many there are.
fn print(answer: &Answer, times: &Times, form: Form) -> u64 {
    let mut count = 0;
    let mut print = |row: Row<'_>| {
        let mut value = String::new();
        number(&mut value, row.value);
        let name = named(row.labels);
        if form == Form::Csv {
            if count == 0 {
                out!("time,series,value");
            }
            out!("{},{},{value}", row.time_ns, in_csv(&name));
        } else {
            out!("{}  {name}  {value}", baro_show::rfc3339(row.time_ns));
        }
        count += 1;
    };
    let none = Labels::default();
    let columns: Vec<(&Labels, &[f64])> = match answer {
        Answer::Text(text) => {
            out!("{text}");
            return 1;
        }
        Answer::Matrix(series) => {
            for (labels, points) in series {
                points.iter().for_each(|(time_ns, value)| {
                    print(Row { time_ns: *time_ns, labels, value: *value });
                });
            }
            return count;
        }
        Answer::Scalar(values) => vec![(&none, values)],
        Answer::Vector(series) => {
            series.iter().map(|(labels, of)| (labels, of.as_slice())).collect()
        }
    };
    for (labels, values) in columns {
        for (at, value) in values.iter().enumerate().filter(|(_, value)| !is_absent(**value)) {
            print(Row { time_ns: times.time_ns(at), labels, value: *value });
        }
    }
    count
}

/// A series as the store writes its name: `temp{site="a"}`, `{"a b",site="a"}`.
fn named(labels: &Labels) -> String {
    let mut text = String::new();
    let others = labels.iter().filter(|(name, _)| *name != "__name__");
    write_name(&mut text, labels.get("__name__"), others);
    if text.is_empty() { "{}".to_owned() } else { text }
}

/// A cell of CSV.
fn in_csv(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_named_as_the_store_names_them() {
        let of = |pairs: &[(&str, &str)]| named(&Labels::new(pairs.iter().copied()));
        assert_eq!(of(&[("__name__", "up")]), "up");
        assert_eq!(of(&[("__name__", "temp"), ("site", "a\"b")]), r#"temp{site="a\"b"}"#);
        assert_eq!(of(&[("__name__", "tank level"), ("a b", "c")]), r#"{"tank level","a b"="c"}"#);
        assert_eq!(
            (of(&[]).as_str(), in_csv("a{b=\"c\"}")),
            ("{}", "\"a{b=\"\"c\"\"}\"".to_owned())
        );
    }
}
