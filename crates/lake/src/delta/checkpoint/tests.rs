//! Checkpoints of logs by hand: of ours, of others, and of bytes that are none.
#![allow(clippy::disallowed_methods, reason = "tests")]

use super::*;
use crate::delta::{Added, Log, Stats, added, commit_name, created};
use crate::error::Result;
use crate::place::{Local, Place};
use crate::scene::local;
use baro_ondisk::StoreId;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const APP: &str = "barograph/7";
const DAY_MS: i64 = 24 * 3_600_000;

/// A table's folder that is gone when this is.
struct Table(PathBuf);

impl Drop for Table {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Table {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("baro-checkpoint-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("made");
        Table(folder)
    }

    fn place(&self) -> Local {
        local(&self.0)
    }

    fn put(&self, version: u64, text: &[u8]) {
        let place = self.place();
        if version == 0 {
            place.make_log().expect("made");
        }
        assert!(place.put_new(&commit_name(version), text).expect("written"));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn found(&self) -> Vec<Found> {
        found(&self.place().names(LOG).expect("listed"))
    }

    fn log(&self) -> Result<Log> {
        let mut log = Log::default();
        log.begin(&self.place(), APP).map(|()| log)
    }

    /// Rows of the newest checkpoint, sorted.
    fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        let newest = self.found().remove(0);
        read::all(&self.place(), &newest, &mut |row| {
            rows.push(row.to_string());
            Ok(())
        })
        .expect("read");
        rows.sort();
        rows
    }
}

fn ours(run: u64, file: &str) -> Vec<u8> {
    let stats =
        Stats { rows: 3, series: Some(("a".to_owned(), "b".to_owned())), time_us: Some((1, 2)) };
    let file = Added { name: file.to_owned(), bytes: 7, stats };
    added(APP, run, &[file], StoreId([7; 16]), 1)
}

fn text(actions: &[Value]) -> Vec<u8> {
    actions.iter().map(|action| format!("{action}\n")).collect::<String>().into_bytes()
}

/// Versions of ours and of others.
fn fill(table: &Table, now_ms: i64) {
    let first = String::from_utf8(created([0xab; 16], 1)).expect("text");
    let first = first
        .replace("\"configuration\":{}", "\"configuration\":{\"delta.checkpointInterval\":\"3\"}");
    table.put(0, first.as_bytes());
    table.put(1, &ours(4, "a.parquet"));
    table.put(2, &ours(5, "b.parquet"));
    let removed = |path: &str, days: i64| {
        json!({"remove": {"path": path, "deletionTimestamp": now_ms - days * DAY_MS, "dataChange": true,
            "extendedFileMetadata": true, "partitionValues": {}, "size": 7}})
    };
    let put = |path: &str| {
        json!({"add": {"path": path, "partitionValues": {}, "size": 9, "modificationTime": 5,
            "dataChange": true, "tags": {"k": "v", "n": null}}})
    };
    let txn = |version: i64| json!({"txn": {"appId": "another", "version": version}});
    table.put(
        3,
        &text(&[removed("a.parquet", 1), removed("old.parquet", 8), put("c.parquet"), txn(1)]),
    );
    table.put(4, &ours(6, "d.parquet"));
    table.put(
        5,
        &text(&[json!({"commitInfo": {}}), removed("c.parquet", 0), put("a.parquet"), txn(2)]),
    );
}

#[test]
fn names_of_checkpoints_are_told_from_others() {
    let names = [
        "00000000000000000004.checkpoint.parquet",
        "00000000000000000007.checkpoint.0000000001.0000000002.parquet",
        "00000000000000000007.checkpoint.0000000002.0000000002.parquet",
        // One of two parts, and those that are none.
        "00000000000000000009.checkpoint.0000000001.0000000002.parquet",
        "00000000000000000010.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet",
        "00000000000000000011.checkpoint.0000000003.0000000002.parquet",
        "00000000000000000012.checkpoint.0000000000.0000000000.parquet",
        "12.checkpoint.parquet",
        "00000000000000000013.json",
        "_last_checkpoint",
    ];
    let all = found(&names.map(str::to_owned));
    let told: Vec<_> = all.iter().map(|one| (one.version, one.files.len())).collect();
    assert_eq!(told, [(7, 2), (4, 1)]);
    assert!(all[0].files[1].ends_with("0000000002.0000000002.parquet"));
    assert_eq!(all[1].files, [name_of(4)]);
}

#[test]
fn a_table_reads_the_same_by_its_checkpoint_and_by_its_versions() {
    let now_ms = 40 * DAY_MS;
    let (once, twice) = (Table::new("once"), Table::new("twice"));
    for table in [&once, &twice] {
        fill(table, now_ms);
    }
    let by_versions = once.log().expect("read");
    assert_eq!(
        (by_versions.next, by_versions.last_run, by_versions.interval),
        (6, Some(6), Some(3))
    );
    // One is made of all versions, the other of an earlier one and what came since.
    make(&twice.place(), 2, now_ms).expect("made");
    make(&twice.place(), 4, now_ms).expect("made");
    for table in [&once, &twice] {
        make(&table.place(), 5, now_ms).expect("made");
        make(&table.place(), 5, now_ms).expect("it is there");
        let last = fs::read_to_string(table.file("_delta_log/_last_checkpoint")).expect("read");
        let last: Value = serde_json::from_str(&last).expect("JSON");
        assert_eq!((&last["version"], &last["numOfAddFiles"]), (&json!(5), &json!(3)));
        assert_eq!(last["size"], json!(table.rows().len()));
    }
    assert_eq!(once.rows(), twice.rows());
    let rows = once.rows();
    let has = |part: &str| rows.iter().filter(|row| row.contains(part)).count();
    assert_eq!((rows.len(), has("\"txn\""), has("\"add\""), has("\"remove\"")), (8, 2, 3, 1));
    // Added again; removed lately, and removed long ago.
    assert_eq!((has("a.parquet"), has("c.parquet"), has("old.parquet")), (1, 1, 0));
    assert_eq!((has("\"dataChange\":true"), has("numRecords"), has("\"k\":\"v\"")), (0, 2, 1));
    // Now the versions go, as other programs tidy up.
    for version in 0..5 {
        fs::remove_file(once.file(&commit_name(version))).expect("removed");
    }
    let by_checkpoint = once.log().expect("read");
    let mut expected = by_versions;
    expected.checkpoint = Some(5);
    assert_eq!(by_checkpoint, expected);
    once.put(6, &ours(7, "e.parquet"));
    let log = once.log().expect("read");
    assert_eq!((log.next, log.last_run), (7, Some(7)));
    // And the next one is made of it.
    make(&once.place(), 6, now_ms).expect("made");
    assert_eq!(once.rows().len(), 9);
}

#[test]
fn one_that_cannot_be_read_is_no_loss_while_the_versions_are_there_and_else_named() {
    let table = Table::new("broken");
    fill(&table, 0);
    make(&table.place(), 5, 0).expect("made");
    let file = table.file(&name_of(5));
    let whole = fs::read(&file).expect("read");
    let expected = table.log().expect("read");
    let mut seed = 7_u64;
    for round in 0..400_usize {
        let mut bytes = whole.clone();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = (seed >> 33) as usize % bytes.len();
        match round % 4 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << (seed >> 60 & 7),
            2 => bytes[at] = 0xff,
            _ => drop(bytes.drain(at..bytes.len().min(at + 8))),
        }
        fs::write(&file, &bytes).expect("written");
        // Read, passed over, or refused by name; what it says of the table is not checked further.
        if let Err(error) = table.log() {
            assert!(error.to_string().contains("checkpoint"), "{round}: {error}");
        }
    }
    fs::write(&file, "PAR1").expect("written");
    assert_eq!(table.log().expect("by versions"), expected);
    fs::remove_file(table.file(&commit_name(0))).expect("removed");
    let error = table.log().expect_err("nothing left").to_string();
    assert!(error.contains("00000000000000000005.checkpoint.parquet"), "{error}");
}

#[test]
fn a_checkpoint_of_a_newer_protocol_is_refused() {
    let table = Table::new("newer");
    fill(&table, 0);
    table.put(6, &text(&[json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}})]));
    make(&table.place(), 6, 0).expect("made");
    for version in 0..6 {
        fs::remove_file(table.file(&commit_name(version))).expect("removed");
    }
    let error = table.log().expect_err("too new").to_string();
    assert!(error.contains("reader 3") && error.contains("checkpoint.parquet"), "{error}");
}
