//! The verbs.

mod bench;
mod blk;
mod cat;
mod delete;
mod demo;
mod du;
mod explain;
mod export;
mod import;
mod info;
mod init;
mod list;
mod pin;
pub(crate) mod promises;
mod query;
mod queue;
mod record;
mod recover;
mod rings;
mod selection;
mod settle;
mod share;
mod text_form;
mod top;
mod trace;
mod tune;
mod units;
mod verify;

use crate::failure::{Outcome, Result};
pub(crate) use baro_command::{Format, print_json};
use baro_log::{Role, StoreLock};
use clap::Subcommand;
use std::ffi::OsString;
use std::path::Path;

/// Bytes read a second beside a recorder: what a slow disk can give without being felt.
const RATE_BESIDE_RECORDER: u64 = 64 << 20;

/// Whether somebody records into a store.
fn is_recorded(store: &Path) -> Result<bool> {
    Ok(StoreLock::holder_at(store, Role::Recording)?.is_some())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a store: a folder whose files are written once in full
    Init(init::Arguments),
    /// Record sources into a store
    Record(Box<record::Arguments>),
    /// Tell what a store holds, by its headers
    Info(info::Arguments),
    /// List series and channels
    List(list::Arguments),
    /// Print what was recorded, in time order
    Cat(cat::Arguments),
    /// Samples of some series over an interval, or one value for each step of time
    Query(query::Arguments),
    /// Write a time range to a file that other programs read: CSV, MCAP, Parquet or Arrow
    Export(export::Arguments),
    /// Record samples from files: CSV, Parquet, Influx line protocol
    Import(import::Arguments),
    /// Delete series, or what they have in an interval; settling gives the room back
    Delete(delete::Arguments),
    /// Move samples from the log into runs, where they take less room, and small runs into larger ones
    Settle(settle::Arguments),
    /// Read everything and say what is not as it was written
    Verify(verify::Arguments),
    /// Copy what is readable of a damaged store into a new one
    Recover(recover::Arguments),
    /// Keep a window of time from being recycled; list such windows; release them
    Pin(pin::Arguments),
    /// Shared memory that recorders have left: list it, clear it
    Rings(rings::Arguments),
    /// Bytes and samples of each series, and what the parts of a store take
    Du(du::Arguments),
    /// The series that take most
    Top(top::Arguments),
    /// Record what the kernel does, to learn later why a call was late
    Trace(trace::Arguments),
    /// Say why calls were late: a chain of waits for each, and what may help
    Explain(explain::Arguments),
    /// Settings of the machine
    #[command(subcommand)]
    Tune(tune::Command),
    /// Bandwidth of a disk by weight, without touching the programs that use it
    #[command(subcommand)]
    Share(share::Command),
    /// What goes to a disk, by class of request, device and process: live or from a recording
    Blk(Box<blk::Arguments>),
    /// Half a minute that shows the main job on this machine
    Demo(demo::Arguments),
    /// Measure on this machine
    #[command(subcommand)]
    Bench(bench::Command),
}

/// Verbs that run a command that stands behind `--`, and end with its code.
const WRAPPERS: [&[&str]; 4] = [&["trace"], &["blk"], &["share", "run"], &["tune", "apply"]];

/// Whether a call, as it was typed, is to run a command.
pub(crate) fn wraps(typed: &[OsString]) -> bool {
    let words = typed.get(1..).unwrap_or_default();
    let is = |verb: &&[&str]| verb.iter().zip(words).filter(|(a, b)| b == a).count() == verb.len();
    let at = words.iter().position(|word| word == "--");
    WRAPPERS.iter().any(is) && at.is_some_and(|at| at + 1 < words.len())
}

pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Cat(arguments) => cat::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Delete(arguments) => delete::run(&arguments),
        Command::Settle(arguments) => settle::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
        Command::Pin(arguments) => pin::run(&arguments),
        Command::Rings(arguments) => rings::run(&arguments),
        Command::Du(arguments) => du::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Tune(command) => tune::run(&command),
        Command::Share(command) => share::run(&command),
        Command::Blk(arguments) => blk::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Bench(command) => bench::run(command),
    }
}
