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

/// A tmux server of its own.
struct Tmux(String);

impl Tmux {
    fn run(&self, arguments: &[&str]) -> Option<String> {
        let tmux =
            Command::new("tmux").args(["-f", "/dev/null", "-L", &self.0]).args(arguments).output();
        tmux.ok()
            .filter(|done| done.status.success())
            .map(|done| String::from_utf8(done.stdout).unwrap())
    }

    /// The rows on the screen once they are what is waited for.
    fn screen(&self, is_there: impl Fn(&[&str]) -> bool) -> Vec<String> {
        for _ in 0..200 {
            let shown = self.run(&["capture-pane", "-p"]).unwrap();
            let rows: Vec<&str> = shown.lines().collect();
            if is_there(&rows) {
                return rows.into_iter().map(str::to_owned).collect();
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("never there: {:?}", self.run(&["capture-pane", "-p"]))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn a_watch_follows_the_size_of_its_terminal_and_leaves_it_as_it_was() {
    let folder = Folder::new("watch-tmux");
    let store = folder.path("store");
    let tmux = Tmux(format!("baro-watch-{}", std::process::id()));
    if tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", "sh"]).is_none() {
        println!("skipped: no tmux");
        return;
    }
    let _recording = Recording::start(&store);
    tmux.run(&["send-keys", "PS1=; clear; echo before", "Enter"]).unwrap();
    tmux.screen(|rows| rows.contains(&"before"));
    tmux.run(&["send-keys", &format!("{BARO} watch {store} --every 100ms"), "Enter"]).unwrap();
    let has_all = |rows: &[&str]| {
        ["fast", "slow", "log"].iter().all(|name| rows.iter().any(|row| row.starts_with(name)))
    };
    for (columns, rows) in [(80, 24), (200, 50), (40, 12), (80, 24)] {
        let (x, y) = (columns.to_string(), rows.to_string());
        tmux.run(&["resize-window", "-x", &x, "-y", &y]).unwrap();
        let shown = tmux.screen(|shown| shown.len() <= rows && has_all(shown));
        assert!(shown.iter().all(|row| row.chars().count() <= columns), "{columns}: {shown:?}");
        // One heading and one row of each: nothing of another size is left, and nothing has scrolled.
        let count = shown.iter().filter(|row| row.starts_with("fast")).count();
        assert_eq!(count, 1, "{columns}: {shown:?}");
        let scrolled = tmux.run(&["display-message", "-p", "#{history_size}"]).unwrap();
        assert_eq!(scrolled.trim(), "0", "{columns}");
    }
    tmux.run(&["send-keys", "C-c"]).unwrap();
    let left = tmux.screen(|rows| rows.contains(&"before") && !has_all(rows));
    assert!(!left.iter().any(|row| row.starts_with("fast")), "{left:?}");
}
