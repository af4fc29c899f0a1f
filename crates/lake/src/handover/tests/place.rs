//! A table's folder that is moved, restored, cleaned up, shared with other users, or on a server whose
//! answers get lost.
#![allow(clippy::disallowed_methods, reason = "tests")]

use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// What a server does to a commit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    /// It is made, and the answer is that the name is taken.
    Taken,
    /// It is made, the answer is that the name is taken, and it is not to be seen.
    TakenUnseen,
    /// A file was removed by others before.
    FileGone,
}

/// A table's folder on such a server.
#[derive(Debug)]
struct Server {
    inner: Local,
    answer: Answer,
    is_unseen: RefCell<bool>,
}

impl Place for Server {
    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.inner.names(folder)
    }

    fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        if self.is_unseen.replace(false) { Ok(None) } else { self.inner.read(name, bytes_max) }
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        let is_gone = self.answer == Answer::FileGone && name.ends_with(".parquet");
        if is_gone { Ok(None) } else { self.inner.size(name) }
    }

    fn make_log(&self) -> Result<()> {
        self.inner.make_log()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        assert!(self.inner.put_new(name, bytes)?);
        if name != commit_name(0) {
            self.is_unseen.replace(self.answer == Answer::TakenUnseen);
        }
        Ok(false)
    }

    fn begin(&self, name: &str) -> Result<Box<dyn Output>> {
        self.inner.begin(name)
    }

    fn sync_names(&self, folder: &str) -> Result<()> {
        self.inner.sync_names(folder)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn tidy(&self) {}
}

fn parquet_files(table: &Path) -> usize {
    let names = fs::read_dir(table).expect("listed").map(|entry| entry.expect("an entry").path());
    names.filter(|path| path.extension().is_some_and(|end| end == "parquet")).count()
}

#[test]
fn a_commit_whose_answer_is_lost_is_known_again() {
    for answer in [Answer::Taken, Answer::TakenUnseen, Answer::FileGone] {
        let (scene, mut samples) = (Scene::new("answers"), Samples::new());
        scene.record("store", 0, 10, &mut samples);
        let server = Server { inner: local(&scene.table()), answer, is_unseen: RefCell::default() };
        let done = lake_over(scene.open(), server).round();
        match answer {
            Answer::Taken => assert_eq!(done.expect("done").version, Some(1)),
            // Nobody knows, so nothing is removed, and the next one finds it.
            Answer::TakenUnseen => {
                assert!(matches!(done, Err(Error::Overtaken { .. })), "{done:?}")
            }
            Answer::FileGone => {
                let error = done.expect_err("gone").to_string();
                assert!(error.contains(".parquet"), "{error}");
                assert_eq!((scene.told().versions, parquet_files(&scene.table())), (1, 0));
            }
        }
        assert_eq!(scene.hand_over() > 0, answer == Answer::FileGone);
        assert_eq!((scene.told().rows, newest(&scene.rows())), (10 * SERIES, samples));
    }
}

#[test]
fn a_folder_that_was_moved_or_replaced_is_neither_read_nor_written() {
    let (scene, mut samples) = (Scene::new("moved"), Samples::new());
    scene.record("store", 0, 10, &mut samples);
    let mut lake = scene.lake();
    assert_eq!(lake.round().expect("done").samples, 10 * SERIES);
    scene.record("store", 10, 10, &mut samples);
    let away = scene.folder.join("away");
    fs::rename(scene.table(), &away).expect("moved");
    for is_there in [false, true] {
        if is_there {
            fs::create_dir(scene.table()).expect("made");
        }
        let error = lake.round().expect_err("elsewhere");
        assert!(matches!(error, Error::Replaced) && !error.may_pass(), "{error}");
    }
    assert_eq!(fs::read_dir(scene.table()).expect("listed").count(), 0);
    assert_eq!((crate::scene::told(&away).versions, parquet_files(&away)), (2, 1));
    fs::remove_dir(scene.table()).expect("empty");
    fs::rename(&away, scene.table()).expect("moved");
    assert_eq!(lake.round().expect("done").samples, 10 * SERIES);
    assert_eq!(newest(&scene.rows()), samples);
}

#[test]
fn a_table_that_was_restored_meanwhile_is_not_gone_on_with() {
    let (scene, mut samples) = (Scene::new("restored"), Samples::new());
    let mut lake = scene.lake();
    for from in [0, 10] {
        scene.record("store", from, 10, &mut samples);
        assert_eq!(lake.round().expect("done").samples, 10 * SERIES);
    }
    // Restored to what it was before: the last commit is gone from the same folder.
    let last = scene.table().join(commit_name(2));
    let bytes = fs::read(&last).expect("read");
    fs::remove_file(&last).expect("removed");
    scene.record("store", 20, 10, &mut samples);
    let error = lake.round().expect_err("restored").to_string();
    assert!(error.contains("lost versions"), "{error}");
    assert_eq!(scene.told().versions, 2);
    fs::write(&last, bytes).expect("written");
    assert_eq!(lake.round().expect("done").samples, 10 * SERIES);
    assert_eq!((newest(&scene.rows()), scene.rows().len()), (samples.clone(), samples.len()));
    // Restored while files are written: the commit is not tried.
    scene.record("store", 30, 10, &mut samples);
    let mut log = Log::default();
    log.begin(&local(&scene.table()), "nobody").expect("read");
    fs::remove_file(scene.table().join(commit_name(3))).expect("removed");
    let place = local(&scene.table());
    let mut commit =
        Commit { place: &place, app: "nobody", added: &[], bytes: b"{}", may_be: false };
    let error = commit.put(&mut log).expect_err("restored");
    assert!(matches!(error, Error::Rewritten { .. }) && !commit.may_be, "{error}");
    assert_eq!((scene.told().versions, log.next), (3, 0));
}

#[test]
fn who_may_read_the_folder_may_read_the_table() {
    for (rights, files) in [(0o750, 0o640), (0o2775, 0o664), (0o700, 0o600), (0o1777, 0o644)] {
        let (scene, mut samples) = (Scene::new("rights"), Samples::new());
        scene.record("store", 0, 10, &mut samples);
        fs::create_dir(scene.table()).expect("made");
        fs::set_permissions(scene.table(), Permissions::from_mode(rights)).expect("changed");
        scene.hand_over();
        let mode =
            |name: &str| fs::metadata(scene.table().join(name)).expect("there").mode() & 0o3777;
        let told = scene.told();
        assert_eq!(mode(LOG) & 0o777, rights & 0o777);
        assert_eq!(mode(LOG) & 0o2000, rights & 0o2000);
        for name in [commit_name(0), commit_name(1), told.files[0].clone()] {
            assert_eq!(mode(&name), files, "{rights:o} {name}");
        }
    }
    // A folder that is made here is for its owner and his group.
    let (scene, mut samples) = (Scene::new("rights-new"), Samples::new());
    scene.record("store", 0, 10, &mut samples);
    scene.hand_over();
    assert_eq!(fs::metadata(scene.table()).expect("there").mode() & 0o27, 0);
}

#[test]
fn what_killed_ones_have_left_goes_and_what_is_being_written_stays() {
    let (scene, mut samples) = (Scene::new("left"), Samples::new());
    scene.record("store", 0, 10, &mut samples);
    scene.hand_over();
    let part = |number: u32| format!(".baro-{number:016x}.part");
    let held = scene.table().join(part(1));
    let names = [held.clone(), scene.table().join(part(2)), scene.table().join(LOG).join(part(3))];
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    for path in &names {
        let file = fs::File::create(path).expect("made");
        file.set_modified(long_ago).expect("set");
    }
    let fresh = scene.table().join(part(4));
    fs::write(&fresh, "x").expect("written");
    let file = fs::File::open(&held).expect("opened");
    file.lock().expect("held");
    scene.hand_over();
    assert_eq!(names.each_ref().map(|path| path.exists()), [true, false, false]);
    assert!(fresh.exists());
}

#[test]
fn a_run_that_is_not_read_now_is_never_skipped_and_the_others_are_told_each_round() {
    let (scene, mut samples) = (Scene::new("passing"), Samples::new());
    scene.record("store", 0, 10, &mut samples);
    let runs = scene.store().join("runs");
    let runs = fs::read_dir(runs).expect("listed").map(|entry| entry.expect("an entry").path());
    let run = runs.into_iter().find(|path| path.extension().is_some_and(|end| end == "run"));
    let (run, away) = (run.expect("a run"), scene.folder.join("away"));
    // As a restore leaves it that has not copied it yet.
    fs::rename(&run, &away).expect("moved");
    let mut lake = Lake::new(scene.open(), local(&scene.table()), true);
    for _ in 0..2 {
        let error = lake.round().expect_err("away");
        assert!(matches!(error, Error::Unread { .. }) && error.may_pass(), "{error}");
    }
    assert_eq!((scene.told().rows, parquet_files(&scene.table())), (0, 0));
    // Once it is said to last it is left out, since that was asked for.
    for since_ns in lake.unread.values_mut() {
        *since_ns = 0;
    }
    if clock::monotonic_ns() >= UNREAD_NS {
        assert_eq!(lake.round().expect("skipped").damage.len(), 1);
    } else {
        fs::rename(&away, &run).expect("moved");
        assert_eq!(lake.round().expect("done").samples, 10 * SERIES);
    }
}

#[test]
fn runs_before_a_damaged_one_go_and_it_is_told_each_round() {
    let (scene, mut samples) = (Scene::new("portions"), Samples::new());
    for from in [0, 10, 20, 30] {
        scene.record("store", from, 10, &mut samples);
    }
    let damage = || {
        let run = scene.store().join("runs").join("0000000000000002.run");
        let mut bytes = fs::read(&run).expect("read");
        bytes[4096 + 40] ^= 1;
        fs::write(&run, bytes).expect("written");
    };
    damage();
    let mut lake = scene.lake();
    let done = lake.round().expect("two of them");
    assert_eq!((done.runs, done.samples, done.version), (2, 20 * SERIES, Some(1)));
    assert!(matches!(done.then, Some(Error::Damaged { .. })), "{:?}", done.then);
    for _ in 0..2 {
        let error = lake.round().expect_err("told");
        assert!(matches!(error, Error::Damaged { .. }) && error.may_pass(), "{error}");
    }
    assert_eq!((scene.told().versions, parquet_files(&scene.table())), (2, 1));
    // Restored, the others go, each in a commit of its own.
    damage();
    let mut lake = scene.lake();
    lake.portion_bytes = 1;
    let done = lake.round().expect("done");
    assert_eq!((done.runs, done.version, done.files), (2, Some(3), 2));
    assert!(done.then.is_none());
    assert_eq!((newest(&scene.rows()), scene.rows().len()), (samples.clone(), samples.len()));
}
