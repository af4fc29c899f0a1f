//! What came of power cuts: a line for people as it goes, a line of JSON to keep.

use super::{Outcome, Way};
use serde_json::{Value, json};

/// One line for people.
pub(crate) fn line(outcome: &Outcome) -> String {
    let plan = &outcome.plan;
    let verdict = match (plan.way, outcome.bad()) {
        (Way::Ordinary, 0) => "ok".to_owned(),
        (Way::Ordinary, bad) => format!("{bad} BAD"),
        (_, 0) => "BAD: a control that must fail did not".to_owned(),
        (_, bad) => format!("{bad} bad, as a control must be"),
    };
    let pending: usize = outcome.verdicts.iter().map(|verdict| verdict.pending).sum();
    let lost: usize = outcome.verdicts.iter().map(|verdict| verdict.lost).sum();
    format!(
        "{} {} {} {}: {} crash points, {verdict}; {} writes, {} flushes, {} statements; {lost} of {pending} \
         unflushed writes lost; recorded in {:.1} s, judged in {:.1} s",
        outcome.release,
        plan.fs,
        plan.scenario,
        plan.way.name(),
        outcome.verdicts.len(),
        outcome.entries - outcome.flushes,
        outcome.flushes,
        outcome.statements,
        outcome.record_s,
        outcome.judge_s
    )
}

/// The same for machines, with what was bad.
pub(crate) fn json(outcome: &Outcome) -> Value {
    let bad: Vec<Value> = outcome
        .verdicts
        .iter()
        .filter(|verdict| !verdict.is_ok())
        .take(20)
        .map(|verdict| json!({ "cut": verdict.point.cut, "said": verdict.line }))
        .collect();
    let last = outcome.verdicts.last().map(|verdict| verdict.line.clone());
    json!({
        "what": "cut",
        "kernel": outcome.release,
        "fs": outcome.plan.fs,
        "scenario": outcome.plan.scenario,
        "way": outcome.plan.way.name(),
        "seed": outcome.seed,
        "points": outcome.verdicts.len(),
        "bad": outcome.bad(),
        "entries": outcome.entries,
        "flushes": outcome.flushes,
        "statements": outcome.statements,
        "record_s": (outcome.record_s * 10.0).round() / 10.0,
        "judge_s": (outcome.judge_s * 10.0).round() / 10.0,
        "last": last,
        "first_bad": bad,
    })
}
