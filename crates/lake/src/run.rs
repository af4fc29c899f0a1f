//! `baro lake`: from its options to hand-overs, one or one after the other.

use crate::error::{Error, Result as Handed};
use crate::handover::{Done, Lake, check_new};
use crate::place::{self, Local, Place, check_apart};
use baro_command::failure::{Outcome, Result};
use baro_command::{Format, lake::Lake as Options, print_json};
use baro_show::bytes;
use baro_store::{Handover, Store};
use baro_sys::{clock, schedule, termination};
use serde_json::json;
use std::path::Path;

/// How often it looks whether it is to end.
const LOOK_NS: u64 = 100_000_000;

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    termination::watch()?;
    // A recorder beside goes first, at the processor and at the device.
    let _ = schedule::set_background();
    let store = Store::open(&options.store)?;
    let Some(table) = options.table.as_deref().filter(|_| !options.release) else {
        return release(&store, options);
    };
    check_apart(table, &options.store)?;
    let at = |error: Error| Error::At {
        store: options.store.clone(),
        table: table.to_owned(),
        error: Box::new(error),
    };
    let mut lake = begin(store, table, options).map_err(at)?;
    let mut is_lost = false;
    let mut done = lake.round();
    // What is wrong at the begin ends it, so that who has started it learns of it; what comes later may
    // pass, and so may what is wrong with a run.
    let mut is_first = true;
    loop {
        let error = match done {
            Ok(done) => {
                is_lost |= told(options, table, &done)?;
                done.then
            }
            Err(error) => Some(error),
        };
        match (error, options.every) {
            (Some(Error::Ended), Some(_)) => break,
            (Some(error), Some(every_ns))
                if error.is_of_a_run() || error.may_pass() && !is_first =>
            {
                say!("{}; trying again in {}", at(error), baro_show::duration(every_ns));
            }
            (Some(error), _) => return Err(at(error).into()),
            (None, _) => {}
        }
        is_first = false;
        let Some(every_ns) = options.every else { break };
        let next_ns = clock::monotonic_ns().saturating_add(every_ns.max(LOOK_NS));
        while clock::monotonic_ns() < next_ns && termination::requested().is_none() {
            clock::sleep_ns(LOOK_NS);
        }
        if termination::requested().is_some() {
            break;
        }
        done = lake.round();
    }
    Ok(Outcome::lost_if(is_lost))
}

/// Opens the table's folder, or makes it if the store is not to have another table.
fn begin(store: Store, table: &Path, options: &Options) -> Handed<Lake<Box<dyn Place>>> {
    let place = match place::open(table)? {
        Some(place) => place,
        None => {
            check_new(store.handover()?)?;
            Box::new(Local::make(table)?)
        }
    };
    Ok(Lake::new(store, place, options.skip_damaged))
}

/// Prints what was done; whether something could not be read.
fn told(options: &Options, table: &Path, done: &Done) -> Result<bool> {
    if let Some(warning) = &done.warning {
        say!("warning: {}: {warning}", table.display());
    }
    for damage in &done.damage {
        say!("{}: {damage}", options.store.display());
    }
    if options.format == Format::Json {
        print_json(&json!({
            "runs": done.runs,
            "samples": done.samples,
            "files": done.files,
            "bytes": done.bytes,
            "version": done.version,
            "damage": done.damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))?;
    } else if let Some(version) = done.version {
        out!(
            "{} samples of {} runs handed over to version {version} of {}: {} in {} files",
            done.samples,
            done.runs,
            table.display(),
            bytes(done.bytes),
            done.files
        );
    } else if options.every.is_none() {
        out!("nothing to hand over: all that has settled is in {}", table.display());
    }
    Ok(!done.damage.is_empty())
}

/// Lets settling drop what the table has not got.
fn release(store: &Store, options: &Options) -> Result<Outcome> {
    let Some(_lock) = store.lock_handover()? else { return Err(Error::AlreadyRunning.into()) };
    let known = match store.handover() {
        // Which table it was is not known any more, so there is nothing to be gone on with.
        Err(baro_store::Error::Handover { .. }) => {
            store.put_handover(None)?;
            None
        }
        other => other?,
    };
    let was_held = known.is_some_and(|known| known.holds);
    if let Some(known) = known.filter(|known| known.holds) {
        store.put_handover(Some(&Handover { holds: false, ..known }))?;
    }
    if options.format == Format::Json {
        print_json(&json!({"was_held": was_held}))?;
    } else if was_held {
        out!("released: runs are dropped by their age and size, also those that no table has");
    } else {
        out!("nothing to release: {} is not held for a table", options.store.display());
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests;
