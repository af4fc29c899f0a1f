//! What others have collected comes in whole: text of Prometheus and OpenMetrics, annotated CSV of InfluxDB,
//! known by their first lines where no name says it, packed or not; and what is neither is refused.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{feed, json, run, stderr, text};
use flate2::{Compression, write::GzEncoder};
use place::Folder;
use std::io::Write;

const DUMP: &str = "# HELP up Whether the target is up.\n\
                    # TYPE up gauge\n\
                    up{instance=\"b:1\",job=\"a\"} 1 1700000000.123\n\
                    up{job=\"a\", instance=\"b:1\"} 0 1700000015.123\n\
                    rpc_total{le=\"+Inf\"} 1.5e+06 1700000000.000 # {trace_id=\"x\"} 0.5 1700000000.1\n\
                    rate NaN 1700000000.5\n\
                    # EOF\n";
const READ: &str = "1700000000000000000,\"rpc_total{le=\"\"+Inf\"\"}\",1500000\n\
                    1700000000123000000,\"up{instance=\"\"b:1\"\",job=\"\"a\"\"}\",1\n\
                    1700000000500000000,rate,NaN\n\
                    1700000015123000000,\"up{instance=\"\"b:1\"\",job=\"\"a\"\"}\",0\n";

fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// The rows of a store, by time.
fn rows(store: &str) -> String {
    let rows = text(&run(&["cat", store, "--format", "csv"]), 0);
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_unstable();
    rows.join("\n") + "\n"
}

#[test]
fn what_promtool_dumps_comes_in_by_any_name() {
    let folder = Folder::new("history-prom");
    for (name, bytes) in [
        ("dump.om", DUMP.as_bytes().to_vec()),
        ("dump.txt", DUMP.as_bytes().to_vec()),
        ("dump.prom.gz", packed(DUMP)),
        ("dump", DUMP.as_bytes().to_vec()),
    ] {
        let (store, file) = (folder.path(&format!("store-{name}")), folder.path(name));
        let input: &[&str] = if name == "dump" { &["--input", "prometheus"] } else { &[] };
        std::fs::write(&file, bytes).unwrap();
        text(&run(&["init", &store, "--size", "2M"]), 0);
        let import = ["import", &store, &file, "--format", "json"];
        let report = json(&run(&[&import[..], input].concat()), 0);
        let count = |key: &str| report[key].as_u64().unwrap();
        let counts = ["lines", "samples", "series", "lines_refused", "exemplars_passed_over"];
        assert_eq!(counts.map(count), [7, 4, 3, 0, 1], "{name}");
        assert_eq!(rows(&store), READ, "{name}");
        // Twice is once.
        text(&run(&[&import[..], input].concat()), 0);
        assert_eq!(rows(&store), READ, "{name}");
    }
}

#[test]
fn exporters_are_recorded_from_stdin_and_integers_are_milliseconds() {
    let folder = Folder::new("history-stdin");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M"]), 0);
    let record = ["record", &store, "--stdin", "prometheus", "--format", "json"];
    let lines = b"# TYPE a counter\na 1 1700000000001\na 2 1700000000\nnow 3\nb 2 1700000000.25\n";
    let output = feed(&record, lines);
    let report = json(&output, 3);
    assert_eq!(report["sources"][0]["samples"], 3, "{report}");
    let said = stderr(&output) + &report.to_string();
    assert!(
        said.contains("line 3, column 5: expected a time in milliseconds from 1980 on"),
        "{said}"
    );
    assert!(said.contains("--precision s if it is in s"), "{said}");
    let found = rows(&store);
    assert!(found.contains("1700000000001000000,a,1\n"), "{found}");
    assert!(found.contains("1700000000250000000,b,2\n"), "{found}");
}

#[test]
fn annotated_csv_comes_in_by_any_name() {
    let table = "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,long,string,string,string\r\n\
                 #group,false,false,true,true,false,false,true,true,true\r\n\
                 #default,_result,,,,,,,,\r\n\
                 ,result,table,_start,_stop,_time,_value,_field,_measurement,host\r\n\
                 ,,0,2023-11-14T00:00:00Z,2023-11-15T00:00:00Z,2023-11-14T22:13:20Z,9007199254740993,n,load,a\r\n\
                 \r\n\
                 #datatype,string,long,dateTime:RFC3339,string,string,string\r\n\
                 #group,false,false,false,false,true,true\r\n\
                 #default,_result,,,,,\r\n\
                 ,result,table,_time,_value,_field,_measurement\r\n\
                 ,,1,2023-11-14T22:13:21Z,up,state,load\r\n";
    let folder = Folder::new("history-annotated");
    for name in ["answer.csv", "answer.txt", "answer"] {
        let (store, file) = (folder.path(&format!("store-{name}")), folder.path(name));
        std::fs::write(&file, table).unwrap();
        text(&run(&["init", &store, "--size", "2M"]), 0);
        let report = json(&run(&["import", &store, &file, "--format", "json"]), 0);
        assert_eq!((&report["samples"], &report["series"]), (&2.into(), &2.into()), "{name}");
        let found = rows(&store);
        let rows = [
            "1700000000000000000,\"load_n{host=\"\"a\"\"}\",9007199254740993",
            "1700000001000000000,load_state,\"up\"",
        ];
        assert!(rows.iter().all(|row| found.contains(row)), "{name}: {found}");
    }
}

#[test]
fn what_no_line_says_is_refused_and_headers_alone_are_no_rows() {
    let folder = Folder::new("history-refused");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "2M"]), 0);
    for (name, bytes) in
        [("a.txt", "time,series,value\n1,a,2\n"), ("b", "hello world\n"), ("c", "")]
    {
        let file = folder.path(name);
        std::fs::write(&file, bytes).unwrap();
        let output = run(&["import", &store, &file]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains("or --input"), "{}", stderr(&output));
    }
    let headers = folder.path("headers.csv");
    std::fs::write(&headers, "time;sensor;value\n".repeat(100_000)).unwrap();
    let output = run(&["import", &store, &headers, "--format", "json"]);
    let report = json(&output, 3);
    assert_eq!((&report["samples"], &report["lines_refused"]), (&0.into(), &99_999.into()));
    let said = stderr(&output);
    assert_eq!(said.matches("found the header once more").count(), 10, "{said}");
    assert!(said.contains("more is refused; it is counted and not told"), "{said}");
}

#[test]
fn a_zone_by_its_name_is_that_of_the_system() {
    let folder = Folder::new("history-zone");
    let (store, file) = (folder.path("store"), folder.path("a.csv"));
    text(&run(&["init", &store, "--size", "32M"]), 0);
    let times = [
        "1950-06-01 12:00:00",
        "1999-12-31 23:59:59",
        "2026-01-15 08:00:00",
        "2026-07-15 08:00:00",
        "2099-07-01 00:00:00",
    ];
    for place in [
        "Europe/Berlin",
        "America/St_Johns",
        "Australia/Lord_Howe",
        "Asia/Kolkata",
        "Europe/Dublin",
    ] {
        let asked = |time: &&str| {
            let asked = format!("TZ=\"{place}\" {time}");
            let date = std::process::Command::new("date").args(["-d", &asked, "+%s"]).output();
            String::from_utf8(date.unwrap().stdout).unwrap().trim().to_owned()
        };
        if !std::path::Path::new("/usr/share/zoneinfo").join(place).exists() {
            println!("skipped: no {place} in /usr/share/zoneinfo");
            return;
        }
        let rows: String = times.iter().map(|time| format!("{time},\"{place}\",1\n")).collect();
        std::fs::write(&file, format!("time,series,value\n{rows}")).unwrap();
        text(&run(&["import", &store, &file, "--zone", place]), 0);
        let found = text(&run(&["query", &store, place, "--format", "csv"]), 0);
        let found: Vec<&str> =
            found.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
        let expected: Vec<String> =
            times.iter().map(|time| format!("{}000000000", asked(time))).collect();
        assert_eq!(found, expected, "{place}");
    }
    std::fs::write(
        &file,
        "2026-03-29 02:30:00,x,1\n2026-10-25 02:30:00,x,1\n2026-10-25 02:30:00+01:00,x,1\n",
    )
    .unwrap();
    let output = run(&["import", &store, &file, "--zone", "Europe/Berlin", "--format", "json"]);
    assert_eq!(json(&output, 3)["samples"], 1);
    let said = stderr(&output);
    assert!(
        said.contains("line 1, column 1") && said.contains("they were set forward over this one"),
        "{said}"
    );
    assert!(said.contains("line 2, column 1") && said.contains("so this one is two"), "{said}");
    for place in
        ["../../etc/passwd", "Europe", "Europe/Nowhere", "europe/berlin", "/etc/passwd", ""]
    {
        let output = run(&["import", &store, &file, "--zone", place]);
        assert_eq!(output.status.code(), Some(2), "{place}");
        assert!(stderr(&output).contains("a place such as Europe/Berlin"), "{}", stderr(&output));
    }
}

/// A wide Parquet file with times in milliseconds that are adjusted to no zone, as pandas writes them.
fn written_without_a_zone(path: &str, times_ms: Vec<i64>) {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampMillisecondArray};
    let values: Vec<f64> = (0..times_ms.len()).map(|row| row as f64).collect();
    let times: ArrayRef = std::sync::Arc::new(TimestampMillisecondArray::from(times_ms));
    let values: ArrayRef = std::sync::Arc::new(Float64Array::from(values));
    let batch = RecordBatch::try_from_iter([("time", times), ("temp", values)]).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn times_without_a_zone_in_a_parquet_file_are_those_of_the_zone_that_is_said() {
    let folder = Folder::new("history-parquet-zone");
    let (store, file) = (folder.path("store"), folder.path("a.parquet"));
    text(&run(&["init", &store, "--size", "32M"]), 0);
    // By the clock of Berlin: in winter, skipped, in summer, twice.
    let shown_ms = [1_768_464_000_000, 1_774_751_400_000, 1_784_102_400_000, 1_792_895_400_000];
    written_without_a_zone(&file, shown_ms.to_vec());
    let hour_ms = 3_600_000;
    text(&run(&["import", &store, &file, "--zone", "+01:00"]), 0);
    let row =
        |row: usize, ahead_ms: i64| format!("{}000000,temp,{row}\n", shown_ms[row] - ahead_ms);
    let expected: String = (0..4).map(|at| row(at, hour_ms)).collect();
    assert_eq!(rows(&store), expected);
    // Without one it is UTC, and that is said.
    let plain = folder.path("plain");
    text(&run(&["init", &plain, "--size", "32M"]), 0);
    let output = run(&["import", &plain, &file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = "note: times in the column \"time\" have no zone and are taken as UTC";
    assert_eq!(stderr(&output).matches(said).count(), 1, "{}", stderr(&output));
    assert_eq!(rows(&plain), (0..4).map(|at| row(at, 0)).collect::<String>());
    if !std::path::Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        println!("skipped: no Europe/Berlin in /usr/share/zoneinfo");
        return;
    }
    let store = folder.path("berlin");
    text(&run(&["init", &store, "--size", "32M"]), 0);
    let output = run(&["import", &store, &file, "--zone", "Europe/Berlin", "--format", "json"]);
    assert_eq!(json(&output, 3)["samples"], 2);
    let said = stderr(&output);
    for (row, why) in [(2, "they were set forward over this one"), (4, "so this one is two")] {
        let found =
            said.lines().find(|line| line.contains(&format!("row {row}: expected a time that")));
        assert!(found.is_some_and(|found| found.contains(why)), "{said}");
    }
    assert!(said.contains("found 2026-03-29T02:30:00.000000000"), "{said}");
    let expected = row(0, hour_ms) + &row(2, 2 * hour_ms);
    assert_eq!(rows(&store), expected);
}

/// Texts in a Parquet file are times as in any other text.
#[test]
fn times_that_are_texts_in_a_parquet_file_are_those_of_any_text() {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    let folder = Folder::new("history-parquet-text");
    let (store, path) = (folder.path("store"), folder.path("a.parquet"));
    text(&run(&["init", &store, "--size", "32M"]), 0);
    let times =
        ["2026-01-15 08:00:00", "2026-01-15T08:00:01Z", "2026-01-15 08:00:00.1234567891", "17"];
    let times: ArrayRef = std::sync::Arc::new(StringArray::from(times.to_vec()));
    let values: ArrayRef = std::sync::Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0]));
    let batch = RecordBatch::try_from_iter([("@timestamp", times), ("temp", values)]).unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let output = run(&["import", &store, &path]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("row 1: expected a time with Z or an offset"), "{said}");
    assert!(said.contains("row 3: expected no digits below the nanosecond"), "{said}");
    assert_eq!(rows(&store), "17,temp,4\n1768464001000000000,temp,2\n");
    let output = run(&["import", &store, &path, "--zone", "+01:00"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    // Of the others one row counts.
    let expected = "17,temp,4\n1768460400000000000,temp,1\n1768464001000000000,temp,2\n";
    assert_eq!(rows(&store), expected);
}
