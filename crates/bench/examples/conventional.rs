//! Measures the conventional methods in turns, under a load, and draws them.
//!
//! `conventional DIR none|buffered|truncate|churn SECONDS > picture.svg`; the table goes to
//! stderr. Run it under `media` for a slow disk.

use baro_bench::BenchError;
use baro_bench::load::{AllocateTruncate, BufferedWriters, JournalChurn, Load, LoadSpec};
use baro_bench::methods::{Method, Spec};
use baro_bench::plot::{Plot, Series};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const SLICE_NS: u64 = 2_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, dir, load, seconds] = arguments.as_slice() else {
        return Err("usage: conventional DIR none|buffered|truncate|churn SECONDS".into());
    };
    let load_spec = match load.as_str() {
        "none" => None,
        "buffered" => Some(LoadSpec::BufferedWriters(BufferedWriters::default())),
        "truncate" => Some(LoadSpec::AllocateTruncate(AllocateTruncate::default())),
        "churn" => Some(LoadSpec::JournalChurn(JournalChurn::default())),
        _ => return Err("unknown load".into()),
    };
    let seconds: u64 = seconds.parse()?;
    let dir = Path::new(dir);
    let stop = AtomicBool::new(false);
    let mut methods = [
        ("append, fdatasync", Method::new(dir, "conventional", Spec::conventional())?),
        ("preallocate, sync_file_range", Method::new(dir, "paper", Spec::paper())?),
    ];
    let load = load_spec.map(|spec| Load::start(spec, dir)).transpose()?;
    for slice in 0..(seconds * 1_000_000_000).div_ceil(SLICE_NS) {
        methods[slice as usize % 2].1.run_slice(SLICE_NS, &stop)?;
    }
    let load_report = load.map(Load::stop);
    let reports = methods
        .into_iter()
        .map(|(name, method)| Ok((name, method.finish()?)))
        .collect::<Result<Vec<_>, BenchError>>()?;
    let series: Vec<_> = reports
        .iter()
        .map(|(name, report)| Series {
            name,
            latency_ns: &report.latency_ns,
            latency_ns_max: report.latency_ns_max,
        })
        .collect();
    let subtitle = format!("16 KiB each 5 ms; load: {}", arguments[2]);
    let plot = Plot {
        title: "Time that write() takes in the producer's thread",
        subtitle: &subtitle,
        period_ns: Some(5_000_000),
        series: &series,
    };
    print!("{}", plot.svg());
    eprintln!("{}", plot.text());
    for (name, report) in &reports {
        eprintln!(
            "{name}: lost periods {}, flushes {} (longest {} ns), {:?}",
            report.lost_periods,
            report.flush.latency_ns.len(),
            report.flush.latency_ns.max(),
            report.usage
        );
    }
    eprintln!("load: {load_report:?}");
    Ok(())
}
