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
mod prometheus;

use draw::Draw;
use prometheus::{Question, Theirs, Verdict, program, their_answer, theirs, verdict};
use std::collections::BTreeMap;

/// Compares answers; panics if any is another one.
fn compare(questions: &[Question], theirs: Vec<Theirs>) {
    assert_eq!(theirs.len(), questions.len());
    let (mut equal, mut values, mut both_refuse, mut wrong) = (0, 0, 0, 0);
    let mut refused = BTreeMap::new();
    for (asked, theirs) in questions.iter().zip(theirs) {
        let said = match verdict(asked, &theirs) {
            Verdict::Equal(count) => {
                equal += 1;
                values += count;
                continue;
            }
            Verdict::BothFail => {
                both_refuse += 1;
                continue;
            }
            Verdict::Refused(what) => {
                *refused.entry(what).or_insert(0) += 1;
                continue;
            }
            Verdict::Wrong(said) => said,
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
