//! Copies of segments that the log still has: what rots in one is told, though nobody needs it yet.

use crate::memory::Memory;
use crate::stores;
use baro_store::{Loss, Store, VerifyReport, verify};
use baro_sys::storage::Access;
use std::path::Path;

fn verified(files: &Memory) -> VerifyReport {
    let store = Store::open_in(files.clone(), Path::new("memory"), Access::Read).unwrap();
    verify(&store, Access::Read, |_, _| {}).unwrap()
}

#[test]
fn rot_in_a_copy_is_told_while_the_log_has_the_segment() {
    let files = stores::make(1);
    let log = files.bytes("log/00000001.seg");
    let epoch = u64::from_le_bytes(log[40..48].try_into().unwrap());
    let name = format!("kept/{epoch:016x}.seg");
    let end = files.used_bytes("log/00000001.seg").next_multiple_of(4096) as usize;
    let whole = files.with(&name, log[..end].to_vec());
    let report = verified(&whole);
    assert!(report.is_whole() && report.copies == 1, "{report:?}");

    // Of the header, of a block's header, in the middle and in the last block.
    // Between blocks there is room that nobody reads: it is all zeros.
    let in_last = files.used_bytes("log/00000001.seg") - 1;
    let in_middle = (end / 2..end).find(|at| log[*at] != 0).unwrap() as u64;
    for at in [20, 4096 + 40, 4096 + 200, in_middle, in_last] {
        whole.flip(&name, at, 3);
        let report = verified(&whole);
        whole.flip(&name, at, 3);
        let told: Vec<_> = report.damage.iter().map(|one| (one.file.as_str(), one.loss)).collect();
        let [(file, Loss::Copied(blocks))] = told[..] else { panic!("{at}: {told:?}") };
        assert_eq!((file, report.is_whole()), (name.as_str(), false), "{at}");
        assert!(blocks <= 1, "{at}: {blocks}");
    }
    // Cut, also to nothing.
    for bytes in [end - 1, end - 4096, end / 2, 100, 0] {
        let report = verified(&files.with(&name, log[..bytes].to_vec()));
        assert!(!report.is_whole(), "{bytes}");
        assert!(report.damage.iter().all(|one| one.file == name), "{:?}", report.damage);
    }
    // Of another segment.
    let other = files.bytes("log/00000002.seg");
    assert!(!verified(&files.with(&name, other)).is_whole());
}
