//! `baro trace install`: a service that records from boot on, and keeps only what was slow.
//!
//! What is there and was not written by us stays. What the service manager must be told is done where
//! it runs, and said where it does not (an image that is made for another machine).
//!
//! Invariant: `--remove` leaves the traces and nothing else that an install wrote. Held by
//! `a_service_is_written_again_and_removed` and `a_unit_of_somebody_else_stays`.

mod unit;

use crate::commands::units::{self, There, UNITS, WANTED, look, plain, tell};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_sys::schedule;
use clap::Args;
use std::path::{Path, PathBuf};
use unit::{HIDDEN, MARKER, NAME, Unit};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro trace install --over 200ms")]
pub(super) struct Arguments {
    /// A call is slow if it waited this long
    #[arg(long, value_parser = time, value_name = "TIME", default_value = "500ms")]
    over: String,
    /// How much before a slow call is in its trace
    #[arg(long, value_parser = time, value_name = "TIME", default_value = "60s")]
    ring: String,
    /// Traces that are kept; older ones are removed
    #[arg(long, value_name = "N", default_value = "10",
          value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    /// Where traces go; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "/var/lib/barograph-traces")]
    folder: PathBuf,
    /// Install below this folder, which becomes / of another machine
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Undo it: stop the service and remove its unit; traces stay
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Only show the unit
    #[arg(long)]
    print: bool,
    /// Also replace or remove a unit of this name that we did not write
    #[arg(long)]
    replace: bool,
}

/// A time that will do, as it was typed.
fn time(text: &str) -> std::result::Result<String, String> {
    let text = text.trim();
    let long = size::nanoseconds(text)?;
    match long {
        0 => Err("expected a time above 0, found 0".to_owned()),
        _ if text.contains(char::is_whitespace) => Err(format!("expected no space in {text:?}")),
        _ => Ok(text.to_owned()),
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    let folder = plain("--folder", &arguments.folder)?;
    if arguments.print {
        baro_command::print_lines(&text(arguments, folder)?)?;
        return Ok(Outcome::Done);
    }
    let is_here = arguments.root == Path::new("/");
    if is_here && !schedule::is_root() {
        return Err(
            "needs root, to write the unit and to record: call it with sudo; --print shows \
                    the unit, --root DIR installs below a folder of your own"
                .into(),
        );
    }
    let path = arguments.root.join(UNITS).join(NAME);
    let there = look(&path, MARKER)?;
    if there == There::Foreign && !arguments.replace {
        return Err(format!(
            "{}: expected a unit of ours, found one without our first line ({MARKER:?}); it is left as \
             it is, --replace takes its place",
            path.display()
        )
        .into());
    }
    let traces = arguments.root.join(folder.trim_start_matches('/'));
    let manager = is_here && Path::new("/run/systemd/system").exists();
    if arguments.remove {
        return remove(&arguments.root, manager, &traces, there);
    }
    let text = text(arguments, folder)?;
    if is_here {
        units::check_is_roots(&std::env::current_exe()?)?;
    }
    // For root and its group: traces tell names of all processes. Nobody else may put anything there, since root
    // removes the oldest ones.
    units::make_folder(&arguments.root, &traces, 0o750)?;
    units::write(&arguments.root, &path, &text)?;
    out!("{}: written", path.display());
    out!("{}: traces of calls that waited {}", traces.display(), arguments.over);
    // One that runs goes on with its old options until it is started anew.
    tell(manager, NAME, &[&["daemon-reload"], &["enable", NAME], &["restart", NAME]])?;
    Ok(Outcome::Done)
}

fn text(arguments: &Arguments, folder: &str) -> Result<String> {
    let program = std::env::current_exe().map_err(|error| {
        format!("cannot tell which program this is: {error}; is /proc mounted?")
    })?;
    let real = arguments.root == Path::new("/");
    let seen = std::fs::canonicalize(folder).ok().filter(|_| real);
    visible("this program", &program)?;
    visible("--folder", seen.as_deref().unwrap_or(Path::new(folder)))?;
    Ok(Unit {
        program: plain("this program", &program)?,
        folder,
        ring: &arguments.ring,
        over: &arguments.over,
        keep: arguments.keep as usize,
    }
    .text())
}

/// The service has folders of its own in place of these: see [`Unit::text`].
fn visible(what: &str, path: &Path) -> Result<()> {
    match HIDDEN.iter().find(|(dir, _)| path.starts_with(dir)) {
        None => Ok(()),
        Some((dir, why)) => Err(format!(
            "{what}: expected a place that the service sees, found {}, below {dir}, which is another folder \
             for it ({why}): install the package, or copy it to a place such as /usr/local/bin, and for \
             traces take the default folder",
            path.display()
        )
        .into()),
    }
}

fn remove(root: &Path, manager: bool, traces: &Path, there: There) -> Result<Outcome> {
    let folder = root.join(UNITS);
    let path = folder.join(NAME);
    if there == There::Nothing {
        out!("{}: not there", path.display());
    } else {
        tell(manager, NAME, &[&["disable", "--now", NAME]])?;
        units::remove(root, &path)?;
        out!("{}: removed", path.display());
        tell(manager, NAME, &[&["daemon-reload"]])?;
    }
    // Of an image nobody is told: what enabling there has made.
    units::remove(root, &folder.join(WANTED).join(NAME))?;
    units::remove_if_empty(root, traces);
    if traces.is_dir() {
        out!("{}: the traces stay", traces.display());
    }
    Ok(Outcome::Done)
}
