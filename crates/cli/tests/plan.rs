//! `baro plan`: its figures, what is not enough, and the store that a plan makes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{run, stderr};
use place::Folder;
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn plan(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = run(&[&["plan", "--format", "json"], arguments].concat());
    let told = serde_json::from_slice(&output.stdout);
    (output.status.code(), told.unwrap_or_else(|_| panic!("{}", stderr(&output))))
}

fn figure(plan: &Value, key: &str) -> f64 {
    let of = |one: &&Value| one["key"] == key;
    plan["figures"].as_array().unwrap().iter().find(of).unwrap()["value"].as_f64().unwrap()
}

#[test]
fn a_plan_is_told_with_sources_and_makes_its_store() {
    let asked = ["--sensors", "1,000", "--rate", "10Hz", "--disk", "10GB", "--keep", "1d"];
    let (code, told) = plan(&asked);
    assert_eq!(code, Some(0), "{told:#}");
    assert_eq!(told["plan_version"], 1);
    assert_eq!(figure(&told, "arrivals_per_s"), 10_000.0);
    assert_eq!(figure(&told, "raw_bytes_per_s"), 160_000.0);
    assert_eq!(told["needs"].as_array().unwrap().len(), 0, "{told:#}");
    for one in told["figures"].as_array().unwrap() {
        assert!(!one["source_text"].as_str().unwrap().is_empty(), "{one}");
        assert!(one["moved_by"].as_array().unwrap().len() <= 2, "{one}");
    }
    let output = run(&[&["plan"], &asked[..]].concat());
    let lines = text(&output.stdout);
    for word in ["a block of the log", "Sources:", "baro init /data/s --size", "sensor-files, 4.1"]
    {
        assert!(lines.contains(word), "{word}: {lines}");
    }
    assert!(!lines.contains("Not enough"), "{lines}");
    // The store is as large as the plan says, and recycles.
    let folder = Folder::new("plan");
    let (file, store) = (folder.path("plan.json"), folder.path("s"));
    std::fs::write(&file, told.to_string()).unwrap();
    let made = run(&["init", &store, "--plan", &file, "--format", "json"]);
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(made["log_bytes"], told["commands"]["log_bytes"]);
    assert_eq!(made["when_full"], "recycle");
    // A picture, once.
    let svg = folder.path("plan.svg");
    let drawn = [&["plan", "--svg", &svg], &asked[..]].concat();
    assert_eq!(run(&drawn).status.code(), Some(0));
    assert!(std::fs::read_to_string(&svg).unwrap().ends_with("</svg>\n"));
    let again = run(&drawn);
    assert!(again.status.code() == Some(1) && stderr(&again).contains("--force"));
    assert_eq!(run(&[&drawn[..], &["--force"]].concat()).status.code(), Some(0));
}

#[test]
fn what_is_not_enough_is_told_with_what_would_be() {
    let asked = ["--sensors", "1000000", "--rate", "10", "--kind", "card", "--tbw", "50TB"];
    let (code, told) = plan(&asked);
    assert_eq!(code, Some(3), "{told:#}");
    let needs: Vec<&str> =
        told["needs"].as_array().unwrap().iter().map(|need| need.as_str().unwrap()).collect();
    for what in ["the disk's rate", "the disk:", "the flash lasts", "one machine:"] {
        assert!(needs.iter().any(|need| need.starts_with(what)), "{what}: {needs:#?}");
    }
    assert!(needs.iter().all(|need| need.contains("would do")), "{needs:#?}");
    let frames = ["--sensors", "1", "--rate", "200", "--frame", "16K", "--keep", "1h"];
    let (code, told) = plan(&frames);
    assert_eq!(code, Some(0), "{told:#}");
    let kwa = figure(&told, "kwa");
    assert!((1.0..1.1).contains(&kwa), "{kwa}");
    assert!(!told.to_string().contains("rest_bytes_per_sample"), "frames are not settled");
}

#[test]
fn what_no_recording_can_have_is_refused_by_name() {
    let base = ["--sensors", "10", "--rate", "1"];
    for (wrong, code, said) in [
        (vec!["--sensors", "0", "--rate", "1"], 2, "--sensors: expected 1 to"),
        (vec!["--sensors", "nan", "--rate", "1"], 2, "expected a number"),
        (vec!["--sensors", "1e300", "--rate", "1"], 2, "--sensors: expected 1 to"),
        (vec!["--sensors", "1", "--rate", "1/0s"], 2, "expected samples a second"),
        (vec!["--sensors", "1", "--rate", "-5"], 2, "--rate"),
        ([&base[..], &["--durable-within", "2h"]].concat(), 2, "--durable-within: expected"),
        ([&base[..], &["--value-bits", "65"]].concat(), 2, "--value-bits: expected 0 to 64 bits"),
        ([&base[..], &["--frame", "8M"]].concat(), 2, "--frame: expected"),
    ] {
        let output = run(&[&["plan"], &wrong[..]].concat());
        let err = stderr(&output);
        assert!(output.status.code() == Some(code) && err.contains(said), "{wrong:?}: {err}");
        assert!(output.stdout.is_empty());
    }
    let folder = Folder::new("plan-wrong");
    for (content, said) in [
        ("{}", "expected a plan, found other JSON"),
        ("{\"plan_version\":2}", "found version 2"),
        ("{\"plan_version\":1}", "expected commands.log_bytes"),
        ("{\"plan_version\":1,\"commands\":{\"log_bytes\":-1}}", "expected commands.log_bytes"),
        ("[", "expected a plan in JSON"),
    ] {
        let (file, store) = (folder.path("plan.json"), folder.path("s"));
        std::fs::write(&file, content).unwrap();
        let output = run(&["init", &store, "--plan", &file]);
        let err = stderr(&output);
        assert!(output.status.code() == Some(1) && err.contains(said), "{content}: {err}");
        assert!(!std::path::Path::new(&store).exists());
    }
}
