//! Settling beside a recorder: nothing is lost while segments are recycled, frames are not held
//! back, and where settling stops recording goes on.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_log::ManifestLock;
use baro_ondisk::{Type, WhenFull};
use baro_recorder::{PinRequest, Producer, Recorder, Retention, inspect::release_in_store};
use baro_store::{
    Extent, Interval, Logged, Query, SettleOptions, Settler, Settling, SettlingOptions,
    SettlingState, Store, Values,
};
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
    wait_for(|| {
        settling.logged(Logged::from(&recorder.status()));
        done()
    });
}

fn wait_for(mut done: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("it does not come");
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
        until(recorder, settling, || producer.free_bytes() > 1 << 17);
        push_batch(&mut producer, &mut number);
        settling.logged(Logged::from(&recorder.status()));
    }
    // All of it is in the log before anybody closes.
    until(recorder, settling, || producer.report().used_bytes == 0);
    number
}

/// Pushes the 3,000 samples from this number on.
fn push_batch(producer: &mut Producer, number: &mut u64) {
    let batch: Vec<u64> = (*number..*number + 3000).collect();
    let ids: Vec<u32> = batch.iter().map(|n| 1 + (n % 3) as u32).collect();
    let times_ns: Vec<i64> = batch.iter().map(|n| n.cast_signed()).collect();
    let bits: Vec<i64> = batch.iter().map(|n| value(*n)).collect();
    producer.push_words(&times_ns, &ids, &bits).unwrap();
    *number += 3000;
}

#[test]
fn what_a_pin_copied_out_is_settled_from_the_copy() {
    let folder = Folder::init("settling-copies", 8, WhenFull::Recycle);
    let wanted = [("a", Type::I64, ""), ("b", Type::I64, ""), ("c", Type::I64, "")];
    let (mut number, mut settling) = (0, None);
    // Nobody settles at first; the log goes round all the same, since all of it is copied out.
    for session in 0..2 {
        let recorder = Recorder::open(&folder.0, holding(true)).unwrap();
        assert_eq!(recorder.declare(&wanted).unwrap(), [1, 2, 3]);
        if session == 0 {
            let after_ns = 3_600_000_000_000;
            recorder.pin(&PinRequest { after_ns, ..PinRequest::default() }).unwrap();
        } else {
            let (settle, often) = eager();
            settling = Some(Settling::start(&folder.0, settle, often).unwrap());
        }
        let mut producer = recorder.producer().unwrap();
        while recorder.status().segments_started < 16 {
            // The pin would end early where copying does not keep up.
            wait_for(|| recorder.status().segments_held <= 2 && producer.free_bytes() > 1 << 17);
            push_batch(&mut producer, &mut number);
            settling.iter().for_each(|s| s.logged(Logged::from(&recorder.status())));
        }
        wait_for(|| producer.report().used_bytes == 0);
        // It passes over what holds no samples in the log.
        settling.take().map(Settling::end);
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
        assert_eq!(closed.status.segments_lost_unsettled, 0);
    }
    let found = all_samples(&Store::open(&folder.0).unwrap());
    assert_eq!(found.len() as u64, number, "nothing that was copied out is passed over");
    let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    let store = Store::open(&folder.0).unwrap();
    assert_eq!(all_samples(&store), found);
    let pin = store.pins().next().unwrap().id;
    release_in_store(&folder.0, pin).unwrap();
    let copies = std::fs::read_dir(folder.0.join("kept")).unwrap().count();
    assert_eq!(copies, 0, "all of it is in runs, and no pin needs it");
    assert_eq!(all_samples(&Store::open(&folder.0).unwrap()), found);
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

/// Another process may have the manifest for as long as it likes: that is said, is no stop, and ends when
/// settling is ended. Nothing is begun meanwhile.
#[test]
fn a_settler_that_waits_for_another_process_says_so_and_is_ended() {
    let folder = Folder::init("settling-turn", 4, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, holding(false)).unwrap();
    let disk = baro_log::open_folder(&folder.0).unwrap();
    std::fs::create_dir_all(folder.0.join("runs")).unwrap();
    let turn = ManifestLock::take(&disk, "deletes", &mut |_, _| false).unwrap();
    let (settle, often) = eager();
    let settling = Settling::start(&folder.0, settle, often).unwrap();
    let waits = |settling: &Settling| match settling.status().state {
        SettlingState::Waits { holding } => Some(holding.to_string()),
        _ => None,
    };
    until(&recorder, &settling, || waits(&settling).is_some());
    let me = format!("process {}, which deletes", std::process::id());
    assert_eq!(waits(&settling), Some(me));
    // Ended while it waits.
    assert_eq!(settling.end().runs, 0);
    let settling = Settling::start(&folder.0, settle, often).unwrap();
    until(&recorder, &settling, || waits(&settling).is_some());
    drop(turn);
    push_until(&recorder, &settling, 10);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    assert_eq!(closed.status.segments_lost_unsettled, 0);
    assert!(settling.end().runs > 0);
}
