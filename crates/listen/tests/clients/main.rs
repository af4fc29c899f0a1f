//! Clients that people have, unmodified: all of their samples are in the store, and the one bad line of
//! 10,000 is told to them in the form that they know.
//!
//! Libraries of Python come by pip into `listen-clients/` of the target folder, those of JavaScript by npm
//! into `listen-clients-js/`, once for each change of the list; programs of Debian from `peers/`, where
//! `scripts/peers.sh` unpacks them. Without them these tests say so and are counted as skipped. All of them
//! listen and send on this machine alone.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../http/client.rs"]
#[allow(dead_code, reason = "the others use more of it")]
mod client;
mod programs;
#[path = "../http/scene.rs"]
#[allow(dead_code, reason = "the others use more of it")]
mod scene;

use scene::Scene;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const TIME: i64 = 1_700_000_000_000_000_000;

/// The target folder.
fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_baro-listen")).ancestors().nth(2).unwrap()
}

/// Python with the libraries of the list; one test after the other looks for it.
fn python() -> Option<PathBuf> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap();
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/requirements.txt");
    let folder = target().join("listen-clients");
    let python = folder.join("bin/python");
    let installed = folder.join("requirements.txt");
    let wanted = std::fs::read_to_string(list).unwrap();
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Some(python);
    }
    let _ = std::fs::remove_dir_all(&folder);
    let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
    let pip = || {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", list])
            .status()
    };
    if !made.is_ok_and(|made| made.success()) || !pip().is_ok_and(|pip| pip.success()) {
        let _ = std::fs::remove_dir_all(&folder);
        println!("skipped: no libraries of Python (python3-venv, and a network for pip)");
        return None;
    }
    std::fs::write(installed, wanted).unwrap();
    Some(python)
}

/// A library writes 1,000 points, and 10,000 lines of which one is bad.
fn library(name: &str, series: &str) {
    let Some(python) = python() else { return };
    let Some(mut scene) = Scene::new(name, &[]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/write.py");
    let output =
        Command::new(python).arg(script).arg(scene.address.to_string()).arg(name).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    scene.end_recorder();
    let found = scene.samples();
    let points = &found[&format!("{series}_points_v{{host=\"a\"}}")];
    let value = |at: i64| (TIME + at, format!("{at}.5"));
    assert_eq!(*points, (0..1_000).map(value).collect::<Vec<_>>());
    let lines = &found[&format!("{series}_v{{host=\"a\"}}")];
    assert_eq!(*lines, (0..10_000).filter(|at| *at != 5_000).map(value).collect::<Vec<_>>());
}

#[test]
fn the_library_of_influxdb_1_writes_all_but_the_bad_line() {
    library("influxdb", "one");
}

#[test]
fn the_library_of_influxdb_2_writes_all_but_the_bad_line() {
    library("influxdb-client", "two");
}

#[test]
fn the_library_of_influxdb_3_writes_all_but_the_bad_line() {
    library("influxdb3-python", "three");
}

/// Node with the modules of the list: the folder that they are in.
fn modules() -> Option<PathBuf> {
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/package.json");
    let folder = target().join("listen-clients-js");
    let installed = folder.join("installed.json");
    let wanted = std::fs::read_to_string(list).unwrap();
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Some(folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("package.json"), &wanted).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
    if !npm.current_dir(&folder).status().is_ok_and(|npm| npm.success()) {
        let _ = std::fs::remove_dir_all(&folder);
        println!("skipped: no modules of JavaScript (node, npm, and a network for it)");
        return None;
    }
    std::fs::write(installed, wanted).unwrap();
    Some(folder)
}

/// What an SDK of OpenTelemetry has measured is in the store, ten times summed up; its exponential histogram is
/// refused and costs nothing else.
fn measured(mut scene: Scene, mut client: Command) {
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metrics = scene.client().get("/metrics").body;
    let answered = |status| {
        let name = "baro_listen_requests_total{endpoint=\"/v1/metrics\",status=";
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name}\"{status}\"")));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    // Some send once more when they end.
    let sent = answered(200);
    assert!((10..=11).contains(&sent), "{metrics}");
    assert!(metrics.contains(&format!("baro_listen_lines_refused_total {sent}\n")), "{metrics}");
    scene.end_recorder();
    let mut found = scene.samples();
    let info = found.keys().find(|name| name.starts_with("target_info{")).cloned().unwrap();
    assert!(info.contains("instance=\"3\",job=\"plant/press\""), "{info}");
    found.remove(&info);
    let of = "instance=\"3\",job=\"plant/press\"";
    type Value = fn(i64) -> f64;
    let expected: [(String, Value); 7] = [
        (format!("parts_made_total{{{of},line=\"a\"}}"), |turn| turn as f64 * 200.0),
        (format!("room_temp_celsius{{{of},room_name=\"lab\"}}"), |turn| turn as f64 - 0.5),
        (format!("wait_seconds_bucket{{{of},le=\"+Inf\"}}"), |turn| turn as f64 * 200.0),
        (format!("wait_seconds_bucket{{{of},le=\"0.5\"}}"), |turn| turn as f64 * 100.0),
        (format!("wait_seconds_bucket{{{of},le=\"1\"}}"), |turn| turn as f64 * 200.0),
        (format!("wait_seconds_count{{{of}}}"), |turn| turn as f64 * 200.0),
        (format!("wait_seconds_sum{{{of}}}"), |turn| turn as f64 * 100.0),
    ];
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    for (name, value) in expected {
        let mut values: Vec<&str> = found[&name].iter().map(|(_, value)| value.as_str()).collect();
        // What is sent once more at the end has the values of before.
        values.dedup();
        let wanted: Vec<String> = (1..=10).map(|turn| format!("{:?}", value(turn))).collect();
        assert_eq!(values, wanted, "{name}");
    }
}

#[test]
fn the_sdk_of_opentelemetry_for_python_writes_what_it_has_measured() {
    let Some(python) = python() else { return };
    let Some(scene) = Scene::new("opentelemetry", &[]) else { return };
    let mut client = Command::new(python);
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/write.py"));
    client.arg(scene.address.to_string()).arg("opentelemetry");
    measured(scene, client);
}

#[test]
fn the_sdk_of_opentelemetry_for_javascript_writes_what_it_has_measured() {
    let Some(modules) = modules() else { return };
    let Some(scene) = Scene::new("opentelemetry-js", &[]) else { return };
    let mut client = Command::new("node");
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/write.mjs"));
    client.arg(scene.address.to_string()).current_dir(modules);
    measured(scene, client);
}
