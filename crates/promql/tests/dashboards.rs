//! What dashboards ask that people use, of this engine and of that of Prometheus: the answers are the same
//! within 1e-9, or refused by name.
//!
//! [`tests/dashboards.tsv`](dashboards.tsv) lists them, chosen by what people use. They come from their packages
//! (`board/fetch.rs`), and each `expr` counts (`board/expressions.rs`). Variables are replaced as Grafana would,
//! by rules that `board/variables.rs` says. Series are made for each expression (`board/series.rs`). It is asked
//! at one time and over several; once more, with one series of a kind, where several have no answer.
//!
//! `BARO_PROMQL_BOARDS` names a folder where dashboards are kept once they are fetched, `BARO_PROMQL_ROWS` a file
//! for the counts. The program that answers for Prometheus is that of `tests/oracle.rs`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod board;
mod prometheus;

use board::ask::{Outcome, outcomes};
use board::variables::Variables;
use board::{expressions, fetch};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Part of the distinct expressions that may be refused, and that may be empty on both sides.
const REFUSED_MOST: f64 = 0.05;
const EMPTY_MOST: f64 = 0.15;

/// Expressions by what came of them.
#[derive(Clone, Copy, Default)]
struct Counts {
    expressions: usize,
    distinct: usize,
    equal: usize,
    refused: usize,
    wrong: usize,
    empty: usize,
    both_fail: usize,
    /// Values that are equal.
    values: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.distinct += 1;
        *match outcome {
            Outcome::Equal(values) => {
                self.values += values;
                &mut self.equal
            }
            Outcome::Empty => &mut self.empty,
            Outcome::BothFail => &mut self.both_fail,
            Outcome::Refused(_) => &mut self.refused,
            Outcome::Wrong(_) => &mut self.wrong,
        } += 1;
    }

    fn row(&self, head: &str) -> String {
        let Counts { expressions, distinct, equal, refused, wrong, empty, both_fail, values } =
            self;
        let all = [expressions, distinct, equal, refused, wrong, empty, both_fail, values];
        all.iter().fold(head.to_owned(), |row, count| format!("{row}\t{count}")) + "\n"
    }
}

/// The dashboards that are to be had.
fn boards() -> Vec<(fetch::Listed, serde_json::Value)> {
    let folder = std::env::var_os("BARO_PROMQL_BOARDS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join("baro-promql-boards"));
    std::fs::create_dir_all(&folder).unwrap();
    let mut found = Vec::new();
    for listed in fetch::listed() {
        match fetch::text(&listed, &folder) {
            Ok(text) => found.push((listed, serde_json::from_str(&text).unwrap())),
            Err(why) => println!("skipped: {} {}: {why}", listed.package, listed.path),
        }
    }
    found
}

/// What is not equal, with its reason.
fn report(found: &BTreeMap<String, Outcome>) {
    for (text, outcome) in found {
        match outcome {
            Outcome::Equal(_) => {}
            Outcome::Wrong(said) => println!("wrong: {text}\n{said}"),
            other => println!("{other:?}: {text}"),
        }
    }
}

#[test]
fn dashboards_that_people_use_are_answered_as_by_prometheus() {
    let Some(program) = prometheus::program() else { return };
    let mut known: BTreeMap<String, Outcome> = BTreeMap::new();
    let mut rows = String::from(
        "package\tpath\tshows\texpressions\tdistinct\tequal\trefused\twrong\tempty\tno query on both\t\
         equal values\n",
    );
    let mut sum = Counts::default();
    for (listed, board) in boards() {
        let variables = Variables::of(&board);
        let all = expressions::of(&board);
        let distinct: BTreeSet<String> = all.iter().map(|text| variables.replaced(text)).collect();
        let new: Vec<String> =
            distinct.iter().filter(|text| !known.contains_key(*text)).cloned().collect();
        let found = outcomes(&new, &program);
        report(&found);
        let mut counts = Counts { expressions: all.len(), ..Counts::default() };
        sum.expressions += all.len();
        found.values().for_each(|outcome| sum.add(outcome));
        known.extend(found);
        distinct.iter().for_each(|text| counts.add(&known[text]));
        let head = format!("{}\t{}\t{}", listed.package, listed.path, listed.shows);
        write!(rows, "{}", counts.row(&head)).unwrap();
    }
    rows.push_str(&sum.row("all\t\t"));
    println!("{rows}");
    if let Some(file) = std::env::var_os("BARO_PROMQL_ROWS") {
        std::fs::write(file, &rows).unwrap();
    }
    let part = |of: usize| of as f64 / sum.distinct.max(1) as f64;
    assert_eq!(sum.wrong, 0);
    assert!(part(sum.refused) <= REFUSED_MOST, "{} refused", sum.refused);
    assert!(part(sum.empty) <= EMPTY_MOST, "{} are empty", sum.empty);
}
