//! Segments and copies whose first unit cannot be read: that costs the blocks that lie there and no others,
//! nothing fails for it, and what nobody can read any more is not settled past without a word.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options, put, simulated};
use baro_log::{KEPT, MANIFEST, kept_name, recover, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Manifest, SegmentHeader, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Extent, Interval, Loss, Query, SegmentFile, SettleOptions, Settler, Store, Values, verify,
};
use baro_sys::sim::{Fault, SimDisk};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

const UNIT: u64 = UNIT_BYTES as u64;
const SEGMENT: u64 = 1 << 20;
const STEPS: i64 = 90;
/// Samples of a step.
const EACH: i64 = 20;
const STEP_NS: i64 = 1000;

/// Offset and bytes of a block, and times of its samples.
type Found = (u64, u64, BTreeSet<i64>);

/// One session over three segments of six, a block for each step at least.
fn session() -> SimDisk {
    let folder = Folder::init("unread-segments", 6, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    recorder.declare(&[("n", Type::I64, ""), ("camera", Type::Channel, "")]).unwrap();
    let mut producer = recorder.producer().unwrap();
    for step in 0..STEPS {
        for time_ns in step * STEP_NS..step * STEP_NS + EACH {
            producer.push_sample(1, time_ns, time_ns).unwrap();
        }
        producer.push_frame(2, step * STEP_NS, &[7; 30_000]).unwrap();
        let sequence = producer.next_sequence();
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    simulated(&folder.0)
}

fn opened(disk: &SimDisk) -> Store {
    Store::open_in(disk.clone(), Path::new("sim"), Access::Read).unwrap()
}

/// The blocks of a segment.
fn blocks(disk: &SimDisk, index: u32) -> Vec<Found> {
    let mut found = Vec::new();
    let notes = opened(disk).blocks(|live| {
        if live.file == SegmentFile::Log(index) {
            let bytes = live.block.header.block_bytes() as u64;
            let section = live.block.section().unwrap();
            let mut columns = baro_ondisk::SampleColumns::default();
            let mut times = BTreeSet::new();
            for at in 0..section.map_or(0, |section| section.strips()) {
                section.unwrap().decode_strip(at, &mut columns).unwrap();
                times.extend(columns.iter().map(|(_, time_ns, _)| time_ns));
            }
            found.push((live.offset, bytes, times));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().damage, []);
    found
}

fn times(store: &Store) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    let notes = store.query_ids(&[1], &Query::raw(Interval::ALL), |batch| {
        let Values::I64(values) = batch.values else { panic!("integers") };
        assert_eq!(values, batch.times_ns);
        found.extend(batch.times_ns);
        ControlFlow::Continue(())
    });
    notes.unwrap();
    found
}

fn all() -> BTreeSet<i64> {
    (0..STEPS).flat_map(|step| step * STEP_NS..step * STEP_NS + EACH).collect()
}

fn without(gone: &[BTreeSet<i64>]) -> BTreeSet<i64> {
    all().into_iter().filter(|time_ns| !gone.iter().any(|of| of.contains(time_ns))).collect()
}

/// Damage that settling has met, and blocks that the manifest counts as lost.
fn settle(disk: &SimDisk, recording: bool) -> (usize, u64) {
    let options = SettleOptions { least_bytes: 0, ..SettleOptions::default() };
    let mut settler = Settler::over(opened(disk), options).unwrap();
    let mut told = 0;
    loop {
        let done = settler.step_with(Extent::All, recording).unwrap();
        told += done.damage.len();
        if !done.more {
            break;
        }
    }
    let mut bytes = vec![0; 1 << 16];
    let read = disk.open(MANIFEST, Access::Read).unwrap().read_at(0, &mut bytes).unwrap();
    (told, Manifest::decode(&bytes[..read]).unwrap().lost_blocks)
}

fn unreadable(disk: &SimDisk, name: &str, from: u64, to: u64) -> SimDisk {
    let broken = disk.fork();
    broken.inject(Fault::Unreadable { name: name.to_owned(), from, to });
    broken
}

/// The same with its first segment in the place of copies only, and another life in the log.
fn copied(disk: &SimDisk) -> (SimDisk, String, Vec<Found>) {
    let (copied, blocks) = (disk.fork(), blocks(disk, 0));
    let file = copied.open(&segment_name(0), Access::Write).unwrap();
    let mut bytes = vec![0; SEGMENT as usize];
    file.read_at(0, &mut bytes).unwrap();
    let (header, _) = SegmentHeader::decode(&bytes[..UNIT_BYTES]).unwrap();
    let end = blocks.last().map(|(offset, bytes, _)| offset + bytes).unwrap();
    copied.create_folder(KEPT).unwrap();
    let name = kept_name(header.epoch);
    put(&copied, &name, &bytes[..end as usize]);
    let reused = SegmentHeader { epoch: 9, session: header.session + 9, first_block: 0, ..header };
    file.write_at(0, &reused.encode().0).unwrap();
    file.write_at(UNIT, &[0; 2 * UNIT_BYTES]).unwrap();
    (copied, name, blocks)
}

/// What of a segment or copy cannot be read, and which blocks are lost with it.
fn places(blocks: &[Found]) -> Vec<(u64, u64, Vec<BTreeSet<i64>>)> {
    let gone = |count: usize| blocks[..count].iter().map(|block| block.2.clone()).collect();
    let [(first, bytes, _), (second, ..), ..] = blocks else { panic!("blocks") };
    vec![
        (0, 1, gone(0)),
        (0, UNIT + 1, gone(1)),
        (0, first + bytes, gone(1)),
        (0, second + 1, gone(2)),
        (0, SEGMENT, gone(blocks.len())),
    ]
}

fn check(broken: &SimDisk, left: &BTreeSet<i64>, name: &str, place: &str) {
    let store = opened(broken);
    assert!(&times(&store) == left, "{place}: {} of {}", times(&store).len(), left.len());
    let told = store.damage();
    assert!(told.iter().any(|damage| damage.file == name && damage.is_loss()), "{place}: {told:?}");
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert!(!report.is_whole(), "{place}");
    for recording in [false, true] {
        let settled = broken.fork();
        let (told, lost_blocks) = settle(&settled, recording);
        let is_lost = left.len() < all().len();
        assert_eq!((told > 0, lost_blocks > 0), (is_lost, is_lost), "{place}, {recording}");
        assert_eq!(settle(&settled, recording).1, lost_blocks, "{place}: counted twice");
        // Whatever becomes of the file, it stays told.
        settled.heal();
        let told = opened(&settled).damage();
        let is_told = told.iter().any(|damage| damage.loss == Loss::Unsettled(lost_blocks));
        assert_eq!(is_told, is_lost, "{place}, {recording}: {told:?}");
        assert!(&times(&opened(&settled)) == left, "{place}, {recording}");
    }
}

#[test]
fn a_header_that_cannot_be_read_costs_itself_and_what_is_lost_with_it_stays_told() {
    let disk = session();
    assert_eq!((times(&opened(&disk)), opened(&disk).damage()), (all(), Vec::new()));
    for index in 0..2 {
        let name = segment_name(index);
        let blocks = blocks(&disk, index);
        for (from, to, gone) in places(&blocks) {
            let place = format!("segment {index}, {from} to {to}");
            let broken = unreadable(&disk, &name, from, to);
            check(&broken, &without(&gone), &name, &place);
        }
        // A lost page of flash reads as zeros.
        let broken = disk.fork();
        let file = broken.open(&name, Access::Write).unwrap();
        file.write_at(0, &[0; 2 * UNIT_BYTES]).unwrap();
        let gone: Vec<_> = blocks.iter().map(|block| block.2.clone()).collect();
        check(&broken, &without(&gone), &name, &format!("segment {index}, zeros"));
        assert_eq!(settle(&broken, false).1, if index == 0 { 1 } else { blocks.len() as u64 });
    }
}

#[test]
fn a_copy_whose_header_cannot_be_read_costs_itself() {
    let (disk, name, blocks) = copied(&session());
    assert_eq!(times(&opened(&disk)), all());
    for (from, to, gone) in places(&blocks) {
        let broken = unreadable(&disk, &name, from, to);
        check(&broken, &without(&gone), &name, &format!("a copy, {from} to {to}"));
        Store::salvage_in(broken, Path::new("sim"), Access::Read).unwrap();
    }
}

/// Recovery goes on too, wherever in the log a unit cannot be read, and counts what readers count.
#[test]
fn a_recorder_begins_whatever_cannot_be_read() {
    let disk = session();
    let path = Path::new("sim");
    let whole = recover(&disk, path).unwrap();
    for index in 0..3 {
        let name = segment_name(index);
        let blocks = blocks(&disk, index);
        let at = [0, 1, blocks.len() - 1].map(|at| (blocks[at].0, blocks[at].1));
        let units = at.iter().flat_map(|(offset, bytes)| [*offset, offset + bytes - 1]);
        let mut places: Vec<_> = units.map(|at| (at, at + 1)).collect();
        places.extend([(0, 1), (0, UNIT + 1), (0, SEGMENT), (SEGMENT / 3, SEGMENT)]);
        for (from, to) in places {
            let place = format!("segment {index}, {from} to {to}");
            let broken = unreadable(&disk, &name, from, to);
            let found = recover(&broken, path).unwrap_or_else(|error| panic!("{place}: {error}"));
            let is_header = from == 0;
            let damaged = found.segments.damaged.len() + found.segments.rebuilt.len();
            assert_eq!(damaged, usize::from(is_header), "{place}");
            // Of what is there nothing is taken from the rings again.
            if !(index == 2 && to == SEGMENT) {
                assert_eq!(found.producers, whole.producers, "{place}");
            }
            // What a reader may lose with the segment is said by who reuses it.
            let hidden = is_header && to > 1 || to == SEGMENT && index == 2;
            let unread = found.segments.unread(WhenFull::Recycle);
            assert_eq!(unread.contains(&index), hidden, "{place}: {unread:?}");
        }
    }
}
