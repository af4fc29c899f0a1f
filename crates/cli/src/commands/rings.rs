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
    /// Without it all of this user, for root of everybody. Of a store that is gone: the path at which it
    /// was.
    store: Option<PathBuf>,
    /// Remove those that nobody needs
    ///
    /// That nobody uses and whose records are all in their store.
    #[arg(long)]
    clear: bool,
    /// With --clear: those too that hold records which are nowhere else
    ///
    /// Of the store given. Its records are lost then: if it was moved or is not mounted, bring it back
    /// first.
    #[arg(long, requires_all = ["clear", "store"])]
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
    let gone = store.filter(|path| !path.exists());
    let id = store.filter(|_| gone.is_none()).map(|path| Store::open(path)?.info());
    let id = id.transpose()?.map(|info| info.identity.store);
    let found = match (store.zip(id), gone) {
        (Some((path, id)), _) => rings_at(path, id, wanted),
        (None, Some(path)) => of_gone(path, wanted)?,
        (None, None) => RingSearch::of_all(wanted),
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
        Format::Text => {
            if found.rings.is_empty() && found.refused.is_empty() {
                out!("no rings");
            }
            found.refused.iter().for_each(|said| out!("passed over: {}", plain(said)));
            if arguments.clear && !found.refused.is_empty() {
                out!(
                    "not cleared: what was passed over, since nobody can tell what is in it; if no other \
                     version of baro made it, remove that file yourself"
                );
            }
        }
        Format::Json => print_json(&json!({ "rings": shown, "passed_over": found.refused }))?,
    }
    Ok(Outcome::Done)
}

/// The rings of a store that was at this path.
fn of_gone(path: &Path, wanted: Option<&Path>) -> Result<RingSearch> {
    let at = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut found = RingSearch::of_all(wanted);
    // A copy of a store has its id: what is there keeps its rings.
    let by_id = |ring: &FoundRing| {
        path.as_os_str() == ring.store.to_string().as_str() && ring.has_store() != Some(true)
    };
    found.rings.retain(|ring| ring.store_path == at || by_id(ring));
    // Of one that cannot be read nobody knows whose it is.
    if !found.refused.is_empty() {
        let count = baro_show::plural(found.refused.len() as u64, "ring");
        found.refused = vec![format!("{count} that cannot be read; baro rings names them")];
    }
    if found.rings.is_empty() {
        return Err(format!(
            "{path}: no store here, and none that was here has left rings; baro rings lists all, make one \
             with: baro init {path}",
            path = path.display()
        )
        .into());
    }
    let of_one = |ring: &FoundRing| Some(ring.store) == found.rings.first().map(|one| one.store);
    if !found.rings.iter().all(of_one) {
        return Err(format!(
            "{path}: expected rings of one store, found those of several that were here; if one was moved, \
             give it its rings: baro rings STORE --adopt; if none comes back, name each by its id, a part of the \
             paths that baro rings shows: baro rings {id} --clear",
            path = path.display(),
            id = found.rings.first().map_or(String::new(), |ring| ring.store.to_string()),
        )
        .into());
    }
    Ok(found)
}

/// What was done to a ring, in the words that are shown.
fn clear(arguments: &Arguments, ring: &FoundRing, state: State) -> Result<&'static str> {
    let store = arguments.store.as_deref();
    let foreign = store.is_some_and(|store| store.exists() && !ring.is_of(store));
    if !arguments.clear || foreign || state == State::Used {
        return Ok("");
    }
    let records = arguments.with_records;
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
        State::Orphan => format!(
            "its store is not there any more: {made_for}; if it was moved or restored: baro rings \
             STORE --adopt"
        ),
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
        count => format!("{} not in its store", baro_show::plural(count, "record")),
    };
    let next = match done {
        "kept" => {
            let place = ring.store_path.to_string_lossy();
            let store = if place.is_empty() { ring.store.to_string() } else { plain(&place) };
            format!("; baro rings {store} --clear --with-records throws these away too")
        }
        _ => String::new(),
    };
    out!(
        "{}{}: {}, {records}; {whose}{next}",
        if done.is_empty() { String::new() } else { format!("{done} ") },
        plain(&ring.path.to_string_lossy()),
        show_bytes(ring.file_bytes),
    );
}

fn as_json(ring: &FoundRing, state: State, done: &str) -> Value {
    json!({
        "path": ring.path.to_string_lossy(),
        "state": state.name(),
        "store": ring.store.to_string(),
        "store_path": ring.store_path.to_string_lossy(),
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
