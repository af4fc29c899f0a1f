//! What a sample costs to sort and encode into a section, and to decode, and how many bytes it
//! takes: `cargo run --release --example section_speed -p baro-ondisk`. Prints, tests nothing.

use baro_ondisk::{SampleColumns, SampleStage, Section};
use std::hint::black_box;

#[allow(clippy::disallowed_methods, reason = "this crate has no clock; an example measures")]
fn seconds(mut work: impl FnMut()) -> f64 {
    // The best of some: what the code costs, not what else the machine did.
    (0..15)
        .map(|_| {
            let start = std::time::Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::MAX, f64::min)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 >> 33
    }
}

fn samples(kind: &str, count: usize, sensors: usize) -> Vec<(u32, i64, u64)> {
    let mut random = Random(7);
    let mut walks: Vec<i64> = (0..sensors).map(|_| random.next() as i64 % 100_000).collect();
    let mut samples: Vec<(u32, i64, u64)> = (0..count)
        .map(|at| {
            let (sensor, tick) = (at % sensors, at / sensors);
            walks[sensor] += random.next() as i64 % 11 - 5;
            let time_ns = 1_700_000_000_000_000_000 + (tick * 10_000_000) as i64;
            // Large rounds come in portions of 1,000, each with its time.
            let time_ns = time_ns + (sensor / 1_000 * 10_000) as i64;
            let value = walks[sensor] as f64 / 1000.0;
            let (time_ns, bits) = match kind {
                "noise" => (time_ns + (random.next() % 100_000) as i64, (value.sqrt()).to_bits()),
                "counters" => (time_ns, (tick * (1 + sensor % 9)) as u64),
                _ => (time_ns, value.to_bits()),
            };
            (1 + sensor as u32, time_ns, bits)
        })
        .collect();
    if kind == "shuffled" {
        for chunk in samples.chunks_mut(10 * sensors.min(4_000)) {
            for at in (1..chunk.len()).rev() {
                chunk.swap(at, random.next() as usize % (at + 1));
            }
        }
    }
    samples
}

fn main() {
    println!(
        "{:9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "input", "sensors", "B/sample", "both", "encode", "decode"
    );
    for (kind, sensors) in [
        ("ticks", 1),
        ("ticks", 1_000),
        ("ticks", 100_000),
        ("ticks", 1_000_000),
        ("shuffled", 1_000),
        ("shuffled", 100_000),
        ("counters", 1_000),
        ("noise", 1_000),
    ] {
        let mut stage = SampleStage::new(1 << 20);
        let count = stage.samples_max();
        let input = samples(kind, count, sensors);
        let mut bytes = vec![0; 1 << 20];
        let fill = |stage: &mut SampleStage, input: &[(u32, i64, u64)]| {
            stage.clear();
            let (series, times, bits) = stage.add(count).expect("room");
            for (at, sample) in input.iter().enumerate() {
                (series[at], times[at], bits[at]) = *sample;
            }
        };
        fill(&mut stage, &input);
        let mut length = 0;
        let both = seconds(|| length = stage.encode(black_box(&mut bytes)).expect("fits").bytes);
        let mut sorted = input.clone();
        sorted.sort_by_key(|(series, time, _)| (*series, *time));
        fill(&mut stage, &sorted);
        let encode = seconds(|| length = stage.encode(black_box(&mut bytes)).expect("fits").bytes);
        let section = Section::decode(&bytes[..length]).expect("valid");
        let mut columns = SampleColumns::default();
        let decode = seconds(|| {
            for at in 0..section.strips() {
                section.decode_strip(at, black_box(&mut columns)).expect("valid");
            }
        });
        let ns = |seconds: f64| format!("{:.2} ns", seconds * 1e9 / count as f64);
        let bytes = length as f64 / count as f64;
        let (both, encode, decode) = (ns(both), ns(encode), ns(decode));
        println!("{kind:9} {sensors:>9} {bytes:>9.3} {both:>9} {encode:>9} {decode:>9}");
    }
}
