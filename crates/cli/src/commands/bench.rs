//! `baro bench`: what a user asks of a disk of his own. `baro-lab` repeats the other papers and measures
//! this project.

pub(crate) mod push;
mod recorder;
mod store;

use crate::failure::{Outcome, Result};
use baro_bench::verb::load;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// How long write() keeps a recorder waiting
    ///
    /// Paper A on this machine, beside Barograph's push.
    Recorder(Box<recorder::Arguments>),
    /// What a push costs
    ///
    /// Beside a bare memcpy, and how fast records become durable.
    Push(Box<push::Arguments>),
    /// A store of any number of sensors
    ///
    /// Ingest, bytes, memory, opening, queries.
    Store(Box<store::Arguments>),
    /// Keep a disk busy
    ///
    /// The load of `bench push` and `demo`.
    #[command(after_help = "Example: baro bench load /data --for 1m")]
    Load(load::Arguments),
}

pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Recorder(arguments) => recorder::run(&arguments),
        Command::Push(arguments) => push::run(&arguments),
        Command::Store(arguments) => store::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
    }
}
