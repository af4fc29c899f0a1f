//! Orders are permutations of one walk, draws are uniform, recordings repeat; whatever the sizes.

use super::walk::value;
use super::*;
use baro_sources::Scalar;
use baro_sys::files::{remove, write};
use std::collections::HashMap;
use std::path::Path;

fn walk(series: u32, samples: u64, seed: u64, order: Order) -> Walk {
    Walk::new(WalkSpec::about(series, samples, seed, order).unwrap())
}

/// (series, time, bits) in the order of arrival.
fn arrivals(data: &dyn Data, first_id: u32) -> Vec<(u32, i64, u64)> {
    let (mut feed, mut batch, mut all) = (data.feed(first_id), Batch::default(), Vec::new());
    while feed.next(&mut batch) {
        assert!(batch.len() <= BATCH, "{}", batch.len());
        assert_eq!(batch.values.len() + batch.integers.len(), batch.len());
        assert_eq!(batch.times_ns.len(), if batch.time_ns.is_some() { 0 } else { batch.len() });
        let samples = batch.series.iter().enumerate();
        all.extend(samples.map(|(at, id)| (id - first_id, batch.time_at(at), batch.bits_at(at))));
    }
    all
}

fn expected(data: &dyn Data) -> Vec<(u32, i64, u64)> {
    let mut all = Vec::new();
    for series in 0..data.series() {
        data.expected(series, Interval::ALL, &mut |time_ns, bits| {
            all.push((series, time_ns, bits))
        });
    }
    all
}

#[test]
fn every_order_has_the_samples_of_the_walk_each_once() {
    // Whole and broken windows, quads and batches; one series, one tick.
    for (series, samples) in [(1, 1), (1, 5000), (3, 333), (7, 7), (103, 10_300), (9001, 200_000)] {
        let model = expected(&walk(series, samples, 7, Order::Ticks));
        for order in Order::ALL {
            let data = walk(series, samples, 7, order);
            let mut found = arrivals(&data, 1);
            assert_eq!(found.len() as u64, data.samples());
            assert_eq!(found, arrivals(&data, 50), "{order:?} differs from run to run");
            found.sort_unstable();
            assert!(found == model, "{order:?} of {series} x {samples} differs from the walk");
        }
    }
    assert_ne!(
        arrivals(&walk(10, 100, 7, Order::Ticks), 0),
        arrivals(&walk(10, 100, 8, Order::Ticks), 0)
    );
}

#[test]
fn each_clock_has_the_samples_of_the_walk_at_its_own_times() {
    for times in Times::ALL {
        for order in Order::ALL {
            let Ok(data) = Timed::new(walk(103, 10_300, 7, order), times) else {
                assert!(times == Times::Poisson && matches!(order, Order::Shuffled | Order::Late));
                continue;
            };
            let mut found = arrivals(&data, 1);
            let model = expected(&data);
            let mut in_order = Vec::new();
            let (mut feed, mut batch) = (data.in_order(), Batch::default());
            while feed.next(&mut batch) {
                in_order
                    .extend((0..batch.len()).map(|at| (batch.series[at] - 1, batch.time_at(at))));
            }
            found.sort_unstable();
            in_order.sort_unstable();
            assert!(found == model, "{times:?}, {order:?}");
            assert!(in_order.iter().eq(
                model.iter().map(|(series, time, _)| (*series, *time)).collect::<Vec<_>>().iter()
            ));
            let rising = model.windows(2).all(|two| two[0].0 < two[1].0 || two[0].1 < two[1].1);
            assert!(rising, "{times:?}: a series' times rise");
            let range = data.range();
            assert!(model.iter().all(|(_, time, _)| range.from_ns <= *time && *time < range.to_ns));
            let same = model.iter().filter(|(series, ..)| *series == 0).map(|(_, time, _)| time);
            let of_0: std::collections::HashSet<_> = same.collect();
            let shared =
                model.iter().filter(|(series, time, _)| *series == 1 && of_0.contains(time));
            assert_eq!(shared.count() == 100, times == Times::Grid, "{times:?}");
        }
    }
}

#[test]
fn values_of_each_kind_and_late_samples_are_those_that_are_expected() {
    for (values, late_percent) in Values::ALL.into_iter().zip([0, 30, 100, 5]) {
        for times in Times::ALL {
            let data = Timed::new(walk(103, 10_300, 7, Order::Ticks), times).unwrap();
            let data = data.with_values(values).with_late(late_percent).unwrap();
            let (mut found, model) = (arrivals(&data, 3), expected(&data));
            // Poisson arrivals of neighbours are in no order of time either way.
            let in_order = found.is_sorted_by_key(|(_, time, _)| *time / 1_000_000_000);
            assert!(times == Times::Poisson || in_order == (late_percent == 0), "{values:?}");
            found.sort_unstable();
            assert!(found == model, "{values:?} at {times:?}, {late_percent} late");
            assert_eq!(data.declaration(0).1, values.kind());
            let rise = |two: &[(u32, i64, u64)]| two[0].0 < two[1].0 || two[0].2 <= two[1].2;
            assert!(values != Values::Counter || model.windows(2).all(rise));
            assert!(values != Values::State || model.iter().all(|(.., bits)| *bits < 5));
        }
    }
    let data = Timed::new(walk(1, 1, 7, Order::Ticks), Times::Grid).unwrap();
    assert!(data.with_late(101).is_err());
}

#[test]
fn poisson_arrivals_have_gaps_of_any_length() {
    let data = Timed::new(walk(1, 100_000, 3, Order::Ticks), Times::Poisson).unwrap();
    let times: Vec<i64> = expected(&data).into_iter().map(|(_, time, _)| time).collect();
    let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e9).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // Of an exponential distribution the deviation is the mean.
    assert!((0.98..1.02).contains(&mean) && (0.96..1.04).contains(&square.sqrt()), "{mean}");
}

#[test]
fn orders_are_what_their_names_say() {
    let ticks = |order| -> Vec<(u32, i64)> {
        let data = walk(200, 40_000, 3, order);
        let range = data.range();
        arrivals(&data, 0)
            .into_iter()
            .map(|(series, time_ns, _)| (series, (time_ns - range.from_ns) / 1_000_000_000))
            .collect()
    };
    let by_tick = |found: &[(u32, i64)]| found.is_sorted_by_key(|(series, tick)| (*tick, *series));
    assert!(by_tick(&ticks(Order::Ticks)));
    let shuffled = ticks(Order::Shuffled);
    assert!(shuffled.is_sorted_by_key(|(_, tick)| tick / 10));
    // Of a random order half the neighbours fall.
    let falls = shuffled.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
    assert!((17_000..23_000).contains(&falls), "{falls}");
    let first: std::collections::HashSet<_> = shuffled[..2000].iter().collect();
    assert_eq!(first.len(), 2000, "a window is a permutation");
    let bursty = ticks(Order::Bursty);
    assert!(bursty.is_sorted_by_key(|(series, tick)| (tick / 50, *series, *tick)));
    let late = ticks(Order::Late);
    let mut newest = 0;
    let behind: Vec<i64> = late
        .iter()
        .filter_map(|(_, tick)| {
            newest = newest.max(*tick);
            (*tick < newest).then_some(newest - tick)
        })
        .collect();
    assert!((300..500).contains(&behind.len()), "about 1 % of 40,000: {}", behind.len());
    assert!(behind.iter().all(|ticks| *ticks <= 20), "a tenth of 200 ticks at most");
    assert!(behind.iter().any(|ticks| *ticks > 10));
}

#[test]
fn steps_are_uniform_and_values_have_three_decimals() {
    let data = walk(1000, 1_000_000, 11, Order::Ticks);
    let mut last: HashMap<u32, i64> = HashMap::new();
    let (mut counts, mut starts) = ([0_u32; 11], Vec::new());
    for (series, _, bits) in arrivals(&data, 0) {
        let found = f64::from_bits(bits);
        let thousandths = (found * 1000.0).round() as i64;
        assert_eq!(value(thousandths as i32).to_bits(), bits);
        match last.insert(series, thousandths) {
            Some(before) => counts[usize::try_from(thousandths - before + 5).unwrap()] += 1,
            None => starts.push(thousandths),
        }
    }
    // 999,000 steps: 90,818 of each, give or take five standard deviations.
    assert!(counts.iter().all(|count| count.abs_diff(90_818) < 1500), "{counts:?}");
    assert!(starts.iter().all(|start| (0..16_384).contains(start)));
    let mean = starts.iter().sum::<i64>() / 1000;
    assert!((7400..9000).contains(&mean), "{mean}");
}

#[test]
fn intervals_are_cut_by_time() {
    let data = walk(5, 500, 1, Order::Ticks);
    let from = data.range().from_ns;
    let mut times = Vec::new();
    let interval = Interval { from_ns: from + 10_000_000_001, to_ns: from + 13_000_000_001 };
    data.expected(3, interval, &mut |time_ns, _| times.push((time_ns - from) / 1_000_000_000));
    assert_eq!(times, [11, 12, 13]);
}

#[test]
fn numbers_that_are_no_use_are_refused() {
    assert!(WalkSpec::about(0, 10, 1, Order::Ticks).is_err());
    assert!(WalkSpec::about(1 << 30, 10, 1, Order::Ticks).is_err());
    assert!(WalkSpec::about(1, 1 << 40, 1, Order::Ticks).is_err());
}

#[test]
fn a_recording_is_repeated_and_of_one_time_the_last_counts() {
    let path = std::env::temp_dir().join(format!("baro-recorded-{}.csv", std::process::id()));
    write(&path, b"10,a,1.5\n10,b,7\n30,a,2\n30,b,8\n20,b,9\n30,b,10\n").unwrap();
    let data = Recorded::read(&path, 7).unwrap();
    assert_eq!((data.series(), data.samples(), data.repeats()), (2, 12, 2));
    assert_eq!((data.declaration(0).1, data.declaration(1).1), (Type::F64, Type::I64));
    let one = |later: i64| {
        [(10, 1.5_f64.to_bits()), (30, 2.0_f64.to_bits())]
            .map(|(time, bits)| (0, time + later, bits))
    };
    let other = |later: i64| [(10, 7), (20, 9), (30, 10)].map(|(t, bits)| (1, t + later, bits));
    let all = [one(0).as_slice(), &one(21), &other(0), &other(21)].concat();
    assert_eq!(expected(&data), all);
    let found = arrivals(&data, 9);
    assert_eq!(found.len(), 12);
    assert_eq!((found[3], found[9]), ((1, 30, 8), (1, 51, 8)));
    write(&path, b"10,a,1.5\nnonsense\n").unwrap();
    let error = Recorded::read(&path, 0).unwrap_err().to_string();
    assert!(error.contains("line 2") || error.contains(":2"), "{error}");
    write(&path, b"# nothing\n").unwrap();
    assert!(Recorded::read(&path, 0).unwrap_err().to_string().contains("found 0"));
    remove(&path).unwrap();
    // What proc records goes the same way.
    let mut recording = super::recorded::Recording::default();
    recording.push("x", 5, Scalar::Integer(3));
    assert_eq!(expected(&recording.finish(Path::new("/proc"), 0).unwrap()), [(0, 5, 3)]);
}
