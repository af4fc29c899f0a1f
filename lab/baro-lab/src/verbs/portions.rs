//! `baro-lab portions`: see `baro_lab::files`.

use baro_command::failure::{Outcome, Result};
use baro_command::size;
use baro_command::{Format, print_json};
use baro_lab::files::{Files, FilesReport, FilesSpec};
use baro_sys::{clock, termination};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of files (the paper's F)
    #[arg(long, default_value_t = 10_000)]
    files: u64,
    /// Bytes of a write (the paper's B)
    #[arg(long, default_value = "4K", value_parser = size::bytes)]
    block: u64,
    /// A file of this size is renamed and a new one begun; the one renamed before is gone (L)
    #[arg(long, value_parser = size::bytes)]
    rotate: Option<u64>,
    /// Folder on the file system to write to; a folder is made in it and removed
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// All files in one folder, not in a tree
    #[arg(long)]
    flat: bool,
    /// Stop after this time; 30s if --bytes is not given either
    #[arg(long = "for", value_name = "DURATION", value_parser = size::nanoseconds)]
    duration_ns: Option<u64>,
    /// Stop when so many bytes are written
    #[arg(long, value_parser = size::bytes)]
    bytes: Option<u64>,
    /// Leave the files: what is removed before the kernel has written it never reaches the device
    #[arg(long)]
    keep: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Without any limit.
const DURATION_NS: u64 = 30_000_000_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let duration_ns = arguments.duration_ns.or(arguments.bytes.is_none().then_some(DURATION_NS));
    let spec = FilesSpec {
        files: arguments.files,
        block_bytes: arguments.block,
        file_bytes_max: arguments.rotate.unwrap_or(u64::MAX),
        flat: arguments.flat,
        duration_ns,
        bytes: arguments.bytes,
        ..FilesSpec::default()
    };
    let mut files = Files::prepare(spec, &arguments.dir)?;
    let report = until_signalled(|stop| files.write(stop))?;
    print(arguments, &report)?;
    if arguments.keep {
        files.keep();
    }
    Ok(Outcome::Done)
}

/// Runs `work` with a flag that is set when the process is asked to end.
fn until_signalled<T: Send>(work: impl FnOnce(&AtomicBool) -> T) -> T {
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                stop.fetch_or(termination::requested().is_some(), Relaxed);
                clock::sleep_ns(20_000_000);
            }
        });
        let result = work(&stop);
        done.store(true, Relaxed);
        result
    })
}

fn print(arguments: &Arguments, report: &FilesReport) -> Result<()> {
    let rate = report.written_bytes as f64 * 1e9 / report.duration_ns.max(1) as f64;
    if arguments.format == Format::Json {
        return print_json(&json!({
            "files": arguments.files,
            "block_bytes": arguments.block,
            "written_bytes": report.written_bytes,
            "writes": report.writes,
            "rotations": report.rotations,
            "duration_ns": report.duration_ns,
            "bytes_per_s": rate,
        }));
    }
    out!(
        "wrote {} in {} writes to {} files in {}: {:.1} MB/s, {} rotations",
        size::show_bytes(report.written_bytes),
        report.writes,
        arguments.files,
        size::show_ns(report.duration_ns),
        rate / 1e6,
        report.rotations
    );
    Ok(())
}
