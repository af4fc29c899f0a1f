//! Text in from outside: a stranger's file is understood or refused with a sentence, and what is written
//! comes back with its bits, types and names, whatever these are.
//!
//! `BARO_ROUND_TRIPS=1000` makes as many rounds of the last one, from `BARO_ROUND_TRIPS_SEED=0` on; a push makes
//! a few.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use baro_ingest::{Intake, Manner, Room, Row, Target, Types, Value};
use baro_recorder::{Options, Recorder, Rings};
use calls::{feed as run, stderr as said};
use place::Folder;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

const HEADER: &str = "time,series,value\n";
const TYPED: &str = "time,series,value,value_type\n";

fn store(folder: &Folder, name: &str) -> String {
    let store = folder.path(name);
    let made = run(&["init", &store, "--size", "8M"], b"");
    assert!(made.status.success(), "{}", said(&made));
    store
}

fn read(store: &str, verb: &str, format: &str) -> Vec<u8> {
    let output = run(&[verb, store, "--format", format], b"");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    output.stdout
}

/// Imports into a new store; what it says, and what is in the store then.
fn import(folder: &Folder, input: &str, more: &[&str], text: &str, code: i32) -> (String, String) {
    let store = store(folder, "s");
    let output = run(&[&["import", &store, "-", "--input", input], more].concat(), text.as_bytes());
    assert_eq!(output.status.code(), Some(code), "{text}: {}", said(&output));
    let rows = String::from_utf8(read(&store, "query", "csv")).unwrap();
    std::fs::remove_dir_all(&store).unwrap();
    (said(&output), rows)
}

#[test]
fn csv_of_others_is_understood() {
    let folder = Folder::new("text-csv");
    let day = 1_767_225_600_000_000_000_i64;
    for (more, text, rows) in [
        (
            &[][..],
            "time,temp,hum\n2026-01-01T00:00:00Z,21.5,40\n2026-01-01T00:00:00+01,,41\n",
            format!("{HEADER}{day},temp,21.5\n{},hum,41\n{day},hum,40\n", day - 3_600_000_000_000),
        ),
        (&[], "sensor;value;date\na;1;2026-01-01T00:00:00+0000\n", format!("{HEADER}{day},a,1\n")),
        (
            &["--zone", "+01:00", "--decimal-comma"],
            "Timestamp\tp\n2026-01-01 01:00:00\t1,5\n",
            format!("{HEADER}{day},p,1.5\n"),
        ),
        // A text stays as it is, also where it reads like a number.
        (
            &["--decimal-comma"],
            "time;code;p\n2026-01-01T00:00:00Z;\"A-17\";\"1,5\"\n2026-01-02T00:00:00Z;\"1,000\";\"2,25\"\n",
            format!(
                "{TYPED}{day},code,\"A-17\",text\n{next},code,\"1,000\",text\n\
                 {day},p,1.5,f64\n{next},p,2.25,f64\n",
                next = day + 86_400_000_000_000
            ),
        ),
        (
            &["--zone", "UTC"],
            "date,n:i64,t:text\n2026-01-01,9007199254740993,x\n",
            format!("{TYPED}{day},n,9007199254740993,i64\n{day},t,\"x\",text\n"),
        ),
        (&["--precision", "s"], "1767225600,a,2\n", format!("{HEADER}{day},a,2\n")),
        (&[], "time_ms,a\n1767225600000,2\n", format!("{HEADER}{day},a,2\n")),
        (
            &["--columns", "host=label,q=skip"],
            "time,name,value,host,q\n1,a,2,7,192\n",
            format!("{HEADER}1,\"a{{host=\"\"7\"\"}}\",2\n"),
        ),
        (&[], "1,note,\"two\nlines\"\n", format!("{TYPED}1,note,\"two\nlines\",text\n")),
        // As our own form comes back from a program that puts all texts in quotes, or all there is.
        (
            &[],
            "\"time\",\"series\",\"value\",\"value_type\"\n1,\"a\",7,\"i64\"\n\"1\",\"t\",\"5\",\"text\"\n",
            format!("{TYPED}1,a,7,i64\n1,t,\"5\",text\n"),
        ),
        (
            &[],
            "1,\"{\"\"oven{zone=1}\"\"}\",2\n2,\"{\"\"oven{zone=1}\"\"}\",3\n",
            format!(
                "{HEADER}1,\"{{\"\"oven{{zone=1}}\"\"}}\",2\n2,\"{{\"\"oven{{zone=1}}\"\"}}\",3\n"
            ),
        ),
        (&["--zone", "UTC"], "time,a\n01-Jan-2026 00:00:00,2\n", format!("{HEADER}{day},a,2\n")),
    ] {
        let (complaints, found) = import(&folder, "csv", more, text, 0);
        assert_eq!(found, rows, "{text}: {complaints}");
    }
}

/// Whether a cell in quotes is a text, a number or nothing depends on its series, which may be there already.
#[test]
fn what_stands_in_quotes_is_what_its_series_is_of() {
    let folder = Folder::new("text-quotes");
    let there = "time,state:text,p:f64\n1,\"on\",1\n";
    let none = |cells: &str| format!("no value: {cells} say NA, N/A, NULL, None or \\N\n");
    for (more, text, rows, told) in [
        // Quotes around everything: R, and csv.QUOTE_ALL.
        (
            &[][..],
            "\"time\",\"state\",\"p\"\n\"2\",\"NA\",\"NA\"\n\"3\",\"none\",\"3\"\n\"4\",\"\",\"\"\n",
            "2,state,\"NA\",text\n3,state,\"none\",text\n4,state,\"\",text\n3,p,3,f64\n",
            none("1 cell"),
        ),
        // A word without quotes is no text.
        (
            &[],
            "time,state,p\n2,NA,NA\n3,\"NA\",3\n",
            "3,state,\"NA\",text\n3,p,3,f64\n",
            none("2 cells"),
        ),
        (&[], "time,state,p\n2,\"\",3\n", "2,state,\"\",text\n2,p,3,f64\n", String::new()),
        (
            &["--decimal-comma"],
            "time;state;p\n2;\"1.234\";\"1,5\"\n3;\"1,234\";2\n",
            "2,state,\"1.234\",text\n3,state,\"1,234\",text\n2,p,1.5,f64\n3,p,2,f64\n",
            String::new(),
        ),
        // What an export puts before a text that a spreadsheet would take for a formula.
        (
            &[],
            "time,series,value\n2,new,\"'-5\"\n3,new,\"'=5\"\n",
            "2,new,\"'-5\",text\n3,new,\"'=5\",text\n",
            String::new(),
        ),
    ] {
        let store = store(&folder, "s");
        let import = |more: &[&str], text: &str| {
            run(&[&["import", &store, "-", "--input", "csv"], more].concat(), text.as_bytes())
        };
        assert_eq!(import(&[], there).status.code(), Some(0));
        let output = import(more, text);
        assert_eq!(output.status.code(), Some(0), "{text}: {}", said(&output));
        let shown = String::from_utf8(output.stdout).unwrap();
        assert_eq!(shown.contains("no value: "), !told.is_empty(), "{text}: {shown}");
        assert!(shown.contains(&told), "{text}: {shown}");
        let found = run(&["query", &store, "--from", "2", "--format", "csv"], b"");
        let found = String::from_utf8(found.stdout).unwrap();
        assert_eq!(found, format!("{TYPED}{rows}"), "{text}");
        std::fs::remove_dir_all(&store).unwrap();
    }
    let store = store(&folder, "s");
    let arguments = ["import", &store, "-", "--input", "csv", "--decimal-comma"];
    let refused = run(&arguments, b"time;p:f64\n1;\"1.234\"\n2;1.234\n");
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("refused: 2 lines"));
}

#[test]
fn what_is_not_understood_is_refused_with_a_sentence_and_nothing_is_taken() {
    let folder = Folder::new("text-refused");
    for (code, text, sentence) in [
        (
            1,
            "2026-01-01T00:00:00Z,21.5,40\n2026-01-01T00:01:00Z,21.6,41\n",
            "stdin: line 1, column 22: expected the name of a series, found \"21.5\"",
        ),
        (1, "temp;hum\n1;2\n", "nothing of this file is taken"),
        (1, "time,sensor,temp\n1,a,2\n", "--columns says what columns are"),
        (1, "\u{0}t\u{0}i\u{0}m\u{0}e\u{0},", "found UTF-16"),
        (3, "1700000000,a,1\n", "--precision s if it is in s"),
        (3, "1700000000000,a,1\n", "--precision ms if it is in ms"),
        (3, "9000000000000000000,a,1\n", "before 2100"),
        (3, "2026-01-01 00:00:00,a,1\n", "--zone says"),
        (3, "\"1\",\"a\",\"n/a\"\n", "expected f64, found \"n/a\" (all of the line is in quotes"),
        (3, "1,oven{zone=1},1\n", "A name without labels is written {\"oven{zone=1}\"}"),
        (1, "1,a,1,\"f65\"\n", "found \"\\\"f65\\\"\""),
        (
            3,
            "time,a:i64\n1,1.5\n",
            "line 2, column 3: column \"a\": expected an integer of 64 bits",
        ),
    ] {
        let (complaints, rows) = import(&folder, "csv", &[], text, code);
        assert!(complaints.contains(sentence), "{text}: {complaints}");
        assert_eq!(rows, HEADER, "{text}");
    }
    // A line of several values is taken whole or not at all.
    let (complaints, rows) = import(&folder, "influx", &[], "m a=1,b=2i 1\nm a=2,b=2.5 2\n", 3);
    assert!(complaints.contains("line 2: series m_b: expected i64, found 2.5"), "{complaints}");
    assert_eq!(rows, format!("{TYPED}1,m_a,1,f64\n1,m_b,2,i64\n"));
    for input in ["influx", "json"] {
        let text =
            if input == "json" { "{\"time\":1700000000,\"a\":1}" } else { "m f=1 1700000000" };
        let (complaints, rows) = import(&folder, input, &[], text, 3);
        assert!(complaints.contains("--precision s"), "{complaints}");
        assert_eq!(rows, HEADER);
        let (_, rows) = import(&folder, input, &["--precision", "s"], text, 0);
        assert!(rows.contains("1700000000000000000,"), "{rows}");
    }
}

/// Stored bare, such a name could not come in again: it is taken for one whose labels a shell has robbed of
/// their quotes. So every form has it in quotes.
#[test]
fn a_name_that_looks_like_labels_without_quotes_goes_out_and_comes_in() {
    let folder = Folder::new("text-bare-labels");
    let (first, second) = (store(&folder, "first"), store(&folder, "second"));
    let line = b"nan{1 \\=7_\\=}=2 1767225600000000000\n";
    let made = run(&["import", &first, "-", "--input", "influx"], line);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let rows = format!("{HEADER}1767225600000000000,\"{{\"\"nan{{1_=7_=}}\"\"}}\",2\n");
    for out in ["o.csv", "o.parquet", "o.ndjson"] {
        let file = folder.path(out);
        assert!(run(&["query", &first, "-o", &file], b"").status.success());
        let again = run(&["import", &second, &file], b"");
        assert_eq!(again.status.code(), Some(0), "{out}: {}", said(&again));
        assert_eq!(String::from_utf8(read(&second, "query", "csv")).unwrap(), rows, "{out}");
        assert!(run(&["delete", &second, "{\"nan{1_=7_=}\"}"], b"").status.success());
    }
}

/// A later import knows of which two names a series was made, and so does one of another form.
#[test]
fn names_that_would_become_one_are_refused_by_a_later_import_too() {
    let folder = Folder::new("text-joined-later");
    let store = store(&folder, "s");
    let annotated = |measurement: &str, field: &str| {
        format!(
            "#datatype,string,long,dateTime:RFC3339,double,string,string\n\
             #group,false,false,false,false,true,true\n#default,_result,,,,,\n\
             ,result,table,_time,_value,_field,_measurement\n\
             ,,0,1970-01-01T00:00:00.000000001Z,2,{field},{measurement}\n"
        )
    };
    for (input, text, code) in [
        ("influx", "m a_b=1 1\nn,x=1,y=2 c=1 1\n".to_owned(), 0),
        ("influx", "m_a b=3 1\n".to_owned(), 3),
        ("csv", annotated("m_a", "b"), 3),
        ("csv", annotated("m", "a_b"), 0),
        ("influx", "n,__name__=n,y=2,x=1 c=4 1\n".to_owned(), 3),
        ("csv", format!("{HEADER}5,m_a_b,6\n"), 0),
    ] {
        let output = run(&["import", &store, "-", "--input", input], text.as_bytes());
        assert_eq!(output.status.code(), Some(code), "{text}: {}", said(&output));
        let refused = said(&output).contains("of which the series was made so far");
        assert_eq!(refused, code == 3, "{}", said(&output));
    }
    let rows = String::from_utf8(read(&store, "query", "csv")).unwrap();
    let labelled = "\"n_c{x=\"\"1\"\",y=\"\"2\"\"}\"";
    assert_eq!(rows, format!("{HEADER}1,m_a_b,2\n5,m_a_b,6\n1,{labelled},1\n"));
}

/// What two names of others would become, which are not the same there.
#[test]
fn names_that_would_become_one_are_refused() {
    let folder = Folder::new("text-joined");
    let first = format!("{HEADER}1,m_a_b,1\n");
    let labelled = format!("{HEADER}1,\"m_a{{x=\"\"1\"\"}}\",1\n");
    let nothing = HEADER.to_owned();
    for (input, text, sentence, rows) in [
        (
            "influx",
            "m a_b=1 1\nm_a b=2 1\n",
            "line 2: series m_a_b: expected \"m\" with \"a_b\", of which the series was made so \
             far, found \"m_a\" with \"b\", which would be",
            &first,
        ),
        (
            "influx",
            "m a=1 1\nm,__name__=m a=2 1\n",
            "\"m\" with \"a\" and a tag __name__",
            &format!("{HEADER}1,m_a,1\n"),
        ),
        (
            "csv",
            "#datatype,string,long,dateTime:RFC3339,double,string,string\n#group,false,false,false,false,true,true\n\
             #default,_result,,,,,\n,result,table,_time,_value,_field,_measurement\n\
             ,,0,1970-01-01T00:00:00.000000001Z,1,a_b,m\n,,1,1970-01-01T00:00:00.000000001Z,2,b,m_a\n",
            "line 6: series m_a_b: expected \"m\" with \"a_b\"",
            &first,
        ),
        (
            "csv",
            "#datatype,string,long,dateTime:RFC3339,double,string,string,string\n\
             #group,false,false,false,false,true,true,true\n#default,_result,,,,,,\n\
             ,result,table,_time,_value,_field,_measurement,__name__\n\
             ,,0,1970-01-01T00:00:00.000000001Z,1,a_b,m,m\n,,1,1970-01-01T00:00:00.000000001Z,2,b,n,m\n",
            "line 6, column 1: expected a tag __name__ that is the measurement",
            &first,
        ),
        (
            "csv",
            "time,\"t{a=\"\"1\"\",b=\"\"2\"\"}\",\"t{b=\"\"2\"\",a=\"\"1\"\"}\"\n1,1,2\n",
            "expected each name once",
            &nothing,
        ),
        (
            "csv",
            "time,series,value,__name__\n1,m,1,n\n",
            "expected a name that a label can have",
            &nothing,
        ),
        (
            "json",
            r#"{"time":1,"m_a{x=\"1\"}":1}
{"time":1,"t{a=\"1\",b=\"2\"}":1,"t{b=\"2\",a=\"1\"}":2}
"#,
            "expected each key once",
            &labelled,
        ),
        (
            "json",
            r#"{"metric":{"__name__":"m_a","x":"1"},"values":[1],"timestamps":[0]}
{"metric":{"__name__":"m_a","x":"1","x":"2"},"values":[2],"timestamps":[0]}
{"metric":{"__name__":"m_a","":"1"},"values":[2],"timestamps":[0]}
"#,
            "line 2: expected each key once, found \"x\" twice",
            &labelled.replace("\n1,", "\n0,"),
        ),
    ] {
        let code = if *rows == nothing { 1 } else { 3 };
        let (complaints, found) = import(&folder, input, &["--precision", "ns"], text, code);
        assert!(complaints.contains(sentence), "{text}: {complaints}");
        assert_eq!(&found, rows, "{text}: {complaints}");
    }
    // What is another series there and here has no such fault, nor has a name that is written otherwise.
    let text = "m,x=1 a_b=1 1\nm_a b=2 1\nm\\ a b=3 1\n";
    let (complaints, rows) = import(&folder, "influx", &["--precision", "ns"], text, 0);
    assert_eq!(rows.lines().count(), 4, "{rows}{complaints}");
    // In files of one import as in one file: the second would be the series of the first.
    let store = store(&folder, "s");
    let mut import = vec!["import".to_owned(), store.clone()];
    for (number, text) in ["1,'=a,1\n", "2,b,2\n", "3,=a,3\n4,c,4\n"].into_iter().enumerate() {
        let file = folder.path(&format!("{number}.csv"));
        std::fs::write(&file, text).unwrap();
        import.push(file);
    }
    let output = run(&import.iter().map(String::as_str).collect::<Vec<_>>(), b"");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("an earlier file has a ', found none before \"=a\""));
    assert_eq!(rows_of(&store), format!("{HEADER}1,\"'=a\",1\n2,b,2\n4,c,4\n"));
}

fn rows_of(store: &str) -> String {
    String::from_utf8(read(store, "query", "csv")).unwrap()
}

#[test]
fn a_file_that_is_refused_whole_is_read_again_from_its_beginning() {
    let folder = Folder::new("text-whole");
    let store = store(&folder, "s");
    let text = format!("# a comment\ntemp;hum\n{}", "1;2\n".repeat(100));
    let arguments = ["import", &store, "-", "--input", "csv", "--format", "json"];
    let output = run(&arguments, text.as_bytes());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &report["first_line_not_kept"];
    assert_eq!((&report["samples"], &first["line"]), (&0.into(), &2.into()), "{report}");
}

#[test]
fn refusals_are_told_ten_times_and_counted() {
    let folder = Folder::new("text-flood");
    for (input, line) in [("csv", "x,y,z\n"), ("influx", "nonsense\n"), ("json", "[1]\n")] {
        let text =
            format!("{}{}", if input == "csv" { "1,a,1\n" } else { "" }, line.repeat(10_000));
        let (complaints, _) = import(&folder, input, &[], &text, 3);
        assert_eq!(complaints.lines().count(), 11, "{complaints}");
        assert!(complaints.ends_with("it is counted and not told\n"), "{complaints}");
    }
    // Those of the intake are counted with those of the parser.
    let mut text = "m f=1 1\n".to_owned();
    (0..50).for_each(|n| text.push_str(&format!("m f=t {n}\nbad\n")));
    let (complaints, _) = import(&folder, "influx", &[], &text, 3);
    assert_eq!(complaints.lines().count(), 11, "{complaints}");
}

#[test]
fn a_type_that_nobody_meant_is_told_with_what_says_another() {
    let folder = Folder::new("text-meant");
    let (complaints, rows) = import(&folder, "csv", &[], "time,a\n1,NaN\n2,true\n", 3);
    assert!(complaints.contains("found true (a series has the type"), "{complaints}");
    assert_eq!(rows, format!("{HEADER}1,a,NaN\n"));
    let columns = ["--columns", "a=bool"];
    let (_, rows) = import(&folder, "csv", &columns, "time,a\n1,NaN\n2,true\n", 3);
    assert_eq!(rows, format!("{HEADER}2,a,true\n"));
}

#[test]
fn what_gzip_has_packed_is_read_and_a_torn_one_is_told() {
    let folder = Folder::new("text-gz");
    let store = store(&folder, "s");
    // "1,a,1\n" and "2,a,2\n", packed one by one.
    let one = packed(b"1,a,1\n");
    let whole = [one.clone(), packed(b"2,a,2\n")].concat();
    let (file, torn) = (folder.path("a.csv.gz"), folder.path("torn.csv.gz"));
    std::fs::write(&file, &whole).unwrap();
    std::fs::write(&torn, &whole[..whole.len() - 4]).unwrap();
    let output = run(&["import", &store, &file], b"");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(read(&store, "query", "csv"), format!("{HEADER}1,a,1\n2,a,2\n").into_bytes());
    let output = run(&["import", &store, &torn], b"");
    assert_eq!(output.status.code(), Some(1));
    let cut = "torn.csv.gz: read: expected the rest of what gzip has packed";
    assert!(said(&output).contains(cut), "{}", said(&output));
    // Zeros behind it are what tapes fill up with; anything else is told, be it a member behind zeros.
    for (behind, code, sentence) in [
        (vec![0; 70_000], 0, ""),
        (b"\n3,a,3\n".to_vec(), 1, "behind 2 of them, found a byte 0x0a: what follows is not read"),
        ([vec![0; 70_000], one].concat(), 1, "found a byte 0x1f"),
    ] {
        std::fs::write(&file, [whole.clone(), behind].concat()).unwrap();
        let output = run(&["import", &store, &file], b"");
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(sentence), "{}", said(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("2 samples"), "{output:?}");
    }
    // One whose bytes are others now is not taken at all: that is known at its end.
    let other = self::store(&folder, "other");
    let mut changed = whole.clone();
    changed[15 + 4] ^= 1;
    std::fs::write(&file, changed).unwrap();
    let output = run(&["import", &other, &file], b"");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("nothing of this file is taken"), "{}", said(&output));
    assert_eq!(read(&other, "query", "csv"), HEADER.as_bytes());
    let output = run(&["import", &store, &folder.path("a.parquet.gz")], b"");
    assert!(said(&output).contains("unpack it before"), "{}", said(&output));
}

/// Bytes in a member of gzip, stored as they are.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        (0..8).for_each(|_| crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()));
    }
    let length = bytes.len() as u16;
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(bytes);
    out.extend((!crc).to_le_bytes());
    out.extend(u32::from(length).to_le_bytes());
    out
}

/// Times and values of a series, as soon as there are so many.
fn rows(store: &str, series: &str, count: usize) -> Vec<(i64, String)> {
    for _ in 0..600 {
        let output = run(&["query", store, series, "--format", "csv"], b"");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let row = |row: &str| {
            let fields: Vec<&str> = row.split(',').collect();
            Some((fields.first()?.parse().ok()?, fields.get(2)?.to_string()))
        };
        let found: Vec<(i64, String)> = text.lines().filter_map(row).collect();
        if found.len() >= count {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{series} does not come");
}

/// A recorder that reads a pipe; it ends in any case.
fn live(store: &str, form: &str) -> (Child, ChildStdin) {
    let record = ["record", store, "--stdin", form, "--for", "60s"];
    let mut command = calls::baro(&record);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = child.stdin.take().unwrap();
    (child, input)
}

/// One forgotten quote must not keep what comes behind it out of the store: whoever kills the recorder then
/// has it all the same, and each row has the time at which it was read.
#[test]
fn a_forgotten_quote_on_a_pipe_holds_nothing_back_for_long() {
    let folder = Folder::new("text-live");
    for (form, open, row) in [("csv", ",t,\"forgot\n", ",x,"), ("influx", "t v=\"forgot\n", "x v=")]
    {
        let store = store(&folder, form);
        let (mut child, mut input) = live(&store, form);
        input.write_all(open.as_bytes()).unwrap();
        for value in 1..=4 {
            writeln!(input, "{row}{value}").unwrap();
            std::thread::sleep(Duration::from_millis(300));
        }
        let series = if form == "csv" { "x" } else { "x_v" };
        let found = rows(&store, series, 4);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = said(&output);
        assert!(said.contains("line 1 has a quote that no line has closed in time"), "{said}");
        let values: Vec<&str> = found.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["1", "2", "3", "4"]);
        // Those of one moment are neighbours, a nanosecond from each other.
        assert!(found[3].0 - found[0].0 > 1000, "{found:?}");
        assert_eq!(rows(&store, series, 4), found);
    }
}

/// A text that is not closed in time is refused by name, to its end, and is never taken for rows.
#[test]
fn a_text_that_comes_slowly_on_a_pipe_is_refused_to_its_end() {
    let folder = Folder::new("text-slow");
    let store = store(&folder, "s");
    let (child, mut input) = live(&store, "csv");
    let mut child = child;
    input.write_all(b",t,\"one\ntwo\n,x,1\n").unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("the lines from 2 on are no rows") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "it is not told");
    }
    input.write_all(b",x,2\n,x,3\nend\"\n,y,1\n,n,\"a\nb\"\n").unwrap();
    drop(input);
    let status = child.wait().unwrap();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(status.code(), Some(3), "{rest}");
    assert!(rest.contains("line 1, column 4: expected a closing quote"), "{rest}");
    assert!(rest.contains("line 6, column 1: the lines from 2 to this one are not read"), "{rest}");
    assert_eq!((rows(&store, "y", 1).len(), rows(&store, "n", 1).len()), (1, 1));
    assert_eq!(run(&["query", &store, "x"], b"").status.code(), Some(1));
}

#[test]
fn line_protocol_is_recorded_from_stdin() {
    let folder = Folder::new("text-stdin");
    let store = store(&folder, "s");
    let text = b"m,host=a f=1.5,n=3i,t=\"x\ny\" 1700000000\n";
    let output = run(&["record", &store, "--stdin", "influx", "--precision", "s"], text);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let rows = String::from_utf8(read(&store, "query", "csv")).unwrap();
    let label = "{host=\"\"a\"\"}\"";
    let time = "1700000000000000000";
    let expected = format!(
        "{TYPED}{time},\"m_f{label},1.5,f64\n{time},\"m_n{label},3,i64\n{time},\"m_t{label},\"x\ny\",\
         text\n"
    );
    assert_eq!(rows, expected);
}

/// xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Letters that have a meaning somewhere, and some that have none.
    fn text(&mut self, most: usize) -> String {
        const LETTERS: [&str; 32] = [
            "a", "b", "1", "7", ".", "-", "+", "=", "@", "'", "\"", ",", ";", "\t", " ", "\n",
            "\r", "{", "}", "\\", "#", "~", "!", "é", "＝", "😀", "\u{feff}", "\u{202e}", "\u{1}",
            "nan", "true", "time",
        ];
        (0..self.below(most + 1)).map(|_| LETTERS[self.below(LETTERS.len())]).collect()
    }

    fn float(&mut self, finite: bool) -> f64 {
        let special = [0.0, -0.0, 5.0, -7.0, 1e300, 5e-324, f64::MAX, 1e15, 9.3e18, 0.1, f64::NAN];
        let value = match self.below(3) {
            0 => special[self.below(special.len())],
            1 if !finite => [f64::INFINITY, f64::NEG_INFINITY][self.below(2)],
            _ => f64::from_bits(self.next()),
        };
        if value.is_nan() || finite && value.is_infinite() { f64::NAN } else { value }
    }
}

/// Samples of series of all types.
fn fill(store: &str, random: &mut Random, finite: bool) {
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(store.as_ref(), options).unwrap();
    let waiting = baro_ingest::Waiting::default();
    let target = Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
    let mut intake = Intake::new("test", target, Manner::together()).unwrap();
    let mut names: Vec<String> = (0..12).map(|_| random.text(8)).collect();
    names.extend(
        ["5", "1.5", "2026-01-01", "-", "=a", "time", "m{b=\"c\",a=\"d\"}"].map(str::to_owned),
    );
    for line in 0..400 {
        let at = random.below(names.len());
        let text = random.text(20);
        let value = match at % 4 {
            0 => Value::Float(random.float(finite)),
            1 => Value::Integer(random.next() as i64 >> random.below(64)),
            2 => Value::Boolean(random.below(2) == 0),
            _ => Value::Text(&text),
        };
        let time_ns = random.next() as i64 >> random.below(64);
        let (line, types) = (line + 1, Types::Exact);
        let row =
            Row { line, series: &names[at], time_ns, value, types, joint: None, written: None };
        // What cannot be the name of a series is refused here already.
        intake.take(&row, &mut |_| {}).unwrap();
    }
    assert!(intake.finish(&mut |_| {}).unwrap().samples > 100);
    assert_eq!(recorder.close().left, 0);
}

fn sorted(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

#[test]
fn what_is_written_in_any_form_comes_back_as_it_was() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BARO_ROUND_TRIPS_SEED").unwrap_or(0);
    for round in first..first + number("BARO_ROUND_TRIPS").unwrap_or(1) {
        let mut random = Random((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let folder = Folder::new(&format!("text-round-{round}"));
        for (finite, verb, format, input) in [
            (false, "query", "csv", "csv"),
            (false, "cat", "csv", "csv"),
            (true, "query", "ndjson", "json"),
            (true, "query", "json", "json"),
            (true, "cat", "json", "json"),
        ] {
            let first = store(&folder, "first");
            fill(&first, &mut random, finite);
            let written = read(&first, verb, format);
            let expected = (read(&first, "query", "csv"), read(&first, "query", "ndjson"));
            for by_import in [true, false] {
                let second = store(&folder, "second");
                let arguments = match by_import {
                    true => ["import", &second, "-", "--input", input, "--precision", "ns"],
                    false => {
                        ["record", &second, "--stdin", input, "--precision", "ns", "--for=60s"]
                    }
                };
                let output = run(&arguments, &written);
                let told = said(&output);
                assert_eq!(output.status.code(), Some(0), "round {round} {verb} {format}: {told}");
                let found = (read(&second, "query", "csv"), read(&second, "query", "ndjson"));
                let case = format!("round {round}: {verb} {format}, import {by_import}");
                assert_eq!(sorted(&found.0), sorted(&expected.0), "{case}");
                assert_eq!(sorted(&found.1), sorted(&expected.1), "{case}");
                std::fs::remove_dir_all(&second).unwrap();
            }
            std::fs::remove_dir_all(&first).unwrap();
        }
    }
}
