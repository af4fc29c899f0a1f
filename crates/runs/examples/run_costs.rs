//! What a run costs: bytes a sample, encoding, and queries from bytes in memory.
//!
//! `cargo run --release -p baro-runs --example run_costs [SAMPLES] [SET ..]`
//!
//! Sets: `S` series (a number: random walks of 3 decimals on common ticks), `jittered` (times off
//! the tick by up to 1 %), `bursty` (bursts with pauses, each series its own), `gaps` (common
//! ticks, 2 % missing), `real` (floats that are no decimals). Microseconds are medians of single
//! calls; M/s and milliseconds are the processor's time, so that other programs matter little.

#![expect(clippy::disallowed_methods, reason = "a measurement by hand, not part of the product")]
#![expect(clippy::unwrap_used, reason = "an example stops at the first error")]

use baro_ondisk::{StoreId, Type};
use baro_runs::{Error, PageReader, RunIndex, RunInfo, RunWriter};
use std::time::Instant;

const TICK_NS: i64 = 1_000_000_000;
const START_NS: i64 = 1_700_000_000_000_000_000;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}

struct Series {
    times: Vec<i64>,
    bits: Vec<u64>,
}

/// One series of a set, always the same for the same number.
fn series(set: &str, number: usize, samples: usize, to: &mut Series) {
    let mut rng =
        Rng(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
    for _ in 0..8 {
        rng.next();
    }
    to.times.clear();
    to.bits.clear();
    let mut level = rng.below(100_000) as i64;
    let mut time = START_NS;
    for tick in 0..samples {
        level += rng.below(11) as i64 - 5;
        let tick_ns = START_NS + tick as i64 * TICK_NS;
        time = match set {
            "jittered" => tick_ns + rng.below(TICK_NS as u64 / 100) as i64,
            "bursty" if rng.below(20) == 0 => time + rng.below(100) as i64 * TICK_NS + TICK_NS,
            "bursty" => time + TICK_NS / 100,
            "gaps" if rng.below(50) == 0 => continue,
            _ => tick_ns,
        };
        to.times.push(time);
        let value = match set {
            "real" => (level as f64 / 1000.0).sin(),
            _ => level as f64 / 1000.0,
        };
        to.bits.push(value.to_bits());
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let samples: usize = args.first().map_or(20_000_000, |samples| samples.parse().unwrap());
    let mut sets: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    if sets.is_empty() {
        sets = vec!["1000", "100000", "1000000", "jittered", "bursty", "gaps", "real"];
    }
    println!(
        "{:>9} {:>8} {:>7} {:>8} {:>7} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "set",
        "series",
        "B/samp",
        "encode",
        "pages",
        "open us",
        "one us",
        "1% us",
        "all ms",
        "10% mean",
        "all mean",
        "idx B/p"
    );
    for set in sets {
        let count = set.parse().unwrap_or(20_000.min(samples));
        cost(set, count, samples / count);
    }
}

#[expect(clippy::too_many_lines, reason = "one measurement after another")]
fn cost(set: &str, count: usize, each: usize) {
    let info = RunInfo { store: StoreId([7; 16]), run: 1, level: 0, note: Vec::new() };
    let mut bytes: Vec<u8> = Vec::new();
    let mut encode = 0.0;
    let mut one = Series { times: Vec::new(), bits: Vec::new() };
    let out = |page: &[u8]| -> Result<(), Error> {
        bytes.extend_from_slice(page);
        Ok(())
    };
    let mut writer = RunWriter::new(&info, out).unwrap();
    let mut sum = 0.0;
    // Series are made in batches, so that the clock is read rarely.
    let batch = (1_000_000 / each).max(1);
    let mut made: Vec<Series> = Vec::new();
    for first in (0..count).step_by(batch) {
        made.clear();
        for number in first..(first + batch).min(count) {
            series(set, number, each, &mut one);
            sum += one.bits.iter().map(|bits| f64::from_bits(*bits)).sum::<f64>();
            made.push(Series { times: one.times.clone(), bits: one.bits.clone() });
        }
        let started = cpu_ns();
        for (number, one) in (first..).zip(&made) {
            writer.push(number as u32 + 1, Type::F64, &one.times, &one.bits).unwrap();
        }
        encode += (cpu_ns() - started) / 1e9;
    }
    let started = cpu_ns();
    let summary = writer.finish().unwrap();
    encode += (cpu_ns() - started) / 1e9;

    let at = RunIndex::footer(bytes.len() as u64, &bytes[bytes.len() - 64..]).unwrap();
    let index_bytes = &bytes[at.offset as usize..at.offset as usize + at.bytes];
    let open =
        || RunIndex::decode(&bytes[..4096], index_bytes, &bytes[bytes.len() - 64..]).unwrap();
    let open_us = median((0..9).map(|_| time(|| drop(open())) * 1e6).collect());
    let index = open();
    let mut reader = PageReader::new();
    let (mut times, mut bits) = (Vec::new(), Vec::new());
    let (start, end) = index.time_range().unwrap();
    let span = end - start + 1;
    let page = |number: usize| {
        let entry = &index.pages()[number];
        (entry, &bytes[entry.offset as usize..][..entry.bytes as usize])
    };

    let mut rng = Rng(42);
    let mut read = |from: i64, to: i64| {
        let series = rng.below(count as u64) as u32 + 1;
        time(|| {
            times.clear();
            bits.clear();
            for number in index.find(series) {
                let (entry, bytes) = page(number);
                if entry.time_min_ns >= to || entry.time_max_ns < from {
                    continue;
                }
                let mut page = reader.open(entry, bytes).unwrap();
                page.read(series, from, to, &mut times, &mut bits).unwrap();
            }
        })
    };
    let one_us = median((0..301).map(|_| read(i64::MIN, i64::MAX) * 1e6).collect());
    let middle = start + span / 2;
    let percent_us = median((0..301).map(|_| read(middle, middle + span / 100) * 1e6).collect());
    let all = || {
        let (mut reader, mut samples, mut found) = (PageReader::new(), 0, 0.0);
        for number in 0..index.pages().len() {
            let (entry, bytes) = page(number);
            let mut page = reader.open(entry, bytes).unwrap();
            page.read_all(i64::MIN, i64::MAX, |_, _, bits| {
                samples += bits.len() as u64;
                found += bits.iter().map(|bits| f64::from_bits(*bits)).sum::<f64>();
            })
            .unwrap();
        }
        assert_eq!(samples, summary.samples);
        assert!((found / sum - 1.0).abs() < 1e-6);
    };
    let all_ms = cpu_ms(all);
    let mut mean = |from: i64, to: i64, wanted: Option<usize>| {
        let mut seen = 0;
        let mut total = 0.0;
        for number in 0..index.pages().len() {
            let (entry, bytes) = page(number);
            let whole = entry.time_min_ns >= from && entry.time_max_ns < to;
            if let (true, Some(aggregate)) = (whole, &entry.aggregate) {
                (seen, total) = (seen + 1, total + aggregate.mean());
                continue;
            }
            let mut page = reader.open(entry, bytes).unwrap();
            page.aggregate_all(from, to, |_, known| {
                (seen, total) = (seen + 1, total + known.sum() / known.count() as f64);
            })
            .unwrap();
        }
        assert!(wanted.is_none_or(|wanted| seen == wanted) && total.is_finite());
    };
    let from = start + (span as f64 * 0.45) as i64;
    let mean_ms = cpu_ms(|| mean(from, from + span / 10, None));
    let agg_ms = cpu_ms(|| mean(i64::MIN, i64::MAX, Some(count)));
    println!(
        "{set:>9} {:>8} {:>7.4} {:>6.1}/s {:>7} {open_us:>8.1} {one_us:>9.2} {percent_us:>9.2} {all_ms:>9.1} {mean_ms:>9.2} {agg_ms:>9.2} {:>8.1}",
        summary.series,
        summary.bytes as f64 / summary.samples as f64,
        summary.samples as f64 / encode / 1e6,
        summary.pages,
        at.bytes as f64 / summary.pages as f64,
    );
}

fn time(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

/// Time of this process on a processor.
fn cpu_ns() -> f64 {
    // The kernel brings it up to date when the task is switched, so a pause makes it exact.
    std::thread::sleep(std::time::Duration::from_micros(100));
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Processor time of one call, a mean over some.
fn cpu_ms(mut work: impl FnMut()) -> f64 {
    let (started, mut calls) = (cpu_ns(), 0);
    let wall = Instant::now();
    while calls < 3 || wall.elapsed().as_millis() < 400 {
        work();
        calls += 1;
    }
    (cpu_ns() - started) / f64::from(calls) / 1e6
}
