//! All ways out of a store as a user calls them: the same samples whatever was settled and recycled,
//! duplicates merged alike, aggregates of texts and large integers.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{baro, feed, json, run, stderr, text};
use place::Folder;
use std::io::Read;
use std::process::Stdio;

/// Samples of a series in a file of MCAP, which is not compressed.
fn messages(file: &str) -> usize {
    let bytes = std::fs::read(file).unwrap();
    // A schema has an object there.
    bytes.windows(10).filter(|at| at.starts_with(b"{\"value\":") && at[9] != b'{').count()
}

/// What each way out has of a series: rows of cat, of CSV, of MCAP, of Parquet, of a query.
fn counts(folder: &Folder, series: &str) -> [usize; 5] {
    let store = folder.path("store");
    let cat = text(&run(&["cat", &store, series, "--format", "csv", "--data-only"]), 0);
    let mut found = [cat.lines().count(), 0, 0, 0, 0];
    for (at, name) in [(1, "o.csv"), (2, "o.mcap"), (3, "o.parquet")] {
        let file = folder.path(name);
        let _ = std::fs::remove_file(&file);
        let done = run(&["export", &store, &file, "--series", series, "--format", "json"]);
        let rows = json(&done, 0)["rows"].as_u64().unwrap();
        found[at] = rows as usize;
        if name == "o.csv" {
            let lines = std::fs::read_to_string(&file).unwrap();
            let rows = lines.lines().filter(|line| !line.starts_with('#')).count();
            assert_eq!(rows, found[1] + 1);
        }
        if name == "o.mcap" {
            assert_eq!(messages(&file), found[2]);
        }
    }
    let rows = text(&run(&["query", &store, series, "--format", "csv"]), 0);
    found[4] = rows.lines().count() - 1;
    found
}

#[test]
fn settled_samples_come_out_every_way_when_the_log_has_gone_round() {
    let folder = Folder::new("outs-round");
    let store = folder.path("store");
    let lines: String = (0..1000).map(|at| format!("{},good,{at}\n", 1000 + at)).collect();
    let record = ["record", &store, "--init", "4M", "--recycle", "--stdin", "csv"];
    text(&feed(&record, lines.as_bytes()), 0);
    assert_eq!(counts(&folder, "good"), [1000; 5]);
    let cat = || text(&run(&["cat", &store, "good", "--format", "csv", "--data-only"]), 0);
    let (before, last) = (cat(), ["cat", &store, "good", "--last", "2", "--format", "csv"]);
    assert_eq!(before, lines);
    text(&run(&["settle", &store, "--all"]), 0);
    assert_eq!(counts(&folder, "good"), [1000; 5]);
    // Frames of more than the log holds.
    let frames = vec![7; 10 << 20];
    text(&feed(&["record", &store, "--stdin", "raw", "--frame-bytes", "64K"], &frames), 0);
    assert_eq!(counts(&folder, "good"), [1000; 5]);
    assert_eq!(cat(), before);
    assert_eq!(text(&run(&last), 0), "1998,good,998\n1999,good,999\n");
}

#[test]
fn of_several_samples_of_one_time_the_last_comes_out_every_way() {
    let folder = Folder::new("outs-twice");
    let store = folder.path("store");
    let record = ["record", &store, "--init", "8M", "--stdin", "csv"];
    text(&feed(&record, b"1,a,1\n1,a,2\n2,a,5\n"), 0);
    assert_eq!(counts(&folder, "a"), [2; 5]);
    let cat = || text(&run(&["cat", &store, "--format", "csv"]), 0);
    assert_eq!(cat(), "1,a,2\n2,a,5\n");
    text(&run(&["settle", &store, "--all"]), 0);
    text(&feed(&record, b"2,a,6\n"), 0);
    assert_eq!(counts(&folder, "a"), [2; 5]);
    assert_eq!(cat(), "1,a,2\n2,a,6\n");
}

#[test]
fn aggregates_of_texts_and_of_large_integers_are_told_as_they_are() {
    let folder = Folder::new("outs-folded");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let file = folder.path("a.lp");
    let lines = "ev msg=\"a\" 1\nev msg=\"b\" 2\nev n=1 1\n\
                 c v=9007199254740993i 1\nc v=1614713189327649433i 2\n\
                 d v=9223372036854775807i 1\nd v=9223372036854775806i 2\n";
    std::fs::write(&file, lines).unwrap();
    text(&run(&["import", &store, &file]), 0);
    let ask = |series: &str, agg: &str, code| {
        let output = run(&["query", &store, series, "--agg", agg, "--format", "csv"]);
        let rows = text(&output, code);
        // Behind it the type, where the value is one of the samples.
        let value = rows.lines().nth(1).map(|row| row.split(',').nth(2).unwrap().to_owned());
        (value.unwrap_or_default(), stderr(&output))
    };
    for settled in [false, true] {
        for (agg, value) in [
            ("count", "2"),
            ("min", "9007199254740993"),
            ("first", "9007199254740993"),
            ("max", "1614713189327649433"),
            ("last", "1614713189327649433"),
            ("p99", "1614713189327649433"),
            ("sum", "1623720388582390426"),
        ] {
            assert_eq!(ask("c_v", agg, 0).0, value, "{agg}, settled {settled}");
        }
        for (agg, value) in [("count", "2"), ("first", "\"a\""), ("last", "\"b\"")] {
            assert_eq!(ask("ev_msg", agg, 0), (value.to_owned(), String::new()), "{agg}");
        }
        let (value, said) = ask("ev_msg", "max", 0);
        assert!(value.is_empty() && said.contains("texts have no max") && said.contains("ev_msg"));
        // More than an integer holds.
        let (value, said) = ask("d_v", "sum", 3);
        assert!(value.is_empty() && said.contains("larger than their type"), "{said}");
        assert_eq!(ask("d_v", "max", 0).0, "9223372036854775807");
        let every = ["query", &store, "--every", "1s", "--agg", "count", "--format", "csv"];
        let all = text(&run(&every), 0);
        for row in ["0,ev_msg,2", "0,ev_n,1", "0,c_v,2", "0,d_v,2"] {
            assert!(all.lines().any(|line| line == row), "{row}: {all}");
        }
        for form in ["parquet", "arrow"] {
            let output = folder.path(&format!("{agg}.{form}", agg = settled));
            text(&run(&["query", &store, "--agg", "last", "-o", &output]), 0);
        }
        text(&run(&["settle", &store, "--all"]), 0);
    }
}

#[test]
fn mcap_has_the_bytes_of_frames_and_their_fields() {
    let folder = Folder::new("outs-mcap");
    let store = folder.path("store");
    let layout = ["--channel", "lidar", "--layout", "lidar=n:u64@0", "--frame-bytes", "1000"];
    let record = [&["record", &store, "--init", "8M", "--stdin", "raw"][..], &layout].concat();
    text(&feed(&record, &[5; 10_000]), 0);
    let file = folder.path("all.mcap");
    let done = json(&run(&["export", &store, &file, "--format", "json"]), 0);
    assert_eq!(done["rows"], 20);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.windows(1000).any(|at| at == [5; 1000]));
    let fields = bytes.windows(6).filter(|at| at.starts_with(b"{\"n\":") && at[5] != b'{');
    assert_eq!(fields.count(), 10);
    // Forms without a place for the bytes have the fields, and say what they leave out, however it was selected.
    for select in [&[][..], &["--series", "lid*"], &["--series", "lidar"]] {
        for form in ["csv", "parquet", "arrow"] {
            let file = folder.path(&format!("x.{form}"));
            let export = ["export", &store, &file, "--force", "--format", "json"];
            let output = run(&[&export[..], select].concat());
            let done = json(&output, 0);
            assert_eq!(done["rows"], 10, "{select:?} {form}: {done}");
            assert!(stderr(&output).contains("left out"), "{}", stderr(&output));
        }
    }
    let fields = text(&run(&["cat", &store, "lid*", "--format", "csv"]), 0);
    assert_eq!(fields.lines().filter(|line| line.contains(",lidar.n,")).count(), 10, "{fields}");
    let frames = text(&run(&["cat", &store, "lidar"]), 0);
    assert_eq!(
        frames.lines().filter(|line| line.contains("  lidar  1000 B")).count(),
        10,
        "{frames}"
    );
}

#[test]
fn a_reader_that_has_read_enough_is_no_failure() {
    let folder = Folder::new("outs-head");
    let store = folder.path("store");
    let lines: String = (0..200_000).map(|at| format!("{at},a,{at}\n")).collect();
    text(&feed(&["record", &store, "--init", "8M", "--stdin", "csv"], lines.as_bytes()), 0);
    for verb in [&["query", &store, "--format", "csv"][..], &["cat", &store]] {
        let mut child = baro(verb).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{verb:?}");
    }
}

#[test]
fn units_come_back_from_parquet() {
    let folder = Folder::new("outs-units");
    let (store, file) = (folder.path("store"), folder.path("x.parquet"));
    let line = b"5,oven,1\n5,clock,2\n";
    let declare = ["--declare", "oven:f64:degC"];
    let record = |store: &str, declare: &[&str]| {
        let record = ["record", store, "--init", "8M", "--stdin", "csv"];
        text(&feed(&[&record, declare].concat(), line), 0);
    };
    record(&store, &declare);
    text(&run(&["export", &store, &file]), 0);
    let units = |store: &str| {
        let listed = json(&run(&["list", store, "--format", "json"]), 0);
        let unit = |one: &serde_json::Value| (one["name"].clone(), one["unit"].clone());
        let mut units: Vec<_> = listed.as_array().unwrap().iter().map(unit).collect();
        units.sort_by_key(|(name, _)| name.to_string());
        units
    };
    assert_eq!(units(&store), [("clock".into(), "".into()), ("oven".into(), "degC".into())]);
    let second = folder.path("second");
    text(&run(&["init", &second, "--size", "8M"]), 0);
    text(&run(&["import", &second, &file]), 0);
    assert_eq!(units(&second), units(&store));
    // What is declared stays, and that is said.
    let other = folder.path("other");
    record(&other, &["--declare", "oven:f64:K"]);
    let done = run(&["import", &other, &file]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let said = stderr(&done);
    assert!(said.contains("oven has \"K\" in the store and \"degC\" in the file"), "{said}");
    assert!(!said.contains("clock"), "{said}");
}

#[test]
fn a_name_that_looks_like_labels_has_one_spelling_in_every_way_out() {
    let folder = Folder::new("outs-names");
    let (store, again) = (folder.path("store"), folder.path("again"));
    let (bare, written) = ("o{zone=1}", r#"{"o{zone=1}"}"#);
    for store in [&store, &again] {
        text(&run(&["init", store, "--size", "2M"]), 0);
    }
    let line = format!("{written} 7 1700000000.000\n");
    text(&feed(&["import", &store, "-", "--input", "prometheus"], line.as_bytes()), 0);
    let in_json = written.replace('"', "\\\"");
    for (call, spelled) in [
        (&["cat", &store][..], written),
        (&["cat", &store, "--format", "json"], &in_json),
        (&["query", &store], written),
        (&["query", &store, "--format", "text"], written),
        (&["query", &store, "--format", "json"], &in_json),
        (&["list", &store], written),
        (&["list", &store, "--format", "json"], &in_json),
        (&["list", &store, "--counts"], written),
        (&["du", &store], written),
        (&["top", &store], written),
    ] {
        let shown = text(&run(call), 0);
        assert!(shown.contains(spelled), "{call:?}: {shown}");
        assert_eq!(shown.matches(bare).count(), 1, "{call:?}: {shown}");
    }
    let file = folder.path("o.mcap");
    text(&run(&["export", &store, &file]), 0);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.windows(written.len()).any(|at| at == written.as_bytes()));
    // What cat writes is taken again.
    let rows = text(&run(&["cat", &store, "--format", "json"]), 0);
    text(&feed(&["import", &again, "-", "--input", "json"], rows.as_bytes()), 0);
    let csv = |store: &str| text(&run(&["cat", store, "--format", "csv"]), 0);
    assert_eq!(csv(&again), csv(&store));
}
