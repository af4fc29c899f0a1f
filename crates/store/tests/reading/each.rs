//! Aggregates at their edges, the same from the log and from runs: what is before the interval, NaN of
//! either sign, infinities, and sums that floats do not hold.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Layout, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Aggregate, Every, Extent, Fill, Interval, Query, Selection, SettleOptions, Settler, Store,
};
use std::ops::ControlFlow;

const S: i64 = 1_000_000_000;

/// Series of floats, each with its samples.
fn floats(name: &str, series: &[(&str, &[(i64, f64)])]) -> Folder {
    let folder = Folder::init(name, 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let mut producer = recorder.producer().unwrap();
    for (name, samples) in series {
        let id = recorder.declare(&[(*name, Type::F64, "")]).unwrap()[0];
        for (time_ns, value) in *samples {
            producer.push_samples(*time_ns, &[id], &[*value]).unwrap();
        }
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    folder
}

fn settle(folder: &Folder) {
    let options = SettleOptions { least_bytes: 1, ..Default::default() };
    let mut settler = Settler::open(&folder.0, options).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

/// Place, time and value of each row.
fn ask(folder: &Folder, names: &[&str], query: &Query) -> Vec<(usize, i64, f64)> {
    let store = Store::open(&folder.0).unwrap();
    let selection = Selection::named(store.catalog(), names).unwrap();
    let mut rows = Vec::new();
    let notes = store.query(&selection, query, |batch| {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let bits = batch.values.bits(at).unwrap();
            let value = match batch.values {
                baro_store::Values::F64(_) => f64::from_bits(bits),
                baro_store::Values::U64(_) => bits as f64,
                _ => bits.cast_signed() as f64,
            };
            rows.push((batch.target.place, *time_ns, value));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    rows
}

/// The value over the whole of an interval, from the log and from runs.
fn value(folder: &Folder, name: &str, aggregate: Aggregate, from_ns: i64) -> f64 {
    let interval = Interval { from_ns, to_ns: 1_000 * S };
    let query = Query::every(interval, Every { step_ns: 0, aggregate });
    let rows = ask(folder, &[name], &query);
    assert_eq!(rows.len(), 1, "{name}: {aggregate} from {from_ns}");
    rows[0].2
}

#[test]
fn a_sample_that_is_no_number_before_the_interval_hides_none() {
    let nan = f64::NAN;
    let mut long = vec![(0, 100.0)];
    long.extend((1..200).map(|at| (at, nan)));
    long.push((20 * S, 110.0));
    let short: &[(i64, f64)] = &[(0, 100.0), (S, nan), (20 * S, 110.0)];
    let none: &[(i64, f64)] = &[(S, nan), (2 * S, -nan), (20 * S, 110.0)];
    let series = [("short", short), ("long", &long), ("none", none)];
    let folder = floats("nan-before", &series);
    for settled in [false, true] {
        for name in ["short", "long"] {
            let value = |aggregate| value(&folder, name, aggregate, 10 * S);
            assert_eq!(value(Aggregate::Increase), 10.0, "{name}, settled {settled}");
            assert_eq!(value(Aggregate::Delta), 10.0, "{name}");
            let rate = value(Aggregate::Rate);
            assert!((rate - 0.5).abs() < 1e-6, "{name}: {rate}");
            let mean = value(Aggregate::TimeMean);
            let expected = (10.0 * 100.0 + 980.0 * 110.0) / 990.0;
            assert!((mean - expected).abs() < 1e-9, "{name}: {mean}");
        }
        assert_eq!(value(&folder, "none", Aggregate::Increase, 10 * S), 0.0);
        // A value of the series is what it was, though it is no number.
        let interval = Interval { from_ns: 10 * S, to_ns: 30 * S };
        let last = Every { step_ns: 10 * S.cast_unsigned(), aggregate: Aggregate::Last };
        let query = Query { fill: Some(Fill::Previous), ..Query::every(interval, last) };
        let rows = ask(&folder, &["short"], &query);
        assert!(rows[0].2.is_nan() && rows[1].2 == 110.0, "{rows:?}");
        settle(&folder);
    }
}

#[test]
fn fields_pass_over_it_too() {
    let folder = Folder::init("nan-fields", 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let layout: Layout = "a:f64@0,b:f64@8".parse().unwrap();
    let channel = recorder.declare_channel_with_layout("c", &layout).unwrap();
    let mut producer = recorder.producer().unwrap();
    for (time_ns, a, b) in [(0, 100.0, 1.0), (S, f64::NAN, 2.0), (20 * S, 110.0, 5.0)] {
        let frame = [f64::to_le_bytes(a), f64::to_le_bytes(b)].concat();
        producer.push_frame(channel, time_ns, &frame).unwrap();
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    assert_eq!(value(&folder, "c.a", Aggregate::Increase, 10 * S), 10.0);
    assert_eq!(value(&folder, "c.b", Aggregate::Increase, 10 * S), 3.0);
}

#[test]
fn what_is_no_number_is_the_largest_whatever_its_sign() {
    let negative = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
    let samples = [(0, negative), (1, 1.0), (2, 2.0), (3, 3.0)];
    let folder = floats("nan-sign", &[("x", &samples)]);
    let percent = |percent: u32| value(&folder, "x", Aggregate::Percentile(percent * 10_000), 0);
    assert_eq!((percent(25), percent(50), percent(75)), (1.0, 2.0, 3.0));
    assert!(percent(100).is_nan());
    assert_eq!(value(&folder, "x", Aggregate::Median, 0), 2.5);
}

#[test]
fn an_infinity_or_a_large_value_hides_nothing_behind_it() {
    let inf = f64::INFINITY;
    /// What is looked at, samples, and what it must be.
    type Case<'a> = (&'a str, &'a [(i64, f64)], f64);
    let cases: &[Case<'_>] = &[
        ("large", &[(0, 1e17), (1, 3.0)], 3.0),
        ("inf", &[(0, inf), (1, 5.0)], 5.0),
        ("to-inf", &[(0, 5.0), (1, inf), (2, inf), (3, 7.0)], inf),
        ("inf-only", &[(0, inf), (1, inf)], 0.0),
        ("twice", &[(0, 1e17), (1, 3.0), (2, 4.0), (3, 1.0), (4, 2.5)], 4.0 + 2.5),
        ("below", &[(0, 10.0), (1, -5.0), (2, -3.0)], 2.0),
    ];
    let held = [(59 * S, inf), (60 * S, 5.0)];
    let mut series: Vec<_> = cases.iter().map(|case| (case.0, case.1)).collect();
    series.push(("held", &held));
    let folder = floats("infinite", &series);
    for settled in [false, true] {
        for (name, _, expected) in cases {
            let found = value(&folder, name, Aggregate::Increase, 0);
            assert_eq!(found, *expected, "{name}, settled {settled}");
        }
        let interval = Interval { from_ns: 0, to_ns: 120 * S };
        let every = Every { step_ns: 60 * S.cast_unsigned(), aggregate: Aggregate::TimeMean };
        let rows = ask(&folder, &["held"], &Query::every(interval, every));
        assert_eq!(rows, [(0, 0, inf), (0, 60 * S, 5.0)], "settled {settled}");
        settle(&folder);
    }
}

#[test]
fn a_mean_of_integers_comes_from_their_exact_sum() {
    let folder = Folder::init("exact-mean", 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("n", Type::I64, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    for (time_ns, value) in [(0, 1_i64 << 62), (1, 1), (2, -(1 << 62))] {
        producer.push_samples(time_ns, &[id], &[value]).unwrap();
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    let mean = |step_ns| {
        let every = Every { step_ns, aggregate: Aggregate::Mean };
        let interval = Interval { from_ns: 0, to_ns: 1000 };
        ask(&folder, &["n"], &Query::every(interval, every))
    };
    let totals = |aggregate| {
        let (store, mut found) = (Store::open(&folder.0).unwrap(), Vec::new());
        let take = |rows: &baro_store::Totals<'_>| {
            found.extend_from_slice(rows.values);
            ControlFlow::Continue(())
        };
        store.totals(&[id], Interval::ALL, aggregate, take).unwrap();
        found
    };
    for settled in [false, true] {
        for step_ns in [0, 1000] {
            assert_eq!(mean(step_ns), [(0, 0, 1.0 / 3.0)], "settled {settled}, {step_ns}");
        }
        assert_eq!(totals(Aggregate::Mean), [1.0 / 3.0], "settled {settled}");
        assert_eq!(totals(Aggregate::Sum), [1.0], "settled {settled}");
        settle(&folder);
    }
    // And where a run and the log have parts of it.
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let mut producer = recorder.producer().unwrap();
    for (time_ns, value) in [(3, -(1_i64 << 62)), (4, 4), (5, 1 << 62)] {
        producer.push_samples(time_ns, &[id], &[value]).unwrap();
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    for step_ns in [0, 1000] {
        assert_eq!(mean(step_ns), [(0, 0, 5.0 / 6.0)], "{step_ns}");
    }
    assert_eq!(totals(Aggregate::Mean), [5.0 / 6.0]);
}

#[test]
fn the_last_sums_of_fields_are_those_that_have_a_row() {
    let folder = Folder::init("field-sums", 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let layout: Layout = "n:u64@0".parse().unwrap();
    let channel = recorder.declare_channel_with_layout("c", &layout).unwrap();
    let mut producer = recorder.producer().unwrap();
    for at in 0..40_i64 {
        // The steps from 20 to 30 are too large.
        let value = if (20..30).contains(&at) { u64::MAX } else { at.cast_unsigned() };
        producer.push_frame(channel, at * 10, &value.to_le_bytes()).unwrap();
        assert!(recorder.wait_durable(&producer, producer.next_sequence(), 60_000_000_000));
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    let every = Every { step_ns: 20, aggregate: Aggregate::Sum };
    let all = ask(&folder, &["c.n"], &Query::every(Interval::ALL, every));
    assert_eq!(all.len(), 15);
    for last in 1..=16 {
        let query = Query { last: Some(last), ..Query::every(Interval::ALL, every) };
        assert_eq!(ask(&folder, &["c.n"], &query), all[15_usize.saturating_sub(last)..], "{last}");
    }
}
