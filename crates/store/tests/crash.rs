//! Power cuts while a log, a dictionary or a catalog is written, on the simulated disk: whatever is torn, what is found is a
//! beginning of what was written and holds all that was synced, and no crash is called damage.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
mod common;

use baro_log::{Catalog, Geometry, init};
use baro_ondisk::{Declaration, StoreId, Type, WhenFull};
use baro_store::{Extent, SettleOptions, Settler, Store, recover_in, verify, write_dictionary};
use baro_sys::sim::{Fault, Rng, SimDisk, Survival};
use baro_sys::storage::{Access, Storage};
use common::{Folder, Pushed, record};
use std::ops::ControlFlow;
use std::path::Path;

#[test]
fn a_power_cut_leaves_a_beginning_and_is_no_damage() {
    let folder = Folder::init("crash", 8, WhenFull::Stop);
    record(&folder.0, 2, 2, 1200, 100);
    let store = Store::open(&folder.0).unwrap();
    let mut expected = Vec::new();
    store
        .records_as_written(|record| {
            expected.push(Pushed::of(record));
            ControlFlow::Continue(())
        })
        .unwrap();
    let path = Path::new("simulated");
    let mut tails = 0;
    let mut cuts = 0;
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let mut rng = Rng::new(seed);
        let mut most = 0;
        let target = disk.clone();
        recover_in(&store, target, path, |_, _| {
            let cut = disk.crash(&mut rng, Survival::Torn);
            let cut = Store::open_in(cut, path, Access::ReadDirect).unwrap();
            let log = |damage: &&baro_store::Damage| damage.file != "catalog";
            let found = cut.damage();
            let lost: Vec<_> = found.iter().filter(|d| d.is_loss()).filter(log).collect();
            assert!(lost.is_empty(), "seed {seed}: {lost:?}");
            let mut found = 0;
            let notes = cut
                .records_as_written(|record| {
                    assert!(Pushed::of(record) == expected[found], "seed {seed}: {found}");
                    found += 1;
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert!(notes.damage.is_empty(), "seed {seed}: {:?}", notes.damage);
            let report = verify(&cut, Access::Read, |_, _| {}).unwrap();
            assert_eq!((report.records_unexplained, report.records_repeated), (0, 0));
            // What is there if nothing unsynced survives is there in any case.
            let synced = disk.crash(&mut rng, Survival::None);
            let synced = Store::open_in(synced, path, Access::ReadDirect).unwrap();
            assert!(synced.info().unwrap().records as usize <= found, "seed {seed}");
            most = most.max(synced.info().unwrap().records as usize);
            tails += cut.tails().unwrap().len();
            cuts += 1;
        })
        .unwrap();
        assert!(most > 1000, "seed {seed}: {most}");
    }
    assert!(cuts > 100 && tails > 0, "{cuts} {tails}");
}

const STORE: StoreId = StoreId([5; 16]);
const MODES: [Survival; 6] =
    [Survival::None, Survival::All, Survival::Some, Survival::Some, Survival::Torn, Survival::Torn];

/// A store with `names` declared; a dictionary covers the first `covered` of them.
fn cataloged(names: &[String], covered: usize) -> SimDisk {
    let disk = SimDisk::new(1);
    let geometry = Geometry {
        segment_bytes: 1 << 20,
        segments: 2,
        catalog_bytes: 1 << 20,
        when_full: WhenFull::Stop,
    };
    init(&disk, Path::new("sim"), STORE, 1, &geometry, |_| {}).unwrap();
    let mut catalog = Catalog::read(&disk).unwrap();
    let (before, after) = names.split_at(covered);
    for part in [before, after] {
        let wanted: Vec<_> = part.iter().map(|name| (name.as_str(), Type::F64, "K")).collect();
        catalog.declare(&disk, 1 << 32 | 1, &wanted).unwrap();
        if part == before {
            write_dictionary(&disk, STORE, &mut |_| {}).unwrap().unwrap();
        }
    }
    disk
}

/// Opens the store and checks that these names are all there is.
fn holds(disk: &SimDisk, names: &[String]) -> Store {
    let store = Store::open_in(disk.clone(), Path::new("sim"), Access::ReadDirect).unwrap();
    let mut found = 0;
    let each = |one: &Declaration<'_>| {
        assert_eq!(names.get(one.id as usize - 1).map(String::as_str), Some(one.name));
        found += 1;
        ControlFlow::Continue(())
    };
    store.catalog().scan(each).unwrap();
    assert_eq!(found, names.len());
    for (name, id) in names.iter().zip(1..).step_by(97) {
        assert_eq!(store.catalog().lookup(name).unwrap().unwrap().id, id);
    }
    store
}

#[test]
fn a_crash_while_a_dictionary_is_written_leaves_the_old_or_the_new() {
    let names: Vec<String> = (0..1500).map(|n| format!("t{{s=\"{n}\"}}")).collect();
    let sound = cataloged(&names, 1000);
    let start = sound.operations();
    let whole = sound.fork();
    write_dictionary(&whole, STORE, &mut |_| {}).unwrap().unwrap();
    let (mut old, mut new, mut rng) = (0, 0, Rng::new(3));
    for at in start..=whole.operations() {
        for mode in MODES {
            let disk = sound.fork();
            disk.inject(Fault::PowerOff(at));
            let done = write_dictionary(&disk, STORE, &mut |_| {}).is_ok();
            assert_eq!(done, at == whole.operations());
            let after = disk.crash(&mut rng, mode);
            let store = holds(&after, &names);
            assert!(store.damage().is_empty(), "{at} {mode:?}: {:?}", store.damage());
            let report = verify(&store, Access::Read, |_, _| {}).unwrap();
            assert!(report.damage.is_empty(), "{at} {mode:?}: {:?}", report.damage);
            match store.catalog().uncovered() {
                0 => new += 1,
                500 => {
                    old += 1;
                    assert!(!done);
                }
                other => panic!("{other} uncovered"),
            }
            // What is left of it is in nobody's way.
            write_dictionary(&after, STORE, &mut |_| {}).unwrap();
            assert_eq!(holds(&after, &names).catalog().uncovered(), 0);
        }
    }
    assert!(old > 10 && new > 6, "{old} {new}");
}

#[test]
fn a_failing_or_full_disk_leaves_the_old_dictionary() {
    let names: Vec<String> = (0..1500).map(|n| format!("t{{s=\"{n}\"}}")).collect();
    let sound = cataloged(&names, 1000);
    let whole = sound.fork();
    write_dictionary(&whole, STORE, &mut |_| {}).unwrap().unwrap();
    let writes = (sound.writes()..whole.writes()).map(Fault::Write);
    let syncs = (sound.syncs()..whole.syncs()).map(|number| Fault::Sync { number, loses: true });
    let mut faults: Vec<Fault> = writes.chain(syncs).collect();
    assert!(faults.len() > 3);
    faults.push(Fault::Full(sound.used_bytes() + 4096));
    for fault in faults {
        let disk = sound.fork();
        disk.inject(fault);
        assert!(write_dictionary(&disk, STORE, &mut |_| {}).is_err());
        disk.heal();
        let store = holds(&disk, &names);
        assert!(store.damage().is_empty() && store.catalog().uncovered() <= 500);
        write_dictionary(&disk, STORE, &mut |_| {}).unwrap();
        assert_eq!(holds(&disk, &names).catalog().uncovered(), 0);
    }
}

#[test]
fn a_full_disk_settles_without_a_dictionary() {
    let names: Vec<String> = (0..1500).map(|n| format!("t{{s=\"{n}\"}}")).collect();
    let disk = cataloged(&names, 1000);
    let mut settler = Settler::over(holds(&disk, &names), SettleOptions::default()).unwrap();
    let used = disk.used_bytes();
    disk.inject(Fault::Full(used + 4096));
    assert!(settler.write_dictionary().is_err());
    settler.step_with(Extent::All, false).unwrap();
    assert_eq!((holds(&disk, &names).catalog().uncovered(), disk.used_bytes()), (500, used));
    disk.heal();
    settler.step_with(Extent::All, false).unwrap();
    assert_eq!(holds(&disk, &names).catalog().uncovered(), 0);
}

#[test]
fn a_crash_while_a_lost_catalog_is_rebuilt_loses_no_name() {
    let names: Vec<String> = (0..700).map(|n| format!("t{{s=\"{n}\"}}")).collect();
    let sound = cataloged(&names, 700);
    sound.remove("catalog").unwrap();
    sound.sync_folder("").unwrap();
    let start = sound.operations();
    let whole = sound.fork();
    let rebuilt = holds(&whole, &names).rebuild_catalog().unwrap();
    assert_eq!((rebuilt.names, rebuilt.placeholders.len()), (700, 0));
    let (mut lost, mut there, mut rng) = (0, 0, Rng::new(3));
    for at in start..=whole.operations() {
        for mode in MODES {
            let disk = sound.fork();
            let store = holds(&disk, &names);
            disk.inject(Fault::PowerOff(at));
            let done = store.rebuild_catalog().is_ok();
            assert_eq!(done, at == whole.operations());
            let after = disk.crash(&mut rng, mode);
            let store = holds(&after, &names);
            // The dictionary may still be that of the lost catalog, which costs nothing.
            let is_lost = store.damage().iter().any(baro_store::Damage::is_loss);
            assert!(!(done && is_lost));
            lost += u32::from(is_lost);
            there += u32::from(!is_lost);
            store.rebuild_catalog().unwrap();
            assert!(holds(&after, &names).damage().is_empty());
        }
    }
    assert!(lost > 10 && there > 6, "{lost} {there}");
}
