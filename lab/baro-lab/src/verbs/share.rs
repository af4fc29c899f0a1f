//! `baro-lab share`: see `baro_lab::papers::share`.
//!
//! The reader with deadlines is this program once more (`baro-lab share-reader`), so that it can be in a
//! group of its own; it ends when its parent does.

use baro_bench::verb::experiment::{self, Files};
use baro_command::failure::{Outcome, Result};
use baro_command::size;
use baro_lab::papers::share::{Extent, NAME, ShareExperiment, ShareSpec, read_by_deadline, study};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder on the disk whose bandwidth is shared
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// The collapse and its cure, in three minutes: few cells, once each, and short
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Every size and setting, 60 s each, three times: a day
    #[arg(long)]
    full: bool,
    /// How often each cell is measured
    #[arg(long, value_name = "N")]
    repeats: Option<u32>,
    /// How long each is measured after its warm-up, s
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Bytes of each group's file, which loads go through over and over
    #[arg(long, value_name = "BYTES", value_parser = size::bytes)]
    file: Option<u64>,
    /// Only cells whose name begins so: pair/2:1/auto, alone-a, device, change, player, deadline
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    files: Files,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.files.only_study() {
        return experiment::study(NAME, &arguments.files, study);
    }
    let (extent, repeats, seconds) = match (arguments.quick, arguments.full) {
        (true, _) => (Extent::Quick, 1, 3),
        (_, true) => (Extent::Full, 3, 60),
        _ => (Extent::Default, 3, 4),
    };
    let mut share = ShareExperiment::new(ShareSpec {
        dir: arguments.dir.clone(),
        extent,
        repeats: arguments.repeats.unwrap_or(repeats),
        seconds: arguments.seconds.unwrap_or(seconds),
        // The largest I/O twice.
        file_bytes: arguments.file.unwrap_or(200 << 20),
        only: arguments.only.clone(),
        reader: vec![std::env::current_exe()?.into(), "share-reader".into()],
    })?;
    let machine = share.machine();
    experiment::measure(&mut share, machine, &arguments.files, study)
}

/// Reads for `baro-lab share` (internal).
#[derive(Debug, Args)]
pub(crate) struct Reader {
    file: PathBuf,
}

pub(crate) fn reader(arguments: &Reader) -> Result<Outcome> {
    let seed = u64::from(std::process::id());
    read_by_deadline(&arguments.file, seed, &mut std::io::stdout())?;
    Ok(Outcome::Done)
}
