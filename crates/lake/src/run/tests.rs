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
    // Of a path only the last folder is made.
    assert!(refused(&options(&scene, "mistyped/table")).contains("is its file system mounted"));
    assert!(!scene.folder.join("mistyped").exists());
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

#[test]
fn a_table_that_is_not_mounted_is_asked_for_and_none_is_made_in_its_place() {
    let (scene, mut samples) = (Scene::new("unmounted"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    let one = options(&scene, "table");
    assert_eq!(run(&one).expect("done"), Outcome::Done);
    let table = scene.open().handover().expect("readable").expect("known").table;
    let id = crate::delta::uuid(table);
    // A mount point is there, or is not: nothing is made in it.
    std::fs::rename(scene.table(), scene.folder.join("away")).expect("moved");
    for is_there in [false, true] {
        if is_there {
            std::fs::create_dir(scene.table()).expect("made");
        }
        let said = refused(&one);
        assert!(said.contains(&id) && said.contains("mounted"), "{said}");
        assert!(said.find("mounted") < said.find("--release"), "{said}");
        assert!(said.contains(&scene.table().display().to_string()), "{said}");
        assert_eq!(scene.table().exists(), is_there);
    }
    assert_eq!(std::fs::read_dir(scene.table()).expect("listed").count(), 0);
    // Another table is there.
    let other = options(&scene, "other");
    let release = Options { table: None, release: true, ..options(&scene, "table") };
    std::fs::create_dir(scene.folder.join("other")).expect("made");
    let stranger = scene.copy("unmounted-stranger");
    crate::scene::lake_over(stranger.open(), crate::scene::local(&stranger.table()));
    run(&release).expect("released");
    run(&other).expect("done");
    let second = scene.open().handover().expect("readable").expect("known").table;
    std::fs::remove_dir(scene.table()).expect("empty");
    std::fs::rename(scene.folder.join("away"), scene.table()).expect("moved");
    let said = refused(&one);
    assert!(said.contains(&id) && said.contains(&crate::delta::uuid(second)), "{said}");
}

#[test]
fn what_cannot_be_opened_keeps_runs_and_lets_settling_the_log_go_on() {
    let (scene, mut samples) = (Scene::new("unopened"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    assert_eq!(run(&options(&scene, "table")).expect("done"), Outcome::Done);
    let (lake, away) = (scene.store().join("runs/lake"), scene.folder.join("lake"));
    std::fs::rename(&lake, &away).expect("moved");
    // What is no file cannot be opened, whoever asks.
    std::fs::create_dir(&lake).expect("made");
    scene.record("store", 20, 20, &mut samples);
    let nothing = baro_store::RunRetention { keep_bytes: Some(0), ..<_>::default() };
    let done = scene.settle(2, nothing);
    assert_eq!((done.dropped.runs, done.merged), (0, 0));
    assert!(done.damage.iter().any(|damage| damage.file == "runs/lake"), "{done:?}");
    assert!(refused(&options(&scene, "table")).contains("runs/lake"));
    std::fs::remove_dir(&lake).expect("empty");
    std::fs::rename(&away, &lake).expect("moved");
    assert_eq!(scene.hand_over(), 20 * SERIES);
}

#[test]
fn names_that_may_be_lost_are_no_names_of_numbers_in_a_table() {
    let (scene, mut samples) = (Scene::new("names"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    let catalog = scene.store().join("catalog");
    let mut bytes = std::fs::read(&catalog).expect("read");
    bytes[4096 + 60] ^= 1;
    std::fs::write(&catalog, bytes).expect("written");
    for name in std::fs::read_dir(scene.store()).expect("listed") {
        let path = name.expect("an entry").path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().contains("dictionary")) {
            std::fs::remove_file(path).expect("removed");
        }
    }
    let strict = options(&scene, "table");
    let said = refused(&strict);
    assert!(said.contains("catalog") && said.contains("baro recover"), "{said}");
    assert_eq!(scene.told().rows, 0);
    let skipping = Options { skip_damaged: true, ..options(&scene, "table") };
    assert_eq!(run(&skipping).expect("done"), Outcome::Lost);
    assert_eq!(scene.told().rows, 20 * SERIES);
}
