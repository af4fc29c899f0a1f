//! Stores that somebody has changed so that every CRC is right: files of another time or another history
//! put in place of those that were there. What is in the log is handed out, and nothing is called whole.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, init_at, options};
use baro_log::{CATALOG, MANIFEST, run_name, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    Field, FieldType, Layout, Manifest, SegmentHeader, Settled, StoreId, Type, WhenFull,
};
use baro_recorder::Recorder;
use baro_store::{
    BackupOptions, Damage, Error, Extent, Interval, Loss, Query, SettleOptions, Settler, Store,
    Values, backup, verify,
};
use baro_sys::storage::Access;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// A session with one sample at each of these times, whose value is `value`.
pub(super) fn session(path: &Path, times_ns: &[i64], value: f64) -> Vec<String> {
    let recorder = Recorder::open(path, options()).unwrap();
    let id = recorder.declare(&[("s", Type::F64, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    for time_ns in times_ns {
        producer.push_sample(id, *time_ns, value).unwrap();
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    closed.damage
}

pub(super) fn settle(path: &Path) {
    let mut settler = Settler::open(path, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

fn manifest(path: &Path) -> Manifest {
    Manifest::decode(&std::fs::read(path.join(MANIFEST)).unwrap()).unwrap()
}

fn put(path: &Path, manifest: &Manifest) {
    std::fs::write(path.join(MANIFEST), manifest.encode()).unwrap();
}

/// Times and values that a query finds, and what it says.
pub(super) fn samples(path: &Path) -> (Vec<(i64, f64)>, Vec<Damage>) {
    let store = Store::open(path).unwrap();
    let mut found = Vec::new();
    let notes = store.query_ids(&[1], &Query::raw(Interval::ALL), |batch| {
        let Values::F64(values) = batch.values else { panic!("floats") };
        found.extend(batch.times_ns.iter().copied().zip(values.iter().copied()));
        ControlFlow::Continue(())
    });
    (found, notes.unwrap().read.damage)
}

pub(super) fn verified(path: &Path) -> (bool, Vec<Damage>) {
    let report = verify(&Store::open(path).unwrap(), Access::Read, |_, _| {}).unwrap();
    (report.is_whole(), report.damage)
}

fn names(damage: &[Damage], file: &str, offset: u64) -> bool {
    damage.iter().any(|found| found.file == file && found.offset == offset && found.is_loss())
}

#[test]
fn more_settled_than_there_ever_was_hides_nothing() {
    for settled in [
        Settled { epoch: 1000, end: 0 },
        Settled { epoch: 4, end: 1 },
        Settled { epoch: 5, end: 0 },
        Settled { epoch: 3, end: 40 },
    ] {
        let folder = Folder::init("changed-settled", 8, WhenFull::Recycle);
        let path = folder.0.as_path();
        session(path, &[1, 2], 0.5);
        settle(path);
        session(path, &[3], 1.5);
        session(path, &[4, 5], 2.5);
        let before = [(1, 0.5), (2, 0.5), (3, 1.5), (4, 2.5), (5, 2.5)];
        assert_eq!(samples(path), (before.to_vec(), Vec::new()));
        let right = manifest(path);
        assert!(right.settled.last_epoch() == 1, "{right:?}");
        if settled.epoch == 3 {
            // Who changes it must know of which session that segment is.
            put(path, &Manifest { settled, ..right.clone() });
            let (found, damage) = samples(path);
            assert!(found == before && names(&damage, MANIFEST, 76), "{damage:?}");
        }
        let wrong = Manifest { settled, settled_crc: 0, ..right };
        put(path, &wrong);
        let offset = if settled.epoch > 3 { 40 } else { 48 };
        let kept = if offset == 40 { &before[..] } else { &before[3..] };
        let (found, damage) = samples(path);
        assert!(kept.iter().all(|one| found.contains(one)), "{settled:?}: {found:?}");
        assert!(names(&damage, MANIFEST, offset), "{settled:?}: {damage:?}");
        let (whole, damage) = verified(path);
        assert!(!whole && names(&damage, MANIFEST, offset), "{settled:?}: {damage:?}");
        // Whoever records or settles believes it no more, and it stays told.
        let said = session(path, &[6], 3.5);
        assert_eq!(said.len(), usize::from(offset == 40), "{said:?}");
        settle(path);
        let (found, damage) = samples(path);
        assert!(kept.iter().all(|one| found.contains(one)), "{settled:?}: {found:?}");
        assert!(found.contains(&(6, 3.5)));
        assert!(names(&damage, MANIFEST, 72), "{settled:?}: {damage:?}");
        assert!(!verified(path).0);
    }
}

#[test]
fn a_run_of_another_history_is_not_taken_for_the_one_that_is_meant() {
    let folders = ["changed-run-a", "changed-run-b", "changed-run-c"]
        .map(|name| Folder::init(name, 8, WhenFull::Recycle));
    let times: Vec<i64> = (0..500).collect();
    let values = [0.25, 0.26, 7.125];
    for (folder, value) in folders.iter().zip(values) {
        // The last is of another size too.
        let times = if value > 1.0 { &times[..99] } else { &times[..] };
        session(&folder.0, times, value);
        settle(&folder.0);
    }
    let path = folders[0].0.as_path();
    let run = run_name(manifest(path).runs[0].id);
    let own = std::fs::read(path.join(&run)).unwrap();
    assert_eq!(std::fs::metadata(folders[1].0.join(&run)).unwrap().len(), own.len() as u64);
    for other in &folders[1..] {
        std::fs::copy(other.0.join(&run), path.join(&run)).unwrap();
        let (found, damage) = samples(path);
        assert_eq!(found, []);
        assert!(names(&damage, &run, 0), "{damage:?}");
        let (whole, damage) = verified(path);
        assert!(!whole && names(&damage, &run, 0), "{damage:?}");
        // A manifest of an older version has no CRC of it: then only what else it says is compared.
        let mut older = manifest(path);
        older.runs[0].footer_crc = None;
        let whole = other.0 == folders[1].0;
        let right = manifest(path);
        put(path, &older);
        assert_eq!(verified(path).0, whole);
        put(path, &right);
    }
    std::fs::write(path.join(&run), own).unwrap();
    assert!(verified(path).0);
    assert_eq!(samples(path).0.len(), 500);
}

#[test]
fn a_segment_file_of_an_earlier_time_that_is_put_back_is_told_and_stays_told() {
    for when_full in [WhenFull::Stop, WhenFull::Recycle] {
        let folder = Folder::init("changed-segment", 4, when_full);
        let path = folder.0.as_path();
        let files = [0, 1, 2].map(|index| path.join(segment_name(index)));
        let blank = std::fs::read(&files[1]).unwrap();
        for number in 1..=3 {
            session(path, &[number], number as f64);
        }
        assert_eq!(verified(path), (true, Vec::new()));
        let second = std::fs::read(&files[1]).unwrap();
        if when_full == WhenFull::Recycle {
            // Once round, so that an earlier life can be put back too.
            (4..=7).for_each(|number| drop(session(path, &[number], number as f64)));
            assert_eq!(verified(path), (true, Vec::new()));
        }
        let own = std::fs::read(&files[1]).unwrap();
        for earlier in [&blank, &second] {
            std::fs::write(&files[1], earlier).unwrap();
            if *earlier == own {
                continue;
            }
            let (whole, damage) = verified(path);
            assert!(!whole, "{when_full:?}");
            let newest = segment_name(2);
            assert!(names(&damage, &newest, 4080), "{when_full:?}: {damage:?}");
            assert!(samples(path).1.iter().any(|found| found.loss == Loss::Replaced));
            std::fs::write(&files[1], &own).unwrap();
            assert_eq!(verified(path), (true, Vec::new()));
        }
        std::fs::write(&files[1], &blank).unwrap();
        let said = session(path, &[9], 9.0);
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(session(path, &[10], 9.0).len(), 1);
        let (whole, damage) = verified(path);
        assert!(!whole && damage.iter().all(|found| found.loss == Loss::Replaced), "{damage:?}");
    }
}

/// Whatever is in the place of a segment: a recorder that reuses it says that it did, and so do all later ones.
#[test]
fn a_segment_that_could_not_be_read_is_told_also_when_it_was_reused() {
    type Change = fn(&mut Vec<u8>, &[u8]);
    let changes: [(&str, Change); 7] = [
        // Its magic and version survive: as a crash leaves a header, but not of this one.
        ("begin", |own, _| own[64..].fill(0)),
        // Blocks behind the first one are there.
        ("cut", |own, _| own[..UNIT_BYTES + 64].iter_mut().for_each(|byte| *byte ^= 0x5a)),
        ("cut, torn", |own, _| own[100..UNIT_BYTES + 64].iter_mut().for_each(|byte| *byte ^= 0x5a)),
        ("zeros", |own, _| own[..2 * UNIT_BYTES].fill(0)),
        ("noise", |own, _| {
            own.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7 + 13) as u8 | 1);
        }),
        ("another", |own, other| own.copy_from_slice(other)),
        ("foreign", |own, _| {
            let (header, _) = SegmentHeader::decode(&own[..UNIT_BYTES]).unwrap();
            let foreign = SegmentHeader { store: StoreId([9; 16]), ..header };
            own[..UNIT_BYTES].copy_from_slice(&foreign.encode().0);
            own[UNIT_BYTES..2 * UNIT_BYTES].fill(1);
        }),
    ];
    for (name, change) in changes {
        let folder = Folder::init("changed-unread", 4, WhenFull::Recycle);
        let path = folder.0.as_path();
        (1..=7).for_each(|number| drop(session(path, &[number], number as f64)));
        assert_eq!(verified(path), (true, Vec::new()));
        let [file, other] = [1, 2].map(|index| path.join(segment_name(index)));
        let mut bytes = std::fs::read(&file).unwrap();
        change(&mut bytes, &std::fs::read(other).unwrap());
        std::fs::write(&file, bytes).unwrap();
        assert!(!verified(path).0, "{name}");
        for number in 8..=14 {
            session(path, &[number], number as f64);
            let (whole, damage) = verified(path);
            assert!(!whole, "{name} {number}: {damage:?}");
        }
        assert!(verified(path).1.iter().any(|found| found.loss == Loss::Reused), "{name}");
        assert!(samples(path).1.iter().any(|found| found.loss == Loss::Reused), "{name}");
    }
}

/// A crash tears one header at most, and no other than the oldest segment's.
#[test]
fn of_two_torn_headers_one_at_least_is_lost_and_that_stays_told() {
    for when_full in [WhenFull::Stop, WhenFull::Recycle] {
        let folder = Folder::init(
            "changed-torn",
            if when_full == WhenFull::Stop { 16 } else { 4 },
            when_full,
        );
        let path = folder.0.as_path();
        (1..=7).for_each(|number| drop(session(path, &[number], number as f64)));
        assert_eq!(verified(path), (true, Vec::new()));
        // Magic and version survive; of the first block nothing does.
        for index in [0, 1] {
            let file = path.join(segment_name(index));
            let mut bytes = std::fs::read(&file).unwrap();
            bytes[64..2 * UNIT_BYTES].fill(0);
            std::fs::write(&file, bytes).unwrap();
        }
        let (whole, damage) = verified(path);
        assert!(!whole, "{when_full:?}: {damage:?}");
        assert!(samples(path).1.iter().any(Damage::is_loss), "{when_full:?}");
        for number in 8..=14 {
            session(path, &[number], number as f64);
            let (whole, damage) = verified(path);
            assert!(!whole, "{when_full:?} {number}: {damage:?}");
        }
        if when_full == WhenFull::Recycle {
            assert!(verified(path).1.iter().any(|found| found.loss == Loss::Reused));
        }
    }
    // The two oldest: a failed write leaves the header of the one, and then a crash that of the other.
    let folder = Folder::init("changed-torn-oldest", 4, WhenFull::Recycle);
    let path = folder.0.as_path();
    (1..=7).for_each(|number| drop(session(path, &[number], number as f64)));
    for index in [3, 0] {
        let file = path.join(segment_name(index));
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[64..2 * UNIT_BYTES].fill(0);
        std::fs::write(&file, bytes).unwrap();
    }
    assert!(verified(path).0);
}

/// A session that declares a series, with one sample: its id, and what is told at the end.
pub(super) fn declares(path: &Path, name: &str) -> (u32, Vec<String>) {
    let recorder = Recorder::open(path, options()).unwrap();
    let id = recorder.declare(&[(name, Type::F64, "")]).unwrap()[0];
    recorder.producer().unwrap().push_sample(id, i64::from(id), 0.5).unwrap();
    (id, recorder.close().damage)
}

/// As a kill leaves it: what was declared since the last header is known by its records alone.
#[test]
fn an_id_that_only_records_know_is_not_given_again() {
    let folder = Folder::init("changed-killed", 8, WhenFull::Recycle);
    let path = folder.0.as_path();
    declares(path, "a");
    let earlier = std::fs::read(path.join(CATALOG)).unwrap();
    let recorder = Recorder::open(path, options()).unwrap();
    let mut producer = recorder.producer().unwrap();
    for (name, time_ns) in [("a", 10), ("b", 11)] {
        let id = recorder.declare(&[(name, Type::F64, "")]).unwrap()[0];
        let sequence = producer.push_sample(id, time_ns, 0.5).unwrap();
        while producer.durable() <= sequence {
            std::thread::sleep(Duration::from_millis(1));
        }
        // One that nobody declared numbers no others behind it, nor does it hide those beside it.
        producer.push_sample(50 << 20, time_ns, 0.5).unwrap();
    }
    // The files of now are what a kill leaves.
    let killed = Folder::new("changed-killed-copy");
    copy(path, &killed.0);
    drop((producer, recorder));
    std::fs::write(killed.0.join(CATALOG), earlier).unwrap();
    let (id, _) = declares(&killed.0, "c");
    assert_eq!((id, samples_of(&killed.0, id)), (3, vec![3]));
    assert!(!verified(&killed.0).0, "what has no name any more is told");
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, to) = (entry.unwrap(), to.to_owned());
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Whoever declares after the catalog's end was lost gets an id that nobody had: else what is there would answer
/// to another name.
#[test]
fn a_catalog_that_lost_its_end_gives_no_id_twice() {
    for settles in [false, true] {
        let folder = Folder::init("changed-catalog", 8, WhenFull::Recycle);
        let path = folder.0.as_path();
        let file = path.join(CATALOG);
        let mut catalogs = vec![std::fs::read(&file).unwrap()];
        for (name, id) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(declares(path, name), (id, Vec::new()));
            catalogs.push(std::fs::read(&file).unwrap());
        }
        if settles {
            settle(path);
        }
        let mut highest = 3;
        for earlier in catalogs.iter().take(3).rev() {
            std::fs::write(&file, earlier).unwrap();
            let damage = Store::open(path).unwrap().damage();
            let is_short =
                |found: &Damage| found.loss == Loss::Declarations && found.file == CATALOG;
            assert!(damage.iter().any(is_short), "{damage:?}");
            let (id, told) = declares(path, "d");
            // From the second time on it is known besides.
            let before = usize::from(told.len() == 2 && told[0].contains("belong together"));
            let told = &told[before..];
            assert!(id > highest && told.len() == 1, "{settles} {id} {highest} {told:?}");
            // The first time there is a dictionary that still has them.
            let all_back = settles && highest == 3;
            let said = if all_back { "missing: it is of" } else { "its end is lost" };
            assert!(told[0].contains(said), "{told:?}");
            highest = id;
            let found = Store::open(path).unwrap().catalog().get(id).unwrap().unwrap();
            assert_eq!((found.name.as_str(), samples_of(path, id)), ("d", vec![i64::from(id)]));
            assert_eq!(verified(path).0, all_back, "{settles}: what has no name any more is told");
        }
        // Of another store, all of its ids mean something else.
        let other = Folder::new("changed-catalog-other");
        init_at(&other.0, [9; 16], 8, WhenFull::Recycle);
        declares(&other.0, "x");
        std::fs::copy(other.0.join(CATALOG), &file).unwrap();
        let refused = Recorder::open(path, options()).map(drop).unwrap_err().to_string();
        assert!(refused.contains("catalog") && refused.contains("store id"), "{refused}");
    }
}

/// An older catalog beside the dictionary of a younger one: all names are there again once somebody records.
#[test]
fn names_that_only_the_dictionary_has_are_declared_again() {
    let folder = Folder::init("changed-dictionary", 8, WhenFull::Recycle);
    let path = folder.0.as_path();
    declares(path, "a");
    let earlier = std::fs::read(path.join(CATALOG)).unwrap();
    declares(path, "b");
    let recorder = Recorder::open(path, options()).unwrap();
    let fields = vec![Field::new("x", FieldType::F64, 0), Field::new("y", FieldType::U16, 8)];
    let layout = Layout::new(fields).unwrap();
    assert_eq!(recorder.declare_channel_with_layout("c", &layout).unwrap(), 3);
    assert_eq!(recorder.close().damage, Vec::<String>::new());
    Store::open(path).unwrap().write_dictionary(|_| {}).unwrap().unwrap();
    std::fs::write(path.join(CATALOG), earlier).unwrap();
    let (id, told) = declares(path, "d");
    assert!(id == 4 && told.len() == 1 && told[0].contains("found 2 missing"), "{id} {told:?}");
    assert_eq!(declares(path, "b"), (2, Vec::new()));
    for left in ["dictionary", "none"] {
        let store = Store::open(path).unwrap();
        for (name, id) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            let found = store.catalog().lookup(name).unwrap().unwrap();
            assert_eq!(found.id, id, "{left}");
        }
        let channel = store.catalog().get(3).unwrap().unwrap();
        assert_eq!(channel.layout.as_deref(), Some(&layout));
        assert_eq!(verified(path), (true, Vec::new()));
        store.write_dictionary(|_| {}).unwrap();
    }
}

/// The first unit alone is of another place, or of another store: what is behind it is this store's.
#[test]
fn a_header_that_is_not_this_segments_hides_none_of_its_blocks() {
    let folder = Folder::init("changed-header", 8, WhenFull::Recycle);
    let path = folder.0.as_path();
    (1..=4).for_each(|number| drop(session(path, &[number], 0.5)));
    let [file, other] = [1, 2].map(|index| path.join(segment_name(index)));
    let own = std::fs::read(&file).unwrap();
    let other = std::fs::read(other).unwrap();
    let (header, _) = SegmentHeader::decode(&own[..UNIT_BYTES]).unwrap();
    let foreign = SegmentHeader { store: StoreId([9; 16]), ..header }.encode().0;
    for unit in [&other[..UNIT_BYTES], &foreign[..]] {
        let mut bytes = own.clone();
        bytes[..UNIT_BYTES].copy_from_slice(unit);
        std::fs::write(&file, &bytes).unwrap();
        let (found, damage) = samples(path);
        assert_eq!(found, [(1, 0.5), (2, 0.5), (3, 0.5), (4, 0.5)]);
        assert!(damage.iter().any(|found| found.file == segment_name(1)), "{damage:?}");
        assert!(!verified(path).0);
    }
    // It was so before: the next recorder does not say that it was done while it recorded.
    assert_eq!(session(path, &[5], 0.5), Vec::<String>::new());
    assert_eq!(samples(path).0.len(), 5);
}

/// A copy is a store like any other once somebody records into it.
#[test]
fn what_is_put_back_in_a_restored_copy_is_told_too() {
    let folder = Folder::init("changed-backup", 4, WhenFull::Recycle);
    let copied = Folder::new("changed-backup-copy");
    let blank = std::fs::read(folder.0.join(segment_name(0))).unwrap();
    (1..=2).for_each(|number| drop(session(&folder.0, &[number], 0.5)));
    let path = copied.0.as_path();
    backup(&folder.0, path, &BackupOptions::default(), &mut |_| {}).unwrap();
    let file = path.join(segment_name(0));
    for number in 3..=4 {
        assert_eq!(session(path, &[number], 0.5), Vec::<String>::new());
        assert_eq!(verified(path), (true, Vec::new()));
    }
    std::fs::write(&file, blank).unwrap();
    let said = session(path, &[5], 0.5);
    assert!(said.len() == 1 && said[0].contains("put back"), "{said:?}");
}

/// Times of the samples of an id.
fn samples_of(path: &Path, id: u32) -> Vec<i64> {
    let store = Store::open(path).unwrap();
    let mut times_ns = Vec::new();
    let all = Query::raw(Interval::ALL);
    let notes = store.query_ids(&[id], &all, |batch| {
        times_ns.extend_from_slice(batch.times_ns);
        ControlFlow::Continue(())
    });
    notes.unwrap();
    times_ns
}

#[test]
fn an_older_manifest_that_is_put_back_is_told_and_nothing_is_done_by_it() {
    let folder = Folder::init("changed-manifest", 8, WhenFull::Recycle);
    let path = folder.0.as_path();
    session(path, &[1], 0.5);
    settle(path);
    let first = std::fs::read(path.join(MANIFEST)).unwrap();
    session(path, &[2], 1.5);
    settle(path);
    let second = std::fs::read(path.join(MANIFEST)).unwrap();
    session(path, &[3], 2.5);
    settle(path);
    assert_eq!(verified(path), (true, Vec::new()));
    let third = std::fs::read(path.join(MANIFEST)).unwrap();
    // A header knows of the first, as one that was begun since; of the second the run is one too many.
    for (older, offset) in [(Some(&first), 32), (None, 32)] {
        match older {
            Some(older) => std::fs::write(path.join(MANIFEST), older).unwrap(),
            None => std::fs::remove_file(path.join(MANIFEST)).unwrap(),
        }
        let (whole, damage) = verified(path);
        assert!(!whole && names(&damage, MANIFEST, offset), "{damage:?}");
        let (found, damage) = samples(path);
        assert!(found.len() == 3 && names(&damage, MANIFEST, offset), "{found:?} {damage:?}");
        let files = std::fs::read_dir(path.join("runs")).unwrap().count();
        let mut settler = Settler::open(path, SettleOptions::default()).unwrap();
        let refused = settler.step(Extent::All);
        assert!(matches!(refused, Err(Error::Manifest { .. })), "{refused:?}");
        // What has no samples is not passed over by it either: that would make it as young as it should be.
        let passed = settler.pass_over(1000);
        assert!(matches!(passed, Err(Error::Manifest { .. })), "{passed:?}");
        drop(settler);
        let (whole, damage) = verified(path);
        assert!(!whole && names(&damage, MANIFEST, offset), "{damage:?}");
        let mut store = Store::open(path).unwrap();
        let refused = store.delete_in(&[1], Interval::ALL);
        assert!(matches!(refused, Err(Error::Manifest { .. })), "{refused:?}");
        // Nor is anything removed that the newest one names.
        assert_eq!(std::fs::read_dir(path.join("runs")).unwrap().count(), files);
    }
    std::fs::write(path.join(MANIFEST), &second).unwrap();
    let mut wrong = manifest(path);
    wrong.next_run = wrong.runs[0].id + 1;
    wrong.runs.truncate(1);
    put(path, &wrong);
    let (whole, damage) = verified(path);
    assert!(!whole && names(&damage, MANIFEST, 56), "{damage:?}");
    assert!(matches!(Settler::open(path, SettleOptions::default()), Err(Error::Manifest { .. })));
    std::fs::write(path.join(MANIFEST), &third).unwrap();
    assert_eq!(verified(path), (true, Vec::new()));
    settle(path);
}
