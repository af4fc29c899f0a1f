//! `baro trace`: records what the kernel does, and shows what journals and tasks did.

mod analysis;
mod blocks;
mod handle;
mod install;
mod live;
mod memory_place;
mod record;
mod recording;
mod slow;
mod space;
mod state;
mod syscall;
mod waits;

pub(super) use live::recorded;

use crate::failure::{Outcome, Result};
use clap::{Args, Subcommand};

// Without a group of its own: it would have the name of the group that is flattened into it.
#[derive(Debug, Args)]
#[group(skip)]
#[command(args_conflicts_with_subcommands = true, after_help = "Example: baro trace -- sync")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    analysis: Option<Analysis>,
    #[command(flatten)]
    record: record::Arguments,
}

#[derive(Debug, Subcommand)]
enum Analysis {
    /// Waits for handles of a journal
    ///
    /// How many, how long, and why the longest.
    Handle(handle::Arguments),
    /// Stages of a journal's transactions
    ///
    /// On a time line.
    State(state::Arguments),
    /// Blocks of each transaction
    ///
    /// Data to be sent, metadata to commit, blocks to bring home.
    Blocks(blocks::Arguments),
    /// Room in a journal over time
    ///
    /// Used, free and reserved blocks.
    Space(space::Arguments),
    /// System calls of each task
    Syscall(syscall::Arguments),
    /// Where tasks waited, and who woke them
    Waits(waits::Arguments),
    /// A service that traces slow calls
    ///
    /// It records from boot on, and writes a trace when a call was slow.
    Install(install::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    match &arguments.analysis {
        None => record::run(&arguments.record),
        Some(Analysis::Handle(arguments)) => handle::run(arguments),
        Some(Analysis::State(arguments)) => state::run(arguments),
        Some(Analysis::Blocks(arguments)) => blocks::run(arguments),
        Some(Analysis::Space(arguments)) => space::run(arguments),
        Some(Analysis::Syscall(arguments)) => syscall::run(arguments),
        Some(Analysis::Waits(arguments)) => waits::run(arguments),
        Some(Analysis::Install(arguments)) => install::run(arguments),
    }
}
