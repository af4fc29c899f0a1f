//! `query`, `du`, `top` and exports by columns from outside: what users type, what they get, and
//! with which exit code.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Output, Stdio};

fn baro(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baro"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    baro(arguments).output().unwrap()
}

fn ok(arguments: &[&str]) -> String {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn fails(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

fn record(store: &str, declare: &[&str], lines: &str) {
    let mut arguments = vec!["record", store, "--init", "16M", "--stdin", "csv"];
    declare.iter().for_each(|one| arguments.extend(["--declare", one]));
    let mut child = baro(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_700_000_000 * SECOND;

/// 120 seconds of `temp` (0 to 119 °C), its last one twice, and 3 of `on`.
fn small(folder: &Folder) -> String {
    let store = folder.path("store");
    let mut lines = String::new();
    for n in 0..120 {
        writeln!(lines, "{},temp,{}.5", START + n * SECOND, n).unwrap();
    }
    writeln!(lines, "{},temp,-1", START + 119 * SECOND).unwrap();
    for (n, on) in [(0, true), (1, false), (2, true)] {
        writeln!(lines, "{},on,{on}", START + n * SECOND).unwrap();
    }
    record(&store, &["temp:f64:°C"], &lines);
    store
}

#[test]
fn rows_come_series_by_series_in_every_form() {
    let folder = Folder::new("forms");
    let store = small(&folder);
    let text = ok(&["query", &store, "temp", "--limit", "2", "--format", "text"]);
    assert_eq!(
        text,
        "2023-11-14T22:13:20.000000000Z  temp  0.5 °C\n2023-11-14T22:13:21.000000000Z  temp  1.5 °C\n"
    );
    let table = ok(&["query", &store, "on"]);
    assert_eq!(
        table,
        "time                            series  value  unit\n\
         2023-11-14T22:13:20.000000000Z  on       true\n\
         2023-11-14T22:13:21.000000000Z  on      false\n\
         2023-11-14T22:13:22.000000000Z  on       true\n"
    );
    let rows: Value = serde_json::from_str(&ok(&["query", &store, "--format", "json"])).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 123);
    assert_eq!(rows[1], json!({"series": "temp", "time_ns": START + SECOND, "value": 1.5}));
    // Of two samples of one time the later counts.
    assert_eq!(
        rows[119],
        json!({"series": "temp", "time_ns": START + 119 * SECOND, "value": -1.0})
    );
    assert_eq!(rows[122]["value"], json!(true));
    let lines = ok(&["query", &store, "--format", "ndjson"]);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(&lines.collect::<Vec<_>>(), rows);
    // What CSV says is recorded again and is the same.
    let csv = ok(&["query", &store, "--format", "csv"]);
    let again = folder.path("again");
    record(&again, &[], &csv);
    assert_eq!(ok(&["query", &again, "--format", "csv"]), csv);
    assert_eq!(csv.lines().count(), 124);
    // Into a file by its name; never over one that is there.
    let file = folder.path("rows.csv");
    ok(&["query", &store, "-o", &file]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), csv);
    fails(&["query", &store, "-o", &file], 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), csv);
    let binary = run(&["query", &store, "--format", "parquet"]).stdout;
    assert!(binary.starts_with(b"PAR1") && binary.ends_with(b"PAR1"));
}

#[test]
fn intervals_steps_and_the_last_rows() {
    let folder = Folder::new("steps");
    let store = small(&folder);
    let values = |arguments: &[&str]| {
        let text = ok(&[&["query", &store, "temp", "--format", "json"], arguments].concat());
        let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
        let row = |row: &Value| {
            ((row["time_ns"].as_i64().unwrap() - START) / SECOND, row["value"].as_f64().unwrap())
        };
        rows.iter().map(row).collect::<Vec<_>>()
    };
    let part = ["--from", "1700000010.0", "--to", "2023-11-14T22:13:33Z"];
    assert_eq!(values(&part), [(10, 10.5), (11, 11.5), (12, 12.5)]);
    let step = |agg| values(&[&part[..], &["--every", "10s", "--agg", agg]].concat());
    for (agg, value) in [
        ("mean", 11.5),
        ("min", 10.5),
        ("max", 12.5),
        ("sum", 34.5),
        ("count", 3.0),
        ("first", 10.5),
        ("last", 12.5),
        ("p99", 12.5),
    ] {
        assert_eq!(step(agg), [(10, value)], "{agg}");
    }
    // Without --every one value over the interval, at its beginning or that of the store.
    assert_eq!(values(&[&part[..], &["--agg", "sum"]].concat()), [(10, 34.5)]);
    assert_eq!(values(&["--agg", "count"]), [(0, 120.0)]);
    assert_eq!(
        values(&["--every", "1m", "--agg", "count"]),
        [(-20, 40.0), (40, 60.0), (100, 20.0)]
    );
    assert_eq!(values(&["--last"]), [(119, -1.0)]);
    assert_eq!(values(&["--last", "2"]), [(118, 118.5), (119, -1.0)]);
    assert_eq!(values(&["--limit", "1"]), [(0, 0.5)]);
    // Nothing there: before, behind, and a century around what is there.
    for empty in [["--from", "now"], ["--to", "5"], ["--limit", "0"]] {
        assert_eq!(values(&empty), []);
    }
    let century = ["--from", "1950-01-01T00:00:00Z", "--to", "2050-01-01T00:00:00Z"];
    assert_eq!(values(&century).len(), 120);
    let yearly = [&century[..], &["--every", "365d", "--agg", "count"]].concat();
    assert_eq!(values(&yearly).len(), 1);
}

/// What the system's clocks show at these moments in a place.
fn clocks(place: &str, form: &str, moments_s: &[i64]) -> Vec<String> {
    let mut date = Command::new("date");
    let mut date = date.env("TZ", place).env("LC_ALL", "C").args(["-f", "-", form]);
    date = date.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = date.spawn().unwrap();
    let lines: String = moments_s.iter().map(|moment| format!("@{moment}\n")).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn steps_of_a_zone_are_those_of_its_calendar() {
    if !std::path::Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        println!("skipped: the system has no zones (package tzdata)");
        return;
    }
    let folder = Folder::new("calendar");
    let store = folder.path("store");
    // A sample every half hour of two years, and a text every six.
    let begin_s = 1_753_999_200_i64;
    let moments_s: Vec<i64> = (0..2 * 365 * 48).map(|n| begin_s + n * 1_800).collect();
    let mut lines = String::new();
    for (n, moment_s) in moments_s.iter().enumerate() {
        writeln!(lines, "{}.0,temp,{n}", moment_s).unwrap();
        if n % 12 == 0 {
            writeln!(lines, "{}.0,note,\"{n}\"", moment_s).unwrap();
        }
    }
    record(&store, &["temp:i64"], &lines);
    let counts = |series: &str, more: &[&str]| {
        let arguments = ["query", &store, series, "--agg", "count", "--format", "json"];
        let rows: Vec<Value> = serde_json::from_str(&ok(&[&arguments[..], more].concat())).unwrap();
        let row = |row: &Value| (row["time_ns"].as_i64().unwrap(), row["value"].as_i64().unwrap());
        rows.iter().map(row).collect::<Vec<_>>()
    };
    for settled in [false, true] {
        if settled {
            ok(&["settle", &store]);
        }
        for place in ["Europe/Berlin", "America/Havana", "Asia/Kathmandu", "Australia/Lord_Howe"] {
            for (every, form) in [("1d", "+%F"), ("1w", "+%G-%V"), ("1mo", "+%Y-%m"), ("1y", "+%Y")]
            {
                let case = format!("{every} {place} {settled}");
                let shown = clocks(place, form, &moments_s);
                let found = counts("temp", &["--every", every, "--zone", place]);
                let expected: Vec<i64> =
                    shown.chunk_by(|a, b| a == b).map(|step| step.len() as i64).collect();
                let lengths: Vec<i64> = found.iter().map(|row| row.1).collect();
                assert_eq!(lengths, expected, "{case}");
                // Steps begin where the clock has just come to their date.
                let begins: Vec<i64> = found.iter().map(|row| row.0 / SECOND).collect();
                let before: Vec<i64> = begins.iter().map(|begin| begin - 1).collect();
                let (at, before) = (clocks(place, form, &begins), clocks(place, form, &before));
                assert!(at.iter().zip(&before).all(|(at, before)| at != before), "{case}");
                let notes = counts("note", &["--every", every, "--zone", place]);
                assert_eq!(notes.iter().map(|row| row.1).sum::<i64>(), 2 * 365 * 4, "{case}");
                let last = counts("temp", &["--every", every, "--zone", place, "--last", "2"]);
                assert_eq!(last, found[found.len() - 2..], "{case}");
            }
        }
        // A shift that begins at six, and steps of an hour from ten past.
        let berlin =
            ["--zone", "Europe/Berlin", "--from", "2026-03-28 06:00", "--to", "2026-03-31 06:00"];
        let shifts = counts("temp", &[&berlin[..], &["--every", "1d", "--offset", "6h"]].concat());
        assert_eq!(shifts.iter().map(|row| row.1).collect::<Vec<_>>(), [46, 48, 48]);
        let hours = ["--every", "1h", "--offset", "10m", "--from", "1753999200.0", "--limit", "3"];
        let hours = counts("temp", &hours).into_iter().map(|row| (row.0 / SECOND - begin_s, row.1));
        assert_eq!(hours.collect::<Vec<_>>(), [(-3_000, 1), (600, 2), (4_200, 2)]);
        let short = counts("temp", &["--every", "1h30m", "--to", "1754010000.0"]);
        assert_eq!(short.iter().map(|row| row.1).sum::<i64>(), 6);
    }
    for (wrong, code, said) in [
        (&["--every", "1h", "--zone", "Europe/Berlin"][..], 2, "expected a step of days"),
        (&["--every", "1.5mo"], 2, "such as 1d, 1w, 3mo or 1y"),
        (&["--every", "30m1h"], 2, "1h30m"),
        (&["--every", "1d", "--offset", "25h"], 2, "--offset: expected less than"),
        (&["--offset", "1h"], 2, "--every"),
        (
            &["--from", "2026-03-29 02:30", "--zone", "Europe/Berlin"],
            2,
            "--from: expected a time that clocks",
        ),
    ] {
        let found = fails(&[&["query", &store, "temp"], wrong].concat(), code);
        assert!(found.contains(said), "{wrong:?}: {found}");
    }
}

#[test]
fn mistakes_are_told() {
    let folder = Folder::new("mistakes");
    let store = small(&folder);
    assert!(fails(&["query", &store, "nosuch"], 1).contains("nosuch: no such series"));
    let backwards = fails(&["query", &store, "--from", "5", "--to", "3"], 2);
    assert!(backwards.contains("expected --to behind --from"), "{backwards}");
    for usage in [
        &["--every", "0s", "--agg", "mean"][..],
        &["--every", "1x", "--agg", "mean"],
        &["--agg", "mode"],
        &["--agg", "p100.5"],
        &["--agg", "mean", "--fill", "linear"],
        &["--last", "temp"],
        &["--from", "tomorrow"],
        &["--from", "1700000000"],
        &["--format", "xml"],
    ] {
        fails(&[&["query", &store], usage].concat(), 2);
    }
    let file = fails(&["query", &store, "-o", &folder.path("rows.xyz")], 2);
    assert!(file.contains("expected a name in .csv"), "{file}");
    assert!(!folder.0.join("rows.xyz").exists());
    let none = folder.path("none");
    assert!(fails(&["query", &none], 1).contains("baro init"));
    let frames = folder.path("frames");
    ok(&["record", &frames, "--init", "8M", "--generate", "--for", "50ms"]);
    let channel = fails(&["query", &frames, "generated"], 1);
    assert!(channel.contains("found a channel of frames"), "{channel}");
    assert_eq!(ok(&["query", &frames, "--format", "json"]), "[]\n");
    // A pattern meets channels too.
    record(&frames, &[], &format!("{START},general,5\n"));
    for pattern in ["*", "gen*", "{__name__=~\".+\"}"] {
        let rows = ok(&["query", &frames, pattern, "--format", "csv"]);
        assert!(rows.contains(",general,5"), "{pattern}: {rows}");
    }
    assert!(fails(&["query", &frames, "generat*"], 1).contains("found a channel of frames"));
    // Of those that have a layout the fields are values.
    let raw = ["record", &frames, "--stdin", "raw", "--frame-bytes", "8", "--channel", "pose"];
    let mut child = baro(&[&raw[..], &["--layout", "pose=x:f32@0,y:f32@4"]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&[0; 8]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    for pattern in ["*", "po*", "{__name__=~\".+\"}"] {
        let rows = ok(&["query", &frames, pattern, "--format", "csv"]);
        assert!(rows.contains(",pose.x,0") && rows.contains(",pose.y,0"), "{pattern}: {rows}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = Folder::new("pipe");
    let store = folder.path("store");
    let lines = (0..60_000).map(|n| format!("{},temp,{n}.25\n", START + n)).collect::<String>();
    record(&store, &[], &lines);
    for format in ["table", "text", "csv", "json", "ndjson", "arrow", "parquet"] {
        let mut child = baro(&["query", &store, "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = Vec::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
        if format != "parquet" && format != "arrow" {
            out.read_until(b'\n', &mut first).unwrap();
            assert!(!first.is_empty(), "{format}");
        }
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}

#[test]
fn damage_is_named_and_costs_the_exit_code() {
    let folder = Folder::new("damage");
    let store = folder.path("store");
    let lines = (0..60_000).map(|n| format!("{},temp,{n}.25\n", START + n)).collect::<String>();
    record(&store, &[], &lines);
    assert_eq!(ok(&["query", &store, "--format", "csv"]).lines().count(), 60_001);
    let segment = folder.0.join("store/log/00000000.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    // Blocks end with zeros where the writer was in a hurry; those are nobody's.
    *bytes[12_000..].iter_mut().find(|byte| **byte != 0).unwrap() ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    for arguments in [
        &["query", &store, "--format", "csv"][..],
        &["du", &store],
        &["top", &store],
        &["list", &store, "--counts"],
        &["list", &store, "--counts", "--format", "json"],
        &["cat", &store],
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(said.contains("damage: log/00000000.seg"), "{said}");
    }
    let file = folder.path("rest.parquet");
    let output = run(&["export", &store, &file, "--format", "json"]);
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["damage"].as_array().map(Vec::len), Some(1));
    let left = report["rows"].as_u64().unwrap();
    let rest = String::from_utf8(run(&["query", &store, "--format", "csv"]).stdout).unwrap();
    assert_eq!(rest.lines().count() as u64, left + 1);
    assert!(left < 60_000);
    // Where nothing is left of it, it was recorded all the same.
    let store = folder.path("few");
    record(&store, &[], &format!("{START},temp,1.25\n"));
    let segment = folder.0.join("few/log/00000000.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    *bytes[4_096 + 200..].iter_mut().find(|byte| **byte != 0).unwrap() ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let file = folder.path("few.csv");
    for arguments in
        [&["query", &store, "--format", "csv"][..], &["cat", &store], &["export", &store, &file]]
    {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(!said.contains("nothing of this was recorded"), "{arguments:?}: {said}");
    }
}

#[test]
fn the_largest_series_are_told_with_what_they_take() {
    let folder = Folder::new("top");
    let store = folder.path("store");
    let mut lines = String::new();
    for (name, count, step) in [("slow", 10, 1000), ("much", 300, 100), ("fast", 50, 1)] {
        for n in 0..count {
            writeln!(lines, "{},{name},{n}", START + n * step * 1_000_000).unwrap();
        }
    }
    record(&store, &["unused:f64"], &lines);
    let top = |by: &str, number: &str| {
        let arguments = ["top", &store, "--by", by, "-n", number, "--format", "json"];
        let rows: Vec<Value> = serde_json::from_str(&ok(&arguments)).unwrap();
        rows.iter()
            .map(|row| (row["name"].as_str().unwrap().to_owned(), row["samples"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let named = |rows: &[(&str, u64)]| {
        rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>()
    };
    assert_eq!(top("samples", "20"), named(&[("much", 300), ("fast", 50), ("slow", 10)]));
    assert_eq!(top("rate", "2"), named(&[("fast", 50), ("much", 300)]));
    assert_eq!(top("samples", "0"), []);
    let du: Value = serde_json::from_str(&ok(&["du", &store, "--format", "json"])).unwrap();
    let series = du["series"].as_array().unwrap();
    assert_eq!(series.len(), 3);
    let bytes: u64 = series.iter().map(|one| one["bytes_estimated"].as_u64().unwrap()).sum();
    // 360 samples in sections: less than 20 bytes even if nothing can be packed; never more than the
    // log uses.
    assert!((100..=360 * 20).contains(&bytes), "{bytes}");
    assert!(du["log_used_bytes"].as_u64().unwrap() >= bytes);
    // Two segments or more: it grows while it is recorded into.
    let info: Value = serde_json::from_str(&ok(&["info", &store, "--format", "json"])).unwrap();
    let grown = info["segments_grown"].as_u64().unwrap();
    assert!(grown >= 2 && du["log_bytes"].as_u64().unwrap().is_multiple_of(grown), "{du}");
    let one = ok(&["du", &store, "fast"]);
    assert!(
        one.contains("  fast\n") && !one.contains("much") && one.contains(" 1 series"),
        "{one}"
    );
    assert!(fails(&["du", &store, "nosuch"], 1).contains("no such series"));
}

#[test]
fn a_partitioned_export_has_a_file_for_each_day_with_samples() {
    let folder = Folder::new("days");
    let store = folder.path("store");
    let day = 86_400 * SECOND;
    let times = [-day, -1, 0, day - 1, 40 * 365 * day, 40 * 365 * day + 1];
    let lines = times.map(|time| format!("{time},temp,1\n")).concat();
    record(&store, &[], &lines);
    let days = folder.path("days");
    let export = ["export", &store, &days, "--partition-by", "date", "--format", "json"];
    let report: Value = serde_json::from_str(&ok(&export)).unwrap();
    assert_eq!((&report["files"], &report["rows"]), (&json!(3), &json!(6)));
    let mut found: Vec<String> = std::fs::read_dir(&days)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, ["date=1969-12-31", "date=1970-01-01", "date=2009-12-22"]);
    assert!(fails(&export, 1).contains("expected a new folder"));
    // All of them together are what was recorded.
    let back = folder.path("back");
    ok(&["init", &back, "--size", "8M"]);
    let files: Vec<String> = found.iter().map(|name| format!("{days}/{name}/0.parquet")).collect();
    let import = ["import", &back, &files[0], &files[1], &files[2]];
    assert!(ok(&import).starts_with("6 lines, 6 samples of 1 series (1 declared)"));
    let csv = ["query", &store, "--format", "csv"];
    assert_eq!(ok(&["query", &back, "--format", "csv"]), ok(&csv));
    let csv =
        ["export", &store, &folder.path("x.csv"), "--partition-by", "date", "--output", "csv"];
    assert!(fails(&csv, 2).contains("expected Parquet"));
}

/// What it cannot hand on to the program with the engine is refused before.
#[test]
fn a_query_of_promql_has_its_own_options() {
    let folder = Folder::new("promql");
    let store = folder.path("store");
    record(&store, &[], &format!("{START},temp,1\n"));
    for (options, said) in [
        (&["--every", "1s"][..], "expected --from, found none"),
        (&["--from", "2023-11-14", "--every", "1mo"], "expected --every of one length"),
        (&["--format", "parquet"], "expected --format table, text, csv or json"),
        (&["--agg", "max"], "cannot be used with"),
        (&["-o", "x.csv"], "cannot be used with"),
    ] {
        let call = [&["query", &store, "--promql", "temp"], options].concat();
        assert!(fails(&call, 2).contains(said), "{options:?}");
    }
    assert!(fails(&["query", &store, "temp", "--lookback", "1m"], 2).contains("--promql"));
}

/// Spark has no nanoseconds: they are in a column of their own, and come back.
#[test]
fn an_export_in_microseconds_rounds_nothing() {
    let folder = Folder::new("us");
    let store = folder.path("store");
    let times = [-1, 0, 1_999, START + 123_456_789];
    let lines = times.map(|time| format!("{time},temp,1\n")).concat();
    record(&store, &[], &lines);
    let (file, back) = (folder.path("us.parquet"), folder.path("back"));
    ok(&["export", &store, &file, "--time-unit", "us"]);
    ok(&["init", &back, "--size", "8M"]);
    assert!(ok(&["import", &back, &file]).starts_with("4 lines, 4 samples of 1 series"));
    let csv = ["query", &store, "--format", "csv"];
    assert_eq!(ok(&["query", &back, "--format", "csv"]), ok(&csv));
    let other = folder.path("us.csv");
    let csv = ["export", &store, &other, "--time-unit", "us"];
    assert!(fails(&csv, 2).contains("--time-unit: expected Parquet or Arrow"));
}

#[test]
fn patterns_select_and_a_slip_is_told() {
    let folder = Folder::new("patterns");
    let store = folder.path("store");
    let lines = format!(
        "{START},cpu_user_ticks,1\n{START},\"cpu_user_ticks{{cpu=\"\"0\"\"}}\",2\n\
         {START},cpu_idle_ticks,3\n{START},memory.free,4\n{START},memoryxfree,5\n{START},odd*,6\n"
    );
    record(&store, &[], &lines);
    let names = |arguments: &[&str]| {
        let text = ok(&[&["query", &store, "--format", "json"], arguments].concat());
        let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
        let mut names: Vec<String> =
            rows.iter().map(|row| row["series"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let (user, labelled) = ("cpu_user_ticks", "cpu_user_ticks{cpu=\"0\"}");
    assert_eq!(names(&["cpu_*"]), ["cpu_idle_ticks", user, labelled]);
    assert_eq!(names(&["*user*"]), [user, labelled]);
    assert_eq!(
        names(&["cpu_????_ticks", "m*.free"]),
        ["cpu_idle_ticks", user, labelled, "memory.free"]
    );
    assert_eq!(names(&["cpu_*{cpu=\"0\"}"]), [labelled]);
    assert_eq!(names(&["cpu_user*{}"]), [user, labelled]);
    // No such label, and not the name without it.
    assert_eq!(names(&["cpu_user_ticks{job=\"\"}"]), [user, labelled]);
    assert_eq!(names(&["cpu_user_ticks{cpu= \"\"}"]), [user]);
    // A name that something has stands for that.
    assert_eq!(names(&["odd*"]), ["odd*"]);
    assert_eq!(ok(&["list", &store, "memory?free"]).lines().count(), 2);
    assert_eq!(ok(&["cat", &store, "*idle*"]).lines().count(), 1);
    let file = folder.path("idle.csv");
    assert!(ok(&["export", &store, &file, "--series", "*idle*"]).contains("1 row,"));

    let slip = fails(&["query", &store, "cpu_user_tick"], 1);
    assert!(slip.contains("did you mean cpu_user_ticks?"), "{slip}");
    let slip = fails(&["cat", &store, "memory.fere"], 1);
    assert!(slip.contains("did you mean memory.free or memoryxfree?"), "{slip}");
    let far = fails(&["query", &store, "voltage"], 1);
    assert!(far.contains("baro list shows all") && !far.contains("did you mean"), "{far}");
    let labels = fails(&["query", &store, "cpu_user_ticks{cpu=\"7\"}"], 1);
    assert!(labels.contains("no series of cpu_user_ticks has such labels"), "{labels}");
    // What no selector can mean is a mistake of the command line.
    for wrong in ["cpu{", "cpu{a=b}", "cpu_*{a=~\"(\"}"] {
        assert!(fails(&["query", &store, wrong], 2).contains("at character"));
    }
    let none = fails(&["query", &store, "disk_*"], 1);
    assert!(none.contains("disk_*: no series or channel has such a name"), "{none}");
}

#[test]
fn a_step_alone_is_the_mean_of_it() {
    let folder = Folder::new("mean");
    let store = small(&folder);
    let step = ["query", &store, "temp", "--every", "1m", "--format", "csv"];
    let mean = ok(&[&step[..], &["--agg", "mean"]].concat());
    assert_eq!((ok(&step), ok(&[&step[..], &["--agg", "avg"]].concat())), (mean.clone(), mean));
    let seconds = fails(&["record", &store, "--generate", "--for", "1"], 2);
    assert!(seconds.contains("such as 1s"), "{seconds}");
}

#[test]
fn what_is_not_whole_is_not_there() {
    let folder = Folder::new("whole");
    let store = folder.path("store");
    ok(&[
        "record",
        &store,
        "--init",
        "64M",
        "--proc",
        "--generate",
        "--interval",
        "1ms",
        "--frame-bytes",
        "16K",
        "--for",
        "1s",
    ]);
    let outputs = folder.0.join("outputs");
    std::fs::create_dir(&outputs).unwrap();
    let path = |name: &str| outputs.join(name).to_str().unwrap().to_owned();
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(&outputs)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    // Told to end in its middle, which is long: so few bytes a second are read.
    for (name, arguments) in
        [("a.mcap", &[][..]), ("a.csv", &[]), ("days", &["--partition-by", "date"])]
    {
        let file = path(name);
        let call = [&["export", &store, &file, "--rate", "1"], arguments].concat();
        let mut child = baro(&call).stderr(Stdio::null()).spawn().unwrap();
        while names().is_empty() {
            assert_eq!(child.try_wait().unwrap(), None, "{name}");
            std::thread::yield_now();
        }
        assert!(names()[0].starts_with(".baro-"), "{:?}", names());
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        assert_eq!(names(), Vec::<String>::new(), "{name}");
    }
    // One that fails leaves what was there; one that ends replaces it, if that was said.
    let csv = path("a.csv");
    std::fs::write(&csv, "of another").unwrap();
    for call in [&["export", &store, &csv][..], &["query", &store, "-o", &csv]] {
        let taken = fails(call, 1);
        assert!(taken.contains("--force") && taken.contains("a.csv"), "{taken}");
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), "of another");
    }
    ok(&["export", &store, &csv, "--force"]);
    assert!(std::fs::read_to_string(&csv).unwrap().starts_with("time,series,value"));
    let no_file = fails(&["export", &store, "/dev/null", "--output", "csv", "--force"], 1);
    assert!(no_file.contains("no ordinary file"), "{no_file}");
    // How much it is, and that it is nothing, is said.
    let none =
        run(&["query", &store, "context_switches", "--to", "1990-01-01", "-o", &csv, "--force"]);
    assert_eq!(none.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&none.stdout).contains("a.csv: 0 rows"), "{none:?}");
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(said.contains("nothing of this was recorded from .. to 1990-01-01"), "{said}");
    assert_eq!(names(), ["a.csv"]);
}

/// Bytes that a call reads, by the kernel's account.
fn read_bytes(arguments: &[&str]) -> u64 {
    let script = "\"$@\" > /dev/null || exit 1; cat /proc/$$/io";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_baro")]).args(arguments);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let account = String::from_utf8(output.stdout).unwrap();
    account.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap()
}

#[test]
fn a_question_reads_no_blank_log() {
    let folder = Folder::new("blank");
    let store = folder.path("store");
    // Two segments of 16 MiB, of which a few blocks are written.
    let mut lines = String::new();
    for n in 0..1000 {
        writeln!(lines, "{},temp,{n}.5", START + n * SECOND).unwrap();
    }
    ok(&["init", &store, "--grow-to", "256M", "--recycle"]);
    let csv = folder.path("temp.csv");
    std::fs::write(&csv, &lines).unwrap();
    let questions: [&[&str]; 4] = [
        &["temp"],
        &["temp", "--last", "3"],
        &["temp", "--from", "2023-11-14", "--every", "1m"],
        &["temp", "--from", "2023-11-14", "--agg", "count"],
    ];
    let most = 2 << 20;
    ok(&["import", &store, &csv]);
    for settled in [false, true] {
        for question in questions {
            let read = read_bytes(&[&["query", &store], question].concat());
            assert!(read < most, "{question:?}, settled {settled}: {read} bytes");
        }
        ok(&["settle", &store, "--all"]);
    }
    let read = read_bytes(&["cat", &store, "temp", "--last", "3"]);
    assert!(read < most, "{read} bytes");
}

/// A counter that was set back once, and a level that is told rarely: what each aggregate makes of them,
/// also of what is before the interval.
#[test]
fn counters_levels_and_empty_steps_come_to_what_the_page_says() {
    let folder = Folder::new("aggregates");
    let store = folder.path("store");
    let minute = 60 * SECOND;
    // An hour begins.
    let at = |seconds: i64| START + 2_800 * SECOND + seconds * SECOND;
    assert_eq!(at(0) % (60 * minute), 0);
    let mut lines = String::new();
    for (seconds, count) in [(-30, 90), (30, 100), (90, 5), (150, 20), (350, 60)] {
        writeln!(lines, "{},wheel,{count}", at(seconds)).unwrap();
    }
    for (seconds, level) in [(-600, 4.0), (90, 10.0), (105, 2.0)] {
        writeln!(lines, "{},level,{level}", at(seconds)).unwrap();
    }
    record(&store, &["wheel:i64", "level:f64"], &lines);
    let (from, to) = (at(0).to_string(), at(300).to_string());
    let rows = |series: &str, more: &[&str]| -> Vec<(i64, Value)> {
        let asked = ["query", &store, series, "--from", &from, "--to", &to, "--format", "json"];
        let rows: Value = serde_json::from_str(&ok(&[&asked[..], more].concat())).unwrap();
        let row = |row: &Value| {
            ((row["time_ns"].as_i64().unwrap() - at(0)) / minute, row["value"].clone())
        };
        rows.as_array().unwrap().iter().map(row).collect()
    };
    let steps = |series: &str, agg: &str, fill: &[&str]| {
        rows(series, &[&["--every", "1m", "--agg", agg], fill].concat())
    };
    // 90, 100 | 5 | 20: set back between the first two minutes, and never told how far it came.
    let of = |values: [i64; 3]| (0..).zip(values.map(Value::from)).collect::<Vec<_>>();
    assert_eq!(steps("wheel", "increase", &[]), of([10, 5, 15]));
    assert_eq!(steps("wheel", "delta", &[]), of([10, -95, 15]));
    let rates = [(0, json!(10.0 / 60.0)), (1, json!(5.0 / 60.0)), (2, json!(0.25))];
    assert_eq!(steps("wheel", "rate", &[]), rates);
    assert_eq!(rows("wheel", &["--agg", "increase"]), [(0, json!(30))]);
    let filled = steps("wheel", "increase", &["--fill", "zero"]);
    assert_eq!(filled, [of([10, 5, 15]), vec![(3, json!(0)), (4, json!(0))]].concat());
    // 4 held for 90 s, then 10 for 15 s, then 2.
    let means = [(1, json!((4.0 * 30.0 + 10.0 * 15.0 + 2.0 * 15.0) / 60.0))];
    assert_eq!(steps("level", "time-mean", &[]), means);
    let held =
        [(0, json!(4.0)), means[0].clone(), (2, json!(2.0)), (3, json!(2.0)), (4, json!(2.0))];
    assert_eq!(steps("level", "time-mean", &["--fill", "previous"]), held);
    let last = [4.0, 2.0, 2.0, 2.0, 2.0].map(Value::from);
    let last: Vec<_> = (0..).zip(last).collect();
    assert_eq!(steps("level", "last", &["--fill", "previous"]), last);
    for (agg, value) in [("median", 6.0), ("p50", 2.0), ("p50.1", 10.0), ("stddev", 4.0)] {
        assert_eq!(rows("level", &["--agg", agg]), [(0, json!(value))], "{agg}");
    }
    // A day before, nothing but what holds.
    let (from, to) = (at(-500).to_string(), at(-400).to_string());
    let held = ok(&[
        "query", &store, "level", "--from", &from, "--to", &to, "--agg", "last", "--fill",
        "previous", "--format", "csv",
    ]);
    assert_eq!(held.lines().nth(1), Some(format!("{from},level,4").as_str()));
    let said = fails(&["query", &store, "level", "--agg", "p101"], 2);
    assert!(said.contains("'p101'") && said.contains("time-mean"), "{said}");
    let said = fails(&["query", &store, "level", "--fill", "zero"], 2);
    assert!(said.contains("--every or --agg"), "{said}");
    let said = fails(&["query", &store, "level", "--every", "1ns", "--fill", "zero"], 1);
    assert!(said.contains("16777216") && said.contains("longer steps"), "{said}");
}

/// As floats both values are the same, and a count has another unit than what is counted.
#[test]
fn a_counter_beyond_2_to_the_53_falls_and_results_have_units_of_their_own() {
    let folder = Folder::new("query-large");
    let store = folder.path("store");
    let lines = "1700000000000000000,wheel,9007199254740993\n\
                 1700000001000000000,wheel,9007199254740992\n";
    record(&store, &["wheel:i64:Wh"], lines);
    let rows = |agg: &str| {
        let csv = ok(&["query", &store, "wheel", "--every", "1s", "--agg", agg, "--format", "csv"]);
        let value = |row: &str| row.split(',').nth(2).unwrap().parse::<f64>().unwrap();
        csv.lines().skip(1).map(value).collect::<Vec<_>>()
    };
    assert_eq!(rows("increase"), [0.0, 9_007_199_254_740_992.0]);
    assert_eq!(rows("rate"), [9_007_199_254_740_992.0]);
    assert_eq!(rows("delta"), [0.0, -1.0]);
    for format in ["text", "table"] {
        for (agg, unit) in [("count", "2"), ("rate", " Wh/s"), ("max", " Wh")] {
            let shown = ok(&["query", &store, "wheel", "--agg", agg, "--format", format]);
            assert!(shown.trim_end().ends_with(unit), "{agg}: {shown}");
        }
    }
}
