//! `baro import`: samples from files into a store, through the recorder.
//!
//! A file can wait, so nothing of it is lost for want of room: when the ring is full, it is not
//! read, and where the log recycles it is settled meanwhile. Where waiting cannot help it ends, with what
//! is kept and what is not. What is not understood costs its line and is told with its number.
//!
//! Invariant: `samples` are those that are durable when it ends; of those that are not the first line is
//! named. Held by `a_full_log_ends_an_import_with_what_is_kept_and_what_is_not`.

mod again;
mod beside;
mod deleted;
mod kind;
mod packed;
mod progress;
mod reading;
mod report;
mod turn;

use super::record::report::recycled_before;
use super::record::stdin::{self, Came};
use super::text_form::TextArguments;
use crate::failure::{Mistake, Outcome, Result};
use baro_export::parquet::{self, Choice, Imported};
use baro_ingest::{Intake, Joint, Manner, Room, Row, Target, Types, Value, Waiting};
use baro_recorder::Recorder;
use baro_sources::csv::{self, CsvError, CsvParser, CsvProblem};
use baro_sources::influx::{InfluxParser, InfluxSample};
use baro_sources::json::{JsonParser, JsonSample};
use baro_sources::prometheus::{self, PrometheusParser};
use baro_sources::{Refused, Sample, TextForm};
use baro_sys::{files, termination};
use clap::{Args, ValueEnum};
use deleted::Deleted;
use packed::Members;
use reading::Reading;
use report::Report;
use std::io::{Cursor, ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Input {
    /// Lines of time,series,value, or with a header that names the columns
    Csv,
    /// JSON lines, as baro query --format ndjson writes them
    Json,
    /// Columns series, time and value, or time and one column for each series
    Parquet,
    /// The Influx line protocol
    Influx,
    /// Text of Prometheus and OpenMetrics, as promtool dumps it and exporters show it
    #[value(alias = "openmetrics")]
    Prometheus,
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

#[derive(Debug, Args)]
#[command(after_help = "Example: baro import /data/s plant.csv --precision s")]
pub(crate) struct Arguments {
    /// The store
    store: PathBuf,
    /// Files to read, one after the other; - is stdin
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What the files hold; without it by their names
    ///
    /// .csv, .tsv, .ndjson, .jsonl, .json, .parquet, .lp, .influx, .line, .prom or .om; of text with .gz
    /// behind it too. Of any other name text of Prometheus and annotated CSV are known by their first lines.
    #[arg(long, value_enum, value_name = "FORM")]
    input: Option<Input>,
    #[command(flatten)]
    text: TextArguments,
    /// Stop at the first line that is refused
    ///
    /// What came before it is recorded.
    #[arg(long)]
    strict: bool,
    /// Say what would be taken and what refused, and write nothing
    ///
    /// Everything is read; nothing is written or declared.
    #[arg(long)]
    dry_run: bool,
    /// How counts are printed: text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: ImportFormat,
}

/// A file as it is to be read.
struct Given<'a> {
    path: &'a Path,
    input: Input,
    /// What was opened to know its form, of what cannot be opened again.
    opened: Option<Box<dyn Read>>,
}

impl Arguments {
    /// Of all files of CSV, if there are some: what is said of columns may be said of no others.
    fn csv_parser(&self, has_csv: bool) -> Result<CsvParser> {
        let form = if has_csv { self.text.form()? } else { TextForm::default() };
        Ok(CsvParser::of_several(form))
    }

    fn given<'a>(&self, path: &'a Path) -> Result<Given<'a>> {
        let mut opened = None;
        let input = self.input_of(path, &mut opened)?;
        Ok(Given { path, input, opened })
    }

    fn input_of(&self, file: &Path, begun: &mut Option<Box<dyn Read>>) -> Result<Input> {
        if files::exists(&file.join(baro_log::IDENTITY)) {
            let file = file.display();
            return Err(format!(
                "{file}: expected a file of samples, found a folder; {file} is a store: STORE comes first"
            )
            .into());
        }
        super::refuse_folder(file, "a file of samples")?;
        let by_format = match self.format {
            ImportFormat::Csv => Some(Input::Csv),
            ImportFormat::Parquet => Some(Input::Parquet),
            ImportFormat::Influx => Some(Input::Influx),
            ImportFormat::Text | ImportFormat::Json => None,
        };
        let packed = is_packed(file);
        let plain = if packed { Path::new(file.file_stem().unwrap_or_default()) } else { file };
        let ending = plain.extension().and_then(|ending| ending.to_str());
        let by_name = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("csv" | "tsv") => Some(Input::Csv),
            Some("ndjson" | "jsonl" | "json") => Some(Input::Json),
            Some("parquet") => Some(Input::Parquet),
            Some("lp" | "influx" | "line") => Some(Input::Influx),
            Some("prom" | "om" | "openmetrics") => Some(Input::Prometheus),
            _ => None,
        };
        let mut found = self.input.or(by_format).or(by_name);
        if found.is_none() && file != Path::new("-") {
            found = by_begin(file, packed, begun)?;
        }
        if found == Some(Input::Parquet) && file == Path::new("-") {
            return Err("Parquet is read from its end: expected a file, found - (stdin)".into());
        }
        if found == Some(Input::Parquet) && packed {
            let file = file.display();
            return Err(format!(
                "{file}: expected Parquet as it is, found .gz, which cannot be read from its end: \
                 unpack it before"
            )
            .into());
        }
        if let Some(input) = found.filter(|_| !packed) {
            kind::refuse_other(file, input)?;
        }
        found.ok_or_else(|| {
            let file = file.display();
            let text = "expected a name in .csv, .tsv, .ndjson, .jsonl, .json, .parquet, .lp, .influx or \
                        .line, .prom or .om (packed by gzip, with .gz behind it; not Parquet), or --input";
            Mistake::new(format!("{file}: {text}")).into()
        })
    }
}

/// Bytes of a file's begin by which its form is known.
const BEGIN_BYTES: u64 = 64 << 10;

/// What a file holds whose first lines no two forms share. What comes out of a pipe comes once: then `begun`
/// is the whole of it.
fn by_begin(file: &Path, packed: bool, begun: &mut Option<Box<dyn Read>>) -> Result<Option<Input>> {
    let (mut input, mut begin) = (opened(file, packed)?, Vec::new());
    let read = input.by_ref().take(BEGIN_BYTES).read_to_end(&mut begin);
    read.map_err(|error| format!("{}: read: {error}", file.display()))?;
    let text = String::from_utf8_lossy(&begin);
    let found = match prometheus::is_prometheus(&text) {
        true => Some(Input::Prometheus),
        false => csv::is_annotated(&text).then_some(Input::Csv),
    };
    if !files::is_regular(file) {
        *begun = Some(Box::new(Cursor::new(begin).chain(input)));
    }
    Ok(found)
}

fn opened(file: &Path, packed: bool) -> Result<Box<dyn Read>> {
    Ok(if packed {
        Box::new(Members::new(files::open(file)?))
    } else {
        Box::new(files::open(file)?)
    })
}

/// Whether a file is packed by gzip, by its name.
fn is_packed(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "gz")
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let given = arguments.files.iter().map(|file| arguments.given(file));
    let given: Vec<Given<'_>> = given.collect::<Result<_>>()?;
    let has = |input: Input| given.iter().any(|file| file.input == input);
    let (csv, json, parquet) = (has(Input::Csv), has(Input::Json), has(Input::Parquet));
    if let Some((option, wanted)) = arguments.text.unused(csv, json, parquet) {
        let said = format!("--{option}: expected a file of {wanted}, found none");
        return Err(Mistake::new(said).into());
    }
    // What no reader could open, since a link or a file is where a folder should be, is not written into. A
    // recorder, which cannot wait, goes on and says so.
    if let Err(baro_store::Error::System(error)) = baro_store::Store::open(&arguments.store)
        && error.errno().is_none()
        && !error.is_missing()
    {
        return Err(error.into());
    }
    termination::watch()?;
    let waiting = Waiting::default();
    let recorder = if arguments.dry_run { None } else { turn::take(&arguments.store)? };
    let target = match &recorder {
        _ if arguments.dry_run => Target::nowhere(&arguments.store)?,
        Some(recorder) => Target::of(recorder, Room::WhileItMoves(&waiting))?,
        None => Target::attach(&arguments.store, Room::WhileItMoves(&waiting))?,
    };
    let kept_from_ns = match recorder {
        Some(_) => i64::MIN,
        None => beside::kept_from_ns(&arguments.store),
    };
    let strict = arguments.strict;
    let manner = Manner { strict, kept_from_ns, ..Manner::together() };
    let before = recorder.as_ref().and_then(|recorder| recorder.opening().recycled_before);
    before.iter().for_each(|before| say!("LOST: {}", recycled_before(before)));
    let deleted = Deleted::of(&arguments.store);
    let mut reading = Reading::new(Intake::new("import", target, manner)?, deleted);
    let store = &arguments.store;
    let mut csv = arguments.csv_parser(csv)?;
    let (failed, mut read) = beside::with_settling(store, recorder.as_ref(), &waiting, || {
        let mut failed = Ok(());
        for file in given {
            reading.begin(file.path, file.input == Input::Parquet);
            failed = one(arguments, &mut reading, &mut csv, file);
            if failed.is_err() || reading.stopped() {
                break;
            }
        }
        // What was understood is recorded, whatever ended the reading.
        (failed, reading.end())
    })?;
    let closed = recorder.map(Recorder::close);
    again::count(arguments, manner, &mut read);
    let deleted = std::mem::take(&mut read.deleted);
    let report = Report::new(read, failed, closed.as_ref(), arguments);
    report.print(arguments.format == ImportFormat::Json)?;
    deleted.tell(store);
    Ok(match report.outcome()? {
        // Nobody else says it.
        Outcome::Done if before.is_some() => Outcome::Lost,
        outcome => outcome,
    })
}

/// `csv` reads all files of CSV, which know of each other's names.
fn one(
    arguments: &Arguments,
    reading: &mut Reading<'_>,
    csv: &mut CsvParser,
    file: Given<'_>,
) -> Result<()> {
    let text = &arguments.text;
    if is_packed(file.path)
        && !reading.is_again()
        && let Err(error) = packed::check(file.path)
    {
        let file = file.path.display();
        return Err(format!("{file}: read: {error}: nothing of this file is taken").into());
    }
    match file.input {
        Input::Csv => {
            let mut unknown = None;
            pieces(file, reading, |piece, reading| {
                let mut item = |item: std::result::Result<Sample<'_>, CsvError>| match item {
                    // Nothing of a file is taken that does not begin as one.
                    _ if unknown.is_some() => {}
                    Err(error) if error.unknown_form => unknown = Some(error),
                    item => take_sample(reading, item),
                };
                match piece {
                    Some(piece) => csv.feed(piece, &mut item),
                    None => csv.finish(&mut item),
                }
                let Some(error) = &unknown else { return Ok(csv.held().first()) };
                reading.refused_whole(error.line);
                let file = reading.file();
                let expected = match error.problem {
                    // What is expected of names of columns is said there.
                    CsvProblem::Header { .. } => "",
                    _ => {
                        ": its first line must be a row of time,series,value, or the names of its columns \
                         with commas, semicolons or tabs between them, one of them that of the time \
                         (--columns NAME=time says which; =time if that has no name)"
                    }
                };
                Err(format!("{file}: {error}; nothing of this file is taken{expected}").into())
            })
        }
        Input::Json => {
            let mut parser = JsonParser::of(text.form()?);
            pieces(file, reading, |piece, reading| {
                match piece {
                    Some(piece) => parser.feed(piece, |item| take_json(reading, item)),
                    None => parser.finish(|item| take_json(reading, item)),
                }
                Ok(parser.begun())
            })
        }
        Input::Influx => {
            let mut parser = InfluxParser::of(text.form()?.times);
            pieces(file, reading, |piece, reading| {
                match piece {
                    Some(piece) => parser.feed(piece, |item| take_influx(reading, item)),
                    None => parser.finish(|item| take_influx(reading, item)),
                }
                Ok(parser.held().first())
            })
        }
        Input::Prometheus => {
            let mut parser = PrometheusParser::of(text.form()?.times);
            let read = pieces(file, reading, |piece, reading| {
                match piece {
                    Some(piece) => parser.feed(piece, |item| take_sample(reading, item)),
                    None => parser.finish(|item| take_sample(reading, item)),
                }
                Ok(None)
            });
            reading.exemplars(parser.exemplars());
            read
        }
        Input::Parquet => rows(file.path, reading, text.choice()?),
    }
}

/// Samples of Parquet that are taken until it is looked whether they are enough to be pushed.
const TAKEN_AT_ONCE: u64 = 256;

/// Line breaks of a piece. Counts of a byte each are added many at once.
fn newlines(bytes: &[u8]) -> u64 {
    let few = |piece: &[u8]| piece.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    bytes.chunks(u8::MAX.into()).map(|piece| u64::from(few(piece))).sum()
}

/// Hands each piece of a file to `each`, then `None` behind the last; but not that where it was stopped
/// before, since the last line may have come in part. `each` says from which line on it holds back.
fn pieces(
    given: Given<'_>,
    reading: &mut Reading<'_>,
    mut each: impl FnMut(Option<&[u8]>, &mut Reading<'_>) -> Result<Option<u64>>,
) -> Result<()> {
    let Given { path, opened: begun, .. } = given;
    let mut ended = true;
    let mut take = |bytes: &[u8], reading: &mut Reading<'_>| -> Result<()> {
        reading.lines(newlines(bytes), bytes.len());
        ended = bytes.last() == Some(&b'\n');
        let held = each(Some(bytes), reading)?;
        reading.holds_back(held);
        reading.push_if_much();
        Ok(())
    };
    let at_end = if path == Path::new("-") {
        stdin::until(
            || termination::requested().is_some(),
            |came| {
                if let Came::Bytes(bytes, came_ns) = came {
                    reading.came_at(came_ns);
                    take(bytes, reading)?;
                }
                Ok(!reading.stopped())
            },
        )?
    } else {
        let mut input = begun.map_or_else(|| opened(path, is_packed(path)), Ok)?;
        let mut piece = vec![0; 256 << 10];
        loop {
            // Whether a file that was stopped was at its end already; a pipe might be waited for.
            let stopped = reading.stopped();
            if stopped && !files::is_regular(path) {
                break false;
            }
            match input.read(&mut piece) {
                Ok(0) => break true,
                _ if stopped => break false,
                Ok(read) => take(piece.get(..read).unwrap_or(&[]), reading)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_packed(path) && packed::is_damage(&error) => {
                    return Err(format!(
                        "{}: read: {error}: what was taken of it before may be wrong, since its checksum comes \
                         last (baro delete takes samples back; of a file nothing is taken)",
                        path.display()
                    )
                    .into());
                }
                Err(error) => return Err(format!("{}: read: {error}", path.display()).into()),
            }
        }
    };
    if at_end && reading.takes() {
        reading.lines(u64::from(!ended), 0);
        each(None, reading)?;
        reading.whole();
        reading.push_if_much();
    }
    Ok(())
}

fn take_sample(reading: &mut Reading<'_>, item: std::result::Result<Sample<'_>, impl Refused>) {
    match item {
        Ok(Sample { line, time_ns, series, joint, value, mark }) => {
            let time_ns = time_ns.unwrap_or_else(|| reading.line_time_ns(line));
            let (value, types) = ((&value).into(), mark.into());
            reading.take(&Row {
                line,
                series: &series,
                time_ns,
                value,
                types,
                joint,
                written: None,
            });
        }
        Err(error) => reading.not_understood(error.lines(), &error),
    }
}

fn take_json(reading: &mut Reading<'_>, item: std::result::Result<JsonSample<'_>, impl Refused>) {
    let item = item.map(|JsonSample { object, sample }| {
        reading.point(object);
        sample
    });
    take_sample(reading, item);
}

fn take_influx(
    reading: &mut Reading<'_>,
    item: std::result::Result<InfluxSample<'_>, impl Refused>,
) {
    match item {
        Ok(InfluxSample { line, time_ns, series, joint, value }) => {
            let time_ns = time_ns.unwrap_or_else(|| reading.line_time_ns(line));
            let (value, types, joint) = ((&value).into(), Types::Exact, Some(joint));
            reading.take(&Row { line, series, time_ns, value, types, joint, written: None });
        }
        Err(error) => reading.not_understood(error.lines(), &error),
    }
}

fn rows(path: &Path, reading: &mut Reading<'_>, choice: Choice) -> Result<()> {
    let (mut begun, mut stopped, mut taken) = (0, false, 0_u64);
    let rows = parquet::import(files::open(path)?, choice, |item| {
        let row = match &item {
            Imported::Sample { row, .. } => *row,
            Imported::Refused(refusal) => refusal.row,
            Imported::Unit { series, unit } => {
                reading.unit(series, unit);
                return ControlFlow::Continue(());
            }
            Imported::TakenAsUtc { column } => {
                let column: String = column.chars().take(60).collect();
                say!(
                    "{}: note: times in the column {column:?} have no zone and are taken as UTC; \
                     --zone says another",
                    path.display()
                );
                return ControlFlow::Continue(());
            }
        };
        // A row that has begun is taken whole: whoever goes on begins with the next.
        if row != begun && reading.stopped() {
            stopped = true;
            return ControlFlow::Break(());
        }
        begun = row;
        match item {
            Imported::Sample { row, series, joint, time_ns, value } => {
                let (value, types) = (value_of(value), Types::Exact);
                let joint = match joint {
                    parquet::Joint::None => None,
                    parquet::Joint::Whole => Some(Joint::WHOLE),
                    parquet::Joint::Behind(bytes) => Some(Joint::behind(bytes)),
                };
                reading.take(&Row {
                    line: row,
                    series,
                    time_ns,
                    value,
                    types,
                    joint,
                    written: None,
                });
            }
            Imported::Unit { .. } | Imported::TakenAsUtc { .. } => {}
            Imported::Refused(refusal) => {
                reading.not_understood(1, &format_args!("row {}: {}", refusal.row, refusal.reason));
            }
        }
        // The bound is of many thousand samples, so a few more are no matter.
        taken += 1;
        if taken % TAKEN_AT_ONCE == 0 {
            reading.push_if_much();
        }
        ControlFlow::Continue(())
    });
    reading.push_if_much();
    let rows = rows.map_err(|error| format!("{}: {error}", path.display()))?;
    reading.lines(rows - u64::from(stopped), 0);
    if !stopped {
        reading.whole();
    }
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
