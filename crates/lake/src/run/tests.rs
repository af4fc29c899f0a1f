//! What is said of folders, stores and tables that do not do, and what `--release` and `--skip-damaged` do.
#![allow(clippy::disallowed_methods, reason = "tests")]

use super::*;
use crate::scene::{Samples, Scene};
use std::path::PathBuf;

const SERIES: u64 = 5;

fn options(scene: &Scene, table: &str) -> Options {
    Options {
        store: scene.store(),
        table: Some(scene.folder.join(table)),
        every: None,
        skip_damaged: false,
        release: false,
        format: Format::Json,
    }
}

fn refused(options: &Options) -> String {
    run(options).expect_err("it is refused").to_string()
}

fn run_file(scene: &Scene) -> PathBuf {
    let runs = std::fs::read_dir(scene.store().join("runs")).expect("it is there");
    let mut paths = runs.map(|entry| entry.expect("an entry").path());
    paths.find(|path| path.extension().is_some_and(|end| end == "run")).expect("a run")
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_handed_over() {
    let (scene, mut samples) = (Scene::new("wrong"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    let inside = options(&scene, "store/table");
    assert!(refused(&inside).contains("one inside the other"));
    assert!(refused(&options(&scene, ".")).contains("one inside the other"));
    std::os::unix::fs::symlink(scene.store(), scene.folder.join("link")).expect("made");
    assert!(refused(&options(&scene, "link/table")).contains("one inside the other"));
    let gone = Options { store: scene.folder.join("gone"), ..options(&scene, "table") };
    assert!(refused(&gone).contains("gone"));
    // Folders with other things, and what is no folder.
    std::fs::create_dir(scene.folder.join("other")).expect("made");
    std::fs::write(scene.folder.join("other/letter"), "x").expect("written");
    assert!(refused(&options(&scene, "other")).contains("letter"));
    assert!(refused(&options(&scene, "other/letter")).contains("letter"));
    assert_eq!(std::fs::read_dir(scene.folder.join("other")).expect("listed").count(), 1);
    assert!(!scene.store().join("runs/lake").exists() && !scene.table().exists());
    // A table of somebody else is left as it is.
    let log = scene.folder.join("foreign/_delta_log");
    std::fs::create_dir_all(&log).expect("made");
    let first = log.join("00000000000000000000.json");
    std::fs::write(&first, r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}"#)
        .expect("written");
    assert!(refused(&options(&scene, "foreign")).contains("reader 3"));
    assert!(!scene.store().join("runs/lake").exists());
}

#[test]
fn a_damaged_run_is_handed_over_in_part_if_that_was_asked_for() {
    let (scene, mut samples) = (Scene::new("damaged"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    let file = run_file(&scene);
    let mut bytes = std::fs::read(&file).expect("read");
    bytes[4096 + 40] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let strict = options(&scene, "table");
    let said = refused(&strict);
    assert!(said.contains("--skip-damaged") && said.contains(".run"), "{said}");
    assert_eq!((scene.told().rows, scene.told().versions), (0, 1));
    let skipping = Options { skip_damaged: true, ..options(&scene, "table") };
    assert_eq!(run(&skipping).expect("done"), Outcome::Lost);
    let rows = scene.told().rows;
    assert!(0 < rows && rows < 20 * SERIES, "{rows}");
    assert_eq!(run(&strict).expect("done"), Outcome::Done);
    assert_eq!(scene.told().rows, rows);
}

#[test]
fn a_store_is_released_and_handed_over_to_another_table() {
    let (scene, mut samples) = (Scene::new("released"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    let one = options(&scene, "table");
    let release = Options { table: None, release: true, ..options(&scene, "table") };
    assert_eq!(run(&release).expect("nothing to do"), Outcome::Done);
    assert_eq!(run(&one).expect("done"), Outcome::Done);
    let other = options(&scene, "other");
    assert!(refused(&other).contains("--release"));
    assert_eq!(run(&release).expect("done"), Outcome::Done);
    assert_eq!(run(&other).expect("done"), Outcome::Done);
    assert_eq!(crate::scene::told(&scene.folder.join("other")).rows, 20 * SERIES);
    // The first knows less from now on.
    assert_eq!(run(&release).expect("done"), Outcome::Done);
    assert!(refused(&one).contains("another since"));
    // What says all that is damaged: it is said, and released it is gone.
    let lake = scene.store().join("runs/lake");
    std::fs::write(&lake, "x").expect("written");
    assert!(refused(&other).contains("runs/lake"));
    assert_eq!(run(&release).expect("done"), Outcome::Done);
    assert!(!lake.exists());
    assert!(refused(&other).contains("a new table"));
}
