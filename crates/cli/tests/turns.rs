//! Turns at what one process at a time does: replacing the manifest, and making a store. Who has the turn may
//! be slow, stopped, or hang on its disk; nothing durable is lost by that, and whoever waits says so and hears
//! a signal.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use baro_log::{InitLock, ManifestLock, open_folder};
use baro_recorder::Trouble;
use baro_recorder::inspect::RingSearch;
use baro_sys::disk::Disk;
use baro_sys::termination::send;
use calls::{baro, feed, json, run, stderr, text};
use place::Folder;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Output, Stdio};

const SIGTERM: i32 = 15;

/// Samples that compress badly.
fn lines(count: u64) -> String {
    let mut lines = String::new();
    for number in 0..count {
        let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
        let _ = writeln!(lines, "{},noise,{}", 1 + number, noise as f64 / 1e15);
    }
    lines
}

fn made(folder: &Folder) -> String {
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "3M", "--recycle"]), 0);
    let first = ["record", &store, "--stdin", "csv"];
    text(&feed(&first, b",a,1\n,b,2\n"), 0);
    store
}

/// Somebody whose turn it is, as a delete that is stopped in it.
fn stopped_delete(store: &str) -> ManifestLock {
    let disk = open_folder(Path::new(store)).unwrap();
    std::fs::create_dir_all(Path::new(store).join("runs")).unwrap();
    ManifestLock::take(&disk, "deletes", &mut |_, _| false).unwrap()
}

fn begun(arguments: &[&str]) -> Child {
    let mut command = baro(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Reads what is said until it says this, and waits for `then`; then ends the process by a signal.
fn ended_once_it_says(mut child: Child, said: &str, then: impl Fn() -> bool) -> Output {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let found = lines.by_ref().map_while(Result::ok).find(|line| line.contains(said));
    assert!(found.is_some(), "it ended and had not said {said:?}");
    while !then() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    send(child.id(), SIGTERM).unwrap();
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = rest.join("\n").into_bytes();
    output
}

#[test]
fn a_stopped_delete_costs_a_source_that_waits_nothing() {
    let folder = Folder::in_memory("turns-record", 64 << 20);
    let store = made(&folder);
    let turn = stopped_delete(&store);
    let record = ["record", &store, "--stdin", "csv", "--ring", "1M", "--format", "json"];
    let mut child = begun(&record);
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines(1_000_000).as_bytes()));
    let waits = format!("settling waits for process {}, which deletes", std::process::id());
    // However slow this machine is, the log is full then.
    let is_held = || {
        let rings = RingSearch::of_all(None).rings;
        rings.iter().any(|ring| {
            ring.is_of(Path::new(&store)) && matches!(ring.report.trouble, Trouble::Held { .. })
        })
    };
    let output = ended_once_it_says(child, &waits, is_held);
    // The pipe is closed before all is read.
    assert!(writer.join().unwrap().is_err());
    let report = json(&output, 3);
    assert_eq!(report["lost_durable"], 0, "{report}");
    assert_eq!(report["settling_stopped"], waits.as_str());
    drop(turn);
    // What was durable is there, what waited in the ring is recorded, and all is settled.
    // What the first one had to refuse after the signal is a gap, of which this one tells.
    let refused = report["sources"][0]["refused"].as_u64().unwrap() > 0;
    let next = json(&feed(&record, b",a,3\n"), if refused { 3 } else { 0 });
    assert_eq!((&next["left_in_rings"], &next["lost_durable"]), (&0.into(), &0.into()), "{next}");
    text(&run(&["settle", &store, "--all"]), 0);
    assert!(text(&run(&["verify", &store]), 0).ends_with("whole\n"));
    let rows = text(&run(&["query", &store, "noise", "--format", "csv"]), 0);
    // All that had been durable, from the first one on; behind it what the ring had, less what was refused.
    let durable = report["sources"][0]["samples"].as_u64().unwrap() as usize;
    let last = rows.lines().nth(durable).unwrap();
    assert!(
        durable > 100_000 && last.starts_with(&format!("{durable},noise,")),
        "{durable}: {last}"
    );
}

#[test]
fn who_settles_and_who_deletes_say_for_whom_they_wait_and_end_by_a_signal() {
    let folder = Folder::in_memory("turns-verbs", 64 << 20);
    let store = made(&folder);
    let turn = stopped_delete(&store);
    let waits = format!("waits for process {}, which deletes", std::process::id());
    let settle = begun(&["settle", &store, "--all"]);
    let delete = begun(&["delete", &store, "a"]);
    let settled = text(&ended_once_it_says(settle, &waits, || true), 0);
    assert!(settled.contains("ended before all was done"), "{settled}");
    let refused = ended_once_it_says(delete, &waits, || true);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("nothing was changed"), "{}", stderr(&refused));
    drop(turn);
    assert_eq!(text(&run(&["query", &store, "a", "--format", "csv"]), 0).lines().count(), 2);
    text(&run(&["delete", &store, "a"]), 0);
    text(&run(&["settle", &store, "--all"]), 0);
}

#[test]
fn of_several_who_make_a_store_at_once_one_does_and_it_is_whole() {
    let folder = Folder::in_memory("turns-init", 64 << 20);
    for round in 0..3 {
        let store = folder.path(&format!("init{round}"));
        let all: Vec<Child> = (0..3).map(|_| begun(&["init", &store, "--size", "2M"])).collect();
        let all: Vec<Output> = all.into_iter().map(|one| one.wait_with_output().unwrap()).collect();
        let (made, late): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.status.success());
        assert_eq!(made.len(), 1, "{all:?}");
        for one in late {
            let said = stderr(one);
            assert!(
                said.contains("makes a store there") || said.contains("a store already"),
                "{said}"
            );
        }
        assert!(text(&run(&["verify", &store]), 0).contains("whole"));
        let store = folder.path(&format!("record{round}"));
        let record = ["record", &store, "--init", "2M", "--stdin", "csv", "--format", "json"];
        let mut all: Vec<Child> = (0..3).map(|_| begun(&record)).collect();
        for one in &mut all {
            // Who is refused may have ended.
            let _ = one.stdin.take().unwrap().write_all(b",a,1\n");
        }
        let all: Vec<Output> = all.into_iter().map(|one| one.wait_with_output().unwrap()).collect();
        let recorded = all.iter().filter(|one| one.status.success()).count();
        assert!(recorded >= 1, "{all:?}");
        let rows = text(&run(&["query", &store, "a", "--format", "csv"]), 0);
        assert_eq!(rows.lines().count(), 1 + recorded, "{all:?}");
    }
}

#[test]
fn while_a_store_is_made_nobody_else_makes_one_or_a_copy_there() {
    let folder = Folder::in_memory("turns-copy", 64 << 20);
    let (store, there) = (made(&folder), folder.path("there"));
    let disk = Disk::create(Path::new(&there)).unwrap();
    let lock = InitLock::take(&disk, Path::new(&there)).unwrap();
    let me = format!("process {}", std::process::id());
    for verb in [
        &["init", &there, "--size", "2M"][..],
        &["recover", &store, &there],
        &["backup", &store, &there],
    ] {
        let refused = run(verb);
        assert_eq!(refused.status.code(), Some(1), "{verb:?}");
        assert!(stderr(&refused).contains(&me), "{verb:?}: {}", stderr(&refused));
        let names: Vec<_> =
            std::fs::read_dir(&there).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(names, ["lock"], "{verb:?}");
    }
    drop(lock);
    // A folder in which that ended, or was killed, is as good as an empty one.
    text(&run(&["backup", &store, &there]), 0);
    text(&run(&["backup", &store, &there]), 0);
}
