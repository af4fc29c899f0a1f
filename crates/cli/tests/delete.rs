//! `baro delete` from outside: what is said, what is gone, what comes back.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{feed, json, run, stderr, text};
use place::Folder;
use std::fmt::Write as _;

const START_NS: u64 = 1_700_000_000_000_000_000;

fn lines(names: &[&str], count: u64) -> String {
    let mut lines = String::new();
    for number in 0..count {
        for name in names {
            let _ = writeln!(lines, "{},\"{name}\",{number}", START_NS + number * 1_000_000_000);
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
    assert_eq!(
        code(&["delete", store, "a", "--from", "2020-02-02", "--to", "2020-02-01"]),
        Some(2)
    );
    // What may be a time of day or a date would delete all from 1970 on.
    for from in ["10.30", "02.01", "46023", "02012026", "-86400", "-0.5"] {
        let done = run(&["delete", store, "a", &format!("--from={from}")]);
        let said = stderr(&done);
        assert!(done.status.code() == Some(2) && said.contains("a time from 1980 on"), "{said}");
    }
    assert!(!std::path::Path::new(store).join("runs/manifest").exists());
    assert_eq!(
        json(&run(&["delete", store, "a", "--dry-run", "--format", "json"]), 0)["samples"],
        10
    );
    assert!(!std::path::Path::new(store).join("runs/manifest").exists());
}

/// Killed at some moment it has happened or not, and called again it happens. `BARO_DELETE_KILLS` is how
/// often.
#[test]
fn a_delete_that_is_killed_is_undone_or_done() {
    let rounds = std::env::var("BARO_DELETE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let folder = Folder::new("delete-killed");
    let store = folder.0.join("store");
    let store = store.to_str().unwrap();
    text(&run(&["init", store, "--size", "8M", "--recycle"]), 0);
    let (mut undone, mut done) = (0, 0);
    for round in 0..rounds {
        record(store, &["a", "b"], 200);
        if round % 3 == 0 {
            text(&run(&["settle", store, "--all"]), 0);
        }
        let mut delete = calls::baro(&["delete", store, "a"]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 977 % 12_000));
        delete.kill().unwrap();
        delete.wait().unwrap();
        let count = |name: &str| {
            let shown = run(&["query", store, "--format", "csv"]);
            text(&shown, 0).lines().filter(|line| line.contains(&format!(",{name},"))).count()
        };
        let (gone, left) = (count("a"), count("b"));
        assert!((gone == 0 || gone == 200) && left == 200, "{round}: {gone} {left}");
        undone += u64::from(gone > 0);
        done += u64::from(gone == 0);
        let again = run(&["delete", store, "a"]);
        assert_eq!(again.status.code(), Some(i32::from(gone == 0)), "{}", calls::stderr(&again));
        assert_eq!((count("a"), count("b")), (0, 200));
        text(&run(&["verify", store]), 0);
    }
    if rounds > 12 {
        println!("{undone} undone, {done} done");
    }
}

#[test]
fn pins_whose_window_is_met_are_named_and_an_import_comes_back() {
    let folder = Folder::new("delete-pins");
    let store = folder.0.join("store");
    let store = store.to_str().unwrap();
    text(&run(&["init", store, "--size", "8M"]), 0);
    let file = folder.0.join("rows.csv");
    std::fs::write(&file, format!("time,series,value\n{}", lines(&["a", "b"], 50))).unwrap();
    let file = file.to_str().unwrap();
    text(&run(&["import", store, file]), 0);
    text(&run(&["pin", store, "--name", "fault"]), 0);
    for arguments in [vec!["delete", store, "a", "--dry-run"], vec!["delete", store, "a"]] {
        let shown = run(&arguments);
        text(&shown, 0);
        assert!(calls::stderr(&shown).contains(" fault: what is deleted"), "{arguments:?}");
    }
    let outside = ["delete", store, "b", "--to", "1970-01-02T00:00:00Z"];
    assert!(!calls::stderr(&run(&outside)).contains("fault"));
    let count = |store: &str| {
        let rows = text(&run(&["query", store, "--format", "csv"]), 0);
        rows.lines().filter(|line| line.contains(",a,")).count()
    };
    assert_eq!(count(store), 0);
    text(&run(&["import", store, file]), 0);
    assert_eq!(count(store), 50);
    text(&run(&["settle", store, "--all"]), 0);
    assert_eq!(count(store), 50);
}

#[test]
fn who_imports_into_a_deleted_series_is_told_its_type() {
    let folder = Folder::new("delete-type");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let import = |name: &str, rows: &str, code: i32| {
        let file = folder.path(name);
        std::fs::write(&file, format!("time,druck,temp\n{rows}\n")).unwrap();
        let output = run(&["import", &store, &file]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        stderr(&output)
    };
    assert!(!import("wrong.csv", "2026-01-01T00:00:00Z,\"21,5\",3", 0).contains("deleted"));
    text(&run(&["delete", &store, "druck"]), 0);
    let told = import("again.csv", "2026-01-01T00:00:00Z,\"21,5\",4", 0);
    assert!(told.contains("deleted before, and of the same type still: druck (text)"), "{told}");
    text(&run(&["delete", &store, "temp"]), 0);
    let told = import("other.csv", "2026-01-02T00:00:00Z,,\"warm\"", 3);
    assert!(told.contains("deleted before, and of the same type still: temp (f64)"), "{told}");
    // Nothing is said of what nobody touches, nor of what is back for good.
    text(&run(&["settle", &store, "--all"]), 0);
    assert!(!import("third.csv", "2026-01-03T00:00:00Z,\"1\",", 0).contains("deleted"));
}
