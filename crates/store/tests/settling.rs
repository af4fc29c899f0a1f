//! Settling beside a recorder: nothing is lost while segments are recycled, frames are not held
//! back, and where settling stops recording goes on.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use baro_ondisk::{Type, WhenFull};
use baro_recorder::{Recorder, Retention};
use baro_store::{
    Extent, Interval, Logged, Query, SettleOptions, Settler, Settling, SettlingOptions,
    SettlingState, Store, Values,
};
use common::{Folder, options};
use std::ops::ControlFlow;

fn holding(unsettled_yield: bool) -> baro_recorder::Options {
    let retention = Retention { keep_unsettled: true, unsettled_yield, ..Retention::default() };
    baro_recorder::Options { retention, ring_bytes: 1 << 20, ..options() }
}

fn eager() -> (SettleOptions, SettlingOptions) {
    let settle =
        SettleOptions { memory_bytes: 1 << 20, least_bytes: 256 << 10, ..Default::default() };
    let often = SettlingOptions { look_every_ns: 20_000_000, ..SettlingOptions::default() };
    (settle, SettlingOptions { retry_ns: 100_000_000, ..often })
}

/// Value of a sample that does not compress.
fn value(number: u64) -> i64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).cast_signed()
}

/// Waits until `done`, telling settling how far the log is.
fn until(recorder: &Recorder, settling: &Settling, mut done: impl FnMut() -> bool) {
    for _ in 0..6000 {
        settling.logged(Logged::from(&recorder.status()));
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{:?} {:?}", recorder.status(), settling.status());
}

fn all_samples(store: &Store) -> Vec<(u32, i64, i64)> {
    let mut rows = Vec::new();
    let notes = store.query_ids(&[1, 2, 3], &Query::raw(Interval::ALL), |batch| {
        let Values::I64(values) = batch.values else { panic!("{batch:?}") };
        rows.extend(batch.times_ns.iter().zip(values).map(|(t, v)| (batch.target.id, *t, *v)));
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    rows
}

/// Pushes batches of incompressible samples until so many segments were started.
fn push_until(recorder: &Recorder, settling: &Settling, segments: u32) -> u64 {
    let wanted = [("a", Type::I64, ""), ("b", Type::I64, ""), ("c", Type::I64, "")];
    assert_eq!(recorder.declare(&wanted).unwrap(), [1, 2, 3]);
    let mut producer = recorder.producer().unwrap();
    let mut number = 0;
    while recorder.status().segments_started < segments {
        let batch: Vec<u64> = (number..number + 3000).collect();
        let ids: Vec<u32> = batch.iter().map(|n| 1 + (n % 3) as u32).collect();
        let times_ns: Vec<i64> = batch.iter().map(|n| n.cast_signed()).collect();
        let bits: Vec<i64> = batch.iter().map(|n| value(*n)).collect();
        until(recorder, settling, || producer.free_bytes() > 1 << 17);
        producer.push_words(&times_ns, &ids, &bits).unwrap();
        number += 3000;
        settling.logged(Logged::from(&recorder.status()));
    }
    // All of it is in the log before anybody closes.
    until(recorder, settling, || producer.report().used_bytes == 0);
    number
}

#[test]
fn a_small_log_is_recycled_many_times_and_every_sample_is_read() {
    let folder = Folder::init("settling-small", 4, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, holding(false)).unwrap();
    let (settle, often) = eager();
    let settling = Settling::start(&folder.0, settle, often).unwrap();
    let count = push_until(&recorder, &settling, 26);
    // A reader beside both of them.
    let beside = all_samples(&Store::open(&folder.0).unwrap()).len() as u64;
    let status = settling.end();
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    assert_eq!(closed.status.segments_lost_unsettled, 0);
    assert!(status.runs > 5 && status.damage.is_empty(), "{status:?}");
    let store = Store::open(&folder.0).unwrap();
    let found = all_samples(&store);
    assert_eq!((found.len() as u64, beside), (count, count));
    for (id, time_ns, found) in found {
        let number = time_ns.cast_unsigned();
        assert_eq!((id, found), (1 + (number % 3) as u32, value(number)));
    }
    assert_eq!(store.damage(), []);
}

#[test]
fn a_recorder_of_frames_is_not_held_back() {
    let folder = Folder::init("settling-frames", 3, WhenFull::Recycle);
    // A session before it, of which nobody knows whether it has samples: settling finds out.
    for session in 0..2 {
        let recorder = Recorder::open(&folder.0, holding(false)).unwrap();
        let (settle, often) = eager();
        let settling = Settling::start(&folder.0, settle, often).unwrap();
        let id = recorder.declare(&[("frames", Type::Channel, "")]).unwrap()[0];
        let mut producer = recorder.producer().unwrap();
        for number in 0..600_i64 {
            until(&recorder, &settling, || producer.free_bytes() > 1 << 17);
            producer.push_frame(id, session * 1000 + number, &[7; 50_000]).unwrap();
        }
        until(&recorder, &settling, || producer.report().used_bytes == 0);
        assert!(recorder.status().segments_started > 25, "{:?}", recorder.status());
        assert!(settling.end().runs == 0);
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
        assert_eq!(closed.status.segments_lost_unsettled, 0);
    }
}

#[test]
fn settling_that_stops_lets_recording_go_on() {
    let folder = Folder::init("settling-stops", 4, WhenFull::Recycle);
    // In the place of the folder of the runs, so that nothing can be settled.
    std::fs::write(folder.0.join("runs"), b"in the way").unwrap();
    let recorder = Recorder::open(&folder.0, holding(false)).unwrap();
    let (settle, often) = eager();
    let settling = Settling::start(&folder.0, settle, often).unwrap();
    let stopped = || matches!(settling.status().state, SettlingState::Stopped { .. });
    until(&recorder, &settling, stopped);
    // As `baro record` does.
    recorder.unsettled_yield(true);
    push_until(&recorder, &settling, 10);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    assert!(closed.status.segments_lost_unsettled > 3, "{:?}", closed.status);
    std::fs::remove_file(folder.0.join("runs")).unwrap();
    // With the way free it settles what is left.
    for _ in 0..2000 {
        if settling.status().runs > 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let status = settling.end();
    assert!(status.runs > 0 && status.state == SettlingState::Waiting, "{status:?}");
}

#[test]
fn the_second_to_settle_is_told_who_does() {
    let folder = Folder::init("settling-two", 4, WhenFull::Recycle);
    let first = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    let (settle, often) = eager();
    let settling = Settling::start(&folder.0, settle, often).unwrap();
    let another = SettlingState::Another { pid: Some(std::process::id()) };
    for _ in 0..1000 {
        if settling.status().state == another {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(settling.end().state, another);
    let error = Settler::open(&folder.0, SettleOptions::default()).unwrap_err().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    drop(first);
    let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    assert_eq!(settler.step(Extent::All).unwrap().samples, 0);
}
