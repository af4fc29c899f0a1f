//! Making a store and declaring series, with a crash at every operation.

use baro_log::{
    Catalog, Geometry, IDENTITY, Segments, init, read_identity, set_when_full, tell_deletions,
};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_sys::sim::{Fault, Rng, SimDisk, Survival};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::path::Path;

const GEOMETRY: Geometry = Geometry {
    segment_bytes: 1 << 20,
    segments: 3,
    catalog_bytes: 1 << 20,
    when_full: WhenFull::Stop,
};
const MODES: [Survival; 6] =
    [Survival::None, Survival::All, Survival::Some, Survival::Some, Survival::Torn, Survival::Torn];

fn make(disk: &SimDisk, id: u8) -> Result<(), baro_log::Error> {
    init(disk, Path::new("sim"), StoreId([id; 16]), 1, &GEOMETRY, |_| {}).map(|_| ())
}

/// The store is whole, and all of one init.
fn whole(disk: &SimDisk) {
    let identity = read_identity(disk, Path::new("sim")).unwrap();
    let segments = Segments::read(disk, &identity).unwrap();
    assert!(segments.damaged.is_empty() && segments.started.is_empty());
    assert_eq!(segments.blank, [0, 1, 2]);
    assert!(Catalog::read(disk).unwrap().is_empty());
    for name in disk.files() {
        let size = disk.open(&name, Access::Read).unwrap().size_bytes().unwrap();
        assert_eq!(size, if name == IDENTITY { 4096 } else { 1 << 20 }, "{name}");
    }
}

#[test]
fn a_crash_at_any_operation_of_init_leaves_a_whole_store_or_none() {
    let disk = SimDisk::new(1);
    make(&disk, 1).unwrap();
    let operations = disk.operations();
    let (mut stores, mut rng) = (0, Rng::new(2));
    for at in 0..=operations {
        for mode in MODES {
            let disk = SimDisk::new(at);
            disk.inject(Fault::PowerOff(at));
            let made = make(&disk, 1).is_ok();
            assert_eq!(made, at == operations);
            let after = disk.crash(&mut rng, mode);
            let found = after.files().contains(IDENTITY);
            stores += u64::from(found);
            assert!(found || !made, "init said that it is there");
            if !found {
                make(&after, 2).unwrap();
            }
            whole(&after);
        }
    }
    assert!(stores > 6, "the rename was never seen to survive");
}

#[test]
fn a_crash_at_any_operation_of_a_switch_leaves_the_store_old_or_new() {
    let mut rng = Rng::new(5);
    let mut seen = [0; 2];
    for when_full in [WhenFull::Recycle, WhenFull::Stop] {
        for at in 0..6 {
            for mode in MODES {
                let disk = SimDisk::new(at);
                make(&disk, 1).unwrap();
                let path = Path::new("sim");
                if when_full == WhenFull::Stop {
                    set_when_full(&disk, path, WhenFull::Recycle).unwrap();
                }
                let before = read_identity(&disk, path).unwrap();
                let deletions = at % 2 == 0;
                tell_deletions(&disk, deletions).unwrap();
                disk.inject(Fault::PowerOff(disk.operations() + at));
                let switched = set_when_full(&disk, path, when_full).is_ok();
                let after = disk.crash(&mut rng, mode);
                let found = read_identity(&after, path).unwrap();
                assert!(found.when_full == when_full || !switched, "said to be durable");
                assert_eq!(found, baro_ondisk::Identity { when_full: found.when_full, ..before });
                seen[usize::from(found.when_full == when_full)] += 1;
                let mut unit = [0; 4096];
                after.open(IDENTITY, Access::Read).unwrap().read_at(0, &mut unit).unwrap();
                assert_eq!(baro_ondisk::Identity::tells_deletions(&unit), deletions);
                whole(&after);
                // Again, and to what it is.
                for _ in 0..2 {
                    let found = set_when_full(&after, path, when_full).unwrap();
                    assert_eq!(found.when_full, when_full);
                }
            }
        }
    }
    assert!(seen[0] > 5 && seen[1] > 5, "{seen:?}");
}

#[test]
fn a_failed_init_leaves_no_store_and_a_second_one_works() {
    for room in [0, 4096, 1 << 20, (1 << 20) + 4096, 4 << 20, (4 << 20) + 100] {
        let disk = SimDisk::new(1);
        disk.inject(Fault::Full(room));
        let error = make(&disk, 1).unwrap_err();
        assert!(
            matches!(&error, baro_log::Error::NoRoom { source, .. } if source.is_full()),
            "{error}"
        );
        assert!(!disk.files().contains(IDENTITY));
        disk.heal();
        make(&disk, 2).unwrap();
        whole(&disk);
    }
    let healthy = SimDisk::new(1);
    make(&healthy, 1).unwrap();
    let writes = (0..healthy.writes()).map(Fault::Write);
    let syncs = (0..healthy.syncs()).map(|number| Fault::Sync { number, loses: true });
    for (number, fault) in (0..).zip(writes.chain(syncs)) {
        let disk = SimDisk::new(number);
        disk.inject(fault);
        make(&disk, 1).unwrap_err();
        assert!(!disk.files().contains(IDENTITY));
        make(&disk, 2).unwrap();
        whole(&disk.crash(&mut Rng::new(number), Survival::None));
    }
    let disk = SimDisk::new(1);
    disk.inject(Fault::Gone);
    assert!(make(&disk, 1).is_err());
}

/// Names of the catalog after a crash, which must be those declared, and perhaps some of `tried`.
fn declared(disk: &SimDisk, sure: &[String], tried: &[String]) -> Vec<String> {
    let catalog = Catalog::read(disk).unwrap();
    let names: Vec<String> = catalog.iter().map(|d| d.name.to_owned()).collect();
    assert!(names.starts_with(sure), "declared {sure:?}, found {names:?}");
    assert!(names[sure.len()..].iter().all(|name| tried.contains(name)), "{names:?} {tried:?}");
    for (at, entry) in (1..).zip(catalog.iter()) {
        assert_eq!((entry.id, entry.unit), (at, "K"));
    }
    names
}

#[test]
fn what_is_declared_stays_declared_whatever_crashes_or_fails() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let mut disk = SimDisk::new(seed);
        make(&disk, 1).unwrap();
        let mut sure: Vec<String> = Vec::new();
        let mut catalog = Catalog::read(&disk).unwrap();
        let mut session = 1 << 32;
        // What failed, and may be there until something is written over it.
        let mut possible: Vec<String> = Vec::new();
        for round in 0..12 {
            // Large ones take several blocks.
            let length = if rng.chance(1, 6) { 1000 } else { 10 };
            let count = rng.below(if length == 1000 { 400 } else { 5 }) + 1;
            let tried: Vec<String> =
                (0..count).map(|n| format!("{round}-{n}-{}", "x".repeat(length))).collect();
            let wanted: Vec<_> = tried.iter().map(|n| (n.as_str(), Type::F64, "K")).collect();
            match rng.below(5) {
                0 => disk.inject(Fault::PowerOff(disk.operations() + rng.below(4))),
                1 => disk.inject(Fault::Write(disk.writes() + rng.below(3))),
                2 => disk.inject(Fault::Sync { number: disk.syncs(), loses: rng.chance(1, 2) }),
                _ => {}
            }
            let done = catalog.declare(&disk, session, &wanted);
            disk.heal();
            if done.is_ok() {
                sure.extend(tried);
                possible.clear();
            } else {
                possible.extend(tried);
            }
            let full = matches!(done, Err(baro_log::Error::CatalogFull { .. }));
            let mode = rng.pick(&MODES);
            declared(&disk.crash(&mut rng, mode), &sure, &possible);
            if full {
                break;
            }
            if rng.chance(1, 2) {
                // The next open: after a power cut, or after the process was killed.
                if rng.chance(1, 2) {
                    disk = disk.crash(&mut rng, mode);
                }
                disk.open("catalog", Access::Write).unwrap().sync_data().unwrap();
                sure = declared(&disk, &sure, &possible);
                possible.clear();
                catalog = Catalog::read(&disk).unwrap();
                session = ((session >> 32) + 1) << 32 | rng.below(1 << 32);
            }
        }
    }
}

#[test]
fn a_session_that_only_declares_does_not_hide_the_next_ones_declarations() {
    let disk = SimDisk::new(1);
    make(&disk, 1).unwrap();
    let mut catalog = Catalog::read(&disk).unwrap();
    catalog.declare(&disk, 1 << 32 | 9, &[("a", Type::F64, "K")]).unwrap();
    // A session that orders below what the catalog holds must not seem to succeed.
    let mut catalog = Catalog::read(&disk).unwrap();
    let lower = catalog.declare(&disk, 1 << 32 | 5, &[("b", Type::F64, "K")]);
    assert!(lower.is_err() && Catalog::read(&disk).unwrap().get("b").is_none());
    let session = catalog.session() + 1;
    catalog.declare(&disk, session, &[("c", Type::F64, "K")]).unwrap();
    assert!(Catalog::read(&disk).unwrap().get("c").is_some());
}
