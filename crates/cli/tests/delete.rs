//! `baro delete` from outside: what is said, what is gone, what comes back.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{feed, json, run, text};
use place::Folder;
use std::fmt::Write as _;

const START_NS: u64 = 1_700_000_000_000_000_000;

fn lines(names: &[&str], count: u64) -> String {
    let mut lines = String::new();
    for number in 0..count {
        for name in names {
            let _ = writeln!(lines, "{},{name},{number}", START_NS + number * 1_000_000_000);
        }
    }
    lines
}

fn record(store: &str, names: &[&str], count: u64) {
    let done = feed(&["record", store, "--stdin", "csv"], lines(names, count).as_bytes());
    assert_eq!(done.status.code(), Some(0), "{}", calls::stderr(&done));
}

#[test]
fn what_is_deleted_is_gone_from_every_way_out_and_its_room_comes_back() {
    let folder = Folder::new("delete");
    let store = folder.0.join("store");
    let store = store.to_str().unwrap();
    text(&run(&["init", store, "--size", "8M"]), 0);
    record(store, &["good", "wrong", "21.5"], 5000);
    let settled = json(&run(&["settle", store, "--all", "--format", "json"]), 0);
    assert!(settled["runs"].as_u64() >= Some(1), "{settled}");
    record(store, &["wrong"], 10);
    let bytes =
        |store: &str| json(&run(&["du", store, "--format", "json"]), 0)["runs_bytes"].as_u64();
    let before = bytes(store);

    let dry = ["delete", store, "wrong", "21.5", "--dry-run", "--format", "json"];
    let told = json(&run(&dry), 0);
    assert_eq!((told["dry_run"].as_bool(), told["samples"].as_u64()), (Some(true), Some(10_000)));
    assert!(text(&run(&["list", store]), 0).contains("wrong"));
    let done = json(&run(&["delete", store, "wrong", "21.5", "--format", "json"]), 0);
    assert_eq!(done["series"], told["series"]);

    for way in [
        vec!["list", store],
        vec!["list", store, "--counts"],
        vec!["cat", store],
        vec!["du", store],
        vec!["query", store, "--format", "csv"],
        vec!["query", store, "--agg", "count", "--format", "csv"],
    ] {
        let shown = text(&run(&way), 0);
        assert!(!shown.contains("wrong") && !shown.contains("21.5"), "{way:?}: {shown:.300}");
        assert!(shown.contains("good"), "{way:?}");
    }
    assert_eq!(run(&["delete", store, "wrong"]).status.code(), Some(1));
    text(&run(&["verify", store]), 0);
    text(&run(&["settle", store, "--all"]), 0);
    assert!(bytes(store) < before, "{before:?}");
    text(&run(&["verify", store]), 0);

    // An interval, and the same times once more.
    let to = (START_NS + 100 * 1_000_000_000).to_string();
    let part = json(&run(&["delete", store, "good", "--to", &to, "--format", "json"]), 0);
    assert_eq!(part["samples"], 100);
    record(store, &["good", "wrong"], 7);
    let rows = text(&run(&["query", store, "good", "wrong", "--format", "csv"]), 0);
    assert_eq!(rows.lines().filter(|line| line.contains("good")).count(), 4907, "{rows:.200}");
    assert_eq!(rows.lines().filter(|line| line.contains("wrong")).count(), 7);
    assert!(text(&run(&["list", store]), 0).contains("wrong"));
    text(&run(&["settle", store, "--all"]), 0);
    let listed = text(&run(&["list", store]), 0);
    assert!(listed.contains("wrong") && !listed.contains("21.5"), "{listed}");
}

#[test]
fn what_cannot_be_deleted_is_refused_and_nothing_changes() {
    let folder = Folder::new("delete-refused");
    let store = folder.0.join("store");
    let store = store.to_str().unwrap();
    text(&run(&["init", store, "--size", "4M"]), 0);
    record(store, &["a"], 10);
    let code = |arguments: &[&str]| run(arguments).status.code();
    assert_eq!(code(&["delete", store]), Some(2));
    assert_eq!(code(&["delete", store, "nothing"]), Some(1));
    assert_eq!(code(&["delete", store, "a", "--from", "20", "--to", "10"]), Some(1));
    assert!(!std::path::Path::new(store).join("runs/manifest").exists());
    assert_eq!(
        json(&run(&["delete", store, "a", "--dry-run", "--format", "json"]), 0)["samples"],
        10
    );
    assert!(!std::path::Path::new(store).join("runs/manifest").exists());
}
