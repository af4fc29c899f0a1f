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
    Equal,
    /// Equal, and without any value.
    Empty,
    /// Neither has an answer.
    BothFail,
    /// Refused here, by what.
    Refused(String),
    /// With the question.
    Wrong(String),
}

/// Series for each selector: several, and one, since some expressions allow no second one of a kind.
const EACH: [usize; 2] = [4, 1];

/// At one time and over several, of several series and of one.
fn questions(expression: &str) -> Vec<Question> {
    let scanned = scanned(expression);
    // FNV-1a: the series of an expression do not depend on those before it.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let seed = expression.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let mut found = Vec::new();
    for each in EACH {
        let made = made(&scanned, seed, each);
        let end_ns = made.end_ms * MS;
        // Steps that meet the samples where those are far from each other.
        let step_ms = match made.step_ms {
            15_000 => 37_000,
            60_000 => 150_000,
            other => other,
        };
        let start_ns = end_ns - 10 * step_ms * MS;
        for times in [Times::at(end_ns), Times::range(start_ns, end_ns, step_ms * MS)] {
            found.push(Question {
                load: made.load.clone(),
                memory: made.memory.clone(),
                expression: expression.to_owned(),
                times,
                scale: made.scale,
            });
        }
    }
    found
}

/// Asks both engines each expression.
pub(crate) fn outcomes(expressions: &[String], program: &Path) -> BTreeMap<String, Outcome> {
    let each: Vec<Vec<Question>> = expressions.iter().map(|text| questions(text)).collect();
    let counts: Vec<usize> = each.iter().map(Vec::len).collect();
    let all: Vec<Question> = each.into_iter().flatten().collect();
    let told = theirs(&all, program);
    assert_eq!(told.len(), all.len());
    let mut pairs = all.iter().zip(&told);
    let mut found = BTreeMap::new();
    for (expression, count) in expressions.iter().zip(counts) {
        let asked = pairs.by_ref().take(count);
        let verdicts = asked.map(|(asked, line)| (asked, verdict(asked, &their_answer(line))));
        found.insert(expression.clone(), outcome(verdicts));
    }
    found
}

fn outcome<'a>(verdicts: impl Iterator<Item = (&'a Question, Verdict)>) -> Outcome {
    let (mut outcome, mut values) = (Outcome::BothFail, 0);
    for (asked, verdict) in verdicts {
        match verdict {
            Verdict::Wrong(said) => {
                let said = format!("at {:?}\n{}    {said}", asked.times, asked.load);
                return Outcome::Wrong(said);
            }
            Verdict::Refused(what) => outcome = Outcome::Refused(what),
            Verdict::BothFail => {}
            Verdict::Equal(count) => {
                values += count;
                if !matches!(outcome, Outcome::Refused(_)) {
                    outcome = if values > 0 { Outcome::Equal } else { Outcome::Empty };
                }
            }
        }
    }
    outcome
}
