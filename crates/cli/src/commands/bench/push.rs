//! `baro bench push`: see `baro_bench::push`.

use crate::commands::queue::ShortQueue;
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_bench::push::{PushReport, PushSpec, run as measure};
use baro_bench::verb::load;
use baro_bench::verb::new_store::in_new_store;
use baro_ondisk::WhenFull;
use baro_recorder::Options;
use baro_sys::disk::Disk;
use baro_sys::{clock, termination};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro bench push --dir /data")]
pub(crate) struct Arguments {
    /// Folder to measure
    ///
    /// A store is made in it and removed.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Payload of a record
    #[arg(long, default_value = "256", value_parser = size::bytes, value_name = "SIZE")]
    record_bytes: u64,
    /// Records whose push is timed
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    records: u64,
    /// Time from one record to the next; from 1ms on the producer sleeps, below it spins.
    /// Without it: 2us for 256 bytes or less, 200us for larger records
    #[arg(long, value_parser = size::nanoseconds, hide_short_help = true)]
    interval: Option<u64>,
    /// Bytes per second instead of an interval: with 16 KiB records 200MB is one each 82 us
    #[arg(long, value_parser = size::bytes, conflicts_with = "interval", hide_short_help = true)]
    rate: Option<u64>,
    /// Push for this time instead of a number of records
    #[arg(long = "for", value_parser = size::nanoseconds, conflicts_with = "records", value_name = "TIME")]
    duration: Option<u64>,
    /// Afterwards push for this time as fast as there is room; 0s leaves it out
    #[arg(long, default_value = "2s", value_parser = size::nanoseconds, hide_short_help = true)]
    greedy: u64,
    /// Size of the ring
    #[arg(long, default_value = "64M", value_parser = size::bytes, value_name = "SIZE")]
    ring: u64,
    /// Size of the log, recycled
    #[arg(long, default_value = "1G", value_parser = size::bytes, hide_short_help = true)]
    log: u64,
    /// Bound on the time from push to durable
    #[arg(long, default_value = "100ms", value_parser = size::nanoseconds, hide_short_help = true)]
    durable_within: u64,
    /// Loads beside it, as of `baro-lab load`
    #[arg(long, value_enum, value_delimiter = ',')]
    load: Vec<load::Kind>,
    /// Folder that the load writes to; the same file system without it
    #[arg(long, hide_short_help = true)]
    load_dir: Option<PathBuf>,
    /// Bytes per second of the buffered writers together
    #[arg(long, value_parser = size::bytes, hide_short_help = true)]
    load_rate: Option<u64>,
    /// Write through the page cache
    #[arg(long, hide_short_help = true)]
    buffered: bool,
    /// Processor of the producer
    #[arg(long, hide_short_help = true)]
    cpu: Option<usize>,
    /// Processor of the writer
    #[arg(long, hide_short_help = true)]
    writer_cpu: Option<usize>,
    /// SCHED_FIFO priority of producer and writer
    #[arg(long, hide_short_help = true)]
    fifo: Option<u8>,
    /// Compare with a memcpy into huge pages, as the ring has, and not into ordinary ones
    #[arg(long, hide_short_help = true)]
    huge_yardstick: bool,
    /// Make the queue of the store's device short while measuring
    #[arg(long, hide_short_help = true)]
    short_queue: bool,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// A load beside the measurement, in a process of its own; ended and waited for on drop.
pub(crate) struct Beside(Option<Child>);

impl Beside {
    pub(crate) fn start(kinds: &[load::Kind], dir: &Path, rate: Option<u64>) -> Result<Self> {
        use clap::ValueEnum;
        if kinds.is_empty() {
            return Ok(Beside(None));
        }
        let names: Vec<String> = kinds
            .iter()
            .filter_map(|kind| Some(kind.to_possible_value()?.get_name().to_owned()))
            .collect();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "load", "--kind", &names.join(",")]).arg(dir);
        if let Some(rate) = rate {
            command.args(["--rate", &rate.to_string()]);
        }
        let child = command.spawn()?;
        // It has to have filled something before it is a load.
        clock::sleep_ns(1_000_000_000);
        Ok(Beside(Some(child)))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = termination::send(child.id(), 15);
            let _ = child.wait();
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let report = in_new_store(&arguments.dir, arguments.log, WhenFull::Recycle, |folder| {
        let mut queue = ShortQueue::below(&arguments.dir, arguments.short_queue);
        // Before the load: a queue has to run dry before it can be made shorter.
        queue.look();
        let load_dir = arguments.load_dir.as_deref().unwrap_or(&arguments.dir);
        let _beside = Beside::start(&arguments.load, load_dir, arguments.load_rate)?;
        run_in(arguments, folder, &mut queue)
    })?;
    match arguments.format {
        Format::Text => print_text(arguments, &report),
        Format::Json => print_json(&as_json(arguments, &report))?,
    }
    Ok(Outcome::lost_if(report.lost > 0))
}

fn run_in(arguments: &Arguments, folder: &Path, queue: &mut ShortQueue) -> Result<PushReport> {
    let sizes = |folder: &Path| -> Result<Vec<u64>> {
        use baro_sys::storage::{Access, Storage, StorageFile};
        let disk = Disk::open(folder)?;
        disk.list("log")?
            .iter()
            .map(|name| Ok(disk.open(&format!("log/{name}"), Access::Read)?.size_bytes()?))
            .collect()
    };
    let before = sizes(folder)?;
    let stop = AtomicBool::new(false);
    let done = AtomicBool::new(false);
    let options = Options {
        durable_within_ns: arguments.durable_within,
        ring_bytes: arguments.ring as usize,
        record_bytes_max: (arguments.record_bytes as usize).max(256 << 10),
        buffered: arguments.buffered,
        cpu: arguments.writer_cpu,
        fifo: arguments.fifo,
        ..Options::default()
    };
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if termination::requested().is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
                queue.look();
                clock::sleep_ns(100_000_000);
            }
        });
        let report = measure(folder, spec(arguments), options, true, &stop);
        done.store(true, Ordering::Relaxed);
        report
    });
    let mut report = report?;
    if let Some(kernel) = &mut report.kernel {
        let after = sizes(folder)?;
        kernel.size_changes += before.iter().zip(&after).filter(|(a, b)| a != b).count() as u64;
    }
    Ok(report)
}

fn spec(arguments: &Arguments) -> PushSpec {
    let small = arguments.record_bytes <= 256;
    let interval_ns = match (arguments.interval, arguments.rate) {
        (Some(interval), _) => interval,
        (None, Some(rate)) => arguments.record_bytes * 1_000_000_000 / rate.max(1),
        (None, None) if small => 2_000,
        (None, None) => 200_000,
    };
    let records = match arguments.duration {
        Some(duration) => duration / interval_ns.max(1),
        None => arguments.records,
    };
    PushSpec {
        record_bytes: arguments.record_bytes as usize,
        records,
        interval_ns,
        greedy_ns: arguments.greedy,
        cpu: arguments.cpu,
        fifo: arguments.fifo,
        huge_yardstick: arguments.huge_yardstick,
        alone: false,
    }
}

fn as_json(arguments: &Arguments, report: &PushReport) -> serde_json::Value {
    let at = |histogram: &baro_bench::Histogram, quantile| histogram.value_at_quantile(quantile);
    let status = &report.status;
    let kernel = report.kernel.as_ref().filter(|kernel| kernel.lost_events == 0);
    let memory = json!({
        "peak_resident_bytes": report.memory.peak_bytes,
        "private_bytes": report.memory.private_bytes,
        "file_bytes": report.memory.file_bytes,
        "yardstick_bytes": report.yardstick_bytes,
    });
    json!({
        "record_bytes": arguments.record_bytes,
        "records": report.records,
        "push_p50_ns": at(&report.push_ns, 0.5),
        "push_p99_ns": at(&report.push_ns, 0.99),
        "push_p9999_ns": at(&report.push_ns, 0.9999),
        "push_max_ns": report.push_max_ns,
        "memcpy_p50_ns": at(&report.memcpy_ns, 0.5),
        "memcpy_p99_ns": at(&report.memcpy_ns, 0.99),
        "memcpy_p9999_ns": at(&report.memcpy_ns, 0.9999),
        "memcpy_max_ns": report.memcpy_max_ns,
        "syscalls": report.syscalls,
        "allocations": report.allocations,
        "page_faults": report.page_faults,
        "voluntary_switches": report.voluntary_switches,
        "lost": report.lost,
        "records_per_s": report.records_per_s,
        "durable_records_per_s": report.durable_records_per_s,
        "forced_commits": kernel.map(|kernel| kernel.forced_commits),
        "journal_commits": kernel.map(|kernel| kernel.commits),
        "block_allocations": kernel.map(|kernel| kernel.block_allocations),
        "size_changes": kernel.map(|kernel| kernel.size_changes),
        "writer_journal_handles": kernel.map(|kernel| kernel.handles),
        "node_blocks": kernel.and_then(|kernel| kernel.node_blocks),
        "kernel_counts_missing": report.kernel_reason,
        "kernel_events_lost": report.kernel.as_ref().map(|kernel| kernel.lost_events),
        "paced_ns": report.paced_ns,
        "durable_advances": report.durable_advances,
        "ring_bytes": arguments.ring,
        "ring_used_bytes_max": report.ring_used_bytes_max,
        "memory_bytes": report.memory_bytes,
        "process_memory": memory,
        "durable_within_ns": arguments.durable_within,
        "longest_durable_ns": status.longest_durable_ns,
        "longest_write_ns": status.longest_write_ns,
        "longest_sync_ns": status.longest_sync_ns,
        "syncs": status.syncs,
        "device_bytes": status.device_bytes,
        "payload_bytes": status.payload_bytes,
        "padding_bytes": status.padding_bytes,
        "reservations": report.reservations,
    })
}

fn print_text(arguments: &Arguments, report: &PushReport) {
    let line = |name: &str, histogram: &baro_bench::Histogram, max_ns| {
        let at = |quantile| size::show_ns(histogram.value_at_quantile(quantile));
        out!(
            "{name:8} {:>10} {:>10} {:>10} {:>10}",
            at(0.5),
            at(0.99),
            at(0.9999),
            size::show_ns(max_ns)
        );
    };
    out!("{} records of {} bytes", report.records, arguments.record_bytes);
    out!("{:8} {:>10} {:>10} {:>10} {:>10}", "", "p50", "p99", "p99.99", "max");
    line("push", &report.push_ns, report.push_max_ns);
    line("memcpy", &report.memcpy_ns, report.memcpy_max_ns);
    let known = |count: Option<u64>| count.map_or("unknown".to_owned(), |count| count.to_string());
    out!(
        "inside push: {} system calls, {} allocations, {} page faults, {} voluntary switches",
        known(report.syscalls),
        known(report.allocations),
        report.page_faults,
        report.voluntary_switches
    );
    out!("lost: {}; the durable position moved {} times", report.lost, report.durable_advances);
    if let (Some(pushed), Some(durable)) = (report.records_per_s, report.durable_records_per_s) {
        out!("greedy: {pushed:.0} records/s pushed, {durable:.0} records/s durable");
    }
    match &report.kernel {
        Some(kernel) => out!(
            "kernel: {} commits forced by {} syncs ({} commits in all), {} block allocations, {} \
             size changes{}",
            kernel.forced_commits,
            kernel.syncs,
            kernel.commits,
            kernel.block_allocations,
            kernel.size_changes,
            kernel.node_blocks.map_or(String::new(), |blocks| format!(", {blocks} node blocks"))
        ),
        None => {
            out!("kernel: not counted: {}", report.kernel_reason.as_deref().unwrap_or("unknown"))
        }
    }
    out!(
        "writer: longest write {}, longest sync {}, longest from push to durable {}",
        size::show_ns(report.status.longest_write_ns),
        size::show_ns(report.status.longest_sync_ns),
        size::show_ns(report.status.longest_durable_ns)
    );
    for said in &report.reservations {
        out!("note: {said}");
    }
}
