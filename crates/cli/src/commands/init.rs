//! `baro init`: makes a store.

use super::{Format, print_json, promises};
use crate::failure::{Mistake, Outcome, Result};
use crate::size;
use baro_log::{
    CATALOG, CATALOG_NEW, FOLDER, Geometry, IDENTITY, LOCK, Role, StoreLock, init_growing,
    open_folder, read_identity, segment_name, switch_when_full,
};
use baro_ondisk::{Identity, StoreId, WhenFull};
use baro_promises::Look;
use baro_sys::disk::Disk;
use baro_sys::place::FixedFile;
use baro_sys::storage::Storage;
use baro_sys::{clock, identity};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro init /data/s --size 4G --recycle")]
pub(crate) struct Arguments {
    /// The folder; made if missing
    store: PathBuf,
    /// Size of the log, all of which is written now
    #[arg(long, value_parser = size::bytes, value_name = "SIZE")]
    size: Option<u64>,
    /// Size of the log, written while recording [default: 1G]
    ///
    /// Two segments are written now and the others while recording.
    #[arg(long, value_parser = size::bytes, conflicts_with = "size", value_name = "SIZE")]
    grow_to: Option<u64>,
    /// Size of the log, and that it recycles, from what baro plan --format json has written
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "grow_to", "when_full"])]
    plan: Option<PathBuf>,
    /// When the log is full, reuse its oldest part
    ///
    /// Without it new records are refused then.
    #[arg(long)]
    recycle: bool,
    /// Of a store that is there: what a full log does from now on
    ///
    /// Nothing else changes.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["size", "grow_to", "recycle"])]
    when_full: Option<Full>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// What happens when a log is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Full {
    /// The oldest segment is reused
    Recycle,
    /// New records are refused
    Stop,
}

impl Full {
    fn of(when_full: WhenFull) -> (&'static str, &'static str) {
        match when_full {
            WhenFull::Stop => ("stop", "refuses new records when full"),
            WhenFull::Recycle => ("recycle", "reuses the oldest segment when full"),
        }
    }
}

/// Changes what happens when the log of a store is full. A recorder has read it when it opened the store,
/// so none may run.
fn switch(path: &Path, full: Full, format: Format) -> Result<Outcome> {
    let disk = open_folder(path)?;
    read_identity(&disk, path)?;
    let Ok(_lock) = StoreLock::take(&disk, Role::Recording)? else {
        let who = StoreLock::holder(&disk, Role::Recording)?.and_then(|holder| holder.pid);
        let who = who.map_or("another process".to_owned(), |pid| format!("process {pid}"));
        let path = path.display();
        return Err(format!(
            "{path}: {who} records into this store: end it, run this again, and start it anew"
        )
        .into());
    };
    let when_full = match full {
        Full::Recycle => WhenFull::Recycle,
        Full::Stop => WhenFull::Stop,
    };
    let identity = switch_when_full(&disk, path, when_full)?;
    let (name, says) = Full::of(identity.when_full);
    match format {
        Format::Text => out!("{}: store {}, {says}", path.display(), identity.store),
        Format::Json => print_json(&json!({
            "path": path.to_string_lossy(),
            "store": identity.store.to_string(),
            "when_full": name,
        }))?,
    }
    Ok(Outcome::Done)
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if let Some(full) = arguments.when_full {
        return switch(&arguments.store, full, arguments.format);
    }
    let quiet = arguments.format != Format::Text;
    let planned = arguments.plan.as_deref().map(super::plan::log_bytes).transpose()?;
    let (log_bytes, grow) = match (arguments.size.or(planned), arguments.grow_to) {
        (Some(bytes), _) => (bytes, false),
        (None, bytes) => (bytes.unwrap_or(1 << 30), true),
    };
    let how = How { recycle: arguments.recycle || planned.is_some(), grow };
    let identity = make(&arguments.store, log_bytes, how, quiet)?;
    let log_bytes = identity.segment_bytes * u64::from(identity.segments);
    let judged = promises::at(&arguments.store, Look::Write);
    match arguments.format {
        Format::Text => {
            out!(
                "{}: store {}, {} segments of {}{}, {}",
                arguments.store.display(),
                identity.store,
                identity.segments,
                size::show_bytes(identity.segment_bytes),
                if grow { " (two now, the others while recording)" } else { "" },
                Full::of(identity.when_full).1
            );
            promises::lines(&judged).iter().for_each(|line| out!("{line}"));
            if let Some((allocated, segment)) = wasted(&arguments.store) {
                out!(
                    "note: each segment of {} takes {} of the device (a whole section of f2fs)",
                    size::show_bytes(segment),
                    size::show_bytes(allocated)
                );
            }
        }
        Format::Json => print_json(&json!({
            "path": arguments.store.to_string_lossy(),
            "store": identity.store.to_string(),
            "segments": identity.segments,
            "segment_bytes": identity.segment_bytes,
            "log_bytes": log_bytes,
            "init_segments": if grow { 2 } else { identity.segments },
            "when_full": Full::of(identity.when_full).0,
            "promises": promises::as_json(&judged),
        }))?,
    }
    Ok(Outcome::Done)
}

/// What the first segment takes and its size, if that is less.
fn wasted(store: &Path) -> Option<(u64, u64)> {
    let found = FixedFile::of(&store.join(segment_name(0))).ok()?;
    let (allocated, size) = (found.allocated_bytes, found.size_bytes);
    FixedFile::takes_more(allocated, size).then_some((allocated, size))
}

/// What kind of store is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// When the log is full, the oldest segment is reused.
    pub(crate) recycle: bool,
    /// Two segments are written now, the others while recording.
    pub(crate) grow: bool,
}

/// Files and folders that are there already; a file system of its own has the one of its repair.
fn others_in(folder: &Path) -> u64 {
    let there = baro_sys::files::list(folder).unwrap_or_default();
    // What an init that was stopped has left is replaced.
    let ours = ["lost+found", LOCK, FOLDER, CATALOG, CATALOG_NEW];
    there.iter().filter(|name| !ours.contains(&name.as_str())).count() as u64
}

/// The same, unless another process has made one meanwhile.
pub(crate) fn make_if_missing(path: &Path, log_bytes: u64, how: How, quiet: bool) -> Result<()> {
    match make(path, log_bytes, how, quiet) {
        Err(failure) if failure.causes().any(is_there) => Ok(()),
        made => made.map(|_| ()),
    }
}

fn is_there(cause: &(dyn std::error::Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(baro_log::Error::Exists { .. }))
}

/// Refuses what has no room before it fills the disk. What is there of an earlier one is replaced, so then only
/// writing can tell.
fn refuse_if_larger(path: &Path, needed_bytes: u64, free_bytes: Option<u64>) -> Result<()> {
    let there = [IDENTITY, FOLDER].iter().any(|name| baro_sys::files::exists(&path.join(name)));
    let Some(free) = free_bytes.filter(|free| !there && *free < needed_bytes) else {
        return Ok(());
    };
    let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    let source = baro_sys::Error::new("allocate", path, full);
    let failure = baro_log::Error::NoRoom { path: path.to_owned(), needed_bytes, source };
    // Only if it was made for this: another one has something in it.
    baro_sys::files::remove_if_empty(path);
    Err(format!("{failure}; {} were free", size::show_bytes(free)).into())
}

/// Makes a store; shows progress on a terminal unless `quiet`.
pub(crate) fn make(path: &Path, log_bytes: u64, how: How, quiet: bool) -> Result<Identity> {
    if path.starts_with("~") {
        let name = path.display();
        return Err(Mistake::new(format!(
            "{name}: no shell has put your home in place of ~: write the whole path, or ./{name} if the folder \
             is to have that name"
        ))
        .into());
    }
    let quiet = quiet || !baro_command::status_on_terminal();
    let when_full = if how.recycle { WhenFull::Recycle } else { WhenFull::Stop };
    let geometry =
        Geometry::for_log(log_bytes, when_full).map_err(|error| Mistake::new(error.to_string()))?;
    let others = others_in(path);
    let disk = Disk::create(path)?;
    let geometry = geometry.fitted_to(&disk);
    let mut id = StoreId::default();
    identity::random(&mut id.0)?;
    let segments = if how.grow { 2 } else { 0 };
    let total = match segments {
        0 => geometry.total_bytes(),
        some => geometry.segment_bytes * some + geometry.catalog_bytes,
    };
    let mut shown = 0;
    let progress = |done: u64| {
        let percent = done * 100 / total;
        if !quiet && percent > shown {
            shown = percent;
            status!("writing {} {percent} %", size::show_bytes(total));
        }
    };
    let free_bytes = disk.available_bytes();
    refuse_if_larger(path, total, free_bytes.as_ref().ok().copied().flatten())?;
    let made =
        init_growing(&disk, path, id, clock::realtime_ns(), &geometry, segments as u32, progress);
    if !quiet {
        baro_command::end_status();
    }
    if made.is_ok() && others > 0 {
        let (path, files) = (path.display(), baro_show::plural(others, "other file"));
        say!("note: {path} holds {files} beside the store: removing the folder removes them too");
    }
    made.map_err(|error| {
        let failure = crate::failure::Failure::from(error);
        let full = failure.causes().any(|cause| {
            cause.downcast_ref::<baro_sys::Error>().is_some_and(baro_sys::Error::is_full)
        });
        match free_bytes {
            Ok(Some(free)) if full => {
                format!("{failure}; {} were free", size::show_bytes(free)).into()
            }
            _ => failure,
        }
    })
}
