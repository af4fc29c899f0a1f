//! Stores of a released version: read, settled, recovered, recorded into, and their rings taken over.

use crate::calls::{baro, feed, json, run, text};
use crate::fixture::{
    Fixture, RELEASED, assert_includes, assert_lines, assert_reads_as_said, bytes, in_words,
    ordered, rows, sorted, untyped, verified,
};
use crate::place::Folder;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn listed(store: &str) -> Value {
    ordered(json(&run(&["list", store, "--format", "json"]), 0), "id")
}

#[test]
fn stores_of_0_1_are_read_as_they_were_written() {
    for fixture in Fixture::stores("read") {
        let (store, kind) = (fixture.store(), fixture.kind);
        let before = bytes(&fixture.folder.0);
        assert_reads_as_said(&fixture, &store);
        for verb in ["info", "verify"] {
            let found = json(&run(&[verb, &store, "--format", "json"]), 0);
            assert_includes(&found, &fixture.said_json(&format!("{verb}.json")), kind);
        }
        assert_includes(&listed(&store), &ordered(fixture.said_json("list.json"), "id"), kind);
        let query = fixture.said("query.csv");
        let found = run(&["cat", &store, "--format", "csv", "--data-only"]);
        let found = untyped(&String::from_utf8_lossy(&found.stdout));
        assert_lines(kind, &found, &fixture.said("cat.csv"), &query);
        let file = fixture.folder.path("export.csv");
        assert!(matches!(run(&["export", &store, &file]).status.code(), Some(0 | 3)), "{kind}");
        let found = untyped(&fs::read_to_string(&file).unwrap());
        assert_lines(kind, &found, &in_words(&fixture.said("export.csv")), &query);
        fs::remove_file(file).unwrap();
        assert!(bytes(&fixture.folder.0) == before, "{kind}: reading changed it");
    }
}

#[test]
fn stores_of_0_1_are_settled_and_read_the_same() {
    for fixture in Fixture::stores("settle") {
        let store = fixture.store();
        for again in [false, true] {
            let done = json(&run(&["settle", &store, "--all", "--format", "json"]), 0);
            assert!(!again || done["samples"] == 0, "{}: {done:#}", fixture.kind);
            assert_reads_as_said(&fixture, &store);
        }
    }
}

#[test]
fn stores_of_0_1_are_recovered_and_read_the_same() {
    for fixture in Fixture::stores("recover") {
        let copy = fixture.folder.path("copy");
        let done = json(&run(&["recover", &fixture.store(), &copy, "--format", "json"]), 0);
        assert_eq!((&done["lost"], &done["copy"]["whole"]), (&false.into(), &true.into()));
        assert_reads_as_said(&fixture, &copy);
    }
}

/// Ten samples more: of a series that each store has, of one that none has, and one recorded before.
const MORE: &str = "\
1800000000000000000,round,1.5
1800000000000000000,\"new{site=\"\"ö\"\"}\",-0.0
1800000001000000000,round,2.5
1800000001000000000,\"new{site=\"\"ö\"\"}\",NaN
1800000002000000000,round,inf
1800000002000000000,\"new{site=\"\"ö\"\"}\",4
1800000003000000000,round,-1
1800000003000000000,\"new{site=\"\"ö\"\"}\",5
1800000004000000000,round,6
1000000000000000000,round,0.1
";

#[test]
fn recording_goes_on_in_stores_of_0_1() {
    for fixture in Fixture::stores("go-on") {
        let (store, kind) = (fixture.store(), fixture.kind);
        // So that nothing is recycled of which the text beside it tells.
        json(&run(&["settle", &store, "--all", "--format", "json"]), 0);
        let more = MORE.replace("-0.0", "-0");
        let frames = |row: &&str| !row.contains(",filler.number,");
        for again in [false, true] {
            let report =
                feed(&["record", &store, "--stdin", "csv", "--format", "json"], MORE.as_bytes());
            assert_eq!(json(&report, 0)["lost"], 0, "{kind}");
            let (found, said) = (rows(&store), fixture.said("query.csv") + &more);
            let mut expected: Vec<_> = sorted(&said).into_iter().filter(frames).collect();
            // Most stores have that series; in the others it is new.
            expected.dedup();
            let found: Vec<_> = sorted(&found).into_iter().filter(frames).collect();
            assert_eq!(found, expected, "{kind}, again {again}");
            verified(&store);
        }
    }
}

#[test]
fn what_is_pinned_in_a_store_of_0_1_stays_and_is_released() {
    let fixture = Fixture::new("pinned", "pin");
    let store = fixture.store();
    let window = |pin: &str| {
        let file = fixture.folder.path("window.csv");
        let _ = fs::remove_file(&file);
        text(&run(&["export", &store, &file, "--pin", pin]), 0);
        fs::read_to_string(&file).unwrap()
    };
    // Samples have times of their own, so the window has frames only.
    let first = window("the first, Größe 🌡");
    assert_eq!(first.lines().count(), 1 + 20);
    let said = fixture.said("query.csv");
    let pinned = |row: &&str| row.contains(",\"of{round=\"\"1\"\"}\",") || row.contains(",temp,");
    let samples: Vec<_> = said.lines().filter(pinned).collect();
    assert_eq!(samples.len(), 24);
    // Frames of more than the log holds, so that it goes round.
    let frames = vec![7; 10 << 20];
    let filler = ["record", &store, "--no-settle", "--stdin", "raw", "--frame-bytes", "64K"];
    text(&feed(&filler, &frames), 0);
    assert_eq!(window("the first, Größe 🌡"), first);
    let found = rows(&store);
    assert_eq!(found.lines().filter(pinned).collect::<Vec<_>>(), samples);
    for pin in ["the first, Größe 🌡", "second"] {
        text(&run(&["pin", &store, "--release", pin]), 0);
    }
    text(&feed(&filler, &frames), 0);
    let info = json(&run(&["info", &store, "--format", "json"]), 0);
    assert_eq!((&info["segments_kept"], &info["pins"]), (&0.into(), &Value::Array(vec![])));
    verified(&store);
}

#[test]
fn a_ring_of_0_1_is_taken_over_by_the_next_recorder() {
    if !fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
        println!("skipped: no tmpfs at /dev/shm");
        return;
    }
    let fixture = Fixture::new("ring", "take-over");
    let (store, kind) = (fixture.store(), fixture.kind);
    let rings = Shared(format!("/dev/shm/baro-released-{}", std::process::id()).into());
    copy(&fixture.folder.0.join("rings"), &rings.0);
    let said = |name: &str| fixture.said_json(&format!("{name}.json"));
    // Beside the store, as it was when the recorder was killed.
    assert_eq!(rows(&store), fixture.said("before/query.csv"));
    let mut info = baro(&["info", &store, "--format", "json"]);
    let found = json(&info.env("RUNTIME_DIRECTORY", &rings.0).output().unwrap(), 0);
    let by_producer = |found: &Value| ordered(found["rings"].clone(), "producer");
    assert_includes(&by_producer(&found), &by_producer(&said("rings")), kind);
    // Two records were refused, which is not in the log yet: so something was lost.
    let at = rings.0.to_str().unwrap();
    let record =
        ["record", &store, "--no-settle", "--stdin", "csv", "--rings", at, "--format", "json"];
    let report = json(&feed(&record, b""), 3);
    // 0.1 counted these two too.
    let mut taken_over = said("taken_over");
    let before = taken_over["records_taken_over"].as_u64().unwrap();
    taken_over["records_taken_over"] = (before - 2).into();
    assert_includes(&report, &taken_over, kind);
    assert_eq!(rows(&store), fixture.said("after/query.csv"));
    assert_includes(&verified(&store), &counted(&said("after/verify")), kind);
    assert_includes(&listed(&store), &ordered(said("after/list"), "id"), kind);
    // They are taken over once.
    let report = json(&feed(&record, b""), 0);
    assert_eq!(report["records_taken_over"], 0);
    assert_eq!(rows(&store), fixture.said("after/query.csv"));
}

/// Of what was verified, counts: the time at which a gap was noted is another.
fn counted(said: &Value) -> Value {
    let keep = ["records", "frames", "samples", "gaps", "lost", "lost_ring_full", "lost_too_large"];
    keep.into_iter().map(|key| (key.to_owned(), said[key].clone())).collect()
}

/// A folder on a tmpfs, removed when dropped.
struct Shared(PathBuf);

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    for (path, bytes) in bytes(from) {
        let path = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn parquet_of_0_1_is_imported() {
    let folder = Folder::new("released-parquet");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let file = format!("{RELEASED}/parquet/all.parquet");
    let said = fs::read_to_string(format!("{RELEASED}/parquet/query.csv")).unwrap();
    let all = json(&run(&["import", &store, &file, "--format", "json"]), 3);
    // Integers above those of any series are told and left out.
    let fit = |row: &&str| !row.contains(",control.big,");
    let said: Vec<_> = sorted(&said).into_iter().filter(fit).collect();
    assert_eq!(all["samples"], said.len() - 1, "{all:#}");
    assert_eq!(sorted(&rows(&store)), said);
}
