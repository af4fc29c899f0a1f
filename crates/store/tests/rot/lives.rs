//! Rot in a store into which recording and settling go on: what is intact stays, what is lost stays
//! told.

use crate::common::{Folder, Random, options, record};
use baro_log::segment_name;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{BlockHeader, SegmentHeader, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Damage, Extent, Interval, Loss, Query, SettleOptions, Settler, Store, VerifyReport, verify,
};
use baro_sys::storage::Access;
use std::ops::ControlFlow;
use std::path::Path;

fn flip(path: &Path, name: &str, at: u64) {
    let mut bytes = std::fs::read(path.join(name)).unwrap();
    bytes[at as usize] ^= 4;
    std::fs::write(path.join(name), &bytes).unwrap();
}

fn report(path: &Path) -> VerifyReport {
    verify(&Store::open(path).unwrap(), Access::Read, |_, _| {}).unwrap()
}

/// Offsets of the blocks of a segment, by their headers; the last is the mark of the end.
fn blocks(path: &Path, name: &str) -> Vec<(u64, BlockHeader)> {
    let bytes = std::fs::read(path.join(name)).unwrap();
    let (mut at, mut found) = (UNIT_BYTES, Vec::new());
    while let Some(Ok(header)) = bytes.get(at..).map(BlockHeader::decode) {
        found.push((at as u64, header));
        at += header.block_bytes();
    }
    found
}

#[test]
fn a_close_in_order_leaves_a_mark_behind_the_last_block() {
    let folder = Folder::init("rot-mark", 4, WhenFull::Stop);
    record(&folder.0, 2, 1, 100, 0);
    for index in 0..2 {
        let found = blocks(&folder.0, &segment_name(index));
        let (marks, rest) = found.split_at(found.len() - 1).1.split_at(1);
        assert!(rest.is_empty() && marks[0].1.is_end_mark());
        assert_eq!(marks[0].1.durable, found.len() as u64 - 1);
        assert!(found[..found.len() - 1].iter().all(|(_, header)| !header.is_end_mark()));
    }
    let catalog = blocks(&folder.0, "catalog");
    assert!(catalog.last().is_some_and(|(_, header)| header.is_end_mark()));
    // Nothing new was declared by the second session: one mark is enough.
    assert_eq!(catalog.iter().filter(|(_, header)| header.is_end_mark()).count(), 1);
    // The second session tells where the first has ended.
    let bytes = std::fs::read(folder.0.join(segment_name(1))).unwrap();
    let ends: Vec<_> = SegmentHeader::dead_tails(&bytes[..UNIT_BYTES]).collect();
    let first = blocks(&folder.0, &segment_name(0)).len() as u64;
    assert_eq!(ends.len(), 1);
    assert_eq!((ends[0].epoch, ends[0].end, ends[0].end_only), (1, first, true));
    assert!(report(&folder.0).is_whole());
}

#[test]
fn recording_goes_on_behind_rot_and_what_is_intact_stays() {
    // A block's header, a payload, the first block, the last before the mark, the segment's header.
    for case in 0..5 {
        let folder = Folder::init("rot-on", 6, WhenFull::Stop);
        let pushed = record(&folder.0, 1, 1, 400, 0).len() as u64;
        let name = segment_name(0);
        let found = blocks(&folder.0, &name);
        assert!(found.len() > 6, "{}", found.len());
        let last = found.len() - 2;
        let (at, lost) = match case {
            0 => (found[3].0 + 20, u64::from(found[3].1.records)),
            1 => (found[3].0 + 200, u64::from(found[3].1.records)),
            2 => (found[0].0 + 20, u64::from(found[0].1.records)),
            3 => (found[last].0 + 20, u64::from(found[last].1.records)),
            _ => (2000, 0),
        };
        flip(&folder.0, &name, at);
        for round in 1..3 {
            let more = record(&folder.0, 1, 1, 20, 0).len() as u64 * round;
            let report = report(&folder.0);
            assert_eq!(report.frames, pushed - lost + more, "case {case}: {report:?}");
            assert!(!report.is_whole(), "case {case}: {report:?}");
            let there = |d: &Damage| {
                d.file == name && (d.offset == 0 || d.offset < 4096 || d.offset / 4096 == at / 4096)
            };
            assert!(report.damage.iter().any(there), "case {case}: {report:?}");
            assert_eq!(report.records_repeated, 0, "case {case}");
        }
    }
}

#[test]
fn what_a_settling_met_of_damage_stays_told() {
    let folder = Folder::init("rot-settle", 4, WhenFull::Recycle);
    let path = folder.0.as_path();
    let mut random = Random(9);
    let mut push = |rounds: i64, frames: bool| {
        let recorder = Recorder::open(path, options()).unwrap();
        recorder.declare(&[("a", Type::F64, ""), ("f", Type::Channel, "")]).unwrap();
        let mut producer = recorder.producer().unwrap();
        for n in 0..rounds {
            for m in 0..40 {
                let time_ns = n * 1_000_000 + m;
                producer.push_sample(1, time_ns, random.below(1 << 40) as f64).unwrap();
            }
            if frames {
                producer.push_frame(2, n, &vec![7; 60 << 10]).unwrap();
            }
            let sequence = producer.next_sequence();
            assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
        }
        drop(producer);
        assert_eq!(recorder.close().status.lost, 0);
    };
    push(30, false);
    let found = blocks(path, &segment_name(0));
    flip(path, &segment_name(0), found[4].0 + 20);
    let least = SettleOptions { least_bytes: 0, ..SettleOptions::default() };
    let done = Settler::open(path, least).unwrap().step(Extent::All).unwrap();
    assert!(done.damage.iter().any(Damage::is_loss), "{done:?}");
    let told = |damage: &[Damage]| damage.iter().any(|d| d.loss == Loss::Unsettled(1));
    // The log goes round; the damaged block is gone, and that something was lost is not.
    push(100, true);
    assert!(found.iter().all(|(at, header)| {
        let there = blocks(path, &segment_name(0));
        !there.iter().any(|one| one.0 == *at && one.1.session == header.session)
    }));
    let store = Store::open(path).unwrap();
    let notes = store.query_ids(&[1], &Query::raw(Interval::ALL), |_| ControlFlow::Continue(()));
    notes.unwrap();
    assert!(told(&store.damage_so_far()), "{:?}", store.damage_so_far());
    let report = report(path);
    assert!(!report.is_whole() && told(&report.damage), "{report:?}");
    Settler::open(path, least).unwrap().step(Extent::All).unwrap();
    assert!(told(&Store::open(path).unwrap().damage()));
}
