//! The recorder is killed, and the next one takes over what it left.

use super::calls::{baro, json, run, stderr};
use super::feeder::{FORMS, Fed, count};
use super::place::Folder;
use super::{Random, ended, for_each_seed, seeds};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn kill(child: &Child) {
    Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap();
}

/// The next recorder, with one of the sources; its report.
fn next_recorder(store: &str, source: u64) -> (i32, serde_json::Value) {
    let sources: [&[&str]; 4] = [
        &["--attach", "1"],
        &["--stdin", "csv"],
        &["--generate", "--frame-bytes", "512", "--interval", "20ms"],
        &["--udp", "127.0.0.1:0"],
    ];
    let source = sources[(source % 4) as usize];
    let arguments = [&["record", store, "--for", "400ms", "--format", "json"], source].concat();
    let child = baro(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = ended(child, &arguments.join(" "));
    let code = output.status.code().unwrap();
    assert!(matches!(code, 0 | 3), "{arguments:?}: {}", stderr(&output));
    (code, json(&output, code))
}

#[test]
fn a_small_log_loses_nothing_at_a_takeover() {
    for_each_seed(seeds(4), 3, |seed| {
        let mut random = Random::new(seed);
        let folder = Folder::new(&format!("abuse-takeover-{seed}"));
        let store = folder.path("store");
        let init = run(&["init", &store, "--size", "4M", "--recycle"]);
        assert_eq!(init.status.code(), Some(0), "{}", stderr(&init));
        let mut first = 0;
        for life in 0..2 {
            let form = FORMS[(seed + life) as usize % FORMS.len()];
            let fed = Fed::start(&store, form, &["--ring", "16M"], first, 4_000);
            std::thread::sleep(Duration::from_millis(300 + random.below(700)));
            // What is shown is in blocks; what is not, in the ring.
            let shown = count(&store).unwrap();
            kill(&fed.child);
            let (child, next) = fed.end();
            drop(child.wait_with_output());
            let (code, report) = next_recorder(&store, seed + life);
            let warned = report["reservations"].to_string();
            assert!(warned.contains("after a kill, what the rings hold"), "{warned}");
            let there = count(&store).unwrap();
            let waiting = report["left_in_rings"].as_u64().unwrap();
            let lost = report["lost_durable_samples"].as_u64().unwrap();
            let said = format!("seed {seed}: {shown} shown, {there} there: {report:#}");
            assert!(there >= shown || (lost >= shown - there && code == 3), "{said}");
            assert!(lost == 0 || report["lost_samples"].as_u64().unwrap() >= lost, "{said}");
            let taken = report["records_taken_over"].as_u64().unwrap();
            assert!(there + lost + waiting >= shown + taken, "{said}");
            first = next;
        }
        let verified = run(&["verify", &store]);
        assert_eq!(verified.status.code(), Some(0), "seed {seed}: {}", stderr(&verified));
    });
}

#[test]
fn a_line_is_there_after_a_kill() {
    for_each_seed(seeds(4), 4, |seed| {
        let folder = Folder::new(&format!("abuse-line-{seed}"));
        let store = folder.path("store");
        let form = ["csv", "json", "influx", "prometheus"][(seed % 4) as usize];
        let line = |time: u32| match form {
            "csv" => format!("{time},temp_v,{time}.5\n"),
            "json" => format!("{{\"time\":{time},\"temp_v\":{time}.5}}\n"),
            "influx" => format!("temp v={time}.5 {time}\n"),
            _ => format!("temp_v {time}.5 {time}\n"),
        };
        // The times of Prometheus are milliseconds.
        let unit = if form == "prometheus" { "000000" } else { "" };
        let shown = |time: u32| format!("{time}{unit},temp_v,{time}.5\n");
        let mut child = baro(&["record", &store, "--init", "8M", "--stdin", form])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let found = || {
            let output = run(&["cat", &store, "--format", "csv"]);
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        stdin.write_all(line(1000).as_bytes()).unwrap();
        // Until then it is not ready.
        let ready = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            found() == shown(1000)
        });
        assert!(ready, "seed {seed}: {}", found());
        stdin.write_all(line(2000).as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        kill(&child);
        child.wait().unwrap();
        let (code, report) = next_recorder(&store, 0);
        assert_eq!((code, &report["lost"]), (0, &0.into()), "{report:#}");
        assert_eq!(found(), shown(1000) + &shown(2000), "seed {seed}");
    });
}
