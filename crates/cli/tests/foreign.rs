//! Names and texts that others wrote, through every verb that shows them: none moves a cursor, turns a
//! line around, ends one, or begins a formula; and what programs read says exactly what was recorded.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{feed, run};
use place::Folder;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Output;

/// All that is not seen, of each kind, and a line that would be taken for ours.
const HOSTILE: &str = "e\u{1b}]0;x\u{7}\u{1b}[2J\r\nINJECTED lost: 0\t\u{7f}\u{9b}\u{85}\u{202e}\u{2066}\u{200f}\
                       \u{61c}\u{2028}\u{200b}\u{feff}z";
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/trace/6.12.trace");

/// The same without an end of a line.
fn hostile_text() -> String {
    HOSTILE.replace(['\r', '\n'], "")
}

/// Looks at what a verb printed; its exit code is no matter here.
fn harmless(what: &str, output: &Output) {
    for bytes in [&output.stdout, &output.stderr] {
        let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{what}: no UTF-8"));
        for line in text.lines() {
            assert!(!line.contains(baro_show::is_unseen), "{what}: {line:?}");
            assert!(!line.starts_with("INJECTED"), "{what}: {text}");
        }
        assert!(!text.contains('\r') && !text.contains("panicked"), "{what}: {text:?}");
    }
}

fn look(arguments: &[&str]) -> Output {
    let output = run(arguments);
    harmless(&arguments.join(" "), &output);
    output
}

fn shown(arguments: &[&str]) -> String {
    String::from_utf8(look(arguments).stdout).unwrap()
}

/// A store in a folder of a hostile name, with series, texts, a channel and pins of hostile names.
fn store(folder: &Folder) -> String {
    let store = folder.0.join(format!("s{HOSTILE}")).to_str().unwrap().to_owned();
    look(&["init", &store, "--size", "8M"]);
    let number = json!({"time_ns": 1, "series": HOSTILE, "value": 1.5});
    let labels = format!("t{{site=\"{}\"}}", HOSTILE.replace(['\r', '\n', '\u{2028}'], "-"));
    let labelled = json!({"time_ns": 2, "series": labels, "value": 2});
    let plain = json!({"time_ns": 4, "series": "température °C", "value": -5});
    let unit = format!("declared:f64:u{}", HOSTILE.replace([':', '\r', '\n'], ""));
    let input = format!("{number}\n{labelled}\n{plain}\nnot \u{1b}[2J json\n");
    let record = ["record", &store, "--stdin", "json", "--no-settle", "--declare"];
    harmless("record", &feed(&[&record[..], &[unit.as_str()]].concat(), input.as_bytes()));
    harmless("record", &feed(&record[..5], input.as_bytes()));
    // A text of the line protocol ends with its line.
    let lines = folder.path("texts.lp");
    std::fs::write(&lines, format!("text v=\"{}\" 3\n", hostile_text())).unwrap();
    look(&["import", &store, &lines]);
    let channel = ["record", &store, "--stdin", "frames", "--channel", HOSTILE];
    harmless("record frames", &feed(&channel, b"\x04\0\0\0\x1b[2J"));
    look(&["pin", &store, "--before", "1s", "--name", HOSTILE]);
    store
}

#[test]
fn foreign_names_move_no_cursor_in_any_verb() {
    let folder = Folder::new("foreign");
    let store = store(&folder);
    let store = store.as_str();
    for settled in [false, true] {
        for verb in ["info", "list", "du", "top", "verify"] {
            assert!(!look(&[verb, store]).stdout.is_empty(), "{verb}");
            look(&[verb, store, "--format", "json"]);
        }
        look(&["list", store, "--counts"]);
        look(&["list", store, "--counts", "--format", "json"]);
        look(&["cat", store]);
        look(&["cat", store, HOSTILE, "--last", "2"]);
        look(&["cat", store, "--format", "json"]);
        look(&["pin", store, "--list"]);
        look(&["pin", store, "--list", "--format", "json"]);
        for format in ["table", "text", "json", "ndjson"] {
            look(&["query", store, "{__name__=~\".*\"}", "--format", format]);
        }
        // Errors that name what was asked for.
        for wrong in [
            &["query", store, "no\u{1b}[2J\nINJECTED"][..],
            &["pin", store, "--release", HOSTILE],
            &["pin", store, "--release", "no\u{1b}[2J\nINJECTED"],
            &["info", "no\u{1b}[2J\nINJECTED"],
        ] {
            look(wrong);
        }
        if !settled {
            look(&["settle", store, "--all"]);
        }
    }
    let listed = shown(&["list", store]);
    assert!(listed.contains("température °C"), "{listed}");
    assert!(shown(&["query", store, "température °C"]).contains("température °C"));
    for name in ["x\u{1b}[2J.csv", "x\u{1b}[2J.parquet", "x\u{1b}[2J.arrow", "x\u{1b}[2J.mcap"] {
        look(&["export", store, &folder.path(name)]);
    }
    let bad = folder.path("bad\u{1b}[2J.csv");
    std::fs::write(&bad, "time,a\u{1b}[2Jb,c\n1,2,3\nx,y\u{9b},z\n1,a\u{1b}[2J,4\n").unwrap();
    look(&["import", store, &bad]);
    let bad = folder.path("bad.lp");
    std::fs::write(&bad, "m,t=\u{1b}[2J f=1 1\nbad\u{1b}[2J\u{202e} line\n").unwrap();
    look(&["import", store, &bad]);
    look(&["recover", store, &folder.path("re\u{1b}[2Jcovered")]);
    let settings = folder.path("settings.toml");
    std::fs::write(&settings, "[record]\n\"k\\u001b[2J\\nINJECTED\" = 1\n").unwrap();
    look(&["record", store, "--config", &settings]);
    std::fs::write(&settings, "[record]\nudp = \"x\\u001b[2J\\u202e\"\n").unwrap();
    look(&["record", store, "--config", &settings]);
    std::fs::write(&settings, "[[group]]\nname = \"a\\u001b[2J\"\nweight = 70\n\"\\u202e\" = 1\n")
        .unwrap();
    look(&["share", "hold", &settings]);
}

#[test]
fn json_of_foreign_names_says_exactly_what_was_recorded() {
    let folder = Folder::new("foreign-exact");
    let store = store(&folder);
    let rows = shown(&["query", &store, "{__name__=~\".*\"}", "--format", "json"]);
    let rows: Value = serde_json::from_str(&rows).unwrap();
    let (rows, text) = (rows.as_array().unwrap(), hostile_text());
    assert!(rows.iter().any(|row| row["series"] == HOSTILE && row["value"] == 1.5), "{rows:?}");
    assert!(rows.iter().any(|row| row["series"] == "text_v" && row["value"] == text), "{rows:?}");
    let listed: Value =
        serde_json::from_str(&shown(&["list", &store, "--format", "json"])).unwrap();
    assert!(listed.as_array().unwrap().iter().any(|row| row["name"] == HOSTILE), "{listed}");
    let pins: Value =
        serde_json::from_str(&shown(&["pin", &store, "--list", "--format", "json"])).unwrap();
    assert_eq!(pins["pins"][0]["name"], HOSTILE);
}

/// Chunks of a trace with their checksums made right again.
fn sealed(trace: &mut [u8]) {
    let number = |at: &[u8]| u32::from_le_bytes(at.try_into().unwrap());
    let mut at = 16;
    while at < trace.len() {
        let payload_bytes = number(&trace[at + 8..at + 12]) as usize;
        let end = at + 16 + payload_bytes;
        let mut crc = !0;
        let place = (at as u64).to_le_bytes();
        for byte in place.iter().chain(&trace[at..at + 12]).chain(&trace[at + 16..end]) {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0x82f6_3b78 };
            }
        }
        trace[at + 12..at + 16].copy_from_slice(&u32::to_le_bytes(!crc));
        at = end;
    }
}

/// A recorded trace in which tasks are named as any user may name his.
fn trace(folder: &Folder) -> PathBuf {
    let mut bytes = std::fs::read(TRACE).unwrap();
    for (name, hostile) in
        [(&b"load\0"[..], &b"l\x1b\nd\0"[..]), (b"kworker/", b"k\x1b[2J\r\n\x7f")]
    {
        let mut at = 0;
        while let Some(found) = bytes[at..].windows(name.len()).position(|part| part == name) {
            bytes[at + found..at + found + name.len()].copy_from_slice(hostile);
            at += found + name.len();
        }
    }
    // In the list of tasks a name has its length instead of an end.
    let listed = b"\x04load";
    while let Some(at) = bytes.windows(5).position(|part| part == listed) {
        bytes[at..at + 5].copy_from_slice(b"\x04l\x1b\nd");
    }
    sealed(&mut bytes);
    let path = folder.0.join("hostile.trace");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn foreign_names_of_tasks_stay_in_their_line() {
    let folder = Folder::new("foreign-trace");
    let path = trace(&folder);
    let path = path.to_str().unwrap();
    let explained = shown(&["explain", path, "--over", "50us"]);
    assert!(explained.contains("of l??d (pid "), "{explained}");
    look(&["explain", path, "--over", "50us", "--format", "json"]);
    for analysis in ["handle", "state", "blocks", "space", "syscall", "waits"] {
        look(&["trace", analysis, path]);
        look(&["trace", analysis, path, "--format", "json"]);
    }
    let page = folder.path("x.html");
    look(&["explain", path, "--over", "50us", "--html", &page]);
    let page = std::fs::read_to_string(page).unwrap();
    let unseen = |one: char| one != '\n' && one != '\t' && baro_show::is_unseen(one);
    assert!(page.contains("l\u{fffd}") && !page.contains(unseen), "{:?}", page.find(unseen));
}

#[test]
fn names_that_look_like_formulas_come_back() {
    let folder = Folder::new("foreign-csv");
    let names = [
        "=cmd|'/C calc'!A0",
        "+1",
        "-temp",
        "@sum",
        "'=quoted",
        "''=twice",
        "'plain'",
        " =blank",
        "\t=tab",
        "＝wide",
        "=a,\"b\"",
        "ordinary",
        "a=b",
        "t{site=\"=1\"}",
    ];
    let one = folder.path("one");
    look(&["init", &one, "--size", "8M"]);
    let line = |(at, name): (usize, &&str)| {
        format!("{}\n", json!({"time_ns": at + 1, "series": name, "value": -5}))
    };
    let input: String = names.iter().enumerate().map(line).collect();
    harmless("record", &feed(&["record", &one, "--stdin", "json"], input.as_bytes()));
    let series = |store: &str| -> Vec<(i64, String, f64)> {
        let rows = shown(&["query", store, "{__name__=~\".*\"}", "--format", "json"]);
        let rows: Value = serde_json::from_str(&rows).unwrap();
        let row = |row: &Value| {
            let name = row["series"].as_str().unwrap().to_owned();
            (row["time_ns"].as_i64().unwrap(), name, row["value"].as_f64().unwrap())
        };
        let mut rows: Vec<_> = rows.as_array().unwrap().iter().map(row).collect();
        rows.sort_by_key(|row| row.0);
        rows
    };
    let recorded = series(&one);
    let found: Vec<&str> = recorded.iter().map(|row| row.1.as_str()).collect();
    assert_eq!(found, names);
    for (index, verb) in ["export", "query", "cat"].into_iter().enumerate() {
        let csv = folder.path(&format!("{verb}.csv"));
        match verb {
            "export" => drop(look(&["export", &one, &csv])),
            "query" => drop(look(&["query", &one, "{__name__=~\".*\"}", "-o", &csv])),
            _ => std::fs::write(&csv, run(&["cat", &one, "--format", "csv"]).stdout).unwrap(),
        }
        let text = std::fs::read_to_string(&csv).unwrap();
        for line in text.lines().skip(1).filter(|line| !line.starts_with('#')) {
            let name = line.split_once(',').unwrap().1.trim_start_matches('"');
            assert!(!name.trim_start().starts_with(['=', '+', '-', '@', '＝']), "{verb}: {line}");
            assert!(line.ends_with(",-5"), "{verb}: a number stays one: {line}");
        }
        let other = folder.path(&format!("other-{index}"));
        look(&["init", &other, "--size", "8M"]);
        look(&["import", &other, &csv]);
        assert_eq!(series(&other), recorded, "{verb}");
    }
}

/// Its reader, which is not ours, panics on this file; we look before it does.
#[test]
fn a_damaged_parquet_file_is_refused_in_a_sentence() {
    let folder = Folder::new("foreign-parquet");
    let store = folder.0.join("store");
    let store = store.to_str().unwrap();
    assert!(run(&["init", store, "--size", "4M"]).status.success());
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/parquet/delta-packed-of-no-values");
    let named = folder.0.join("damaged.parquet");
    std::fs::copy(file, &named).unwrap();
    let output = run(&["import", store, named.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("as many levels and values as its header says"), "{said}");
    assert!(!said.contains("panicked") && !said.contains("stack backtrace"), "{said}");
}
