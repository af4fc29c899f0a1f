//! Files of a copy of the store that went on by itself: it gave the same epochs and ids to other things. And a log
//! of an earlier time as a whole. None is called whole, then or after further recordings.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use super::changed::{copy, declares, samples, session, verified};
use crate::common::{Folder, options};
use baro_log::{CATALOG, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{SegmentHeader, WhenFull};
use baro_recorder::{PinRequest, Recorder};
use baro_store::{Store, verify};
use baro_sys::storage::Access;
use std::path::Path;

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
