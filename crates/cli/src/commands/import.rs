//! `baro import`: samples from files into a store, through the recorder.
//!
//! A file can wait, so nothing of it is lost for want of room: when the ring is full, it is not
//! read. What is not understood costs its line and is told with its number.

mod reading;

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_export::parquet::{self, Choice, Imported, TimeUnit};
use baro_ingest::{Fed, Intake, Manner, Room, Row, Target, Types, Value};
use baro_log::{Role, StoreLock};
use baro_recorder::{Options, Recorder};
use baro_sources::Sample;
use baro_sources::csv::CsvParser;
use baro_sources::influx::{InfluxParser, InfluxSample};
use baro_sys::{clock, files};
use clap::{Args, ValueEnum};
use reading::Reading;
use serde_json::json;
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

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
    /// Unit of times that are integers, of line protocol and Parquet; without it nanoseconds. CSV has
    /// nanoseconds
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    /// What a column of Parquet is for: time, series, label, value, field (a series beside that of the
    /// row) or skip
    #[arg(long = "column", value_name = "NAME=ROLE", value_parser = column)]
    columns: Vec<(String, parquet::Role)>,
    /// Stop at the first line that is refused; what came before it is recorded
    #[arg(long)]
    strict: bool,
    #[arg(long, value_enum, default_value_t)]
    format: ImportFormat,
}

/// A column's name, which may have a `=`, and what it is for.
fn column(text: &str) -> std::result::Result<(String, parquet::Role), String> {
    let (name, role) = text.rsplit_once('=').ok_or("expected NAME=ROLE, found no =")?;
    Ok((name.to_owned(), role.parse()?))
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
        if found == Some(Input::Csv) && self.precision.is_some_and(|unit| unit != Precision::Ns) {
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
    let recorder = own_recorder(&arguments.store)?;
    let target = match &recorder {
        Some(recorder) => Target::of(recorder, Room::WhileItMoves)?,
        None => Target::attach(&arguments.store, Room::WhileItMoves)?,
    };
    let manner = Manner { strict: arguments.strict, ..Manner::together() };
    let mut reading = Reading::new(Intake::new("import", target, manner)?);
    let mut read = Ok(());
    for (file, input) in arguments.files.iter().zip(inputs) {
        reading.begin(file);
        read = one(arguments, &mut reading, file, input);
        if read.is_err() || reading.stopped() {
            break;
        }
    }
    // What was understood is recorded, whatever ended the reading.
    let (lines, fed) = reading.finish()?;
    let lost = recorder.map_or(0, |recorder| {
        let closed = recorder.close();
        closed.status.lost + closed.left
    });
    read?;
    if arguments.format == ImportFormat::Json {
        print(Format::Json, lines, &fed, lost)?;
    } else {
        print(Format::Text, lines, &fed, lost)?;
    }
    if arguments.strict && fed.bad_lines > 0 {
        return Err("stopped at the first line that was refused (--strict)".into());
    }
    Ok(Outcome::lost_if(fed.bad_lines > 0 || lost > 0))
}

/// The store opened for recording; `None` where another process records into it.
fn own_recorder(store: &Path) -> Result<Option<Recorder>> {
    Ok(match StoreLock::holder_at(store, Role::Recording)? {
        Some(_) => None,
        None => Some(Recorder::open(store, Options::default())?),
    })
}

/// `lost` are the records that the recorder lost.
fn print(format: Format, lines: u64, fed: &Fed, lost: u64) -> Result<()> {
    if format == Format::Json {
        return print_json(&json!({
            "lines": lines,
            "samples": fed.samples,
            "series": fed.series,
            "series_declared": fed.declared,
            "lines_refused": fed.bad_lines,
            "records_lost": lost,
        }));
    }
    out!(
        "{lines} lines, {} samples of {} series ({} declared); refused: {} lines",
        fed.samples,
        fed.series,
        fed.declared,
        fed.bad_lines
    );
    if lost > 0 {
        out!("lost: {lost} records, since the log is full or its device failed");
    }
    Ok(())
}

fn one(arguments: &Arguments, reading: &mut Reading<'_>, file: &Path, input: Input) -> Result<()> {
    let unit = arguments.precision.map(Precision::unit);
    match input {
        Input::Csv => {
            let mut parser = CsvParser::new();
            pieces(file, reading, |piece, reading| match piece {
                Some(piece) => parser.feed(piece, |item| take_csv(reading, item)),
                None => parser.finish(|item| take_csv(reading, item)),
            })
        }
        Input::Influx => {
            let mut parser = InfluxParser::new(unit.unwrap_or_default().ns());
            pieces(file, reading, |piece, reading| match piece {
                Some(piece) => parser.feed(piece, |item| take_influx(reading, item)),
                None => parser.finish(|item| take_influx(reading, item)),
            })
        }
        Input::Parquet => rows(file, reading, Choice { unit, columns: arguments.columns.clone() }),
    }
}

/// Hands each piece of a file to `each`, then `None`.
fn pieces(
    path: &Path,
    reading: &mut Reading<'_>,
    mut each: impl FnMut(Option<&[u8]>, &mut Reading<'_>),
) -> Result<()> {
    let mut input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(files::open(path)?)
    };
    let mut piece = vec![0; 256 << 10];
    let mut ended = true;
    while !reading.stopped() {
        let read = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("{}: read: {error}", path.display()).into()),
        };
        let bytes = piece.get(..read).unwrap_or(&[]);
        reading.lines(bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
        ended = bytes.last() == Some(&b'\n');
        each(Some(bytes), reading);
        reading.push_if_much()?;
    }
    reading.lines(u64::from(!ended));
    each(None, reading);
    reading.push_if_much()
}

fn take_csv(
    reading: &mut Reading<'_>,
    item: std::result::Result<Sample<'_>, impl std::fmt::Display>,
) {
    match item {
        Ok(Sample { line, time_ns, series, value }) => {
            let time_ns = time_ns.unwrap_or_else(clock::realtime_ns);
            // As baro record takes them: 21 and 21.5 are values of one series.
            let (value, types) = (value.into(), Types::Numbers);
            reading.take(&Row { line, series: &series, time_ns, value, types });
        }
        Err(error) => reading.not_understood(&error),
    }
}

fn take_influx(
    reading: &mut Reading<'_>,
    item: std::result::Result<InfluxSample<'_>, impl std::fmt::Display>,
) {
    match item {
        Ok(InfluxSample { line, time_ns, series, value }) => {
            let time_ns = time_ns.unwrap_or_else(clock::realtime_ns);
            let (value, types) = ((&value).into(), Types::Exact);
            reading.take(&Row { line, series, time_ns, value, types });
        }
        Err(error) => reading.not_understood(&error),
    }
}

fn rows(path: &Path, reading: &mut Reading<'_>, choice: Choice) -> Result<()> {
    let mut failed = Ok(());
    let rows = parquet::import(files::open(path)?, choice, |item| {
        match item {
            Imported::Sample { row, series, time_ns, value } => {
                let (value, types) = (value_of(value), Types::Exact);
                reading.take(&Row { line: row, series, time_ns, value, types });
            }
            Imported::Refused(refusal) => {
                reading.not_understood(&format_args!("row {}: {}", refusal.row, refusal.reason));
            }
        }
        failed = reading.push_if_much();
        if failed.is_err() || reading.stopped() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    failed?;
    reading.lines(rows.map_err(|error| format!("{}: {error}", path.display()))?);
    Ok(())
}

fn value_of(value: parquet::Value<'_>) -> Value<'_> {
    match value {
        parquet::Value::Float(value) => Value::Float(value),
        parquet::Value::Integer(value) => Value::Integer(value),
        parquet::Value::Unsigned(value) => Value::Unsigned(value),
        parquet::Value::Boolean(value) => Value::Boolean(value),
        parquet::Value::Text(text) => Value::Text(text),
    }
}
