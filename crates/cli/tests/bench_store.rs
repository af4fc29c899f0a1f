//! `baro bench store` from outside: the keys that results are judged by, for each kind of data.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("baro-bs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn bench(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_baro"))
            .args(["bench", "store", "--dir", self.0.to_str().unwrap(), "--format", "json"])
            .args(["--budget", "1ms"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn json(&self, arguments: &[&str]) -> (String, Value) {
        let output = self.bench(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let text = String::from_utf8(output.stdout).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const KEYS: [&str; 15] = [
    "series",
    "samples",
    "log_append_per_s",
    "ingest_durable_per_s",
    "ingest_settled_per_s",
    "bytes_per_sample",
    "catalog_bytes_per_series",
    "device_bytes_ratio",
    "peak_rss_bytes",
    "open_cold_ms",
    "open_warm_ms",
    "q1_ms",
    "q2_ms",
    "q3_ms",
    "q4_ms",
];

#[test]
fn bench_store_prints_its_keys_first_and_in_order() {
    let folder = Folder::new("keys");
    let walk = ["--series", "100", "--samples", "10000", "--seed", "3", "--order", "shuffled"];
    let (text, value) = folder.json(&walk);
    let places: Vec<_> =
        KEYS.iter().map(|key| text.find(&format!("\n  \"{key}\": ")).unwrap()).collect();
    assert!(places.is_sorted());
    assert_eq!(text.lines().nth(KEYS.len() + 1).unwrap().trim(), "\"data\": \"walk\",");
    assert_eq!((&value["series"], &value["samples"]), (&100.into(), &10_000.into()));
    assert_eq!((&value["order"], &value["seed"]), (&"shuffled".into(), &3.into()));
    assert!(value["ingest_durable_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(value["rows_checked"], 12_200);
    // A figure is a number, or null for a reason.
    let missing = KEYS.iter().any(|key| value[*key].is_null());
    assert!(!missing || !value["missing"].as_str().unwrap().is_empty());
}

#[test]
fn bench_store_takes_a_file_and_kernel_counters() {
    let folder = Folder::new("data");
    let csv = folder.0.join("some.csv");
    std::fs::write(&csv, "1000,a,1.5\n1000,b,2\n2000,a,1.75\n2000,b,3\n").unwrap();
    let (_, value) = folder.json(&["--data", csv.to_str().unwrap(), "--samples", "100"]);
    assert_eq!((&value["series"], &value["samples"]), (&2.into(), &100.into()));
    assert_eq!(value["data"], "some.csv");
    let (_, value) = folder.json(&["--data", "proc", "--record", "200ms", "--interval", "20ms"]);
    assert_eq!(value["data"], "proc");
    assert!(value["series"].as_u64().unwrap() > 10);
    std::fs::write(&csv, "1000,a,x\n").unwrap();
    let output = folder.bench(&["--data", csv.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("some.csv: "), "{said}");
}

#[test]
fn bench_store_at_a_rate_draws_what_happened() {
    let folder = Folder::new("rate");
    let [csv, svg] = ["a.csv", "a.svg"].map(|name| folder.0.join(name));
    let output = folder.bench(&[
        "--series",
        "1000",
        "--rate",
        "100000",
        "--for",
        "1s",
        "--log",
        "4M",
        "--csv",
        csv.to_str().unwrap(),
        "--svg",
        svg.to_str().unwrap(),
    ]);
    // Lost samples are a result: 3.
    assert!(matches!(output.status.code(), Some(0 | 3)));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [pushed, lost] = ["pushed", "lost"].map(|key| value[key].as_u64().unwrap());
    assert_eq!(pushed + lost, 100_000);
    assert_eq!(output.status.code() == Some(0), lost == 0);
    assert!(std::fs::read_to_string(csv).unwrap().starts_with("at_s,pushed,lost,"));
    assert!(std::fs::read_to_string(svg).unwrap().ends_with("</svg>\n"));
    assert_eq!(folder.bench(&["--rate", "5"]).status.code(), Some(2), "a rate needs a time");
}
