//! Backups: the copy reads as the store does, a second one copies what is new, what was deleted or has
//! grown too old is gone from it, and a power cut at any moment leaves the state before or a younger one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, Pushed, options};
use baro_log::{Geometry, ManifestLock, Role, StoreLock, init_growing};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{PinRequest, Recorder, Retention};
use baro_store::{
    BackedUp, BackupOptions, Error, Extent, Interval, Query, SettleOptions, Settler, Store, Values,
    backup, backup_in, verify,
};
use baro_sys::disk::Disk;
use baro_sys::sim::{Fault, Rng, SimDisk, Survival};
use baro_sys::storage::{Access, Storage as _, StorageFile as _};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const NAMES: [(&str, Type, &str); 3] =
    [("frames", Type::Channel, ""), ("t", Type::F64, "K"), ("u", Type::F64, "")];
const DAY_NS: i64 = 86_400_000_000_000;

/// Samples and frames of one day.
fn record_day(path: &Path, day: i64) {
    let retention = Retention { keep_unsettled: true, ..Retention::default() };
    let recorder = Recorder::open(path, baro_recorder::Options { retention, ..options() }).unwrap();
    assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
    let mut producer = recorder.producer().unwrap();
    for n in 0..200 {
        let time_ns = day * DAY_NS + n * 1_000_000;
        let bits = [n as f64, (n as f64).sqrt()].map(|value| value.to_bits().cast_signed());
        producer.push_words(&[time_ns; 2], &[2, 3], &bits).unwrap();
        producer.push_frame(1, time_ns, &[n as u8; 2000]).unwrap();
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
}

fn settle(path: &Path) {
    let mut settler = Settler::open(path, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

/// What a store has.
#[derive(Default, PartialEq, Eq)]
struct Contents {
    samples: BTreeSet<(u32, i64, u64)>,
    frames: BTreeSet<Pushed>,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} samples, {} frames", self.samples.len(), self.frames.len())
    }
}

fn contents(store: &Store) -> Contents {
    let mut found = Contents::default();
    let notes = store.query_ids(&[2, 3], &Query::raw(Interval::ALL), |batch| {
        let Values::F64(values) = batch.values else { panic!("{batch:?}") };
        let rows = batch.times_ns.iter().zip(values);
        found.samples.extend(rows.map(|(t, v)| (batch.target.id, *t, v.to_bits())));
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    let notes = store.records_as_written(|record| {
        if record.stream == 1 {
            found.frames.insert(Pushed::of(record));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().damage, []);
    found
}

fn of(path: &Path) -> Contents {
    contents(&Store::open(path).unwrap())
}

fn to(from: &Folder, copy: &Folder) -> BackedUp {
    let done = backup(&from.0, &copy.0, &BackupOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(done.damage, []);
    let store = Store::open(&copy.0).unwrap();
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole(), "{:?}", report.damage);
    assert_eq!(report.runs_unnamed, Vec::<String>::new());
    done
}

fn why(from: &Folder, copy: &Path) -> String {
    match backup(&from.0, copy, &BackupOptions::default(), &mut |_| {}) {
        Err(error @ Error::NotABackup { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_copy_reads_as_the_store_does_and_the_next_backup_brings_what_is_new() {
    let (folder, copy) = (Folder::init("backup", 8, WhenFull::Recycle), Folder::new("backup-copy"));
    record_day(&folder.0, 1);
    settle(&folder.0);
    record_day(&folder.0, 2);
    let first = to(&folder, &copy);
    assert!(first.first && first.runs == 1 && first.segments == 2, "{first:?}");
    assert_eq!(of(&copy.0), of(&folder.0));
    let again = to(&folder, &copy);
    assert!(!again.first && again.runs == 0 && again.segments == 0, "{again:?}");
    assert_eq!(again.bytes, 0, "nothing is new");
    for day in 3..12 {
        record_day(&folder.0, day);
        if day % 3 == 0 {
            settle(&folder.0);
        }
        let done = to(&folder, &copy);
        assert!(done.segments <= 3 && done.there_bytes > 0, "day {day}: {done:?}");
        assert_eq!(of(&copy.0), of(&folder.0), "day {day}");
    }
    // What is recorded into the copy is not taken away again.
    record_day(&copy.0, 20);
    let samples = of(&copy.0).samples.len();
    assert!(why(&folder, &copy.0).contains("recorded into it"));
    assert_eq!(of(&copy.0).samples.len(), samples);
}

#[test]
fn what_is_deleted_or_too_old_goes_from_the_copy() {
    let folder = Folder::init("backup-age", 8, WhenFull::Recycle);
    let (copy, young) = (Folder::new("backup-age-copy"), Folder::new("backup-young"));
    for day in 1..4 {
        record_day(&folder.0, day);
        settle(&folder.0);
    }
    to(&folder, &copy);
    Store::open(&folder.0).unwrap().delete(&[2], Interval::ALL).unwrap();
    to(&folder, &copy);
    let now = of(&copy.0);
    assert_eq!(now, of(&folder.0));
    assert!(now.samples.iter().all(|one| one.0 == 3), "t is deleted");
    settle(&folder.0);
    let done = to(&folder, &copy);
    assert!(done.removed > 0, "the run that had it: {done:?}");
    let keep = BackupOptions { keep_ns: Some(DAY_NS as u64) };
    backup(&folder.0, &young.0, &keep, &mut |_| {}).unwrap();
    let days: BTreeSet<i64> = of(&young.0).samples.iter().map(|one| one.1 / DAY_NS).collect();
    assert!(!days.contains(&1) && days.contains(&3), "{days:?}");
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let folder = Folder::init("backup-other", 4, WhenFull::Recycle);
    record_day(&folder.0, 1);
    let other = Folder::init("backup-taken", 4, WhenFull::Recycle);
    assert!(why(&folder, &other.0).contains("is a store"));
    let strange = Folder::new("backup-strange");
    std::fs::create_dir(&strange.0).unwrap();
    std::fs::write(strange.0.join("letter"), "x").unwrap();
    assert!(why(&folder, &strange.0).contains("not empty"));
    assert!(why(&folder, &folder.0).contains("lies in the other"));
    assert!(why(&folder, &folder.0.join("below")).contains("lies in the other"));
    // Of another store, and one that somebody records into.
    let copy = Folder::new("backup-of-one");
    to(&folder, &copy);
    let second = Folder::new("backup-second");
    crate::common::init_at(&second.0, *b"another store id", 4, WhenFull::Recycle);
    assert!(why(&second, &copy.0).contains("another store"));
    let recorder = Recorder::open(&copy.0, options()).unwrap();
    assert!(why(&folder, &copy.0).contains("records into it"));
    drop(recorder);
}

#[test]
fn nobody_settles_or_deletes_in_a_copy_that_is_written() {
    let (folder, copy) =
        (Folder::init("backup-turns", 8, WhenFull::Recycle), Folder::new("backup-turns-copy"));
    for day in 0..3 {
        record_day(&folder.0, day);
        settle(&folder.0);
        to(&folder, &copy);
    }
    let disk = baro_log::open_folder(&copy.0).unwrap();
    let settling = StoreLock::take(&disk, Role::Settling).unwrap().unwrap();
    let said = why(&folder, &copy.0);
    assert!(said.contains(&format!("process {} settles it", std::process::id())), "{said}");
    drop(settling);
    let deletes = ManifestLock::take(&disk, "deletes", &mut |_, _| false).unwrap();
    assert!(backup(&folder.0, &copy.0, &BackupOptions::default(), &mut |_| {}).is_err());
    drop(deletes);
    let mut tries = 0;
    let mut other = |_| {
        tries += 1;
        assert!(StoreLock::take(&disk, Role::Settling).unwrap().is_err());
        assert!(ManifestLock::take(&disk, "deletes", &mut |_, _| false).is_err());
    };
    record_day(&folder.0, 3);
    backup(&folder.0, &copy.0, &BackupOptions::default(), &mut other).unwrap();
    assert!(tries > 0);
    assert!(StoreLock::take(&disk, Role::Settling).unwrap().is_ok());
}

#[test]
fn pins_and_what_they_had_copied_out_go_along() {
    let (folder, copy) =
        (Folder::init("backup-pins", 8, WhenFull::Recycle), Folder::new("backup-p"));
    let options = baro_recorder::Options { ring_bytes: 1 << 20, ..options() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
    let after_ns = 3_600_000_000_000;
    let pin = recorder.pin(&PinRequest { after_ns, ..PinRequest::default() }).unwrap();
    let mut producer = recorder.producer().unwrap();
    let mut n = 0;
    while recorder.status().segments_started < 14 {
        let waits = || recorder.status().segments_held > 2 || producer.free_bytes() < 1 << 17;
        while waits() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        producer.push_frame(1, n, &[7; 60_000]).unwrap();
        n += 1;
    }
    // Beside the recorder.
    let beside = to(&folder, &copy);
    assert!(beside.segments > 8, "{beside:?}");
    let _ = recorder.close();
    to(&folder, &copy);
    let copied = of(&copy.0);
    assert_eq!((copied.frames.len() as i64, &copied), (n, &of(&folder.0)));
    assert_eq!(Store::open(&copy.0).unwrap().pins().next().unwrap().id, pin.id);
    baro_recorder::inspect::release_in_store(&folder.0, pin.id).unwrap();
    let done = to(&folder, &copy);
    assert!(done.removed > 1, "{done:?}");
    assert_eq!(of(&copy.0), of(&folder.0));
}

fn flip(path: &Path, at: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[!byte[0]], at).unwrap();
}

#[test]
fn damage_in_the_store_does_not_take_the_place_of_what_is_whole() {
    let (folder, copy) =
        (Folder::init("backup-rot", 8, WhenFull::Recycle), Folder::new("backup-rc"));
    record_day(&folder.0, 1);
    settle(&folder.0);
    record_day(&folder.0, 2);
    record_day(&folder.0, 3);
    record_day(&folder.0, 4);
    to(&folder, &copy);
    let before = of(&copy.0);
    // The header of a segment that is there whole: flipped, of another segment, empty, gone.
    let segment = folder.0.join("log/00000001.seg");
    let whole = std::fs::read(&segment).unwrap();
    let other = std::fs::read(folder.0.join("log/00000000.seg")).unwrap();
    for damaged in [Some(whole.clone()), Some(other), Some(Vec::new()), None] {
        match &damaged {
            Some(bytes) => std::fs::write(&segment, bytes).unwrap(),
            None => std::fs::remove_file(&segment).unwrap(),
        }
        if damaged.as_ref() == Some(&whole) {
            flip(&segment, 4);
        }
        let done = backup(&folder.0, &copy.0, &BackupOptions::default(), &mut |_| {}).unwrap();
        assert!(!done.damage.is_empty(), "{done:?}");
        assert_eq!(of(&copy.0), before);
    }
    std::fs::write(&segment, &whole).unwrap();
    // A run that would take the place of what is in the copy's log.
    settle(&folder.0);
    let runs =
        || std::fs::read_dir(folder.0.join("runs")).unwrap().map(|entry| entry.unwrap().path());
    let run = runs().filter(|path| path.extension().is_some_and(|end| end == "run")).max().unwrap();
    let bytes = std::fs::read(&run).unwrap();
    for at in [40, 5000.min(bytes.len() as u64 / 2), bytes.len() as u64 - 20] {
        flip(&run, at);
        let refused = backup(&folder.0, &copy.0, &BackupOptions::default(), &mut |_| {});
        assert!(matches!(refused, Err(Error::BackupOfDamaged { .. })), "at {at}: {refused:?}");
        assert_eq!(of(&copy.0), before);
        std::fs::write(&run, &bytes).unwrap();
    }
    to(&folder, &copy);
    assert_eq!(of(&copy.0), of(&folder.0));
}

fn cp(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(done.unwrap().success());
}

#[test]
fn an_older_store_and_another_history_do_not_take_the_place_of_a_younger_one() {
    let (folder, copy) =
        (Folder::init("backup-old", 8, WhenFull::Recycle), Folder::new("backup-oc"));
    let put_back = Folder::new("backup-put-back");
    record_day(&folder.0, 1);
    settle(&folder.0);
    record_day(&folder.0, 2);
    cp(&folder.0, &put_back.0);
    for day in 3..6 {
        record_day(&folder.0, day);
    }
    to(&folder, &copy);
    let before = of(&copy.0);
    assert!(why(&put_back, &copy.0).contains("younger than the store"));
    // And when it has gone on by itself.
    for day in 13..19 {
        record_day(&put_back.0, day);
    }
    assert!(why(&put_back, &copy.0).contains("another history"));
    assert_eq!(of(&copy.0), before);
}

/// The newest two segments of a copy may change in the store. Not so that durable blocks are gone.
#[test]
fn a_history_that_differs_in_the_newest_segments_only_is_another_one() {
    // How often the store, and the one that was put back, were recorded into; what of it was settled.
    for (n, (ours, theirs, settled)) in
        [(1, 1, 0), (1, 0, 0), (1, 2, 0), (2, 1, 0), (2, 2, 0), (1, 1, 1), (1, 1, 2)]
            .into_iter()
            .enumerate()
    {
        let folder = Folder::init(&format!("backup-fork-{n}"), 8, WhenFull::Recycle);
        let (copy, put_back) =
            (Folder::new(&format!("backup-fork-c{n}")), Folder::new(&format!("backup-fork-p{n}")));
        record_day(&folder.0, 1);
        settle(&folder.0);
        to(&folder, &copy);
        cp(&copy.0, &put_back.0);
        std::fs::remove_file(put_back.0.join("backup")).unwrap();
        for (folder, first, days) in [(&folder, 2, ours), (&put_back, 12, theirs)] {
            (first..first + days).for_each(|day| record_day(&folder.0, day));
            if settled > 0 {
                settle(&folder.0);
            }
        }
        if settled > 1 {
            record_day(&put_back.0, 20);
        }
        to(&folder, &copy);
        let before = of(&copy.0);
        let why = why(&put_back, &copy.0);
        assert!(why.contains("older copy") || why.contains("another history"), "{n}: {why}");
        assert_eq!(of(&copy.0), before, "{n}");
        record_day(&folder.0, 30);
        to(&folder, &copy);
    }
}

/// The store loses what a backup has seen of a segment: its session was killed and went on elsewhere.
#[test]
fn a_segment_that_has_fewer_durable_blocks_than_the_copy_is_of_another_history() {
    let (folder, copy) =
        (Folder::init("backup-less", 8, WhenFull::Recycle), Folder::new("backup-less-c"));
    let put_back = Folder::new("backup-less-p");
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
    let mut producer = recorder.producer().unwrap();
    let mut push = |from: i64| {
        for n in from..from + 200 {
            producer.push_words(&[n], &[2], &[0]).unwrap();
            if n % 20 == 0 {
                assert_eq!(recorder.flush(60_000_000_000).unwrap(), 0);
            }
        }
    };
    push(1);
    cp(&folder.0, &put_back.0);
    push(1001);
    to(&folder, &copy);
    let before = of(&copy.0);
    assert!(why(&put_back, &copy.0).contains("older copy"));
    record_day(&put_back.0, 12);
    assert!(why(&put_back, &copy.0).contains("older copy"));
    assert_eq!(of(&copy.0), before);
    push(2001);
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    to(&folder, &copy);
}

/// What a later session has found of a killed one is durable.
#[test]
fn sessions_that_were_killed_are_not_given_up_for_another_history() {
    let (folder, copy) =
        (Folder::init("backup-killed", 8, WhenFull::Recycle), Folder::new("backup-killed-c"));
    let put_back = Folder::new("backup-killed-p");
    record_day(&folder.0, 1);
    to(&folder, &copy);
    cp(&copy.0, &put_back.0);
    std::fs::remove_file(put_back.0.join("backup")).unwrap();
    for n in 0..2 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
        let mut producer = recorder.producer().unwrap();
        producer.push_words(&[n], &[2], &[0]).unwrap();
        assert_eq!(recorder.flush(60_000_000_000).unwrap(), 0);
        // As it is on the disk when it is killed: without the mark of an end in order.
        let killed = Folder::new("backup-killed-k");
        cp(&folder.0, &killed.0);
        drop(producer);
        assert_eq!(recorder.close().left, 0);
        std::fs::remove_dir_all(&folder.0).unwrap();
        std::fs::rename(&killed.0, &folder.0).unwrap();
    }
    to(&folder, &copy);
    let before = of(&copy.0);
    record_day(&put_back.0, 12);
    assert!(why(&put_back, &copy.0).contains("older copy"));
    assert_eq!(of(&copy.0), before);
}

/// A copy of a pin that was released since the store was opened is gone, and so must the pin be.
#[test]
fn a_pin_that_is_released_meanwhile_is_not_copied_without_what_it_held() {
    let folder = Folder::init("backup-released", 8, WhenFull::Recycle);
    let options = baro_recorder::Options { ring_bytes: 1 << 20, ..options() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
    let mut producer = recorder.producer().unwrap();
    let after_ns = 3_600_000_000_000;
    let pin = recorder.pin(&PinRequest { after_ns, ..PinRequest::default() }).unwrap();
    let mut n = 0;
    while recorder.status().segments_started < 14 {
        let waits = || recorder.status().segments_held > 2 || producer.free_bytes() < 1 << 17;
        while waits() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        producer.push_frame(1, n, &[7; 60_000]).unwrap();
        n += 1;
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    for when in ["before", "while segments are copied"] {
        let copy = Folder::new("backup-released-copy");
        let mut store = Store::open(&folder.0).unwrap();
        assert!(store.pins().next().unwrap().copies.count > 0);
        let pin_file = folder.0.join(format!("pins/{:016x}.pin", pin.id));
        let pin_bytes = std::fs::read(&pin_file).unwrap();
        let kept: Vec<_> = std::fs::read_dir(folder.0.join("kept")).unwrap().collect();
        let kept = kept.into_iter().map(|one| one.unwrap().path());
        let kept: Vec<_> = kept.map(|path| (std::fs::read(&path).unwrap(), path)).collect();
        let release = || {
            if pin_file.exists() {
                baro_recorder::inspect::release_in_store(&folder.0, pin.id).unwrap();
            }
        };
        if when == "before" {
            // Whoever reads meanwhile is told, as of a log that went round.
            let reader = Store::open(&folder.0).unwrap();
            let all = contents(&reader).frames.len();
            release();
            for late in [&reader, &Store::open(&folder.0).unwrap(), &store] {
                let mut left = 0;
                let notes = late.records_as_written(|record| {
                    left += usize::from(record.stream == 1);
                    ControlFlow::Continue(())
                });
                assert_eq!(notes.unwrap().damage, []);
                assert!(0 < left && left < all, "{left} of {all}");
                match late.query_ids(
                    &[2],
                    &Query::raw(Interval::ALL),
                    |_| ControlFlow::Continue(()),
                ) {
                    Ok(notes) => assert_eq!(notes.read.damage, []),
                    Err(error) => assert!(matches!(error, Error::Recycled { .. }), "{error}"),
                }
                assert_eq!(late.tail(&[1], 3).unwrap().0[&1].len(), 3);
                let mut shown = 0;
                let show = |_: &baro_store::RecordRef<'_>| {
                    shown += 1;
                    ControlFlow::Continue(())
                };
                let all = (&baro_store::Filter::default(), &baro_store::Reading::default());
                let notes = late.records(Interval::ALL, all.0, all.1, show).unwrap();
                assert_eq!((shown, notes.damage), (left, vec![]));
            }
        }
        let target = Disk::create(&copy.0).unwrap();
        backup_in(&mut store, &target, &copy.0, &BackupOptions::default(), &mut |_| release())
            .unwrap();
        let copied = Store::open(&copy.0).unwrap();
        let report = verify(&copied, Access::Read, |_, _| {}).unwrap();
        assert!(report.is_whole(), "{when}: {:?}", report.damage);
        assert_eq!((copied.pins().count(), kept.is_empty()), (0, false), "{when}");
        for (bytes, path) in kept {
            std::fs::write(path, bytes).unwrap();
        }
        std::fs::write(pin_file, pin_bytes).unwrap();
    }
}

/// Between the look at the store and the end of the backup the log goes round, and what was there is held by a
/// pin: of the one day a segment is in the copy already, and would go from it; of the other one it is new.
#[test]
fn what_a_pin_holds_is_in_the_copy_although_its_segment_was_reused_meanwhile() {
    let (folder, copy) =
        (Folder::init("backup-held", 8, WhenFull::Recycle), Folder::new("backup-held-c"));
    record_day(&folder.0, 1);
    to(&folder, &copy);
    record_day(&folder.0, 2);
    settle(&folder.0);
    let days = of(&folder.0).frames;
    let mut store = Store::open(&folder.0).unwrap();
    let mut reused = false;
    let mut go_round = |_: u64| {
        if std::mem::replace(&mut reused, true) {
            return;
        }
        let options = baro_recorder::Options { ring_bytes: 1 << 20, ..options() };
        let recorder = Recorder::open(&folder.0, options).unwrap();
        let hour_ns = 3_600_000_000_000;
        let request = PinRequest { before_ns: hour_ns, after_ns: 0, ..PinRequest::default() };
        let pin = recorder.pin(&request).unwrap();
        assert_eq!(pin.first_epoch, 1);
        let mut producer = recorder.producer().unwrap();
        let mut n = 0;
        while recorder.status().segments_started < 14 {
            let waits = || recorder.status().segments_held > 4 || producer.free_bytes() < 1 << 17;
            while waits() {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            producer.push_frame(1, 9 * DAY_NS + n, &[7; 60_000]).unwrap();
            n += 1;
        }
        drop(producer);
        assert_eq!(recorder.close().left, 0);
    };
    let target = Disk::create(&copy.0).unwrap();
    backup_in(&mut store, &target, &copy.0, &BackupOptions::default(), &mut go_round).unwrap();
    assert!(reused);
    let copied = Store::open(&copy.0).unwrap();
    let report = verify(&copied, Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole(), "{:?}", report.damage);
    let lacks = days.difference(&contents(&copied).frames).count();
    assert_eq!(lacks, 0, "of {}", days.len());
}

/// A segment that is started while a backup runs comes with the next one.
#[test]
fn a_segment_that_is_started_meanwhile_is_not_taken_for_damage() {
    let (folder, copy) =
        (Folder::init("backup-meanwhile", 8, WhenFull::Recycle), Folder::new("backup-meanwhile-c"));
    record_day(&folder.0, 1);
    settle(&folder.0);
    let mut store = Store::open(&folder.0).unwrap();
    record_day(&folder.0, 2);
    record_day(&folder.0, 3);
    let target = baro_sys::disk::Disk::create(&copy.0).unwrap();
    let options = BackupOptions::default();
    backup_in(&mut store, &target, &copy.0, &options, &mut |_| {}).unwrap();
    let copied = Store::open(&copy.0).unwrap();
    assert!(verify(&copied, Access::Read, |_, _| {}).unwrap().is_whole());
    to(&folder, &copy);
    assert_eq!(of(&copy.0), of(&folder.0));
}

/// Nobody settles, and the log is reused while it is copied, at each try.
#[test]
fn samples_that_are_reused_before_they_are_copied_are_told() {
    let folder = Folder::init("backup-unsettled", 8, WhenFull::Recycle);
    let copy = Folder::new("backup-unsettled-copy");
    let record = |from: i64, count: i64| {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
        let mut producer = recorder.producer().unwrap();
        for n in from..from + count {
            while producer.free_bytes() < 1 << 17 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            producer.push_words(&[n], &[2], &[n]).unwrap();
            producer.push_frame(1, n, &[7; 60_000]).unwrap();
        }
        assert_eq!(recorder.close().status.lost, 0);
    };
    record(0, 100);
    let mut next = 100;
    // As fast as it is read; then it stays as it is, and is copied to its end.
    let done = backup(&folder.0, &copy.0, &BackupOptions::default(), &mut |_| {
        if next < 2_000 {
            record(next, 40);
            next += 40;
        }
    });
    let done = done.unwrap();
    assert!(done.recycled_unsettled > 0 && done.recycled >= done.recycled_unsettled, "{done:?}");
}

/// The log is reused twice as fast as it is copied.
#[test]
fn what_is_reused_before_it_is_copied_is_counted_and_the_copy_is_whole() {
    let folder = Folder::init("backup-fast", 8, WhenFull::Recycle);
    let copy = Folder::new("backup-fast-copy");
    let options = baro_recorder::Options { ring_bytes: 1 << 20, ..options() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
    let mut producer = recorder.producer().unwrap();
    let mut n = 0;
    let mut push = |frames: i64| {
        for _ in 0..frames {
            while producer.free_bytes() < 1 << 17 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            producer.push_frame(1, n, &[7; 60_000]).unwrap();
            n += 1;
        }
        // Each is in the log before the next piece is read.
        while producer.report().used_bytes > 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    };
    push(200);
    let done = backup(&folder.0, &copy.0, &BackupOptions::default(), &mut |_| push(8)).unwrap();
    assert!(done.first && done.recycled > 0 && done.damage.is_empty(), "{done:?}");
    let store = Store::open(&copy.0).unwrap();
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole() && report.frames > 0, "{report:?}");
    assert_eq!(store.info().unwrap().segments_grown, 8);
    let _ = recorder.close();
    to(&folder, &copy);
    assert_eq!(of(&copy.0), of(&folder.0));
}

#[test]
fn a_power_cut_at_any_operation_leaves_what_was_there_or_what_is_younger() {
    cut_everywhere(&Folder::init("backup-cut", 6, WhenFull::Recycle));
}

#[test]
fn a_power_cut_while_a_log_that_grows_is_backed_up_leaves_no_hole_in_it() {
    let folder = Folder::new("backup-grows");
    let disk = Disk::create(&folder.0).unwrap();
    let when_full = WhenFull::Stop;
    let geometry =
        Geometry { segment_bytes: 1 << 20, segments: 12, catalog_bytes: 1 << 20, when_full };
    init_growing(&disk, &folder.0, StoreId([3; 16]), 1, &geometry, 2, |_| {}).unwrap();
    cut_everywhere(&folder);
}

#[test]
fn a_segment_that_was_begun_goes_on_in_the_copy_and_a_power_cut_there_is_no_damage() {
    let folder = Folder::init("backup-goes-on", 6, WhenFull::Recycle);
    let (path, options) = (Path::new("copy"), BackupOptions::default());
    let before = SimDisk::new(1);
    let recorder = Recorder::open(&folder.0, crate::common::options()).unwrap();
    assert_eq!(recorder.declare(&NAMES).unwrap(), [1, 2, 3]);
    let mut producer = recorder.producer().unwrap();
    // Many blocks, each of which says that those before it are durable.
    let mut push = |from: i64| {
        for n in from..from + 12 {
            producer.push_words(&[n; 2], &[2, 3], &[n, n]).unwrap();
            let end = producer.push_frame(1, n, &[n as u8; 2000]).unwrap();
            assert!(recorder.wait_durable(&producer, end, 10_000_000_000));
        }
    };
    push(0);
    backup_in(&mut Store::open(&folder.0).unwrap(), &before, path, &options, &mut |_| {}).unwrap();
    let old = contents(&Store::open_in(before.fork(), path, Access::Read).unwrap());
    push(12);
    let new = of(&folder.0);
    assert_eq!((old.samples.len(), new.samples.len()), (24, 48));
    let after = before.fork();
    let done = backup_in(&mut Store::open(&folder.0).unwrap(), &after, path, &options, &mut |_| {});
    let done = done.unwrap();
    assert!(done.segments == 1 && done.bytes < 200_000, "{done:?}");
    cut_everywhere_between(&folder, &before, &old, &new);
    let _ = recorder.close();
}

/// A version that knows no deletions refuses a store whose file says that there are some.
#[test]
fn a_copy_says_that_something_was_deleted_whenever_it_was() {
    let folder = Folder::init("backup-says", 6, WhenFull::Recycle);
    record_day(&folder.0, 1);
    settle(&folder.0);
    let (path, options) = (Path::new("copy"), BackupOptions::default());
    let before = SimDisk::new(1);
    backup_in(&mut Store::open(&folder.0).unwrap(), &before, path, &options, &mut |_| {}).unwrap();
    Store::open(&folder.0).unwrap().delete(&[2], Interval::ALL).unwrap();
    let id = Store::open(&folder.0).unwrap().identity().store;
    let (mut rng, mut told) = (Rng::new(3), 0);
    for start in [SimDisk::new(1), before] {
        let (mut cuts, mut done) = (0, false);
        while !done {
            for mode in [Survival::None, Survival::All] {
                let fork = start.fork();
                fork.inject(Fault::PowerOff(fork.operations() + cuts));
                let mut store = Store::open(&folder.0).unwrap();
                done = backup_in(&mut store, &fork, path, &options, &mut |_| {}).is_ok();
                let left = fork.crash(&mut rng, mode);
                let Ok(file) = left.open(baro_log::IDENTITY, Access::Read) else { continue };
                let mut unit = [0; 4_096];
                file.read_at(0, &mut unit).unwrap();
                let deleted =
                    baro_log::read_deletions(&left, id).is_some_and(|all| !all.is_empty());
                let says = baro_ondisk::Identity::tells_deletions(&unit);
                assert!(says || !deleted, "cut at {cuts} ({mode:?})");
                told += u32::from(says);
            }
            cuts += 1;
        }
    }
    assert!(told > 4, "{told}");
}

fn cut_everywhere(folder: &Folder) {
    record_day(&folder.0, 1);
    settle(&folder.0);
    record_day(&folder.0, 2);
    let (path, options) = (Path::new("copy"), BackupOptions::default());
    let before = SimDisk::new(1);
    let mut store = Store::open(&folder.0).unwrap();
    backup_in(&mut store, &before, path, &options, &mut |_| {}).unwrap();
    let old = contents(&Store::open_in(before.fork(), path, Access::Read).unwrap());
    for day in 3..6 {
        record_day(&folder.0, day);
        settle(&folder.0);
    }
    record_day(&folder.0, 6);
    let new = of(&folder.0);
    cut_everywhere_between(folder, &before, &old, &new);
}

/// The copy in `before` has `old`, the store `new`.
fn cut_everywhere_between(folder: &Folder, before: &SimDisk, old: &Contents, new: &Contents) {
    let (path, options) = (Path::new("copy"), BackupOptions::default());
    let (mut rng, mut cuts, mut done) = (Rng::new(7), 0, false);
    while !done {
        for mode in [Survival::None, Survival::All, Survival::Torn] {
            let fork = before.fork();
            fork.inject(Fault::PowerOff(fork.operations() + cuts));
            let mut store = Store::open(&folder.0).unwrap();
            done = backup_in(&mut store, &fork, path, &options, &mut |_| {}).is_ok();
            let left = fork.crash(&mut rng, mode);
            let store = Store::open_in(left.clone(), path, Access::Read).unwrap();
            let found = contents(&store);
            assert!(old.samples.is_subset(&found.samples), "cut at {cuts} ({mode:?})");
            assert!(found.samples.is_subset(&new.samples), "cut at {cuts} ({mode:?})");
            assert!(found.frames.is_subset(&new.frames), "cut at {cuts} ({mode:?})");
            let report = verify(&store, Access::Read, |_, _| {}).unwrap();
            assert!(report.is_whole(), "cut at {cuts} ({mode:?}): {:?}", report.damage);
            let mut store = Store::open(&folder.0).unwrap();
            backup_in(&mut store, &left, path, &options, &mut |_| {}).unwrap();
            let whole = contents(&Store::open_in(left, path, Access::Read).unwrap());
            assert_eq!(whole, *new, "after a cut at {cuts} ({mode:?})");
        }
        cuts += 1;
    }
    assert!(cuts > 30, "only {cuts} operations");
}
