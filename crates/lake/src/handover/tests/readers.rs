//! Programs that people have read the table: each row is what was recorded. Libraries of Python come by pip
//! into `lake-readers/` of the target folder. Where that cannot be, this says so and counts as skipped.

use super::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requirements.txt");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/read.py");

/// Python with the libraries of the list.
fn python() -> Option<PathBuf> {
    let own = std::env::current_exe().expect("a program has a file");
    let folder = own.ancestors().nth(3).unwrap_or(Path::new(".")).join("lake-readers");
    let (python, installed) = (folder.join("bin/python"), folder.join("requirements.txt"));
    let wanted = std::fs::read_to_string(LIST).expect("it is in the checkout");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Some(python);
    }
    let _ = std::fs::remove_dir_all(&folder);
    let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
    let pip = || {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", LIST])
            .status()
    };
    if !made.is_ok_and(|made| made.success()) || !pip().is_ok_and(|pip| pip.success()) {
        let _ = std::fs::remove_dir_all(&folder);
        println!("skipped: no libraries of Python (python3-venv, and a network for pip)");
        return None;
    }
    std::fs::write(installed, wanted).expect("written");
    Some(python)
}

#[test]
fn deltalake_polars_and_duckdb_read_what_was_recorded() {
    let Some(python) = python() else { return };
    let (scene, mut samples) = (Scene::new("readers"), Samples::new());
    checkpoints::table_with_interval(&scene, 1);
    scene.record("store", 0, 300, &mut samples);
    scene.hand_over();
    scene.record("store", 150, 300, &mut samples);
    scene.hand_over();
    // What came before is in a checkpoint of ours alone.
    checkpoints::tidy_up(&scene);
    let expected = scene.folder.join("expected.json");
    let read = |samples: &Samples| {
        let rows = samples.iter().map(|((series, time_ns), value)| {
            serde_json::json!([series, time_ns, crate::scene::kind_of(series), value])
        });
        let text = serde_json::Value::Array(rows.collect()).to_string();
        std::fs::write(&expected, text).expect("written");
        let output = Command::new(&python).arg(SCRIPT).arg(scene.table()).arg(&expected).output();
        let output = output.expect("python starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = read(&samples);
    for name in ["deltalake", "polars", "duckdb", "compacted"] {
        assert!(said.contains(name), "{said}");
    }
    // The script has compacted the table and made a checkpoint: both are gone on from.
    scene.record("store", 450, 10, &mut samples);
    assert_eq!(scene.hand_over(), 10 * SERIES);
    checkpoints::tidy_up(&scene);
    assert_eq!(scene.hand_over(), 0);
    assert!(read(&samples).contains("deltalake"));
}
