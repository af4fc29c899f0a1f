//! `baro bench files`: see `baro_bench::experiment::files`.
//!
//! The writing processes are this program once more (`bench files-worker`), so that each has a memory
//! of its own to be limited; it ends when its input does.

use crate::failure::{Outcome, Result};
use baro_bench::experiment::files::{Device, Extent, FilesExperiment, FilesOptions, SCALE};
use baro_bench::experiment::{Machine, run as measure};
use baro_sys::termination;
use clap::Args;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for an image of the file system; 2 GB unless --scale says otherwise
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// A corner of the matrix, in a minute and a half
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The paper's cells at its sizes, an hour each
    #[arg(long)]
    full: bool,
    #[arg(long, default_value = "hdd")]
    device: String,
    #[arg(long)]
    scale: Option<u64>,
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    only: Vec<String>,
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let extent = if arguments.quick {
        Extent::Quick
    } else if arguments.full {
        Extent::Full
    } else {
        Extent::Default
    };
    let device = Device::ALL.into_iter().find(|device| device.name() == arguments.device);
    let mut experiment = FilesExperiment::new(FilesOptions {
        dir: arguments.dir.clone(),
        extent,
        device: device.ok_or("no such device")?,
        scale: arguments.scale.unwrap_or(SCALE),
        only: arguments.only.clone(),
        worker: vec![std::env::current_exe()?.into(), "bench".into(), "files-worker".into()],
        no_stand: None,
    })?;
    let machine = Machine::of(&arguments.dir);
    let stop = AtomicBool::new(false);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                stop.fetch_or(termination::requested().is_some(), Relaxed);
                baro_sys::clock::sleep_ns(20_000_000);
            }
        });
        let result = measure(&mut experiment, machine, &arguments.out, &stop, &mut |p| {
            eprintln!("{p:?}");
        });
        done.store(true, Relaxed);
        result
    })?;
    Ok(Outcome::Done)
}

/// Writes for `bench files` (internal).
#[derive(Debug, Args)]
pub(crate) struct Worker {}

pub(crate) fn worker(_: &Worker) -> Result<Outcome> {
    // A Ctrl-C is for whoever asked, who then closes the pipe.
    termination::watch()?;
    let lines = BufReader::new(std::io::stdin()).lines();
    baro_bench::experiment::files::work(lines, std::io::stdout())?;
    Ok(Outcome::Done)
}
