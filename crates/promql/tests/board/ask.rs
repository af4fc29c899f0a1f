//! Questions of an expression, and what came of all of them.

use super::scan::scanned;
use super::series::made;
use crate::prometheus::{MS, Question, Verdict, their_answer, theirs, verdict};
use baro_promql::Times;
use std::collections::BTreeMap;
use std::path::Path;

/// What came of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With so many values.
    Equal(usize),
    /// Equal, and without any value.
    Empty,
    /// Neither has an answer.
    BothFail,
    /// Refused here, by what.
    Refused(String),
    /// With the question.
    Wrong(String),
}

/// At one time and over several, with so many series for each selector.
fn questions(expression: &str, each: usize) -> [Question; 2] {
    let scanned = scanned(expression);
    // FNV-1a: the series of an expression do not depend on those before it.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let seed = expression.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let made = made(&scanned, seed, each);
    let end_ns = made.end_ms * MS;
    // Steps that meet the samples where those are far from each other.
    let step_ms = match made.step_ms {
        15_000 => 37_000,
        60_000 => 150_000,
        other => other,
    };
    let start_ns = end_ns - 10 * step_ms * MS;
    [Times::at(end_ns), Times::range(start_ns, end_ns, step_ms * MS)].map(|times| Question {
        load: made.load.clone(),
        memory: made.memory.clone(),
        expression: expression.to_owned(),
        times,
        scale: made.scale,
    })
}

/// Asks both engines each expression: with several series of a kind, and with one where that has no answer, since
/// some allow no second one.
pub(crate) fn outcomes(expressions: &[String], program: &Path) -> BTreeMap<String, Outcome> {
    let mut found = asked(expressions, 4, program);
    let again = found.iter().filter(|(_, one)| matches!(one, Outcome::Empty | Outcome::BothFail));
    let again: Vec<String> = again.map(|(text, _)| text.clone()).collect();
    for (text, outcome) in asked(&again, 1, program) {
        if outcome != Outcome::BothFail {
            found.insert(text, outcome);
        }
    }
    found
}

fn asked(expressions: &[String], each: usize, program: &Path) -> BTreeMap<String, Outcome> {
    if expressions.is_empty() {
        return BTreeMap::new();
    }
    let all: Vec<Question> =
        expressions.iter().flat_map(|expression| questions(expression, each)).collect();
    let told = theirs(&all, program);
    assert_eq!(told.len(), all.len());
    let verdicts: Vec<(&Question, Verdict)> = all
        .iter()
        .zip(&told)
        .map(|(asked, line)| (asked, verdict(asked, &their_answer(line))))
        .collect();
    let both = verdicts.chunks(2).map(outcome);
    expressions.iter().cloned().zip(both).collect()
}

fn outcome(verdicts: &[(&Question, Verdict)]) -> Outcome {
    let (mut outcome, mut values) = (Outcome::BothFail, 0);
    for (asked, verdict) in verdicts {
        match verdict {
            Verdict::Wrong(said) => {
                let said = format!("at {:?}\n{}    {said}", asked.times, asked.load);
                return Outcome::Wrong(said);
            }
            Verdict::Refused(what) => outcome = Outcome::Refused(what.clone()),
            Verdict::BothFail => {}
            Verdict::Equal(count) => {
                values += count;
                if !matches!(outcome, Outcome::Refused(_)) {
                    outcome = if values > 0 { Outcome::Equal(values) } else { Outcome::Empty };
                }
            }
        }
    }
    outcome
}
