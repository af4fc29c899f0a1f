//! What a recording says of what it lost: when that begins, and at the end in records and samples of this
//! run, whatever earlier ones lost.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{json, run, stderr, text};
use place::Folder;

#[test]
fn a_full_log_is_told_when_loss_begins() {
    let folder = Folder::new("lost-full");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M"]), 0);
    let record = ["record", &store, "--proc", "--proc-interval", "1ms", "--for", "3s"];
    let small = ["--ring", "256K", "--format", "json"];
    let mut lost_first = 0;
    for round in 0..2 {
        let generate = ["--generate", "--interval", "1ms", "--frame-bytes", "4K"];
        let output = run(&[&record[..], &generate, &small].concat());
        let report = json(&output, 3);
        let said = stderr(&output);
        assert!(said.contains("LOG FULL: nothing more is recorded"), "{said}");
        assert!(said.contains("LOST: records are refused from now on"), "{said}");
        assert_eq!(said.matches("LOG FULL").count(), 1, "{said}");
        let number = |key: &str| report[key].as_u64().unwrap();
        let mut offered = 0;
        let mut pushed = 0;
        let mut refused_samples = 0;
        for source in report["sources"].as_array().unwrap() {
            let count = |key: &str| source[key].as_u64().unwrap();
            offered += count("records") + count("refused");
            pushed += count("samples");
            refused_samples += count("refused_samples");
        }
        // Of this run, and no more than it had.
        assert!(number("lost") > 0 && number("lost") <= offered, "round {round}: {report}");
        assert!(number("lost_samples") >= refused_samples && refused_samples > 0, "{report}");
        if round == 0 {
            lost_first = number("left_in_rings");
            assert!(lost_first > 0 && number("left_by_earlier_runs") == 0, "{report}");
            let query = ["query", &store, "--agg", "count", "--format", "csv"];
            let rows = text(&run(&query), 0);
            let count = |row: &str| row.rsplit(',').next().unwrap().parse::<u64>().unwrap();
            let there: u64 = rows.lines().skip(1).map(count).sum();
            assert_eq!(there, pushed, "samples are those that are kept");
        } else {
            assert_eq!(number("left_by_earlier_runs"), lost_first, "{report}");
        }
    }
}
