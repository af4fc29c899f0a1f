//! `baro watch` from outside: on a terminal, into a pipe, as JSON.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{run, text};
use place::Folder;
use serde_json::Value;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const BARO: &str = env!("CARGO_BIN_EXE_baro");

/// Two series, and a text that would move a cursor, again and again until it is dropped.
struct Recording(Arc<AtomicBool>, Option<JoinHandle<()>>, Child);

impl Recording {
    fn start(store: &str) -> Self {
        text(&run(&["init", store, "--size", "16M"]), 0);
        let mut child = Command::new(BARO)
            .args(["record", store, "--stdin", "csv", "--no-settle"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = ends.clone();
        let push = move || {
            for n in 0.. {
                let rows = format!(",fast,{n}\n,fast,{n}.5\n,slow,{}\n,log,\"a\x1b[2Jb\"\n", -n);
                if is_over.load(Ordering::Relaxed) || stdin.write_all(rows.as_bytes()).is_err() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        };
        Recording(ends, Some(std::thread::spawn(push)), child)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.take().map(JoinHandle::join);
        let _ = self.2.wait();
    }
}

/// Calls until all series have come: a machine may be slow.
fn until(arguments: &[&str], has_all: impl Fn(&str) -> bool) -> String {
    for _ in 0..20 {
        let shown = text(&run(arguments), 0);
        if has_all(&shown) {
            return shown;
        }
    }
    panic!("never all of it")
}

#[test]
fn what_comes_in_is_told_as_lines_and_as_json() {
    let folder = Folder::new("watch");
    let store = folder.path("store");
    let recording = Recording::start(&store);
    let all = |shown: &str| ["fast", "slow", "log"].iter().all(|name| shown.contains(name));
    let arguments = ["watch", &store, "--every", "200ms", "--count", "3"];
    let shown = until(&arguments, all);
    assert!(!shown.contains('\x1b'), "{shown:?}");
    let json = ["watch", &store, "--every", "200ms", "--count", "3", "--format", "json"];
    let shown = until(&json, all);
    let steps: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = steps.last().unwrap();
    assert_eq!((steps.len(), &last["lost"]), (3, &Value::from(0)));
    let series = last["series"].as_array().unwrap();
    let rate = |name: &str| {
        let one = series.iter().find(|one| one["series"] == name).unwrap();
        one["samples_per_s"].as_f64().unwrap()
    };
    // Twice as often, and so first.
    assert!(rate("fast") > rate("slow") && series[0]["series"] == "fast", "{last}");
    // Those that are named, as they were declared.
    let named =
        ["watch", &store, "slow", "fast", "--every", "100ms", "--count", "1", "--format", "json"];
    let named: Value = serde_json::from_str(text(&run(&named), 0).trim()).unwrap();
    let names: Vec<&Value> =
        named["series"].as_array().unwrap().iter().map(|one| &one["series"]).collect();
    assert_eq!(names, ["fast", "slow"]);
    drop(recording);
    let unknown = run(&["watch", &store, "fats", "--count", "1"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn a_watch_stays_in_its_terminal() {
    let folder = Folder::new("watch-terminal");
    let store = folder.path("store");
    let _recording = Recording::start(&store);
    // It becomes smaller while it is watched.
    let lines = format!(
        "stty cols 60 rows 10; tty=$(tty); (sleep 1; stty -F $tty cols 30 rows 7) & \
         {BARO} watch {store} --every 100ms --count 25"
    );
    let done =
        Command::new("script").args(["-qec", &lines, "/dev/null"]).stdin(Stdio::null()).output();
    let Ok(done) = done else {
        println!("skipped: no script(1)");
        return;
    };
    let shown = String::from_utf8_lossy(&done.stdout).into_owned();
    let inside = shown.split("\x1b[?1049h\x1b[?25l\x1b[?7l").nth(1).unwrap();
    let (inside, behind) = inside.split_once("\x1b[?7h\x1b[?25h\x1b[?1049l").unwrap();
    assert!(!behind.contains("fast"), "{behind:?}");
    // A terminal puts a carriage return before the end of each line.
    let pages: Vec<&str> = inside.split("\x1b[H").skip(1).collect();
    assert_eq!(pages.len(), 25);
    for (at, page) in pages.iter().enumerate() {
        let page = page.strip_suffix("\x1b[J").unwrap();
        assert!(!page.contains("\x1b[2J"), "{page:?}");
        let lines: Vec<&str> = page.split_terminator("\x1b[K\r\r\n").collect();
        let (columns, rows) = if at < 20 { (60, 10) } else { (30, 7) };
        assert!(lines.len() < rows, "{at}: {lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() < columns), "{at}: {lines:?}");
    }
    assert!(pages[24].contains("fast"), "{:?}", pages[24]);
}
