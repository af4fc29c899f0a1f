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
    /// Paper A on this machine: how long write() keeps a recorder, beside Barograph's push
    Recorder(Box<recorder::Arguments>),
    /// The cost of a push beside that of a bare memcpy, and how fast records become durable
    Push(Box<push::Arguments>),
    /// A store of any number of sensors: ingest, bytes, memory, opening, queries
    Store(Box<store::Arguments>),
    /// The load of `bench push` and `demo`
    #[command(hide = true)]
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
