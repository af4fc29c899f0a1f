//! `baro trace handle` and the others on a recorded trace: what they print, and with which exit code.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use serde_json::Value;
use std::process::{Command, Output};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/trace/6.12.trace");
const OF_JOURNALS: [&str; 4] = ["handle", "state", "blocks", "space"];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baro")).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(output: &Output, code: i32) -> Value {
    serde_json::from_str(&text(output, code)).unwrap()
}

#[test]
fn each_event_of_a_journal_is_a_row_and_a_point() {
    let folder = std::env::temp_dir().join(format!("baro-series-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for analysis in OF_JOURNALS {
        let name =
            |form: &str| folder.join(format!("{analysis}.{form}")).to_string_lossy().into_owned();
        for form in ["csv", "json", "svg"] {
            text(&run(&["trace", analysis, TRACE, "--series", &name(form)]), 0);
        }
        let csv = std::fs::read_to_string(name("csv")).unwrap();
        let rows = csv.lines().count() - 1;
        let told: Value = serde_json::from_slice(&std::fs::read(name("json")).unwrap()).unwrap();
        assert_eq!(told["series"].as_array().unwrap().len(), rows, "{analysis}");
        assert!(rows > 0, "{analysis}: {csv}");
        assert!(std::fs::read_to_string(name("svg")).unwrap().contains("<path"), "{analysis}");
        let again = run(&["trace", analysis, TRACE, "--series", &name("csv")]);
        assert!(again.status.code() == Some(1) && stderr(&again).contains("--force"));
        let odd = run(&["trace", analysis, TRACE, "--series", &name("txt")]);
        assert!(odd.status.code() == Some(1) && stderr(&odd).contains(".csv, .json or .svg"));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Its figures are too low then, so a script must not take it for a whole one.
#[test]
fn a_trace_that_is_cut_off_is_told_by_its_exit_code() {
    let path = std::env::temp_dir().join(format!("baro-cut-{}.trace", std::process::id()));
    let bytes = std::fs::read(TRACE).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let path = path.to_str().unwrap();
    for analysis in OF_JOURNALS.iter().chain(&["syscall", "waits"]) {
        let shown = text(&run(&["trace", analysis, path]), 3);
        assert!(shown.contains("the trace ends before its recording did"), "{analysis}: {shown}");
    }
    let found = json(&run(&["trace", "state", path, "--format", "json"]), 3);
    assert_eq!(found["trace"]["is_cut"], true);
    assert!(stderr(&run(&["explain", path])).contains("torn"));
    text(&run(&["explain", path]), 3);
    text(&run(&["explain", TRACE]), 0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn each_analysis_of_a_trace_is_text_and_json() {
    for analysis in OF_JOURNALS {
        let shown = text(&run(&["trace", analysis, TRACE]), 0);
        assert!(shown.contains("journal of vda"), "{analysis}: {shown}");
        let found = json(&run(&["trace", analysis, TRACE, "--format", "json"]), 0);
        assert_eq!(found["journals"][0]["device"], "vda", "{analysis}");
        let number = found["trace"]["events"].as_u64().unwrap();
        assert!(number > 100, "{analysis}: {number}");
        let device = run(&["trace", analysis, TRACE, "--device", "vda", "--format", "json"]);
        assert_eq!(json(&device, 0), found, "{analysis}");
    }
    let shown = text(&run(&["trace", "syscall", TRACE]), 0);
    assert!(shown.contains("load"), "{shown}");
    let waits = json(&run(&["trace", "waits", TRACE, "--top", "1", "--format", "json"]), 0);
    assert!(
        waits["kinds"]
            .as_array()
            .unwrap()
            .iter()
            .all(|kind| { kind["longest"].as_array().unwrap().len() <= 1 })
    );
    let space = run(&["trace", "space", TRACE, "--journal-blocks", "1024", "--format", "json"]);
    assert_eq!(json(&space, 0)["journals"][0]["total_blocks"], 1_023);
}

#[test]
fn what_cannot_be_analyzed_is_told() {
    let none = run(&["trace", "state", TRACE, "--device", "sdz9"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("it has those of vda"), "{}", stderr(&none));
    let no_trace = run(&["trace", "waits", "/dev/null"]);
    assert_eq!(no_trace.status.code(), Some(1));
    let no_file = run(&["trace", "handle"]);
    assert_eq!(no_file.status.code(), Some(2));
}

#[test]
fn the_kernels_log_is_explained_from_a_file_and_from_stdin() {
    const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernel_log/6.18.txt");
    let shown = text(&run(&["explain", "--kernel-log", LOG]), 0);
    assert!(
        shown.contains("behind it direct (pid 13693), which waits for its direct I/O"),
        "{shown}"
    );
    let found = json(&run(&["explain", "--kernel-log", LOG, "--top", "2", "--format", "json"]), 0);
    assert_eq!((&found["hung_tasks"], found["tasks"].as_array().unwrap().len()), (&7.into(), 2));
    let mut child = Command::new(env!("CARGO_BIN_EXE_baro"));
    child.args(["explain", "--kernel-log", "-"]).stdin(std::fs::File::open(LOG).unwrap());
    assert_eq!(text(&child.output().unwrap(), 0), shown);
    let nothing = text(&run(&["explain", "--kernel-log", "/dev/null"]), 0);
    assert!(nothing.contains("no report of a hung task"), "{nothing}");
    for wrong in [&["explain"][..], &["explain", TRACE, "--kernel-log", LOG]] {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
