//! What `baro` writes is read by pandas, Polars, pyarrow and DuckDB as it was recorded, and what
//! they write is imported.
//!
//! They live in `readers/` of the target folder, where `cargo xtask ci readers` installs them with
//! pip; without them this test says so and is counted as skipped.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SECONDS: i64 = 5_000;
/// Some minutes before midnight, so that there are two days.
const START_NS: i64 = 1_700_005_000_000_000_000;

fn baro(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_baro"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn ok(arguments: &[&str], input: &[u8]) -> String {
    let output = baro(arguments, input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The Python that has the readers.
fn python() -> Option<PathBuf> {
    // target/debug/baro
    let target = Path::new(env!("CARGO_BIN_EXE_baro")).ancestors().nth(2).unwrap();
    let python = target.join("readers/bin/python");
    if python.exists() {
        return Some(python);
    }
    println!(
        "skipped: no pandas, Polars, pyarrow and DuckDB (cargo xtask ci readers installs them)"
    );
    None
}

/// Lines to record, and rows as they are expected.
fn recorded() -> (String, Vec<Value>) {
    let (warm, cold) = ("temp{line=\"3\",site=\"a\"}", "temp{line=\"4\",site=\"b, c\"}");
    let (mut lines, mut rows) = (String::new(), vec![Vec::new(); 4]);
    for second in 0..SECONDS {
        let time_ns = START_NS + second * 1_000_000_000 + second % 7;
        let value = (second * 37 % 1000) as f64 / 8.0 - 20.0;
        let strange = match second {
            11 => f64::NAN,
            12 => f64::INFINITY,
            13 => f64::NEG_INFINITY,
            _ => -value * 1.1,
        };
        let shown = if strange.is_finite() {
            json!(strange)
        } else {
            json!(strange.to_string().to_lowercase())
        };
        let count = second * second * 1_000_003;
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let mut add = |at: usize, name: &str, text: String, value: Value| {
            writeln!(lines, "{time_ns},{},{text}", quoted(name)).unwrap();
            rows[at].push(json!([name, time_ns, value]));
        };
        add(0, warm, format!("{value:?}"), json!(value));
        add(1, cold, format!("{strange:?}"), shown);
        add(2, "count", count.to_string(), json!(count));
        add(3, "on", (second % 3 == 0).to_string(), json!(second % 3 == 0));
    }
    (lines, rows.concat())
}

#[test]
fn what_is_written_is_read_by_pandas_polars_pyarrow_and_duckdb() {
    let Some(python) = python() else { return };
    let folder = Folder::new("readers");
    let store = folder.path("store");
    let (lines, rows) = recorded();
    let (warm, cold) = ("temp{line=\"3\",site=\"a\"}", "temp{line=\"4\",site=\"b, c\"}");
    let mut record = vec!["record", &store, "--init", "16M", "--stdin", "csv"];
    let declared = [warm, cold].map(|name| format!("{name}:f64:°C"));
    for declare in declared.iter().map(String::as_str).chain(["count:i64", "on:bool"]) {
        record.extend(["--declare", declare]);
    }
    ok(&record, lines.as_bytes());
    std::fs::write(folder.0.join("expected.json"), Value::Array(rows).to_string()).unwrap();
    for name in ["floats.csv", "floats.json", "floats.ndjson", "floats.arrow", "floats.parquet"] {
        ok(&["query", &store, warm, cold, "-o", &folder.path(name)], b"");
    }
    ok(&["query", &store, "-o", &folder.path("all.arrow")], b"");
    ok(&["export", &store, &folder.path("all.parquet")], b"");
    ok(&["export", &store, &folder.path("days"), "--partition-by", "date"], b"");
    let means = folder.path("means.parquet");
    ok(&["query", &store, warm, "--every", "1m", "--agg", "mean", "-o", &means], b"");

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/read.py");
    let output = Command::new(python).arg(script).arg(&folder.0).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let held = String::from_utf8_lossy(&output.stdout);
    let (floats, all) = (2 * SECONDS, 4 * SECONDS);
    let mut wanted: Vec<String> = Vec::new();
    for reader in ["pandas parquet", "pandas csv", "pandas json", "pandas ndjson"] {
        wanted.push(format!("{reader}: {floats} rows"));
    }
    for form in ["parquet", "arrow", "csv", "json", "ndjson"] {
        wanted.push(format!("polars {form}: {floats} rows"));
    }
    wanted.extend(["parquet", "arrow"].map(|form| format!("pyarrow {form}: {all} rows")));
    for form in ["parquet", "arrow", "csv", "json", "ndjson"] {
        wanted.push(format!("duckdb {form}: {floats} rows"));
    }
    wanted.extend(["duckdb days: 2 folders".to_owned(), "pandas means: as resample".to_owned()]);
    assert_eq!(held.lines().collect::<Vec<_>>(), wanted);
    imported_back(&folder);
}

/// What they have written, in a store.
fn imported_back(folder: &Folder) {
    let store = folder.path("back");
    ok(&["init", &store, "--size", "8M"], b"");
    ok(&["import", &store, &folder.path("wide.parquet")], b"");
    let back = ok(&["query", &store, "speed", "count", "on", "--format", "csv"], b"");
    // A float that is no number is a null for pandas, and a null is no sample.
    let mut lines = "time,series,value,value_type\n".to_owned();
    let second = |n: i64| (1_709_164_798 + n) * 1_000_000_000;
    for (at, value) in [(0, "1.5"), (2, "-2.25"), (3, "1e300")] {
        writeln!(lines, "{},speed,{value},f64", second(at)).unwrap();
    }
    for (at, value) in [(0, "1"), (1, "-2"), (2, "3"), (3, "4")] {
        writeln!(lines, "{},count,{value},i64", second(at)).unwrap();
    }
    for (at, value) in [(0, true), (1, false), (2, true), (3, true)] {
        writeln!(lines, "{},on,{value},bool", second(at)).unwrap();
    }
    assert_eq!(back, lines);

    let long = baro(&["import", &store, &folder.path("long.parquet"), "--format", "json"], b"");
    assert_eq!(long.status.code(), Some(3));
    let said = String::from_utf8_lossy(&long.stderr).into_owned();
    assert!(said.contains("row 2: expected a value, found null"), "{said}");
    let counts: Value = serde_json::from_slice(&long.stdout).unwrap();
    assert_eq!((&counts["samples"], &counts["lines_refused"]), (&json!(3), &json!(1)));
    let back = ok(&["query", &store, "a", "b{c=\"d\"}", "--format", "csv"], b"");
    let at = |n: i64| (1_700_000_000_000 + n) * 1_000_000;
    let lines = format!("{},a,1.5\n{},a,3.5\n{},\"b{{c=\"\"d\"\"}}\",2.5\n", at(0), at(3), at(2));
    assert_eq!(back, format!("time,series,value\n{lines}"));

    let duck = ["import", &store, &folder.path("duck.parquet"), "--precision", "us"];
    ok(&duck, b"");
    let back = ok(&["query", &store, "n", "--format", "csv"], b"");
    assert_eq!(back, "time,series,value,value_type\n0,n,0,i64\n1000000,n,1,i64\n2000000,n,2,i64\n");

    // What they write if nothing else is said.
    let other = folder.path("zstd");
    ok(&["init", &other, "--size", "8M"], b"");
    let zstd = baro(&["import", &other, &folder.path("zstd.parquet")], b"");
    assert_eq!(zstd.status.code(), Some(3));
    let said = String::from_utf8_lossy(&zstd.stderr).into_owned();
    assert!(said.contains("row 2: expected a value, found null"), "{said}");
    let back = ok(&["query", &other, "a", "b{c=\"d\"}", "--format", "csv"], b"");
    assert_eq!(back, format!("time,series,value\n{lines}"));
}
