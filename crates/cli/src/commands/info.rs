//! `baro info`: what a store holds, by its headers.

use super::{Format, print_json, promises};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use crate::time;
use baro_ondisk::WhenFull;
use baro_recorder::promises::Look;
use baro_recorder::{FoundRing, RingFolder};
use baro_store::Store;
use baro_sys::lock::LockFile;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store
    store: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let info = store.info();
    let identity = &info.identity;
    let log_bytes = identity.segment_bytes * u64::from(identity.segments);
    let stops = identity.when_full == WhenFull::Stop;
    let recorder = LockFile::holder(&arguments.store.join(baro_recorder::log::LOCK))?;
    let rings = RingFolder::rings(identity.store, None);
    let judged = promises::at(&arguments.store, Look::Read);
    let lossy = store.damage().iter().any(baro_store::Damage::is_loss);
    if arguments.format == Format::Json {
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
        print_json(&json!({
            "path": arguments.store,
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
            "sessions": sessions,
            "damage": damage,
            "recorder_pid": recorder.and_then(|holder| holder.pid),
            "rings": rings.iter().map(ring_json).collect::<Vec<_>>(),
            "promises": promises::as_json(&judged),
            "recorder_memory_bytes_default": recorder_memory_bytes(identity.segment_bytes),
        }))?;
        return Ok(Outcome::lost_if(lossy));
    }
    out!("store     {}, made {}", identity.store, time::show(identity.created_ns));
    out!(
        "log       {} in {} segments of {}; {} used, {} blank; when full: {}",
        show_bytes(log_bytes),
        identity.segments,
        show_bytes(identity.segment_bytes),
        info.segments_used,
        info.segments_blank,
        if stops { "refuses new records" } else { "reuses the oldest segment" }
    );
    out!(
        "holds     {} records in {} blocks, {} ({} padding)",
        info.records,
        info.blocks,
        show_bytes(info.block_bytes),
        show_bytes(info.padding_bytes)
    );
    out!("series    {} series, {} channels", info.series, info.channels);
    if let Some((from_ns, to_ns)) = info.times_ns {
        out!("times     {} to {}", time::show(from_ns), time::show(to_ns));
    }
    for session in &info.sessions {
        out!(
            "session   {:016x} from {}: {} records in {} segments{}",
            session.session,
            time::show(session.started_ns),
            session.records,
            session.segments,
            if session.from_start { "" } else { ", its beginning recycled" }
        );
    }
    out!(
        "memory    a recorder with one ring of 16 MiB takes {}",
        show_bytes(recorder_memory_bytes(identity.segment_bytes))
    );
    if let Some(pid) = recorder.and_then(|holder| holder.pid) {
        out!("recorder  process {pid}");
    }
    rings.iter().for_each(print_ring);
    for damage in store.damage() {
        out!("damage    {damage}");
    }
    promises::lines(&judged).iter().for_each(|line| out!("{line}"));
    Ok(Outcome::lost_if(lossy))
}

fn print_ring(ring: &FoundRing) {
    let report = &ring.report;
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

fn ring_json(ring: &FoundRing) -> serde_json::Value {
    json!({
        "path": ring.path,
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

/// What opening this store takes with the default options: ring and buffers, fixed.
fn recorder_memory_bytes(segment_bytes: u64) -> u64 {
    let options = baro_recorder::Options::default();
    baro_recorder::Recorder::memory_bytes_for(&options, segment_bytes) as u64
}
