//! The journal on a real file system below a fake root: round trip, owners, damage.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use baro_tune::{Error, Journal, OnConflict, Options, Setting, UndoneAs};

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const READ_AHEAD: &str = "/sys/block/sda/queue/read_ahead_kb";
const FILES: [(&str, &str); 5] = [
    ("/proc/sys/kernel/random/boot_id", "2be83dfc-444c-4bf6-9e21-3609b81e4818\n"),
    ("/proc/sys/vm/dirty_bytes", "0\n"),
    ("/proc/sys/vm/dirty_ratio", "20\n"),
    (SWAPPINESS, "60\n"),
    (READ_AHEAD, "1024\n"),
];

/// A directory with a root and a state directory, removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let place = Place(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tune-root-{name}")));
        let _ = fs::remove_dir_all(&place.0);
        for (path, text) in FILES {
            let path = place.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join("root").join(path.trim_start_matches('/'))
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn options(&self) -> Options {
        let (state_dir, root) = (self.0.join("state/tune"), self.0.join("root"));
        Options { state_dir, root, ..Options::default() }
    }

    fn journal(&self) -> PathBuf {
        self.0.join("state/tune/journal")
    }

    fn assert_as_found(&self) {
        for (path, text) in FILES {
            assert_eq!(self.text(path), text, "{path}");
        }
        assert!(!self.journal().exists());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn apply_three(journal: &mut Journal) {
    for (path, value) in [(SWAPPINESS, "5"), (READ_AHEAD, "64"), (SWAPPINESS, "1")] {
        journal.apply(&Setting::new(path, value)).unwrap();
    }
}

#[test]
fn dropping_the_journal_undoes() {
    let place = Place::new("drop");
    let (mut journal, report) = Journal::open(&place.options()).unwrap();
    assert!(report.settings.is_empty());
    apply_three(&mut journal);
    assert_eq!((place.text(SWAPPINESS), place.text(READ_AHEAD)), ("1\n".into(), "64\n".into()));
    drop(journal);
    place.assert_as_found();
}

#[test]
fn undoing_reports_each_setting_once_last_one_first() {
    let place = Place::new("undo");
    let (mut journal, _) = Journal::open(&place.options()).unwrap();
    apply_three(&mut journal);
    let report = journal.undo_all(OnConflict::Leave);
    let expected =
        format!("{READ_AHEAD}: restored to \"1024\"\n{SWAPPINESS}: restored to \"60\"\n");
    assert_eq!(report.to_string(), expected);
    place.assert_as_found();
    assert!(journal.undo_all(OnConflict::Leave).settings.is_empty());
}

#[test]
fn a_second_owner_is_refused_and_told_the_first() {
    let place = Place::new("owners");
    let (mut journal, _) = Journal::open(&place.options()).unwrap();
    apply_three(&mut journal);
    let refused = Journal::open(&place.options()).unwrap_err();
    let own = std::process::id();
    assert!(matches!(refused, Error::Held { pid: Some(pid), .. } if pid == own));
    assert!(refused.to_string().contains(&format!("held by process {own} or")));
    assert_eq!(place.text(SWAPPINESS), "1\n");
    drop(journal);
    Journal::open(&place.options()).unwrap();
}

#[test]
fn a_damaged_journal_is_refused_named_and_left_as_it_is() {
    let place = Place::new("damage");
    let (mut journal, _) = Journal::open(&place.options()).unwrap();
    apply_three(&mut journal);
    let whole = fs::read_to_string(place.journal()).unwrap();
    drop(journal);
    let damaged = whole.replace("\t1024\t", "\t1025\t");
    assert_ne!(damaged, whole);
    for (text, line) in [(damaged.as_str(), 3), ("", 1), ("\0\0\0\0", 1)] {
        fs::write(place.journal(), text).unwrap();
        let error = Journal::open(&place.options()).unwrap_err();
        let Error::Damaged { file, line: found, .. } = &error else { panic!("{error}") };
        assert_eq!((file, *found), (&place.journal(), line));
        assert!(error.to_string().contains(": expected a line with the checksum "), "{error}");
        assert!(error.to_string().contains("put back by hand"), "{error}");
        assert_eq!(fs::read_to_string(place.journal()).unwrap(), text);
    }
    fs::write(place.journal(), b"\xff\xfe").unwrap();
    let error = Journal::open(&place.options()).unwrap_err();
    assert!(matches!(error, Error::Damaged { line: 1, .. }), "{error}");
    // The same text undamaged is taken: the files hold what was found already.
    fs::write(place.journal(), whole).unwrap();
    let (_, report) = Journal::open(&place.options()).unwrap();
    assert!(report.settings.iter().all(|undone| matches!(undone.result, UndoneAs::Unchanged)));
    place.assert_as_found();
}

#[test]
fn what_cannot_be_journalled_is_not_set() {
    let place = Place::new("unwritable");
    let (mut journal, _) = Journal::open(&place.options()).unwrap();
    // A directory in the place of the journal: root's rights do not help.
    let blocked = place.journal();
    fs::create_dir(&blocked).unwrap();
    let error = journal.apply(&Setting::new(SWAPPINESS, "5")).unwrap_err();
    assert!(error.to_string().contains("rename to journal"), "{error}");
    assert_eq!(place.text(SWAPPINESS), "60\n");
    fs::remove_dir(&blocked).unwrap();
    let left: Vec<_> = fs::read_dir(place.0.join("state/tune")).unwrap().collect();
    assert_eq!(left.len(), 1, "the lock alone: {left:?}");
    drop(journal);
    place.assert_as_found();
}

#[test]
fn a_missing_setting_is_an_error_and_not_a_new_file() {
    let place = Place::new("missing");
    let (mut journal, _) = Journal::open(&place.options()).unwrap();
    let error = journal.apply(&Setting::new("/proc/sys/vm/min_free_kbytes", "5")).unwrap_err();
    assert!(
        error.to_string().contains("/proc/sys/vm/min_free_kbytes: read: No such file"),
        "{error}"
    );
    assert!(!place.at("/proc/sys/vm/min_free_kbytes").exists());
    assert!(!place.journal().exists());
}

#[test]
fn what_is_kept_lies_below_an_ordinary_owner_and_goes_only_when_told() {
    let place = Place::new("kept");
    let options = place.options();
    assert!(!Journal::has_kept(&options));
    let keep = |value: &str| {
        let (_held, _) = Journal::open(&options).unwrap();
        let (mut kept, _) = Journal::open_kept(&options).unwrap();
        kept.apply(&Setting::new(SWAPPINESS, value)).unwrap();
    };
    keep("5");
    assert_eq!(place.text(SWAPPINESS), "5\n");
    assert!(Journal::has_kept(&options) && !place.journal().exists());
    // An ordinary owner puts back what was kept, not what was found before that.
    let (mut journal, report) = Journal::open(&options).unwrap();
    assert!(report.settings.is_empty(), "{report}");
    apply_three(&mut journal);
    assert_eq!(place.text(SWAPPINESS), "1\n");
    drop(journal);
    assert_eq!((place.text(SWAPPINESS), place.text(READ_AHEAD)), ("5\n".into(), "1024\n".into()));
    // Kept once more: the first value found is the one to go back to.
    keep("7");
    let (mut kept, report) = Journal::open_kept(&options).unwrap();
    assert!(report.settings.is_empty(), "{report}");
    let refused = Journal::open_kept(&options).unwrap_err();
    assert!(matches!(refused, Error::Held { .. }), "{refused}");
    let expected = format!("{SWAPPINESS}: restored to \"60\"\n");
    assert_eq!(kept.undo_all(OnConflict::Leave).to_string(), expected);
    drop(kept);
    assert!(!Journal::has_kept(&options));
    place.assert_as_found();
}
