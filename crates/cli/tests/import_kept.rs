//! What an import keeps: all of it, or it says to the sample what is not in the store, and from which
//! line on. Nothing that was there before is given up for it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use baro_store::{Handover, Store};
use calls::{baro, feed, json, run, stderr, text};
use place::Folder;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Lines of `series` whose values no encoding makes small.
fn lines(series: &str, count: u64) -> String {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let line = |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        format!("{},{series},0.{random}\n", 1_600_000_000_000_000_000 + n * 1_000_003)
    };
    (0..count).map(line).collect()
}

fn count(store: &str, series: &str) -> u64 {
    let rows = text(&run(&["query", store, series, "--agg", "count", "--format", "csv"]), 0);
    rows.lines().nth(1).map_or(0, |row| row.rsplit(',').next().unwrap().parse().unwrap())
}

fn info(store: &str) -> Value {
    json(&run(&["info", store, "--format", "json"]), 0)
}

/// A recorder that has made its rings: so many.
#[allow(clippy::zombie_processes, reason = "the caller ends it")]
fn recorder(store: &str, arguments: &[&str], rings: usize) -> Child {
    let mut recorder =
        baro(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ready = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let info = run(&["info", store, "--format", "json"]);
        let info: Value = serde_json::from_slice(&info.stdout).unwrap_or_default();
        info["rings"].as_array().is_some_and(|found| found.len() >= rings)
    });
    assert!(ready && recorder.try_wait().unwrap().is_none());
    recorder
}

fn end(recorder: Child) -> Output {
    Command::new("kill").args(["-INT", &recorder.id().to_string()]).status().unwrap();
    recorder.wait_with_output().unwrap()
}

/// A file system in memory; unmounted at the end.
struct Small(String);

impl Small {
    fn mount(folder: &Folder, size: &str) -> Option<Self> {
        let path = folder.path("small");
        std::fs::create_dir(&path).unwrap();
        let size = format!("size={size}");
        let mount = ["-t", "tmpfs", "-o", &size, "none", &path];
        let mounted = Command::new("mount").args(mount).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Small(path));
        }
        println!("skipped: may not mount a tmpfs");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn an_import_larger_than_a_recycling_log_keeps_all_and_what_was_there() {
    let folder = Folder::new("kept-recycle");
    let old = folder.path("old.csv");
    std::fs::write(&old, lines("old", 300_000)).unwrap();
    for (name, init) in [
        ("store", &["--size", "2M", "--recycle"][..]),
        ("grown", &["--grow-to", "2M", "--recycle"]),
    ] {
        let store = folder.path(name);
        text(&run(&[&["init", &store], init].concat()), 0);
        let live: String = (1..=10_000).map(|n| format!(",live,{n}\n")).collect();
        text(&feed(&["record", &store, "--stdin", "csv"], live.as_bytes()), 0);
        // Durable, and in no run.
        assert_eq!((count(&store, "live"), &info(&store)["runs"]), (10_000, &json!(0)));
        let output = run(&["import", &store, &old, "--format", "json"]);
        let report = json(&output, 0);
        assert_eq!((&report["samples"], &report["samples_lost"]), (&300_000.into(), &0.into()));
        assert_eq!((&report["stopped"], &report["records_lost"]), (&Value::Null, &0.into()));
        assert_eq!((count(&store, "old"), count(&store, "live")), (300_000, 10_000), "{init:?}");
        assert!(info(&store)["runs"].as_u64().unwrap() > 0, "more than the log holds");
        assert!(text(&run(&["verify", &store]), 0).ends_with("whole\n"));
    }
}

#[test]
fn a_full_log_ends_an_import_with_what_is_kept_and_what_is_not() {
    let folder = Folder::new("kept-full");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M"]), 0);
    let (first, second) = (folder.path("a.csv"), folder.path("b.csv"));
    std::fs::write(&first, "1,few,1\nnonsense\n3,few,3\n").unwrap();
    std::fs::write(&second, lines("many", 1_500_000)).unwrap();
    let output = run(&["import", &store, &first, &second, "--format", "json"]);
    let report = json(&output, 1);
    let kept = report["samples"].as_u64().unwrap();
    let many = count(&store, "many");
    assert_eq!(kept, many + 2, "what is said to be kept is there, and no more");
    assert_eq!(count(&store, "few"), 2);
    let stopped = report["stopped"].as_str().unwrap();
    assert!(
        stopped.contains("the log is full") && stopped.contains("--when-full recycle"),
        "{report}"
    );
    // Nothing between is left out: what was read is kept or not.
    let read = report["lines"].as_u64().unwrap();
    let lost = report["samples_lost"].as_u64().unwrap();
    assert!(lost > 0 && kept + lost <= read && read < 1_500_003, "{report}");
    let line = json!({ "file": second, "line": many + 1 });
    assert_eq!(report["first_line_not_kept"], line);
    // The same in words.
    let output = run(&["import", &store, &second]);
    let said = text(&output, 1);
    assert!(said.contains("lost: ") && said.contains(" samples of what was read"), "{said}");
    assert!(said.contains(&format!("the first line that is not in the store: 1 of {second}")));
    assert!(stderr(&output).contains("the log is full"), "{}", stderr(&output));
}

#[test]
fn where_nothing_can_be_settled_an_import_stops_and_gives_up_nothing() {
    let folder = Folder::new("kept-unsettled");
    let Some(small) = Small::mount(&folder, "6M") else { return };
    let store = format!("{}/store", small.0);
    text(&run(&["init", &store, "--size", "4M", "--recycle"]), 0);
    let live: String = (1..=1000).map(|n| format!(",live,{n}\n")).collect();
    text(&feed(&["record", &store, "--stdin", "csv"], live.as_bytes()), 0);
    let mut file = std::fs::File::create(format!("{}/filler", small.0)).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let old = folder.path("old.csv");
    std::fs::write(&old, lines("old", 1_500_000)).unwrap();
    let output = run(&["import", &store, &old, "--format", "json"]);
    let report = json(&output, 1);
    let why = report["stopped"].as_str().unwrap();
    assert!(why.contains("settling has stopped") && why.contains("No space left"), "{why}");
    let kept = report["samples"].as_u64().unwrap();
    assert!(kept > 0 && report["samples_lost"].as_u64().unwrap() > 0, "{report}");
    assert_eq!((count(&store, "old"), count(&store, "live")), (kept, 1000));
    assert_eq!(report["first_line_not_kept"], json!({ "file": old, "line": kept + 1 }));
}

#[test]
fn an_import_into_a_log_that_cannot_grow_says_why_it_kept_nothing() {
    let folder = Folder::new("kept-grown");
    let Some(small) = Small::mount(&folder, "12M") else { return };
    let store = format!("{}/store", small.0);
    let fill = ["--init", "64M", "--generate", "--interval", "100us", "--frame-bytes", "16K"];
    let filled = run(&[&["record", &store, "--for", "3s", "--ring", "1M"][..], &fill].concat());
    assert_eq!(filled.status.code(), Some(3), "{}", stderr(&filled));
    let few = folder.path("few.csv");
    std::fs::write(&few, lines("few", 1000)).unwrap();
    // It is a matter of time whether it waits for room, or its recorder ends before.
    for _ in 0..3 {
        let output = run(&["import", &store, &few, "--format", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["samples"], &report["samples_lost"]), (&json!(0), &json!(1000)));
        let why = report["why_lost"].as_str().or(report["stopped"].as_str()).unwrap();
        assert!(why.contains("the log is full"), "{why}");
    }
}

#[test]
fn a_stopped_import_tells_its_counts_and_its_repeat_adds_no_row_twice() {
    let folder = Folder::new("kept-signal");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "32M"]), 0);
    let all = lines("a", 200_000);
    for (round, signal) in ["-INT", "-TERM"].into_iter().enumerate() {
        let mut child = baro(&["import", &store, "-", "--input", "csv", "--format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // Half of it, which ends within a line; and then nothing, while the pipe stays open.
        input.write_all(all.as_bytes().get(..all.len() / 2 + 7).unwrap()).unwrap();
        let id = child.id().to_string();
        // Not before all of it has left the pipe.
        let drained = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            std::fs::read_to_string(format!("/proc/{id}/task/{id}/status")).is_ok()
                && std::fs::read_to_string(format!("/proc/{id}/io"))
                    .unwrap_or_default()
                    .lines()
                    .find_map(|line| line.strip_prefix("rchar: ")?.parse::<usize>().ok())
                    .is_some_and(|read| read > all.len() / 2)
        });
        assert!(drained);
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        drop(input);
        let report = json(&output, 1);
        let kept = report["samples"].as_u64().unwrap();
        assert!(kept > 0 && kept < 200_000, "{report}");
        assert_eq!(report["samples_lost"], json!(0), "{report}");
        assert_eq!(report["first_line_not_kept"], json!({ "file": "stdin", "line": kept + 1 }));
        assert!(report["stopped"].as_str().unwrap().contains(&signal[1..]), "{report}");
        if round == 0 {
            assert_eq!(count(&store, "a"), kept);
        }
    }
    let output = feed(&["import", &store, "-", "--input", "csv"], all.as_bytes());
    assert!(text(&output, 0).contains("200000 samples of 1 series (0 declared)"));
    let rows = text(&run(&["query", &store, "--format", "csv"]), 0);
    assert_eq!(rows.lines().count(), 200_001);
    // To the bit, and in order: nothing of a line that came in part.
    let mut expected = all.lines();
    assert!(rows.lines().skip(1).all(|row| {
        let (time, value) = expected.next().unwrap().split_once(",a,").unwrap();
        let (at, found) = row.split_once(",a,").unwrap();
        at == time && found.parse::<f64>() == value.parse::<f64>()
    }));
}

/// Waits until the process has read a file up to its end, or has ended itself.
fn has_read(child: &Child, file: &str, bytes: u64) {
    let process = format!("/proc/{}", child.id());
    let position = || {
        let mut open = std::fs::read_dir(format!("{process}/fd")).ok()?;
        let is_file = |fd: &std::fs::DirEntry| {
            std::fs::read_link(fd.path()).is_ok_and(|found| found.as_os_str() == file)
        };
        let fd = open.find_map(|fd| fd.ok().filter(is_file))?.file_name();
        let info = std::fs::read_to_string(format!("{process}/fdinfo/{}", fd.display())).ok()?;
        info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse::<u64>().ok())
    };
    let ended = || {
        let stat = std::fs::read_to_string(format!("{process}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z'))
    };
    let since = std::time::Instant::now();
    while position().is_none_or(|at| at < bytes) && !ended() {
        assert!(since.elapsed().as_secs() < 60, "it does not read");
    }
}

fn stop(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

#[test]
fn where_an_import_is_stopped_the_first_line_that_is_not_kept_is_named_or_none() {
    let folder = Folder::new("kept-line");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let import = |file: &str| {
        let mut import = baro(&["import", &store, file, "--input", "csv", "--format", "json"]);
        import.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        import.spawn().unwrap()
    };
    // Lines that wait for the end of a text were read, and are not kept.
    let rows = lines("a", 5_800);
    let mut child = import("-");
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{rows}1,t,\"open\n2,x,1\n3,x,2\n").as_bytes()).unwrap();
    // What has left the pipe is parsed by another thread.
    std::thread::sleep(std::time::Duration::from_millis(300));
    stop(&child);
    let report = json(&child.wait_with_output().unwrap(), 1);
    drop(input);
    let first = report["first_line_not_kept"]["line"].as_u64().unwrap();
    assert!(first <= 5_801, "{report}");
    // All of a file was read, in one piece, when the signal came.
    let file = folder.path("b.csv");
    std::fs::write(&file, lines("b", 5_800)).unwrap();
    let bytes = std::fs::metadata(&file).unwrap().len();
    let child = import(&file);
    has_read(&child, &file, bytes);
    stop(&child);
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["samples"], json!(5_800), "{report}");
    assert_eq!((&report["first_line_not_kept"], count(&store, "b")), (&Value::Null, 5_800));
}

#[test]
fn a_dry_run_says_what_would_be_taken_and_writes_nothing() {
    let folder = Folder::new("kept-dry");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M"]), 0);
    text(&feed(&["record", &store, "--declare", "n:i64", "--stdin", "csv"], b"1,a,1\n"), 0);
    let before = text(&run(&["list", &store, "--format", "json"]), 0);
    let written = || -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![std::path::PathBuf::from(&store)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path)
                } else {
                    files.push((path.clone(), std::fs::read(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    };
    let bytes = written();
    let input = b"2,a,2\n3,n,1.5\n4,new,4\nbad\n5,n,5\n6,new,7\n";
    let import = ["import", &store, "-", "--input", "csv", "--dry-run", "--format", "json"];
    let output = feed(&import, input);
    let report = json(&output, 3);
    let keys = ["lines", "samples", "series", "series_declared", "lines_refused"];
    assert_eq!(keys.map(|key| report[key].as_u64().unwrap()), [6, 4, 3, 1, 2], "{report}");
    assert_eq!(report["dry_run"], json!(true));
    assert!(stderr(&output).contains("line 2: series n: expected i64"), "{}", stderr(&output));
    assert_eq!(text(&run(&["list", &store, "--format", "json"]), 0), before);
    assert!(written() == bytes, "a file of the store has changed");
    // And for true, the same counts.
    let report = json(&feed(&[&import[..5], &import[6..]].concat(), input), 3);
    assert_eq!(keys.map(|key| report[key].as_u64().unwrap()), [6, 4, 3, 1, 2], "{report}");
    let none = folder.path("none");
    assert_eq!(run(&["import", &none, "-", "--input", "csv", "--dry-run"]).status.code(), Some(1));
}

#[test]
fn what_a_recorder_that_does_not_settle_recycles_is_told_by_the_import() {
    let folder = Folder::new("kept-unwanted");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M", "--recycle"]), 0);
    let record = ["record", &store, "--attach", "1", "--declare", "s:f64", "--no-settle"];
    let recorder = recorder(&store, &record, 1);
    let old = folder.path("old.csv");
    std::fs::write(&old, lines("s", 400_000)).unwrap();
    let report = json(&run(&["import", &store, &old, "--format", "json"]), 3);
    text(&end(recorder), 0);
    let kept = count(&store, "s");
    assert!(kept < 400_000, "it has recycled some");
    assert_eq!(report["samples"], json!(kept), "{report}");
    assert_eq!(report["samples_lost"], json!(400_000 - kept), "{report}");
    assert_eq!(report["first_line_not_kept"], json!({ "file": old, "line": 1 }));
}

#[test]
fn beside_a_recorder_an_import_waits_for_settling_and_takes_from_nobody() {
    let folder = Folder::new("kept-attached");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "4M", "--recycle"]), 0);
    // Sources that cannot wait record beside it.
    let record = ["record", &store, "--attach", "1", "--declare", "s:f64", "--format", "json"];
    let sources = ["--proc", "--proc-interval", "20ms"];
    let recorder = recorder(&store, &[&record[..], &sources].concat(), 2);
    let old = folder.path("old.csv");
    std::fs::write(&old, lines("s", 600_000)).unwrap();
    let report = json(&run(&["import", &store, &old, "--format", "json"]), 0);
    assert_eq!((&report["samples"], &report["samples_lost"]), (&600_000.into(), &0.into()));
    let ended = json(&end(recorder), 0);
    assert_eq!((&ended["lost"], &ended["segments_recycled_unsettled"]), (&0.into(), &0.into()));
    assert_eq!(count(&store, "s"), 600_000);
}

/// Durable, settled, and dropped at once as too old.
#[test]
fn what_the_recorder_beside_would_drop_is_refused_with_its_line() {
    let folder = Folder::new("kept-dropped");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "4M", "--recycle"]), 0);
    let record = ["record", &store, "--attach", "1", "--keep-runs", "30d", "--proc"];
    let recorder = recorder(&store, &record, 2);
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (old, young) = (now_s - 40 * 86_400, now_s - 20 * 86_400);
    let file = folder.path("history.csv");
    std::fs::write(&file, format!("time,a\n{old},1\n{young},2\n{},3\n", old + 1)).unwrap();
    for dry in [&["--dry-run"][..], &[]] {
        let done = run(&[&["import", &store, &file, "--precision", "s"][..], dry].concat());
        let said = text(&done, 3) + &stderr(&done);
        for part in
            ["line 2: series a: expected a time from ", "line 4: ", "--keep-runs", "2 lines"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("line 3"), "{said}");
    }
    // Of a line with many times each costs itself.
    let lines = folder.path("b.jsonl");
    let stamps = format!("[{old}000,{young}000]");
    let line =
        format!("{{\"metric\":{{\"__name__\":\"b\"}},\"values\":[1,2],\"timestamps\":{stamps}}}\n");
    std::fs::write(&lines, line).unwrap();
    text(&run(&["import", &store, &lines]), 3);
    // Of a store that is handed over all stays until the table has it; not once it was released.
    for (holds, code) in [(false, 3), (true, 0)] {
        let handover = Handover { table: [1; 16], below: 0, offered: 0, holds };
        Store::open(store.as_ref()).unwrap().put_handover_in(Some(&handover)).unwrap();
        text(&run(&["import", &store, &file, "--precision", "s", "--dry-run"]), code);
    }
    Store::open(store.as_ref()).unwrap().put_handover_in(None).unwrap();
    text(&end(recorder), 0);
    assert_eq!((count(&store, "a"), count(&store, "b")), (1, 1));
    // Nobody drops anything now.
    text(&run(&["import", &store, &file, "--precision", "s"]), 0);
    assert_eq!(count(&store, "a"), 3);
    let bounds = ["--runs-size", "1G", "--min-free", "1M"];
    let sized = [&["record", &store, "--attach", "1", "--proc"][..], &bounds].concat();
    let recorder = self::recorder(&store, &sized, 2);
    let done = run(&["import", &store, &file, "--precision", "s"]);
    for said in ["keeps 1.0 GiB of runs (--runs-size)", "keeps 1.0 MiB free (--min-free)"] {
        assert!(stderr(&done).contains(said), "{}", stderr(&done));
    }
    text(&end(recorder), 0);
}

/// Durable in the log, and yet no reader would open the store.
#[test]
fn nothing_is_imported_where_the_folder_of_runs_is_none() {
    let folder = Folder::new("import-runs");
    let (store, elsewhere, file) =
        (folder.path("s"), folder.path("elsewhere"), folder.path("a.csv"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(&file, "1,a,1\n").unwrap();
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let runs = std::path::Path::new(&store).join("runs");
    let _ = std::fs::remove_dir(&runs);
    for found in ["a symbolic link", "something else"] {
        match found {
            "something else" => std::fs::write(&runs, "").unwrap(),
            _ => std::os::unix::fs::symlink(&elsewhere, &runs).unwrap(),
        }
        for verb in [&["import", &store, &file][..], &["query", &store, "a"]] {
            let done = run(verb);
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            let expected = format!("runs: open: expected a folder, found {found}");
            assert!(done.status.code() == Some(1) && said.contains(&expected), "{verb:?}: {said}");
        }
        std::fs::remove_file(&runs).unwrap();
    }
    assert!(std::fs::read_dir(&elsewhere).unwrap().next().is_none());
    text(&run(&["import", &store, &file]), 0);
}

/// Two devices under one name, one behind the other, as exports that are sorted by device have them.
#[test]
fn what_is_replaced_far_apart_is_counted_too() {
    let folder = Folder::new("far-apart");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "16M"]), 0);
    let rows = |from: u64, to: u64, device: u64| -> String {
        (from..to)
            .map(|at| format!("m temp={device}{at} {}000000000\n", 1_700_000_000 + at))
            .collect()
    };
    // None is of the time of another, though they come in the wrong order.
    let late = folder.0.join("late.lp").display().to_string();
    let odd = |device| rows(0, 70_000, device).replace("m temp", "late temp");
    let even = odd(2).replace("000000000\n", "500000000\n");
    std::fs::write(&late, odd(1) + &even).unwrap();
    let report = json(&run(&["import", &store, &late, "--format", "json"]), 0);
    assert_eq!(
        report["samples_replaced"].as_u64().zip(report["samples_maybe_replaced"].as_u64()),
        Some((0, 0))
    );
    let file = folder.0.join("two.lp").display().to_string();
    std::fs::write(&file, rows(0, 70_000, 1) + &rows(0, 69_999, 2)).unwrap();
    for dry in [true, false] {
        let import = ["import", &store, &file, "--format", "json", "--dry-run"];
        let report = json(&run(&import[..import.len() - usize::from(!dry)]), 3);
        assert_eq!(report["samples_replaced"], 69_999, "{report}");
        assert_eq!(report["first_line_replaced"]["line"], 1);
        assert_eq!(report["samples_maybe_replaced"], 0);
    }
    assert_eq!(count(&store, "m_temp"), 70_000);
    // A pipe cannot be read again, so what is not known is said.
    let import = ["import", &store, "-", "--input", "influx", "--format", "json"];
    let report = json(&feed(&import, &std::fs::read(&file).unwrap()), 3);
    assert!(report["samples_maybe_replaced"].as_u64().unwrap() > 60_000, "{report}");
    assert_eq!(report["first_line_maybe_replaced"]["line"], 70_001);
    // But where times are in no order from the begin, and all differ, that is known without.
    let unordered =
        |at: u64| format!("m far={at} {}000000000\n", 1_700_000_000 + at * 7_919 % 100_003);
    let lines: String = (0..100_000).map(unordered).collect();
    let report = json(&feed(&import, lines.as_bytes()), 0);
    assert_eq!(
        report["samples_replaced"].as_u64().zip(report["samples_maybe_replaced"].as_u64()),
        Some((0, 0))
    );
}
