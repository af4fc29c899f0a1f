//! What a user sees on a terminal: a status that keeps to its line, and notes that are told once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{json, run, stderr, text};
use place::Folder;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

const BARO: &str = env!("CARGO_BIN_EXE_baro");

/// Runs lines of a shell on a terminal of its own; `None` where there is no script(1).
fn on_terminal(lines: &str) -> Option<Output> {
    let mut command = Command::new("script");
    command.args(["-qec", lines, "/dev/null"]).stdin(Stdio::null());
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: script(1): {error}");
            None
        }
    }
}

#[test]
fn a_status_stays_in_one_line_of_the_terminal() {
    let folder = Folder::new("status");
    let store = folder.path("store");
    // It becomes narrow while it is recorded.
    let lines = format!(
        "stty cols 70 rows 24; tty=$(tty); (sleep 1.5; stty -F $tty cols 40) & \
         {BARO} record {store} --init 8M --recycle --generate --interval 1ms --for 3500ms"
    );
    let Some(output) = on_terminal(&lines) else { return };
    let shown = text(&output, 0);
    let pieces: Vec<&str> = shown.split("\r\x1b[K").collect();
    let is_status = |piece: &&&str| piece.contains(" s  lost 0");
    let statuses: Vec<&str> = pieces.iter().filter(is_status).copied().collect();
    assert!(statuses.len() >= 2, "{shown:?}");
    for status in &statuses {
        // Nothing but the next status, or an empty line, comes behind it.
        assert!(!status.contains('\n') && status.chars().count() < 70, "{status:?}");
    }
    assert!(statuses.last().unwrap().chars().count() < 40, "{statuses:?}");
    let seconds =
        |status: &&str| -> u64 { status.split_whitespace().next().unwrap().parse().unwrap() };
    let last = seconds(statuses.last().unwrap());
    assert!(statuses.len() as u64 <= last + 2, "more than one a second: {statuses:?}");
    assert!(shown.contains("generate: "), "{shown:?}");
}

#[test]
fn who_records_what_he_types_is_told_how_it_ends() {
    let folder = Folder::new("typed");
    let store = folder.path("store");
    let lines = format!("{BARO} record {store} --init 8M --stdin csv --for 300ms");
    let Some(output) = on_terminal(&lines) else { return };
    let shown = text(&output, 0);
    assert!(shown.contains("Ctrl-D at the beginning of a line ends it"), "{shown}");
    let piped = stderr(&run(&["record", &store, "--stdin", "csv", "--for", "300ms"]));
    assert!(!piped.contains("Ctrl-D"), "{piped}");
}

#[test]
fn what_does_not_hold_is_explained_when_a_store_is_made_and_named_afterwards() {
    let folder = Folder::new("notes");
    let store = folder.path("store");
    let made = text(&run(&["init", &store, "--size", "64M", "--recycle"]), 0);
    let found = json(&run(&["info", &store, "--format", "json"]), 0);
    // Nobody has asked for a priority.
    let open: Vec<&serde_json::Value> = found["promises"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|judged| judged["holds"] != "yes" && judged["promise"] != "real-time")
        .collect();
    let again = ["record", &store, "--generate", "--for", "10ms"];
    let said = stderr(&run(&again));
    for judged in &open {
        let (name, why) = (judged["promise"].as_str().unwrap(), judged["why"].as_str().unwrap());
        assert!(made.contains(&format!("note: {name} ")) && made.contains(why), "{made}");
        assert!(said.contains(name) && !said.contains(why), "{said}");
    }
    assert!(!said.contains("note: "), "{said}");
    assert_eq!(said.contains("baro info"), !open.is_empty(), "{said}");
    // What was asked for and is refused is told each time.
    let denied = stderr(&run(&[&again[..], &["--cpu", "4095"]].concat()));
    assert!(denied.contains("note: ") && denied.contains("4095"), "{denied}");
    let new = folder.path("new");
    let said = stderr(&run(&["record", &new, "--init", "64M", "--generate", "--for", "10ms"]));
    assert_eq!(said.contains("note: "), !open.is_empty(), "{said}");
}

/// Each once, in the order of recording; the first look may be before or after a session.
#[test]
fn rows_are_followed_as_they_are_recorded() {
    let folder = Folder::new("follow");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M", "--recycle"]), 0);
    let record = |lines: &str| {
        let feed = calls::feed(&["record", &store, "--stdin", "csv"], lines.as_bytes());
        assert_eq!(feed.status.code(), Some(0), "{}", stderr(&feed));
    };
    record("1700000000000000001,temp,1\n1700000000000000002,temp,2\n1700000000000000003,other,7\n");
    let mut cat = Command::new(BARO);
    cat.args(["cat", &store, "temp", "--last", "1", "--follow", "--format", "csv"]);
    let mut cat = cat.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut rows = BufReader::new(cat.stdout.take().unwrap()).lines();
    let mut next = || rows.next().unwrap().unwrap();
    assert_eq!(next(), "1700000000000000002,temp,2");
    // One that is late, one of another series, and a session after it.
    record("1700000000000000005,temp,5\n1600000000000000000,temp,4\n1700000000000000006,other,8\n");
    let mut found = [next(), next()];
    found.sort();
    assert_eq!(found, ["1600000000000000000,temp,4", "1700000000000000005,temp,5"]);
    record("1700000000000000009,temp,9\n");
    assert_eq!(next(), "1700000000000000009,temp,9");
    baro_sys::termination::send(cat.id(), 2).unwrap();
    assert_eq!(rows.next().map(Result::unwrap), None);
    let ended = cat.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), stderr(&ended)), (Some(0), String::new()));
    // Whoever has read enough is no failure.
    let lines = format!("{BARO} cat {store} --follow --last 1 temp; echo $? >&2");
    let shell = format!("({lines}) | head -1");
    let mut shell = Command::new("sh")
        .args(["-c", &shell])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while shell.try_wait().unwrap().is_none() {
        record("1700000000000000010,temp,10\n");
    }
    assert_eq!(stderr(&shell.wait_with_output().unwrap()), "0\n");
}
