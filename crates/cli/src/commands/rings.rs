//! `baro rings`: shared memory that recorders and producers have left, and what is still in it.
//!
//! A ring outlives its recorder so that the next one finds what was not in the store yet. Where no
//! next one comes, because the store was removed or is a copy's original, the ring takes memory until
//! the machine is shut down: this lists such rings, and clears them.
//!
//! Invariant: what somebody uses is never cleared, and what holds records that are not in their store
//! only if that was said. Held by `tests/rings.rs`.

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use baro_recorder::inspect::{FoundRing, RingSearch, rings_at};
use baro_store::Store;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro rings /data/s --clear")]
pub(crate) struct Arguments {
    /// Only those of this store
    ///
    /// Without it all of this user, for root of everybody.
    store: Option<PathBuf>,
    /// Remove those that nobody needs
    ///
    /// That nobody uses and whose records are all in their store.
    #[arg(long)]
    clear: bool,
    /// With --clear: those too that hold records which are nowhere else
    ///
    /// Of the store given, or of one that is gone for good: the folder above it is there, on the same
    /// device, and has it under no other name.
    #[arg(long, requires = "clear")]
    with_records: bool,
    /// Give the rings of this id to this store
    ///
    /// After it was restored, or its disk was mounted anew.
    #[arg(long, requires = "store", conflicts_with = "clear")]
    adopt: bool,
    /// Where record was told to have its rings
    #[arg(long, value_name = "DIR")]
    rings: Option<PathBuf>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// What a ring waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Somebody has it.
    Used,
    /// Its store is where it was: for the next recorder.
    Waits,
    /// There is no store any more that would take it.
    Orphan,
    /// Its store may be elsewhere, or it is of a version that does not say where that was.
    Unknown,
}

impl State {
    fn of(ring: &FoundRing, store: Option<&Path>) -> Self {
        if ring.has_producer || ring.has_writer {
            return State::Used;
        }
        match (store, ring.has_store()) {
            (Some(store), _) if ring.is_of(store) => State::Waits,
            (_, Some(true)) => State::Waits,
            (_, Some(false)) => State::Orphan,
            (_, None) => State::Unknown,
        }
    }

    fn name(self) -> &'static str {
        match self {
            State::Used => "used",
            State::Waits => "waits",
            State::Orphan => "orphan",
            State::Unknown => "unknown",
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let (store, wanted) = (arguments.store.as_deref(), arguments.rings.as_deref());
    let id =
        store.map(|path| Store::open(path)?.info()).transpose()?.map(|info| info.identity.store);
    let found = match store.zip(id) {
        Some((path, id)) => rings_at(path, id, wanted),
        None => RingSearch::of_all(wanted),
    };
    let mut shown = Vec::new();
    for ring in &found.rings {
        let state = State::of(ring, store);
        let done = match store.zip(id).filter(|_| arguments.adopt) {
            Some((path, id)) => adopt(ring, path, id)?,
            None => clear(arguments, ring, state)?,
        };
        match arguments.format {
            Format::Text => print(ring, state, done),
            Format::Json => shown.push(as_json(ring, state, done)),
        }
    }
    match arguments.format {
        Format::Text => found.refused.iter().for_each(|said| out!("passed over: {}", plain(said))),
        Format::Json => print_json(&json!({ "rings": shown, "passed_over": found.refused }))?,
    }
    Ok(Outcome::Done)
}

/// What was done to a ring, in the words that are shown.
fn clear(arguments: &Arguments, ring: &FoundRing, state: State) -> Result<&'static str> {
    let given = arguments.store.as_deref().is_some_and(|store| ring.is_of(store));
    let foreign = arguments.store.is_some() && !given;
    if !arguments.clear || foreign || state == State::Used {
        return Ok("");
    }
    let records = arguments.with_records && (given || state == State::Orphan);
    if ring.waiting() > 0 && !records {
        return Ok("kept");
    }
    ring.clear(records)?;
    Ok("cleared")
}

fn adopt(ring: &FoundRing, path: &Path, id: baro_ondisk::StoreId) -> Result<&'static str> {
    if ring.is_of(path) {
        return Ok("");
    }
    ring.adopt(path, id)?;
    Ok("adopted")
}

fn plain(text: &str) -> String {
    baro_show::terminal(text, '?')
}

fn print(ring: &FoundRing, state: State, done: &str) {
    let made_for = plain(&ring.made_for());
    let whose = match state {
        State::Used => "in use".to_owned(),
        State::Waits => format!("waits for the next recorder of {made_for}"),
        State::Orphan => format!("its store is gone: {made_for}"),
        State::Unknown if ring.store_path.as_os_str().is_empty() => {
            format!("of store {}, place unknown; if that is there: baro rings STORE", ring.store)
        }
        State::Unknown => format!(
            "its store was not found where it was: {made_for}; if it was renamed, or its disk is not \
             mounted: baro rings STORE"
        ),
    };
    let records = match ring.waiting() {
        0 => "nothing that is not in its store".to_owned(),
        count => format!("{count} records that are not in its store"),
    };
    out!(
        "{}{}: {}, {records}; {whose}",
        if done.is_empty() { String::new() } else { format!("{done} ") },
        plain(&ring.path.to_string_lossy()),
        show_bytes(ring.file_bytes),
    );
}

fn as_json(ring: &FoundRing, state: State, done: &str) -> Value {
    json!({
        "path": ring.path,
        "state": state.name(),
        "store": ring.store.to_string(),
        "store_path": ring.store_path,
        "to_attach": ring.to_attach,
        "has_producer": ring.has_producer,
        "has_writer": ring.has_writer,
        "offered": ring.report.offered,
        "durable": ring.report.durable,
        "waiting": ring.waiting(),
        "used_bytes": ring.report.used_bytes,
        "file_bytes": ring.file_bytes,
        "cleared": done == "cleared",
        "adopted": done == "adopted",
    })
}
