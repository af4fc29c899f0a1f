//! The last rows of a sensor cost what they are: beside frames of megabytes, settled or not, late, out
//! of order, deleted and damaged. Counted through the seam of the storage, and against a full answer.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::counted::Cost;
use crate::common::{Folder, Random};
use baro_log::{Geometry, init};
use baro_ondisk::{Layout, StoreId, Type, WhenFull};
use baro_recorder::{Options, Producer, Recorder};
use baro_store::{
    Aggregate, Every, Extent, Fill, Interval, Query, QueryNotes, Selection, SettleOptions, Settler,
    Steps, Store,
};
use baro_sys::disk::Disk;
use std::ops::ControlFlow;

type Rows = Vec<(usize, i64, u64)>;

fn ask(store: &Store, names: &[&str], query: &Query) -> (Rows, QueryNotes) {
    let selection = Selection::named(store.catalog(), names).unwrap();
    let mut rows = Vec::new();
    let notes = store.query(&selection, query, |batch| {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            rows.push((batch.target.place, *time_ns, batch.values.bits(at).unwrap_or(0)));
        }
        ControlFlow::Continue(())
    });
    (rows, notes.unwrap())
}

fn counted(folder: &Folder, names: &[&str], query: &Query) -> (Rows, QueryNotes, Cost) {
    let ((rows, notes), cost) =
        crate::common::counted::counted(&folder.0, |store| ask(store, names, query));
    (rows, notes, cost)
}

/// Steps of all lengths up to twice this: each begins at a multiple or a while later.
fn around(time_ns: i64, length_ns: i64) -> (i64, i64) {
    let (time, length) = (i128::from(time_ns), i128::from(length_ns));
    let begin = |step: i128| step * length + (step * 2_654_435_761).rem_euclid(length);
    let step = time.div_euclid(length);
    let step = if begin(step) > time { step - 1 } else { step };
    let ns = |ns: i128| ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    (ns(begin(step)), ns(begin(step + 1)))
}

/// The same for a query whose steps have about this length.
fn steps(length_ns: i64) -> Steps {
    Steps::new(move |time_ns| around(time_ns, length_ns))
}

fn last(rows: usize) -> Query {
    Query { last: Some(rows), ..Query::raw(Interval::ALL) }
}

fn whole() -> Query {
    Query::raw(Interval::ALL)
}

const SEGMENT_BYTES: u64 = 16 << 20;

fn made(name: &str, segments: u32, segment_bytes: u64) -> Folder {
    let folder = Folder::new(name);
    let disk = Disk::create(&folder.0).unwrap();
    let (catalog_bytes, when_full) = (1 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
    init(&disk, &folder.0, StoreId(*b"store id of test"), 1, &geometry, |_| {}).unwrap();
    folder
}

fn declare(recorder: &Recorder) -> (u32, u32) {
    let layout: Layout = "n:u32@0".parse().unwrap();
    let channel = recorder.declare_channel_with_layout("lidar", &layout).unwrap();
    (channel, recorder.declare(&[("temp", Type::F64, "K")]).unwrap()[0])
}

fn wait(recorder: &Recorder, producer: &Producer) {
    let next = producer.next_sequence();
    assert!(recorder.wait_durable(producer, next, 60_000_000_000));
}

fn settle(folder: &Folder) {
    let options = SettleOptions { least_bytes: 1, ..Default::default() };
    let mut settler = Settler::open(&folder.0, options).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

/// Frames, each of a megabyte.
const FRAMES: u32 = 60;
const FRAME_BYTES: usize = 1_000_000;
/// A sample goes with each of the first frames only.
const SAMPLES: u32 = 40;
/// What the first sample was late for.
const LATE_NS: i64 = 1_000_000;

/// Frames and samples at 1000, 2000, ..; the first sample has the latest time.
fn frames_and_samples(name: &str) -> Folder {
    let folder = made(name, 8, SEGMENT_BYTES);
    let options = Options { record_bytes_max: 1 << 20, ..crate::common::options() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    let (channel, temp) = declare(&recorder);
    let mut producer = recorder.producer().unwrap();
    for number in 0..FRAMES {
        let time_ns = i64::from(number + 1) * 1000;
        let mut frame = number.to_le_bytes().to_vec();
        frame.resize(FRAME_BYTES, number as u8);
        producer.push_frame(channel, time_ns, &frame).unwrap();
        if number < SAMPLES {
            let time_ns = if number == 0 { LATE_NS } else { time_ns };
            producer.push_samples(time_ns, &[temp], &[f64::from(number)]).unwrap();
        }
        wait(&recorder, &producer);
    }
    assert_eq!(recorder.close().left, 0);
    folder
}

fn sample(number: u32) -> (usize, i64, u64) {
    let time_ns = if number == 0 { LATE_NS } else { i64::from(number + 1) * 1000 };
    (0, time_ns, f64::from(number).to_bits())
}

#[test]
fn the_last_rows_cost_what_they_are_beside_frames_of_megabytes() {
    let folder = frames_and_samples("newest-cost");
    let samples = [sample(38), sample(39), sample(0)];
    let frames = [58, 59, 60].map(|n: i64| (0, n * 1000, n as u64 - 1));
    // A header of each block, and of the blocks those that have the rows.
    let most = 8 << 20;
    for settled in [false, true] {
        let (rows, notes, cost) = counted(&folder, &["temp"], &last(3));
        assert_eq!((rows.as_slice(), notes.read.damage.len()), (&samples[..], 0), "{settled}");
        assert!(cost.bytes < most && cost.reads < 300, "settled {settled}: {cost:?}");
        let (rows, notes, cost) = counted(&folder, &["lidar.n"], &last(3));
        assert_eq!((rows.as_slice(), notes.read.damage.len()), (&frames[..], 0), "{settled}");
        assert!(cost.bytes < 2 * most && cost.reads < 400, "settled {settled}: {cost:?}");
        // Of an interval only what meets it; steps as rows.
        let interval = Interval { from_ns: 5000, to_ns: 8000 };
        let (rows, _, cost) = counted(&folder, &["temp"], &Query::raw(interval));
        assert_eq!(rows, [sample(4), sample(5), sample(6)]);
        assert!(cost.bytes < most, "settled {settled}: {cost:?}");
        let every = Every { step_ns: 10_000, aggregate: Aggregate::Count };
        let query = Query { last: Some(2), ..Query::every(Interval::ALL, every) };
        let (rows, _, cost) = counted(&folder, &["temp"], &query);
        assert_eq!(rows, [(0, 40_000, 1), (0, LATE_NS, 1)]);
        assert!(cost.bytes < most, "settled {settled}: {cost:?}");
        settle(&folder);
    }
}

#[test]
fn deleted_rows_are_passed_over_and_damage_in_the_way_is_named() {
    let folder = frames_and_samples("newest-damage");
    let mut store = Store::open(&folder.0).unwrap();
    let temp = Selection::named(store.catalog(), &["temp"]).unwrap().ids()[0];
    let interval = Interval { from_ns: 40_000, to_ns: i64::MAX };
    store.delete(&[temp], interval).unwrap();
    let (rows, notes, cost) = counted(&folder, &["temp"], &last(2));
    assert_eq!((rows.as_slice(), notes.read.damage.len()), (&[sample(37), sample(38)][..], 0));
    assert!(cost.bytes < 12 << 20, "{cost:?}");
    // A byte of a frame, in a block of which a sample is.
    let flip = |sample: u32| {
        let mut place = None;
        let store = Store::open(&folder.0).unwrap();
        let notes = store.blocks(|live| {
            if live.block.header.time_min_ns == i64::from(sample + 1) * 1000 {
                place = Some((live.file.name(), live.offset));
            }
            ControlFlow::Continue(())
        });
        notes.unwrap();
        let (name, offset) = place.unwrap();
        let path = folder.0.join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[offset as usize + 5000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    };
    // It has nothing to do with the last rows, but with all of them.
    flip(20);
    let (rows, notes, _) = counted(&folder, &["temp"], &last(2));
    assert_eq!((rows.as_slice(), notes.read.damage.len()), (&[sample(37), sample(38)][..], 0));
    let (rows, notes, _) = counted(&folder, &["temp"], &whole());
    assert_eq!((rows.len(), notes.read.damage.len()), (37, 1), "{notes:?}");
    flip(38);
    let (rows, notes, _) = counted(&folder, &["temp"], &last(2));
    assert_eq!((rows.as_slice(), notes.read.damage.len()), (&[sample(36), sample(37)][..], 1));
    // A damaged header is noticed, wherever it is.
    let (rows, notes, _) = counted(&folder, &["lidar.n"], &last(2));
    assert_eq!((rows.len(), notes.read.damage.len()), (2, 0));
}

/// Rounds, and questions after each.
const ROUNDS: u64 = 12;

/// Late and early, of one time twice, in blocks of many times, deleted here and there.
#[test]
fn the_last_rows_are_those_of_a_full_answer() {
    let rounds = std::env::var("BARO_NEWEST_ROUNDS").ok().and_then(|text| text.parse().ok());
    let mut random = Random(0x5eed_0000_0042);
    let folder = made("newest-random", 12, 1 << 20);
    for round in 0..rounds.unwrap_or(ROUNDS) {
        let recorder = Recorder::open(&folder.0, crate::common::options()).unwrap();
        let (channel, temp) = declare(&recorder);
        let other = recorder.declare(&[("other", Type::I64, "")]).unwrap()[0];
        let mut producer = recorder.producer().unwrap();
        let base_ns = (round % 3) as i64 * 5000;
        for number in 0..random.below(40) {
            let time_ns = match random.below(30) {
                0 => base_ns + 100_000,
                _ => base_ns + number as i64 * 50 - random.below(4000) as i64,
            };
            let value = round * 1000 + number;
            match random.below(4) {
                0 => {
                    let mut frame = (value as u32).to_le_bytes().to_vec();
                    frame.resize(4 + random.below(3000) as usize, 0);
                    let length = if random.below(9) == 0 { 2 } else { frame.len() };
                    producer.push_frame(channel, time_ns, &frame[..length]).unwrap();
                }
                1 => {
                    producer.push_samples(time_ns, &[other], &[value as i64]).unwrap();
                }
                _ => {
                    producer.push_samples(time_ns, &[temp], &[value as f64]).unwrap();
                }
            }
            if random.below(3) == 0 {
                wait(&recorder, &producer);
            }
        }
        assert_eq!(recorder.close().left, 0);
        let mut store = Store::open(&folder.0).unwrap();
        if random.below(3) == 0 {
            let from_ns = base_ns + random.below(3000) as i64 - 2000;
            let to_ns = from_ns + random.below(1000) as i64 + 1;
            store.delete(&[temp, channel, temp], Interval { from_ns, to_ns }).unwrap();
        }
        if random.below(4) == 0 {
            settle(&folder);
        }
        for _ in 0..12 {
            let names = [&["temp"][..], &["other", "temp"], &["lidar.n"], &["temp", "lidar.n"]];
            let names = names[random.below(4) as usize];
            let from_ns = random.below(8000) as i64 - 4000;
            let interval = match random.below(3) {
                0 => Interval { from_ns, to_ns: from_ns + 1 + random.below(9000) as i64 },
                1 => Interval { from_ns, to_ns: i64::MAX },
                _ => Interval::ALL,
            };
            let aggregate = Aggregate::ALL[random.below(Aggregate::ALL.len() as u64) as usize];
            let step_ns = [0, 1, 700, 5000][random.below(4) as usize];
            let query = match random.below(2) {
                0 => Query::raw(interval),
                _ => {
                    let any = step_ns > 0 && random.below(2) == 0;
                    let steps = any.then(|| steps(step_ns as i64));
                    let fill = [None, Some(Fill::Previous), Some(Fill::Zero)];
                    let fill = fill[random.below(3) as usize];
                    Query { steps, fill, ..Query::every(interval, Every { step_ns, aggregate }) }
                }
            };
            let store = Store::open(&folder.0).unwrap();
            let (all, _) = ask(&store, names, &query);
            let rows = random.below(9) as usize;
            let (found, notes) = ask(
                &Store::open(&folder.0).unwrap(),
                names,
                &Query { last: Some(rows), ..query.clone() },
            );
            let mut expected = Vec::new();
            for group in all.chunk_by(|a, b| a.0 == b.0) {
                expected.extend_from_slice(&group[group.len().saturating_sub(rows)..]);
            }
            assert_eq!(found, expected, "{round}: last {rows} of {names:?}, {query:?}");
            assert_eq!(notes.read.damage, []);
        }
    }
}
