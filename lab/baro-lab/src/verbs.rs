//! The verbs.

mod bfq;
mod causes;
mod files;
mod keep;
mod overhead;
mod portions;
mod producers;
mod share;
mod stall;

use baro_bench::verb::load;
use baro_command::failure::{Outcome, Result};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// The paper on sensor data in many files, repeated here: its tables, figures and claims
    Files(Box<files::Arguments>),
    /// A writer of `files`
    #[command(hide = true)]
    FilesWorker(files::Worker),
    /// Portions into many files, as fast as it goes: the writer of the paper on sensor files
    Portions(portions::Arguments),
    /// The paper on bandwidth by weight, repeated here: what large I/O does to it, and what cutting heals
    Share(Box<share::Arguments>),
    /// A reader of `share`
    #[command(hide = true)]
    ShareReader(share::Reader),
    /// Two groups with weights on one device: their ratio, and from BFQ's own messages why
    Bfq(Box<bfq::Arguments>),
    /// A reader or writer of `bfq`
    #[command(hide = true)]
    BfqWorker(bfq::Worker),
    /// Stalls made on purpose, each with one known cause: does `baro explain` name it?
    Causes(causes::Arguments),
    /// One of them
    #[command(hide = true)]
    Cause(causes::One),
    /// A script that stamps the time beside large writes: its gaps and the journal's commits, before
    /// and after a limit of dirty data
    Stall(stall::Arguments),
    /// What a recording of the kernel's events costs: files of 1 MiB, empty files
    Overhead(overhead::Arguments),
    /// Many producers, each in a process of its own, into one log; what is in it is checked
    Producers(producers::Arguments),
    /// One of them
    #[command(hide = true)]
    Producer(producers::One),
    /// A log that is recycled many times, with pins or without: does anything grow
    Keep(keep::Arguments),
    /// Make a file system dirty until stopped: bounded, and cleaned up
    Load(load::Arguments),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Files(arguments) => files::run(&arguments),
        Verb::FilesWorker(arguments) => files::worker(&arguments),
        Verb::Portions(arguments) => portions::run(&arguments),
        Verb::Share(arguments) => share::run(&arguments),
        Verb::ShareReader(arguments) => share::reader(&arguments),
        Verb::Bfq(arguments) => bfq::run(&arguments),
        Verb::BfqWorker(arguments) => bfq::worker(&arguments),
        Verb::Causes(arguments) => causes::run(&arguments),
        Verb::Cause(arguments) => causes::run_one(&arguments),
        Verb::Stall(arguments) => stall::run(&arguments),
        Verb::Overhead(arguments) => overhead::run(&arguments),
        Verb::Producers(arguments) => producers::run(&arguments),
        Verb::Producer(arguments) => producers::one(&arguments),
        Verb::Keep(arguments) => keep::run(&arguments),
        Verb::Load(arguments) => load::run(&arguments),
    }
}
