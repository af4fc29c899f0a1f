//! A result that cannot be printed is no result: each verb ends with 1 and a sentence where stdout
//! refuses, in every form that it has.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::run;
use place::Folder;
use std::fs::File;
use std::process::{Command, Stdio};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/trace/6.12.trace");
const BLKPARSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/blk/sdb.blkparse");

/// Runs it with a full disk for stdout.
fn refused(arguments: &[&str]) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_baro"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
    assert!(said.contains("No space left on device"), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
}

#[test]
fn a_full_disk_at_stdout_fails_every_verb() {
    let folder = Folder::new("output");
    let store = folder.path("s");
    let store = store.as_str();
    let lines = folder.path("a.csv");
    std::fs::write(&lines, "1700000000000000000,a,1\n1700000000000000001,a,2\n").unwrap();
    assert_eq!(run(&["init", store, "--size", "32M"]).status.code(), Some(0));
    assert_eq!(run(&["import", store, &lines]).status.code(), Some(0));
    let new = |name: &str| folder.path(name);
    let (made, made_too) = (new("made"), new("made-too"));
    let (copy, copy_too) = (new("copy"), new("copy-too"));
    let (second, second_too) = (new("second"), new("second-too"));
    let (csv, csv_too) = (new("x.csv"), new("y.csv"));
    for arguments in [
        // What is looked at only.
        &["info", store][..],
        &["verify", store],
        &["list", store],
        &["cat", store],
        &["query", store, "a"],
        &["query", store, "a", "--agg", "count"],
        &["du", store],
        &["top", store],
        &["pin", store, "--list"],
        &["rings", "--format", "json"],
        &["explain", TRACE],
        &["watch", store, "--count", "1", "--every", "10ms", "--format", "json"],
        &["plan", "--sensors", "10", "--rate", "10Hz"],
        &["tune", "show", store],
        &["delete", store, "a", "--dry-run"],
        &["trace", "syscall", TRACE],
        &["blk", "--blkparse", BLKPARSE],
        // What does its work before it has nobody to tell.
        &["settle", store],
        &["import", store, &lines],
        &["record", store, "--proc", "--for", "30ms"],
        &["--help"],
        &["import", "--help"],
        &["--version"],
    ] {
        let printed = run(arguments);
        assert!(!printed.stdout.is_empty(), "{arguments:?} prints nothing: {printed:?}");
        refused(arguments);
    }
    for verb in ["info", "verify", "list", "cat", "du", "top", "settle"] {
        refused(&[verb, store, "--format", "json"]);
    }
    for format in ["table", "text", "csv", "json", "ndjson", "arrow", "parquet"] {
        refused(&["query", store, "a", "--format", format]);
    }
    refused(&["import", store, &lines, "--format", "json"]);
    refused(&["pin", store, "--list", "--format", "json"]);
    refused(&["share", "status"]);
    refused(&["record", store, "--proc", "--for", "30ms", "--format", "json"]);
    // What can be done once only.
    for [verb, one, two] in [
        ["recover", &copy, &copy_too],
        ["export", &csv, &csv_too],
        ["backup", &second, &second_too],
    ] {
        let printed = run(&[verb, store, one]);
        assert!(!printed.stdout.is_empty(), "{verb}: {printed:?}");
        refused(&[verb, store, two]);
    }
    assert!(!run(&["init", &made, "--size", "2M"]).stdout.is_empty());
    refused(&["init", &made_too, "--size", "2M"]);
    refused(&["pin", store, "--before", "1s", "--name", "p"]);
    // Nothing was lost for it.
    let count = run(&["query", store, "a", "--agg", "count", "--format", "csv"]);
    assert!(String::from_utf8_lossy(&count.stdout).contains(",2"), "{count:?}");
}

/// Verbs that are not above: those of other programs, and two that take their time.
const ELSEWHERE: [&str; 6] = ["listen", "token", "serve", "lake", "demo", "bench"];

#[test]
fn no_verb_is_forgotten() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let tried = include_str!("output.rs");
    let is_verb = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let verbs = help.lines().take_while(|line| !line.starts_with("Example")).filter(is_verb);
    let verbs: Vec<&str> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.len() > 25, "{verbs:?}");
    let missing =
        |verb: &&&str| !tried.contains(&format!("\"{verb}\"")) && !ELSEWHERE.contains(verb);
    assert_eq!(verbs.iter().filter(missing).collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_as_a_full_disk_is() {
    let folder = Folder::new("output-limit");
    let (store, out) = (folder.path("s"), folder.path("a.csv"));
    let lines: String = (0..2000).map(|n| format!("17000000000000{n:05},a,{n}\n")).collect();
    std::fs::write(folder.path("in.csv"), lines).unwrap();
    assert_eq!(run(&["init", &store, "--size", "8M"]).status.code(), Some(0));
    assert_eq!(run(&["import", &store, &folder.path("in.csv")]).status.code(), Some(0));
    let program = env!("CARGO_BIN_EXE_baro");
    let limited = format!("ulimit -f 8; exec {program} query {store} a -o {out}");
    let output = Command::new("sh").args(["-c", &limited]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("File too large") && said.contains("a.csv"), "{said}");
    let names = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["in.csv", "s"], "nothing is left of it");
}
