//! `baro trace` and the analyses that record for themselves, on this machine: what they print, and
//! that nothing is left of them, however they end.
#![allow(clippy::disallowed_methods, reason = "test code looks at what was left")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

mod calls;
mod place;

use calls::{baro, json, run, stderr, text};
use place::Folder;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const INSTANCES: [&str; 2] =
    ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"];

/// Whether recordings are possible here; says why not.
fn can_record() -> bool {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, for the kernel's tracer");
        return false;
    }
    if !INSTANCES.iter().any(|path| Path::new(path).is_dir()) {
        println!("skipped: no tracefs is mounted");
        return false;
    }
    true
}

/// Instances of recorders that have ended; those of others that run now are not ours to count.
fn left_instances() -> Vec<String> {
    let entries = INSTANCES.iter().flat_map(|path| std::fs::read_dir(path).into_iter().flatten());
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let of_the_dead = |name: &String| {
        // The product's are of a process; what a killed unit test of the library left is not asked for.
        let pid = name.strip_prefix("baro-trace-").filter(|pid| pid.parse::<u32>().is_ok());
        // Looked at after the death: it is removed before.
        pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
            && INSTANCES.iter().any(|path| Path::new(path).join(name).exists())
    };
    names.filter(of_the_dead).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A call whose temporary files go into this folder.
fn run_in(folder: &Folder, arguments: &[&str]) -> Output {
    baro(arguments).env("TMPDIR", &folder.0).output().unwrap()
}

/// 0, or 3 where a loaded machine lost events: the rest is as it must be all the same.
fn recorded(output: &Output) -> Value {
    json(output, if output.status.code() == Some(3) { 3 } else { 0 })
}

#[test]
fn each_analysis_records_for_itself_and_leaves_nothing() {
    if !can_record() {
        return;
    }
    let folder = Folder::new("trace-live");
    for analysis in ["handle", "state", "blocks", "space", "syscall", "waits"] {
        let call = ["trace", analysis, "--format", "json", "--", "sh", "-c", "echo said; sync"];
        let output = run_in(&folder, &call);
        let found = recorded(&output);
        assert!(found["trace"]["events"].as_u64().unwrap() > 0, "{analysis}: {found}");
        assert!(stderr(&output).contains("said\n"), "stdout is one document");
        if analysis == "syscall" {
            let calls = found["calls"].as_array().unwrap();
            let of = |name: &str| calls.iter().find(|call| call["call"] == name);
            // By the shell, and no other process's: what is told of is the command.
            assert_eq!(of("sync").unwrap()["calls"], 1, "{found}");
        }
        assert_eq!(names(&folder.0), Vec::<String>::new(), "{analysis}");
    }
    let timed = run_in(&folder, &["trace", "state", "--for", "100ms", "--format", "json"]);
    assert!(recorded(&timed)["journals"].is_array());
    let failed = run_in(&folder, &["trace", "waits", "--", "sh", "-c", "exit 7"]);
    assert!(stderr(&failed).contains("exit status: 7"), "{}", stderr(&failed));
    assert_eq!(failed.status.code(), Some(7));
    let missing = run_in(&folder, &["trace", "space", "--", "/no/such/command"]);
    assert!(text(&missing, 127).is_empty());
    assert!(stderr(&missing).contains("cannot start /no/such/command"), "{}", stderr(&missing));
    // The analysis fails, when the recording is made already.
    let device = run_in(&folder, &["trace", "state", "--device", "no-such-disk", "--", "true"]);
    assert!(text(&device, 125).is_empty() && stderr(&device).contains("no-such-disk"));
    assert_eq!(names(&folder.0), Vec::<String>::new());
    let nowhere = folder.path("none");
    let nowhere = baro(&["trace", "waits", "--", "true"]).env("TMPDIR", nowhere).output().unwrap();
    assert!(stderr(&nowhere).contains("TMPDIR names another place"), "{}", stderr(&nowhere));
    assert_eq!(left_instances(), Vec::<String>::new());
}

#[test]
fn what_to_record_is_said_once() {
    for analysis in ["handle", "state", "blocks", "space", "syscall", "waits"] {
        let none = run(&["trace", analysis]);
        assert_eq!(none.status.code(), Some(2), "{analysis}");
        let said = stderr(&none);
        for form in ["FILE", "--for TIME", "-- COMMAND"] {
            assert!(said.contains(form), "{analysis}: {said}");
        }
        for twice in [
            &["trace", analysis, "x.trace", "--for", "1s"][..],
            &["trace", analysis, "x.trace", "--", "true"],
            &["trace", analysis, "x.trace", "--collector", "tracefs"],
            &["trace", analysis, "--for", "1s", "--", "true"],
            &["trace", analysis, "--for", "soon"],
        ] {
            assert_eq!(run(twice).status.code(), Some(2), "{twice:?}");
        }
    }
}

#[test]
fn a_command_that_fails_is_told_of_and_its_trace_is_whole() {
    if !can_record() {
        return;
    }
    let folder = Folder::new("trace-false");
    let out = folder.path("t.trace");
    let output = run(&["trace", "--format", "json", "--out", &out, "--", "false"]);
    assert!(stderr(&output).contains("the command ended with exit status: 1"));
    assert_eq!(json(&output, 1)["file"], out.as_str());
    assert_eq!(names(&folder.0), ["t.trace"]);
    let read = run(&["trace", "waits", &out, "--format", "json"]);
    assert!(!stderr(&read).contains("not ended"), "{}", stderr(&read));
    recorded(&read);
    // It is there now, and stays as it is.
    let bytes = std::fs::read(&out).unwrap();
    let again = run(&["trace", "--out", &out, "--", "true"]);
    assert!(text(&again, 125).is_empty() && stderr(&again).contains("is there already"));
    assert_eq!(std::fs::read(&out).unwrap(), bytes);
    assert_eq!((names(&folder.0), left_instances()), (vec!["t.trace".to_owned()], Vec::new()));
}

#[test]
fn a_command_that_is_not_there_leaves_nothing() {
    if !can_record() {
        return;
    }
    let folder = Folder::new("trace-none");
    for collector in ["auto", "tracefs"] {
        let out = folder.path("t.trace");
        let output =
            run(&["trace", "--collector", collector, "--out", &out, "--", "/no/such/command"]);
        assert!(text(&output, 127).is_empty());
        let said = stderr(&output);
        assert!(said.contains("cannot start /no/such/command: No such file"), "{said}");
        assert_eq!((names(&folder.0), left_instances()), (Vec::new(), Vec::new()));
    }
}

#[test]
fn two_recordings_at_once_are_both_whole() {
    if !can_record() {
        return;
    }
    let folder = Folder::new("trace-two");
    let out = folder.path("");
    let start = || {
        let mut call = baro(&["trace", "--for", "1s", "--format", "json", "--out", &out]);
        call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start()];
    let mut files = Vec::new();
    for child in both {
        let found = recorded(&child.wait_with_output().unwrap());
        let file = found["file"].as_str().unwrap().to_owned();
        let read = run(&["trace", "syscall", &file, "--system", "--format", "json"]);
        assert!(!stderr(&read).contains("not ended"), "{}", stderr(&read));
        assert!(recorded(&read)["trace"]["events"].as_u64().unwrap() > 0);
        files.push(file);
    }
    assert_ne!(files[0], files[1]);
    assert_eq!((names(&folder.0).len(), left_instances()), (2, Vec::new()));
    // A name that somebody records into is not given twice.
    let part = folder.path("t.trace.part");
    std::fs::write(&part, "of another").unwrap();
    let refused = run(&["trace", "--out", &folder.path("t.trace"), "--", "true"]);
    assert!(stderr(&refused).contains("somebody records into it"), "{}", stderr(&refused));
    assert_eq!(refused.status.code(), Some(125));
    assert_eq!(std::fs::read(&part).unwrap(), b"of another");
}

#[test]
fn so_many_traces_are_kept_as_were_asked_for() {
    if !can_record() {
        return;
    }
    let folder = Folder::new("trace-keep");
    // A trace, one that was broken off, one that somebody writes, and what is none of ours.
    let (left, held) = ("baro-20200102T000000.trace.part", "baro-20200101T000000.trace.part");
    let trace = "baro-20200103T000000.trace";
    for name in [left, held, trace, "other.trace", "baro-notes"] {
        std::fs::write(folder.path(name), name).unwrap();
    }
    let file = std::fs::File::open(folder.path(held)).unwrap();
    baro_sys::files::hold(&file);
    let out = folder.path("");
    for (keep, old) in [("3", &[left, trace][..]), ("2", &[]), ("2", &[])] {
        let call = ["trace", "--keep", keep, "--format", "json", "--out", &out, "--", "true"];
        recorded(&run(&call));
        let names = names(&folder.0);
        let of_2020: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| name.starts_with("baro-2020")).collect();
        assert_eq!(of_2020, [&[held][..], old].concat(), "{names:?}");
        for other in ["other.trace", "baro-notes"] {
            assert!(names.iter().any(|name| name == other), "{names:?}");
        }
    }
    assert_eq!(names(&folder.0).len(), 5, "two of now, and the three that are not counted");
}

#[test]
fn a_ring_that_is_told_to_end_writes_at_ctrl_c_only() {
    if !can_record() {
        return;
    }
    for (signal, written) in [(15, 0), (2, 1)] {
        let folder = Folder::new("trace-ring");
        let out = folder.path("");
        let mut call = baro(&["trace", "--ring", "5s", "--over", "1h", "--out", &out]);
        let mut child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It says where it records to when it does.
        let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("recording to") {
            assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0, "{line}");
        }
        baro_sys::termination::send(child.id(), signal).unwrap();
        std::io::Read::read_to_string(&mut said, &mut line).unwrap();
        let code = child.wait().unwrap().code();
        assert!(code == Some(0) || code == Some(3), "{line}");
        assert_eq!(line.contains("nothing was written"), written == 0, "{line}");
        assert_eq!((names(&folder.0).len(), left_instances()), (written, Vec::new()));
    }
}

#[test]
fn what_takes_the_place_of_a_trace_is_neither_waited_for_nor_read() {
    if !can_record() {
        return;
    }
    let folder = Folder::new("trace-exchanged");
    let (out, part) = (folder.path("t.trace"), folder.path("t.trace.part"));
    let exchange = format!("rm {part} && mkfifo {part}");
    let call = [
        "-k",
        "1",
        "60",
        env!("CARGO_BIN_EXE_baro"),
        "trace",
        "--out",
        &out,
        "--",
        "sh",
        "-c",
        &exchange,
    ];
    let output = Command::new("timeout").args(call).stdin(Stdio::null()).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("given to another while recording"), "{said}");
    assert_eq!((names(&folder.0), left_instances()), (vec!["t.trace.part".to_owned()], Vec::new()));
}

/// An ext4 of two megabytes; taken down on drop.
struct Small(Folder);

impl Small {
    fn new() -> Option<Self> {
        let small = Small(Folder::new("trace-full"));
        let (image, at) = (small.0.path("image"), small.at());
        std::fs::create_dir(&at).unwrap();
        std::fs::File::create(&image).unwrap().set_len(2 << 20).unwrap();
        for call in [&["mkfs.ext4", "-q", "-F", &image][..], &["mount", "-o", "loop", &image, &at]]
        {
            let made = Command::new(call[0]).args(&call[1..]).output();
            if !made.is_ok_and(|made| made.status.success()) {
                println!("skipped: no loop device: {call:?}");
                return None;
            }
        }
        Some(small)
    }

    fn at(&self) -> String {
        self.0.path("mount")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.at()).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_full_disk_ends_a_recording_and_nothing_else() {
    if !can_record() {
        return;
    }
    let Some(small) = Small::new() else { return };
    let folder = Folder::new("trace-full-command");
    let (out, done) = (format!("{}/t.trace", small.at()), folder.path("done"));
    // Forty bytes of events for each call, of which there are more than two megabytes hold.
    let load = format!("dd if=/dev/zero of=/dev/null bs=1 count=200000 2>/dev/null; echo > {done}");
    let call = ["trace", "--collector", "tracefs", "--out", &out, "--", "sh", "-c", &load];
    let output = run(&call);
    let said = stderr(&output);
    assert!(text(&output, 125).is_empty() && said.contains("No space left on device"), "{said}");
    assert!(said.contains(&format!("{out}.part")), "{said}");
    assert!(Path::new(&done).exists(), "the command went on to its end: {said}");
    assert_eq!(left_instances(), Vec::<String>::new());
    // What came before can be read.
    assert!(!Path::new(&out).exists());
    let read = run(&["trace", "waits", &format!("{out}.part"), "--format", "json"]);
    assert!(recorded(&read)["trace"]["events"].as_u64().unwrap() > 0);
    assert!(stderr(&read).contains("baro: the "), "{}", stderr(&read));
    // Likewise for a time, beside the same load; and of what was temporary nothing is left.
    std::fs::remove_file(format!("{out}.part")).unwrap();
    let mut load = Command::new("dd")
        .args(["if=/dev/zero", "of=/dev/null", "bs=1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let timed = run(&["trace", "--collector", "tracefs", "--for", "3s", "--out", &out]);
    std::fs::remove_file(format!("{out}.part")).unwrap();
    let live = baro(&["trace", "syscall", "--for", "3s"]).env("TMPDIR", small.at()).output();
    load.kill().unwrap();
    load.wait().unwrap();
    for output in [timed, live.unwrap()] {
        let said = stderr(&output);
        assert!(text(&output, 1).is_empty() && said.contains("No space left on device"), "{said}");
    }
    assert_eq!(
        (names(Path::new(&small.at())), left_instances()),
        (vec!["lost+found".to_owned()], Vec::new())
    );
}
