//! A part of the log that the device does not read costs the blocks that lie there and no others:
//! settling, records in any order and queries go on behind it, and say what is lost.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options, simulated};
use baro_ondisk::{Kind, Type, WhenFull};
use baro_recorder::{Options, Recorder};
use baro_store::{
    Batch, Damage, Extent, Filter, Interval, Loss, Query, Reading, SettleOptions, Settler, Store,
    Values, verify,
};
use baro_sys::sim::{Fault, SimDisk};
use baro_sys::storage::Access;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

const UNIT_BYTES: u64 = 4096;
const BLOCKS: i64 = 12;
/// Samples, texts and frames have the time of their block and a number.
const STEP_NS: i64 = 1000;
const EACH: i64 = 20;

/// A store of one segment in which each block has one step of samples, texts and frames.
fn store(name: &str, frame_bytes: usize) -> SimDisk {
    // On a busy machine a block may be written before its step is complete.
    let made = std::iter::repeat_with(|| recorded(name, frame_bytes)).take(10);
    made.into_iter()
        .find(|disk| blocks(disk).len() as i64 == BLOCKS)
        .expect("a block for each step")
}

fn recorded(name: &str, frame_bytes: usize) -> SimDisk {
    let folder = Folder::init(name, 4, WhenFull::Recycle);
    let options = Options { durable_within_ns: 40_000_000, ..options() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    let wanted = [("n", Type::I64, ""), ("text", Type::Text, ""), ("camera", Type::Channel, "")];
    assert_eq!(recorder.declare(&wanted).unwrap(), [1, 2, 3]);
    let mut producer = recorder.producer().unwrap();
    for block in 0..BLOCKS {
        for time_ns in block * STEP_NS..block * STEP_NS + EACH {
            producer.push_sample(1, time_ns, time_ns).unwrap();
            producer.push_text(2, time_ns, &format!("text {time_ns}")).unwrap();
        }
        producer.push_frame(3, block * STEP_NS, &vec![7; frame_bytes]).unwrap();
        let sequence = producer.next_sequence();
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    simulated(&folder.0)
}

fn opened(disk: &SimDisk, access: Access) -> Store {
    Store::open_in(disk.clone(), Path::new("sim"), access).unwrap()
}

/// Offset, bytes and steps of the blocks with data.
fn blocks(disk: &SimDisk) -> Vec<(String, u64, u64, BTreeSet<i64>)> {
    let mut found = Vec::new();
    let notes = opened(disk, Access::Read).blocks(|live| {
        let mut steps = BTreeSet::new();
        for record in live.block.chunks().flat_map(|chunk| chunk.unwrap().records()) {
            let record = record.unwrap();
            if matches!(record.kind, Kind::Frame | Kind::Text) {
                steps.insert(record.time_ns / STEP_NS);
            }
        }
        if !steps.is_empty() {
            let bytes = live.block.header.block_bytes() as u64;
            found.push((live.file.name(), live.offset, bytes, steps));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().damage, []);
    found
}

/// Steps of which a query has all samples and texts, and blocks that it says are lost.
fn asked(store: &Store) -> (BTreeSet<i64>, u64) {
    let mut found: [Vec<i64>; 2] = Default::default();
    let take = |batch: &Batch<'_>| {
        let of = usize::from(matches!(batch.values, Values::Text(_)));
        found[of].extend_from_slice(batch.times_ns);
        ControlFlow::Continue(())
    };
    let notes = store.query_ids(&[1, 2], &Query::raw(Interval::ALL), take).unwrap();
    assert_eq!(found[0], found[1]);
    (steps(&found[0]), lost(store, &notes.read.damage))
}

fn steps(times_ns: &[i64]) -> BTreeSet<i64> {
    let steps: BTreeSet<i64> = times_ns.iter().map(|ns| ns / STEP_NS).collect();
    let all = steps.iter().flat_map(|step| step * STEP_NS..step * STEP_NS + EACH);
    assert_eq!(times_ns, all.collect::<Vec<_>>());
    steps
}

/// Blocks that are told to be lost, each place once.
fn lost(store: &Store, met: &[Damage]) -> u64 {
    let mut told = store.damage_so_far();
    let new: Vec<_> = met.iter().filter(|damage| !told.contains(damage)).cloned().collect();
    told.extend(new);
    told.iter()
        .map(|damage| match damage.loss {
            Loss::Blocks(blocks) | Loss::Unsettled(blocks) => blocks,
            _ => panic!("{damage}"),
        })
        .sum()
}

/// Steps of which there is a frame, by everything that reads records.
fn cat(store: &Store) -> (BTreeSet<i64>, u64) {
    let reading = Reading::default();
    let (mut by_time, mut as_written) = (BTreeSet::new(), BTreeSet::new());
    let (mut times_ns, mut texts) = (Vec::new(), Vec::new());
    let notes = store.records(Interval::ALL, &Filter::all().data_only(), &reading, |record| {
        match record.kind {
            Kind::Frame => assert!(by_time.insert(record.time_ns / STEP_NS)),
            Kind::Text => texts.push(record.time_ns),
            _ => times_ns.extend(record.samples().iter().flat_map(|s| s.iter()).map(|s| s.1)),
        }
        ControlFlow::Continue(())
    });
    let told = lost(store, &notes.unwrap().damage);
    assert_eq!((steps(&times_ns), &steps(&texts)), (steps(&texts), &by_time));
    let notes = store.records_as_written(|record| {
        if record.kind == Kind::Frame {
            as_written.insert(record.time_ns / STEP_NS);
        }
        ControlFlow::Continue(())
    });
    assert_eq!((&as_written, lost(store, &notes.unwrap().damage)), (&by_time, told));
    let (rows, notes) = store.tail(&[3], 1000).unwrap();
    let rows = rows[&3].iter().map(|row| row.time_ns / STEP_NS);
    assert_eq!((rows.collect(), lost(store, &notes.damage)), (by_time.clone(), told));
    let report = verify(store, Access::Read, |_, _| {}).unwrap();
    assert!(told == 0 || !report.is_whole());
    (by_time, told)
}

fn check(disk: &SimDisk, access: Access, expected: &(BTreeSet<i64>, u64), place: &str) {
    assert_eq!(&cat(&opened(disk, access)), expected, "records, {place}");
    assert_eq!(&asked(&opened(disk, access)), expected, "a query, {place}");
    let settled = disk.fork();
    let options = SettleOptions { least_bytes: 0, ..SettleOptions::default() };
    let mut settler = Settler::over(opened(&settled, access), options).unwrap();
    let mut told = Vec::new();
    loop {
        let done = settler.step_with(Extent::All, false).unwrap();
        told.extend(done.damage);
        if !done.more {
            break;
        }
    }
    assert_eq!(told.is_empty(), expected.1 == 0, "{place}: {told:?}");
    // All that could be read is in a run, and what is lost stays told when the log has gone round.
    settled.heal();
    assert_eq!(&asked(&opened(&settled, access)), expected, "settled, {place}");
}

#[test]
fn a_place_that_cannot_be_read_costs_its_blocks_and_no_others() {
    // Blocks of two units, and blocks that are longer than what is read at once for headers.
    for (name, frame_bytes) in [("unreadable-small", 5000), ("unreadable-large", 40_000)] {
        let disk = store(name, frame_bytes);
        let blocks = blocks(&disk);
        let all: BTreeSet<i64> = (0..BLOCKS).collect();
        check(&disk, Access::Read, &(all.clone(), 0), name);
        for access in [Access::Read, Access::ReadDirect] {
            for (at, (file, offset, bytes, steps)) in blocks.iter().enumerate() {
                let left: BTreeSet<i64> = all.difference(steps).copied().collect();
                let places = [(*offset, 1), (offset + UNIT_BYTES, 1), (*offset, *bytes)];
                for (from, length) in places {
                    let broken = disk.fork();
                    let to = from + length;
                    broken.inject(Fault::Unreadable { name: file.clone(), from, to });
                    let place = format!("{name}, block {at}, {length} bytes at {from}, {access:?}");
                    check(&broken, access, &(left.clone(), 1), &place);
                }
            }
        }
    }
}

#[test]
fn neighbours_that_cannot_be_read_are_counted_one_by_one() {
    let disk = store("unreadable-several", 5000);
    let blocks = blocks(&disk);
    let (file, from, ..) = &blocks[2];
    let (_, offset, bytes, _) = &blocks[4];
    let gone: BTreeSet<i64> = blocks[2..5].iter().flat_map(|block| block.3.clone()).collect();
    disk.inject(Fault::Unreadable { name: file.clone(), from: *from, to: offset + bytes });
    let left = (0..BLOCKS).filter(|step| !gone.contains(step)).collect();
    check(&disk, Access::Read, &(left, 3), "three blocks");
}
