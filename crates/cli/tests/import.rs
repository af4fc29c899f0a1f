//! `import` from outside: what is understood is in the store, what is not is told by its line.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use baro_log::{Role, StoreLock};
use calls::{feed as run, stderr as said};
use place::Folder;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Output, Stdio};

impl Folder {
    fn store(&self) -> String {
        let store = self.path("store");
        let made = run(&["init", &store, "--size", "32M"], b"");
        assert!(made.status.success());
        store
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }
}

fn csv(store: &str) -> String {
    let output = run(&["query", store, "--format", "csv"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn counts(output: &Output, code: i32) -> [u64; 5] {
    assert_eq!(output.status.code(), Some(code), "{}", said(output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["records_lost"], json!(0));
    ["lines", "samples", "series", "series_declared", "lines_refused"]
        .map(|key| report[key].as_u64().unwrap())
}

#[test]
fn line_protocol_becomes_series_and_bad_lines_cost_only_themselves() {
    let folder = Folder::new("influx");
    let store = folder.store();
    let text = "weather,site=b,area=a temp=21.5,on=t,n=3i 1700000000\n\
                nonsense\n\
                weather,site=b,area=a temp=22.5,on=f 1700000001\n\
                weather,site=b,area=a temp=t,n=4i 1700000002\n\
                weather,site=b,area=a note=\"x, \\\"y\\\"\" 1700000003\n\
                # a comment\n\
                weather,site=b,area=a n=18446744073709551615u 1700000004\n\
                weather,site=b,area=a n=5u 1700000005";
    let file = folder.file("w.lp", text);
    let import = ["import", &store, &file, "--precision", "s", "--format", "json"];
    let output = run(&import, b"");
    assert_eq!(counts(&output, 3), [8, 7, 4, 4, 3]);
    let complaints = said(&output);
    let series = "{area=\"a\",site=\"b\"}";
    for line in [
        format!(
            "{file}: line 2, column 9: expected a field as key=value, found the end of the line"
        ),
        format!("{file}: line 4: series weather_temp{series}: expected f64, found true"),
        format!("{file}: line 7: series weather_n{series}: expected i64, found 1844"),
    ] {
        assert!(complaints.contains(&line), "{complaints}\n{line}");
    }
    assert_eq!(complaints.lines().count(), 3);
    let name = |field: &str| format!("\"weather_{field}{{area=\"\"a\"\",site=\"\"b\"\"}}\"");
    let expected = format!(
        "time,series,value,value_type\n1700000000000000000,{0},21.5,f64\n\
         1700000001000000000,{0},22.5,f64\n1700000000000000000,{1},true,bool\n\
         1700000001000000000,{1},false,bool\n1700000000000000000,{2},3,i64\n\
         1700000005000000000,{2},5,i64\n",
        name("temp"),
        name("on"),
        name("n")
    );
    let numbers = ["query", &store, &name("temp"), &name("on"), &name("n"), "--format", "csv"];
    let numbers = numbers.map(|word| word.trim_matches('"').replace("\"\"", "\""));
    let output = run(&numbers.each_ref().map(String::as_str), b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    let note = format!("weather_note{series}");
    let output = run(&["cat", &store, &note], b"");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.lines().count() == 1 && text.contains("x, ") && text.contains('y'), "{text}");
    // A dictionary is made of the catalog, which knows of which two names these are put together.
    assert!(run(&["settle", &store, "--all"], b"").status.success());
    let output = run(&["verify", &store], b"");
    let report = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
    assert!(output.status.success() && !report.contains("DAMAGE"), "{report}");
}

#[test]
fn strict_stops_at_the_first_bad_line_and_keeps_what_came_before() {
    let folder = Folder::new("strict");
    let store = folder.store();
    let text = "1,a,1\n2,a,2\nbad\n3,a,3\nworse\n";
    let output = run(&["import", &store, "-", "--input", "csv", "--strict"], text.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let complaints = said(&output);
    assert!(complaints.contains("stdin: line 3, column 4"), "{complaints}");
    assert!(complaints.contains("stopped at the first line that was refused (--strict)"));
    assert!(!complaints.contains("line 5"));
    // The line that ended it was told; no other is named.
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!told.contains("the first line that is not in the store"), "{told}");
    assert_eq!(csv(&store), "time,series,value\n1,a,1\n2,a,2\n");
}

#[test]
fn csv_is_taken_as_record_takes_it_and_more_than_a_ring_holds_is_not_lost() {
    let folder = Folder::new("csv");
    let store = folder.store();
    let declared = run(&["record", &store, "--declare", "n:i64", "--stdin", "csv"], b"");
    assert!(declared.status.success(), "{}", said(&declared));
    // 300,000 records of a sample each are more than the ring's 16 MiB.
    let mut text = "time,series,value\n".to_owned();
    for n in 0..300_000 {
        text.push_str(&format!("{n},n,{}\n", n * 7));
    }
    text.push_str("150000000,\"b,{x=\"\"y\"\"}\",nan\n");
    let output = run(&["import", &store, "-", "--format", "csv"], text.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report = String::from_utf8(output.stdout).unwrap();
    let expected = "300002 lines, 300001 samples of 2 series (1 declared); refused: 0 lines\n\
        times: 1970-01-01T00:00:00.000000000Z to 1970-01-01T00:00:00.150000000Z (if that is not \
        meant: --precision says the unit of numbers)\n";
    assert_eq!(report, expected);
    // What comes out says the types.
    let typed = |line: &str| match line.split_once(',') {
        Some(("time", _)) => format!("{line},value_type\n"),
        Some(("150000000", rest)) => format!("150000000,{},f64\n", rest.replace("nan", "NaN")),
        _ => format!("{line},i64\n"),
    };
    assert_eq!(csv(&store), text.lines().map(typed).collect::<String>());
}

#[test]
fn two_files_go_in_one_after_the_other_and_mistakes_are_told() {
    let folder = Folder::new("files");
    let store = folder.store();
    let first = folder.file("a.csv", "1,a,1\n2,a,2\n");
    let second = folder.file("b.influx", "m f=1 3\nm f=x 4\n");
    let output = run(&["import", &store, &first, &second, "--format", "json"], b"");
    assert_eq!(counts(&output, 3), [4, 3, 2, 2, 1]);
    assert!(said(&output).contains("b.influx: line 2, column 5"), "{}", said(&output));
    // The same once more: the same samples, nothing new.
    let output = run(&["import", &store, &first, "--format", "json"], b"");
    assert_eq!(counts(&output, 0), [2, 2, 1, 0, 0]);
    assert_eq!(csv(&store), "time,series,value\n1,a,1\n2,a,2\n3,m_f,1\n");

    let long = folder.file("long.influx", &format!("m,t={} f=1 1\nm f=2 9\n", "x".repeat(2000)));
    let output = run(&["import", &store, &long, "--format", "json"], b"");
    assert_eq!(counts(&output, 3), [2, 1, 1, 0, 1]);
    assert!(said(&output).contains("expected a name of at most 1024 bytes"), "{}", said(&output));

    // CSV has a precision too.
    let output = run(&["import", &store, &first, "--precision", "s", "--format", "json"], b"");
    assert_eq!(counts(&output, 0), [2, 2, 1, 0, 0]);
    assert!(csv(&store).contains("2000000000,a,2\n"));

    let unnamed = folder.file("data.bin", "");
    for (code, arguments, reason) in [
        (2, &["-"][..], "expected a name in .csv"),
        (2, &[&unnamed], "expected a name in .csv"),
        (1, &["-", "--input", "parquet"], "expected a file, found - (stdin)"),
        (1, &[&unnamed, "--input", "parquet"], "Parquet"),
        (1, &[&folder.path("none.csv")], "none.csv"),
    ] {
        let output = run(&[&["import", &store], arguments].concat(), b"");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(said(&output).contains(reason), "{arguments:?}: {}", said(&output));
    }
    assert_eq!(run(&["import", &store], b"").status.code(), Some(2));
}

#[test]
fn a_full_log_ends_an_import_with_its_reason() {
    let folder = Folder::new("full");
    let store = folder.path("store");
    assert!(run(&["init", &store, "--size", "2M"], b"").status.success());
    let mut text = String::new();
    // Values that no encoding makes small: several times what the log and a ring hold.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for n in 0..1_500_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        text.push_str(&format!("{n},a,0.{random}\n"));
    }
    let output = run(&["import", &store, "-", "--input", "csv"], text.as_bytes());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("the log is full"), "{}", said(&output));
}

/// What comes out of a pipe comes once: to know its form it must not be read away.
#[test]
fn what_a_pipe_brings_is_imported_from_its_begin() {
    let folder = Folder::new("pipe");
    let store = folder.store();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let text: String = (1..=9000).map(|n| format!("up{{n=\"{n}\"}} 1 1700000000000\n")).collect();
    assert!(text.len() > 3 * (64 << 10));
    let text = format!("# TYPE up gauge\n{text}");
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, text).unwrap());
    let output = run(&["import", &store, &pipe, "--format", "json"], b"");
    assert_eq!(counts(&output, 0), [9001, 9000, 9000, 9000, 0]);
    writer.join().unwrap();
    // A file that is not there is nothing to go on with.
    let output = run(&["import", &store, &folder.path("none.csv")], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(!said(&output).contains("to go on"), "{}", said(&output));
}

#[test]
fn an_import_waits_for_another_one() {
    let folder = Folder::new("turns");
    let store = folder.store();
    let import = |file: &str| {
        let mut import = Command::new(env!("CARGO_BIN_EXE_baro"));
        import.args(["import", &store, file, "--input", "csv", "--format", "json"]);
        import.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut first = import("-");
    let mut input = first.stdin.take().unwrap();
    input.write_all(b"1,a,1\n").unwrap();
    let holds = (0..1_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let said = StoreLock::said_at(store.as_ref(), Role::Recording).unwrap();
        said.as_deref() == Some("import")
    });
    assert!(holds && first.try_wait().unwrap().is_none());
    // Two that wait, and one that is told to end before its turn has come.
    let (b, c) = (folder.file("b.csv", "2,b,2\n"), folder.file("c.csv", "3,a,3\n"));
    let mut waiting = [import(&b), import(&c), import(&b)];
    let sentence = format!(
        "baro: {store}: process {} imports into it; this import begins when that one ends\n",
        first.id()
    );
    for one in &mut waiting {
        let mut line = String::new();
        BufReader::new(one.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.ends_with(&sentence["baro: ".len()..]), "{line}");
    }
    let [second, third, stopped] = waiting;
    let killed = Command::new("kill").args(["-INT", &stopped.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let stopped = stopped.wait_with_output().unwrap();
    assert_eq!(
        (stopped.status.code(), said(&stopped).contains("nothing was read")),
        (Some(1), true)
    );
    drop(input);
    for one in [first, second, third] {
        assert_eq!(counts(&one.wait_with_output().unwrap(), 0)[1], 1);
    }
    assert_eq!(csv(&store), "time,series,value\n1,a,1\n3,a,3\n2,b,2\n");
}

#[test]
fn beside_a_recorder_it_attaches_and_has_what_is_new_declared() {
    let folder = Folder::new("attach");
    let store = folder.store();
    let record = ["record", &store, "--attach", "1", "--declare", "a:f64", "--for", "60s"];
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_baro"))
        .args(record)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let text = b"1,a,1.5\n2,new,2\n3,a,3.5\n4,a,\"no\"\n5,flag,true\n6,new,7\n";
    let import = ["import", &store, "-", "--input", "csv", "--format", "json"];
    // Not before the recorder has made its ring: an import that came first would record itself.
    let ready = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let info = run(&["info", &store, "--format", "json"], b"");
        let info: Value = serde_json::from_slice(&info.stdout).unwrap_or_default();
        info["rings"].as_array().is_some_and(|rings| !rings.is_empty())
    });
    assert!(ready && recorder.try_wait().unwrap().is_none());
    let output = run(&import, text);
    let again = run(&import, b"7,new,8\n8,flag,9\n");
    let killed = Command::new("kill").arg(recorder.id().to_string()).status().unwrap();
    assert!(killed.success());
    recorder.wait().unwrap();
    assert_eq!(counts(&output, 3), [6, 5, 3, 2, 1]);
    assert_eq!(counts(&again, 3), [2, 1, 2, 0, 1]);
    for (output, refused) in
        [(&output, "series a: expected f64"), (&again, "series flag: expected bool")]
    {
        assert!(said(output).contains(refused), "{}", said(output));
    }
    // Series by series, in the order in which they were declared.
    let expected = "time,series,value\n1,a,1.5\n3,a,3.5\n2,new,2\n6,new,7\n7,new,8\n5,flag,true\n";
    assert_eq!(csv(&store), expected);
}

/// Of one series and time one sample counts: what comes together without a time must not have one time.
#[test]
fn objects_without_a_time_have_times_of_their_own_and_are_told() {
    let folder = Folder::new("untimed");
    let store = folder.store();
    let text = "[{\"temp\":1},{\"temp\":2,\"hum\":5},{\"temp\":3}]";
    let file = folder.file("m.json", text);
    let output = run(&["import", &store, &file, "--format", "json"], b"");
    assert_eq!(counts(&output, 0), [1, 4, 2, 2, 0]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [from_ns, to_ns] = ["from_ns", "to_ns"].map(|key| report["untimed"][key].as_i64().unwrap());
    assert!(report["untimed"]["samples"] == json!(4) && from_ns + 2 <= to_ns, "{report}");
    let output = run(&["import", &store, &file], b"");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("without a time: 4 samples, given the time at which"), "{told}");
    let recorded = run(&["record", &store, "--stdin", "json"], text.as_bytes());
    assert_eq!(recorded.status.code(), Some(0), "{}", said(&recorded));
    let rows = csv(&store);
    for (value, times) in [("temp,1", 3), ("temp,2", 3), ("temp,3", 3), ("hum,5", 3)] {
        assert_eq!(rows.lines().filter(|row| row.ends_with(value)).count(), times, "{rows}");
    }
    // One that is refused costs itself.
    let timed = folder.file("t.json", "[{\"time\":1,\"temp\":\"x\"},{\"time\":2,\"temp\":7}]\n");
    let output = run(&["import", &store, &timed, "--format", "json"], b"");
    assert_eq!(counts(&output, 3)[1..], [1, 1, 0, 1]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["untimed"], Value::Null);
}

#[test]
fn an_array_whose_end_is_missing_is_told_and_what_came_is_taken() {
    let folder = Folder::new("open-array");
    let store = folder.store();
    let text = "[{\"time\":1,\"a\":1},\n{\"time\":2,\"a\":2},\n";
    let file = folder.file("cut.json", text);
    let output = run(&["import", &store, &file, "--format", "json"], b"");
    assert_eq!(counts(&output, 3), [2, 2, 1, 1, 1]);
    assert!(said(&output).contains("line 1: expected ] behind the array"), "{}", said(&output));
    let output = run(&["record", &store, "--stdin", "json", "--format", "json"], text.as_bytes());
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let source = &report["sources"][0];
    assert_eq!((&source["samples"], &source["bad_inputs"]), (&json!(2), &json!(1)), "{report}");
}

#[test]
fn what_is_said_of_keys_counts_and_an_option_that_a_form_does_not_use_is_refused() {
    let folder = Folder::new("keys");
    let store = folder.store();
    let text = "{\"at\":1,\"id\":7,\"value\":1}\n{\"at\":1,\"id\":8,\"value\":2}\n";
    let file = folder.file("k.ndjson", text);
    // Read as two series the second value would overwrite the first.
    let output = run(&["import", &store, &file, "--format", "json"], b"");
    assert_eq!(counts(&output, 3), [2, 0, 0, 0, 2]);
    assert!(said(&output).contains("--columns at=series"), "{}", said(&output));
    let columns = ["--columns", "at=time,id=series"];
    let output = run(&[&["import", &store, &file], &columns[..]].concat(), b"");
    assert_eq!(output.status.code(), Some(3), "a name is a text");
    let text = text.replace("7", "\"7\"").replace("8", "\"8\"");
    let file = folder.file("t.ndjson", &text);
    let output = run(&[&["import", &store, &file], &columns[..]].concat(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let rows = csv(&store);
    assert!(rows.contains("1,\"7\",1\n") && rows.contains("1,\"8\",2\n"), "{rows}");
    for (name, option, wanted) in [
        ("k.lp", &["--columns", "a=label"][..], "a file of columns or keys"),
        ("k.prom", &["--zone", "UTC"], "a file of dates"),
        ("k.ndjson", &["--decimal-comma"], "a file of CSV"),
    ] {
        let file = folder.file(name, "");
        let output = run(&[&["import", &store, &file], option].concat(), b"");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(wanted), "{}", said(&output));
    }
    let output = run(&["record", &store, "--stdin", "influx", "--zone", "UTC"], b"");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
