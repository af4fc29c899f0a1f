//! `baro verify`: reads everything and says what is not as it was written.

use super::{Format, RATE_BESIDE_RECORDER, is_recorded, print_json};
use crate::failure::{Outcome, Result};
use crate::size::{self, show_bytes, show_ns};
use crate::time;
use baro_show::plural;
use baro_store::{ReadPace, Store, VerifyReport, verify};
use baro_sys::clock;
use baro_sys::storage::Access;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro verify /data/s")]
pub(crate) struct Arguments {
    /// The store
    store: PathBuf,
    /// Read from the device itself, past the page cache
    ///
    /// Beside a recorder this is so anyway.
    #[arg(long)]
    direct: bool,
    /// Bytes read a second at most
    ///
    /// Without it 64M beside a recorder, else no limit.
    #[arg(long, value_parser = size::rate, value_name = "SIZE")]
    rate: Option<u64>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let beside = is_recorded(&arguments.store)?;
    let access = if arguments.direct || beside { Access::ReadDirect } else { Access::Read };
    let pace = ReadPace::new(arguments.rate.or(beside.then_some(RATE_BESIDE_RECORDER)));
    match arguments.format {
        Format::Text => verify_and_print(&store, access, pace),
        Format::Json => {
            let (report, took_ns) = measured(&store, access, pace, false)?;
            print_json(&as_json(&report, took_ns))?;
            Ok(outcome(&report))
        }
    }
}

fn outcome(report: &VerifyReport) -> Outcome {
    Outcome::lost_if(!report.is_whole())
}

pub(crate) fn measured(
    store: &Store,
    access: Access,
    mut pace: ReadPace,
    show: bool,
) -> Result<(VerifyReport, u64)> {
    let show = show && baro_command::status_on_terminal();
    let started_ns = clock::monotonic_ns();
    let (mut shown, mut read) = (0, 0);
    let report = verify(store, access, |done, total| {
        pace.wait(done.saturating_sub(read));
        read = done;
        let percent = done * 100 / total.max(1);
        if show && percent > shown {
            shown = percent;
            status!("verifying {} {percent} %", show_bytes(total));
        }
    })?;
    if show {
        baro_command::end_status();
    }
    Ok((report, clock::monotonic_ns() - started_ns))
}

/// Verifies a store and says what was found.
pub(crate) fn verify_and_print(store: &Store, access: Access, pace: ReadPace) -> Result<Outcome> {
    let (report, took_ns) = measured(store, access, pace, true)?;
    let bytes = report.block_bytes + report.runs_page_bytes;
    out!(
        "verified {} in {} ({}/s): {}, {}, {} in {}",
        show_bytes(bytes),
        show_ns(took_ns),
        show_bytes((bytes as f64 / (took_ns.max(1) as f64 / 1e9)) as u64),
        plural(report.records, "record"),
        plural(report.frames, "frame"),
        plural(report.samples, "sample"),
        plural(report.sessions, "session")
    );
    if report.runs > 0 {
        out!(
            "{}, {} of pages: {}",
            plural(report.runs, "run"),
            show_bytes(report.runs_page_bytes),
            plural(report.runs_samples, "sample")
        );
    }
    if let Some((from_ns, to_ns)) = report.times_ns {
        out!("times {} to {}", time::show(from_ns), time::show(to_ns));
    }
    out!(
        "lost, as recorded: {} ring full, {} too large, {} damaged in the ring or of another type than their series, {} unknown",
        report.lost.ring_full,
        report.lost.too_large,
        report.lost.damaged,
        report.lost.unknown
    );
    super::info::recycled_line(&report.recycled).iter().for_each(|line| out!("{line}"));
    for tail in &report.tails {
        out!(
            "ends without a mark, as a crash leaves it: {} at offset {}; nothing shows that more was \
             durable",
            tail.file,
            tail.offset
        );
    }
    for name in &report.runs_unnamed {
        out!("left by a settling that was killed, normal: {name}");
    }
    for damage in &report.damage {
        out!("DAMAGE {damage}; {}", damage.next_step());
    }
    if report.records_unexplained > 0 || report.records_repeated > 0 {
        out!(
            "DAMAGE {} records missing without a reason, {} twice",
            report.records_unexplained,
            report.records_repeated
        );
    }
    out!("{}", if report.is_whole() { "whole" } else { "NOT WHOLE" });
    Ok(outcome(&report))
}

pub(super) fn as_json(report: &VerifyReport, took_ns: u64) -> Value {
    let damage: Vec<Value> = report
        .damage
        .iter()
        .map(|damage| {
            json!({
                "file": damage.file,
                "offset": damage.offset,
                "what": damage.to_string(),
                "loss": damage.is_loss(),
                "next_step": damage.next_step(),
            })
        })
        .collect();
    json!({
        "whole": report.is_whole(),
        "took_ns": took_ns,
        "bytes_per_s": (report.block_bytes + report.runs_page_bytes) as f64 / (took_ns.max(1) as f64 / 1e9),
        "sessions": report.sessions,
        "blocks": report.blocks,
        "block_bytes": report.block_bytes,
        "padding_bytes": report.padding_bytes,
        "records": report.records,
        "frames": report.frames,
        "samples": report.samples,
        "runs": report.runs,
        "runs_page_bytes": report.runs_page_bytes,
        "runs_samples": report.runs_samples,
        "runs_unnamed": report.runs_unnamed,
        "gaps": report.gaps,
        "clock_steps": report.clock_steps,
        "lost": report.lost.lost(),
        "lost_ring_full": report.lost.ring_full,
        "lost_too_large": report.lost.too_large,
        "lost_damaged_in_ring": report.lost.damaged,
        "lost_unknown": report.lost.unknown,
        "recycled_unsettled": super::info::recycled_json(&report.recycled),
        "records_missing_with_blocks": report.records_missing_with_blocks,
        "records_unexplained": report.records_unexplained,
        "records_repeated": report.records_repeated,
        "producers": report.producers,
        "torn_tails": report.tails.len(),
        "dead_blocks": report.dead_blocks,
        "recycled_while_reading": report.recycled_while_reading,
        "time_min_ns": report.times_ns.map(|times| times.0),
        "time_max_ns": report.times_ns.map(|times| times.1),
        "damage": damage,
    })
}
