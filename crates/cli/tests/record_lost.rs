//! What a recording says of what it lost: when that begins, and at the end in records and samples of this
//! run, whatever earlier ones lost.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{baro, feed, json, run, stderr, text};
use place::Folder;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

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

#[test]
fn what_comes_on_stdin_does_not_wait_for_a_log_that_stays_full() {
    let folder = Folder::new("lost-stdin");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M"]), 0);
    let value = |n: u32| f64::from(n.wrapping_mul(2_654_435_761)) / 7.0;
    let lines: String = (1..=400_000).map(|n| format!("{n},s,{}\n", value(n))).collect();
    let record = ["record", &store, "--ring", "256K", "--stdin", "csv", "--format", "json"];
    let output = feed(&record, lines.as_bytes());
    let report = json(&output, 3);
    let count = ["query", &store, "--agg", "count", "--format", "csv"];
    let rows = text(&run(&count), 0);
    let there: u64 = rows.lines().nth(1).unwrap().rsplit(',').next().unwrap().parse().unwrap();
    assert!(there > 1_000, "{report:#}");
    assert_eq!(there + report["lost_samples"].as_u64().unwrap(), 400_000, "{report:#}");
}

#[test]
fn a_store_that_is_full_is_switched_and_goes_on() {
    let folder = Folder::new("lost-switch");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let record = ["record", &store, "--ring", "256K"];
    let generate = [&record[..], &["--generate", "--interval", "1ms", "--for", "3s"]].concat();
    let full = run(&generate);
    let said = stderr(&full);
    assert_eq!(full.status.code(), Some(3), "{said}");
    assert!(said.contains(&format!("baro init {store} --when-full recycle")), "{said}");
    let switch = ["init", &store, "--when-full", "recycle", "--format", "json"];
    assert_eq!(json(&run(&switch), 0)["when_full"], "recycle");
    let said = text(&run(&["init", &store, "--when-full", "recycle"]), 0);
    assert!(said.contains("reuses the oldest segment when full"), "{said}");
    // A source that can wait, so that nothing of it depends on how fast this machine is.
    let lines: String = (1..=5_000).map(|n| format!("{n},s,{n}\n")).collect();
    let again = feed(&[&record[..], &["--stdin", "csv"]].concat(), lines.as_bytes());
    assert!(!stderr(&again).contains("LOG FULL"), "{}", stderr(&again));
    let count = ["query", &store, "s", "--agg", "count", "--format", "csv"];
    assert!(text(&run(&count), 0).contains(",s,5000"), "{}", stderr(&again));
    text(&run(&["verify", &store]), 0);
    // And back.
    let back = ["init", &store, "--when-full", "stop", "--format", "json"];
    assert_eq!(json(&run(&back), 0)["when_full"], "stop");
    assert!(stderr(&run(&generate)).contains("LOG FULL"));
}

#[test]
fn a_switch_is_of_a_store_that_is_there_and_that_nobody_records_into() {
    let folder = Folder::new("lost-switch-busy");
    let store = folder.path("store");
    let switch = ["init", &store, "--when-full", "recycle"];
    let none = run(&switch);
    assert_eq!(none.status.code(), Some(1));
    assert!(!std::path::Path::new(&store).exists());
    assert_eq!(run(&[&switch[..], &["--size", "2M"]].concat()).status.code(), Some(2));
    text(&run(&["init", &store, "--size", "2M"]), 0);
    let refused = stderr(&run(&["init", &store, "--size", "2M", "--recycle"]));
    assert!(refused.contains(&format!("baro init {store} --when-full recycle")), "{refused}");
    let before = std::fs::read(folder.path("store/store")).unwrap();
    let mut child = calls::baro(&["record", &store, "--generate", "--interval", "100ms"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let busy = (0..500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let info = run(&["info", &store, "--format", "json"]);
        let recording = String::from_utf8_lossy(&info.stdout).contains(&child.id().to_string());
        recording.then(|| run(&switch))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let busy = busy.unwrap();
    assert_eq!(busy.status.code(), Some(1));
    let said = stderr(&busy);
    assert!(
        said.contains(&format!("process {} records into this store: end it", child.id())),
        "{said}"
    );
    assert_eq!(std::fs::read(folder.path("store/store")).unwrap(), before);
}

/// Of `100.4` a recording that is stopped may have read `10`.
#[test]
fn a_line_that_had_not_ended_when_recording_was_stopped_is_not_taken() {
    let folder = Folder::new("lost-unended");
    let forms: [(&str, &[u8], &[u8], &str); 5] = [
        ("csv", b"4,s,1\n5,s,10", b"0.4\n", "6 bytes"),
        ("json", b"{\"time\":4,\"s\":1}\n{\"time\":5,\"s\":2}", b"\n", "16 bytes"),
        ("influx", b"s value=1 4\ns value=2 5", b"0\n", "11 bytes"),
        ("prometheus", b"s 1 4\ns 2 5", b"0\n", "5 bytes"),
        ("raw", b"123456789", b"0", "1 byte"),
    ];
    for (form, input, rest, bytes) in forms {
        let store = folder.path(form);
        text(&run(&["init", &store, "--size", "2M"]), 0);
        let raw: &[&str] =
            if form == "raw" { &["--frame-bytes", "8"] } else { &["--precision", "ns"] };
        let record = [&["record", &store, "--ring", "256K", "--stdin", form], raw].concat();
        let begin = |more: &[&str]| {
            let mut child = baro(&[&record[..], more].concat());
            let child = child.stdin(Stdio::piped()).stdout(Stdio::null());
            let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
            child.stdin.as_mut().unwrap().write_all(input).unwrap();
            child
        };
        let mut stopped = begin(&["--for", "300ms"]);
        // The pipe stays open beyond the end.
        let pipe = stopped.stdin.take();
        let said = stderr(&stopped.wait_with_output().unwrap());
        drop(pipe);
        assert!(said.contains(&format!("{bytes} of it are not taken")), "{form}: {said}");
        let there = || match form {
            "raw" => text(&run(&["cat", &store, "--format", "raw"]), 0).len() / 8,
            _ => text(&run(&["cat", &store, "--data-only", "--format", "csv"]), 0).lines().count(),
        };
        assert_eq!(there(), 1, "{form}");
        // At the end of the input it is a line like any other.
        let mut whole = begin(&[]);
        whole.stdin.take().unwrap().write_all(rest).unwrap();
        text(&whole.wait_with_output().unwrap(), 0);
        assert_eq!(there(), 2, "{form}");
    }
}

/// All that recording needs of the file system is made by `init`.
#[test]
fn a_store_on_a_full_file_system_is_recorded_into_for_the_first_time() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, to mount a file system of its own");
        return;
    }
    let folder = Folder::new("lost-no-room");
    let (mount, store) = (folder.path("mount"), folder.path("mount/store"));
    std::fs::create_dir(&mount).unwrap();
    let shell = |line: &str| {
        let done = std::process::Command::new("sh").args(["-c", line]).output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (mounted, said) = shell(&format!("mount -t tmpfs -o size=6M baro {mount}"));
    if !mounted {
        println!("skipped: tmpfs cannot be mounted: {said}");
        return;
    }
    let tried = std::panic::catch_unwind(|| {
        text(&run(&["init", &store, "--size", "4M"]), 0);
        assert!(!shell(&format!("cat /dev/zero > {mount}/rest")).0);
        text(&feed(&["record", &store, "--stdin", "csv"], b"1,s,1\n"), 0);
        let cat = text(&run(&["cat", &store, "--data-only", "--format", "csv"]), 0);
        assert_eq!(cat, "1,s,1\n");
    });
    assert!(shell(&format!("umount {mount}")).0);
    tried.unwrap();
}

/// The source has ended before its last frames find room: that needs the two samples to be settled, which
/// are too few to be settled for themselves.
#[test]
fn the_last_records_of_a_source_wait_for_settling() {
    let folder = Folder::new("lost-last");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M", "--recycle"]), 0);
    let record = ["record", &store, "--format", "json", "--stdin"];
    json(&feed(&[&record[..], &["csv"]].concat(), b",live,1\n,live,2\n"), 0);
    // More than the log, and less than the ring, which takes them all at once.
    let frames = vec![7; 6 << 20];
    let report = json(&feed(&[&record[..], &["raw"]].concat(), &frames), 0);
    assert_eq!((&report["lost"], &report["left_in_rings"]), (&0.into(), &0.into()), "{report}");
    let count = ["query", &store, "live", "--agg", "count", "--format", "csv"];
    assert!(text(&run(&count), 0).contains(",live,2"));
    assert!(text(&run(&["verify", &store]), 0).ends_with("whole\n"));
}

/// Texts that come faster than they are settled, into a log of four segments, by a producer that cannot
/// wait; and recorders that are killed.
#[test]
fn what_killed_recorders_have_reused_is_told_by_the_next() {
    let folder = Folder::new("lost-killed");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "4M", "--recycle"]), 0);
    let first = b"time,series,value\n2026-01-01T00:00:00Z,m,\"a\"\n";
    text(&feed(&["import", &store, "-", "--input", "csv"], first), 0);
    let mut pushed = 1_i64;
    let letters = letters(1 << 20);
    for _ in 0..3 {
        let record = ["record", &store, "--attach", "1", "--durable-within", "1ms"];
        let mut child = baro(&record).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let (mut producer, id) = loop {
            match baro_recorder::attach(Path::new(&store), None) {
                Ok((producer, catalog)) => break (producer, catalog.id("m").unwrap().0),
                Err(why) => {
                    assert!(child.try_wait().unwrap().is_none(), "it has ended: {why}");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        };
        let of_life = pushed;
        while pushed < of_life + 2_500 {
            let from = (pushed.cast_unsigned() * 7_919 % 1_000_000) as usize;
            match producer.push_text(id, pushed, &letters[from..from + 24_000]) {
                Ok(_) => pushed += 1,
                Err(why) => {
                    assert!(child.try_wait().unwrap().is_none(), "it has ended: {why}");
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // It takes over what the rings hold, and says what the others could not.
    let next = feed(&["record", &store, "--stdin", "csv", "--format", "json"], b"");
    let report = json(&next, 3);
    assert!(report["reservations"].to_string().contains("an earlier recorder"), "{report}");
    let before = report["recycled_samples_by_earlier_runs"].as_u64().unwrap();
    let info = json(&run(&["info", &store, "--format", "json"]), 0);
    let lost = info["recycled_unsettled"]["samples"].as_u64().unwrap();
    assert!(before > 0 && lost >= before, "{before} of {lost}");
    let rows = text(&run(&["query", &store, "m", "--agg", "count", "--format", "csv"]), 0);
    let row = rows.lines().nth(1).unwrap();
    let there: u64 = row.rsplit(',').next().unwrap().parse().unwrap();
    // What was read when its recorder was killed counts as lost, and may be there. Of what two of them left
    // in four segments, of some 40 texts each, it may not be known what it was: it is reused at once.
    let waiting = report["left_in_rings"].as_u64().unwrap();
    let known = there + lost + waiting + 2 * 4 * 44;
    assert!(known >= pushed.cast_unsigned(), "{there} there, {lost} lost of {pushed}: {info}");
    assert!(there < pushed.cast_unsigned(), "nothing was lost, so nothing is shown");
    let verified = run(&["verify", &store, "--format", "json"]);
    assert_eq!(json(&verified, 0)["recycled_unsettled"]["samples"], lost);
    // It was told, and is not told again.
    let again = feed(
        &["record", &store, "--stdin", "csv", "--format", "json"],
        b"2026-01-01T00:00:00Z,n,1\n",
    );
    assert_eq!(json(&again, 0)["recycled_samples_by_earlier_runs"], serde_json::Value::Null);
}

/// Letters that do not repeat.
fn letters(count: usize) -> String {
    let mut state = 7_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + (state >> 60) as u8)
    };
    (0..count).map(|_| letter()).collect()
}

/// Nothing is lost yet where rings take what comes, and nothing of it is durable either.
#[test]
fn a_log_that_is_held_is_told_before_anything_is_lost() {
    let folder = Folder::new("lost-held");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M", "--recycle"]), 0);
    let record = ["record", &store, "--generate", "--interval", "2ms", "--frame-bytes", "4K"];
    let output = run(&[&record[..], &["--keep", "1h", "--for", "6s"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert_eq!(said.matches("LOG HELD: nothing is made durable for now").count(), 1, "{said}");
    assert!(!said.contains("LOST: records are refused"), "{said}");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(report.contains("younger than what is to be kept"), "{report}");
}
