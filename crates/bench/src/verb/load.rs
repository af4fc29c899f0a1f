//! `baro-lab load`: the loads of the papers, as a process of its own. `baro bench push --load` and
//! `baro demo` start it too.

use crate::load::{
    AllocateTruncate, BufferedWriters, JournalChurn, Load, LoadSpec, SequentialReader,
};
use baro_command::failure::{Outcome, Result};
use baro_command::say;
use baro_command::size;
use baro_sys::{clock, termination};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Which load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Four sequential buffered writers that keep the device busy
    Buffered,
    /// Paper A: truncation and allocation of 100 MB files each 5 ms
    Allocate,
    /// Paper D: large new files beside many small ones
    Churn,
    /// Paper A's reader of a file of its own, 2 MB at a time, at most 4 MB/s
    Read,
}

/// Which loads, where, and for how long.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder on the file system to load
    dir: PathBuf,
    /// Which loads, one or more
    #[arg(long, value_enum, value_delimiter = ',', default_value = "buffered,allocate")]
    kind: Vec<Kind>,
    /// Bytes per second of all buffered writers together; as fast as it goes without it
    #[arg(long, value_parser = size::bytes)]
    rate: Option<u64>,
    /// Stop after this time
    #[arg(long = "for", value_parser = size::nanoseconds, default_value = "1h")]
    duration_ns: u64,
}

/// Loads until the time is over, a signal comes, or who started it is gone.
///
/// # Errors
/// A load cannot be prepared.
pub fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let loads = start(&arguments.kind, &arguments.dir, arguments.rate)?;
    let end_ns = clock::monotonic_ns() + arguments.duration_ns;
    let parent = std::os::unix::process::parent_id();
    // Also when the process that started it is gone: a load must not outlive its measurement.
    while clock::monotonic_ns() < end_ns
        && termination::requested().is_none()
        && std::os::unix::process::parent_id() == parent
    {
        clock::sleep_ns(50_000_000);
    }
    for load in loads {
        let report = load.stop();
        say!(
            "load: wrote {}, read {}, allocated {}, {} operations, {} pauses on a full disk, {} failures",
            size::show_bytes(report.written_bytes),
            size::show_bytes(report.read_bytes),
            size::show_bytes(report.allocated_bytes),
            report.operations,
            report.full_pauses,
            report.failures
        );
    }
    Ok(Outcome::Done)
}

/// The writers of the papers' and of fio's usual job.
const WRITERS: u32 = 4;

/// After this time the other loads begin all the same.
const READER_PREPARES_NS: u64 = 60_000_000_000;

fn start(kinds: &[Kind], dir: &Path, rate: Option<u64>) -> Result<Vec<Load>> {
    // A reader's file has to be on the disk before it can be read, and beside the other loads that
    // takes minutes.
    let (readers, others): (Vec<Kind>, Vec<Kind>) =
        kinds.iter().partition(|kind| **kind == Kind::Read);
    let mut loads = start_each(&readers, dir, rate)?;
    let end_ns = clock::monotonic_ns() + READER_PREPARES_NS;
    while loads.iter().any(|load| load.report().read_bytes == 0)
        && termination::requested().is_none()
        && clock::monotonic_ns() < end_ns
    {
        clock::sleep_ns(20_000_000);
    }
    loads.extend(start_each(&others, dir, rate)?);
    Ok(loads)
}

fn start_each(kinds: &[Kind], dir: &Path, rate: Option<u64>) -> Result<Vec<Load>> {
    kinds
        .iter()
        .map(|kind| {
            let spec = match kind {
                Kind::Buffered => LoadSpec::BufferedWriters(BufferedWriters {
                    writers: WRITERS,
                    bytes_per_s: rate.map(|rate| (rate / u64::from(WRITERS)).max(1)),
                    ..BufferedWriters::default()
                }),
                Kind::Allocate => LoadSpec::AllocateTruncate(AllocateTruncate::default()),
                Kind::Churn => LoadSpec::JournalChurn(JournalChurn::default()),
                Kind::Read => LoadSpec::SequentialReader(SequentialReader::default()),
            };
            Ok(Load::start(spec, dir)?)
        })
        .collect()
}
