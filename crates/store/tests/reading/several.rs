//! Several series out of runs and log, read on several processors: each row once, in order, in the
//! place of its series; texts and a series of many samples among them.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::{Producer, Recorder};
use baro_store::{Batch, Extent, Interval, Query, SettleOptions, Settler, Store, Values};
use std::ops::ControlFlow;

const SERIES: u32 = 40;
const EACH: i64 = 9_000;
const TEXT: u32 = SERIES + 1;
const LONG: u32 = SERIES + 2;
/// More than are read at once.
const LONG_EACH: i64 = 300_000;

fn value(id: u32, tick: i64) -> i64 {
    (tick * 7 + i64::from(id) * 1_000_003) % 10_007
}

fn push(producer: &mut Producer, id: u32, ticks: std::ops::Range<i64>) {
    for start in ticks.clone().step_by(5_000) {
        let times_ns: Vec<i64> = (start..(start + 5_000).min(ticks.end)).collect();
        let values: Vec<i64> = times_ns.iter().map(|tick| value(id, *tick)).collect();
        while producer.free_bytes() < 1 << 18 {
            std::thread::yield_now();
        }
        producer.push_batch(&times_ns, &vec![id; values.len()], &values).unwrap();
    }
}

/// The first two thirds in runs, the rest in the log.
fn filled(folder: &Folder) {
    for part in 0..3 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let names: Vec<String> = (1..=LONG).map(|id| format!("s{id:05}")).collect();
        let kind = |id: u32| if id == TEXT { Type::Text } else { Type::I64 };
        let wanted: Vec<_> =
            names.iter().zip(1..).map(|(name, id)| (name.as_str(), kind(id), "")).collect();
        recorder.declare(&wanted).unwrap();
        let mut producer = recorder.producer().unwrap();
        for id in (1..=LONG).filter(|id| *id != TEXT) {
            let all = if id == LONG { LONG_EACH } else { EACH };
            push(&mut producer, id, all / 3 * part..all / 3 * (part + 1));
        }
        for tick in 10 * part..10 * (part + 1) {
            producer.push_text(TEXT, tick, &format!("text {tick}")).unwrap();
        }
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
        if part < 2 {
            let settle = SettleOptions { least_bytes: 0, ..SettleOptions::default() };
            let mut settler = Settler::open(&folder.0, settle).unwrap();
            while settler.step(Extent::All).unwrap().more {}
        }
    }
}

fn expected(ids: &[u32], interval: Interval) -> Vec<(u32, usize, i64, String)> {
    let mut rows = Vec::new();
    for (place, id) in ids.iter().enumerate() {
        let all = match *id {
            LONG => LONG_EACH,
            TEXT => 30,
            _ => EACH / 3 * 3,
        };
        for tick in (0..all).filter(|tick| interval.holds(*tick)) {
            let text =
                if *id == TEXT { format!("text {tick}") } else { value(*id, tick).to_string() };
            rows.push((*id, place, tick, text));
        }
    }
    rows
}

fn take(batch: &Batch<'_>, rows: &mut Vec<(u32, usize, i64, String)>) {
    for (at, time_ns) in batch.times_ns.iter().enumerate() {
        let text = match batch.values {
            Values::I64(values) => values[at].to_string(),
            Values::Text(texts) => texts.get(at).unwrap().to_owned(),
            _ => panic!("{batch:?}"),
        };
        rows.push((batch.target.id, batch.target.place, *time_ns, text));
    }
}

#[test]
fn several_series_come_in_order_whatever_they_are_read_by() {
    let folder = Folder::init("several", 48, WhenFull::Stop);
    filled(&folder);
    let store = Store::open(&folder.0).unwrap();
    let all: Vec<u32> = (1..=LONG).collect();
    let some: Vec<u32> = (1..=LONG).filter(|id| id % 3 != 0 || *id > SERIES).collect();
    let few: Vec<u32> = vec![3, TEXT, LONG];
    let intervals = [
        Interval::ALL,
        Interval { from_ns: 5, to_ns: 25 },
        Interval { from_ns: 2_900, to_ns: 6_100 },
        Interval { from_ns: 100_000, to_ns: 100_010 },
        Interval { from_ns: 400_000, to_ns: 500_000 },
    ];
    for ids in [&all, &some, &few] {
        for interval in intervals {
            let expected = expected(ids, interval);
            let mut rows = Vec::new();
            let notes = store.query_ids(ids, &Query::raw(interval), |batch| {
                take(batch, &mut rows);
                ControlFlow::Continue(())
            });
            assert_eq!(notes.unwrap().read.damage, vec![]);
            assert!(rows == expected, "{} rows, {} expected", rows.len(), expected.len());
            // A limit cuts them anywhere; who has enough gets no more.
            let limit = expected.len() / 2;
            let mut rows = Vec::new();
            let query = Query { limit: Some(limit as u64), ..Query::raw(interval) };
            let done = store.query_ids(ids, &query, |batch| {
                take(batch, &mut rows);
                ControlFlow::Continue(())
            });
            assert_eq!(done.unwrap().rows, limit as u64);
            assert!(rows == expected[..limit]);
            let mut batches = 0;
            let done = store.query_ids(ids, &Query::raw(interval), |_| {
                batches += 1;
                ControlFlow::Break(())
            });
            done.unwrap();
            assert_eq!(batches, usize::from(!expected.is_empty()));
        }
    }
}
