//! Aggregates of many series where sources have times in common: times of their own, late samples,
//! corrections of what was recorded before, in runs of one level or several and in the log. Each answer
//! is held against a plain map of what was pushed.
//!
//! One seed gives one store, always the same: `BARO_OVERLAP_COUNT=N` makes N of them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, Random, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Aggregate, Every, Extent, Interval, PagesRead, Query, SettleOptions, Settler, Store, Values,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

const SERIES: u32 = 160;
const TICKS: i64 = 30;
const PORTIONS: i64 = 4;
const STEP_NS: i64 = 1_000_000;

/// When series have samples.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Times {
    Grid,
    Offset,
    Jitter,
    Bursts,
}

/// Neighbours are of one kind, so that they share pages.
fn group(id: u32) -> u32 {
    (id - 1) / (SERIES / 4)
}

fn kind(id: u32) -> Type {
    match group(id) {
        0 => Type::I64,
        1 => Type::Bool,
        _ => Type::F64,
    }
}

/// Decimals, floats of which every bit counts, integers, bools.
fn bits(id: u32, draw: u64) -> u64 {
    match group(id) {
        0 => draw.wrapping_mul(0x9e37_79b9) >> 8,
        1 => draw % 2,
        2 => ((draw % 20_000) as f64 / 100.0 - 50.0).to_bits(),
        _ => ((draw % 20_000) as f64).sin().to_bits(),
    }
}

/// What counts, by series and time.
type Model = BTreeMap<(u32, i64), u64>;

/// The samples of a portion, in the order of arrival.
fn portion(times: Times, number: i64, random: &mut Random, model: &Model) -> Vec<(u32, i64, u64)> {
    let mut samples = Vec::new();
    for tick in number * TICKS..(number + 1) * TICKS {
        for id in 1..=SERIES {
            let off = match times {
                Times::Grid => 0,
                Times::Offset => i64::from(id) * 7919 % STEP_NS,
                Times::Jitter => random.below(STEP_NS as u64 / 10) as i64,
                Times::Bursts => random.below(STEP_NS as u64 * 3) as i64,
            };
            let late = random.below(40) == 0;
            let late_ns = if late { random.below(30) as i64 * STEP_NS } else { 0 };
            samples.push((id, tick * STEP_NS + off - late_ns, bits(id, random.below(1 << 40))));
        }
    }
    // What was recorded before has another value now, here and there.
    let again: Vec<_> = model.keys().filter(|_| random.below(50) == 0).copied().collect();
    samples.extend(again.into_iter().map(|(id, ns)| (id, ns, bits(id, random.below(1 << 40)))));
    samples
}

fn record(path: &Path, samples: &[(u32, i64, u64)], model: &mut Model) {
    let recorder = Recorder::open(path, options()).unwrap();
    let names: Vec<String> = (1..=SERIES).map(|id| format!("s{id}")).collect();
    let wanted: Vec<_> =
        names.iter().zip(1..).map(|(name, id)| (name.as_str(), kind(id), "")).collect();
    assert_eq!(recorder.declare(&wanted).unwrap()[0], 1);
    let mut producer = recorder.producer().unwrap();
    for piece in samples.chunks(500) {
        for of in [[2, 3].as_slice(), &[0, 1]] {
            let piece: Vec<_> = piece.iter().filter(|s| of.contains(&group(s.0))).collect();
            if piece.is_empty() {
                continue;
            }
            let ids: Vec<u32> = piece.iter().map(|sample| sample.0).collect();
            let times: Vec<i64> = piece.iter().map(|sample| sample.1).collect();
            if of.contains(&0) {
                let values: Vec<i64> = piece.iter().map(|sample| sample.2 as i64).collect();
                producer.push_batch(&times, &ids, &values).unwrap();
            } else {
                let values: Vec<f64> = piece.iter().map(|s| f64::from_bits(s.2)).collect();
                producer.push_batch(&times, &ids, &values).unwrap();
            }
        }
        let sequence = producer.next_sequence();
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
    }
    assert_eq!(recorder.close().left, 0);
    model.extend(samples.iter().map(|sample| ((sample.0, sample.1), sample.2)));
}

fn settle(path: &Path) {
    let options = SettleOptions { fan_in: 3, ..SettleOptions::default() };
    let mut settler = Settler::open(path, options).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

fn number(id: u32, bits: u64) -> f64 {
    if kind(id) == Type::F64 { f64::from_bits(bits) } else { bits as i64 as f64 }
}

fn expected(model: &Model, interval: Interval, aggregate: Aggregate) -> BTreeMap<u32, f64> {
    let mut of: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((id, time_ns), bits) in model {
        if interval.holds(*time_ns) {
            of.entry(*id).or_default().push(number(*id, *bits));
        }
    }
    let one = |values: Vec<f64>| match aggregate {
        Aggregate::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Aggregate::Sum => values.iter().sum(),
        Aggregate::Min => values.into_iter().fold(f64::NAN, f64::min),
        Aggregate::Max => values.into_iter().fold(f64::NAN, f64::max),
        Aggregate::Count => values.len() as f64,
        Aggregate::First => values[0],
        Aggregate::Last => values[values.len() - 1],
        other => panic!("{other:?} is not asked here"),
    };
    of.into_iter().map(|(id, values)| (id, one(values))).collect()
}

fn same(found: &[(u32, f64)], expected: &BTreeMap<u32, f64>, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for ((id, found), (of, expected)) in found.iter().zip(expected) {
        let close = (found - expected).abs() <= 1e-9 * expected.abs().max(100.0);
        assert!(id == of && close, "{what}: series {id}: {found}, expected {expected} of {of}");
    }
}

/// Every aggregate of all series and of some, over intervals of every kind.
fn check(store: &Store, model: &Model, random: &mut Random, what: &str) {
    let all: Vec<u32> = (1..=SERIES).collect();
    let some: Vec<u32> = all.iter().copied().filter(|_| random.below(3) == 0).collect();
    let length_ns = PORTIONS * TICKS * STEP_NS;
    let mut intervals = vec![Interval::ALL];
    for _ in 0..2 {
        let from_ns = random.below(length_ns as u64) as i64 - 30 * STEP_NS;
        let to_ns = from_ns + random.below(length_ns as u64 / 2) as i64;
        intervals.push(Interval { from_ns, to_ns });
    }
    for interval in intervals {
        let of = Aggregate::ALL.into_iter().take(7);
        for (ids, aggregate) in of.flat_map(|of| [(&all, of), (&some, of)]) {
            let what = format!("{what}, {aggregate:?} of {} in {interval:?}", ids.len());
            let mut expected = expected(model, interval, aggregate);
            expected.retain(|id, _| ids.binary_search(id).is_ok());
            let mut found = Vec::new();
            let notes = store.totals(ids, interval, aggregate, |rows| {
                found.extend(rows.ids.iter().copied().zip(rows.values.iter().copied()));
                ControlFlow::Continue(())
            });
            assert!(notes.unwrap().read.damage.is_empty());
            same(&found, &expected, &what);
            let query = Query::every(interval, Every { step_ns: 0, aggregate });
            let mut found = Vec::new();
            let asked = store.query_ids(ids, &query, |batch| {
                let id = batch.target.id;
                match batch.values {
                    Values::F64(values) => found.push((id, values[0])),
                    Values::I64(values) => found.push((id, values[0] as f64)),
                    _ => panic!("{batch:?}"),
                }
                ControlFlow::Continue(())
            });
            assert!(asked.unwrap().read.damage.is_empty());
            same(&found, &expected, &what);
        }
    }
}

fn read(store: &Store) -> Vec<PagesRead> {
    store.pages_read().map(|(_, read)| read).collect()
}

#[test]
fn aggregates_of_sources_with_times_in_common_are_those_of_what_was_pushed() {
    let of = |name| std::env::var(name).ok().and_then(|count| count.parse().ok());
    let seeds: u64 = of("BARO_OVERLAP_COUNT").unwrap_or(1);
    for seed in 1..=seeds {
        for times in [Times::Grid, Times::Offset, Times::Jitter, Times::Bursts] {
            let mut random = Random(seed * 7 + times as u64 + 1);
            let folder = Folder::init(&format!("overlap-{times:?}"), 12, WhenFull::Recycle);
            let mut model = Model::new();
            for number in 0..PORTIONS {
                let samples = portion(times, number, &mut random, &model);
                record(&folder.0, &samples, &mut model);
                // The last stays in the log.
                if number + 1 < PORTIONS {
                    settle(&folder.0);
                }
                let store = Store::open(&folder.0).unwrap();
                let what = format!("seed {seed}, {times:?}, portion {number}");
                check(&store, &model, &mut random, &what);
            }
        }
    }
}

#[test]
fn where_one_run_has_its_times_for_itself_its_pages_are_read_once() {
    let folder = Folder::init("overlap-pages", 12, WhenFull::Recycle);
    let mut model = Model::new();
    // A source ends as the next one begins: they have a tenth of a step in common.
    for number in 0..2 {
        let of = |tick: i64, id: u32| {
            let off = i64::from(id) * 7919 % (STEP_NS / 10);
            (id, tick * STEP_NS + off, bits(id, u64::from(id) + tick as u64))
        };
        let ticks = number * 100..(number + 1) * 100 + 1;
        let samples: Vec<_> =
            ticks.flat_map(|tick| (1..=SERIES).map(move |id| of(tick, id))).collect();
        record(&folder.0, &samples, &mut model);
        settle(&folder.0);
    }
    let store = Store::open(&folder.0).unwrap();
    let ids: Vec<u32> = (1..=SERIES).collect();
    let ask = |from: i64, to: i64| {
        let before = read(&store);
        let interval = Interval { from_ns: from * STEP_NS, to_ns: to * STEP_NS };
        let mut found = Vec::new();
        let notes = store.totals(&ids, interval, Aggregate::Sum, |rows| {
            found.extend(rows.ids.iter().copied().zip(rows.values.iter().copied()));
            ControlFlow::Continue(())
        });
        assert!(notes.unwrap().read.damage.is_empty());
        same(&found, &expected(&model, interval, Aggregate::Sum), "two runs");
        let after = read(&store);
        after.iter().zip(before).map(|(a, b)| a.pages - b.pages).collect::<Vec<_>>()
    };
    let pages = ask(20, 60);
    assert!(pages[0] > 0 && pages[1] == 0, "{pages:?}");
    assert_eq!(ask(150, 160), [0, pages[0]], "the same of the other run");
    // Of the time that both have, and of that before and after: each page twice.
    assert_eq!(ask(60, 160), [2 * pages[0], 2 * pages[0]]);
    assert!(read(&store).iter().all(|read| read.bytes > read.pages * 100));
}
