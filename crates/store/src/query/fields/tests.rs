//! Columns of fields come out the same whether they fit into memory or need several passes.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use super::*;
use crate::interval::Interval;
use crate::{Aggregate, Every};
use baro_log::{Geometry, init};
use baro_ondisk::{Layout, StoreId, WhenFull};
use baro_recorder::{Options, Producer, Recorder, Rings};
use baro_sys::disk::Disk;
use std::path::{Path, PathBuf};

fn made(name: &str, when_full: WhenFull) -> PathBuf {
    let path = std::env::temp_dir().join(format!("baro-fields-{name}-{}", std::process::id()));
    let disk = Disk::create(&path).unwrap();
    let (segment_bytes, catalog_bytes) = (1 << 20, 1 << 20);
    let geometry = Geometry { segment_bytes, segments: 4, catalog_bytes, when_full };
    init(&disk, &path, StoreId([3; 16]), 1, &geometry, |_| {}).unwrap();
    path
}

fn opened(path: &Path) -> (Recorder, u32, Producer) {
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(path, options).unwrap();
    let layout: Layout = "value:u8[6]@0".parse().unwrap();
    let channel = recorder.declare_channel_with_layout("c", &layout).unwrap();
    let producer = recorder.producer().unwrap();
    (recorder, channel, producer)
}

/// Long frames from a time on, so many that the log goes round.
fn go_round((recorder, channel, producer): &mut (Recorder, u32, Producer), from_ns: i64) {
    for at in 0..100 {
        producer.push_frame(*channel, from_ns + at, &[7; 60_000]).unwrap();
        assert!(recorder.wait_durable(producer, producer.next_sequence(), 60_000_000_000));
    }
}

/// Six columns of 1,000 frames, in a log that goes round.
fn recycling(name: &str) -> (PathBuf, (Recorder, u32, Producer)) {
    let path = made(name, WhenFull::Recycle);
    let mut recording = opened(&path);
    let (recorder, channel, producer) = &mut recording;
    for at in 0..1000 {
        producer.push_frame(*channel, at, &[at as u8; 600]).unwrap();
    }
    assert!(recorder.wait_durable(producer, producer.next_sequence(), 60_000_000_000));
    (path, recording)
}

#[test]
fn what_is_recycled_between_two_passes_is_told() {
    let (path, mut recording) = recycling("passes");
    let store = Store::open(&path).unwrap();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let query = Query::raw(Interval { from_ns: 0, to_ns: 1000 });
    let mut rows = [0; 6];
    let mut each = |batch: &Batch<'_>| {
        if rows == [0; 6] {
            go_round(&mut recording, 1000);
        }
        rows[batch.target.place] += batch.times_ns.len();
        ControlFlow::Continue(())
    };
    let mut out = Emitter::new(&query, Taker::Batches(&mut each));
    let (notes, _) = columns(&store, &selection, 0..6, &query, &mut out, Some(3000)).unwrap();
    assert_eq!(rows[0], 1000, "the first pass has read all");
    assert!(rows[5] < 1000, "{rows:?}");
    assert!(notes.blocks_recycled > 0, "{notes:?}");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn what_is_recycled_before_the_interval_is_told_where_it_counts() {
    let (path, mut recording) = recycling("before");
    let store = Store::open(&path).unwrap();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let ask = |aggregate| {
        let interval = Interval { from_ns: 1000, to_ns: i64::MAX };
        let query = Query::every(interval, Every { step_ns: 100, aggregate });
        store.query(&selection, &query, |_| ControlFlow::Continue(())).unwrap()
    };
    assert_eq!(ask(Aggregate::Increase).read.blocks_recycled, 0);
    go_round(&mut recording, 1000);
    assert!(ask(Aggregate::Increase).read.blocks_recycled > 0);
    assert_eq!(ask(Aggregate::Sum).read.blocks_recycled, 0, "nothing before it was asked for");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn fields_come_out_whole_in_several_passes() {
    let path = made("whole", WhenFull::Stop);
    let (recorder, channel, mut producer) = opened(&path);
    for at in 0..5000_u32 {
        // Every tenth time comes twice: the later frame counts.
        let time_ns = i64::from(at - u32::from(at % 10 == 9));
        let frame: Vec<u8> = (0..6).map(|field| (at * 7 + field) as u8).collect();
        producer.push_frame(channel, time_ns, &frame).unwrap();
    }
    assert_eq!(recorder.close().left, 0);
    let store = Store::open(&path).unwrap();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let answer = |held: usize| {
        let query = Query::raw(Interval::ALL);
        let (mut rows, mut batches) = (Vec::new(), 0);
        let mut each = |batch: &crate::Batch<'_>| {
            batches += 1;
            let crate::Values::I64(values) = batch.values else { panic!("{batch:?}") };
            let times = batch.times_ns.iter().zip(values);
            rows.extend(times.map(|(time, value)| (batch.target.place, *time, *value)));
            ControlFlow::Continue(())
        };
        let mut out = Emitter::new(&query, Taker::Batches(&mut each));
        let places = 0..selection.columns().len();
        columns(&store, &selection, places, &query, &mut out, Some(held)).unwrap();
        rows
    };
    let all = answer(1 << 20);
    assert_eq!(all.len(), 6 * 4500);
    assert_eq!(all[8], (0, 8, i64::from((9 * 7) as u8)));
    assert!(all.is_sorted_by_key(|row| (row.0, row.1)));
    for held in [0, 100, 9_000, 14_000] {
        assert_eq!(answer(held), all, "{held} rows held");
    }
    std::fs::remove_dir_all(&path).unwrap();
}
