//! A backup whose store was looked at while its log went round.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use super::*;
use crate::{Extent, SettleOptions, Settler};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};

/// The log goes round while its headers are looked at, so that of the settled segments and those behind
/// them none is found: what the manifest says is not too much for the copy.
#[test]
fn a_log_that_goes_round_while_it_is_looked_at_makes_no_damaged_copy() {
    let path = std::env::temp_dir().join(format!("baro-backup-round-{}", std::process::id()));
    for old in [&path, &path.with_extension("copy")] {
        let _ = std::fs::remove_dir_all(old);
    }
    let disk = Disk::create(&path).unwrap();
    let (segment_bytes, when_full) = (1 << 20, WhenFull::Recycle);
    let geometry = Geometry { segment_bytes, segments: 6, catalog_bytes: 1 << 20, when_full };
    init(&disk, &path, StoreId([7; 16]), 1, &geometry, |_| {}).unwrap();
    for session in 0..5 {
        let options = Options { rings: Rings::Private, ..Options::default() };
        let recorder = Recorder::open(&path, options).unwrap();
        let id = recorder.declare(&[("s", Type::I64, "")]).unwrap()[0];
        let mut producer = recorder.producer().unwrap();
        producer.push_words(&[session], &[id], &[session]).unwrap();
        assert_eq!(recorder.close().left, 0);
    }
    let mut settler = Settler::open(&path, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    drop(settler);
    let mut store = Store::open(&path).unwrap();
    let last = store.runs.manifest.settled.last_epoch();
    assert_eq!(last, 5);
    store.segments.started.retain(|one| one.header.epoch < 4);
    let to = path.with_extension("copy");
    let target = Disk::create(&to).unwrap();
    backup_in(&mut store, &target, &to, &BackupOptions::default(), &mut |_| {}).unwrap();
    let copy = Store::open(&to).unwrap();
    assert_eq!(copy.damage_so_far(), []);
    assert_eq!(copy.runs.manifest.settled.last_epoch(), last);
    for old in [&path, &path.with_extension("copy")] {
        let _ = std::fs::remove_dir_all(old);
    }
}
