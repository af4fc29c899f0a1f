//! What a table has after hand-overs, merging, dropping, deleting and kills.
#![allow(clippy::disallowed_methods, reason = "tests")]

mod beside;
mod checkpoints;
mod place;
mod readers;

use super::*;
use crate::place::{Local, Output};
use crate::scene::{Samples, Scene, lake_over, local, newest};
use baro_store::{Interval, RunRetention};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const SERIES: u64 = 5;

#[test]
fn what_has_settled_is_handed_over_once_with_all_that_is_known_of_it() {
    let (scene, mut samples) = (Scene::new("once"), Samples::new());
    scene.record("store", 0, 50, &mut samples);
    assert_eq!(scene.hand_over(), 50 * SERIES);
    assert_eq!(scene.hand_over(), 0);
    // Half of these times are there already: the later value counts.
    scene.record("store", 25, 50, &mut samples);
    assert_eq!(scene.settle(2, RunRetention::default()).merged, 0);
    assert_eq!(scene.hand_over(), 50 * SERIES);
    let told = scene.told();
    assert_eq!((told.rows, told.versions, told.files.len()), (100 * SERIES, 3, 2));
    let rows = scene.rows();
    assert_eq!(rows.len() as u64, told.rows);
    assert_eq!(newest(&rows), samples);
    let row = rows.iter().find(|row| row.metric == "temp").expect("it is there");
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(row.labels, [label("line", "3"), label("site", "a")]);
    assert_eq!((row.unit.as_str(), row.store.len()), ("C", 32));
    // What the table has is merged, and is not handed over again.
    assert_eq!(scene.settle(2, RunRetention::default()).merged, 1);
    assert_eq!(scene.hand_over(), 0);
    scene.record("store", 100, 10, &mut samples);
    assert_eq!(scene.hand_over(), 10 * SERIES);
    assert_eq!(newest(&scene.rows()), samples);
}

#[test]
fn runs_that_were_merged_before_come_whole_and_in_the_order_of_recording() {
    let (scene, mut samples) = (Scene::new("merged"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    scene.record("store", 10, 20, &mut samples);
    scene.record("store", 15, 20, &mut samples);
    // The older two or all three become one run, with the highest number.
    assert_eq!(scene.settle(3, RunRetention::default()).merged, 1);
    scene.record("store", 18, 20, &mut samples);
    // In two commits, which is no matter for what is later.
    let mut lake = scene.lake();
    lake.portion_bytes = 1;
    let done = lake.round().expect("done");
    assert_eq!((done.samples, done.version), ((35 + 20) * SERIES, Some(2)));
    assert_eq!(newest(&scene.rows()), samples);
}

#[test]
fn the_store_keeps_what_the_table_has_not_got_until_it_is_released() {
    let (scene, mut samples) = (Scene::new("kept"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    scene.hand_over();
    scene.record("store", 20, 20, &mut samples);
    scene.record("store", 40, 20, &mut samples);
    let nothing = RunRetention { keep_bytes: Some(0), ..RunRetention::default() };
    let done = scene.settle(2, nothing);
    // The first has been handed over. The others are not dropped, and merged with each other alone.
    assert_eq!((done.dropped.runs, done.merged), (1, 1));
    assert_eq!(scene.hand_over(), 40 * SERIES);
    assert_eq!(newest(&scene.rows()), samples);
    scene.record("store", 60, 20, &mut samples);
    let store = scene.open();
    let held = store.handover().expect("readable").expect("known");
    store.put_handover(Some(&Handover { holds: false, ..held })).expect("released");
    scene.record("store", 80, 20, &mut samples);
    // What it has stays apart from what it has not also then.
    assert_eq!(scene.settle(2, RunRetention::default()).merged, 1);
    assert_eq!(scene.hand_over(), 40 * SERIES);
    assert_eq!(newest(&scene.rows()), samples);
    assert_eq!(scene.rows().len(), samples.len());
}

#[test]
fn a_run_that_is_written_anew_without_what_was_deleted_is_not_handed_over_again() {
    let (scene, mut samples) = (Scene::new("deleted"), Samples::new());
    scene.record("store", 0, 20, &mut samples);
    scene.hand_over();
    scene.record("store", 20, 20, &mut samples);
    scene.open().delete(&[2], Interval::ALL).expect("deleted");
    // Both are written anew, and have the standing that they had.
    assert_eq!(scene.settle(100, RunRetention::default()).cleaned, 2);
    assert_eq!(scene.hand_over(), 20 * (SERIES - 1));
    assert_eq!(scene.hand_over(), 0);
    assert_eq!(scene.told().rows, 20 * SERIES + 20 * (SERIES - 1));
}

#[test]
fn two_stores_share_a_table_and_each_knows_its_own() {
    let (scene, mut samples) = (Scene::new("two"), Samples::new());
    scene.init("other", *b"another of tests");
    scene.record("store", 0, 10, &mut samples);
    scene.record("other", 0, 30, &mut Samples::new());
    assert_eq!(scene.hand_over(), 10 * SERIES);
    let other = || Store::open(&scene.folder.join("other")).expect("opened");
    let place = || local(&scene.table());
    assert_eq!(lake_over(other(), place()).round().expect("done").samples, 30 * SERIES);
    assert_eq!(lake_over(other(), place()).round().expect("done").samples, 0);
    assert_eq!(scene.hand_over(), 0);
    assert_eq!(scene.told().rows, 40 * SERIES);
    // Another table for a store that is held is refused, and changes nothing.
    let elsewhere = local(&scene.folder.join("elsewhere"));
    let error = lake_over(scene.open(), elsewhere).round().expect_err("held").to_string();
    assert!(error.contains("--release"), "{error}");
    assert_eq!(scene.hand_over(), 0);
}

#[test]
fn a_table_that_lost_versions_and_a_store_that_is_an_older_copy_are_refused() {
    let (scene, mut samples) = (Scene::new("apart"), Samples::new());
    scene.record("store", 0, 10, &mut samples);
    let before = scene.copy("apart-before");
    scene.hand_over();
    let held = scene.copy("apart-held");
    scene.record("store", 10, 10, &mut samples);
    scene.hand_over();
    let refused = |store: Store| {
        let place = local(&scene.table());
        lake_over(store, place).round().expect_err("apart").to_string()
    };
    assert!(refused(before.open()).contains("a new table"));
    assert!(refused(held.open()).contains("older copy"));
    let last = scene.table().join(commit_name(2));
    baro_sys::files::remove(&last).expect("it is there");
    assert!(refused(scene.open()).contains("lost versions"));
}

/// What comes of an operation at a place that dies.
#[derive(Clone, Copy, Debug)]
enum Dies {
    Before,
    /// It is done, and nobody learns of it.
    After,
}

/// A table's folder of a process that is killed after so many operations.
#[derive(Clone, Debug)]
struct Mortal {
    inner: Rc<Local>,
    left: Arc<AtomicI64>,
    dies: Dies,
    /// What somebody else does before a version is committed, once.
    beside: Rc<RefCell<Option<Beside>>>,
}

#[derive(Debug)]
enum Beside {
    HandsOver(Box<Lake<Local>>),
    Commits(Vec<u8>, u64),
}

fn killed() -> Error {
    baro_sys::Error::new("go on", "", io::Error::other("killed")).into()
}

impl Mortal {
    fn over(scene: &Scene, operations: i64, dies: Dies) -> Self {
        let inner = Rc::new(local(&scene.table()));
        let (left, beside) = (Arc::new(AtomicI64::new(operations)), Rc::default());
        Mortal { inner, left, dies, beside }
    }

    fn step<T>(&self, run: impl FnOnce(&Local) -> Result<T>) -> Result<T> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        match self.dies {
            _ if left > 1 => run(&self.inner),
            Dies::After if left == 1 => run(&self.inner).and_then(|_| Err(killed())),
            _ => Err(killed()),
        }
    }
}

impl Place for Mortal {
    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        self.inner.size(name)
    }

    fn make_log(&self) -> Result<()> {
        self.step(|place| place.make_log())
    }

    fn tidy(&self) {
        self.inner.tidy();
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.step(|place| place.names(folder))
    }

    fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        self.step(|place| place.read(name, bytes_max))
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        match self.beside.borrow_mut().take() {
            Some(Beside::HandsOver(mut lake)) => drop(lake.round().expect("the other goes first")),
            Some(Beside::Commits(bytes, version)) => {
                assert!(self.inner.put_new(&commit_name(version), &bytes).expect("it is free"));
            }
            None => {}
        }
        self.step(|place| place.put_new(name, bytes))
    }

    fn begin(&self, name: &str) -> Result<Box<dyn Output>> {
        let output = self.step(|place| place.begin(name))?;
        Ok(Box::new(MortalOutput { output, left: Arc::clone(&self.left), dies: self.dies }))
    }

    fn sync_names(&self, folder: &str) -> Result<()> {
        self.step(|place| place.sync_names(folder))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.step(|place| place.remove(name))
    }
}

#[derive(Debug)]
struct MortalOutput {
    output: Box<dyn Output>,
    left: Arc<AtomicI64>,
    dies: Dies,
}

impl Write for MortalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.left.load(Ordering::Relaxed) > 0 {
            true => self.output.write(bytes),
            false => Err(io::Error::other("killed")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl Output for MortalOutput {
    fn finish(self: Box<Self>) -> Result<u64> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        match self.dies {
            _ if left > 1 => self.output.finish(),
            Dies::After if left == 1 => self.output.finish().and_then(|_| Err(killed())),
            _ => Err(killed()),
        }
    }
}

#[test]
fn a_kill_at_every_step_loses_and_doubles_nothing() {
    let (model, mut samples) = (Scene::new("killed"), Samples::new());
    model.record("store", 0, 10, &mut samples);
    model.record("store", 10, 10, &mut samples);
    let mut more = samples.clone();
    let later = model.copy("killed-later");
    later.record("store", 20, 10, &mut more);
    let (mut kills, mut handed_later) = (0, std::collections::BTreeSet::new());
    for dies in [Dies::Before, Dies::After] {
        for operations in 1.. {
            // First the killed one makes the table, then it goes on with one.
            let scene = later.copy("killed-life");
            let mut lake = lake_over(scene.open(), Mortal::over(&scene, operations, dies));
            // A commit for each run.
            lake.portion_bytes = 1;
            let first = lake.round().and_then(|done| done.then.map_or(Ok(()), Err));
            let nothing = RunRetention { keep_bytes: Some(0), ..RunRetention::default() };
            if first.is_err() {
                kills += 1;
                // Beside it runs are merged and dropped, as far as that is allowed.
                scene.settle(2, RunRetention::default());
                let handed = scene.hand_over();
                assert_eq!(handed % (10 * SERIES), 0, "{dies:?} {operations}");
                handed_later.insert(handed / (10 * SERIES));
            }
            let told = scene.told();
            assert_eq!(told.rows, 30 * SERIES, "{dies:?} at {operations}");
            assert_eq!(newest(&scene.rows()), more, "{dies:?} at {operations}");
            // Now the table has it all, and the store may drop it.
            assert_eq!(scene.hand_over(), 0);
            assert!(scene.settle(2, nothing).dropped.runs > 0);
            if first.is_ok() {
                break;
            }
        }
    }
    assert!(kills > 10, "{kills}");
    assert_eq!(handed_later.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn a_commit_of_another_goes_first_and_one_of_the_same_runs_ends_ours() {
    let (scene, mut samples) = (Scene::new("beside"), Samples::new());
    scene.init("other", *b"another of tests");
    scene.record("store", 0, 10, &mut samples);
    scene.record("other", 0, 30, &mut Samples::new());
    scene.hand_over();
    scene.record("store", 10, 10, &mut samples);
    let mortal = || Mortal::over(&scene, i64::MAX, Dies::Before);
    let other = Store::open(&scene.folder.join("other")).expect("opened");
    let other = lake_over(other, local(&scene.table()));
    let place = mortal();
    *place.beside.borrow_mut() = Some(Beside::HandsOver(Box::new(other)));
    assert_eq!(lake_over(scene.open(), place).round().expect("done").version, Some(3));
    scene.record("store", 20, 10, &mut samples);
    let lock = scene.open().lock_handover().expect("asked").expect("free");
    let error = scene.lake().round().expect_err("another hands it over");
    assert!(matches!(error, Error::AlreadyRunning), "{error}");
    drop(lock);
    // From another machine that lock is not seen, but the commit is.
    let place = mortal();
    let store = scene.open();
    let (app, id) = (format!("barograph/{}", store.identity().store), store.identity().store);
    *place.beside.borrow_mut() = Some(Beside::Commits(added(&app, 2, &[], id, 0), 4));
    let error = lake_over(store, place).round().expect_err("overtaken");
    assert!(matches!(error, Error::Overtaken { .. }), "{error}");
    assert_eq!(scene.told().rows, 50 * SERIES);
    // What it had written is gone again.
    let names = local(&scene.table()).names("").expect("listed");
    let files = names.iter().filter(|name| name.ends_with(".parquet")).count();
    assert_eq!(files, scene.told().files.len());
}

#[test]
fn what_was_offered_to_a_table_stays_as_it_is_until_the_table_was_asked() {
    let (scene, mut samples) = (Scene::new("offered"), Samples::new());
    for from in [0, 10] {
        scene.record("store", from, 10, &mut samples);
    }
    // Killed with its last operation: the commit is there, and nobody was told.
    let count = |scene: &Scene| {
        let place = Mortal::over(scene, i64::MAX, Dies::After);
        let left = Arc::clone(&place.left);
        lake_over(scene.open(), place).round().expect("done");
        i64::MAX - left.load(Ordering::Relaxed)
    };
    let operations = count(&scene.copy("offered-once"));
    let place = Mortal::over(&scene, operations, Dies::After);
    lake_over(scene.open(), place).round().expect_err("killed");
    assert_eq!(scene.told().rows, 20 * SERIES);
    for from in [20, 30] {
        scene.record("store", from, 10, &mut samples);
    }
    // Those that came later are merged, those that were offered are not; nothing is dropped.
    let nothing = RunRetention { keep_bytes: Some(0), ..RunRetention::default() };
    let done = scene.settle(2, nothing);
    assert_eq!((done.dropped.runs, done.merged), (0, 1));
    assert_eq!(scene.hand_over(), 20 * SERIES);
    assert_eq!(scene.settle(2, RunRetention::default()).merged, 2);
    assert_eq!(scene.hand_over(), 0);
    assert_eq!((scene.rows().len(), newest(&scene.rows())), (samples.len(), samples));
}
