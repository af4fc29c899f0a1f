//! `baro share`: bandwidth of a disk by weight, without touching the programs that use it.
//!
//! `run` holds one group around a command, `hold` all groups of a profile; `status` measures shares
//! and says why they differ from what was asked; `install` makes a profile a service.

mod hold;
mod install;
mod profile;
mod run;
mod status;

use crate::failure::{Outcome, Result};
use baro_share::Registry;
use baro_sys::block_device::BlockDevice;
use baro_sys::place::Place;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command in a group of its own, with a weight
    ///
    /// Sets the scheduler of the disk and what goes with it while it runs, and puts all back at its end
    /// (docs/share.md lists each setting).
    Run(run::Arguments),
    /// Hold all groups of a profile until told to end
    Hold(hold::Arguments),
    /// What each group was asked to have, and what it has
    ///
    /// And why they differ.
    Status(status::Arguments),
    /// A service that holds the groups of a profile from boot on
    Install(install::Arguments),
}

pub(crate) fn run(command: &Command) -> Result<Outcome> {
    match command {
        Command::Run(arguments) => run::run(arguments),
        Command::Hold(arguments) => hold::run(arguments),
        Command::Status(arguments) => status::run(arguments),
        Command::Install(arguments) => install::run(arguments),
    }
}

/// Where groups are registered and where the journal of settings is.
#[derive(Clone, Debug, Args)]
struct Folders {
    /// Folder of the groups, on a tmpfs
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/run/barograph-share",
        hide_short_help = true
    )]
    run_dir: PathBuf,
    /// Folder of the journal of settings
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/lib/barograph-root/tune/share",
        hide_short_help = true
    )]
    state_dir: PathBuf,
}

impl Folders {
    fn registry(&self) -> Result<Registry> {
        Ok(Registry::open(&self.run_dir)?)
    }
}

/// Names of the disks that are meant by folders, files, devices or names: those that have queues.
fn disks(on: &[PathBuf]) -> Result<Vec<String>> {
    let here = [PathBuf::from(".")];
    let on = if on.is_empty() { &here[..] } else { on };
    let mut names = Vec::new();
    for path in on {
        collect(path, &mut names)?;
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn collect(path: &Path, names: &mut Vec<String>) -> Result<()> {
    let device = match BlockDevice::find(path) {
        Ok(device) => device,
        Err(error) => {
            // A folder or a file: the disk below it.
            let place = Place::of(path).map_err(|_| error)?;
            let Some(queue) = place.queue else {
                return Err(format!(
                    "{}: expected a folder on a disk or a disk, found {} without one (memory, \
                     network); name the disk with --on: `lsblk`",
                    path.display(),
                    place.kind
                )
                .into());
            };
            BlockDevice::find(Path::new(&queue.disk))?
        }
    };
    if device.has_requests {
        names.push(device.name);
        return Ok(());
    }
    if device.below.is_empty() {
        return Err(format!(
            "{}: has no queue of requests, so that nothing schedules it: expected a disk",
            device.name
        )
        .into());
    }
    device.below.iter().try_for_each(|below| collect(Path::new(below), names))
}
