//! Dropping runs never brings back what a later run has corrected, and keeps to its bounds.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::{PinRequest, Recorder};
use baro_store::{Extent, Interval, Query, RunRetention, SettleOptions, Settler, Store, Values};
use baro_sys::storage::Access;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const WRONG: i64 = -1;
const RIGHT: i64 = 1;
const CORRECTED_NS: i64 = 5;

fn settling(retention: RunRetention) -> SettleOptions {
    SettleOptions { least_bytes: 0, fan_in: 100, retention, ..SettleOptions::default() }
}

/// Records these samples and settles them: a run of its own.
fn run(folder: &Folder, samples: impl Iterator<Item = (u32, i64, i64)>) {
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    recorder.declare(&[("a", Type::I64, ""), ("b", Type::I64, "")]).unwrap();
    let mut producer = recorder.producer().unwrap();
    for (series, time_ns, value) in samples {
        producer.push_sample(series, time_ns, value).unwrap();
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    settle(folder, RunRetention::default());
}

fn settle(folder: &Folder, retention: RunRetention) -> u32 {
    let mut settler = Settler::open(&folder.0, settling(retention)).unwrap();
    let mut dropped = 0;
    loop {
        let done = settler.step(Extent::All).unwrap();
        dropped += done.dropped.runs;
        if !done.more {
            return dropped;
        }
    }
}

fn samples(folder: &Folder, series: u32) -> BTreeMap<i64, i64> {
    let store = Store::open(&folder.0).unwrap();
    let mut found = BTreeMap::new();
    let notes = store.query_ids(&[series], &Query::raw(Interval::ALL), |batch| {
        let Values::I64(values) = batch.values else { panic!("{batch:?}") };
        found.extend(batch.times_ns.iter().copied().zip(values.iter().copied()));
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    found
}

fn runs(folder: &Folder) -> (u32, u64) {
    let info = Store::open(&folder.0).unwrap().info().unwrap();
    (info.runs, info.runs_bytes)
}

/// A run of 1,000 samples with a wrong one early, one that corrects it, one of another series whose
/// times lie in those of the first, and one of later times.
fn corrected(name: &str) -> Folder {
    let folder = Folder::init(name, 8, WhenFull::Stop);
    let wrong = |ns| if ns == CORRECTED_NS { WRONG } else { 0 };
    run(&folder, (0..1000).map(|ns| (1, ns, wrong(ns))));
    run(&folder, std::iter::once((1, CORRECTED_NS, RIGHT)));
    run(&folder, (0..100).map(|ns| (2, ns, 2)));
    run(&folder, (1000..2000).map(|ns| (1, ns, 0)));
    assert_eq!(runs(&folder).0, 4);
    folder
}

#[test]
fn a_correction_is_kept_as_long_as_what_it_corrects() {
    // The correction and the other series are old, the rest is not.
    let folder = corrected("retention-age");
    let keep = |keep_ns| RunRetention { keep_ns: Some(keep_ns), ..RunRetention::default() };
    assert_eq!(settle(&folder, keep(1500)), 1);
    assert_eq!(samples(&folder, 1).len(), 2000);
    assert_eq!(samples(&folder, 1)[&CORRECTED_NS], RIGHT);
    assert!(samples(&folder, 2).is_empty());
    // Both are old: both go.
    assert_eq!(settle(&folder, keep(500)), 2);
    assert_eq!(*samples(&folder, 1).first_key_value().unwrap().0, 1000);
}

#[test]
fn what_was_corrected_goes_before_its_correction_and_the_bounds_are_kept() {
    let folder = corrected("retention-size");
    let (mut left, mut seen) = (4, Vec::new());
    while left > 0 {
        let (runs_before, bytes) = runs(&folder);
        assert_eq!(runs_before, left);
        let keep = RunRetention { keep_bytes: Some(bytes - 1), ..RunRetention::default() };
        assert_eq!(settle(&folder, keep), 1);
        assert!(runs(&folder).1 < bytes);
        let value = samples(&folder, 1).get(&CORRECTED_NS).copied();
        assert_ne!(value, Some(WRONG));
        seen.push((value, samples(&folder, 1).len(), samples(&folder, 2).len()));
        left -= 1;
    }
    // The other series is the oldest that supersedes nothing; then what was corrected goes.
    let right = Some(RIGHT);
    assert_eq!(seen, [(right, 2000, 0), (right, 1001, 0), (None, 1000, 0), (None, 0, 0)]);
}

#[test]
fn a_sample_of_a_far_future_keeps_nothing_that_comes_later() {
    let folder = Folder::init("retention-future", 8, WhenFull::Stop);
    let far_ns = i64::MAX / 2;
    run(&folder, (0..1000).chain([far_ns]).map(|ns| (1, ns, 0)));
    run(&folder, (1000..2000).map(|ns| (1, ns, 0)));
    run(&folder, (1500..3000).map(|ns| (1, ns, 0)));
    run(&folder, std::iter::once((1, CORRECTED_NS, RIGHT)));
    // By the clock all are old but the first, and the last corrects a sample of it.
    let keep = RunRetention { keep_ns: Some(1_000_000_000), ..RunRetention::default() };
    assert_eq!(settle(&folder, keep), 2);
    let left = samples(&folder, 1);
    assert_eq!((left.len(), left[&CORRECTED_NS]), (1001, RIGHT));
}

/// Sources stamp with the clock: what jumps is both, and both are seen in the next run.
#[test]
fn a_clock_that_jumps_ahead_drops_nothing_until_it_has_stayed_there() {
    let day_ns = 86_400_000_000_000;
    let folder = Folder::init("retention-jump", 8, WhenFull::Stop);
    let keep = RunRetention { keep_ns: Some(30 * day_ns as u64), ..RunRetention::default() };
    // The clock of now is the one that is wrong: it was ten years ago a moment ago.
    let now_ns = baro_sys::clock::realtime_ns();
    let before_ns = now_ns - 3650 * day_ns;
    run(&folder, (0..10).map(|at| (1, before_ns - 40 * day_ns + at, at)));
    run(&folder, (0..10).map(|at| (1, before_ns - 20 * day_ns + at, at)));
    run(&folder, (0..10).map(|at| (1, before_ns + at, at)));
    // What is brought from elsewhere is as old as it says.
    assert_eq!((settle(&folder, keep), runs(&folder).0), (1, 2));
    let clock = folder.0.join("runs/clock");
    let number =
        |bytes: &[u8], at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let told = |change: &dyn Fn(i64, i64) -> (i64, i64)| {
        let mut bytes = std::fs::read(&clock).unwrap();
        let (time_ns, boottime_ns) = change(number(&bytes, 48), number(&bytes, 56));
        bytes[48..56].copy_from_slice(&time_ns.to_le_bytes());
        bytes[56..64].copy_from_slice(&boottime_ns.to_le_bytes());
        let crc = baro_ondisk::crc32c(0, &bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&clock, bytes).unwrap();
    };
    told(&|_, boottime_ns| (before_ns, boottime_ns));
    run(&folder, (0..10).map(|at| (1, now_ns + at, at)));
    assert_eq!((settle(&folder, keep), runs(&folder).0), (0, 3));
    let store = Store::open(&folder.0).unwrap();
    assert_eq!(baro_store::verify(&store, Access::Read, |_, _| {}).unwrap().runs_unnamed, [""; 0]);
    // As if it had been seen there first a day of running ago.
    told(&|time_ns, boottime_ns| (time_ns - day_ns, boottime_ns - day_ns));
    assert_eq!((settle(&folder, keep), runs(&folder).0), (2, 1));
    assert_eq!(samples(&folder, 1).len(), 10);
}

/// A fault of a month ago is what its pin was made for.
#[test]
fn what_a_pin_keeps_is_dropped_by_nothing_until_it_is_released() {
    let folder = Folder::init("retention-pins", 8, WhenFull::Recycle);
    let now_ns = baro_sys::clock::realtime_ns();
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    recorder.declare(&[("a", Type::I64, ""), ("b", Type::I64, "")]).unwrap();
    let mut producer = recorder.producer().unwrap();
    for at in 0..1000 {
        producer.push_sample(1, now_ns + at, at).unwrap();
    }
    let sequence = producer.next_sequence();
    assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
    let request = PinRequest { before_ns: 60_000_000_000, after_ns: 1, ..PinRequest::default() };
    let pin = recorder.pin(&request).unwrap();
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    settle(&folder, RunRetention::default());
    // One that is earlier, and one that is later by more than is kept.
    run(&folder, (0..500).map(|ns| (2, ns, ns)));
    let later_ns = now_ns + 3_600_000_000_000;
    run(&folder, (0..500).map(|at| (1, later_ns + at, at)));
    let keep = RunRetention { keep_ns: Some(1), ..RunRetention::default() };
    assert_eq!((settle(&folder, keep), runs(&folder).0), (1, 2));
    let keep = RunRetention { keep_bytes: Some(0), ..RunRetention::default() };
    assert_eq!((settle(&folder, keep), runs(&folder).0), (1, 1));
    let found = samples(&folder, 1);
    assert_eq!(found, (0..1000).map(|at| (now_ns + at, at)).collect());
    baro_recorder::inspect::release_in_store(&folder.0, pin.id).unwrap();
    assert_eq!((settle(&folder, keep), runs(&folder).0), (1, 0));
}
