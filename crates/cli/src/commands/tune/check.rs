//! `baro tune check`: what a recorder needs of this machine, found and wanted. Changes nothing.

use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_recorder::{Options, Recorder, RingFolder};
use baro_sys::place::Place;
use baro_sys::schedule::Rights;
use baro_tune::{Circumstances, MountFacts, Need, Verdict, check};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Segments of the log that `baro init` makes where nothing is said.
const SEGMENT_BYTES: u64 = 16 << 20;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The store, or the folder it will be in: its file system and device are looked at too
    store: Option<PathBuf>,
    /// Memory of the ring that will be locked
    #[arg(long, default_value = "16M", value_parser = size::bytes)]
    ring: u64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Check) -> Result<Outcome> {
    let store = arguments.store.as_deref().map(Place::of).transpose()?;
    let rights = Rights::own();
    let ring_bytes = usize::try_from(arguments.ring).unwrap_or(usize::MAX);
    let options = Options { ring_bytes, ..Options::default() };
    let rings = RingFolder::base().and_then(|base| Place::of(existing(&base)).ok());
    let needs = check(&Circumstances {
        root: PathBuf::from("/"),
        locked_bytes: Recorder::memory_bytes_for(&options, SEGMENT_BYTES) as u64,
        memlock_bytes: rights.memlock_bytes,
        may_lock: rights.may_lock,
        realtime_priority_max: rights.realtime_priority_max,
        may_realtime: rights.may_realtime,
        rings: rings.map(mount),
        store: store.map(mount),
    });
    let changes = needs.iter().filter(|need| need.verdict == Verdict::Change).count();
    match arguments.format {
        Format::Text => print_text(&needs, changes),
        Format::Json => print_json(&json!({
            "needs": needs.iter().map(as_json).collect::<Vec<_>>(),
            "to_change": changes,
        }))?,
    }
    Ok(Outcome::lost_if(changes > 0))
}

/// The folder itself, or what of its path is there.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| baro_sys::disk::exists(path)).unwrap_or(Path::new("/"))
}

fn mount(mut place: Place) -> MountFacts {
    while let Some(upper) = place.upper.take() {
        place = *upper;
    }
    MountFacts {
        kind: place.kind,
        mount_point: place.mount_point,
        options: place.options,
        disk: place.queue.map(|queue| queue.disk),
    }
}

fn print_text(needs: &[Need], changes: usize) {
    for need in needs {
        out!("{:<6}  {}: {}", need.verdict.name(), need.name, need.found);
        if need.verdict != Verdict::Good {
            out!("        wanted: {}; {}", need.wanted, need.why);
        }
        if let Some(command) = &need.command {
            out!("        {command}");
        }
    }
    match changes {
        0 => out!("nothing to change"),
        1 => out!("1 setting should be changed"),
        changes => out!("{changes} settings should be changed"),
    }
}

fn as_json(need: &Need) -> serde_json::Value {
    json!({
        "name": need.name,
        "verdict": need.verdict.name(),
        "found": need.found,
        "wanted": need.wanted,
        "why": need.why,
        "command": need.command,
    })
}
