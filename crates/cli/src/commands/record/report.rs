//! What a recording tells: at its start, while it runs, at its end.

use super::Recording;
use crate::commands::{Format, print_json, promises};
use crate::failure::Result;
use crate::size::{show_bytes, show_ns};
use baro_ingest::Fed;
use baro_log::Held;
use baro_promises::Look;
use baro_recorder::{Opening, Recorder, Status, Trouble};
use baro_show::{plural, rfc3339};
use baro_store::{Damage, SettlingStatus};
use serde_json::{Value, json};
use std::path::Path;

/// What was found at the opening. Of the place a store that `is_new` is told all; later only what
/// `baro info` would not tell as well.
pub(crate) fn print_opening(opening: &Opening, is_new: bool) {
    let rings = opening.ring_folder.as_ref();
    say!(
        "{}: {} on {}, {}, rings in {}",
        opening.path.display(),
        show_bytes(opening.log_bytes),
        opening.file_system,
        if opening.direct { "direct I/O" } else { "through the page cache" },
        rings.map_or("private memory".to_owned(), |folder| folder.display().to_string()),
    );
    if opening.growth.grown < opening.growth.target {
        say!(
            "the log has {} of {} segments and grows while recording",
            opening.growth.grown,
            opening.growth.target
        );
    }
    if opening.rings_taken_over > 0 {
        say!(
            "took over {} of an earlier recorder, {} not in the log yet",
            plural(opening.rings_taken_over as u64, "ring"),
            plural(opening.records_taken_over, "record")
        );
    }
    if is_new {
        if let Some(kept) = promises::kept(&opening.promises) {
            say!("holds here: {kept}");
        }
        opening.reservations().iter().for_each(|said| say!("note: {said}"));
        return;
    }
    let known = promises::at(&opening.path, Look::Read);
    let told = promises::known_to_others(&opening.promises, &known);
    let sentences: Vec<String> = told.iter().map(ToString::to_string).collect();
    for said in opening.reservations().iter().filter(|said| !sentences.contains(said)) {
        say!("note: {said}");
    }
    if !told.is_empty() {
        let names: Vec<_> = told.iter().map(|judged| judged.promise.to_string()).collect();
        let (names, path) = (names.join(", "), opening.path.display());
        say!("does not hold here: {names}; why, and what helps: baro info {path}");
    }
}

pub(crate) fn status_line(recorder: &Recorder, elapsed_ns: u64) {
    let status = recorder.status();
    let fullest = status
        .rings
        .iter()
        .map(|ring| ring.used_bytes * 100 / ring.capacity_bytes.max(1))
        .max()
        .unwrap_or(0);
    let lost: u64 = status.rings.iter().map(|ring| ring.refused_full + ring.refused_large).sum();
    let growth = &status.growth;
    let trouble = match &status.trouble {
        Trouble::None if growth.grown >= growth.target => String::new(),
        Trouble::None => format!("  log {}/{}", growth.grown, growth.target),
        trouble => format!("  {trouble}"),
    };
    // What matters first: it is cut to the terminal's width.
    status!(
        "{:>6.0} s  lost {lost}{trouble}  ring {fullest} %  {} records  {}  durable in {}",
        elapsed_ns as f64 / 1e9,
        status.records,
        show_bytes(status.payload_bytes),
        show_ns(status.longest_durable_ns),
    );
}

/// Says once what the recorder could not do beside recording; `said` is what was said already.
/// `unsettled` is why nothing is settled.
pub(crate) fn complain(recorder: &Recorder, unsettled: Option<&String>, said: &mut Vec<String>) {
    let mut complaints = recorder.complaints();
    complaints.extend(unsettled.cloned());
    for complaint in complaints.iter().filter(|complaint| !said.contains(complaint)) {
        say!("note: {complaint}");
    }
    *said = complaints;
}

/// No device stalls as long: that the rings cover it helps nobody.
const LONG_STALL_NS: u64 = 600_000_000_000;
/// Times before are hardly meant.
const YEAR_1980_NS: i64 = 315_532_800_000_000_000;

/// How long a stall of the device the rings cover at the rate of this recording.
pub(crate) fn covers_ns(recording: &Recording) -> Option<u64> {
    recording
        .fed
        .iter()
        .filter_map(|fed| {
            let ring = recording.closed.status.rings.iter().find(|r| r.producer == fed.producer)?;
            let bytes = fed.bytes + fed.records * 24;
            let rate = bytes as f64 / (recording.elapsed_ns.max(1) as f64 / 1e9);
            (rate > 0.0).then(|| (ring.capacity_bytes as f64 / rate * 1e9) as u64)
        })
        .min()
}

pub(crate) fn print(
    format: Format,
    opening: &Opening,
    memory_bytes: usize,
    recording: &Recording,
    settled: &Settled,
    store: &Path,
) -> Result<()> {
    match format {
        Format::Text => {
            print_text(opening, recording, store);
            print_settled(recording, settled);
            Ok(())
        }
        Format::Json => print_json(&as_json(opening, memory_bytes, recording, settled)),
    }
}

/// What was settled beside a recording.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// `None` if it was not wanted.
    pub(crate) status: Option<SettlingStatus>,
    /// Why it did not settle at the end.
    pub(crate) complaint: Option<String>,
}

impl Settled {
    /// What was found damaged.
    pub(crate) fn damage(&self) -> impl Iterator<Item = &Damage> {
        self.status.iter().flat_map(|status| &status.damage)
    }
}

fn print_settled(recording: &Recording, settled: &Settled) {
    let Some(status) = &settled.status else { return };
    if status.runs > 0 {
        out!(
            "settled: {} into {} of {}; merged {}",
            plural(status.samples, "sample"),
            plural(status.runs, "run"),
            show_bytes(status.bytes),
            plural(status.merged, "time")
        );
    }
    if status.dropped.runs > 0 {
        let (runs, samples) = (status.dropped.runs, status.dropped.samples);
        out!("dropped: {} with {}", plural(runs, "run"), plural(samples, "sample"));
    }
    settled.complaint.iter().for_each(|said| out!("{said}"));
    settled.damage().for_each(|damage| out!("DAMAGE {damage}; {}", damage.next_step()));
    let lost = recording.closed.status.segments_lost_unsettled;
    if lost > 0 {
        let lost = plural(lost, "segment");
        out!("recycled before all their samples were in runs: {lost}");
    }
}

fn print_text(opening: &Opening, recording: &Recording, store: &Path) {
    let status = &recording.closed.status;
    for fed in &recording.fed {
        print_fed(fed, recording.kept(fed));
    }
    for ring in recording.attached() {
        out!(
            "attached {:016x}: {}, {} refused",
            ring.producer,
            plural(
                ring.offered.saturating_sub(ring.refused_full.saturating_add(ring.refused_large)),
                "record"
            ),
            ring.refused_full + ring.refused_large
        );
    }
    let (durable_ns, within_ns) = (status.longest_durable_ns, recording.durable_within_ns);
    let durable = match durable_ns > within_ns {
        true => format!("{} (more than {})", show_ns(durable_ns), show_ns(within_ns)),
        false => show_ns(durable_ns),
    };
    let longest = || {
        format!(
            "; longest from push to durable {}, longest write {}, longest sync {}",
            durable,
            show_ns(status.longest_write_ns),
            show_ns(status.longest_sync_ns)
        )
    };
    // Of what never happened there is no longest.
    let longest = if status.syncs == 0 { String::new() } else { longest() };
    out!("lost: {}{longest}", lost_words(recording));
    if let Some(why) =
        why_lost(&recording.closed.status, recording.lost() > 0 || recording.closed.left > 0, store)
    {
        out!("{why}");
    }
    if recording.closed.left > 0 {
        out!(
            "{} records could not be made durable, {} of them of earlier runs; they wait in the ring \
             files for the next open, and those of this run count as lost until then",
            recording.closed.left,
            recording.closed.left_before
        );
    }
    if recording.closed.refused_before > 0 {
        let mut rings = recording.closed.status.rings.iter();
        let noted = match rings.any(|ring| ring.refused_unlogged > 0) {
            true => "nor could this one, of all that were refused",
            false => "gaps in the log now",
        };
        out!(
            "{} records were refused in an earlier run, which could not log it: {noted}",
            recording.closed.refused_before
        );
    }
    opening.recycled_before.iter().for_each(|before| out!("{}", recycled_before(before)));
    for damage in &recording.closed.damage {
        out!("DAMAGE {damage}");
    }
    if recording.closed.status.records_misfit > 0 {
        out!(
            "{} of the lost records had values of another type than their series is declared with",
            recording.closed.status.records_misfit
        );
    }
    if recording.closed.lost_durable > 0 {
        out!(
            "{} of the lost records, with {} samples, had been durable: they are not in the log any \
             more",
            recording.closed.lost_durable,
            recording.closed.lost_durable_samples
        );
    }
    out!(
        "to the device: {} for {} of records ({} padding), {} syncs",
        show_bytes(status.device_bytes),
        show_bytes(status.payload_bytes),
        show_bytes(status.padding_bytes),
        status.syncs
    );
    let place = match recording.alone {
        Some(true) => "the store has its file system for itself",
        Some(false) => "the store shares its file system: the writer may wait for others' commits",
        None => "whether others use the file system is unknown",
    };
    match covers_ns(recording) {
        Some(covers_ns) if covers_ns < LONG_STALL_NS => {
            out!("{place}; at this rate the rings cover a stall of {}", show_ns(covers_ns));
        }
        Some(_) => out!("{place}"),
        None => {}
    }
}

/// Records and samples of this run that are lost.
fn lost_words(recording: &Recording) -> String {
    match (recording.lost(), recording.lost_samples()) {
        (0, _) => "0".to_owned(),
        (records, samples) => {
            let (records, samples) = (plural(records, "record"), plural(samples, "sample"));
            format!("{records}, {samples} in them as far as known")
        }
    }
}

/// Why the log took no more at the end, and what to do.
pub(crate) fn why_lost(status: &Status, any_lost: bool, store: &Path) -> Option<String> {
    let trouble = &status.trouble;
    if let (Trouble::Held { young, .. }, true) = (trouble, any_lost) {
        let shorter = if *young > 0 { "; keep less (--keep), or make a larger log" } else { "" };
        return Some(format!("{trouble}{shorter}"));
    }
    let full = *trouble == Trouble::LogFull;
    let (store, growth) = (store.display(), &status.growth);
    if full && growth.grown < growth.target {
        return Some(format!(
            "the log is full with {} of its {} segments: expected room for the others on the file system of \
             {store}; free some there",
            growth.grown, growth.target
        ));
    }
    full.then(|| {
        format!(
            "the log is full: all its {} segments are begun, and each start of a recorder begins one; \
             make it reuse its oldest part with baro init {store} --when-full recycle, or record into \
             another store",
            growth.target
        )
    })
}

fn print_fed(fed: &Fed, kept: u64) {
    // What is generated are frames of a channel, and so is what has no samples.
    let frames = fed.name == "generate" || (fed.records > 0 && fed.samples == 0);
    let at = |quantile| show_ns(fed.push_ns.value_at_quantile(quantile));
    let series = match (fed.series as u64, frames) {
        // Of frames not all sources count their channels; of what nothing came nobody knows what it is.
        _ if fed.records == 0 || fed.series == 0 => String::new(),
        (channels, true) => plural(channels, "channel") + ", ",
        (series, false) => plural(series, "series") + ", ",
    };
    out!(
        "{}: {series}{}, {}, {}{}{}",
        fed.name,
        plural(fed.records, "record"),
        plural(kept, "sample"),
        show_bytes(fed.bytes),
        match fed.push_ns.is_empty() {
            true => String::new(),
            false => format!(
                "; push p50 {}, p99.99 {}, max {}",
                at(0.5),
                at(0.9999),
                show_ns(fed.push_max_ns)
            ),
        },
        match fed.missed {
            0 => String::new(),
            missed => format!("; the source itself missed {}", plural(missed, "period")),
        }
    );
    if fed.datagrams > 0 || fed.dropped > 0 {
        let datagrams = plural(fed.datagrams, "datagram");
        out!("{}: {datagrams}, {} dropped by the kernel", fed.name, fed.dropped);
    }
    if let Some((from_ns, _)) = fed.span_ns.filter(|(from_ns, _)| *from_ns < YEAR_1980_NS) {
        let from = rfc3339(from_ns);
        out!("{}: times from {from} on (--precision says the unit of an integer)", fed.name);
    }
    if fed.replaced > 0 {
        out!(
            "{}: {} replaced by another of the same series and time with another value; the last counts",
            fed.name,
            plural(fed.replaced, "sample")
        );
    }
    if fed.no_values > 0 {
        let cells = plural(fed.no_values, "cell");
        out!("{}: no value: {cells} say NA, N/A, NULL, None or \\N", fed.name);
    }
    if fed.bad > 0 {
        out!("{}: not understood: {}", fed.name, plural(fed.bad, "input"));
        for complaint in &fed.complaints {
            say!("{}: {complaint}", fed.name);
        }
    }
}

/// What an earlier run had reused before it was settled, and told nobody.
pub(crate) fn recycled_before(before: &Held) -> String {
    let (records, samples) = (plural(before.records, "record"), plural(before.samples, "sample"));
    let earlier = "an earlier run, which was killed or could not settle to its end, had reused";
    match *before == Held::default() {
        true => {
            format!("{earlier} a part of the log before it was settled; what it held is not known")
        }
        false => format!(
            "{records} with {samples} at most are lost: {earlier} them before they were settled"
        ),
    }
}

/// What earlier runs, which were killed, have left or lost.
fn by_earlier_runs(report: &mut Value, opening: &Opening, recording: &Recording) {
    let before = opening.recycled_before;
    report["refused_by_earlier_runs"] = json!(recording.closed.refused_before);
    report["recycled_by_earlier_runs"] = json!(before.map(|held| held.records));
    report["recycled_samples_by_earlier_runs"] = json!(before.map(|held| held.samples));
    report["left_by_earlier_runs"] = json!(recording.closed.left_before);
}

fn as_json(
    opening: &Opening,
    memory_bytes: usize,
    recording: &Recording,
    settled: &Settled,
) -> Value {
    let runs = settled.status.as_ref();
    let status = &recording.closed.status;
    let sources: Vec<Value> = recording
        .fed
        .iter()
        .map(|fed| {
            json!({
                "source": fed.name,
                "series": fed.series,
                "records": fed.records,
                "samples": recording.kept(fed),
                "from_ns": fed.span_ns.map(|(from_ns, _)| from_ns),
                "to_ns": fed.span_ns.map(|(_, to_ns)| to_ns),
                "declared": fed.declared,
                "declarations": fed.declarations,
                "payload_bytes": fed.bytes,
                "refused": fed.refused,
                "refused_samples": fed.refused_samples,
                "missed_periods": fed.missed,
                "datagrams": fed.datagrams,
                "dropped_by_kernel": fed.dropped,
                "bad_inputs": fed.bad,
                "cells_without_value": fed.no_values,
                "exemplars_passed_over": fed.exemplars,
                "samples_replaced": fed.replaced,
                "complaints": fed.complaints,
                "push_p50_ns": fed.push_ns.value_at_quantile(0.5),
                "push_p9999_ns": fed.push_ns.value_at_quantile(0.9999),
                "push_max_ns": fed.push_max_ns,
            })
        })
        .collect();
    let attached: Vec<Value> = recording
        .attached()
        .map(|ring| {
            json!({
                "producer": format!("{:016x}", ring.producer),
                "offered": ring.offered,
                "durable": ring.durable,
                "refused_ring_full": ring.refused_full,
                "refused_too_large": ring.refused_large,
            })
        })
        .collect();
    let refused = |pick: fn(&baro_recorder::RingReport) -> u64| -> u64 {
        recording.closed.status.rings.iter().map(pick).sum()
    };
    let mut report = json!({
        "path": opening.path.to_string_lossy(),
        "file_system": opening.file_system,
        "file_system_for_itself": recording.alone,
        "direct": opening.direct,
        "fifo_priority": opening.fifo.as_ref().and_then(|fifo| fifo.as_ref().ok()),
        "promises": promises::as_json(&opening.promises),
        "reservations": opening.reservations(),
        "open_ns": opening.took_ns,
        "records_taken_over": opening.records_taken_over,
        "elapsed_ns": recording.elapsed_ns,
        "memory_bytes": memory_bytes,
        "sources": sources,
        "attached": attached,
        "lost": recording.lost(),
        "refused_ring_full": refused(|ring| ring.refused_full),
        "refused_too_large": refused(|ring| ring.refused_large),
        "left_in_rings": recording.closed.left,
        "records": status.records,
        "payload_bytes": status.payload_bytes,
        "device_bytes": status.device_bytes,
        "padding_bytes": status.padding_bytes,
        "other_bytes": status.other_bytes,
        "segments_grown": recording.closed.status.growth.grown,
        "segments_target": recording.closed.status.growth.target,
        "settled_samples": runs.map(|runs| runs.samples),
        "settled_bytes": runs.map(|runs| runs.bytes),
        "runs_written": runs.map(|runs| runs.runs),
        "runs_merged": runs.map(|runs| runs.merged),
        "runs_dropped": runs.map(|runs| runs.dropped.runs),
        "samples_dropped": runs.map(|runs| runs.dropped.samples),
        "settling_stopped": settled.complaint,
        "segments_unsettled": status.segments_unsettled,
        "segments_recycled_unsettled": status.segments_lost_unsettled,
        "trouble": status.trouble.to_string(),
        "syncs": status.syncs,
        "failures": status.failures,
        "segments_started": status.segments_started,
        "longest_write_ns": status.longest_write_ns,
        "longest_sync_ns": status.longest_sync_ns,
        "longest_durable_ns": status.longest_durable_ns,
        "ring_covers_ns": covers_ns(recording),
    });
    report["lost_samples"] = json!(recording.lost_samples());
    by_earlier_runs(&mut report, opening, recording);
    report["records_misfit"] = json!(status.records_misfit);
    report["records_undeclared"] = json!(status.records_undeclared);
    report["lost_durable"] = json!(recording.closed.lost_durable);
    report["lost_durable_samples"] = json!(recording.closed.lost_durable_samples);
    report["damage"] = json!(recording.closed.damage);
    let damage: Vec<String> = settled.damage().map(ToString::to_string).collect();
    report["settling_damage"] = json!(damage);
    report
}
