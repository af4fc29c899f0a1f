//! What counts as lost where samples come faster than they are settled, and unsettled ones yield: no more
//! and no less than what nobody finds any more.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::{Recorder, Retention};
use baro_store::{
    Interval, Logged, Query, SettleOptions, Settling, SettlingOptions, Store, Values,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

const BATCH: u64 = 3000;

fn open(path: &Path) -> Recorder {
    let retention =
        Retention { keep_unsettled: true, unsettled_yield: true, ..Retention::default() };
    Recorder::open(path, baro_recorder::Options { retention, ring_bytes: 1 << 20, ..options() })
        .unwrap()
}

fn settle(path: &Path, recorder: &Recorder) -> Settling {
    let settle =
        SettleOptions { memory_bytes: 1 << 20, least_bytes: 256 << 10, ..Default::default() };
    let often = SettlingOptions { look_every_ns: 20_000_000, ..SettlingOptions::default() };
    Settling::beside(path, settle, often, recorder.taken()).unwrap()
}

/// Samples that are found.
fn found(path: &Path) -> u64 {
    let mut found = 0;
    let store = Store::open(path).unwrap();
    let notes = store.query_ids(&[1, 2, 3], &Query::raw(Interval::ALL), |batch| {
        let Values::I64(values) = batch.values else { panic!("{batch:?}") };
        found += values.len() as u64;
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    found
}

#[test]
fn what_settling_had_read_is_not_lost() {
    let wanted = [("a", Type::I64, ""), ("b", Type::I64, ""), ("c", Type::I64, "")];
    let (mut lost, mut lost_segments) = (0, 0);
    for session in 0..4 {
        let folder = Folder::init("settling-loses", 4, WhenFull::Recycle);
        let mut number = 0;
        let recorder = open(&folder.0);
        assert_eq!(recorder.declare(&wanted).unwrap(), [1, 2, 3]);
        let settling = settle(&folder.0, &recorder);
        let mut producer = recorder.producer().unwrap();
        let segments = recorder.status().segments_started + 20;
        while recorder.status().segments_started < segments {
            let batch = number..number + BATCH;
            let ids: Vec<u32> = batch.clone().map(|n| 1 + (n % 3) as u32).collect();
            let times_ns: Vec<i64> = batch.clone().map(u64::cast_signed).collect();
            let mixed = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            let bits: Vec<i64> = batch.map(|n| mixed(n).cast_signed()).collect();
            if producer.push_words(&times_ns, &ids, &bits).is_ok() {
                number += BATCH;
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Every other time it hears nothing, settles late, and is far behind.
            if session % 2 == 0 {
                settling.logged(Logged::from(&recorder.status()));
            }
        }
        recorder.flush(u64::MAX).unwrap();
        let counted = recorder.taken();
        // It may be in the middle of a run.
        let closed = if session < 2 {
            drop(settling);
            recorder.close()
        } else {
            let mut closed = recorder.close();
            drop(settling);
            closed.settling_ended(&counted);
            closed
        };
        assert_eq!(closed.left, 0);
        let gone = closed.lost_durable_samples;
        assert_eq!(found(&folder.0) + gone, number, "session {session}: {gone} lost");
        lost += gone;
        lost_segments += closed.status.segments_lost_unsettled;
    }
    assert!(lost > 0 && lost_segments > 0, "nothing was lost, so nothing is shown");
}
