//! Recordings as the source of `baro blk`.

use super::report::Report;
use crate::failure::Result;
use baro_sys::files;
use baro_trace::blk::{Accounting, BlockEvent, blkparse as text, blktrace as binary};
use baro_trace::file::{Ending, Item, TraceFile};
use baro_trace::record::Device;
use baro_trace::schema::{RqComplete, RqIssue, Schemas};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Of each file of blktrace: there can be as many as processors.
const READ_BYTES: usize = 64 << 10;

/// A trace of Barograph, recorded with the events of requests.
pub(super) fn trace(path: &Path) -> Result<Report> {
    let mut trace = TraceFile::open(BufReader::new(files::open(path)?))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let set = trace.events().clone();
    for event in [RqIssue::EVENT, RqComplete::EVENT] {
        if set.find(RqIssue::SYSTEM, event).is_none() {
            return Err(format!(
                "{}: expected events {} in it, found none; record them with it",
                path.display(),
                event
            )
            .into());
        }
    }
    let schemas = Schemas::resolve(&set)?;
    let names = trace.devices().iter().map(|(device, name)| (*device, name.to_string())).collect();
    let told: u64 = trace.losses().iter().map(|cpu| cpu.total()).sum();
    let ending = match trace.ending() {
        Ending::Finished => None,
        Ending::BrokenOff => Some("was not finished: what was lost is not known".to_owned()),
        Ending::Torn(error) => Some(format!("breaks off: {error}")),
    };
    let (mut accounting, mut lost, mut damaged) = (Accounting::default(), 0_u64, None);
    let mut merged = trace.merge()?;
    while let Some(item) = merged.next()? {
        match item {
            Item::Event { time_ns, id, payload, .. } => {
                let decoded =
                    schemas.decode(id, payload).and_then(|event| Ok((event, set.pid(payload)?)));
                match decoded {
                    Ok((event, pid)) => {
                        let event = event.and_then(|e| BlockEvent::from_kernel(time_ns, pid, &e));
                        event.iter().for_each(|event| accounting.take(event));
                    }
                    Err(error) => damaged = damaged.or_else(|| Some(error.to_string())),
                }
            }
            Item::Lost { events, .. } => lost = lost.saturating_add(events.unwrap_or(1)),
            Item::Damaged { error, .. } => damaged = damaged.or_else(|| Some(error.to_string())),
        }
    }
    let interval_ns = accounting.span_ns();
    let mut report = Report::new("trace", accounting, interval_ns);
    report.names = names;
    report.lose(told.max(lost), "record with larger buffers");
    let problems = ending.into_iter().chain(damaged.map(|error| format!("is damaged: {error}")));
    problems.for_each(|problem| report.miss(format!("{} {problem}", path.display())));
    Ok(report)
}

/// The files of blktrace, of one disk or several.
pub(super) fn blktrace(paths: &[PathBuf]) -> Result<Report> {
    if paths.len() > binary::FILES_MAX {
        let (found, max) = (paths.len(), binary::FILES_MAX);
        return Err(format!("--blktrace: expected at most {max} files, found {found}").into());
    }
    let open = |path: &PathBuf| Ok(files::open(path)?);
    let opened = paths.iter().map(open).collect::<Result<Vec<_>>>()?;
    each_once(paths, &opened)?;
    let reader = |file| BufReader::with_capacity(READ_BYTES, file);
    let inputs: Vec<_> = opened.into_iter().map(reader).collect();
    let mut merged = binary::Merged::new(inputs);
    let mut accounting = Accounting::default();
    merged.by_ref().for_each(|event| accounting.take(&event));
    let counts = merged.counts();
    if counts.records == 0
        && let Some((file, error)) = merged.damage().first()
    {
        return Err(format!("{}: {error}", paths[*file].display()).into());
    }
    let interval_ns = accounting.span_ns();
    let mut report = Report::new("blktrace", accounting, interval_ns);
    report.lose(counts.lost_records, "record with larger buffers (blktrace -b, -n)");
    for (file, error) in merged.damage() {
        report.miss(format!("{}: {error}; the rest of it is missing", paths[*file].display()));
    }
    name_devices(&mut report, paths);
    Ok(report)
}

/// The same file twice would count twice, by whatever names.
fn each_once(paths: &[PathBuf], opened: &[std::fs::File]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for (path, file) in paths.iter().zip(opened) {
        let found = file.metadata()?;
        if let Some(first) = seen.insert((found.dev(), found.ino()), path) {
            return Err(format!(
                "--blktrace: expected each file once, found {} and {}, which are one file",
                first.display(),
                path.display()
            )
            .into());
        }
    }
    Ok(())
}

/// blktrace names its files after the disk: `sda.blktrace.0`.
fn name_devices(report: &mut Report, paths: &[PathBuf]) {
    let name = |path: &PathBuf| {
        let (name, _) = path.file_name()?.to_str()?.split_once(".blktrace.")?;
        Some(name.to_owned())
    };
    let mut names: Vec<String> = paths.iter().filter_map(name).collect();
    names.dedup();
    let devices: Vec<Device> = report.accounting.by_device().into_keys().collect();
    // With several disks nothing says which is which.
    if let ([name], [device]) = (&names[..], &devices[..]) {
        report.names.insert(*device, name.clone());
    }
}

/// Text of blkparse, or of events as the kernel prints them; `-` is stdin.
pub(super) fn blkparse(path: &Path) -> Result<Report> {
    let mut accounting = Accounting::default();
    let counts = if path == Path::new("-") {
        text::read(std::io::stdin().lock(), &mut accounting)?
    } else {
        text::read(BufReader::new(files::open(path)?), &mut accounting)?
    };
    if counts.events == 0 {
        let first = counts.first_bad.map_or_else(String::new, |(line, found)| {
            format!("; the first that is not understood is line {line}: {found:?}")
        });
        return Err(format!(
            "{}: expected lines of blkparse in its default form (8,0 1 11 0.009507758 697 D W \
             223490 + 8 [task]), or of perf script, trace-cmd report or ftrace (task-697 [001] 8.009507: \
             block_rq_issue: 8,0 W 4096 () 223490 + 8 [task]), found none of a request in {} lines{first}; \
             blktrace's own files are read by --blktrace, and those of perf and trace-cmd as text: `perf \
             script`, `trace-cmd report`",
            path.display(),
            counts.lines
        )
        .into());
    }
    let interval_ns = accounting.span_ns();
    let source = if counts.printed_events == counts.events { "events" } else { "blkparse" };
    let mut report = Report::new(source, accounting, interval_ns);
    report.lose(counts.lost_events, "record with larger buffers");
    if counts.completions == 0 {
        report.miss(format!(
            "{}: nothing in it tells what is done, so no bytes are counted: record block_rq_complete too",
            path.display()
        ));
    }
    if let Some((line, found)) = counts.first_bad {
        report.miss(format!(
            "{}: {} lines are not understood, the first is line {line}: {found:?}",
            path.display(),
            counts.bad_lines
        ));
    }
    Ok(report)
}
