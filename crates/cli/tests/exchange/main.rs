//! Samples of all types, with names and texts of any characters, come in through every form that others
//! write, as its own rules have it: line protocol, Prometheus, JSON lines of VictoriaMetrics, annotated CSV,
//! Parquet. What is in the store then is what was written, bit by bit, or its line was refused and counted.
//! From there they go out and in again through the files that we write.
//!
//! `BARO_EXCHANGE_COUNT=1000000` makes so many samples of each form, `BARO_EXCHANGE_SEED=7` begins with that
//! round. A round that fails says its seed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../calls/mod.rs"]
mod calls;
mod model;
mod parquets;
#[path = "../place/mod.rs"]
mod place;
mod writers;

use calls::{json, run, stderr, text};
use model::{Model, Random, Shown};
use place::Folder;

/// Samples of each form with each push.
const SAMPLES: u64 = 1_500;
/// Of one round.
const ROUND: u64 = 5_000;

/// What one form has written.
struct Written {
    name: &'static str,
    options: Vec<&'static str>,
    bytes: Vec<u8>,
    /// What it says, and how many of its lines no series can take.
    shown: Shown,
    refused: u64,
}

fn store(folder: &Folder, name: &str) -> String {
    let store = folder.path(name);
    let _ = std::fs::remove_dir_all(&store);
    text(&run(&["init", &store, "--size", "8M"]), 0);
    store
}

fn same(case: &str, found: &Shown, expected: &Shown) {
    let missing = expected.iter().find(|(key, value)| found.get(*key) != Some(*value));
    let more = found.iter().find(|(key, value)| expected.get(*key) != Some(*value));
    assert!(missing.is_none() && more.is_none(), "{case}: missing {missing:?}, more {more:?}");
}

/// Reads a file into a new store, and holds what is in it against what was written.
fn import(folder: &Folder, round: u64, written: &Written) -> String {
    let case = format!("BARO_EXCHANGE_SEED={round}: {}", written.name);
    let (store, file) = (store(folder, "in"), folder.path(written.name));
    std::fs::write(&file, &written.bytes).unwrap();
    let options = ["import", &store, &file, "--format", "json"];
    let output = run(&[&options[..], &written.options].concat());
    let code = output.status.code().unwrap();
    let report = json(&output, code);
    let replaced = report["samples_replaced"].as_u64().unwrap();
    let expected = if written.refused + replaced > 0 { 3 } else { 0 };
    assert_eq!(code, expected, "{case}: {}", stderr(&output));
    // Each is there, or replaced by another value, or there twice.
    let samples = report["samples"].as_u64().unwrap();
    assert!(samples >= written.shown.len() as u64 + replaced, "{case}: {report}");
    assert_eq!(report["lines_refused"], written.refused, "{case}: {}", stderr(&output));
    same(&case, &model::shown(&store), &written.shown);
    store
}

/// Through the files that we write.
fn again(folder: &Folder, round: u64, from: &str, written: &Written) {
    for (verb, file) in
        [("query", "again.parquet"), ("export", "again.parquet"), ("export", "again.csv")]
    {
        let (file, case) =
            (folder.path(file), format!("BARO_EXCHANGE_SEED={round}: {verb} {file}"));
        let _ = std::fs::remove_file(&file);
        let arguments = match verb {
            "query" => vec!["query", from, "-o", &file],
            _ => vec!["export", from, &file],
        };
        text(&run(&arguments), 0);
        let into = store(folder, "again");
        let output = run(&["import", &into, &file, "--precision", "ns"]);
        assert_eq!(output.status.code(), Some(0), "{case}: {}", stderr(&output));
        same(&case, &model::shown(&into), &written.shown);
    }
}

#[test]
fn what_others_write_comes_in_as_it_was_and_goes_out_so() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("BARO_EXCHANGE_COUNT").unwrap_or(SAMPLES);
    let first = number("BARO_EXCHANGE_SEED").unwrap_or(1);
    let folder = Folder::new(&format!("exchange-{first}"));
    let (mut left, mut round, mut kept) = (count, first, 0);
    while left > 0 {
        let samples = left.min(ROUND);
        for form in [
            writers::line_protocol,
            writers::prometheus,
            writers::victoria,
            writers::annotated,
            parquets::long,
            parquets::wide,
        ] {
            let mut random = Random::new(round);
            let model = Model::new(&mut random, samples);
            let written = form(&model, &mut random);
            let from = import(&folder, round, &written);
            again(&folder, round, &from, &written);
            kept += written.shown.len();
        }
        (left, round) = (left - samples, round + 1);
        if count > SAMPLES {
            println!(
                "to round {round}: {} samples of each form written, {kept} kept of all",
                count - left
            );
        }
    }
    assert!(kept as u64 > count);
}
