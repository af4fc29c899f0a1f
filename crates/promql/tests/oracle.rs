//! Random questions about random series, to this engine and to that of Prometheus: the answers are the same
//! within 1e-9, or refused by name.
//!
//! `go test -c` of `tests/oracle` makes the program that answers for Prometheus, or `BARO_PROMQL_ORACLE` names
//! it. `BARO_PROMQL_COUNT` and `BARO_PROMQL_SEED` say how many questions, and which. Some answers are kept in
//! `tests/oracle/answers.jsonl`, for machines without Go.
//!
//! The oracle has what is on in Prometheus by default. Left out of the questions: dates of infinities, of which
//! Go makes a year of its own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod draw;

use baro_promql::{Answer, Error, Labels, Query, Times, is_absent};
use draw::{Draw, Question};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const MS: i64 = 1_000_000;

/// Rows of an answer: labels, and the value at each time in milliseconds.
type Rows = BTreeMap<Labels, BTreeMap<i64, f64>>;

/// An answer of Prometheus.
enum Theirs {
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
fn theirs(questions: &[Question], program: &Path) -> Vec<String> {
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

fn their_answer(line: &str) -> Theirs {
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

/// Compares answers; panics if any is another one.
fn compare(questions: &[Question], theirs: Vec<Theirs>) {
    assert_eq!(theirs.len(), questions.len());
    let (mut equal, mut values, mut both_refuse, mut wrong) = (0, 0, 0, 0);
    let mut refused = BTreeMap::new();
    for (asked, theirs) in questions.iter().zip(theirs) {
        let found = Query::parse(&asked.expression)
            .and_then(|query| query.evaluate(&asked.memory, &asked.times));
        let said = match (found, theirs) {
            (Err(Error::Unsupported(what)), _) => {
                *refused.entry(what).or_insert(0) += 1;
                continue;
            }
            (Err(_), Theirs::Error(_)) => {
                both_refuse += 1;
                continue;
            }
            (Err(own), Theirs::Rows(theirs)) => format!("own: {own}\n    theirs: {theirs:?}"),
            (Ok(own), Theirs::Error(theirs)) => format!("own: {own}\n    theirs: {theirs}"),
            (Ok(own), Theirs::Rows(theirs)) => {
                let mut own = rows(own, &asked.times);
                own.retain(|_, points| !points.is_empty());
                if are_alike(asked, &own, &theirs) {
                    equal += 1;
                    values += own.values().map(BTreeMap::len).sum::<usize>();
                    continue;
                }
                format!("own: {own:?}\n    theirs: {theirs:?}")
            }
        };
        wrong += 1;
        if wrong <= 20 {
            println!("{} at {:?}\n{}    {said}", asked.expression, asked.times, asked.load);
        }
    }
    println!(
        "equal {equal} ({values} values), refused by both {both_refuse}, refused here {refused:?}, wrong {wrong}"
    );
    assert_eq!(wrong, 0);
    assert!(values > questions.len(), "most have an answer");
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
fn program() -> Option<PathBuf> {
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

fn drawn(seed: u64, count: u64) -> Vec<Question> {
    let mut draw = Draw::new(seed);
    (0..count).map(|_| draw.question()).collect()
}

#[test]
fn random_questions_have_the_answers_of_prometheus() {
    let Some(program) = program() else { return };
    let of = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = of("BARO_PROMQL_COUNT").unwrap_or(3_000);
    let questions = drawn(of("BARO_PROMQL_SEED").unwrap_or(2), count);
    let told = theirs(&questions, &program);
    compare(&questions, told.iter().map(|line| their_answer(line)).collect());
}

/// Answers that are kept: for machines without the program. `BARO_PROMQL_BLESS=1` writes them again.
#[test]
fn kept_questions_have_the_answers_of_prometheus() {
    let questions = drawn(1, 250);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/answers.jsonl");
    if std::env::var_os("BARO_PROMQL_BLESS").is_some() {
        let told = theirs(&questions, &program().unwrap());
        std::fs::write(file, told.join("\n") + "\n").unwrap();
    }
    let told = std::fs::read_to_string(file).unwrap();
    compare(&questions, told.lines().map(their_answer).collect());
}
