//! `baro settle`: samples go from the log into runs, and small runs into larger ones.
//!
//! Beside a recorder it is paced as the recorder's own settling is. Killed at any moment it leaves
//! what is read as it was. Test: `tests/settle.rs`.

use super::{Format, is_recorded, print_json};
use crate::failure::{Outcome, Result};
use crate::size::{self, show_bytes, show_ns};
use baro_show::plural;
use baro_store::{
    DictionaryWritten, Error, Extent, Holding, RunRetention, SettleOptions, Settled, Settler, Store,
};
use baro_sys::{clock, schedule, termination};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro settle /data/s --all")]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// Settle also what is too little for a run worth writing
    #[arg(long)]
    all: bool,
    /// Drop runs that are older than this
    ///
    /// By their newest sample, measured from the newest one of all or from the clock, whichever is
    /// earlier.
    #[arg(long, value_parser = size::nanoseconds_above_0, value_name = "TIME")]
    keep_runs: Option<u64>,
    /// Drop the oldest runs while all together are larger than this
    #[arg(long, value_parser = size::kept, value_name = "SIZE")]
    runs_size: Option<u64>,
    /// Drop the oldest runs while the file system has less free than this
    ///
    /// None where all of them together would not give that much.
    #[arg(long, value_parser = size::left_free, value_name = "SIZE", default_value = "0")]
    min_free: u64,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// What all steps together did.
#[derive(Debug, Default)]
struct Done {
    settled: Settled,
    merged_bytes: u64,
    ended: bool,
    dictionary: Option<DictionaryWritten>,
}

impl Done {
    fn add(&mut self, step: Settled) {
        let sum = &mut self.settled;
        if step.merged > 0 {
            self.merged_bytes += step.bytes;
        } else {
            sum.samples += step.samples;
            sum.bytes += step.bytes;
        }
        sum.samples_read += step.samples_read;
        sum.runs += step.runs;
        sum.merged += step.merged;
        sum.dropped.runs += step.dropped.runs;
        sum.dropped.samples += step.dropped.samples;
        sum.dropped.bytes += step.dropped.bytes;
        sum.min_free_missed = step.min_free_missed;
        for damage in step.damage {
            if !sum.damage.contains(&damage) {
                sum.damage.push(damage);
            }
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let beside = is_recorded(&arguments.store)?;
    if beside {
        // Without it settling is paced all the same.
        let _ = schedule::set_background();
    }
    let options = SettleOptions {
        retention: RunRetention {
            keep_ns: arguments.keep_runs,
            keep_bytes: arguments.runs_size,
            min_free_bytes: arguments.min_free,
        },
        rest: if beside { super::record::REST } else { 0 },
        ..SettleOptions::default()
    };
    let told = AtomicBool::new(false);
    let turn = move |holding: Option<&Holding>| {
        if let Some(holding) = holding
            && !told.swap(true, Ordering::Relaxed)
        {
            say!("settling waits for {holding}");
        }
        termination::requested().is_none()
    };
    let mut settler = Settler::open_with(&arguments.store, options, turn)?;
    let extent = if arguments.all { Extent::All } else { Extent::Enough };
    let show = arguments.format == Format::Text && baro_command::status_on_terminal();
    let started_ns = clock::monotonic_ns();
    let mut done = Done::default();
    loop {
        let step = match settler.step(extent) {
            Err(Error::Ended) => {
                done.ended = true;
                break;
            }
            step => step?,
        };
        let more = step.more;
        done.add(step);
        if show {
            let Settled { samples, bytes, runs, merged, .. } = &done.settled;
            let bytes = show_bytes(*bytes);
            status!("{samples} samples in {runs} runs, {bytes}; {merged} merged");
        }
        done.ended = more && termination::requested().is_some();
        if !more || done.ended {
            break;
        }
    }
    if show {
        baro_command::end_status();
    }
    let mut damage: Vec<_> = std::mem::take(&mut done.settled.damage);
    match settler.write_dictionary() {
        Ok(written) => done.dictionary = written,
        // Only an index of the catalog, which is whole or not without it.
        Err(error @ Error::CatalogDamaged { .. }) => say!("{error}"),
        Err(Error::System(error)) if error.is_full() => {
            say!("no dictionary of names was written: {error}")
        }
        Err(error) => return Err(error.into()),
    }
    let mut store = settler.into_store();
    store.refresh()?;
    for found in store.damage_so_far() {
        if !damage.contains(&found) {
            damage.push(found);
        }
    }
    let took_ns = clock::monotonic_ns() - started_ns;
    print(arguments, &done, &damage, &store, took_ns)?;
    Ok(Outcome::lost_if(damage.iter().any(baro_store::Damage::is_loss)))
}

fn print(
    arguments: &Arguments,
    done: &Done,
    damage: &[baro_store::Damage],
    store: &Store,
    took_ns: u64,
) -> Result<()> {
    let info = store.info()?;
    let settled = &done.settled;
    if let Some(free_bytes) = settled.min_free_missed {
        say!(
            "note: --min-free {}: {} are free, and dropping all runs ({}) but those that pins or a table hold \
             would not give that: nothing was dropped for it",
            show_bytes(arguments.min_free),
            show_bytes(free_bytes),
            show_bytes(info.runs_bytes)
        );
    }
    let holds = store.pins().next().is_some()
        || store.handover().is_ok_and(|table| table.is_some_and(|table| table.holds));
    if let Some(most) = arguments.runs_size.filter(|most| holds && info.runs_bytes > *most) {
        say!(
            "note: --runs-size {}: runs take {} still; what pins or a table hold is not dropped, nor what may \
             correct it",
            show_bytes(most),
            show_bytes(info.runs_bytes)
        );
    }
    if arguments.format == Format::Json {
        let damage: Vec<String> = damage.iter().map(ToString::to_string).collect();
        return print_json(&json!({
            "took_ns": took_ns,
            "samples_read": settled.samples_read,
            "samples": settled.samples,
            "bytes": settled.bytes,
            "runs_written": settled.runs,
            "runs_merged": settled.merged,
            "merged_bytes": done.merged_bytes,
            "dropped_runs": settled.dropped.runs,
            "dropped_samples": settled.dropped.samples,
            "dropped_bytes": settled.dropped.bytes,
            "dictionary_names": done.dictionary.map(|written| written.names),
            "dictionary_bytes": done.dictionary.map(|written| written.bytes),
            "ended_early": done.ended,
            "runs": info.runs,
            "runs_samples": info.runs_samples,
            "runs_bytes": info.runs_bytes,
            "bytes_per_sample": info.bytes_per_sample(),
            "segments_unsettled": info.segments_unsettled,
            "unsettled_bytes": info.unsettled_bytes,
            "damage": damage,
        }));
    }
    out!(
        "settled {} into {} of {} in {}; merged {} times, {}",
        plural(settled.samples, "sample"),
        plural(settled.runs as u64, "run"),
        show_bytes(settled.bytes),
        show_ns(took_ns),
        settled.merged,
        show_bytes(done.merged_bytes)
    );
    if settled.dropped.runs > 0 {
        out!(
            "dropped {} with {}, {}",
            plural(settled.dropped.runs, "run"),
            plural(settled.dropped.samples, "sample"),
            show_bytes(settled.dropped.bytes)
        );
    }
    if let Some(written) = done.dictionary {
        out!("wrote a dictionary of {} names, {}", written.names, show_bytes(written.bytes));
    }
    super::info::runs_lines(&info).iter().for_each(|line| out!("{line}"));
    if done.ended {
        out!("ended before all was done; call it again to go on");
    } else if !arguments.all && info.unsettled_bytes > 0 {
        out!("too little for a run worth writing is left; --all settles it too");
    }
    damage.iter().for_each(|damage| out!("DAMAGE {damage}; {}", damage.next_step()));
    Ok(())
}
