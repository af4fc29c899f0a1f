//! `baro bench recorder`: see `baro_bench::papers::recorder`.

mod witness;

use crate::failure::{Outcome, Result};
use crate::size;
use baro_bench::papers::recorder::{DeviceModel, RecorderExperiment, RecorderSpec, Witness, study};
use baro_bench::verb::experiment::{self, Files};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use witness::Tracer;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro bench recorder --dir /data --quick")]
pub(crate) struct Arguments {
    /// Folder to measure
    ///
    /// On the file system to measure, or for the image of a modelled device.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// The device
    ///
    /// As it is, or ext4 on a loop device that is limited as the paper's eMMC (root).
    #[arg(long, value_enum, default_value_t)]
    device: Device,
    /// Bytes written a second by the modelled device, instead of its own 12 MB
    #[arg(long, value_name = "BYTES", value_parser = size::bytes, requires = "device", hide_short_help = true)]
    device_rate: Option<u64>,
    /// A minute: few writes of each case
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As the paper: 10,000 writes, 5 sets of each case
    #[arg(long)]
    full: bool,
    /// Writes of each case, 5 ms apart
    #[arg(long, value_name = "N", hide_short_help = true)]
    writes: Option<u32>,
    /// Sets of each case; the worst counts
    #[arg(long, value_name = "N", hide_short_help = true)]
    sets: Option<u32>,
    /// Bytes of a recording, and of each file of the loads
    #[arg(long, value_name = "BYTES", value_parser = size::bytes, hide_short_help = true)]
    file: Option<u64>,
    /// Turn the kernel's flusher off where the paper does: for the whole machine, undone after each
    /// case (root)
    #[arg(long, hide_short_help = true)]
    machine_wide: bool,
    /// Also POSIX AIO, MCAP and SQLite
    #[arg(long)]
    all: bool,
    /// Only cells whose name begins so: case/ALL, reader, unit, barograph, way
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', hide_short_help = true)]
    only: Vec<String>,
    /// Do not trace beside it: the longest waits are not explained then
    #[arg(long, hide_short_help = true)]
    no_trace: bool,
    #[command(flatten)]
    files: Files,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Device {
    /// The folder as it is
    #[default]
    None,
    /// 12 MB/s written, 40 MB/s read, 2,000 requests/s
    Emmc,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Amount {
    writes: u32,
    writes_beside: u32,
    sets: u32,
    file_bytes: u64,
}

const QUICK: Amount = Amount { writes: 200, writes_beside: 100, sets: 1, file_bytes: 16 << 20 };
const DEFAULT: Amount =
    Amount { writes: 2_000, writes_beside: 1_000, sets: 1, file_bytes: 100_000_000 };
const FULL: Amount =
    Amount { writes: 10_000, writes_beside: 10_000, sets: 5, file_bytes: 100_000_000 };

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.files.only_study() {
        return experiment::study("recorder", &arguments.files, study);
    }
    let amount = match (arguments.quick, arguments.full) {
        (true, _) => QUICK,
        (_, true) => FULL,
        _ => DEFAULT,
    };
    let writes = arguments.writes.unwrap_or(amount.writes);
    let spec = RecorderSpec {
        dir: arguments.dir.clone(),
        device: device(arguments),
        sets: arguments.sets.unwrap_or(amount.sets),
        writes,
        writes_beside: amount.writes_beside.min(writes),
        file_bytes: arguments.file.unwrap_or(amount.file_bytes),
        machine_wide: arguments.machine_wide,
        all: arguments.all,
        only: arguments.only.clone(),
    };
    let tracer = || -> Option<Box<dyn Witness>> { Some(Box::new(Tracer::new(&arguments.dir))) };
    let witness = if arguments.no_trace { None } else { tracer() };
    let mut recorder = RecorderExperiment::new(spec, witness)?;
    let machine = recorder.machine();
    experiment::measure(&mut recorder, machine, &arguments.files, study)
}

fn device(arguments: &Arguments) -> DeviceModel {
    match (arguments.device, arguments.device_rate, DeviceModel::emmc()) {
        (Device::None, None, _) => DeviceModel::AsFound,
        (_, Some(rate), DeviceModel::Limited { read_bytes_per_s, requests_per_s, .. }) => {
            DeviceModel::Limited { write_bytes_per_s: rate, read_bytes_per_s, requests_per_s }
        }
        (_, _, emmc) => emmc,
    }
}
