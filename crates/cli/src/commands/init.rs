//! `baro init`: makes a store.

use super::{Format, print_json, promises};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_ondisk::{Identity, StoreId, WhenFull};
use baro_recorder::log::{Geometry, init};
use baro_recorder::promises::Look;
use baro_sys::disk::Disk;
use baro_sys::{clock, identity};
use clap::Args;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder; made if missing
    store: PathBuf,
    /// Size of the log, all of which is written now
    #[arg(long, default_value = "1G", value_parser = size::bytes)]
    size: u64,
    /// When the log is full, reuse the oldest segment instead of refusing new records
    #[arg(long)]
    recycle: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let quiet = arguments.format != Format::Text;
    let identity = make(&arguments.store, arguments.size, arguments.recycle, quiet)?;
    let log_bytes = identity.segment_bytes * u64::from(identity.segments);
    let judged = promises::at(&arguments.store, Look::Write);
    match arguments.format {
        Format::Text => {
            out!(
                "{}: store {}, {} segments of {}, {}",
                arguments.store.display(),
                identity.store,
                identity.segments,
                size::show_bytes(identity.segment_bytes),
                match identity.when_full {
                    WhenFull::Stop => "refuses new records when full",
                    WhenFull::Recycle => "reuses the oldest segment when full",
                }
            );
            promises::lines(&judged).iter().for_each(|line| out!("{line}"));
        }
        Format::Json => print_json(&json!({
            "path": arguments.store,
            "store": identity.store.to_string(),
            "segments": identity.segments,
            "segment_bytes": identity.segment_bytes,
            "log_bytes": log_bytes,
            "when_full": if identity.when_full == WhenFull::Stop { "stop" } else { "recycle" },
            "promises": promises::as_json(&judged),
        }))?,
    }
    Ok(Outcome::Done)
}

/// Makes a store; shows progress on a terminal unless `quiet`.
pub(crate) fn make(path: &Path, log_bytes: u64, recycle: bool, quiet: bool) -> Result<Identity> {
    let quiet = quiet || !std::io::stderr().is_terminal();
    let when_full = if recycle { WhenFull::Recycle } else { WhenFull::Stop };
    let geometry = Geometry::for_log(log_bytes, when_full)?;
    let disk = Disk::create(path)?;
    let mut id = StoreId::default();
    identity::random(&mut id.0)?;
    let total = geometry.total_bytes();
    let mut shown = 0;
    let progress = |done: u64| {
        let percent = done * 100 / total;
        if !quiet && percent > shown {
            shown = percent;
            eprint!("\rwriting {} {percent} %", size::show_bytes(total));
            let _ = std::io::stderr().flush();
        }
    };
    let made = init(&disk, path, id, clock::realtime_ns(), &geometry, progress);
    if !quiet {
        eprint!("\r\x1b[K");
    }
    Ok(made?)
}
