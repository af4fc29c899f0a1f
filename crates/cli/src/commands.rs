//! The verbs.

mod backup;
mod bench;
mod beside;
mod blk;
mod cat;
mod damaged;
mod delete;
mod demo;
mod du;
mod explain;
mod export;
pub(crate) mod help;
mod import;
mod info;
mod init;
mod lake;
mod list;
mod listen;
mod making;
mod pin;
mod plan;
pub(crate) mod promises;
mod query;
mod queue;
mod record;
mod recover;
mod rings;
mod selection;
mod serve;
mod settle;
mod share;
mod text_form;
mod top;
mod trace;
mod tune;
mod units;
mod verify;
mod watch;

use crate::failure::{Failure, Outcome, Result};
pub(crate) use baro_command::{Format, print_json};
use baro_log::{Role, StoreLock};
use baro_store::Store;
use baro_sys::storage::Access;
use clap::Subcommand;
use std::ffi::OsString;
use std::path::Path;

/// Bytes read a second beside a recorder: what a slow disk can give without being felt.
const RATE_BESIDE_RECORDER: u64 = 64 << 20;

/// Whether somebody records into a store.
fn is_recorded(store: &Path) -> Result<bool> {
    Ok(StoreLock::holder_at(store, Role::Recording)?.is_some())
}

/// Refuses a folder where a file is read, which the kernel would do in words that name no next step.
fn refuse_folder(path: &Path, expected: &str) -> Result<()> {
    if !path.is_dir() {
        return Ok(());
    }
    let found = if crate::advice::is_store(path) { "a store" } else { "a folder" };
    Err(format!("{}: expected {expected}, found {found}: name a file", path.display()).into())
}

/// Opens a store to be asked: through the page cache, which has what was asked for before. Beside a recorder,
/// whose writes go past that, from the device.
fn open_to_ask(path: &Path) -> Result<Store> {
    // What is wrong with the place is told by opening it.
    let alone = matches!(is_recorded(path), Ok(false));
    let access = if alone { Access::Read } else { Access::ReadDirect };
    Ok(Store::open_as(path, access)?)
}

/// A store that is recorded into is opened so often until it is read before it is recycled.
const ASKED_MAX: u32 = 8;

/// Asks a store, which is opened by `open`, and opens it anew where it was recycled before it was read; as
/// long as `again` says so: since nothing of an answer has been given.
fn ask<T>(
    open: impl Fn() -> Result<Store>,
    again: impl Fn() -> bool,
    mut asked: impl FnMut(&Store) -> Result<T>,
) -> Result<(Store, T)> {
    let mut left = ASKED_MAX;
    loop {
        let store = open()?;
        left -= 1;
        match asked(&store) {
            Ok(answer) => return Ok((store, answer)),
            Err(failure) if left > 0 && is_outdated(&failure) && again() => {}
            Err(failure) => return Err(failure),
        }
    }
}

/// Whether the store has been recycled since it was opened.
fn is_outdated(failure: &Failure) -> bool {
    failure.causes().any(|cause| {
        matches!(cause.downcast_ref(), Some(baro_store::Error::Recycled { .. }))
            || matches!(
                cause.downcast_ref(),
                Some(baro_export::Error::Store(baro_store::Error::Recycled { .. }))
            )
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a store
    ///
    /// A folder whose files are written once in full, or two at first and the rest while recording.
    Init(init::Arguments),
    /// Record into a store
    ///
    /// Sources are stdin, datagrams, counters of this machine, and rings of other programs; it records
    /// until they end, or it is told to stop.
    Record(Box<record::Arguments>),
    /// Take samples over HTTP
    ///
    /// Line protocol of InfluxDB, remote write of Prometheus and OTLP, into a store that `baro record`
    /// records; a success is said when the samples are durable.
    Listen(Box<listen::Arguments>),
    /// Tokens for HTTP
    ///
    /// Makes, lists and revokes them.
    #[command(subcommand, after_help = "Example: baro token new --access write press-3")]
    Token(baro_command::listen::TokenCommand),
    /// Import samples from files
    ///
    /// CSV, JSON lines, Parquet, Influx line protocol, text of Prometheus.
    Import(import::Arguments),
    /// Keep a window of time
    ///
    /// What a pin covers is not recycled. Also lists pins and releases them.
    Pin(pin::Arguments),
    /// Take samples out for good
    ///
    /// Series, or what they have in an interval; settling gives the room back.
    Delete(delete::Arguments),
    /// Move samples into runs
    ///
    /// There they are sorted and take less room; small runs become larger ones. `record` does it by
    /// itself.
    Settle(settle::Arguments),
    /// Hand over to Delta Lake
    ///
    /// What has settled goes to a table that Spark, DuckDB, Polars and others read, each sample once.
    Lake(Box<lake::Arguments>),
    /// List and clear old rings
    ///
    /// Shared memory that recorders and other programs have left.
    Rings(rings::Arguments),
    /// Tell what a store holds
    ///
    /// By its headers: sizes, times, pins, who records, and which promises hold at its place. Series are
    /// named by `baro list`, and counted by `baro list --counts`, which reads all.
    Info(info::Arguments),
    /// List series and channels
    List(list::Arguments),
    /// Print all, by time
    Cat(cat::Arguments),
    /// Samples or means of series
    ///
    /// Of some series over an interval: all samples, the last ones, or one value for each step of time.
    Query(query::Arguments),
    /// Answer queries over HTTP
    ///
    /// What Grafana and other programs ask Prometheus for, from a store. It only reads.
    Serve(Box<serve::Arguments>),
    /// Write CSV, MCAP, Parquet
    ///
    /// A range of time as a file that other programs read: CSV, MCAP, Parquet or Arrow.
    Export(export::Arguments),
    /// Bytes of each series
    ///
    /// And samples, and what the parts of a store take.
    Du(du::Arguments),
    /// Watch what comes in
    ///
    /// Rates, last values and losses of a store that is recorded into, once a second.
    Watch(watch::Arguments),
    /// Series that take most
    Top(top::Arguments),
    /// Look for damage
    ///
    /// Reads everything and says what is not as it was written.
    Verify(verify::Arguments),
    /// Keep a second copy
    ///
    /// Beside a recorder; a later backup into the same folder copies what is new.
    Backup(backup::Arguments),
    /// Rescue a damaged store
    ///
    /// Copies what is readable into a new one.
    Recover(recover::Arguments),
    /// Record what the kernel does
    ///
    /// To learn later why a call was late; or shows at once what journals and tasks did.
    Trace(trace::Arguments),
    /// Say why calls were late
    ///
    /// A chain of waits for each, and what may help.
    Explain(explain::Arguments),
    /// Watch a disk's traffic
    ///
    /// By class of request, device and process: live, or from a recording.
    Blk(Box<blk::Arguments>),
    /// Share a disk by weight
    ///
    /// Without touching the programs that use it.
    #[command(subcommand, after_help = "Example: baro share run --weight 800 -- ./player")]
    Share(share::Command),
    /// Check and set the machine
    ///
    /// What a recorder needs of it, set for a while or for good, and put back.
    #[command(subcommand, after_help = "Example: baro tune check /data/s")]
    Tune(tune::Command),
    /// Plan a recording
    ///
    /// From sensors and a disk: log or files, memory, bytes a day, days of disk, years of flash.
    Plan(Box<plan::Arguments>),
    /// See it on this machine
    ///
    /// Half a minute that shows the main job beside a load.
    Demo(demo::Arguments),
    /// Measure this machine
    #[command(subcommand, after_help = "Example: baro bench push --dir /data")]
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

/// What is outside of its limits in the settings of a verb that has some, by their names.
pub(crate) fn limits(command: &Command) -> Vec<(&'static str, String)> {
    match command {
        Command::Record(arguments) => record::limits(arguments),
        _ => Vec::new(),
    }
}

pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Listen(arguments) => listen::run(&arguments),
        Command::Token(command) => listen::token(&command),
        Command::Cat(arguments) => cat::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Delete(arguments) => delete::run(&arguments),
        Command::Settle(arguments) => settle::run(&arguments),
        Command::Lake(arguments) => lake::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
        Command::Pin(arguments) => pin::run(&arguments),
        Command::Rings(arguments) => rings::run(&arguments),
        Command::Du(arguments) => du::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Tune(command) => tune::run(&command),
        Command::Share(command) => share::run(&command),
        Command::Blk(arguments) => blk::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Bench(command) => bench::run(command),
    }
}
