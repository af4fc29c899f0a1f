//! Clients that people have, unmodified: all of their samples are in the store, and the one bad line of
//! 10,000 is told to them in the form that they know.
//!
//! Libraries of Python come by pip into `listen-clients/` of the target folder, once for each change of the
//! list; programs of Debian from `peers/`, where `scripts/peers.sh` unpacks them. Without them these tests say
//! so and are counted as skipped. All of them listen and send on this machine alone.
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
