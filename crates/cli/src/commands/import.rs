//! `baro import`: samples from files into a store, through the recorder.
//!
//! A file can wait, so nothing of it is lost for want of room: when the ring is full, it is not
//! read. What is not understood costs its line and is told with its number.

mod intake;
mod target;

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_export::parquet::{Imported, TimeUnit, Value};
use baro_sources::csv::CsvParser;
use baro_sources::influx::{InfluxParser, InfluxSample, InfluxValue};
use baro_sources::{Sample, Scalar};
use baro_sys::{clock, files};
use clap::{Args, ValueEnum};
use intake::{Intake, NewNumbers, Row};
use serde_json::json;
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use target::Target;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Input {
    /// Lines of time,series,value, as baro record --stdin csv takes them
    Csv,
    /// Columns series, time and value, or time and one column for each series
    Parquet,
    /// The Influx line protocol
    Influx,
}

/// How the counts are printed; what a file holds may be said here too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Counts for people
    #[default]
    Text,
    /// Counts as JSON
    Json,
    /// The same as --input csv
    Csv,
    /// The same as --input parquet
    Parquet,
    /// The same as --input influx
    Influx,
}

/// Unit of times that are integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// Nanoseconds
    #[default]
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl Precision {
    fn unit(self) -> TimeUnit {
        match self {
            Precision::Ns => TimeUnit::Nanoseconds,
            Precision::Us => TimeUnit::Microseconds,
            Precision::Ms => TimeUnit::Milliseconds,
            Precision::S => TimeUnit::Seconds,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store
    store: PathBuf,
    /// Files to read, one after the other; - is stdin
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What the files hold; without it by their names: .csv, .parquet, .lp, .influx or .line
    #[arg(long, value_enum)]
    input: Option<Input>,
    /// Unit of times that are integers, of line protocol and Parquet; CSV has nanoseconds
    #[arg(long, value_enum, default_value_t)]
    precision: Precision,
    /// Stop at the first line that is refused; what came before it is recorded
    #[arg(long)]
    strict: bool,
    #[arg(long, value_enum, default_value_t)]
    format: ImportFormat,
}

impl Arguments {
    fn input_of(&self, file: &Path) -> Result<Input> {
        let by_format = match self.format {
            ImportFormat::Csv => Some(Input::Csv),
            ImportFormat::Parquet => Some(Input::Parquet),
            ImportFormat::Influx => Some(Input::Influx),
            ImportFormat::Text | ImportFormat::Json => None,
        };
        let ending = file.extension().and_then(|ending| ending.to_str());
        let by_name = match ending {
            Some("csv") => Some(Input::Csv),
            Some("parquet") => Some(Input::Parquet),
            Some("lp" | "influx" | "line") => Some(Input::Influx),
            _ => None,
        };
        let found = self.input.or(by_format).or(by_name);
        if found == Some(Input::Parquet) && file == Path::new("-") {
            return Err("Parquet is read from its end: expected a file, found - (stdin)".into());
        }
        if found == Some(Input::Csv) && self.precision != Precision::Ns {
            let text = "--precision: expected line protocol or Parquet, found CSV, whose times are \
                        nanoseconds, seconds with a point, or RFC 3339";
            return Err(text.into());
        }
        found.ok_or_else(|| {
            let file = file.display();
            let text = "expected a name in .csv, .parquet, .lp, .influx or .line, or --input";
            format!("{file}: {text}").into()
        })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let inputs = arguments.files.iter().map(|file| arguments.input_of(file));
    let inputs: Vec<Input> = inputs.collect::<Result<_>>()?;
    let mut intake = Intake::new(Target::open(&arguments.store)?, arguments.strict);
    let mut read = Ok(());
    for (file, input) in arguments.files.iter().zip(inputs) {
        intake.begin(file);
        read = one(arguments, &mut intake, file, input);
        if read.is_err() || intake.stopped() {
            break;
        }
    }
    // What was understood is recorded, whatever ended the reading.
    let counts = intake.finish()?;
    read?;
    if arguments.format == ImportFormat::Json {
        print(Format::Json, &counts)?;
    } else {
        print(Format::Text, &counts)?;
    }
    if arguments.strict && counts.refused > 0 {
        return Err("stopped at the first line that was refused (--strict)".into());
    }
    Ok(Outcome::lost_if(counts.refused > 0 || counts.lost > 0))
}

fn print(format: Format, counts: &intake::Counts) -> Result<()> {
    if format == Format::Json {
        return print_json(&json!({
            "lines": counts.lines,
            "samples": counts.samples,
            "series": counts.series,
            "series_declared": counts.declared,
            "lines_refused": counts.refused,
            "records_lost": counts.lost,
        }));
    }
    out!(
        "{} lines, {} samples of {} series ({} declared); refused: {} lines",
        counts.lines,
        counts.samples,
        counts.series,
        counts.declared,
        counts.refused
    );
    if counts.lost > 0 {
        out!("lost: {} records, since the log is full or its device failed", counts.lost);
    }
    Ok(())
}

fn one(arguments: &Arguments, intake: &mut Intake, file: &Path, input: Input) -> Result<()> {
    let unit = arguments.precision.unit();
    match input {
        Input::Csv => {
            let mut parser = CsvParser::new();
            pieces(file, intake, |piece, intake| match piece {
                Some(piece) => parser.feed(piece, |item| take_csv(intake, item)),
                None => parser.finish(|item| take_csv(intake, item)),
            })
        }
        Input::Influx => {
            let mut parser = InfluxParser::new(unit.ns());
            pieces(file, intake, |piece, intake| match piece {
                Some(piece) => parser.feed(piece, |item| take_influx(intake, item)),
                None => parser.finish(|item| take_influx(intake, item)),
            })
        }
        Input::Parquet => parquet(file, intake, unit),
    }
}

/// Hands each piece of a file to `each`, then `None`.
fn pieces(
    path: &Path,
    intake: &mut Intake,
    mut each: impl FnMut(Option<&[u8]>, &mut Intake),
) -> Result<()> {
    let mut input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(files::open(path)?)
    };
    let mut piece = vec![0; 256 << 10];
    let mut ended = true;
    while !intake.stopped() {
        let read = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("{}: read: {error}", path.display()).into()),
        };
        let bytes = piece.get(..read).unwrap_or(&[]);
        intake.lines(bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
        ended = bytes.last() == Some(&b'\n');
        each(Some(bytes), intake);
        intake.settle()?;
    }
    intake.lines(u64::from(!ended));
    each(None, intake);
    intake.settle()
}

fn take_csv(intake: &mut Intake, item: std::result::Result<Sample<'_>, impl std::fmt::Display>) {
    match item {
        Ok(Sample { line, time_ns, series, value }) => {
            let value = match value {
                Scalar::Float(value) => Value::Float(value),
                Scalar::Integer(value) => Value::Integer(value),
                Scalar::Boolean(value) => Value::Boolean(value),
            };
            let time_ns = time_ns.unwrap_or_else(clock::realtime_ns);
            // As baro record takes them: 21 and 21.5 are values of one series.
            let new = NewNumbers::AreF64;
            intake.take(&Row { line, series: &series, time_ns, value, new });
        }
        Err(error) => intake.not_understood(&error),
    }
}

fn take_influx(
    intake: &mut Intake,
    item: std::result::Result<InfluxSample<'_>, impl std::fmt::Display>,
) {
    match item {
        Ok(InfluxSample { line, time_ns, series, value }) => {
            let value = match &value {
                InfluxValue::Float(value) => Value::Float(*value),
                InfluxValue::Integer(value) => Value::Integer(*value),
                InfluxValue::Unsigned(value) => Value::Unsigned(*value),
                InfluxValue::Boolean(value) => Value::Boolean(*value),
                InfluxValue::Text(text) => Value::Text(text),
            };
            let time_ns = time_ns.unwrap_or_else(clock::realtime_ns);
            let new = NewNumbers::KeepType;
            intake.take(&Row { line, series, time_ns, value, new });
        }
        Err(error) => intake.not_understood(&error),
    }
}

fn parquet(path: &Path, intake: &mut Intake, unit: TimeUnit) -> Result<()> {
    let mut failed = Ok(());
    let rows = baro_export::parquet::import(files::open(path)?, unit, |item| {
        match item {
            Imported::Sample { row, series, time_ns, value } => {
                let new = NewNumbers::KeepType;
                intake.take(&Row { line: row, series, time_ns, value, new });
            }
            Imported::Refused(refusal) => {
                intake.not_understood(&format_args!("row {}: {}", refusal.row, refusal.reason));
            }
        }
        failed = intake.settle();
        if failed.is_err() || intake.stopped() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    failed?;
    intake.lines(rows.map_err(|error| format!("{}: {error}", path.display()))?);
    Ok(())
}
