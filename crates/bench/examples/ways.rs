//! Measures each way to write, one after another, with the machine's noise beside it.
//!
//! `ways DIR none|buffered|truncate|churn SECONDS [KEY...]`: a row each for the conventional
//! methods and for the ways with these keys (all without any). Ways that cannot be had say why.

use baro_bench::load::{AllocateTruncate, BufferedWriters, JournalChurn, Load, LoadSpec};
use baro_bench::methods::{Method, Spec};
use baro_bench::noise::{Noise, NoiseReport};
use baro_bench::ways::{Way, WayKind, WaySpec};
use baro_bench::{BenchError, Histogram};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, dir, load, seconds, keys @ ..] = arguments.as_slice() else {
        return Err("usage: ways DIR none|buffered|truncate|churn SECONDS [KEY...]".into());
    };
    let load_spec = match load.as_str() {
        "none" => None,
        "buffered" => Some(LoadSpec::BufferedWriters(BufferedWriters::default())),
        "truncate" => Some(LoadSpec::AllocateTruncate(AllocateTruncate::default())),
        "churn" => Some(LoadSpec::JournalChurn(JournalChurn::default())),
        _ => return Err("unknown load".into()),
    };
    let (dir, duration_ns) = (Path::new(dir), seconds.parse::<u64>()? * 1_000_000_000);
    let asked = |kind: &WayKind| keys.is_empty() || keys.iter().any(|key| key == kind.key());
    println!(
        "{:<24}{:>8}{:>9}{:>9}{:>8}{:>6}{:>7}{:>6}   noise: {:>8}{:>9}",
        "us", "p50", "p99.9", "max", "blocks", "lost", "failed", "waits", "p99.9", "max"
    );
    let stop = AtomicBool::new(false);
    let load = load_spec.map(|spec| Load::start(spec, dir)).transpose()?;
    for (name, spec) in [("write, NONE", Spec::conventional()), ("write, WPRE", Spec::paper())] {
        let mut method = Method::new(dir, "method", Spec { file_bytes: 100_000_000, ..spec })?;
        let noise = Noise::start(spec.period_ns)?;
        method.run_slice(duration_ns, &stop)?;
        let (noise, report) = (noise.stop()?, method.finish()?);
        let counts = [report.lost_periods, report.failed_writes, 0];
        row(name, &report.latency_ns, report.latency_ns_max, counts, &noise);
    }
    for kind in WayKind::ALL.into_iter().filter(asked) {
        let mut way = match Way::new(kind, dir, "way", WaySpec::default()) {
            Err(BenchError::Refused(why)) => {
                println!("{why}");
                continue;
            }
            way => way?,
        };
        let noise = Noise::start(WaySpec::default().period_ns)?;
        way.run_slice(duration_ns, &stop)?;
        let (noise, report) = (noise.stop()?, way.finish()?);
        let counts = [report.lost_periods, report.failed_writes, report.waits];
        row(kind.name(), &report.latency_ns, report.latency_ns_max, counts, &noise);
    }
    drop(load);
    Ok(())
}

fn row(
    name: &str,
    latency_ns: &Histogram,
    max_ns: u64,
    [lost, failed, waits]: [u64; 3],
    noise: &NoiseReport,
) {
    let us = |ns: u64| ns as f64 / 1e3;
    let (p50, p999) = (latency_ns.value_at_quantile(0.5), latency_ns.value_at_quantile(0.999));
    print!("{name:<24}{:>8.1}{:>9.1}{:>9.1}", us(p50), us(p999), us(max_ns));
    print!("{:>8}{lost:>6}{failed:>7}{waits:>6}", latency_ns.len());
    let late = noise.late_ns.value_at_quantile(0.999);
    println!("          {:>8.1}{:>9.1}", us(late), us(noise.late_ns_max));
}
