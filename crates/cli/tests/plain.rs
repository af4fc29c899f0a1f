//! `baro record FILE --plain`: ordinary files with what came, and nothing else.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;

use calls::{baro, feed, json, stderr};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Below the checkout: where nothing can be reserved, as on a tmpfs of old, there is no point.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn names(&self) -> Vec<String> {
        let list = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            list.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_comes_is_in_files_one_after_another() {
    let folder = Folder::new("plain-record");
    let input: Vec<u8> = (0..1_000_003_u32).map(|at| (at % 251) as u8).collect();
    let file = folder.path("run.bin");
    let sizes = ["--plain-size", "300000", "--frame-bytes", "16384", "--format", "json"];
    let call = [&["record", &file, "--plain", "--stdin", "raw"], &sizes[..]].concat();
    let told = json(&feed(&call, &input), 0);
    assert_eq!(told["bytes"], 1_000_003);
    // 18 frames fit into each.
    assert_eq!(folder.names(), ["run.bin", "run.bin.1", "run.bin.2", "run.bin.3"]);
    assert_eq!(told["files"].as_array().unwrap().len(), 4);
    let mut all = Vec::new();
    for name in folder.names() {
        let part = fs::read(folder.path(&name)).unwrap();
        assert!(part.len() == 18 * 16_384 || name == "run.bin.3", "{name}: {}", part.len());
        all.extend(part);
    }
    assert!(all == input);
    // What is there stays.
    let again = feed(&call, b"other");
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("is there already"), "{}", stderr(&again));
    assert_eq!(folder.names().len(), 4, "and nothing is left beside it");
    let nothing = json(
        &feed(
            &["record", &folder.path("none"), "--plain", "--stdin", "raw", "--format", "json"],
            b"",
        ),
        0,
    );
    assert_eq!((nothing["bytes"].as_u64(), folder.names().len()), (Some(0), 4));
}

#[test]
fn what_is_left_of_another_recording_is_refused_before_anything_is_recorded() {
    let folder = Folder::new("plain-leftover");
    let file = folder.path("run.bin");
    let sizes = ["--plain-size", "16384", "--frame-bytes", "16384", "--format", "json"];
    let call = [&["record", &file, "--plain", "--stdin", "raw"], &sizes[..]].concat();
    for left in ["run.bin", "run.bin.1", "run.bin.2", "run.bin.40000"] {
        fs::write(folder.path(left), "old").unwrap();
        let output = feed(&call, &[7; 40_000]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("{left}: is there already")), "{said}");
        assert_eq!(folder.names(), [left]);
        assert_eq!(fs::read(folder.path(left)).unwrap(), b"old");
        fs::remove_file(folder.path(left)).unwrap();
    }
    // What is no number of ours has nothing to do with it.
    let others = ["run.bin.01", "run.bin.20261128", "run.bin.gz", "run.bin1"];
    for other in others {
        fs::write(folder.path(other), "other").unwrap();
    }
    assert_eq!(json(&feed(&call, &[7; 40_000]), 0)["bytes"], 40_000);
    let written = ["run.bin", "run.bin.1", "run.bin.2"].map(|name| fs::read(folder.path(name)));
    assert_eq!(written.map(|bytes| bytes.unwrap().len()), [16_384, 16_384, 7_232]);
    assert_eq!(folder.names().len(), 7);
}

#[test]
fn a_name_that_somebody_takes_meanwhile_costs_no_byte() {
    let folder = Folder::new("plain-meanwhile");
    let file = folder.path("run.bin");
    let sizes = ["--plain-size", "16384", "--frame-bytes", "16384", "--format", "json"];
    let mut child = baro(&[&["record", &file, "--plain", "--stdin", "raw"], &sizes[..]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&[1; 10_000]).unwrap();
    while !Path::new(&file).exists() {
        std::thread::yield_now();
    }
    fs::write(folder.path("run.bin.1"), "theirs").unwrap();
    input.write_all(&[1; 20_000]).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).contains("run.bin.1: made by somebody else"), "{}", stderr(&output));
    let told = json(&output, 0);
    assert_eq!(
        (&told["bytes"], &told["files"][1]),
        (&30_000.into(), &folder.path("run.bin.2").into())
    );
    assert_eq!(folder.names(), ["run.bin", "run.bin.1", "run.bin.2"]);
    assert_eq!(fs::read(folder.path("run.bin.1")).unwrap(), b"theirs");
    let parts = ["run.bin", "run.bin.2"].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(parts.concat() == [1; 30_000]);
}

#[test]
fn what_needs_a_store_is_refused() {
    let folder = Folder::new("plain-refused-record");
    let file = folder.path("run.bin");
    for (call, code, said) in [
        (&["record", &file, "--plain", "--stdin", "csv"][..], 1, "expected --stdin raw"),
        (&["record", &file, "--plain", "--proc"], 2, "--plain"),
        (&["record", &file, "--plain", "--stdin", "raw", "--init", "1G"], 2, "--init"),
        (&["record", &file, "--plain", "--stdin", "raw", "--plain-size", "1K"], 1, "--frame-bytes"),
        (&["record", &folder.path("no/such"), "--plain", "--stdin", "raw"], 1, "No such file"),
    ] {
        let output = feed(call, b"x");
        let err = stderr(&output);
        assert!(output.status.code() == Some(code) && err.contains(said), "{call:?}: {err}");
    }
    assert_eq!(folder.names(), Vec::<String>::new());
}
