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

fn open(disk: &SimDisk) -> Store {
    Store::open_in(disk.clone(), Path::new(PATH), Access::Read).expect("opened")
}

fn replaced(runs: &[RunEntry]) -> Changes<'_> {
    Changes::Replaced(runs)
}

fn dropped(runs: &[RunEntry]) -> Changes<'_> {
    Changes::Dropped(runs)
}

/// Whether a manifest without this run is written.
fn is_done(settler: &mut Settler, changes: fn(&[RunEntry]) -> Changes<'_>, id: u64) -> bool {
    let manifest = settler.store.runs.manifest.clone();
    match settler.commit(manifest, &changes(&[RunEntry { id, ..RunEntry::default() }])) {
        Ok(()) => true,
        Err(Error::ManifestChanged) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_is_offered_from_now_on_is_not_merged_by_who_began_before() {
    let disk = disk();
    let mut settler = Settler::over(open(&disk), SettleOptions::default()).expect("opened");
    let put = |handover: Handover| open(&disk).put_handover_in(Some(&handover)).expect("written");
    let again = |settler: &mut Settler| {
        settler.step_with(Extent::All, false).expect("done");
    };
    assert!(is_done(&mut settler, replaced, 5));
    // An offer comes while it merges: it begins anew, and knows it. The log is settled meanwhile.
    let offer = Handover { table: [1; 16], below: 3, offered: 6, holds: true };
    put(offer);
    assert!(!is_done(&mut settler, replaced, 5));
    assert!(!is_done(&mut settler, replaced, 6));
    assert!(is_done(&mut settler, |_| Changes::Nothing, 5));
    again(&mut settler);
    let free = |settler: &Settler, id| settler.standing(&RunEntry { id, ..RunEntry::default() });
    assert_eq!([2, 3, 5, 6].map(|id| free(&settler, id)), [Some(true), None, None, Some(false)]);
    assert!(!is_done(&mut settler, replaced, 5));
    assert!(is_done(&mut settler, replaced, 6) && is_done(&mut settler, replaced, 2));
    assert!(!is_done(&mut settler, dropped, 6) && is_done(&mut settler, dropped, 2));
    // It is taken: what was merged as not handed over would be handed over again.
    put(Handover { below: 7, offered: 7, ..offer });
    assert!(!is_done(&mut settler, replaced, 6));
    assert!(is_done(&mut settler, dropped, 6));
    again(&mut settler);
    assert!(is_done(&mut settler, replaced, 6));
    // What is merged has the note of another table.
    put(Handover { table: [2; 16], below: 7, offered: 7, ..offer });
    assert!(!is_done(&mut settler, replaced, 6));
    again(&mut settler);
    put(Handover { table: [2; 16], below: 7, offered: 7, holds: false });
    assert!(is_done(&mut settler, dropped, 9));
    assert!(is_done(&mut settler, replaced, 9));
}

#[test]
fn a_crash_leaves_the_handover_before_or_the_one_after() {
    let disk = disk();
    let before = Handover { table: [1; 16], below: 5, offered: 9, holds: true };
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
    let handover = Handover { table: [1; 16], below: 5, offered: 5, holds: false };
    open(&disk).put_handover_in(Some(&handover)).expect("written");
    assert!(disk.flip("runs/lake", 48, 1));
    let error = open(&disk).handover().expect_err("damaged").to_string();
    assert!(error.contains("runs/lake") && error.contains("--release"), "{error}");
    // Every reader tells it.
    let told = crate::verify(&open(&disk), Access::Read, |_, _| {}).expect("read");
    let is_told = |damage: &crate::Damage| damage.file == "runs/lake" && damage.is_loss();
    assert!(!told.is_whole() && told.damage.iter().any(is_told), "{told:?}");
    assert_eq!(open(&disk).damage_so_far(), told.damage);
    let mut settler = Settler::over(open(&disk), SettleOptions::default()).expect("opened");
    let done = settler.step_with(Extent::All, false).expect("done");
    assert!(done.damage.iter().any(|damage| damage.file == "runs/lake"), "{done:?}");
    let run = RunEntry::default();
    assert!(settler.standing(&run).is_none() && settler.is_kept(&settler.hold, &run));
}
