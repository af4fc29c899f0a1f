//! This machine as the source of `baro blk`: over an interval, or around a command.

use super::Arguments;
use super::report::{Application, Report};
use crate::commands::Format;
use crate::failure::{NotStarted, Result};
use baro_sys::block_device::{BlockDevice, DiskStatistics};
use baro_sys::task_io::{self, TaskIo};
use baro_sys::{clock, footprint, termination};
use baro_trace::collect::{BlockWatch, CollectError};
use baro_trace::record::Device;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// At 300,000 events a second and 80 bytes each, 4 MiB hold 170 ms.
const DRAIN_EVERY_NS: u64 = 20_000_000;
const NAME: &str = "baro-blk";

pub(super) fn watch(arguments: &Arguments) -> Result<Report> {
    termination::watch()?;
    let chosen = chosen(&arguments.device)?;
    let mounts = if arguments.sync { mounts(&chosen)? } else { Vec::new() };
    sync(&mounts)?;
    let disks = if chosen.is_empty() { BlockDevice::all()? } else { chosen.clone() };
    let numbers: Vec<Device> = chosen.iter().map(device).collect();
    let mut watch = BlockWatch::start(NAME, &numbers, (arguments.buffer >> 10).max(8))?;
    let before = statistics(&disks);
    let begin_ns = clock::monotonic_ns();
    let (application, command) = if arguments.command.is_empty() {
        (during(arguments, begin_ns, &mut watch)?, None)
    } else {
        let (application, status) = around(arguments, &mut watch)?;
        (Some(application), Some(status))
    };
    beside(&mut watch, || sync(&mounts))?;
    let interval_ns = clock::monotonic_ns().saturating_sub(begin_ns);
    let after = statistics(&disks);
    let watched = watch.finish()?;

    let mut report = Report::new("live", watched.sums, interval_ns);
    report.names = disks.iter().map(|disk| (device(disk), disk.name.clone())).collect();
    report.application = application;
    report.command = command;
    let lost = watched.losses.iter().map(|cpu| cpu.total()).sum();
    report.lose(lost, "give --buffer more");
    if watched.damaged > 0 {
        report.miss(format!("{} events could not be read", watched.damaged));
    }
    for disk in &chosen {
        if let Some(partition) = &disk.partition {
            report
                .notes
                .push(format!("{partition} is on {}, whose requests are all counted", disk.name));
        }
        if !after.contains_key(&device(disk)) {
            report.miss(format!("{} has gone meanwhile", disk.name));
        }
    }
    if command.is_some() && !arguments.sync {
        let what = "what the command has left in the page cache is not written yet, and not in Kwa: \
                    --device DISK --sync counts it";
        report.notes.push(what.to_owned());
    }
    let traffic = report.accounting.by_device();
    for (device, after) in after.into_iter().filter(|(device, _)| traffic.contains_key(device)) {
        if let Some(before) = before.get(&device) {
            report.statistics.insert(device, difference(&after, before));
        }
    }
    Ok(report)
}

fn device(disk: &BlockDevice) -> Device {
    Device::new(disk.number.0, disk.number.1)
}

fn chosen(names: &[PathBuf]) -> Result<Vec<BlockDevice>> {
    let mut disks = Vec::new();
    for name in names {
        let disk = BlockDevice::find(name)?;
        if !disk.has_requests {
            let below = match &disk.below[..] {
                [] => "it lies in memory, or its driver takes pieces as they come".to_owned(),
                below => format!("watch what it is made of: --device {}", below.join(" --device ")),
            };
            return Err(format!("{} has no requests of its own; {below}", disk.name).into());
        }
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    Ok(disks)
}

fn mounts(disks: &[BlockDevice]) -> Result<Vec<PathBuf>> {
    let mut mounts = Vec::new();
    for disk in disks {
        mounts.extend(disk.mounts()?);
    }
    if mounts.is_empty() {
        let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
        return Err(format!(
            "--sync: expected a file system that is mounted from {}, found none in \
             /proc/self/mountinfo; leave it out and call sync yourself",
            names.join(", ")
        )
        .into());
    }
    Ok(mounts)
}

fn sync(mounts: &[PathBuf]) -> baro_sys::Result<()> {
    mounts.iter().try_for_each(|mount| footprint::sync_file_system(mount))
}

fn statistics(disks: &[BlockDevice]) -> BTreeMap<Device, DiskStatistics> {
    // A disk that is gone has none.
    disks.iter().filter_map(|disk| Some((device(disk), disk.statistics().ok()?))).collect()
}

fn difference(after: &DiskStatistics, before: &DiskStatistics) -> DiskStatistics {
    let less = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
    DiskStatistics {
        read_requests: after.read_requests.saturating_sub(before.read_requests),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        written_requests: after.written_requests.saturating_sub(before.written_requests),
        written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
        discarded_bytes: less(after.discarded_bytes, before.discarded_bytes),
        flushes: less(after.flushes, before.flushes),
    }
}

/// Watches while `work`, which may block for long, is done by another thread.
fn beside<T: Send, E>(
    watch: &mut BlockWatch,
    work: impl FnOnce() -> std::result::Result<T, E> + Send,
) -> Result<T>
where
    E: Send + Into<crate::failure::Failure>,
{
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = work();
            done.store(true, Relaxed);
            result
        });
        let mut drained: std::result::Result<u64, CollectError> = Ok(0);
        while !done.load(Relaxed) && !worker.is_finished() {
            drained = drained.and_then(|_| watch.drain());
            clock::sleep_ns(DRAIN_EVERY_NS);
        }
        let result = worker.join().map_err(|_| "a thread has panicked")?;
        drained?;
        result.map_err(Into::into)
    })
}

/// Until the time is over or somebody asks to end.
fn during(
    arguments: &Arguments,
    begin_ns: u64,
    watch: &mut BlockWatch,
) -> Result<Option<Application>> {
    let of = |pid: &u32| Ok((*pid, TaskIo::of(*pid)?));
    let before: Vec<(u32, TaskIo)> = arguments.pid.iter().map(of).collect::<Result<_>>()?;
    let mut last = before.clone();
    let is_over = || {
        let passed_ns = clock::monotonic_ns().saturating_sub(begin_ns);
        termination::requested().is_some()
            || arguments.duration_ns.is_some_and(|ns| passed_ns >= ns)
    };
    while !is_over() {
        watch.drain()?;
        clock::sleep_ns(DRAIN_EVERY_NS);
        for (pid, io) in &mut last {
            // Of one that has ended the last account stays.
            *io = TaskIo::of(*pid).unwrap_or(*io);
        }
    }
    if before.is_empty() {
        return Ok(None);
    }
    let sum =
        |all: &[(u32, TaskIo)], of: fn(&TaskIo) -> u64| all.iter().map(|(_, io)| of(io)).sum();
    let over = |of: fn(&TaskIo) -> u64| {
        let (after, before): (u64, u64) = (sum(&last, of), sum(&before, of));
        after.saturating_sub(before)
    };
    let pids: Vec<String> = arguments.pid.iter().map(u32::to_string).collect();
    Ok(Some(Application {
        bytes: over(|io| io.write_call_bytes),
        dirtied_bytes: Some(over(|io| io.dirtied_bytes)),
        source: format!("wchar of process {}", pids.join(", ")),
    }))
}

/// Until the command has ended.
fn around(arguments: &Arguments, watch: &mut BlockWatch) -> Result<(Application, ExitStatus)> {
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err("expected a command behind --, found none".into());
    };
    let mut command = Command::new(program);
    command.args(rest);
    if arguments.format == Format::Json {
        // What is on stdout is one JSON document.
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let mut child = command.spawn().map_err(|error| NotStarted::new(program, error))?;
    let watched = until_it_ends(&child, watch);
    // Before somebody waits for it the kernel still has its account.
    let io = TaskIo::of(child.id());
    let status = child.wait()?;
    watched?;
    let io = io?;
    let application = Application {
        bytes: io.write_call_bytes,
        dirtied_bytes: Some(io.dirtied_bytes),
        source: "wchar of the command and all it waited for".to_owned(),
    };
    Ok((application, status))
}

fn until_it_ends(child: &Child, watch: &mut BlockWatch) -> Result<()> {
    let mut passed_on = false;
    while !task_io::has_ended(child.id())? {
        if let Some(signal) = termination::requested().filter(|_| !passed_on) {
            // One that comes from the terminal has reached it already; a second does no harm, as
            // the program is ending.
            passed_on = true;
            let _ = termination::send(child.id(), signal);
        }
        watch.drain()?;
        clock::sleep_ns(DRAIN_EVERY_NS);
    }
    Ok(())
}
