//! What the sources cost on this machine: one reading of each file of /proc and of all together,
//! and how fast frames are generated and checked and lines of CSV and line protocol are read.
//!
//! `cargo run --release -p baro-sources --example source_costs`. The table of files is
//! what the default divisors of `ProcSelection` were chosen from; run it on your machine before
//! you change them.

use std::path::Path;

use baro_sources::csv::CsvParser;
use baro_sources::generate::{RandomWalk, check_frame, fill_frame};
use baro_sources::influx::InfluxParser;
use baro_sources::proc::{ProcSampler, ProcSelection, ProcSource};
use baro_sys::clock::monotonic_ns;

const READINGS: usize = 5_000;

fn main() {
    println!("{:16} {:>7} {:>6} {:>9} {:>9}", "file", "bytes", "series", "p50_us", "p99_us");
    for source in ProcSource::ALL {
        measure(source.path(), &ProcSelection::none().with(source, 1));
    }
    let all = ProcSource::ALL.iter().fold(ProcSelection::none(), |all, one| all.with(*one, 1));
    measure("all", &all);
    measure("default", &ProcSelection::default());
    println!();
    rates();
}

/// Bytes per second of the pure sources, over pieces as they come from a pipe.
fn rates() {
    let mut frame = vec![0; 16 << 10];
    rate("fill 16 KiB frames", 20_000, frame.len(), |round| {
        fill_frame(1, round, std::hint::black_box(&mut frame)).is_ok()
    });
    rate("check 16 KiB frames", 20_000, frame.len(), |_| {
        check_frame(std::hint::black_box(&frame)).is_ok()
    });
    let mut walk = RandomWalk::new(1, 1);
    rate("random walk, f64", 10_000_000, 8, |_| std::hint::black_box(walk.next()).is_some());
    let text: String = RandomWalk::new(1, 2)
        .take(1000)
        .enumerate()
        .map(|(i, value)| {
            format!("{},\"t{{room=\"\"{i}\"\"}}\",{value}\n", 1_795_295_604_000_000_000 + i)
        })
        .collect();
    let mut parser = CsvParser::new();
    rate("csv, lines of about 45 bytes", 1_000, text.len(), |_| {
        let mut samples = 0;
        parser.feed(text.as_bytes(), |item| samples += usize::from(item.is_ok()));
        samples == 1000
    });
    let text: String = RandomWalk::new(1, 2)
        .take(1000)
        .enumerate()
        .map(|(i, value)| {
            let time_ns = 1_795_295_604_000_000_000 + i;
            format!("air,site=a,room={i} temp={value},humidity=55.5,n=3i {time_ns}\n")
        })
        .collect();
    let mut parser = InfluxParser::new(1);
    rate("influx, lines of 3 fields", 1_000, text.len(), |_| {
        let mut samples = 0;
        parser.feed(text.as_bytes(), |item| samples += usize::from(item.is_ok()));
        samples == 3000
    });
}

fn rate(name: &str, rounds: u64, round_bytes: usize, mut round: impl FnMut(u64) -> bool) {
    let start = monotonic_ns();
    let good = (0..rounds).filter(|index| round(*index)).count();
    let gigabytes = rounds as f64 * round_bytes as f64 / 1e9;
    println!(
        "{name:30} {:8.2} GB/s, {good} rounds",
        gigabytes * 1e9 / (monotonic_ns() - start) as f64
    );
}

fn measure(name: &str, selection: &ProcSelection) {
    let mut sampler = match ProcSampler::open(Path::new("/proc"), selection) {
        Ok(sampler) => sampler,
        Err(error) => {
            println!("{name:16} {error}");
            return;
        }
    };
    let mut values = Vec::with_capacity(sampler.series().len());
    let mut took_ns: Vec<u64> = (0..READINGS)
        .map(|_| {
            values.clear();
            let start = monotonic_ns();
            sampler.sample(&mut values);
            monotonic_ns() - start
        })
        .collect();
    took_ns.sort_unstable();
    let bytes: usize = sampler.reports().map(|report| report.text_bytes).sum();
    let growths: u64 = sampler.reports().map(|report| report.buffer_growths).sum();
    let mean_us = took_ns.iter().sum::<u64>() as f64 / READINGS as f64 / 1e3;
    println!(
        "{name:16} {bytes:7} {:6} {:9.1} {:9.1}  mean {mean_us:.1} us, growths {growths}",
        sampler.series().len(),
        took_ns[READINGS / 2] as f64 / 1e3,
        took_ns[READINGS * 99 / 100] as f64 / 1e3,
    );
}
