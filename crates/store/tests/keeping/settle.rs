//! Random samples through recorder, settling and queries, held against a model in memory: what is
//! asked for comes back the same whether it lies in the log, in runs, or in both.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, Random, options, steps};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Aggregate, Batch, Every, Extent, Fill, Interval, Query, SettleOptions, Settler, Steps, Store,
    Totals, ValueType, Values,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Value bits by series and time.
type Model = BTreeMap<(u32, i64), u64>;

const KINDS: [Type; 4] = [Type::F64, Type::I64, Type::Bool, Type::F64];

fn kind(id: u32) -> Type {
    KINDS[(id as usize - 1) % KINDS.len()]
}

fn value(random: &mut Random, id: u32) -> u64 {
    match (kind(id), id % 8) {
        (Type::Bool, _) => random.below(2),
        (Type::I64, 2) => random.below(u64::MAX),
        (Type::I64, _) => random.below(1000),
        (_, 1) => (random.below(100_000) as f64 / 1000.0).to_bits(),
        (_, 4) => [f64::NAN, f64::INFINITY, -0.0, 1e300, 0.1][random.below(5) as usize].to_bits(),
        _ => (random.below(1 << 40) as f64).sqrt().to_bits(),
    }
}

fn small() -> SettleOptions {
    SettleOptions { memory_bytes: 64 << 10, least_bytes: 10 << 10, fan_in: 3, ..Default::default() }
}

fn record(folder: &Folder, random: &mut Random, series: u32, batches: u64, model: &mut Model) {
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let names: Vec<String> = (1..=series).map(|id| format!("s{id:05}")).collect();
    let wanted: Vec<_> =
        names.iter().zip(1..).map(|(name, id)| (name.as_str(), kind(id), "")).collect();
    assert_eq!(recorder.declare(&wanted).unwrap(), (1..=series).collect::<Vec<_>>());
    let mut producer = recorder.producer().unwrap();
    let start_ns = model.keys().map(|key| key.1).max().unwrap_or(0);
    for batch in 0..batches {
        let count = 1 + random.below(2000);
        let (mut ids, mut times_ns, mut bits) = (Vec::new(), Vec::new(), Vec::new());
        let base_ns = start_ns + batch as i64 * 1000;
        for number in 0..count {
            let id = 1 + random.below(u64::from(series)) as u32;
            // Mostly rising, some late, some twice.
            let time_ns = match random.below(10) {
                0 => base_ns - random.below(5000) as i64,
                _ => base_ns + number as i64 / 4,
            };
            let value = value(random, id);
            model.insert((id, time_ns), value);
            ids.push(id);
            times_ns.push(time_ns);
            bits.push(value.cast_signed());
        }
        while producer.free_bytes() < 1 << 16 {
            std::thread::yield_now();
        }
        producer.push_words(&times_ns, &ids, &bits).unwrap();
        if random.below(4) == 0 {
            let sequence = producer.next_sequence();
            assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
        }
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
}

type Rows = Vec<(u32, i64, u64)>;

fn take(batch: &Batch<'_>, rows: &mut Rows) {
    let bits: Vec<u64> = match batch.values {
        Values::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
        Values::I64(values) => values.iter().map(|value| value.cast_unsigned()).collect(),
        Values::Bool(values) => values.iter().map(|value| u64::from(*value)).collect(),
        _ => panic!("{batch:?}"),
    };
    let times = batch.times_ns.iter().zip(bits);
    rows.extend(times.map(|(time_ns, bits)| (batch.target.id, *time_ns, bits)));
}

fn asked(store: &Store, ids: &[u32], query: &Query) -> Rows {
    let mut rows = Vec::new();
    let notes = store.query_ids(ids, query, |batch| {
        take(batch, &mut rows);
        ControlFlow::Continue(())
    });
    let notes = notes.unwrap();
    assert_eq!((notes.read.damage, notes.rows), (vec![], rows.len() as u64));
    rows
}

fn within<'a>(
    model: &'a Model,
    ids: &'a [u32],
    interval: Interval,
) -> impl Iterator<Item = (u32, i64, u64)> + 'a {
    let keep = move |key: &(u32, i64)| interval.holds(key.1) && ids.binary_search(&key.0).is_ok();
    model.iter().filter(move |(key, _)| keep(key)).map(|(key, bits)| (key.0, key.1, *bits))
}

fn number(id: u32, bits: u64) -> f64 {
    match kind(id) {
        Type::F64 => f64::from_bits(bits),
        Type::Bool => bits as f64,
        _ => bits.cast_signed() as f64,
    }
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
fn steps_of(length_ns: i64) -> Steps {
    Steps::new(move |time_ns| around(time_ns, length_ns))
}

/// One row for each step of each series.
fn folded(model: &Model, ids: &[u32], query: &Query) -> Vec<(u32, steps::Row)> {
    let (interval, every) = (query.interval, query.every.unwrap());
    let step_of = |time_ns: i64| match every.step_ns as i64 {
        0 => (interval.from_ns, i64::MAX),
        step_ns if query.steps.is_some() => around(time_ns, step_ns),
        step_ns => {
            let start_ns = time_ns.div_euclid(step_ns) * step_ns;
            (start_ns, start_ns + step_ns)
        }
    };
    let (aggregate, fill) = (every.aggregate, query.fill);
    let asked = steps::Asked { interval, aggregate, fill, step_of: &step_of };
    let of_series = |id: &u32| {
        let id = *id;
        let all = model.range((id, i64::MIN)..=(id, i64::MAX));
        let all = all.map(|(key, bits)| steps::Sample {
            time_ns: key.1,
            float: number(id, *bits),
            integer: (kind(id) == Type::I64).then(|| i128::from(bits.cast_signed())),
        });
        let rows = steps::rows(&all.collect::<Vec<_>>(), &asked);
        rows.into_iter().map(move |row| (id, row))
    };
    ids.iter().flat_map(of_series).collect()
}

fn close(found: f64, (_, expected, off): steps::Row) -> bool {
    let same = found == expected || (found.is_nan() && expected.is_nan());
    // Where a difference of infinities comes in, the order in which they are added decides.
    same || (found - expected).abs() <= off || off.is_nan() || off.is_infinite()
}

fn check(store: &Store, random: &mut Random, series: u32, model: &Model) {
    let last_ns = model.keys().map(|key| key.1).max().unwrap_or(0) as u64;
    for _ in 0..8 {
        let ids: Vec<u32> = match random.below(3) {
            0 => vec![1 + random.below(u64::from(series)) as u32],
            1 => (1..=series + 3).filter(|_| random.below(4) == 0).collect(),
            _ => (1..=series).collect(),
        };
        let from_ns = random.below(last_ns + 2000) as i64 - 1000;
        let interval = match random.below(3) {
            0 => Interval::ALL,
            _ => Interval { from_ns, to_ns: from_ns + random.below(last_ns) as i64 },
        };
        let expected: Rows = within(model, &ids, interval).collect();
        assert_eq!(asked(store, &ids, &Query::raw(interval)), expected);
        let (last, limit) = (random.below(50) as usize, random.below(500));
        let mut newest: Rows = Vec::new();
        for group in expected.chunk_by(|a, b| a.0 == b.0) {
            newest.extend(&group[group.len().saturating_sub(last)..]);
        }
        let query = Query { last: Some(last), ..Query::raw(interval) };
        assert_eq!(asked(store, &ids, &query), newest);
        let query = Query { limit: Some(limit), ..Query::raw(interval) };
        assert_eq!(asked(store, &ids, &query), expected[..expected.len().min(limit as usize)]);
        let aggregate = Aggregate::ALL[random.below(Aggregate::ALL.len() as u64) as usize];
        let every = Every { step_ns: [0, 700, 100_000][random.below(3) as usize], aggregate };
        let any = every.step_ns > 0 && random.below(2) == 0;
        let steps = any.then(|| steps_of(every.step_ns as i64));
        // Of all times there is no end to be filled up to.
        let fill = [None, None, Some(Fill::Previous), Some(Fill::Zero)][random.below(4) as usize];
        let query = Query { steps, fill, ..Query::every(interval, every) };
        let found = asked(store, &ids, &query);
        let folded = folded(model, &ids, &query);
        if every.step_ns == 0 && query.fill.is_none() {
            let mut totals = Vec::new();
            let mut take = |rows: &Totals<'_>| {
                totals.extend(rows.ids.iter().copied().zip(rows.values.iter().copied()));
                ControlFlow::Continue(())
            };
            let notes = store.totals(&ids, interval, aggregate, &mut take).unwrap();
            assert_eq!((notes.rows, totals.len()), (folded.len() as u64, folded.len()));
            for ((id, value), expected) in totals.into_iter().zip(&folded) {
                assert!(id == expected.0 && close(value, expected.1), "{every:?} {interval:?}");
            }
        }
        // A sum that its type does not hold has no row.
        let sums =
            matches!(every.aggregate, Aggregate::Sum | Aggregate::Increase | Aggregate::Delta);
        let sum = |id: u32| sums && kind(id) == Type::I64;
        let folded: Vec<_> =
            folded.into_iter().filter(|row| !sum(row.0) || row.1.1.abs() < 2f64.powi(63)).collect();
        assert_eq!(found.len(), folded.len(), "{query:?}");
        for ((id, time_ns, bits), expected) in found.into_iter().zip(folded) {
            // Of integers what is one of them, or their sum, is an integer.
            let integer = ValueType::of(kind(id)).and_then(|of| every.aggregate.result(of))
                == Some(ValueType::I64);
            let value = if integer { bits as i64 as f64 } else { f64::from_bits(bits) };
            assert!(
                (id, time_ns) == (expected.0, expected.1.0) && close(value, expected.1),
                "{query:?}: ({id}, {time_ns}, {value}) {expected:?}"
            );
        }
    }
}

fn lives(seed: u64, series: u32, batches: u64) {
    let folder = Folder::init(&format!("settle-{seed}-{series}"), 24, WhenFull::Stop);
    let (mut random, mut model) = (Random(seed), Model::new());
    let (mut runs, mut merged) = (0, 0);
    for _ in 0..4 {
        record(&folder, &mut random, series, batches, &mut model);
        let mut store = Store::open(&folder.0).unwrap();
        check(&store, &mut random, series, &model);
        let mut settler = Settler::open(&folder.0, small()).unwrap();
        let extent = if random.below(2) == 0 { Extent::All } else { Extent::Enough };
        loop {
            let done = settler.step(extent).unwrap();
            assert_eq!(done.damage, []);
            (runs, merged) = (runs + done.runs, merged + done.merged);
            // A reader that was open before sees the same, before and after it looks anew.
            if random.below(3) == 0 {
                check(&store, &mut random, series, &model);
                store.refresh().unwrap();
            }
            if !done.more {
                break;
            }
        }
        drop(settler);
        check(&Store::open(&folder.0).unwrap(), &mut random, series, &model);
    }
    assert!(runs > 3 && merged > 0, "{runs} runs, {merged} merged");
    let names = std::fs::read_dir(folder.0.join("runs")).unwrap().count();
    assert!(names < 12, "{names} files of runs");
}

#[test]
fn a_few_series_read_back_whatever_is_settled() {
    lives(0x1234_5678_9abc_def1, 3, 15);
}

#[test]
fn many_series_read_back_whatever_is_settled() {
    lives(0x0fed_cba9_8765_4321, 2000, 15);
}

/// Runs there are, once nothing is left to do.
fn settled(folder: &Folder, options: SettleOptions) -> u32 {
    let mut settler = Settler::open(&folder.0, options).unwrap();
    while settler.step(Extent::Enough).unwrap().more {}
    settler.into_store().info().unwrap().runs
}

#[test]
fn runs_that_are_too_large_for_one_are_merged_in_parts() {
    let folder = Folder::init("settle-parts", 24, WhenFull::Stop);
    let (mut random, mut model) = (Random(77), Model::new());
    let never = SettleOptions { fan_in: 1000, least_bytes: 0, ..small() };
    let mut before = 0;
    for _ in 0..7 {
        record(&folder, &mut random, 50, 2, &mut model);
        before = settled(&folder, never);
    }
    assert!(before >= 7, "{before} runs");
    let store = Store::open(&folder.0).unwrap();
    let bytes = store.info().unwrap().runs_bytes;
    let run_bytes_max = bytes / u64::from(before) * 7 / 2;
    let after = settled(&folder, SettleOptions { fan_in: 2, run_bytes_max, ..never });
    assert!(after > 1 && after * 2 <= before + 1, "{before} runs, then {after}");
    let store = Store::open(&folder.0).unwrap();
    check(&store, &mut random, 50, &model);
}

#[test]
fn a_few_texts_make_no_run_of_their_own() {
    let folder = Folder::init("settle-texts", 8, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    recorder.declare(&[("text", Type::Text, "")]).unwrap();
    let mut producer = recorder.producer().unwrap();
    producer.push_text(1, 5, "five").unwrap();
    assert_eq!(recorder.close().left, 0);
    assert_eq!(settled(&folder, small()), 0);
    assert_eq!(settled(&folder, SettleOptions { least_bytes: 0, ..small() }), 1);
}

#[test]
fn the_last_times_there_are_come_once() {
    let folder = Folder::init("settle-ends", 8, WhenFull::Stop);
    let times_ns = [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX];
    for time_ns in times_ns {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        recorder.declare(&[("a", Type::F64, "")]).unwrap();
        recorder.producer().unwrap().push_sample(1, time_ns, 1.0).unwrap();
        let _ = recorder.close();
        // Each in a run of its own, the last two in the log.
        if time_ns < i64::MAX - 1 {
            let options = SettleOptions { least_bytes: 0, fan_in: 100, ..small() };
            Settler::open(&folder.0, options).unwrap().step(Extent::All).unwrap();
        }
    }
    let store = Store::open(&folder.0).unwrap();
    let expected: Rows = times_ns.map(|ns| (1, ns, 1.0_f64.to_bits())).to_vec();
    assert_eq!(asked(&store, &[1], &Query::raw(Interval::ALL)), expected);
    for settled in [false, true] {
        if settled {
            let options = SettleOptions { least_bytes: 0, fan_in: 100, ..small() };
            Settler::open(&folder.0, options).unwrap().step(Extent::All).unwrap();
        }
        let store = Store::open(&folder.0).unwrap();
        for (step_ns, steps) in [(0, 1), (1 << 40, 4), (i64::MAX as u64, 5), (1, 6)] {
            let every = Every { step_ns, aggregate: Aggregate::Count };
            let found = asked(&store, &[1], &Query::every(Interval::ALL, every));
            let counted: u64 = found.iter().map(|row| row.2).sum();
            assert_eq!(counted, 6, "{step_ns}: {found:?}");
            assert!(found.len() <= steps, "{step_ns}: {found:?}");
        }
    }
}

#[test]
fn the_newest_of_a_long_series_come_from_as_many_slices_as_it_takes() {
    const SAMPLES: i64 = 700_000;
    let folder = Folder::init("settle-long", 24, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("long", Type::I64, "")]).unwrap();
    let mut producer = recorder.producer().unwrap();
    for start in (0..SAMPLES).step_by(7000) {
        let times_ns: Vec<i64> = (start..start + 7000).collect();
        let values: Vec<i64> = times_ns.iter().map(|time_ns| time_ns % 1009).collect();
        while producer.free_bytes() < 1 << 18 {
            std::thread::yield_now();
        }
        producer.push_batch(&times_ns, &[id[0]; 7000], &values).unwrap();
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    drop(settler);
    let store = Store::open(&folder.0).unwrap();
    for last in [0, 1, 300_000, 600_000, 800_000] {
        let query = Query { last: Some(last as usize), ..Query::raw(Interval::ALL) };
        let first = (SAMPLES - last).max(0);
        let expected: Rows =
            (first..SAMPLES).map(|at| (id[0], at, (at % 1009).cast_unsigned())).collect();
        assert!(asked(&store, &id, &query) == expected, "the last {last}");
    }
}
