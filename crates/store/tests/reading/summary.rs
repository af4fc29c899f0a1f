//! A question about samples costs no read of each block of frames: segments tell what they hold. And
//! whatever is damaged, missing or older than that, the answer is what the blocks have.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::Folder;
use crate::common::counted::{Cost, counted};
use baro_log::{Geometry, init, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{SegmentHeader, StoreId, Summary, Type, Wear, WhenFull};
use baro_recorder::{Options, Producer, Recorder};
use baro_store::{
    Damage, Extent, Interval, Query, Selection, SettleOptions, Settler, Store, verify,
};
use baro_sys::disk::Disk;
use baro_sys::storage::Access;
use std::fs::{File, OpenOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;

const SEGMENT_BYTES: u64 = 1 << 20;
const HEADER: u64 = UNIT_BYTES as u64;

fn made(name: &str, segments: u32, when_full: WhenFull) -> Folder {
    let folder = Folder::new(name);
    let disk = Disk::create(&folder.0).unwrap();
    let (segment_bytes, catalog_bytes) = (SEGMENT_BYTES, 1 << 20);
    let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
    init(&disk, &folder.0, StoreId(*b"store id of test"), 1, &geometry, |_| {}).unwrap();
    folder
}

/// A recorder whose blocks have one frame each of those that are pushed here.
struct Bench {
    recorder: Recorder,
    producer: Producer,
    frames: u32,
    temp: u32,
    /// Samples are pushed at this time next, and have the number of its step.
    number: i64,
}

const STEP_NS: i64 = 1000;

impl Bench {
    fn open(path: &Path) -> Self {
        let (block_bytes, record_bytes_max) = (64 << 10, 60 << 10);
        let options = Options { block_bytes, record_bytes_max, ..crate::common::options() };
        let recorder = Recorder::open(path, options).unwrap();
        let declared = recorder.declare(&[("frames", Type::Channel, ""), ("temp", Type::F64, "K")]);
        let declared = declared.unwrap();
        let (frames, temp) = (declared[0], declared[1]);
        let producer = recorder.producer().unwrap();
        Bench { recorder, producer, frames, temp, number: 0 }
    }

    fn frames(&mut self, count: usize, bytes: usize) {
        for _ in 0..count {
            self.number += 1;
            let frame = vec![self.number as u8; bytes];
            self.producer.push_frame(self.frames, self.number * STEP_NS, &frame).unwrap();
        }
        self.wait();
    }

    fn samples(&mut self, count: usize) {
        for _ in 0..count {
            self.number += 1;
            let value = self.number as f64;
            self.producer.push_samples(self.number * STEP_NS, &[self.temp], &[value]).unwrap();
        }
        self.wait();
    }

    fn wait(&mut self) {
        let next = self.producer.next_sequence();
        assert!(self.recorder.wait_durable(&self.producer, next, 60_000_000_000));
    }

    fn close(self) -> i64 {
        drop(self.producer);
        assert_eq!(self.recorder.close().left, 0);
        self.number
    }
}

type Rows = Vec<(i64, f64)>;

fn ask(store: &Store, query: &Query) -> (Rows, Vec<Damage>) {
    let selection = Selection::named(store.catalog(), &["temp"]).unwrap();
    let mut rows = Vec::new();
    let notes = store.query(&selection, query, |batch| {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            rows.push((*time_ns, f64::from_bits(batch.values.bits(at).unwrap())));
        }
        ControlFlow::Continue(())
    });
    let mut damage = store.damage_so_far();
    damage.extend(notes.unwrap().read.damage);
    (rows, damage)
}

fn last(rows: usize) -> Query {
    Query { last: Some(rows), ..Query::raw(Interval::ALL) }
}

fn all() -> Query {
    Query::raw(Interval::ALL)
}

/// The samples that the blocks have, without a look at what tells of them.
fn of_blocks(path: &Path) -> Rows {
    let (store, mut rows) = (Store::open(path).unwrap(), Rows::new());
    let notes = store.records_as_written(|record| {
        for (_, time_ns, bits) in record.samples().iter().flat_map(|samples| samples.iter()) {
            rows.push((time_ns, f64::from_bits(bits)));
        }
        ControlFlow::Continue(())
    });
    notes.unwrap();
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
    rows
}

/// What is wrong, as verify tells.
fn wrong(path: &Path) -> Vec<Damage> {
    verify(&Store::open(path).unwrap(), Access::Read, |_, _| {}).unwrap().damage
}

/// Both questions have what the blocks have, and no damage.
fn same(path: &Path) -> Rows {
    let expected = of_blocks(path);
    let (rows, damage) = ask(&Store::open(path).unwrap(), &all());
    assert_eq!((rows.as_slice(), damage.as_slice()), (expected.as_slice(), &[][..]));
    for count in [1, 3, 1000] {
        let (rows, damage) = ask(&Store::open(path).unwrap(), &last(count));
        let newest = &expected[expected.len().saturating_sub(count)..];
        assert_eq!((rows.as_slice(), damage.as_slice()), (newest, &[][..]), "last {count}");
    }
    assert_eq!(wrong(path), []);
    expected
}

fn cost(path: &Path, query: &Query) -> (Rows, Cost) {
    let ((rows, damage), cost) = counted(path, |store| ask(store, query));
    assert_eq!(damage, []);
    (rows, cost)
}

/// Frames through 20 segments, then samples, in a store of 24.
fn frames_then_samples(name: &str, frame_bytes: usize) -> (Folder, Rows) {
    let folder = made(name, 24, WhenFull::Stop);
    let mut bench = Bench::open(&folder.0);
    for _ in 0..20 {
        bench.frames((1000 << 10) / frame_bytes, frame_bytes);
    }
    bench.samples(100);
    bench.close();
    let rows = same(&folder.0);
    assert_eq!(rows.len(), 100);
    (folder, rows)
}

fn settle(path: &Path) {
    let options = SettleOptions { least_bytes: 1, ..Default::default() };
    let mut settler = Settler::open(path, options).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

fn blocks(path: &Path) -> u64 {
    verify(&Store::open(path).unwrap(), Access::Read, |_, _| {}).unwrap().blocks
}

#[test]
fn what_a_question_reads_does_not_depend_on_how_many_blocks_have_no_samples() {
    let (many, _) = frames_then_samples("summary-many", 36 << 10);
    let (few, _) = frames_then_samples("summary-few", 60 << 10);
    assert!(blocks(&many.0) > 500 && blocks(&few.0) < 400);
    // The header of each segment, one last unit, catalog and runs, the block.
    let (most_reads, most_bytes) = (24 + 16, 768 << 10);
    for settled in [false, true] {
        for query in [last(3), last(100), all()] {
            let (of_many, cost_many) = cost(&many.0, &query);
            let (of_few, cost_few) = cost(&few.0, &query);
            assert_eq!((of_many.len(), of_few.len()), (of_few.len(), query.last.unwrap_or(100)));
            assert_eq!(cost_many.reads, cost_few.reads, "settled {settled}, {query:?}");
            let small = cost_many.reads <= most_reads && cost_many.bytes <= most_bytes;
            assert!(small, "settled {settled}: {cost_many:?}");
        }
        let (earliest, cost) = counted(&many.0, |store| store.earliest_ns().unwrap());
        assert_eq!(earliest, Some(STEP_NS));
        assert!(cost.reads <= most_reads, "{cost:?}");
        settle(&many.0);
        settle(&few.0);
    }
}

/// Frames with a sample now and then, one of them late.
fn samples_among_frames(name: &str, segments: u32, when_full: WhenFull, rounds: i64) -> Folder {
    let folder = made(name, segments, when_full);
    let mut bench = Bench::open(&folder.0);
    for round in 0..rounds {
        bench.frames(10, 36 << 10);
        bench.samples(1);
        if round == 5 {
            let late_ns = 3 * STEP_NS;
            bench.producer.push_samples(late_ns, &[bench.temp], &[3.0]).unwrap();
        }
    }
    bench.close();
    folder
}

#[test]
fn samples_among_frames_are_found_one_from_the_other_and_the_last_ones_first() {
    let folder = samples_among_frames("summary-among", 24, WhenFull::Stop, 50);
    assert_eq!(same(&folder.0).len(), 51);
    let (_, newest) = cost(&folder.0, &last(3));
    // Of each sample its header and its block.
    assert!(newest.reads <= 24 + 8 + 8, "{newest:?}");
    let (_, whole) = cost(&folder.0, &all());
    assert!(whole.reads <= 24 + 8 + 2 * 51, "{whole:?}");
    // Of an interval near the end no more.
    let from_ns = (50 * 11 - 25) * STEP_NS;
    let interval = Interval { from_ns, to_ns: i64::MAX };
    let (rows, cost) = cost(&folder.0, &Query::raw(interval));
    assert_eq!(rows.len(), 3);
    assert!(cost.reads <= 24 + 8 + 10, "{cost:?}");
}

#[test]
fn sessions_one_after_another_and_a_log_that_goes_round_tell_of_all_segments() {
    let folder = made("summary-sessions", 6, WhenFull::Recycle);
    let mut number = 0;
    for round in 0..9 {
        let mut bench = Bench { number, ..Bench::open(&folder.0) };
        bench.samples(2);
        bench.frames(30 + 9 * round, 36 << 10);
        bench.samples(usize::from(round % 2 == 0));
        number = bench.close();
        let rows = same(&folder.0);
        assert!(rows.len() >= 2);
        let (_, cost) = cost(&folder.0, &last(1));
        assert!(cost.reads <= 6 + 14, "{round}: {cost:?}");
    }
}

#[test]
fn what_a_killed_recorder_leaves_has_all_its_samples() {
    let folder = made("summary-killed", 12, WhenFull::Stop);
    let image = Folder::new("summary-image");
    let mut bench = Bench::open(&folder.0);
    for round in 0..12 {
        bench.frames(9, 36 << 10);
        bench.samples(1);
        // What is durable now is what a power cut would leave; nothing is under way.
        let copied =
            std::process::Command::new("cp").arg("-a").args([&folder.0, &image.0]).status();
        assert!(copied.unwrap().success());
        assert_eq!(same(&image.0).len(), round + 1);
        if round % 4 == 3 {
            let mut next = Bench { number: bench.number, ..Bench::open(&image.0) };
            next.frames(40, 36 << 10);
            next.samples(1);
            next.close();
            assert_eq!(same(&image.0).len(), round + 2);
        }
        std::fs::remove_dir_all(&image.0).unwrap();
    }
    bench.close();
}

fn unit(path: &Path, index: u32, offset: u64) -> Vec<u8> {
    let mut unit = vec![0; UNIT_BYTES];
    File::open(path.join(segment_name(index))).unwrap().read_exact_at(&mut unit, offset).unwrap();
    unit
}

fn put(path: &Path, index: u32, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path.join(segment_name(index))).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

const LAST: u64 = SEGMENT_BYTES - UNIT_BYTES as u64;

/// The segment that tells of itself.
fn closed(path: &Path, segments: u32) -> u32 {
    let told = |index: &u32| SegmentHeader::summary(&unit(path, *index, LAST)).is_some();
    let mut found = (0..segments).filter(told);
    let index = found.next().unwrap();
    assert_eq!(found.next(), None);
    index
}

#[test]
fn a_damaged_or_missing_summary_hides_nothing() {
    let folder = samples_among_frames("summary-damaged", 24, WhenFull::Stop, 30);
    let rows = same(&folder.0);
    let index = closed(&folder.0, 24);
    let whole = unit(&folder.0, index, LAST);
    for at in [8, 40, 64, 3976, 3984, 4024, 4095] {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        put(&folder.0, index, LAST, &bad);
        assert_eq!(same(&folder.0), rows, "{at}");
    }
    // One of an earlier life of the segment.
    let (header, _) = SegmentHeader::decode(&whole).unwrap();
    let summary = SegmentHeader::summary(&whole).unwrap();
    let nothing = Summary { last_samples: 0, ..summary };
    for (header, summary) in [
        (SegmentHeader { epoch: header.epoch - 1, ..header }, nothing),
        (SegmentHeader { session: header.session - 1, ..header }, nothing),
        (header, Summary { epoch: header.epoch - 1, ..nothing }),
    ] {
        let (bytes, _) = header.encode_with(&[], &Wear::default(), Some(&summary));
        put(&folder.0, index, LAST, &bytes);
        assert_eq!(same(&folder.0), rows);
    }
    put(&folder.0, index, LAST, &[0; UNIT_BYTES]);
    assert_eq!(same(&folder.0), rows);
    // The header that tells of the segment before: it is made again from its blocks, without.
    let header = unit(&folder.0, index, 0);
    for at in [16, 3976, 4000] {
        let mut bad = header.clone();
        bad[at] ^= 1;
        put(&folder.0, index, 0, &bad);
        for query in [all(), last(100)] {
            assert_eq!(ask(&Store::open(&folder.0).unwrap(), &query).0, rows, "{at}");
        }
    }
}

#[test]
fn a_summary_that_tells_something_else_than_the_blocks_is_damage_to_verify() {
    let folder = samples_among_frames("summary-wrong", 24, WhenFull::Stop, 30);
    let index = closed(&folder.0, 24);
    let whole = unit(&folder.0, index, LAST);
    let (header, _) = SegmentHeader::decode(&whole).unwrap();
    let told = SegmentHeader::summary(&whole).unwrap();
    let later = |(min, max): (i64, i64)| (min, max + 1);
    for summary in [
        Summary { last_samples: 0, ..told },
        Summary { times_ns: later(told.times_ns), ..told },
        Summary { sample_times_ns: later(told.sample_times_ns), ..told },
    ] {
        let (bytes, _) = header.encode_with(&[], &Wear::default(), Some(&summary));
        put(&folder.0, index, LAST, &bytes);
        let damage = wrong(&folder.0);
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(damage[0].file, segment_name(index));
        assert!(damage[0].offset >= LAST && damage[0].is_loss());
    }
    // One that is not the segment's end is nobody's.
    let (bytes, _) =
        header.encode_with(&[], &Wear::default(), Some(&Summary { end: told.end - 1, ..told }));
    put(&folder.0, index, LAST, &bytes);
    assert_eq!(wrong(&folder.0), []);
}

#[test]
fn where_a_link_is_damaged_all_blocks_are_asked_and_the_damage_is_told() {
    let folder = samples_among_frames("summary-link", 24, WhenFull::Stop, 30);
    let rows = same(&folder.0);
    let index = closed(&folder.0, 24);
    let before = SegmentHeader::summary(&unit(&folder.0, index, 0)).unwrap();
    let of_before = |index: &u32| {
        let header = SegmentHeader::decode(&unit(&folder.0, *index, 0)).unwrap().0;
        header.epoch == before.epoch
    };
    let before_index = (0..24).find(of_before).unwrap();
    let offset = u64::from(before.last_samples) * HEADER;
    let whole = unit(&folder.0, before_index, offset);
    for at in [0, 24, 56, 121] {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        put(&folder.0, before_index, offset, &bad);
        for query in [all(), last(100)] {
            let (found, damage) = ask(&Store::open(&folder.0).unwrap(), &query);
            assert_eq!(found.len(), rows.len() - 1, "{at}");
            assert!(found.iter().all(|row| rows.contains(row)));
            assert!(damage.iter().any(Damage::is_loss), "{at}: {damage:?}");
        }
    }
    put(&folder.0, before_index, offset, &whole);
    assert_eq!(same(&folder.0), rows);
}
