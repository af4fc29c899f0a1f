//! Frames on stdin of any size up to the format's limit, without a word of theirs before; and many
//! new names at once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{feed, json, run, stderr, text};
use place::Folder;
use std::fmt::Write;

fn frame(bytes: usize, fill: u8) -> Vec<u8> {
    [&(bytes as u32).to_le_bytes()[..], &vec![fill; bytes]].concat()
}

#[test]
fn frames_of_a_camera_need_no_options() {
    let folder = Folder::new("frames");
    let store = folder.path("s");
    let sizes = [100, 500_000, 5_000_000, 0, 7 << 20];
    let input = sizes.iter().enumerate().map(|(at, bytes)| frame(*bytes, at as u8 + 1));
    let input: Vec<u8> = input.collect::<Vec<_>>().concat();
    // Segments of 32 MiB: a frame may have a quarter.
    let record = ["record", &store, "--init", "512M", "--stdin", "frames", "--channel", "camera"];
    let found = json(&feed(&[&record[..], &["--format", "json"]].concat(), &input), 0);
    assert_eq!(
        (&found["lost"], &found["sources"][0]["records"]),
        (&0.into(), &5.into()),
        "{found}"
    );
    let back = run(&["cat", &store, "camera", "--format", "raw"]).stdout;
    let expected: Vec<u8> =
        sizes.iter().enumerate().flat_map(|(at, bytes)| vec![at as u8 + 1; *bytes]).collect();
    assert!(back == expected, "{} bytes of {}", back.len(), expected.len());

    // One that is too large is lost, and counted and told as that; those behind it are not.
    let input = [frame((7 << 20) + 1, 9), frame(3, 7)].concat();
    let output = feed(&record, &input);
    let said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("expected at most 7340032 bytes, found 7340033; passed over"), "{said}");
    assert!(said.contains("a quarter of --ring") && said.contains("lost: 1 record,"), "{said}");
    let last = run(&["cat", &store, "camera", "--format", "raw", "--last", "1"]).stdout;
    assert_eq!(last, [7; 3]);

    // A ring that is said is kept to.
    let output = feed(&[&record[..], &["--ring", "1M"]].concat(), &frame(300_000, 1));
    let said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("found 300000; passed over"), "{said}");
}

/// A log that grows while it is recorded into is smaller than what was asked for: nothing that fits into
/// that may be given up meanwhile by a source that waits.
#[test]
fn nothing_is_reused_before_the_log_has_its_size() {
    let folder = Folder::new("frames-grow");
    let store = folder.path("s");
    let input = vec![5; 20_000_000];
    let record = ["record", &store, "--init", "48M", "--recycle", "--stdin", "raw"];
    let arguments = [&record[..], &["--frame-bytes", "10000", "--format", "json"]].concat();
    let found = json(&feed(&arguments, &input), 0);
    assert_eq!((&found["lost"], &found["records"]), (&0.into(), &2_000.into()), "{found}");
    let back = run(&["cat", &store, "frames", "--format", "raw"]).stdout;
    assert!(back == input, "{} bytes of {}", back.len(), input.len());
}

#[test]
fn many_new_names_are_declared_by_few_syncs() {
    let folder = Folder::new("names");
    let store = folder.path("s");
    assert_eq!(run(&["init", &store, "--size", "32M"]).status.code(), Some(0));
    let mut lines = String::new();
    for name in 0..100_000 {
        writeln!(lines, "1700000000000000000,\"temp{{sensor=\"\"s{name}\"\"}}\",{name}").unwrap();
    }
    let record = ["record", &store, "--stdin", "csv", "--format", "json"];
    let found = json(&feed(&record, lines.as_bytes()), 0);
    let source = &found["sources"][0];
    assert_eq!(source["declared"], 100_000, "{source}");
    // One for what a read brings, 64 KiB of a pipe at least.
    let syncs = source["declarations"].as_u64().unwrap();
    assert!(syncs <= 2 + lines.len() as u64 / (32 << 10), "{syncs} syncs");
    let mut object = String::from("{\"time\":1700000000000000000");
    (0..5_000).for_each(|name| write!(object, ",\"n{name}\":{name}").unwrap());
    object.push_str("}\n");
    let record = ["record", &store, "--stdin", "json", "--format", "json"];
    let found = json(&feed(&record, object.as_bytes()), 0);
    let source = &found["sources"][0];
    assert_eq!((&source["declared"], &source["samples"]), (&5_000.into(), &5_000.into()));
    assert!(source["declarations"].as_u64().unwrap() <= 3, "{source}");
    let listed = text(&run(&["list", &store]), 0);
    assert_eq!(listed.lines().filter(|line| line.contains("temp{")).count(), 100_000);
}
