//! Owners with journals in different folders, on one fake machine: the second of a disk is refused and
//! told who has it, that of another disk is not, and what a killed one left is found wherever its journal
//! is.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use baro_tune::{Error, Journal, OnConflict, Options, Setting, UndoneAs, is_disk};

const PLACE: &str = "BARO_OWNERS_TEST_PLACE";
const STATE: &str = "BARO_OWNERS_TEST_STATE";
const DISK: &str = "BARO_OWNERS_TEST_DISK";

fn file(disk: &str, name: &str) -> String {
    format!("/sys/block/{disk}/queue/{name}")
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let place = Place(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("owners-{name}")));
        let _ = fs::remove_dir_all(&place.0);
        place.put("/proc/sys/kernel/random/boot_id", "boot");
        for disk in ["sda", "sdb"] {
            place.put(&file(disk, "scheduler"), "[none] bfq");
            place.put(&file(disk, "nr_requests"), "128");
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join("root").join(path.trim_start_matches('/'))
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn get(&self, disk: &str) -> String {
        fs::read_to_string(self.at(&file(disk, "nr_requests"))).unwrap().trim().to_owned()
    }

    fn options(&self, state: &str) -> Options {
        let (state_dir, root) = (self.0.join(state), self.0.join("root"));
        Options { state_dir, root, ..Options::default() }
    }

    fn open(&self, state: &str) -> Journal {
        Journal::open(&self.options(state)).unwrap().0
    }

    /// Notes of owners that are there.
    fn notes(&self) -> usize {
        let folder = fs::read_dir(self.0.join("root/run/barograph-settings")).unwrap();
        folder.filter(|one| one.as_ref().unwrap().file_name() != "lock").count()
    }

    /// Another process that has `disk`, its journal in `state`.
    fn owner(&self, state: &str, disk: &str) -> Owner {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["owner_to_be_killed", "--exact", "--nocapture"])
            .env(PLACE, &self.0)
            .env(STATE, state)
            .env(DISK, disk)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line.ends_with("it is set")));
        Owner(child)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Owner(Child);

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn requests(disk: &str, value: &str) -> Setting {
    Setting::new(file(disk, "nr_requests"), value)
}

/// Not a test but the process to be killed.
#[test]
fn owner_to_be_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let place = std::mem::ManuallyDrop::new(Place(place.into()));
    let mut journal = place.open(&std::env::var(STATE).unwrap());
    journal.apply(&requests(&std::env::var(DISK).unwrap(), "32")).unwrap();
    println!("it is set");
    // Until it is killed, or its parent is.
    let _ = std::io::stdin().lines().next();
}

#[test]
fn a_disk_has_one_owner_wherever_journals_are() {
    let place = Place::new("two");
    let mut first = place.open("one");
    first.apply(&requests("sda", "32")).unwrap();
    let mut second = place.open("two");
    let refused = second.apply(&requests("sda", "64")).unwrap_err();
    let own = std::process::id();
    assert!(matches!(&refused, Error::Claimed { owner, .. } if owner.pid == own), "{refused}");
    let said = refused.to_string();
    assert!(said.contains("disk sda: its settings are held by owners-"), "{said}");
    assert!(said.contains(&format!("(process {own}, since 20")), "{said}");
    assert!(second.claim_disk("sda").is_err());
    second.apply(&requests("sdb", "64")).unwrap();
    assert_eq!((place.get("sda"), place.get("sdb")), ("32".into(), "64".into()));
    let mut held = Journal::owners(&place.0.join("root"));
    held.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(is_disk(&held[0].0, "sda") && is_disk(&held[1].0, "sdb") && held.len() == 2);
    // Nothing was noted of what was refused; what one gives back another may have.
    assert!(first.undo_all(OnConflict::Leave).is_clean());
    second.apply(&requests("sda", "64")).unwrap();
    drop(second);
    assert_eq!((place.get("sda"), place.get("sdb")), ("128".into(), "128".into()));
    assert_eq!(place.notes(), 0);
}

#[test]
fn what_a_killed_owner_left_is_told_and_put_back_by_the_next_of_that_disk() {
    let place = Place::new("killed");
    let owner = place.owner("one", "sda");
    let pid = owner.0.id();
    let refused = place.open("two").apply(&requests("sda", "64")).unwrap_err();
    assert!(matches!(&refused, Error::Claimed { owner, .. } if owner.pid == pid), "{refused}");
    assert!(Journal::left(&place.options("two")).is_empty(), "its owner lives");
    drop(owner);
    let left = Journal::left(&place.options("two"));
    assert_eq!((left[0].was.as_str(), left[0].found.as_str(), left.len()), ("128", "32", 1));
    assert_eq!(left[0].owner.as_ref().map(|owner| owner.pid), Some(pid));
    // Another disk's owner leaves it alone; that disk's does not.
    let mut next = place.open("two");
    next.apply(&requests("sdb", "64")).unwrap();
    assert!(next.take_undone().settings.is_empty());
    next.apply(&requests("sda", "64")).unwrap();
    let undone = next.take_undone();
    assert!(matches!(undone.settings[0].result, UndoneAs::Restored { .. }), "{undone}");
    drop(next);
    assert_eq!((place.get("sda"), place.get("sdb")), ("128".into(), "128".into()));
    assert!(Journal::left(&place.options("two")).is_empty() && place.notes() == 0);
    assert!(!place.0.join("one/journal").exists());
}

#[test]
fn the_journal_beside_it_and_all_others_are_put_back_when_that_is_asked_for() {
    let place = Place::new("beside");
    drop(place.owner("one/share", "sda"));
    drop(place.owner("two", "sdb"));
    let (mut journal, report) = Journal::open(&place.options("one")).unwrap();
    assert_eq!(report.settings.len(), 1, "{report}");
    assert_eq!((place.get("sda"), place.get("sdb")), ("128".into(), "32".into()));
    let report = journal.undo_left();
    assert!(report.is_clean() && report.settings.len() == 1, "{report}");
    assert_eq!((place.get("sdb"), place.notes()), ("128".into(), 0));
}

#[test]
fn what_is_kept_is_put_back_when_nobody_holds_the_disk() {
    let place = Place::new("kept");
    let (_first, _) = Journal::open(&place.options("one")).unwrap();
    let (mut kept, _) = Journal::open_kept(&place.options("one")).unwrap();
    kept.apply(&requests("sda", "32")).unwrap();
    drop(kept);
    assert_eq!(place.notes(), 0, "it has no owner");
    let mut other = place.open("two");
    other.claim_disk("sda").unwrap();
    let (mut kept, _) = Journal::open_kept(&place.options("one")).unwrap();
    for rule in [OnConflict::Leave, OnConflict::Overwrite] {
        let report = kept.undo_all(rule);
        assert!(matches!(report.settings[0].result, UndoneAs::Held(_)), "{report}");
        assert!(
            !report.is_clean() && report.to_string().contains("sda/queue/nr_requests: held by")
        );
        assert_eq!(place.get("sda"), "32");
    }
    drop(other);
    assert!(kept.undo_all(OnConflict::Leave).is_clean());
    assert_eq!((place.get("sda"), place.notes()), ("128".into(), 0));
}

/// Its lock goes with the folder, but never from under who holds it.
#[test]
fn the_folder_of_a_journal_is_removed_after_its_last_owner() {
    let place = Place::new("remove-folder");
    let folder = place.0.join("state");
    let journal = place.open("state");
    assert!(matches!(Journal::remove_folder(&folder), Err(Error::Held { .. })));
    assert!(folder.join("lock").exists());
    assert!(matches!(Journal::open(&place.options("state")), Err(Error::Held { .. })));
    drop(journal);
    Journal::remove_folder(&folder).unwrap();
    assert!(!folder.exists());
    Journal::remove_folder(&folder).unwrap();
}
