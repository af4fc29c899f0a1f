//! `baro share status`: what each group was asked to have and what it has, and why they differ.
//!
//! It measures for itself, whoever controls; it reads only. Exit code 3 if a group that wants more
//! has not what was asked.

use super::Folders;
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_share::judge::{Judged, judge};
use baro_share::pieces::{PieceFiles, Pieces};
use baro_share::sampler::{DiskSeen, Sampler};
use baro_share::{Registry, Version};
use baro_sys::{clock, termination};
use baro_tune::{Journal, Left, Options};
use clap::Args;
use serde_json::{Value, json};

const SAMPLE_NS: u64 = 20_000_000;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro share status --for 5s")]
pub(crate) struct Arguments {
    /// For how long shares are measured
    #[arg(long = "for", value_name = "TIME", value_parser = size::nanoseconds, default_value = "2s")]
    time: u64,
    /// Again and again, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    folders: Folders,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// Counters of what was done; the others say what was left alone and why.
const DONE: [&str; 4] = ["processes", "calls_cut", "pieces", "bytes_cut"];

/// What is told of one disk.
struct Told<'a> {
    disk: &'a DiskSeen,
    judged: Vec<Judged>,
    /// Sizes and counters of each group, in their order.
    pieces: Vec<(Pieces, Vec<(&'static str, u64)>)>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let registry = Registry::at(&arguments.folders.run_dir);
    let mut sampler = Sampler::new(registry)?;
    loop {
        let until_ns = clock::monotonic_ns().saturating_add(arguments.time);
        while clock::monotonic_ns() < until_ns && termination::requested().is_none() {
            sampler.sample();
            clock::sleep_ns(SAMPLE_NS);
        }
        let dirs: Vec<_> =
            sampler.entries().map(|entry| (entry.asked.name.clone(), entry.dir.clone())).collect();
        let seen = sampler.finish(true);
        let told: Vec<Told<'_>> =
            seen.iter().map(|disk| look(disk, sampler.version(), &dirs)).collect();
        let controller = Journal::holder(&arguments.folders.state_dir);
        let state_dir = arguments.folders.state_dir.clone();
        let left = Journal::left(&Options { state_dir, ..Options::default() });
        match arguments.format {
            Format::Json => {
                let disks: Vec<_> = told.iter().map(disk_json).collect();
                print_json(&json!({
                    "controller_pid": controller,
                    "disks": disks,
                    "left": left.iter().map(left_json).collect::<Vec<_>>(),
                }))?;
            }
            Format::Text => {
                text(&told, controller);
                if !left.is_empty() {
                    out!(
                        "settings that a killed program left; `baro tune undo` puts them back, and so"
                    );
                    out!("does the next `baro share`:");
                    left.iter().for_each(|one| out!("  {one}"));
                }
            }
        }
        if !arguments.watch || termination::requested().is_some() {
            let missed = told.iter().flat_map(|told| &told.judged).any(Judged::differs);
            return Ok(Outcome::lost_if(missed));
        }
    }
}

fn look<'a>(
    disk: &'a DiskSeen,
    version: Version,
    dirs: &[(String, std::path::PathBuf)],
) -> Told<'a> {
    let pieces = disk.groups.iter().map(|group| {
        let dir = dirs.iter().find(|(name, _)| *name == group.name);
        let files = dir.and_then(|(_, dir)| PieceFiles::open(dir).ok());
        files.map(|files| (files.get(), files.counters())).unwrap_or_default()
    });
    Told { judged: judge(&disk.queue, version, &disk.groups), pieces: pieces.collect(), disk }
}

fn per_s(bytes: u64, duration_ns: u64) -> f64 {
    bytes as f64 * 1e9 / duration_ns.max(1) as f64
}

fn disk_json(told: &Told<'_>) -> Value {
    let disk = told.disk;
    let groups = disk.groups.iter().zip(&told.judged).zip(&told.pieces);
    let groups: Vec<_> = groups
        .map(|((group, judged), (pieces, counters))| {
            let counters: serde_json::Map<_, _> =
                counters.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
            let processes = group.processes.iter().map(|one| {
                json!({ "pid": one.pid, "name": one.name, "reached": one.reached,
                        "io_uring": one.io_uring })
            });
            json!({
                "name": group.name,
                "weight": group.weight.get(),
                "weight_trimmed": group.weight_trimmed.map(baro_share::Weight::get),
                "weight_read": group.weight_read.map(baro_share::Weight::get),
                "asked_share": judged.asked,
                "had_share": judged.had,
                "tolerance": judged.tolerance,
                "differs": judged.differs(),
                "read_bytes_per_s": per_s(group.served.read_bytes, disk.duration_ns),
                "written_bytes_per_s": per_s(group.served.written_bytes, disk.duration_ns),
                "waiting_percent": group.waiting_percent,
                "read_piece_bytes": pieces.read_bytes,
                "write_piece_bytes": pieces.write_bytes,
                "counters": counters,
                "processes": processes.collect::<Vec<_>>(),
                "reasons": judged.reasons,
            })
        })
        .collect();
    json!({
        "disk": disk.queue.disk,
        "scheduler": disk.queue.scheduler,
        "requests": disk.queue.requests,
        "request_bytes": disk.queue.request_bytes,
        "duration_ns": disk.duration_ns,
        "groups": groups,
    })
}

fn left_json(left: &Left) -> Value {
    json!({
        "setting": left.name,
        "was": left.was,
        "found": left.found,
        "program": left.owner.as_ref().map(|owner| owner.program.clone()),
        "pid": left.owner.as_ref().map(|owner| owner.pid),
    })
}

fn text(told: &[Told<'_>], controller: Option<u32>) {
    if told.is_empty() {
        out!("no group is held: `baro share run --weight 200 -- COMMAND` holds one");
        return;
    }
    for told in told {
        let disk = told.disk;
        let bytes = disk.work.read_bytes + disk.work.written_bytes;
        let by = match controller {
            Some(pid) => format!("controlled by process {pid}"),
            None => "controlled by nobody".to_owned(),
        };
        let rate = per_s(bytes, disk.duration_ns) / 1e6;
        out!("{}: {}, {rate:.1} MB/s, {by}", disk.queue.disk, disk.queue.scheduler);
        out!(
            "  {:<20} {:>9} {:>7} {:>7} {:>9} {:>9} {:>8} {:>8} {:>9}",
            "group",
            "weight",
            "asked",
            "had",
            "read",
            "written",
            "pieces r",
            "pieces w",
            "cut"
        );
        for ((group, judged), (pieces, counters)) in
            disk.groups.iter().zip(&told.judged).zip(&told.pieces)
        {
            let mb = |bytes| format!("{:.1}", per_s(bytes, disk.duration_ns) / 1e6);
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            let weight = match group.weight_trimmed {
                Some(trimmed) => format!("{} ({trimmed})", group.weight),
                None => group.weight.to_string(),
            };
            let size = |bytes| if bytes == 0 { "-".to_owned() } else { size::show_bytes(bytes) };
            let cut = counters.iter().find(|one| one.0 == "calls_cut").map_or(0, |one| one.1);
            out!(
                "  {:<20} {:>9} {:>7} {:>7} {:>9} {:>9} {:>8} {:>8} {:>9}",
                group.name,
                weight,
                judged.asked.map_or_else(|| "-".to_owned(), percent),
                percent(judged.had),
                mb(group.served.read_bytes),
                mb(group.served.written_bytes),
                size(pieces.read_bytes),
                size(pieces.write_bytes),
                cut
            );
            for reason in &judged.reasons {
                out!("    {reason}");
            }
            let whole: Vec<String> = counters
                .iter()
                .filter(|(name, count)| *count > 0 && !DONE.contains(name))
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            if !whole.is_empty() {
                out!("    large calls that were not cut, so far: {}", whole.join(", "));
            }
        }
        out!("  asked: of those that want more than they get; rates in MB/s; cut: calls so far");
        out!("  (weight): for the moment, to make good what a group lacked or had too much");
    }
}
