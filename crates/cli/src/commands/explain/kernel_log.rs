//! `baro explain --kernel-log`: for who has no trace, what the kernel's own reports of hung tasks allow
//! to be said.

use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_sys::{files, kernel_log};
use baro_trace::hang::log::{KernelLog, LogReader, read};
use baro_trace::hang::{describe, to_json};
use std::io::BufReader;
use std::path::Path;

pub(super) fn run(path: &Path, top: usize, format: Format) -> Result<Outcome> {
    let log = log_of(path)?;
    match format {
        Format::Json => print_json(&to_json(&log, top))?,
        Format::Text => {
            baro_command::print_lines(&describe(&log, top))?;
        }
    }
    Ok(Outcome::Done)
}

fn log_of(path: &Path) -> Result<KernelLog> {
    if path == Path::new("-") {
        return Ok(read(std::io::stdin().lock())?);
    }
    if path != Path::new(kernel_log::PATH) {
        let read = read(BufReader::new(files::open(path)?));
        return Ok(read.map_err(|error| format!("{}: read: {error}", path.display()))?);
    }
    let mut reader = LogReader::default();
    let read = kernel_log::read_kernel_log(|record| {
        // What follows in a record is about a device.
        reader.line(record.split(|byte| *byte == b'\n').next().unwrap_or_default());
    });
    read.map_err(|error| {
        format!("{error}: call it as root, or: journalctl -k | baro explain --kernel-log -")
    })?;
    Ok(reader.finish())
}
