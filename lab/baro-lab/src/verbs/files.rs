//! `baro-lab files`: see `baro_lab::papers::files`.
//!
//! The writing processes are this program once more (`baro-lab files-worker`), so that each has a memory
//! of its own to be limited; it ends when its input does.

use baro_bench::experiment::Machine;
use baro_bench::verb::experiment::{self, Files};
use baro_command::failure::{Outcome, Result};
use baro_command::say;
use baro_lab::papers::files::{
    Device, Extent, FilesExperiment, FilesOptions, NAME, SCALE, study, work,
};
use baro_sys::termination;
use clap::{Args, ValueEnum};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for the image of a file system: 2 GB, or 100 GB divided by --scale
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// The device: modelled on a loop device (root), or none, the machine's own speed
    #[arg(long, value_enum, default_value_t)]
    device: Model,
    /// A corner of the matrix, in a minute and a half
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As the paper: its sizes, all its B and F, 60 minutes a cell
    #[arg(long)]
    full: bool,
    /// Divide the paper's sizes (file system, cache, F) by this; 50, with --full 1
    #[arg(long, value_name = "N")]
    scale: Option<u64>,
    /// Only cells whose name begins so: matrix/F=1/, store, rate, read, layer
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    files: Files,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Model {
    /// 124 MB/s, 250 writes and 150 reads a second: the paper's disk
    #[default]
    Hdd,
    /// 197 MB/s written, 20,000 requests/s: the paper's SSD
    Ssd,
    /// 12 MB/s written, 80 MB/s read
    Emmc,
    /// The machine's own speed
    None,
}

impl Model {
    fn device(self) -> Device {
        match self {
            Self::Hdd => Device::Hdd,
            Self::Ssd => Device::Ssd,
            Self::Emmc => Device::Emmc,
            Self::None => Device::None,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.files.only_study() {
        return experiment::study(NAME, &arguments.files, study);
    }
    let extent = match (arguments.quick, arguments.full) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Full,
        _ => Extent::Default,
    };
    let scale = arguments.scale.unwrap_or(if extent == Extent::Full { 1 } else { SCALE });
    let mut files = FilesExperiment::new(FilesOptions {
        dir: arguments.dir.clone(),
        extent,
        device: arguments.device.device(),
        scale,
        only: arguments.only.clone(),
        worker: vec![std::env::current_exe()?.into(), "files-worker".into()],
        no_stand: None,
        no_model: None,
    })?;
    if let Some(reason) = files.no_stand() {
        say!(
            "baro-lab: {reason}: without it cells are measured in the folder itself, at the machine's own \
             speed, with all its cache, and requests are not counted"
        );
    } else if let Some(reason) = files.no_model() {
        say!(
            "baro-lab: the device is not modelled: that {reason}; --device none says so beforehand"
        );
    }
    let machine = Machine::of(&arguments.dir);
    experiment::measure(&mut files, machine, &arguments.files, study)
}

/// Writes for `baro-lab files` (internal).
#[derive(Debug, Args)]
pub(crate) struct Worker {}

pub(crate) fn worker(_: &Worker) -> Result<Outcome> {
    // A Ctrl-C is for whoever asked, who then closes the pipe.
    termination::watch()?;
    work(BufReader::new(std::io::stdin()).lines(), std::io::stdout())?;
    Ok(Outcome::Done)
}
