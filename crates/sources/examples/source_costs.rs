//! What one reading of each file of /proc costs on this machine, by file, and all together.
//!
//! `cargo run --release -p baro-sources --example source_costs`. The table is what the default
//! divisors of `ProcSelection` were chosen from; run it on your machine before you change them.
#![allow(clippy::disallowed_methods, reason = "a measurement needs a clock")]

use std::path::Path;
use std::time::Instant;

use baro_sources::proc::{ProcSampler, ProcSelection, ProcSource};

const READINGS: usize = 5_000;

fn main() {
    println!("{:16} {:>7} {:>6} {:>9} {:>9}", "file", "bytes", "series", "p50_us", "p99_us");
    for source in ProcSource::ALL {
        measure(source.path(), &ProcSelection::none().with(source, 1));
    }
    let all = ProcSource::ALL.iter().fold(ProcSelection::none(), |all, one| all.with(*one, 1));
    measure("all", &all);
    measure("default", &ProcSelection::default());
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
    let mut took_ns: Vec<u128> = (0..READINGS)
        .map(|_| {
            values.clear();
            let start = Instant::now();
            sampler.sample(&mut values);
            start.elapsed().as_nanos()
        })
        .collect();
    took_ns.sort_unstable();
    let bytes: usize = sampler.reports().map(|report| report.text_bytes).sum();
    let growths: u64 = sampler.reports().map(|report| report.buffer_growths).sum();
    let mean_us = took_ns.iter().sum::<u128>() as f64 / READINGS as f64 / 1e3;
    println!(
        "{name:16} {bytes:7} {:6} {:9.1} {:9.1}  mean {mean_us:.1} us, growths {growths}",
        sampler.series().len(),
        took_ns[READINGS / 2] as f64 / 1e3,
        took_ns[READINGS * 99 / 100] as f64 / 1e3,
    );
}
