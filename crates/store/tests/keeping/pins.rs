//! What pins say of their windows, whoever records in the end.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Pin, PinState, Type, WhenFull};
use baro_recorder::{Options, PinRequest, Recorder};
use baro_store::{
    Error, Extent, Interval, Query, Reading, Selection, SettleOptions, Settler, Store,
};
use std::ops::ControlFlow;
use std::time::Duration;

#[test]
fn a_window_within_which_a_recorder_ended_is_not_called_whole() {
    let folder = Folder::init("pin-left", 8, WhenFull::Recycle);
    let pin = || -> Pin { Store::open(&folder.0).unwrap().pins().next().unwrap().clone() };
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let request = PinRequest { after_ns: 50_000_000, ..PinRequest::default() };
    recorder.pin(&request).unwrap();
    assert_eq!(recorder.close().left, 0);
    assert_eq!((pin().state, pin().reason.as_str()), (PinState::Open, ""));
    std::thread::sleep(Duration::from_millis(60));
    for _ in 0..2 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        while pin().state == PinState::Open {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(recorder.close().left, 0);
        let Pin { state, reason, .. } = pin();
        assert_eq!(state, PinState::Short);
        assert_eq!(reason, "a recorder ended within it, and for a while nobody recorded");
    }
}

/// How many samples of a series a query finds; an error only if the log went round while it was read.
fn samples(store: &Store, id: u32) -> Result<usize, Error> {
    let mut count = 0;
    let notes = store.query_ids(&[id], &Query::raw(Interval::ALL), |batch| {
        count += batch.times_ns.len();
        ControlFlow::Continue(())
    });
    assert_eq!(notes?.read.damage, []);
    Ok(count)
}

/// Samples that a pin held when the store was opened are in runs when it is released: who asks then has all.
#[test]
fn a_query_opened_before_a_release_has_what_was_settled_since() {
    let folder = Folder::init("pin-settled", 8, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, Options { ring_bytes: 1 << 20, ..options() }).unwrap();
    let names = [("frames", Type::Channel, ""), ("t", Type::F64, "K")];
    assert_eq!(recorder.declare(&names).unwrap(), [1, 2]);
    let pin = PinRequest { after_ns: 3_600_000_000_000, ..PinRequest::default() };
    let pin = recorder.pin(&pin).unwrap();
    let mut producer = recorder.producer().unwrap();
    let mut pushed = 0;
    while recorder.status().segments_started < 14 {
        while recorder.status().segments_held > 2 || producer.free_bytes() < 1 << 17 {
            std::thread::sleep(Duration::from_millis(2));
        }
        producer.push_frame(1, pushed, &[7; 60_000]).unwrap();
        producer.push_words(&[pushed], &[2], &[pushed]).unwrap();
        pushed += 1;
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    // One has looked at the log before, the other one looks at it for the first time.
    let (mut before, mut looked) =
        (Store::open(&folder.0).unwrap(), Store::open(&folder.0).unwrap());
    assert!(before.pins().next().unwrap().copies.count > 0);
    assert_eq!(samples(&looked, 2).unwrap(), pushed as usize);
    let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    baro_recorder::inspect::release_in_store(&folder.0, pin.id).unwrap();
    assert_eq!(std::fs::read_dir(folder.0.join("kept")).unwrap().count(), 0);
    for store in [&mut before, &mut looked] {
        match samples(store, 2) {
            Ok(found) => assert_eq!(found, pushed as usize),
            Err(error) => assert!(matches!(error, Error::Recycled { .. }), "{error}"),
        }
        let (selection, mut shown) = (Selection::all(store.catalog(), false).unwrap(), 0);
        let (notes, _) = store
            .points(Interval::ALL, &selection, &Reading::default(), |point| {
                shown += i64::from(point.id == 2);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((shown, notes.damage), (pushed, vec![]));
        store.refresh().unwrap();
        assert_eq!(samples(store, 2).unwrap(), pushed as usize);
    }
}

/// What a pin keeps is there while what came behind it has gone round: who follows from there is told how much.
#[test]
fn who_follows_from_what_a_pin_keeps_is_told_what_has_gone_round_behind_it() {
    let folder = Folder::init("pin-followed", 8, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, Options { ring_bytes: 1 << 20, ..options() }).unwrap();
    assert_eq!(recorder.declare(&[("frames", Type::Channel, "")]).unwrap(), [1]);
    let mut producer = recorder.producer().unwrap();
    let mut push = |time_ns| {
        while recorder.status().segments_held > 2 || producer.free_bytes() < 1 << 17 {
            std::thread::sleep(Duration::from_millis(2));
        }
        producer.push_frame(1, time_ns, &[7; 60_000]).unwrap();
        assert!(recorder.wait_durable(&producer, producer.next_sequence(), 60_000_000_000));
    };
    push(0);
    let mut store = Store::open(&folder.0).unwrap();
    let mut place = store.end().unwrap();
    let before_ns = 3_600_000_000_000;
    let request = PinRequest { before_ns, after_ns: 20_000_000, ..PinRequest::default() };
    recorder.pin(&request).unwrap();
    std::thread::sleep(Duration::from_millis(40));
    let mut pushed = 1;
    while recorder.status().segments_started < 24 {
        push(pushed);
        pushed += 1;
    }
    store.refresh().unwrap();
    let mut seen = Vec::new();
    let notes = store.follow(&mut place, |record| {
        seen.extend((record.stream == 1).then_some(record.time_ns));
        ControlFlow::Continue(())
    });
    let notes = notes.unwrap();
    assert_eq!(notes.damage, []);
    assert!(seen[0] == 1 && seen.len() < pushed as usize - 1, "{seen:?}");
    assert!(notes.blocks_recycled > 0, "{notes:?}");
    drop(producer);
    assert_eq!(recorder.close().left, 0);
}
