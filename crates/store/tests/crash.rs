//! Power cuts while a log is written, on the simulated disk: whatever is torn, what is found is a
//! beginning of what was written and holds all that was synced, and no crash is called damage.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
mod common;

use baro_ondisk::WhenFull;
use baro_store::{Store, recover_in, verify};
use baro_sys::sim::{Rng, SimDisk, Survival};
use baro_sys::storage::Access;
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
