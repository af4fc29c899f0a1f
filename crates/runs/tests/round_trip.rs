//! What is written is read back, bit for bit, whatever it is: all of it, one series, an interval;
//! and aggregates are those of the samples.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use baro_ondisk::Type;
use baro_runs::Aggregate;
use common::{Numbers, Run, check_run, series_of};
use proptest::prelude::*;

/// Values of one kind: walks of decimals, floats of any bits, integers.
fn values(pattern: u8, count: usize, seed: u64) -> Vec<u64> {
    let mut rng = Numbers(seed | 1);
    let mut level = rng.below(1_000_000) as i64 - 500_000;
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, f64::MAX, 0.1 + 0.2];
    (0..count)
        .map(|_| {
            level += rng.below(11) as i64 - 5;
            match pattern {
                0 => (level as f64 / 1000.0).to_bits(),
                1 if rng.below(50) == 0 => special[rng.below(7) as usize].to_bits(),
                1 => (level as f64 / 10.0).to_bits(),
                2 => rng.next(),
                3 => (level as f64).sin().to_bits(),
                4 => f64::from((level as f32).cos()).to_bits(),
                5 => f64::NAN.to_bits() ^ rng.below(4),
                6 => level as u64,
                7 => [u64::MAX, 0, 1 << 63, i64::MAX as u64][rng.below(4) as usize],
                8 => rng.below(2),
                _ => 0,
            }
        })
        .collect()
}

/// Rising times: even, jittered, with gaps of years, at the ends of the range.
fn times(pattern: u8, count: usize, seed: u64) -> Vec<i64> {
    let mut rng = Numbers(seed | 1);
    let mut time = match pattern {
        4 => i64::MIN,
        5 => i64::MAX - count as i64 * 10,
        _ => 1_700_000_000_000_000_000,
    };
    let mut times: Vec<i64> = (0..count)
        .map(|index| {
            let before = time;
            time += match pattern {
                0 => 1_000_000_000,
                1 => 1_000_000 + rng.below(1_000_000) as i64,
                2 => 5_000_000 * (1 + rng.below(3) as i64),
                3 if rng.below(20) == 0 => 86_400_000_000_000 * 365,
                3 => 1,
                4 if index == count / 2 => i64::MAX,
                _ => 1 + rng.below(5) as i64,
            };
            before
        })
        .collect();
    if let (5, Some(last)) = (pattern, times.last_mut()) {
        *last = i64::MAX;
    }
    times
}

fn kind_of(pattern: u8) -> Type {
    match pattern {
        0..=5 => Type::F64,
        6 | 7 => Type::I64,
        _ => Type::Bool,
    }
}

#[test]
fn every_shape_of_grid_reads_back() {
    for ticks in [1, 2, 17, 20, 32, 33, 34, 200, 255, 511, 512, 769, 770, 1025, 2307] {
        for series in [1, 2, 3, 16, 17, 130] {
            let times = times(u8::from(ticks % 2 == 0), ticks, 7);
            let run = Run((0..series)
                .map(|number| {
                    let seed = u64::from(number) * 77 + 5;
                    series_of(number * 3 + 1, Type::F64, times.clone(), values(0, ticks, seed))
                })
                .collect());
            check_run(&run, 11);
        }
    }
}

#[test]
fn a_series_longer_than_a_page_reads_back() {
    for pattern in [0, 1, 3] {
        let times = times(pattern.min(1), 150_001, 3);
        let long = series_of(5, Type::F64, times, values(pattern, 150_001, 9));
        let short = series_of(6, Type::F64, vec![1, 2, 3], values(0, 3, 9));
        check_run(&Run(vec![long, short]), 3);
    }
}

#[test]
fn an_empty_run_reads_back() {
    check_run(&Run(Vec::new()), 0);
}

#[test]
fn texts_read_back() {
    let mut rng = Numbers(5);
    let mut run = common::TextRun(Vec::new());
    for series in 1..40 {
        let count = rng.below(60) as usize + 1;
        let texts = (0..count)
            .map(|_| match rng.below(5) {
                0 => String::new(),
                1 => "ü".repeat(rng.below(9) as usize),
                2 => "x".repeat(rng.below(60_000) as usize),
                other => format!("state {other}"),
            })
            .collect();
        run.0.push((series, times(1, count, rng.next()), texts));
    }
    common::check_text_run(&run);
}

#[test]
fn aggregates_follow_their_rules() {
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let of = |values: &[f64]| {
        let times: Vec<i64> = (0..values.len() as i64).collect();
        Aggregate::of(Type::F64, &times, &bits(values)).unwrap()
    };
    let with_nan = of(&[f64::NAN, 2.0, -1.0]);
    assert!(with_nan.sum.is_nan() && with_nan.first.1.is_nan());
    assert_eq!((with_nan.min, with_nan.max, with_nan.count), (-1.0, 2.0, 3));
    assert!(of(&[f64::NAN]).max.is_nan());
    // One decimal a thousand times: as floats 0.1 adds up to something else.
    let times: Vec<i64> = (0..1000).collect();
    let run = Run(vec![series_of(1, Type::F64, times, bits(&[0.1; 1000]))]);
    let file = run.write();
    assert_eq!(file.aggregate(1, 0, 1000).unwrap().sum, 100.0);
    let extremes = Run(vec![series_of(1, Type::I64, vec![1, 2], vec![i64::MAX as u64; 2])]);
    let integers = extremes.write().aggregate(1, 0, 9).unwrap().integers.unwrap();
    assert_eq!(integers.sum, i128::from(i64::MAX) * 2);
}

fn a_run() -> impl Strategy<Value = Run> {
    let one = (1_u32..4, 0_u8..9, 0_u8..6, 1_usize..1500, any::<u64>());
    (proptest::collection::vec(one, 1..30), any::<bool>(), 1_usize..80).prop_map(
        |(series, common_times, common_count)| {
            let mut id = 0;
            Run(series
                .into_iter()
                .map(|(step, values_of, times_of, count, seed)| {
                    id += step;
                    let (times_of, count, times_seed) =
                        if common_times { (1, common_count, 3) } else { (times_of, count, seed) };
                    let times = times(times_of, count, times_seed);
                    let values_of = if seed % 3 == 0 { 0 } else { values_of };
                    series_of(id, kind_of(values_of), times, values(values_of, count, seed))
                })
                .collect())
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_run_reads_back(run in a_run(), seed in any::<u64>()) {
        check_run(&run, seed);
    }
}
