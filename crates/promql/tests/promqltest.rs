//! The test data of Prometheus, each expression of it: answered as expected, or refused by name.
//!
//! The data is not part of this repository: it comes with the Go module of Prometheus, or
//! `BARO_PROMQL_TESTDATA` names its folder, `promql/promqltest/testdata`.
//!
//! Expected values are written with some six digits, and Prometheus compares them within 1e-6 itself.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod script;

use baro_promql::{Answer, Error, Labels, Query, is_absent};
use script::{Asked, Expected, Script};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What came of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Equal,
    /// It is of native histograms, which are no series here.
    Native,
    /// By what.
    Refused(String),
    /// An error where one is expected.
    Failed,
    Wrong(String),
}

fn same(found: f64, expected: f64) -> bool {
    if is_absent(found) || is_absent(expected) {
        return is_absent(found) && is_absent(expected);
    }
    if found == expected || (found.is_nan() && expected.is_nan()) {
        return true;
    }
    let off = (found - expected).abs();
    off <= 1e-6 * (found.abs() + expected.abs()) || off < 1e-300
}

fn judge(asked: &Asked, script: &Script) -> Outcome {
    let refused = |error: Error| match error {
        Error::Unsupported(what) => Outcome::Refused(what),
        Error::Parse(_) if asked.fails => Outcome::Failed,
        Error::Parse(_) => Outcome::Refused("the parser".to_owned()),
        _ if asked.fails => Outcome::Failed,
        other => Outcome::Wrong(other.to_string()),
    };
    let query = match Query::parse(&asked.expression) {
        Ok(query) => query,
        Err(error) => return refused(error),
    };
    let answer = match query.evaluate(&script.memory, &asked.times) {
        Ok(answer) => answer,
        Err(error) => return refused(error),
    };
    if asked.fails {
        return Outcome::Wrong(format!("expected an error, found {answer}"));
    }
    let wrong = || Outcome::Wrong(format!("expected {:?}, found {answer}", asked.expected));
    let equal = match (&answer, &asked.expected) {
        (Answer::Scalar(values), Expected::Scalar(expected)) => {
            values.iter().all(|value| same(*value, *expected))
        }
        (Answer::Text(text), Expected::Text(expected)) => text == expected,
        (Answer::Vector(found), Expected::Series(expected)) => {
            let by_labels = |series: &[(Labels, Vec<f64>)]| -> BTreeMap<Labels, Vec<f64>> {
                series.iter().cloned().collect()
            };
            let (by, wanted) = (by_labels(found), by_labels(expected));
            let in_order = found.iter().map(|one| &one.0).eq(expected.iter().map(|one| &one.0));
            by.len() == found.len()
                && by.len() == wanted.len()
                && (!asked.ordered || in_order)
                && by.iter().all(|(labels, values)| {
                    wanted.get(labels).is_some_and(|wanted| {
                        let value = |of: &[f64], at: usize| {
                            of.get(at).copied().unwrap_or(baro_promql::ABSENT)
                        };
                        let steps = values.len().max(wanted.len());
                        (0..steps).all(|at| same(value(values, at), value(wanted, at)))
                    })
                })
        }
        (Answer::Scalar(found), Expected::Series(expected)) => {
            // Of a range each step is written out.
            matches!(expected.as_slice(), [(labels, values)] if *labels == Labels::default()
                && found.iter().zip(values).all(|(a, b)| same(*a, *b)))
        }
        (Answer::Matrix(found), Expected::Series(expected)) => {
            let values = |points: &[(i64, f64)]| points.iter().map(|point| point.1).collect();
            let found: BTreeMap<Labels, Vec<f64>> =
                found.iter().map(|(labels, points)| (labels.clone(), values(points))).collect();
            found.len() == expected.len()
                && expected.iter().all(|(labels, values)| {
                    let values: Vec<f64> =
                        values.iter().copied().filter(|value| !is_absent(*value)).collect();
                    found.get(labels).is_some_and(|found| {
                        found.len() == values.len()
                            && found.iter().zip(&values).all(|(a, b)| same(*a, *b))
                    })
                })
        }
        _ => false,
    };
    if equal { Outcome::Equal } else { wrong() }
}

/// Files of features that are off without a flag of Prometheus, and on in its tests.
const FLAGGED: [&str; 4] =
    ["name_label_dropping", "type_and_unit", "start_timestamps", "unquoted_utf8_names"];

/// The folder that is named, or that of the module that `tests/oracle` is made with.
fn testdata() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("BARO_PROMQL_TESTDATA") {
        return Some(folder.into());
    }
    let mut list = std::process::Command::new("go");
    list.args(["list", "-m", "-f", "{{.Dir}}", "github.com/prometheus/prometheus"]);
    list.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle"));
    let mut download = std::process::Command::new("go");
    download.args(["mod", "download"]);
    download.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle"));
    let found = download.output().and_then(|_| list.output());
    match found {
        Ok(done) if done.status.success() => {
            let folder = String::from_utf8(done.stdout).unwrap();
            Some(PathBuf::from(folder.trim()).join("promql/promqltest/testdata"))
        }
        _ => {
            println!("skipped: no go that has the module of Prometheus");
            None
        }
    }
}

#[test]
fn the_test_data_of_prometheus_is_answered_or_refused_by_name() {
    let Some(folder) = testdata() else { return };
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "test"));
    names.sort();
    let (mut counts, mut why) =
        (BTreeMap::<String, [u32; 6]>::new(), BTreeMap::<String, u32>::new());
    let mut wrong = 0;
    for path in names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        script::run(&text, |asked, script| {
            let outcome = match script.is_native(asked) {
                true => Outcome::Native,
                false => judge(asked, script),
            };
            let at = match &outcome {
                Outcome::Equal => 0,
                Outcome::Failed => 1,
                Outcome::Refused(what) => {
                    *why.entry(what.clone()).or_default() += 1;
                    2
                }
                Outcome::Native => 3,
                // Answered as without the flag.
                Outcome::Wrong(_) if FLAGGED.contains(&name.as_str()) => 5,
                Outcome::Wrong(said) => {
                    println!("{name}:{}: {}\n    {said}", asked.line, asked.expression);
                    wrong += 1;
                    4
                }
            };
            counts.entry(name.clone()).or_default()[at] += 1;
        });
    }
    println!("file: equal, failed as expected, refused, native, wrong, of a flag");
    let mut sum = [0; 6];
    for (name, count) in &counts {
        println!("{name}: {count:?}");
        sum.iter_mut().zip(count).for_each(|(sum, count)| *sum += count);
    }
    println!("in all: {sum:?}");
    for (what, count) in why {
        println!("refused {count}: {what}");
    }
    assert_eq!(wrong, 0);
}
