//! Settling beside a hand-over, on the simulated disk: nothing that began before comes in between, and what
//! says which runs a table has is whole after any crash.

use super::*;
use crate::Handover;
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, WhenFull};
use baro_sys::sim::{Fault, Rng, SimDisk, Survival};
use baro_sys::storage::Access;

const PATH: &str = "simulated";

fn disk() -> SimDisk {
    let disk = SimDisk::new(1);
    let (segment_bytes, catalog_bytes) = (1 << 20, 1 << 20);
    let when_full = WhenFull::Recycle;
    let geometry = Geometry { segment_bytes, segments: 2, catalog_bytes, when_full };
    let path = Path::new(PATH);
    init(&disk, path, StoreId([3; 16]), 1, &geometry, |_| {}).expect("made");
    disk
}

fn open(disk: &SimDisk) -> Store<SimDisk> {
    Store::open_in(disk.clone(), Path::new(PATH), Access::Read).expect("opened")
}

#[test]
fn what_is_handed_over_from_now_on_is_not_merged_by_who_began_before() {
    let disk = disk();
    let mut settler = Settler::over(open(&disk), SettleOptions::default()).expect("opened");
    let manifest = settler.store.runs.manifest.clone();
    let handover = Handover { table: [1; 16], below: 5, holds: true };
    let put = |handover: Option<&Handover>| open(&disk).put_handover_in(handover).expect("written");
    let is_refused =
        |done: Result<()>| matches!(done.expect_err("a hand-over began"), Error::ManifestChanged);
    put(Some(&handover));
    assert!(is_refused(settler.commit(manifest.clone())));
    // A step begins anew, and knows it. That more was handed over since is no reason.
    settler.step_with(Extent::All, false).expect("done");
    put(Some(&Handover { below: 6, ..handover }));
    settler.commit(manifest.clone()).expect("allowed");
    for other in [
        Handover { table: [2; 16], ..handover },
        Handover { holds: false, ..handover },
        Handover { below: 4, ..handover },
    ] {
        let manifest = settler.store.runs.manifest.clone();
        put(Some(&other));
        assert!(is_refused(settler.commit(manifest.clone())), "{other:?}");
        put(Some(&handover));
        settler.commit(manifest).expect("allowed");
    }
    put(None);
    let manifest = settler.store.runs.manifest.clone();
    assert!(is_refused(settler.commit(manifest)));
}

#[test]
fn a_crash_leaves_the_handover_before_or_the_one_after() {
    let disk = disk();
    let before = Handover { table: [1; 16], below: 5, holds: true };
    let after = Handover { below: 9, ..before };
    open(&disk).put_handover_in(Some(&before)).expect("written");
    let mut rng = Rng::new(1);
    let (mut seen, mut at) = ([0, 0], 0);
    loop {
        let fork = disk.fork();
        fork.inject(Fault::PowerOff(fork.operations() + at));
        let done = open(&fork).put_handover_in(Some(&after));
        for survival in [Survival::None, Survival::All, Survival::Some, Survival::Torn] {
            let cut = fork.crash(&mut rng, survival);
            cut.heal();
            let found = open(&cut).handover().expect("whole").expect("there");
            assert!(found == before || found == after, "{found:?} at {at}");
            assert!(done.is_err() || found == after, "durable at {at}");
            seen[usize::from(found == after)] += 1;
        }
        if done.is_ok() {
            break;
        }
        at += 1;
    }
    assert!(seen[0] > 4 && seen[1] > 4, "{seen:?}");
}

#[test]
fn a_damaged_handover_is_told_and_keeps_all_runs() {
    let disk = disk();
    let handover = Handover { table: [1; 16], below: 5, holds: false };
    open(&disk).put_handover_in(Some(&handover)).expect("written");
    assert!(disk.flip("runs/lake", 48, 1));
    let error = open(&disk).handover().expect_err("damaged").to_string();
    assert!(error.contains("runs/lake") && error.contains("--release"), "{error}");
    let mut settler = Settler::over(open(&disk), SettleOptions::default()).expect("opened");
    let done = settler.step_with(Extent::All, false).expect("done");
    assert!(done.damage.iter().any(|damage| damage.file == "runs/lake"), "{done:?}");
    assert!(settler.is_held(&RunEntry::default()));
}
