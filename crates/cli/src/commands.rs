//! The verbs.

mod bench;
mod init;
mod record;

use crate::failure::{Outcome, Result};
use clap::{Subcommand, ValueEnum};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document; keys carry units.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a store: a folder whose files are written once in full
    Init(init::Arguments),
    /// Record sources into a store
    Record(Box<record::Arguments>),
    /// Measure on this machine
    #[command(subcommand)]
    Bench(bench::Command),
}

pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Bench(command) => bench::run(command),
    }
}

/// Prints a JSON document.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}
