//! `baro bench`: measurements on this machine.

mod bfq;
mod causes;
pub(crate) mod experiment;
mod files;
mod keep;
pub(crate) mod load;
mod overhead;
mod portions;
mod producers;
pub(crate) mod push;
mod recorder;
mod recording;
mod share;
mod stall;
mod store;

use super::init;
use crate::failure::{Outcome, Result};
use baro_sys::disk::Disk;
use baro_sys::termination;
use clap::Subcommand;
use std::path::Path;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Paper A on this machine: how long write() keeps a recorder, beside Barograph's push
    Recorder(Box<recorder::Arguments>),
    /// The cost of a push beside that of a bare memcpy, and how fast records become durable
    Push(Box<push::Arguments>),
    /// Many producers, each in a process of its own, into one log; what is in it is checked
    Producers(producers::Arguments),
    /// One of them
    #[command(hide = true)]
    Producer(producers::One),
    /// A log that is recycled many times, with pins or without: does anything grow
    Keep(keep::Arguments),
    /// A store of any number of sensors: ingest, bytes, memory, opening, queries
    Store(Box<store::Arguments>),
    /// Stalls made on purpose, each with one known cause: does `baro explain` name it?
    Causes(causes::Arguments),
    /// One of them
    #[command(hide = true)]
    Cause(causes::One),
    /// A script that stamps the time beside large writes: its gaps and the journal's commits, before
    /// and after a limit of dirty data
    Stall(stall::Arguments),
    /// Portions into many files, as fast as it goes: the writer of the paper on sensor files
    Portions(portions::Arguments),
    /// The paper on sensor data in many files, repeated here: its tables, figures and claims
    Files(Box<files::Arguments>),
    /// A writer of `bench files`
    #[command(hide = true)]
    FilesWorker(files::Worker),
    /// Two groups with weights on one device: their ratio, and from BFQ's own messages why
    Bfq(Box<bfq::Arguments>),
    /// A reader or writer of `bench bfq`
    #[command(hide = true)]
    BfqWorker(bfq::Worker),
    /// The paper on bandwidth by weight, repeated here: what large I/O does to it, and what cutting heals
    Share(Box<share::Arguments>),
    /// A reader of `bench share`
    #[command(hide = true)]
    ShareReader(share::Reader),
    /// What a recording of the kernel's events costs: files of 1 MiB, empty files
    Overhead(overhead::Arguments),
    /// Make a file system dirty until stopped: bounded, and cleaned up
    Load(load::Arguments),
}

pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Recorder(arguments) => recorder::run(&arguments),
        Command::Push(arguments) => push::run(&arguments),
        Command::Producers(arguments) => producers::run(&arguments),
        Command::Producer(arguments) => producers::one(&arguments),
        Command::Keep(arguments) => keep::run(&arguments),
        Command::Store(arguments) => store::run(&arguments),
        Command::Causes(arguments) => causes::run(&arguments),
        Command::Cause(arguments) => causes::run_one(&arguments),
        Command::Stall(arguments) => stall::run(&arguments),
        Command::Portions(arguments) => portions::run(&arguments),
        Command::Files(arguments) => files::run(&arguments),
        Command::FilesWorker(arguments) => files::worker(&arguments),
        Command::Bfq(arguments) => bfq::run(&arguments),
        Command::BfqWorker(arguments) => bfq::worker(&arguments),
        Command::Share(arguments) => share::run(&arguments),
        Command::ShareReader(arguments) => share::reader(&arguments),
        Command::Overhead(arguments) => overhead::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
    }
}

/// Makes a whole store in a folder of its own below `dir` for `measure`, and removes it, however
/// that ends. SIGINT and SIGTERM do not end the program meanwhile: whoever measures asks for them.
fn in_new_store<T>(
    dir: &Path,
    log_bytes: u64,
    recycle: bool,
    measure: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    termination::watch()?;
    Disk::open(dir)?;
    let folder = dir.join(format!("baro-bench-{}", std::process::id()));
    init::make(&folder, log_bytes, init::How { recycle, grow: false }, true)?;
    let result = measure(&folder);
    let removed = baro_sys::files::remove_tree(&folder);
    let value = result?;
    removed?;
    Ok(value)
}
