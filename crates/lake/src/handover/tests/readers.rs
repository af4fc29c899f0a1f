//! Programs that people have read the table: each row is what was recorded. Libraries of Python come by pip
//! into a folder of the target folder. Where that cannot be, this says so and counts as skipped.

use super::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lake.md");

/// Python with the libraries of a list, in a folder of this name.
fn python(folder: &str, list: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().expect("a program has a file");
    let folder = own.ancestors().nth(3).unwrap_or(Path::new(".")).join(folder);
    let (python, installed) = (folder.join("bin/python"), folder.join("requirements.txt"));
    let list = format!("{TESTS}/{list}");
    let wanted = std::fs::read_to_string(&list).expect("it is in the checkout");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Some(python);
    }
    let _ = std::fs::remove_dir_all(&folder);
    let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
    let pip = || {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", &list])
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

/// What the page says is a view with each sample once, in a file of its own.
fn view(scene: &Scene) -> PathBuf {
    let page = std::fs::read_to_string(PAGE).expect("it is in the checkout");
    let (_, rest) = page.split_once("```sql\n").expect("the page has the view");
    let (view, _) = rest.split_once("\n```").expect("it ends");
    let file = scene.folder.join("view.sql");
    std::fs::write(&file, view).expect("written");
    file
}

/// What was recorded, in the script's form.
fn expected(scene: &Scene, samples: &Samples) -> PathBuf {
    let rows = samples.iter().map(|((series, time_ns), value)| {
        serde_json::json!([series, time_ns, crate::scene::kind_of(series), value])
    });
    let file = scene.folder.join("expected.json");
    std::fs::write(&file, serde_json::Value::Array(rows.collect()).to_string()).expect("written");
    file
}

/// Lets a script compare the table; returns what it said.
fn read(python: &Path, script: &str, scene: &Scene, samples: &Samples) -> String {
    let mut run = Command::new(python);
    run.arg(format!("{TESTS}/{script}")).arg(scene.table());
    run.arg(expected(scene, samples)).arg(view(scene));
    let output = run.output().expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A table of two hand-overs, with what it should hold.
fn handed_over(name: &str) -> (Scene, Samples) {
    let (scene, mut samples) = (Scene::new(name), Samples::new());
    checkpoints::table_with_interval(&scene, 1);
    scene.record("store", 0, 300, &mut samples);
    scene.hand_over();
    // Half of these times are there already: the later value counts.
    scene.record("store", 150, 300, &mut samples);
    scene.hand_over();
    // What came before is in a checkpoint of ours alone.
    checkpoints::tidy_up(&scene);
    (scene, samples)
}

#[test]
fn spark_reads_what_was_recorded() {
    if Command::new("java").arg("-version").output().is_err() {
        println!("skipped: no Java (openjdk-17-jre-headless), which Spark runs on");
        return;
    }
    let Some(python) = python("lake-spark", "spark.txt") else { return };
    let (scene, samples) = handed_over("spark");
    assert!(read(&python, "spark.py", &scene, &samples).contains("spark: "));
}

#[test]
fn deltalake_polars_and_duckdb_read_what_was_recorded() {
    let Some(python) = python("lake-readers", "requirements.txt") else { return };
    let (scene, mut samples) = handed_over("readers");
    let said = read(&python, "read.py", &scene, &samples);
    for name in ["deltalake", "polars", "duckdb", "compacted"] {
        assert!(said.contains(name), "{said}");
    }
    // The script has compacted the table and made a checkpoint: both are gone on from.
    scene.record("store", 450, 10, &mut samples);
    assert_eq!(scene.hand_over(), 10 * SERIES);
    checkpoints::tidy_up(&scene);
    assert_eq!(scene.hand_over(), 0);
    assert!(read(&python, "read.py", &scene, &samples).contains("deltalake"));
}
