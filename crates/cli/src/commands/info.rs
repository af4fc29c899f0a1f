//! `baro info`: what a store holds, by its headers.

use super::{Format, print_json, promises};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use crate::time;
use baro_log::{Role, StoreLock};
use baro_ondisk::{Recycled, WhenFull};
use baro_promises::{Judged, Look};
use baro_recorder::inspect::{FoundRing, RingSearch, rings_at};
use baro_show::plural;
use baro_store::{DeletedRoom, Info, Store};
use baro_sys::lock::Holder;
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro info /data/s")]
pub(crate) struct Arguments {
    /// The store
    store: PathBuf,
    /// What the device is made for, in TB written
    ///
    /// Tells how long that lasts at the present rate.
    #[arg(long, value_parser = terabytes, value_name = "TB")]
    tbw: Option<f64>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

fn terabytes(text: &str) -> std::result::Result<f64, String> {
    let found = text.parse().ok().filter(|tbw: &f64| tbw.is_finite() && *tbw > 0.0);
    found.ok_or_else(|| format!("expected a number of TB above 0, such as 40, found {text:?}"))
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let info = store.info()?;
    let wear = Wear::new(&info, arguments.tbw);
    let around = Around {
        recorder: StoreLock::holder_at(&arguments.store, Role::Recording)?,
        settler: StoreLock::holder_at(&arguments.store, Role::Settling)?,
        settling_stopped: StoreLock::said_at(&arguments.store, Role::Settling)?,
        rings: rings_at(&arguments.store, info.identity.store, None),
        judged: promises::at(&arguments.store, Look::Read),
    };
    let lossy = store.damage().iter().any(baro_store::Damage::is_loss);
    if arguments.format == Format::Json {
        print_json(&as_json(arguments, &store, &info, &wear, &around))?;
        return Ok(Outcome::lost_if(lossy));
    }
    print_text(arguments, &store, &info, &wear, &around);
    Ok(Outcome::lost_if(lossy))
}

fn print_text(arguments: &Arguments, store: &Store, info: &Info, wear: &Wear, around: &Around) {
    let identity = &info.identity;
    let log_bytes = identity.segment_bytes * u64::from(identity.segments);
    let stops = identity.when_full == WhenFull::Stop;
    out!("store     {}, made {}", identity.store, time::show(identity.created_ns));
    out!(
        "log       {} in {} of {}; {} used, {} blank; when full: {}",
        show_bytes(log_bytes),
        plural(identity.segments, "segment"),
        show_bytes(identity.segment_bytes),
        info.segments_used,
        info.segments_blank,
        if stops { "refuses new records" } else { "reuses the oldest segment" }
    );
    out!(
        "holds     {} in {}, {} ({} padding)",
        plural(info.records, "record"),
        plural(info.blocks, "block"),
        show_bytes(info.block_bytes),
        show_bytes(info.padding_bytes)
    );
    if info.segments_grown < identity.segments {
        out!(
            "grows     {} of {} segments are there; the others are added while recording",
            info.segments_grown,
            identity.segments
        );
    }
    let channels = plural(info.channels as u64, "channel");
    let named = match store.deleted_series().is_empty() {
        true => "; baro list names them",
        false => " were declared; baro list names those that are not deleted",
    };
    out!("series    {} series, {channels}{named}", info.series);
    if let Some((from_ns, to_ns)) = info.times_ns {
        out!("times     {} to {}", time::show(from_ns), time::show(to_ns));
    }
    runs_lines(info).iter().for_each(|line| out!("{line}"));
    if let Some(line) = deleted_line(&store.deleted_room()) {
        out!("deleted   {line}");
    }
    wear.print(arguments.tbw);
    print_pins(store, info, around.recorder.is_some());
    for session in &info.sessions {
        out!(
            "session   {:016x} from {}: {} in {}{}",
            session.session,
            time::show(session.started_ns),
            plural(session.records, "record"),
            plural(session.segments as u64, "segment"),
            if session.from_start { "" } else { ", its beginning recycled" }
        );
    }
    out!(
        "memory    a recorder with one ring of 16 MiB takes {}",
        show_bytes(recorder_memory_bytes(identity.segment_bytes))
    );
    out!(
        "          and up to {} more to settle samples, unless told not to",
        show_bytes(super::record::SETTLING_BYTES)
    );
    // Who may only read a store is not told which process it is.
    let named = |of: Holder| of.pid.map_or("a process".to_owned(), |pid| format!("process {pid}"));
    if let Some(holder) = around.recorder {
        out!("recorder  {}", named(holder));
    }
    if let Some(holder) = around.settler {
        out!("settling  {}", named(holder));
    }
    if let Some(said) = &around.settling_stopped {
        out!("settling  has stopped: {said}");
    }
    around.rings.rings.iter().for_each(|ring| print_ring(ring, &arguments.store));
    let plain = |said: &String| baro_show::terminal(said, '?');
    around.rings.refused.iter().for_each(|said| out!("ring      passed over: {}", plain(said)));
    for damage in store.damage() {
        out!("damage    {damage}");
    }
    promises::lines(&around.judged).iter().for_each(|line| out!("{line}"));
}

/// What is in runs and what is not, for people.
pub(super) fn runs_lines(info: &Info) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(bytes_per_sample) = info.bytes_per_sample() {
        let bytes = show_bytes(info.runs_bytes);
        let (runs, samples) = (info.runs, info.runs_samples);
        lines.push(format!(
            "runs      {} in {}, {bytes}: {bytes_per_sample:.3} bytes a sample",
            plural(samples, "sample"),
            plural(runs, "run")
        ));
    }
    if let Some((from_ns, to_ns)) = info.runs_times_ns {
        lines.push(format!("          {} to {}", time::show(from_ns), time::show(to_ns)));
    }
    lines.extend(recycled_line(&info.recycled));
    if info.unsettled_bytes > 0 {
        let bytes = show_bytes(info.unsettled_bytes);
        let segments = info.segments_unsettled;
        let segments = plural(segments, "segment");
        lines.push(format!("unsettled {bytes} of samples in {segments} of the log"));
    }
    lines
}

/// What deletions have left, if there are any, for people.
pub(super) fn deleted_line(room: &DeletedRoom) -> Option<String> {
    let DeletedRoom { deletions, series, runs_bytes } = *room;
    let back = match runs_bytes {
        0 => "no run has any of it".to_owned(),
        bytes => format!("settling gives back about {}", show_bytes(bytes)),
    };
    let deletions_are = plural(deletions, "deletion");
    (deletions > 0).then(|| format!("{deletions_are} of {series} series and channels; {back}"))
}

fn print_pins(store: &Store, info: &Info, is_recorded: bool) {
    for pin in store.pins() {
        let name = if pin.name.is_empty() { "no name" } else { &pin.name };
        let (from_ns, to_ns) = pin.window_ns();
        let (from, to) = (time::show(from_ns), time::show(to_ns));
        let state = super::pin::said_state(pin, is_recorded);
        let why = super::pin::why(pin, is_recorded);
        out!("pin       {:016x} {name} ({state}): {from} to {to}{why}", pin.id);
    }
    if info.segments_kept > 0 {
        out!(
            "kept      {} in {} copied out of the log for pins",
            show_bytes(info.kept_bytes),
            plural(info.segments_kept as u64, "segment")
        );
    }
}

fn print_ring(ring: &FoundRing, store: &Path) {
    let report = &ring.report;
    if !ring.is_of(store) {
        let whose = baro_show::terminal(&ring.made_for(), '?');
        out!("ring      {}: of the store {whose}, which has the same id", ring.path.display());
        return;
    }
    out!(
        "ring      {}: {}; {} records, {} refused, {} not durable yet",
        ring.path.display(),
        match (ring.has_producer, ring.to_attach, ring.has_writer) {
            (true, true, _) => "a producer is attached",
            (false, true, true) => "free, to attach to",
            (true, false, _) => "of the recorder itself",
            (false, _, _) => "left for the next recorder",
        },
        report.offered,
        report.refused_full + report.refused_large,
        show_bytes(report.used_bytes)
    );
}

fn ring_json(ring: &FoundRing, store: &Path) -> serde_json::Value {
    json!({
        "path": ring.path.to_string_lossy(),
        "of_this_store": ring.is_of(store),
        "to_attach": ring.to_attach,
        "has_producer": ring.has_producer,
        "has_writer": ring.has_writer,
        "producer": format!("{:016x}", ring.report.producer),
        "offered": ring.report.offered,
        "refused_ring_full": ring.report.refused_full,
        "refused_too_large": ring.report.refused_large,
        "durable": ring.report.durable,
        "used_bytes": ring.report.used_bytes,
        "capacity_bytes": ring.report.capacity_bytes,
    })
}

/// What is not in the store's files.
#[derive(Debug)]
struct Around {
    recorder: Option<Holder>,
    settler: Option<Holder>,
    /// Why it does not settle.
    settling_stopped: Option<String>,
    rings: RingSearch,
    judged: Vec<Judged>,
}

/// What the device has taken, and what that means for its life.
#[derive(Clone, Copy, Debug)]
struct Wear {
    device_bytes: u64,
    log_bytes: u64,
    padding_bytes: u64,
    other_bytes: u64,
    /// At least so much was recorded.
    recorded_bytes: u64,
    /// What was recorded as far as it is counted, and the bytes of the log for it.
    payload_bytes: u64,
    counted_log_bytes: u64,
    /// Bytes of the log for each byte of payload.
    amplification: Option<f64>,
    tb_per_day: Option<f64>,
    days_left: Option<f64>,
}

impl Wear {
    fn new(info: &Info, tbw: Option<f64>) -> Self {
        let wear = info.wear;
        let (payload, counted) = (info.counted.payload_bytes, info.counted.log_bytes);
        let amplification = (payload > 0 && counted > 0).then(|| counted as f64 / payload as f64);
        let tb_per_day =
            info.rate.map(|(bytes, span_ns)| bytes as f64 / 1e12 * (86_400e9 / span_ns as f64));
        let left = tbw.map(|tbw| (tbw - wear.device_bytes() as f64 / 1e12).max(0.0));
        let days_left = left.zip(tb_per_day.filter(|rate| *rate > 0.0)).map(|(l, rate)| l / rate);
        Wear {
            device_bytes: wear.device_bytes(),
            log_bytes: wear.log_bytes,
            padding_bytes: wear.padding_bytes,
            other_bytes: wear.other_bytes,
            recorded_bytes: wear.payload_bytes,
            payload_bytes: payload,
            counted_log_bytes: counted,
            amplification,
            tb_per_day,
            days_left,
        }
    }

    fn print(&self, tbw: Option<f64>) {
        let all = self.counted_log_bytes == self.log_bytes;
        let factor = self.amplification.map(|factor| format!("that is {factor:.3} times as much"));
        let payload = match &factor {
            Some(factor) if all => {
                format!(" for {} recorded, {factor}", show_bytes(self.payload_bytes))
            }
            _ => String::new(),
        };
        out!(
            "wear      {} to the device since init: {} of the log{payload} ({} padding); {} beside it",
            show_bytes(self.device_bytes),
            show_bytes(self.log_bytes),
            show_bytes(self.padding_bytes),
            show_bytes(self.other_bytes)
        );
        if let Some(factor) = factor.filter(|_| !all) {
            out!(
                "          before the newest segment {} of the log for {} recorded, {factor}",
                show_bytes(self.counted_log_bytes),
                show_bytes(self.payload_bytes)
            );
        }
        if let Some(rate) = self.tb_per_day {
            let life = match (tbw, self.days_left) {
                (Some(tbw), Some(days)) => {
                    format!("; of {tbw} TB written the rest lasts {:.1} years", days / 365.25)
                }
                _ => String::new(),
            };
            out!("          {rate:.4} TB a day at the rate of the last session{life}");
        }
    }
}

fn as_json(
    arguments: &Arguments,
    store: &Store,
    info: &Info,
    wear: &Wear,
    around: &Around,
) -> serde_json::Value {
    let identity = &info.identity;
    let log_bytes = identity.segment_bytes * u64::from(identity.segments);
    let stops = identity.when_full == WhenFull::Stop;
    let is_recorded = around.recorder.is_some();
    let pins: Vec<_> = store.pins().map(|pin| super::pin::as_json(pin, is_recorded)).collect();
    let sessions: Vec<_> = info
        .sessions
        .iter()
        .map(|session| {
            json!({
                "session": session.session,
                "started_ns": session.started_ns,
                "from_start": session.from_start,
                "segments": session.segments,
                "blocks": session.blocks,
                "records": session.records,
                "time_min_ns": session.times_ns.map(|times| times.0),
                "time_max_ns": session.times_ns.map(|times| times.1),
            })
        })
        .collect();
    let damage: Vec<String> = store.damage().iter().map(ToString::to_string).collect();
    let rings = &around.rings.rings;
    let mut document = json!({
        "path": arguments.store.to_string_lossy(),
        "store": identity.store.to_string(),
        "created_ns": identity.created_ns,
        "log_bytes": log_bytes,
        "segment_bytes": identity.segment_bytes,
        "segments": identity.segments,
        "segments_used": info.segments_used,
        "segments_blank": info.segments_blank,
        "when_full": if stops { "stop" } else { "recycle" },
        "catalog_bytes": info.catalog_bytes,
        "catalog_used_bytes": info.catalog_used_bytes,
        "series": info.series,
        "channels": info.channels,
        "blocks": info.blocks,
        "records": info.records,
        "block_bytes": info.block_bytes,
        "padding_bytes": info.padding_bytes,
        "dead_blocks": info.dead_blocks,
        "time_min_ns": info.times_ns.map(|times| times.0),
        "time_max_ns": info.times_ns.map(|times| times.1),
        "segments_grown": info.segments_grown,
        "segments_kept": info.segments_kept,
        "kept_bytes": info.kept_bytes,
        "device_bytes": wear.device_bytes,
        "device_log_bytes": wear.log_bytes,
        "device_padding_bytes": wear.padding_bytes,
        "device_other_bytes": wear.other_bytes,
        "recorded_payload_bytes": wear.recorded_bytes,
        "write_amplification": wear.amplification,
        "tb_per_day": wear.tb_per_day,
        "tbw_days_left": wear.days_left,
        "pins": pins,
        "sessions": sessions,
        "damage": damage,
        "recorder_pid": around.recorder.and_then(|holder| holder.pid),
        "rings": rings.iter().map(|r| ring_json(r, &arguments.store)).collect::<Vec<_>>(),
        "rings_passed_over": around.rings.refused,
        "promises": promises::as_json(&around.judged),
        "recorder_memory_bytes_default": recorder_memory_bytes(identity.segment_bytes),
    });
    let runs = runs_json(info, &store.deleted_room(), around);
    if let (Some(document), serde_json::Value::Object(runs)) = (document.as_object_mut(), runs) {
        document.extend(runs);
    }
    document
}

/// What was reused before it was settled, if anything was, for people. Settling may still save some of it
/// beside a recorder: so it is the most that can be.
pub(super) fn recycled_line(recycled: &Recycled) -> Option<String> {
    let Recycled { segments, held, .. } = *recycled;
    let (records, samples) = (plural(held.records, "record"), plural(held.samples, "sample"));
    let segments = plural(segments, "segment");
    // Of some it may not be known what they held.
    (*recycled != Recycled::default()).then(|| {
        format!(
            "lost      {records} with {samples}, as far as known: {segments} of the log were reused before \
             they were settled, since init"
        )
    })
}

pub(super) fn recycled_json(recycled: &Recycled) -> serde_json::Value {
    let Recycled { segments, held, .. } = recycled;
    json!({ "segments": segments, "records": held.records, "samples": held.samples })
}

fn runs_json(info: &Info, deleted: &DeletedRoom, around: &Around) -> serde_json::Value {
    json!({
        "runs": info.runs,
        "runs_samples": info.runs_samples,
        "runs_bytes": info.runs_bytes,
        "runs_time_min_ns": info.runs_times_ns.map(|times| times.0),
        "runs_time_max_ns": info.runs_times_ns.map(|times| times.1),
        "bytes_per_sample": info.bytes_per_sample(),
        "segments_unsettled": info.segments_unsettled,
        "unsettled_bytes": info.unsettled_bytes,
        "recycled_unsettled": recycled_json(&info.recycled),
        "deletions": deleted.deletions,
        "deleted_series": deleted.series,
        "deleted_runs_bytes_estimated": deleted.runs_bytes,
        "settler_pid": around.settler.and_then(|holder| holder.pid),
        "settling_stopped": around.settling_stopped,
        "settling_memory_bytes_max": super::record::SETTLING_BYTES,
    })
}

/// What opening this store takes with the default options: ring and buffers, fixed.
fn recorder_memory_bytes(segment_bytes: u64) -> u64 {
    let options = baro_recorder::Options::default();
    baro_recorder::Recorder::memory_bytes_for(&options, segment_bytes) as u64
}
