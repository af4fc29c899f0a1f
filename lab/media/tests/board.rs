//! Runs `media board` for real: the command is in its groups, and they are gone afterwards.
//!
//! Needs groups that can be made; says `skipped:` where it cannot.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "a test of a tool that works on the real machine")]

use baro_sys::termination;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const SIGTERM: i32 = 15;

fn board(report: &Path, script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_media"));
    command.args(["board", "--memory", "64M", "--report"]).arg(report);
    command.args(["--", "sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The folders of a board's groups that are still there.
fn left_of(pid: u32) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("readable");
    let roots = mounts.lines().filter(|line| line.contains(" cgroup"));
    roots
        .filter_map(|line| line.split(' ').nth(1))
        .map(|root| format!("{root}/baro-board-{pid}"))
        .filter(|group| Path::new(group).exists())
        .collect()
}

#[test]
fn a_command_gets_a_board_and_it_is_removed() {
    let report = std::env::temp_dir().join(format!("media-board-{}", std::process::id()));
    let script = "cat /proc/self/cgroup; echo affinity $(taskset -p $$); exit 7";
    let child = board(&report, script).spawn().expect("media starts");
    let pid = child.id();
    let output = child.wait_with_output().expect("it ends");
    let (said, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(left_of(pid), Vec::<String>::new());
    if output.status.code() != Some(7) {
        println!("skipped: no board here: {complaint}");
        return;
    }
    assert!(said.contains(&format!("/baro-board-{pid}\n")), "{said}");
    assert!(said.contains("mask: 1\n"), "{said}");
    let text = std::fs::read_to_string(&report).expect("a report");
    assert!(text.contains("\"board_memory_limit_bytes\": 67108864"), "{text}");
    std::fs::remove_file(&report).expect("removed");

    // Interrupted, with a process left that does not end by itself.
    let mut child = board(&report, "sleep 1000 & echo on; exec sleep 1000").spawn().expect("again");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    termination::send(child.id(), SIGTERM).expect("sent");
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + SIGTERM));
    // A group can only be removed when no process of it is alive.
    assert_eq!(left_of(child.id()), Vec::<String>::new());
    std::fs::remove_file(&report).expect("removed");
}
