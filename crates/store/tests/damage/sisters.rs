//! Files of a copy of the store that went on by itself: it gave the same epochs and ids to other things. And a log
//! of an earlier time as a whole. None is called whole, then or after further recordings.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use super::changed::{copy, declares, samples, session, settle, verified};
use crate::common::{Folder, options};
use baro_log::{CATALOG, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{SegmentHeader, WhenFull};
use baro_recorder::{PinRequest, Recorder};
use baro_store::{Interval, Query, Store, Values, verify};
use baro_sys::storage::Access;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Two copies of a store that went on, each by itself, and declared: ids of the one mean other names in the other.
#[test]
fn a_catalog_of_a_copy_that_went_on_by_itself_is_told_and_stays_told() {
    for (covered, killed) in [(false, false), (true, false), (false, true)] {
        let folder = Folder::init("changed-sister", 8, WhenFull::Recycle);
        let other = Folder::new("changed-sister-other");
        let path = folder.0.as_path();
        assert_eq!(declares(path, "a"), (1, Vec::new()));
        copy(path, &other.0);
        assert_eq!(declares(path, "b"), (2, Vec::new()));
        assert_eq!(declares(&other.0, "c"), (2, Vec::new()));
        if covered {
            Store::open(path).unwrap().write_dictionary(|_| {}).unwrap().unwrap();
        }
        if killed {
            // Its end is not told: what the next header says of the catalog counts.
            assert_eq!(session(path, &[7], 0.5), Vec::<String>::new());
            assert_eq!(session(path, &[8], 0.5), Vec::<String>::new());
        }
        assert_eq!(verified(path), (true, Vec::new()));
        std::fs::copy(other.0.join(CATALOG), path.join(CATALOG)).unwrap();
        let damage = Store::open(path).unwrap().damage();
        assert!(damage.iter().any(|found| found.file == CATALOG && found.is_loss()), "{damage:?}");
        for name in ["d", "e", "f"] {
            let (_, told) = declares(path, name);
            assert_eq!(told.len(), 1, "{covered} {name}: {told:?}");
            assert!(!verified(path).0, "{covered} {name}");
        }
    }
}

/// The catalog is the one that the log tells of: it is not made another by a dictionary of a copy.
#[test]
fn a_dictionary_of_a_copy_that_went_on_by_itself_is_removed() {
    let folder = Folder::init("changed-sister-names", 8, WhenFull::Recycle);
    let other = Folder::new("changed-sister-names-other");
    let path = folder.0.as_path();
    declares(path, "a");
    copy(path, &other.0);
    assert_eq!(declares(path, "b"), (2, Vec::new()));
    assert_eq!((declares(&other.0, "c").0, declares(&other.0, "d").0), (2, 3));
    Store::open(&other.0).unwrap().write_dictionary(|_| {}).unwrap().unwrap();
    std::fs::copy(other.0.join("dictionary"), path.join("dictionary")).unwrap();
    assert!(!verified(path).0);
    let (id, told) = declares(path, "e");
    assert!(id == 3 && told.len() == 1 && told[0].contains("dictionary"), "{id} {told:?}");
    assert_eq!(declares(path, "b"), (2, Vec::new()));
    assert_eq!(verified(path), (true, Vec::new()));
}

/// Of an earlier time, and no dictionary: a recorder that declares nothing anew does not make it whole.
#[test]
fn an_earlier_catalog_without_a_dictionary_stays_told() {
    let folder = Folder::init("changed-earlier", 8, WhenFull::Recycle);
    let path = folder.0.as_path();
    declares(path, "a");
    let earlier = std::fs::read(path.join(CATALOG)).unwrap();
    declares(path, "b");
    std::fs::write(path.join(CATALOG), earlier).unwrap();
    for _ in 0..3 {
        let (_, told) = declares(path, "a");
        assert!(told.iter().any(|said| said.contains("its end is lost")), "{told:?}");
        assert!(!verified(path).0);
    }
}

/// The copy has given the same epochs, to segments of the same numbers.
#[test]
fn a_segment_of_a_copy_that_went_on_by_itself_is_told_and_stays_told() {
    let folder = Folder::init("changed-twin", 8, WhenFull::Recycle);
    let other = Folder::new("changed-twin-other");
    let path = folder.0.as_path();
    session(path, &[1], 0.5);
    copy(path, &other.0);
    (2..=4).for_each(|time_ns| drop(session(path, &[time_ns], 0.5)));
    (12..=14).for_each(|time_ns| drop(session(&other.0, &[time_ns], 1.5)));
    let header = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        SegmentHeader::decode(&bytes[..UNIT_BYTES]).unwrap().0
    };
    let name = segment_name(2);
    let (ours, theirs) = (header(&path.join(&name)), header(&other.0.join(&name)));
    assert_eq!((ours.epoch, ours.index), (theirs.epoch, theirs.index));
    assert_eq!(verified(path), (true, Vec::new()));
    std::fs::copy(other.0.join(&name), path.join(&name)).unwrap();
    assert!(!verified(path).0);
    for time_ns in 5..=7 {
        let said = session(path, &[time_ns], 0.5);
        assert!(said.len() == 1 && said[0].contains("put back"), "{said:?}");
        assert!(!verified(path).0);
    }
}

/// All of the log is of an earlier time, and belongs together; what is beside it tells that there was more.
#[test]
fn a_log_of_an_earlier_time_is_told_by_pins_and_gives_no_epoch_twice() {
    let folder = Folder::init("changed-log", 12, WhenFull::Recycle);
    let earlier = Folder::new("changed-log-earlier");
    let path = folder.0.as_path();
    session(path, &[1], 0.5);
    copy(&path.join("log"), &earlier.0);
    (2..=5).for_each(|time_ns| drop(session(path, &[time_ns], 0.5)));
    let recorder = Recorder::open(path, options()).unwrap();
    let request = PinRequest { before_ns: 0, after_ns: 0, ..PinRequest::default() };
    recorder.pin(&request).unwrap();
    assert_eq!(recorder.close().damage, Vec::<String>::new());
    assert_eq!(verified(path), (true, Vec::new()));
    copy(&earlier.0, &path.join("log"));
    let said = session(path, &[20], 0.5);
    assert!(said.len() == 1 && said[0].contains("has never come further than 1"), "{said:?}");
    let store = Store::open(path).unwrap();
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert!(!report.is_whole(), "{report:?}");
    let said = session(path, &[21], 0.5);
    assert!(said.len() == 1 && said[0].contains("put back"), "{said:?}");
    assert_eq!(samples(path).0, [(1, 0.5), (20, 0.5), (21, 0.5)]);
}

/// Every series by its name, with what a query finds; `None` if the store cannot be opened.
fn answers(path: &Path) -> Option<BTreeMap<String, Vec<(i64, u64)>>> {
    let store = Store::open(path).ok()?;
    let mut ids = Vec::new();
    let scanned = store.catalog().scan(|found| {
        ids.push((found.id, found.name.to_owned()));
        ControlFlow::Continue(())
    });
    scanned.ok()?;
    let mut all = BTreeMap::new();
    for (id, name) in ids {
        let found: &mut Vec<(i64, u64)> = all.entry(name).or_default();
        let asked = store.query_ids(&[id], &Query::raw(Interval::ALL), |batch| {
            let Values::F64(values) = batch.values else { panic!("floats") };
            let values = values.iter().map(|value| value.to_bits());
            found.extend(batch.times_ns.iter().copied().zip(values));
            ControlFlow::Continue(())
        });
        asked.ok()?;
    }
    Some(all)
}

/// Some sessions with names and values of their own, the first ones settled.
fn goes_on(path: &Path, own: &str, first_ns: i64) {
    let value = first_ns as f64;
    for round in 0..3_i64 {
        declares(path, &format!("{own}{round}"));
        session(path, &[first_ns + round], value);
    }
    settle(path);
    Store::open(path).unwrap().write_dictionary(|_| {}).unwrap();
    session(path, &[first_ns + 7], value);
    let recorder = Recorder::open(path, options()).unwrap();
    recorder.pin(&PinRequest { before_ns: 0, after_ns: 0, ..PinRequest::default() }).unwrap();
    assert_eq!(recorder.close().damage, Vec::<String>::new());
}

/// Files below a folder, by their names in it.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = PathBuf::from(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path()).into_iter().map(|file| name.join(file))),
            false => found.push(name),
        }
    }
    found.sort();
    found
}

/// Of these files of `other` in place of the store's own: the steps after which all is whole, with other answers.
fn silent(path: &Path, other: &Path, deed: &[PathBuf]) -> Vec<&'static str> {
    let tried = Folder::new("sisters-tried");
    let before = answers(path).unwrap();
    copy(path, &tried.0);
    for file in deed {
        assert!(std::fs::copy(other.join(file), tried.0.join(file)).is_ok(), "{file:?}");
    }
    let mut wrong = Vec::new();
    for step in ["at once", "after a recording", "after two"] {
        if step != "at once" {
            match Recorder::open(&tried.0, options()) {
                Ok(recorder) => drop(recorder.close()),
                Err(_) => break,
            }
            declares(&tried.0, "z");
        }
        let Some(mut now) = answers(&tried.0) else { break };
        now.remove("z");
        if verified(&tried.0).0 && now != before {
            wrong.push(step);
        }
    }
    wrong
}

/// Each file, and each folder as a whole, of a copy that went on by itself in place of the store's own, and some files
/// at random: what is whole then answers as before, at once and after a recording.
#[test]
fn whatever_is_taken_from_a_copy_that_went_on_by_itself_is_told_or_changes_no_answer() {
    let folder = Folder::init("sisters", 16, WhenFull::Recycle);
    let other = Folder::new("sisters-other");
    let path = folder.0.as_path();
    session(path, &[1], 0.5);
    declares(path, "a");
    settle(path);
    copy(path, &other.0);
    goes_on(path, "b", 100);
    goes_on(&other.0, "c", 200);
    assert_eq!(answers(path).unwrap()["s"].len(), 5);
    assert!(verified(path).0 && verified(&other.0).0);
    let is_same = |file: &PathBuf| {
        std::fs::read(path.join(file)).ok() == std::fs::read(other.0.join(file)).ok()
    };
    let mut theirs = files(&other.0);
    theirs.retain(|file| !is_same(file));
    let mut deeds: Vec<Vec<PathBuf>> = theirs.iter().map(|file| vec![file.clone()]).collect();
    for parts in [&["log"][..], &["runs"], &["pins"], &["catalog", "dictionary"], &["log", "runs"]]
    {
        let of = |file: &&PathBuf| parts.iter().any(|part| file.starts_with(part));
        deeds.push(theirs.iter().filter(of).cloned().collect());
    }
    let more: u64 = std::env::var("BARO_SISTERS_COUNT").map_or(3, |count| count.parse().unwrap());
    for seed in 0..more {
        let mut bits = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits ^= bits >> 29;
        let chosen = theirs.iter().enumerate().filter(|(at, _)| bits >> (at % 64) & 1 == 1);
        deeds.push(chosen.map(|(_, file)| file.clone()).collect());
    }
    let tried = deeds.len();
    let found = deeds.into_iter().map(|deed| (silent(path, &other.0, &deed), deed));
    let found: Vec<_> = found.filter(|(steps, _)| !steps.is_empty()).collect();
    assert!(found.is_empty(), "{} of {tried} whole, with other answers: {found:#?}", found.len());
}
