//! `baro backup`: a second copy of a store, beside its recorder.

use super::{Format, RATE_BESIDE_RECORDER, is_recorded, print_json, verify};
use crate::failure::{Outcome, Result};
use crate::size::{self, show_bytes, show_ns};
use baro_store::{BackedUp, BackupOptions, ReadPace, Store, backup};
use baro_sys::storage::Access;
use baro_sys::{clock, schedule};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro backup /data/s /mnt/usb/s")]
pub(crate) struct Arguments {
    /// The store; only read
    store: PathBuf,
    /// Folder of the copy: missing, empty, or an earlier backup of the store
    copy: PathBuf,
    /// Leave out settled samples that are older than this
    ///
    /// Runs whose newest sample is older, measured from the newest one of all. Those that an earlier
    /// backup has brought are removed from the copy.
    #[arg(long, value_parser = size::nanoseconds_above_0, value_name = "TIME")]
    keep_runs: Option<u64>,
    /// Do not read the copy again at the end
    #[arg(long)]
    no_verify: bool,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// Beside a recorder it rests so many times as long as a piece took, as settling does.
const REST: u64 = 3;
/// Longest rest after a piece.
const REST_MAX_NS: u64 = 1_000_000_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let started_ns = clock::monotonic_ns();
    let options = BackupOptions { keep_ns: arguments.keep_runs };
    let beside = is_recorded(&arguments.store)?;
    let mut since_ns = started_ns;
    if beside {
        // Without it the backup is paced all the same.
        let _ = schedule::set_background();
    }
    let mut tick = |_| {
        let took_ns = clock::monotonic_ns().saturating_sub(since_ns);
        if beside {
            clock::sleep_ns((REST * took_ns).min(REST_MAX_NS));
        }
        since_ns = clock::monotonic_ns();
    };
    let done = backup(&arguments.store, &arguments.copy, &options, &mut tick)?;
    let took_ns = clock::monotonic_ns() - started_ns;
    let lacks = done.recycled_unsettled > 0;
    let damaged = Outcome::lost_if(lacks || done.damage.iter().any(baro_store::Damage::is_loss));
    if arguments.format == Format::Text {
        print(&done, took_ns);
    }
    // The copy may be on the recorder's disk.
    let pace = ReadPace::new(beside.then_some(RATE_BESIDE_RECORDER));
    let checked = match (arguments.no_verify, arguments.format) {
        (true, Format::Text) => Outcome::Done,
        (true, Format::Json) => {
            print_json(&as_json(&done, took_ns, None))?;
            Outcome::Done
        }
        (false, Format::Text) => {
            let copy = Store::open(&arguments.copy)?;
            verify::verify_and_print(&copy, Access::ReadDirect, pace)?
        }
        (false, Format::Json) => {
            let copy = Store::open(&arguments.copy)?;
            let (report, verified_ns) = verify::measured(&copy, Access::ReadDirect, pace, false)?;
            let verified = verify::as_json(&report, verified_ns);
            print_json(&as_json(&done, took_ns, Some(verified)))?;
            Outcome::lost_if(!report.is_whole())
        }
    };
    if checked == Outcome::Lost && arguments.format == Format::Text {
        out!("the copy is damaged: make another one in another folder, then remove this one");
    }
    Ok(if damaged == Outcome::Done { checked } else { damaged })
}

fn print(done: &BackedUp, took_ns: u64) {
    out!(
        "copied {} in {}: {} runs and {} segments of the log; {} were there",
        show_bytes(done.bytes),
        show_ns(took_ns),
        done.runs,
        done.segments,
        show_bytes(done.there_bytes)
    );
    if done.removed > 0 {
        out!("removed {} files that the store does not have, or that are too old", done.removed);
    }
    if done.recycled > 0 {
        out!(
            "{} segments were reused before they were copied: what of them is not in runs is not in \
             the copy",
            done.recycled
        );
    }
    if done.recycled_unsettled > 0 {
        out!(
            "{} of them held samples that were in no run: the copy lacks samples that the store had; \
             settle the store (baro settle, or record without --no-settle), then back it up again",
            done.recycled_unsettled
        );
    }
    done.damage.iter().for_each(|damage| out!("damage in the store: {damage}"));
}

fn as_json(
    done: &BackedUp,
    took_ns: u64,
    verified: Option<serde_json::Value>,
) -> serde_json::Value {
    let damage: Vec<String> = done.damage.iter().map(ToString::to_string).collect();
    json!({
        "first": done.first,
        "bytes": done.bytes,
        "there_bytes": done.there_bytes,
        "runs": done.runs,
        "segments": done.segments,
        "removed": done.removed,
        "recycled": done.recycled,
        "recycled_unsettled": done.recycled_unsettled,
        "took_ns": took_ns,
        "damage": damage,
        "copy": verified,
    })
}
