//! Text as others write it, by the rules of each form. What a form cannot say, its writer leaves out.

use crate::Written;
use crate::model::{Model, Random, Sample, Series, Shown, Value, float};
use std::fmt::Write as _;

/// Notes what a line says, and that its series takes it.
pub(crate) fn note(shown: &mut Shown, series: &Series, time_ns: i64, value: Value) -> u64 {
    let refused = matches!(value, Value::TooLarge(_));
    if !refused {
        shown.insert((series.name(), time_ns), value);
    }
    u64::from(refused)
}

/// A name with a backslash before each of `special`, unless that would be read as another name.
fn escaped(name: &str, special: &[char]) -> Option<String> {
    let mut out = String::new();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek();
        if letter == '\n' || letter == '\\' && matches!(next, None | Some(',' | '=' | ' ' | '\\')) {
            return None;
        }
        if special.contains(&letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    Some(out)
}

/// The part of a line before its value, by the documentation of line protocol.
fn line_of(series: &Series) -> Option<String> {
    let mut line = escaped(&series.measurement, &[',', ' '])?;
    for (key, value) in &series.labels {
        let special = [',', '=', ' '];
        let _ = write!(line, ",{}={}", escaped(key, &special)?, escaped(value, &special)?);
    }
    let _ = write!(line, " {}=", escaped(&series.field, &[',', '=', ' '])?);
    // What stands before a name is passed over.
    if line.starts_with(['\t', '\0']) {
        return None;
    }
    // Behind tabs and blanks too it begins a comment.
    Some(line).filter(|line| !line.trim_start_matches(['\t', ' ']).starts_with('#'))
}

pub(crate) fn line_protocol(model: &Model, random: &mut Random) -> Written {
    let (unit, unit_ns) =
        *random.one_of(&[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)]);
    let (mut text, mut shown, mut refused) = ("# a comment\n".to_owned(), Shown::new(), 0);
    for Sample { at, time_ns, value } in &model.samples {
        let series = &model.series[*at];
        let Some(line) = line_of(series) else { continue };
        let said = match value {
            // It has no infinities and no NaN.
            Value::Float(bits) if !f64::from_bits(*bits).is_finite() => continue,
            Value::Float(bits) if random.below(2) == 0 => format!("{}", f64::from_bits(*bits)),
            Value::Float(bits) => format!("{:e}", f64::from_bits(*bits)),
            Value::Integer(value) => format!("{value}i"),
            Value::TooLarge(value) => format!("{value}u"),
            Value::Boolean(true) => {
                (*random.one_of(&["t", "T", "true", "True", "TRUE"])).to_owned()
            }
            Value::Boolean(false) => {
                (*random.one_of(&["f", "F", "false", "False", "FALSE"])).to_owned()
            }
            Value::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        };
        let count = time_ns.div_euclid(unit_ns);
        let Some(time_ns) = count.checked_mul(unit_ns) else { continue };
        let _ = writeln!(text, "{line}{said} {count}");
        refused += note(&mut shown, series, time_ns, value.clone());
    }
    Written {
        name: "a.lp",
        options: vec!["--precision", unit],
        bytes: text.into_bytes(),
        shown,
        refused,
    }
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

/// As Prometheus has a value that may be any float.
fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(bits) => Some(f64::from_bits(*bits)),
        Value::Integer(value) => Some(*value as f64),
        Value::Boolean(value) => Some(f64::from(u8::from(*value))),
        Value::TooLarge(value) => Some(*value as f64),
        Value::Text(_) => None,
    }
}

fn prometheus_float(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        value if value.is_infinite() => if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        value => format!("{value:e}"),
    }
}

pub(crate) fn prometheus(model: &Model, random: &mut Random) -> Written {
    let (mut text, mut shown) = ("# TYPE up gauge\n".to_owned(), Shown::new());
    for Sample { at, time_ns, value } in &model.samples {
        let series = &model.series[*at];
        let Some(value) = as_float(value) else { continue };
        let metric = series.metric();
        let classic = |name: &str| {
            name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':')
                && !name.starts_with(|first: char| first.is_ascii_digit())
        };
        let mut labels: Vec<String> = Vec::new();
        if !classic(&metric) {
            labels.push(quoted(&metric));
        }
        for (key, value) in &series.labels {
            let key = if classic(key) { key.clone() } else { quoted(key) };
            labels.push(format!("{key}={}", quoted(value)));
        }
        let bare = if classic(&metric) { &metric } else { "" };
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(*random.one_of(&[",", ", "]))),
        };
        // Seconds with a point, or milliseconds.
        let (time_ns, time) = match random.below(2) {
            0 => {
                let sign = if *time_ns < 0 { "-" } else { "" };
                let (s, ns) = (
                    time_ns.unsigned_abs() / 1_000_000_000,
                    time_ns.unsigned_abs() % 1_000_000_000,
                );
                (*time_ns, format!("{sign}{s}.{ns:09}"))
            }
            _ => {
                let count = time_ns / 1_000_000;
                (count * 1_000_000, count.to_string())
            }
        };
        let exemplar = if random.below(9) == 0 { " # {trace_id=\"a}\\\"\"} 0.5" } else { "" };
        let _ = writeln!(text, "{bare}{labels} {} {time}{exemplar}", prometheus_float(value));
        note(&mut shown, series, time_ns, float(value));
    }
    text.push_str("# EOF\n");
    let options = vec!["--precision", "ms"];
    Written { name: "a.prom", options, bytes: text.into_bytes(), shown, refused: 0 }
}

/// As Go writes a float in JSON: an exponent only below 1e-6 and from 1e21 on.
fn go_float(value: f64) -> String {
    let exponent = value != 0.0 && !(1e-6..1e21).contains(&value.abs());
    match value {
        value if value.is_nan() => "null".to_owned(),
        value if value.is_infinite() => {
            if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned()
        }
        value if exponent => format!("{value:e}"),
        value => format!("{value}"),
    }
}

pub(crate) fn victoria(model: &Model, random: &mut Random) -> Written {
    let (mut text, mut shown) = (String::new(), Shown::new());
    for first in &model.samples {
        let mut samples = vec![first];
        // Of one series as many as it likes.
        let more = random.below(4);
        samples.extend(model.samples.iter().filter(|one| one.at == first.at).take(more));
        let series = &model.series[first.at];
        let (mut values, mut times) = (Vec::new(), Vec::new());
        for Sample { time_ns, value, .. } in samples {
            let Some(value) = as_float(value) else { continue };
            let count = time_ns / 1_000_000;
            values.push(go_float(value));
            times.push(count.to_string());
            note(&mut shown, series, count * 1_000_000, float(value));
        }
        if values.is_empty() {
            continue;
        }
        let mut metric = serde_json::Map::new();
        metric.insert("__name__".to_owned(), series.metric().into());
        metric.extend(series.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        let metric = serde_json::Value::Object(metric);
        let (values, times) = (values.join(","), times.join(","));
        let _ = writeln!(
            text,
            "{{\"metric\":{metric},\"values\":[{values}],\"timestamps\":[{times}]}}"
        );
    }
    Written {
        name: "a.jsonl",
        options: vec!["--precision", "ms"],
        bytes: text.into_bytes(),
        shown,
        refused: 0,
    }
}

/// As Go's writer of CSV quotes.
fn cell(text: &str) -> String {
    let needs = text.contains([',', '"', '\r', '\n']) || text.starts_with(char::is_whitespace);
    if needs { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// A moment as RFC 3339 has it.
fn date(time_ns: i64) -> String {
    let (seconds, ns) = (time_ns.div_euclid(1_000_000_000), time_ns.rem_euclid(1_000_000_000));
    let (mut day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let mut year = 1970;
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = |year: i64| 365 + i64::from(leap(year));
    while day < 0 {
        year -= 1;
        day += days(year);
    }
    while day >= days(year) {
        day -= days(year);
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        (day, month) = (day - length, month + 1);
    }
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{:02}.{ns:09}Z", day + 1, second % 60)
}

/// Columns of each table of Flux.
const COLUMNS: [&str; 6] = ["result", "table", "_time", "_value", "_field", "_measurement"];

pub(crate) fn annotated(model: &Model, random: &mut Random) -> Written {
    let (mut text, mut shown, mut refused) = (String::new(), Shown::new(), 0);
    let end = *random.one_of(&["\n", "\r\n"]);
    for (at, series) in model.series.iter().enumerate() {
        let samples = model.samples.iter().filter(|sample| sample.at == at);
        let kind = ["double", "long", "boolean", "string"][series.kind()];
        // Within one table all are of one type.
        for large in [false, true] {
            let rows: Vec<&Sample> = samples
                .clone()
                .filter(|sample| matches!(sample.value, Value::TooLarge(_)) == large)
                .collect();
            if rows.is_empty() {
                continue;
            }
            let kind = if large { "unsignedLong" } else { kind };
            let tags = series.labels.len();
            let _ = write!(text, "#datatype,string,long,dateTime:RFC3339,{kind},string,string");
            let _ = write!(text, "{}{end}", ",string".repeat(tags));
            let _ = write!(
                text,
                "#group,false,false,false,false,true,true{}{end}",
                ",true".repeat(tags)
            );
            let _ = write!(text, "#default,_result,,,,,{}{end}", ",".repeat(tags));
            let _ = write!(text, ",result,table,_time,_value,_field,_measurement");
            series.labels.keys().for_each(|key| text.extend([",", &cell(key)]));
            text.push_str(end);
            // A tag by the name of a column of Flux' own: nothing of such a table is taken, its head neither.
            let is_twice = series.labels.keys().any(|key| COLUMNS.contains(&key.as_str()));
            refused += if is_twice { 1 + rows.len() as u64 } else { 0 };
            for Sample { time_ns, value, .. } in rows {
                let said = match value {
                    Value::Float(bits) => match f64::from_bits(*bits) {
                        value if value.is_finite() => format!("{value}"),
                        value => prometheus_float(value),
                    },
                    Value::Integer(value) => value.to_string(),
                    Value::TooLarge(value) => value.to_string(),
                    Value::Boolean(value) => value.to_string(),
                    Value::Text(text) => cell(text),
                };
                let (field, measurement) = (cell(&series.field), cell(&series.measurement));
                let _ = write!(text, ",,{at},{},{said},{field},{measurement}", date(*time_ns));
                series.labels.values().for_each(|value| text.extend([",", &cell(value)]));
                text.push_str(end);
                if !is_twice {
                    refused += note(&mut shown, series, *time_ns, value.clone());
                }
            }
            text.push_str(end);
        }
    }
    Written { name: "a.csv", options: Vec::new(), bytes: text.into_bytes(), shown, refused }
}
