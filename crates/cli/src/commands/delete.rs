//! `baro delete`: takes series, or what they have in an interval, out of a store.
//!
//! It counts at once and for every reader; settling gives the room back. See `docs/deleting.md`.
//! Test: `tests/delete.rs`.

use super::{Format, print_json, selection};
use crate::failure::{Outcome, Result};
use crate::time;
use baro_command::Lines;
use baro_store::{Damage, Deleted, Interval, Store};
use baro_sys::termination;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro delete /data/s 'temp{site=\"a\"}' --from 1h --dry-run")]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    ///
    /// What comes from now on stays.
    store: PathBuf,
    /// Names, 'cpu_*', or 'temp{site="a"}'
    ///
    /// Series and channels; patterns with * and ?; or selectors as temp{site="a",line=~"3.*"}.
    #[arg(required = true)]
    series: Vec<String>,
    /// From this time on: a date, a time of day, or how long ago
    ///
    /// 2026-11-21, '2026-11-21 21:03', 21:03 (today), yesterday, 1h (ago), 2026-11-21T21:03:49Z, seconds
    /// with a point or nanoseconds since 1970, now. All in UTC.
    #[arg(long, aliases = ["since", "start"], value_parser = time::parse_certain, allow_hyphen_values = true, value_name = "TIME")]
    from: Option<i64>,
    /// Up to this time, exclusive
    #[arg(long, aliases = ["until", "end", "stop"], value_parser = time::parse_certain, allow_hyphen_values = true, value_name = "TIME")]
    to: Option<i64>,
    /// Tell what would go, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// A turn takes a few syncs; that it is waited for is no news before.
const TOLD_NS: u64 = 1_000_000_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut store = Store::open(&arguments.store)?;
    let interval = time::interval(arguments.from, arguments.to)?;
    let ids = ids(&store, &arguments.series)?;
    let deleted = match arguments.dry_run {
        true => store.count_rows(&ids, interval)?,
        false => delete(&mut store, &ids, interval)?,
    };
    match arguments.format {
        Format::Text => text(&store, arguments, &deleted)?,
        Format::Json => json(&store, arguments, &deleted)?,
    }
    for pin in store.pins().filter(|pin| meets(pin.window_ns(), interval)) {
        let (name, did) = (&pin.name, if arguments.dry_run { "would go" } else { "is gone" });
        say!("pin {:016x} {name}: what is deleted of its window {did} from it too", pin.id);
    }
    deleted.damage.iter().for_each(|found| say!("damage: {found}"));
    Ok(Outcome::lost_if(deleted.damage.iter().any(Damage::is_loss)))
}

/// Deletes in its turn, for which it waits until a signal comes.
fn delete(store: &mut Store, ids: &[u32], interval: Interval) -> Result<Deleted> {
    termination::watch()?;
    let mut told = false;
    Ok(store.delete_with(ids, interval, &mut |holding, waited_ns| {
        if waited_ns >= TOLD_NS && !std::mem::replace(&mut told, true) {
            say!("waits for {holding}");
        }
        termination::requested().is_none()
    })?)
}

/// Whether a window, whose end is in it, has times of the interval.
fn meets((from_ns, to_ns): (i64, i64), interval: Interval) -> bool {
    to_ns >= interval.from_ns && (from_ns < interval.to_ns || interval.to_ns == i64::MAX)
}

/// What the selectors select, sorted; what was deleted whole before is not there.
fn ids(store: &Store, selectors: &[String]) -> Result<Vec<u32>> {
    let selection = selection::of(store, selectors)?;
    if let Some(field) = selection.columns().iter().find(|column| column.field().is_some()) {
        let name = &field.name;
        return Err(format!(
            "{name}: expected a series or a channel, found a field of one; frames are deleted whole"
        )
        .into());
    }
    let hidden = store.hidden()?;
    let mut ids = selection.ids();
    ids.retain(|id| !hidden.has(*id));
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        let what = selectors.join(" ");
        return Err(format!(
            "{what}: expected a series or channel that is there, found only deleted ones"
        )
        .into());
    }
    Ok(ids)
}

fn text(store: &Store, arguments: &Arguments, deleted: &Deleted) -> Result<()> {
    let mut out = Lines::printed();
    for (id, rows) in &deleted.rows {
        let (name, _) = super::du::known(store.catalog(), *id);
        row!(out, "{rows:>11}  {name}")?;
    }
    let (rows, series) = (deleted.rows.values().sum::<u64>(), deleted.rows.len());
    let what = if arguments.dry_run { "would be deleted" } else { "deleted" };
    row!(out, "{rows:>11}  of {series} series {what}")?;
    if let Some(line) =
        super::info::deleted_line(&store.deleted_room()).filter(|_| !arguments.dry_run)
    {
        row!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

fn json(store: &Store, arguments: &Arguments, deleted: &Deleted) -> Result<()> {
    let entry = |(id, rows): (&u32, &u64)| -> Value {
        let (name, kind) = super::du::known(store.catalog(), *id);
        json!({"id": id, "name": name, "type": kind, "samples": rows})
    };
    print_json(&json!({
        "dry_run": arguments.dry_run,
        "samples": deleted.rows.values().sum::<u64>(),
        "from_ns": arguments.from,
        "to_ns": arguments.to,
        "deleted_runs_bytes_estimated": store.deleted_room().runs_bytes,
        "series": deleted.rows.iter().map(entry).collect::<Vec<_>>(),
    }))
}
