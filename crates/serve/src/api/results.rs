//! What a query comes to, written as Prometheus writes it: straight into a text, since each value would take
//! ten times its bytes as a tree.
//!
//! Invariant: an answer takes no more memory than a query may. Held by `a_large_answer_is_refused`.

use super::answer::Refusal;
use baro_promql::{Answer, Labels, Times, is_absent};
use serde_json::Value;
use std::fmt::Write as _;

/// An answer that is being written.
struct Writer {
    text: String,
    bytes_max: usize,
    /// Series that may still be written.
    left: usize,
    is_cut: bool,
}

type Written = Result<(), Refusal>;

/// How much of an answer is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes.
    pub(crate) bytes_max: usize,
    /// Series.
    pub(crate) series_max: usize,
}

/// What was written, and whether series were left out.
pub(crate) type Text = Result<(String, bool), Refusal>;

impl Writer {
    fn of(kind: &str, bounds: Bounds) -> Self {
        let Bounds { bytes_max, series_max: left } = bounds;
        let text = format!(r#"{{"resultType":"{kind}","result":"#);
        Writer { text, bytes_max, left, is_cut: false }
    }

    fn end(mut self) -> Text {
        self.text.push('}');
        Ok((self.text, self.is_cut))
    }

    fn list<T>(
        &mut self,
        all: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Written,
    ) -> Written {
        self.text.push('[');
        for (at, one) in all.into_iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            each(self, one)?;
            if self.text.len() > self.bytes_max {
                let limit = self.bytes_max;
                return Err(Refusal::execution(&format!(
                    "query processing would write an answer of more than {limit} bytes (--memory): ask for \
                     fewer series, or fewer points of them"
                )));
            }
        }
        self.text.push(']');
        Ok(())
    }

    /// Series, as many as may be.
    fn series<T>(
        &mut self,
        all: impl IntoIterator<Item = (Labels, T)>,
        mut each: impl FnMut(&mut Self, T) -> Written,
    ) -> Written {
        let mut all = all.into_iter();
        let left = self.left;
        self.list(all.by_ref().take(left), |writer, (labels, of)| {
            writer.text.push_str(r#"{"metric":"#);
            self::labels(&mut writer.text, &labels);
            writer.text.push(',');
            each(writer, of)?;
            writer.text.push('}');
            Ok(())
        })?;
        self.is_cut = all.next().is_some();
        Ok(())
    }

    fn values(&mut self, points: impl IntoIterator<Item = (i64, f64)>) -> Written {
        self.text.push_str(r#""values":"#);
        self.list(points, |writer, (time_ns, value)| {
            writer.point(time_ns, value);
            Ok(())
        })
    }

    fn point(&mut self, time_ns: i64, value: f64) {
        self.text.push('[');
        seconds(&mut self.text, time_ns);
        self.text.push_str(",\"");
        number(&mut self.text, value);
        self.text.push_str("\"]");
    }
}

pub(super) fn labels(out: &mut String, of: &Labels) {
    out.push('{');
    for (at, (name, value)) in of.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{}:{}", Value::from(name), Value::from(value));
    }
    out.push('}');
}

/// A time in seconds, with the digits that it has.
fn seconds(out: &mut String, time_ns: i64) {
    let _ = match time_ns % 1_000_000_000 {
        0 => write!(out, "{}", time_ns / 1_000_000_000),
        // Prometheus writes milliseconds.
        _ => write!(out, "{}", Value::from((time_ns.div_euclid(1_000_000)) as f64 / 1e3)),
    };
}

/// A number as a text, since JSON has no infinities.
pub(crate) fn number(out: &mut String, value: f64) {
    let _ = match value {
        _ if value.is_nan() => write!(out, "NaN"),
        f64::INFINITY => write!(out, "+Inf"),
        f64::NEG_INFINITY => write!(out, "-Inf"),
        _ if value != 0.0 && (value.abs() < 1e-6 || value.abs() >= 1e21) => {
            // As Go writes it: two digits of the exponent at least, and its sign.
            let text = format!("{value:e}");
            match text.split_once('e') {
                Some((digits, exponent)) => {
                    let (sign, exponent) = match exponent.strip_prefix('-') {
                        Some(rest) => ('-', rest),
                        None => ('+', exponent),
                    };
                    write!(out, "{digits}e{sign}{exponent:0>2}")
                }
                None => write!(out, "{text}"),
            }
        }
        _ => write!(out, "{value}"),
    };
}

/// An answer at one time.
pub(crate) fn at_once(answer: Answer, time_ns: i64, bounds: Bounds) -> Text {
    let mut writer;
    match answer {
        Answer::Scalar(values) => {
            writer = Writer::of("scalar", bounds);
            writer.point(time_ns, values.first().copied().unwrap_or(f64::NAN));
        }
        Answer::Text(text) => {
            writer = Writer::of("string", bounds);
            writer.text.push('[');
            seconds(&mut writer.text, time_ns);
            let _ = write!(writer.text, ",{}]", Value::from(text));
        }
        Answer::Vector(series) => {
            writer = Writer::of("vector", bounds);
            let there = |(of, values): (Labels, Vec<f64>)| {
                let value = values.first().copied().filter(|value| !is_absent(*value))?;
                Some((of, value))
            };
            writer.series(series.into_iter().filter_map(there), |writer, value| {
                writer.text.push_str(r#""value":"#);
                writer.point(time_ns, value);
                Ok(())
            })?;
        }
        Answer::Matrix(series) => {
            writer = Writer::of("matrix", bounds);
            writer.series(series, Writer::values)?;
        }
    }
    writer.end()
}

/// An answer at several times.
pub(crate) fn over(answer: Answer, times: &Times, bounds: Bounds) -> Text {
    let mut writer = Writer::of("matrix", bounds);
    let series = match answer {
        Answer::Scalar(values) => vec![(Labels::default(), values)],
        Answer::Vector(mut series) => {
            // Prometheus sorts them by their labels.
            series.sort_by(|a, b| a.0.cmp(&b.0));
            series
        }
        Answer::Text(_) | Answer::Matrix(_) => Vec::new(),
    };
    writer.series(series, |writer, values: Vec<f64>| {
        let there = values.into_iter().enumerate().filter(|(_, value)| !is_absent(*value));
        writer.values(there.map(|(at, value)| (times.time_ns(at), value)))
    })?;
    writer.end()
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
        for (value, expected) in all {
            let mut text = String::new();
            number(&mut text, value);
            assert_eq!(text, expected);
        }
        for (time_ns, expected) in [
            (1_700_000_000_000_000_000, "1700000000"),
            (1_700_000_000_123_456_789, "1700000000.123"),
        ] {
            let mut text = String::new();
            seconds(&mut text, time_ns);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_large_answer_is_refused() {
        let one = |at: usize| {
            let labels = Labels::new([("a\"".to_owned(), format!("{at}\n"))]);
            (labels, vec![1.5, at as f64])
        };
        let answer = || Answer::Vector((0..3).map(one).collect());
        let times = Times::range(0, 1_000_000_000, 1_000_000_000);
        let bounds = Bounds { bytes_max: 1000, series_max: 2 };
        let (text, is_cut) = over(answer(), &times, bounds).unwrap();
        let expected = serde_json::json!({ "resultType": "matrix", "result": [
            { "metric": { "a\"": "0\n" }, "values": [[0, "1.5"], [1, "0"]] },
            { "metric": { "a\"": "1\n" }, "values": [[0, "1.5"], [1, "1"]] },
        ] });
        assert_eq!((serde_json::from_str::<Value>(&text).unwrap(), is_cut), (expected, true));
        let bounds = Bounds { series_max: usize::MAX, ..bounds };
        assert!(!over(answer(), &times, bounds).unwrap().1);
        let few = Bounds { bytes_max: 100, ..bounds };
        assert!(over(answer(), &times, few).is_err() && at_once(answer(), 0, few).is_err());
        let matrix = Answer::Matrix(vec![(Labels::default(), vec![(0, 1.0); 20])]);
        assert!(at_once(matrix, 0, few).is_err());
    }
}
