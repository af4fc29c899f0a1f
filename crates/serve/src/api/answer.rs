//! Answers and errors in the form of Prometheus.

use baro_net::{BodyError, Response};
use baro_promql::{Answer, Error, Labels, Times, is_absent};
use serde_json::{Map, Value, json};

/// What is answered.
#[derive(Debug)]
pub(super) struct Data {
    data: Value,
    warnings: Vec<String>,
}

impl Data {
    pub(super) fn of(data: Value) -> Self {
        Data { data, warnings: Vec::new() }
    }

    pub(super) fn with(self, warnings: Vec<String>) -> Self {
        Data { warnings, ..self }
    }
}

/// Why nothing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: u16,
    kind: &'static str,
    said: String,
}

impl Refusal {
    fn new(status: u16, kind: &'static str, said: &str) -> Self {
        Refusal { status, kind, said: said.to_owned() }
    }

    pub(crate) fn bad(said: &str) -> Self {
        Refusal::new(400, "bad_data", said)
    }

    pub(crate) fn not_found(said: &str) -> Self {
        Refusal::new(404, "not_found", said)
    }

    pub(super) fn method(said: &str) -> Self {
        Refusal::new(405, "bad_data", said)
    }

    pub(super) fn denied(status: u16, said: &str) -> Self {
        Refusal::new(status, "unauthorized", said)
    }

    pub(crate) fn timeout(said: &str) -> Self {
        Refusal::new(503, "timeout", said)
    }

    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        Refusal::new(500, "internal", &error.to_string())
    }

    pub(super) fn of_body(error: &BodyError) -> Self {
        Refusal::new(error.status(), "bad_data", &error.to_string())
    }

    pub(super) fn of_query(error: &Error) -> Self {
        let said = error.to_string();
        match error {
            Error::Parse(_) => Refusal::new(400, "bad_data", &said),
            Error::Late => Refusal::timeout(&said),
            _ => Refusal::new(422, "execution", &said),
        }
    }
}

pub(super) fn answer(found: Result<Data, Refusal>) -> Response {
    match found {
        Ok(Data { data, warnings }) => {
            let mut body = json!({ "status": "success", "data": data });
            if !warnings.is_empty() {
                body["warnings"] = json!(warnings);
            }
            Response::json(200, body.to_string())
        }
        Err(Refusal { status, kind, said }) => {
            let body = json!({ "status": "error", "errorType": kind, "error": said });
            let response = Response::json(status, body.to_string());
            if status == 503 { response.with("Retry-After", "1") } else { response }
        }
    }
}

/// A time in seconds, with the digits that it has.
fn seconds(time_ns: i64) -> Value {
    match time_ns % 1_000_000_000 {
        0 => json!(time_ns / 1_000_000_000),
        // Prometheus writes milliseconds.
        _ => json!((time_ns.div_euclid(1_000_000)) as f64 / 1e3),
    }
}

/// A number as a text, since JSON has no infinities.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ if value != 0.0 && (value.abs() < 1e-6 || value.abs() >= 1e21) => {
            // As Go writes it: two digits of the exponent at least, and its sign.
            let text = format!("{value:e}");
            match text.split_once('e') {
                Some((digits, exponent)) => {
                    let (sign, exponent) = match exponent.strip_prefix('-') {
                        Some(rest) => ('-', rest),
                        None => ('+', exponent),
                    };
                    format!("{digits}e{sign}{exponent:0>2}")
                }
                None => text,
            }
        }
        _ => value.to_string(),
    }
}

pub(super) fn labels(labels: &Labels) -> Value {
    let pairs = labels.iter().map(|(name, value)| (name.to_owned(), Value::from(value)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn point(time_ns: i64, value: f64) -> Value {
    json!([seconds(time_ns), number(value)])
}

/// An answer at one time.
pub(super) fn at_once(answer: Answer, time_ns: i64) -> Value {
    match answer {
        Answer::Scalar(values) => {
            let value = values.first().copied().unwrap_or(f64::NAN);
            json!({ "resultType": "scalar", "result": point(time_ns, value) })
        }
        Answer::Text(text) => {
            json!({ "resultType": "string", "result": [seconds(time_ns), text] })
        }
        Answer::Vector(series) => {
            let one = |(of, values): (Labels, Vec<f64>)| {
                let value = values.first().copied().filter(|value| !is_absent(*value))?;
                Some(json!({ "metric": labels(&of), "value": point(time_ns, value) }))
            };
            let found: Vec<Value> = series.into_iter().filter_map(one).collect();
            json!({ "resultType": "vector", "result": found })
        }
        Answer::Matrix(series) => {
            let one = |(of, points): (Labels, Vec<(i64, f64)>)| {
                let points = points.into_iter().map(|(time_ns, value)| point(time_ns, value));
                json!({ "metric": labels(&of), "values": points.collect::<Vec<_>>() })
            };
            let found: Vec<Value> = series.into_iter().map(one).collect();
            json!({ "resultType": "matrix", "result": found })
        }
    }
}

/// An answer at several times.
pub(super) fn over(answer: Answer, times: &Times) -> Value {
    let points = |values: &[f64]| {
        let there = values.iter().enumerate().filter(|(_, value)| !is_absent(**value));
        there.map(|(at, value)| point(times.time_ns(at), *value)).collect::<Vec<_>>()
    };
    let found: Vec<Value> = match answer {
        Answer::Scalar(values) => vec![json!({ "metric": {}, "values": points(&values) })],
        Answer::Vector(mut series) => {
            // Prometheus sorts them by their labels.
            series.sort_by(|a, b| a.0.cmp(&b.0));
            let one = |(of, values): &(Labels, Vec<f64>)| json!({ "metric": labels(of), "values": points(values) });
            series.iter().map(one).collect()
        }
        Answer::Text(_) | Answer::Matrix(_) => Vec::new(),
    };
    json!({ "resultType": "matrix", "result": found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_written_as_prometheus_writes_them() {
        let all = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-07"),
            (1e300, "1e+300"),
            (f64::INFINITY, "+Inf"),
            (123_456_789.0, "123456789"),
        ];
        for (value, text) in all {
            assert_eq!(number(value), text);
        }
        assert_eq!(seconds(1_700_000_000_000_000_000).to_string(), "1700000000");
        assert_eq!(seconds(1_700_000_000_123_456_789).to_string(), "1700000000.123");
    }
}
