//! `baro plan`: what a recording will need, before there is one.

mod inputs;
mod told;

use super::making::NewFile;
use super::{Format, print_json};
use crate::failure::{Mistake, Outcome, Result};
use baro_plan::{needs, numbers, picture};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) use inputs::log_bytes;

/// What values are like, in bits of information once the one before is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Values {
    /// A walk in a dozen small steps, in decimals
    Walk,
    /// Decimals with some noise
    #[default]
    Sensor,
    /// A counter
    Counter,
    /// On and off, seldom
    State,
    /// Floats that are no short decimals
    Float,
}

/// How a disk takes many files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// It turns
    #[default]
    Hdd,
    /// Solid state
    Ssd,
    /// eMMC or SD
    Card,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example: baro plan --sensors 100000 --rate 10 --disk 1T --kind ssd --tbw 290TB"
)]
pub(crate) struct Arguments {
    /// Sensors, or channels of frames
    #[arg(long, alias = "series", value_parser = inputs::number, value_name = "N")]
    sensors: f64,
    /// Samples of each a second: 10, 10Hz, 1/10s
    #[arg(long, value_parser = inputs::rate, value_name = "HZ")]
    rate: f64,
    /// Frames of this size instead of samples
    #[arg(long, value_parser = crate::size::bytes, value_name = "SIZE")]
    frame: Option<u64>,
    /// walk, sensor (default), counter, state, float
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "KIND",
        hide_possible_values = true,
        hide_default_value = true
    )]
    values: Values,
    /// Offset from a common clock
    #[arg(long, value_parser = crate::size::nanoseconds, default_value = "0s", value_name = "TIME")]
    jitter: u64,
    /// Samples that one push brings
    ///
    /// As baro record does it, if nothing is said: all of one time, at most 1,024; with --jitter each alone.
    #[arg(long, value_parser = inputs::number, value_name = "N", hide_short_help = true)]
    per_push: Option<f64>,
    /// From push to durable
    #[arg(long, value_parser = crate::size::nanoseconds_above_0, default_value = "100ms", value_name = "TIME")]
    durable_within: u64,
    /// Stall that loses nothing
    #[arg(long, value_parser = crate::size::nanoseconds, default_value = "10s", value_name = "TIME")]
    stall: u64,
    /// How long all is kept
    #[arg(long, value_parser = crate::size::nanoseconds_above_0, default_value = "30d", value_name = "TIME")]
    keep: u64,
    /// Memory for it
    #[arg(long, value_parser = crate::size::bytes, default_value = "8GB", value_name = "SIZE")]
    memory: u64,
    /// Size of the file system
    #[arg(long, value_parser = crate::size::bytes, default_value = "100GB", value_name = "SIZE")]
    disk: u64,
    /// Bytes it writes a second
    ///
    /// In order and in large pieces. By its kind, if nothing is said.
    #[arg(long, value_parser = crate::size::rate, value_name = "SIZE")]
    disk_rate: Option<u64>,
    /// hdd, ssd or card
    #[arg(long, value_enum, default_value_t, value_name = "KIND", hide_possible_values = true)]
    kind: Kind,
    /// What the flash may be written in all
    #[arg(long, value_parser = crate::size::bytes, value_name = "SIZE")]
    tbw: Option<u64>,
    /// Years that the flash has to last
    #[arg(long, value_parser = inputs::number, default_value = "5", value_name = "N", hide_short_help = true)]
    years: f64,
    /// Bits of information in a value, instead of --values
    #[arg(long, value_parser = inputs::number, value_name = "BITS", hide_short_help = true)]
    value_bits: Option<f64>,
    /// Bits in which sensors differ from one another, instead of --values
    #[arg(long, value_parser = inputs::number, value_name = "BITS", hide_short_help = true)]
    spread_bits: Option<f64>,
    /// Also a picture of bytes to the device
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Replace the picture if it is there
    #[arg(long, requires = "svg", hide_short_help = true)]
    force: bool,
    /// text or json, for baro init
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let inputs = arguments.inputs();
    inputs.check().map_err(|error| Mistake::new(error.to_string()))?;
    let all = numbers(&inputs);
    let lacking = needs(&inputs, &all);
    if let Some(path) = &arguments.svg {
        drawn(path, arguments.force, &picture(&inputs))?;
    }
    match arguments.format {
        Format::Text => told::text(&inputs, &all, &lacking)?,
        Format::Json => print_json(&told::json(&inputs, &all, &lacking))?,
    }
    Ok(Outcome::lost_if(!lacking.is_empty()))
}

fn drawn(path: &Path, force: bool, svg: &str) -> Result<()> {
    let mut file = NewFile::create(path, force)?;
    file.write_all(svg.as_bytes())?;
    file.finish()?;
    Ok(())
}
