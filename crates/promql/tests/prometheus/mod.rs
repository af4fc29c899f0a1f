//! What Prometheus answers: the program that has its engine is asked, and its answers are compared with ours.

use baro_promql::testing::Memory;
use baro_promql::{Answer, Error, Labels, Query, Times, is_absent};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const MS: i64 = 1_000_000;

/// A question, and the series it is about: for Prometheus as a script, for this engine in memory.
pub(crate) struct Question {
    pub(crate) load: String,
    pub(crate) memory: Memory,
    pub(crate) expression: String,
    pub(crate) times: Times,
    /// The largest value that is loaded.
    pub(crate) scale: f64,
}

/// Rows of an answer: labels, and the value at each time in milliseconds.
pub(crate) type Rows = BTreeMap<Labels, BTreeMap<i64, f64>>;

/// An answer of Prometheus.
pub(crate) enum Theirs {
    Error(String),
    Rows(Rows),
}

fn same(a: f64, b: f64, scale: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(scale)
}

fn rows(answer: Answer, times: &Times) -> Rows {
    let mut rows = Rows::new();
    match answer {
        Answer::Scalar(values) => {
            let values = values.into_iter().enumerate();
            let values = values.map(|(at, value)| (times.time_ns(at) / MS, value));
            rows.insert(Labels::default(), values.collect());
        }
        Answer::Text(_) => {}
        Answer::Vector(series) => {
            for (labels, values) in series {
                let there = values.iter().enumerate().filter(|(_, value)| !is_absent(**value));
                let points = there.map(|(at, value)| (times.time_ns(at) / MS, *value)).collect();
                rows.insert(labels, points);
            }
        }
        Answer::Matrix(series) => {
            for (labels, points) in series {
                rows.insert(
                    labels,
                    points.into_iter().map(|(ns, value)| (ns / MS, value)).collect(),
                );
            }
        }
    }
    rows
}

/// The values at each time, sorted: of equal ones `topk` takes any.
fn values_of(rows: &Rows) -> BTreeMap<i64, Vec<u64>> {
    let mut found: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    for (time, value) in rows.values().flatten() {
        found.entry(*time).or_default().push(value.to_bits());
    }
    found.values_mut().for_each(|values| values.sort_unstable());
    found
}

/// Answers of Prometheus, a line of JSON each.
pub(crate) fn theirs(questions: &[Question], program: &Path) -> Vec<String> {
    let own = format!("baro-promql-{}-{}", std::process::id(), questions.len());
    let folder = std::env::temp_dir().join(own);
    std::fs::create_dir_all(&folder).unwrap();
    let (asked, told) = (folder.join("asked"), folder.join("told"));
    let mut text = String::new();
    for one in questions {
        let quoted = |text: &str| {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("\"{}\"", text.replace('\t', "\\t"))
        };
        let step = if one.times.start_ns == one.times.end_ns { 0 } else { one.times.step_ns / MS };
        writeln!(
            text,
            "{{\"load\":{},\"expression\":{},\"start\":{},\"end\":{},\"step\":{step}}}",
            quoted(&one.load),
            quoted(&one.expression),
            one.times.start_ns / MS,
            one.times.end_ns / MS,
        )
        .unwrap();
    }
    std::fs::write(&asked, text).unwrap();
    let mut command = Command::new(program);
    command.args(["-test.timeout", "30m"]);
    command.env("ORACLE_QUESTIONS", &asked).env("ORACLE_ANSWERS", &told);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let text = std::fs::read_to_string(&told).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    text.lines().map(str::to_owned).collect()
}

pub(crate) fn their_answer(line: &str) -> Theirs {
    let json: serde_json::Value = serde_json::from_str(line).unwrap();
    let error = json["error"].as_str().unwrap();
    if !error.is_empty() {
        return Theirs::Error(error.to_owned());
    }
    let mut rows = Rows::new();
    for one in json["series"].as_array().into_iter().flatten() {
        let labels = one["labels"].as_object().into_iter().flatten();
        let labels =
            Labels::new(labels.map(|(name, value)| (name.clone(), value.as_str().unwrap())));
        let point = |point: &serde_json::Value| {
            let time: i64 = point[0].as_str().unwrap().parse().unwrap();
            let bits: u64 = point[1].as_str().unwrap().parse().unwrap();
            (time, f64::from_bits(bits))
        };
        rows.insert(labels, one["points"].as_array().unwrap().iter().map(point).collect());
    }
    Theirs::Rows(rows)
}

/// What came of a question.
pub(crate) enum Verdict {
    /// The same, with so many values.
    Equal(usize),
    /// Neither has an answer.
    BothFail,
    /// Refused here, by what.
    Refused(String),
    /// Another answer: both of them.
    Wrong(String),
}

/// Asks this engine, and compares.
pub(crate) fn verdict(asked: &Question, theirs: &Theirs) -> Verdict {
    let found = Query::parse(&asked.expression)
        .and_then(|query| query.evaluate(&asked.memory, &asked.times));
    match (found, theirs) {
        (Err(Error::Unsupported(what)), _) => Verdict::Refused(what),
        (Err(_), Theirs::Error(_)) => Verdict::BothFail,
        (Err(own), Theirs::Rows(theirs)) => {
            Verdict::Wrong(format!("own: {own}\n    theirs: {theirs:?}"))
        }
        (Ok(own), Theirs::Error(theirs)) => {
            Verdict::Wrong(format!("own: {own}\n    theirs: {theirs}"))
        }
        (Ok(own), Theirs::Rows(theirs)) => {
            let mut own = rows(own, &asked.times);
            own.retain(|_, points| !points.is_empty());
            match are_alike(asked, &own, theirs) {
                true => Verdict::Equal(own.values().map(BTreeMap::len).sum()),
                false => Verdict::Wrong(format!("own: {own:?}\n    theirs: {theirs:?}")),
            }
        }
    }
}

fn are_alike(asked: &Question, own: &Rows, theirs: &Rows) -> bool {
    let ranks = asked.expression.contains("topk") || asked.expression.contains("bottomk");
    if ranks && values_of(own) == values_of(theirs) {
        return true;
    }
    let points = |own: &BTreeMap<i64, f64>, theirs: &BTreeMap<i64, f64>| {
        let mut pairs = own.iter().zip(theirs);
        let alike = pairs.all(|(a, b)| a.0 == b.0 && same(*a.1, *b.1, asked.scale * 1e-3));
        alike && own.len() == theirs.len()
    };
    let mut series = own.iter().zip(theirs);
    own.len() == theirs.len() && series.all(|(a, b)| a.0 == b.0 && points(a.1, b.1))
}

/// The program that answers for Prometheus: the one that is named, or built here.
pub(crate) fn program() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("BARO_PROMQL_ORACLE") {
        return Some(program.into());
    }
    let program = std::env::temp_dir().join(format!("baro-promql-oracle-{}", std::process::id()));
    let mut build = Command::new("go");
    build.args(["test", "-c", "-o"]).arg(&program).arg(".");
    build.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle"));
    match build.output() {
        Ok(done) if done.status.success() => Some(program),
        Ok(done) => {
            println!("skipped: go builds no oracle: {}", String::from_utf8_lossy(&done.stderr));
            None
        }
        Err(error) => {
            println!("skipped: no go, which Prometheus is written in: {error}");
            None
        }
    }
}
