//! `baro export`: a time range as a file that other programs read.

mod columns;

use super::making::{NewFile, ordinary};
use super::query::tell_nothing;
use super::{Format, RATE_BESIDE_RECORDER, damaged, is_recorded, pin, print_json, selection};
use crate::failure::{Mistake, Outcome, Result};
use crate::size::{self, show_bytes};
use crate::time;
use baro_export::{Exported, Request, Times};
use baro_store::{Interval, Reading, Selection, Store};
use baro_sys::storage::Access;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Lines of time,series,value; frames only as the fields of their layout
    Csv,
    /// For Foxglove and other robotics tools: JSON messages with schemas; frames as they are, and
    /// with a layout their fields too
    Mcap,
    /// Columns series, time and value, sorted by series and time; frames only as fields
    Parquet,
    /// The same columns as an Arrow IPC stream
    Arrow,
}

/// How a Parquet export is cut into files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PartitionBy {
    /// A folder date=YYYY-MM-DD for each day (UTC) that has samples
    Date,
}

/// Unit of the times of Parquet and Arrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TimeUnit {
    /// Nanoseconds
    #[default]
    Ns,
    /// Microseconds, and a column ns with the rest of each
    Us,
}

const BUFFER_BYTES: usize = 1 << 20;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro export /data/s hour.parquet --from 1h")]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// The file to make; - is stdout (all but MCAP)
    ///
    /// With --partition-by the folder.
    file: PathBuf,
    /// From this time on: 2026-11-21, 21:03, 1h (ago)
    ///
    /// 2026-11-21, '2026-11-21 21:03', 21:03 (today), yesterday, 1h (ago), 2026-11-21T21:03:49Z, seconds
    /// with a point or nanoseconds since 1970, now. All in UTC.
    #[arg(long, aliases = ["since", "start"], value_parser = time::parse, allow_hyphen_values = true, value_name = "TIME")]
    from: Option<i64>,
    /// Up to this time, exclusive
    #[arg(long, aliases = ["until", "end", "stop"], value_parser = time::parse, allow_hyphen_values = true, value_name = "TIME")]
    to: Option<i64>,
    /// The window of this pin instead: its name or id
    ///
    /// `baro pin STORE --list` shows both.
    #[arg(long, value_name = "PIN", value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["from", "to"])]
    pin: Option<String>,
    /// Only this: a name, 'cpu_*', CHANNEL.FIELD, 'temp{site="a"}'
    ///
    /// A series, a channel, a field, or what a pattern or a selector selects. May be repeated.
    #[arg(long, value_name = "NAME")]
    series: Vec<String>,
    /// Form of the file; without it by the file's name
    ///
    /// .csv, .mcap, .parquet or .arrow.
    #[arg(long, value_enum, value_name = "FORM")]
    output: Option<Output>,
    /// One Parquet file for each day
    ///
    /// In folders that DuckDB, Spark and Polars take for a column.
    #[arg(long, value_enum, value_name = "BY")]
    partition_by: Option<PartitionBy>,
    /// Unit of times in Parquet and Arrow: ns, or us for Spark, which has no nanoseconds
    ///
    /// With us a column ns has the rest of each time, 0 to 999: nothing is rounded, and baro import puts
    /// both together again.
    #[arg(
        long,
        value_enum,
        value_name = "UNIT",
        hide_possible_values = true,
        hide_short_help = true
    )]
    time_unit: Option<TimeUnit>,
    /// Replace the file if it is there
    #[arg(long, conflicts_with = "partition_by")]
    force: bool,
    /// Bytes of the store read a second at most
    ///
    /// Of Parquet and Arrow 16 for each sample. Without it 64M beside a recorder, else no limit.
    #[arg(long, value_parser = size::rate, value_name = "SIZE")]
    rate: Option<u64>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.file != Path::new("-") && arguments.partition_by.is_none() {
        ordinary(&arguments.file)?;
    }
    let output = form(arguments)?;
    let beside = is_recorded(&arguments.store)?;
    let access = if beside { Access::ReadDirect } else { Access::Read };
    let store = Store::open_as(&arguments.store, access)?;
    // Frames too where a form has no place for them: then it is said how many are left out.
    let selection = match arguments.series.is_empty() {
        true => Selection::frames_and_fields(store.catalog())?,
        false => selection::with_fields(&store, &arguments.series)?,
    };
    let bytes_per_s = arguments.rate.or(beside.then_some(RATE_BESIDE_RECORDER));
    let request = Request {
        interval: window(arguments, &store)?,
        selection,
        reading: Reading { bytes_per_s, ..Reading::default() },
        pin: arguments.pin.clone(),
    };
    if matches!(output, Output::Parquet | Output::Arrow) {
        return columns::export(arguments, output, &store, &request);
    }
    if arguments.time_unit.is_some() {
        let text = "--time-unit: expected Parquet or Arrow, found another form";
        return Err(Mistake::new(text).into());
    }
    if arguments.file == Path::new("-") {
        let out = baro_command::exact();
        let out = baro_command::Seen::new(out, baro_command::on_terminal());
        let exported = baro_export::to_csv(&store, &request, out)?;
        tell_pin(arguments, request.interval, found(&exported));
        return Ok(told(&store, &exported));
    }
    let file = NewFile::create(&arguments.file, arguments.force)?;
    let (exported, bytes) = write(&store, &request, output, file)?;
    print(arguments, &exported, bytes, damaged::told(&store, &exported.notes.damage))?;
    tell_pin(arguments, request.interval, found(&exported));
    Ok(told(&store, &exported))
}

/// How times are written in columns.
fn times(arguments: &Arguments) -> Times {
    match arguments.time_unit.unwrap_or_default() {
        TimeUnit::Ns => Times::Nanoseconds,
        TimeUnit::Us => Times::Microseconds,
    }
}

/// What was asked for and was recorded, in the file or not.
fn found(exported: &Exported) -> u64 {
    let damaged = exported.notes.damage.len() as u64;
    exported.rows + exported.frames_left_out + exported.before_1970 + damaged
}

/// A pin keeps what was recorded in its window, an export has what has its own time in it.
fn tell_pin(arguments: &Arguments, interval: Interval, found: u64) {
    match &arguments.pin {
        _ if found > 0 => {}
        Some(pin) => say!(
            "note: nothing has a time in the window of pin {pin}; what was recorded then with other \
             times is kept as long as its runs are: export it with --from and --to"
        ),
        None => tell_nothing(interval),
    }
}

/// The times asked for. Whatever else can name a window of time joins here.
fn window(arguments: &Arguments, store: &Store) -> Result<Interval> {
    let Some(wanted) = &arguments.pin else {
        return Ok(time::interval(arguments.from, arguments.to)?);
    };
    let pin = pin::find(store, wanted)?;
    if !pin.reason.is_empty() {
        say!("pin {wanted}: {}", pin.reason);
    }
    // A window ends as an interval does: with the first time behind it.
    let (from_ns, to_ns) = pin.window_ns();
    Ok(Interval { from_ns, to_ns })
}

fn form(arguments: &Arguments) -> Result<Output> {
    let stdout = arguments.file == Path::new("-");
    let ending = arguments.file.extension().and_then(|ending| ending.to_str());
    match (arguments.output, ending) {
        (Some(Output::Mcap), _) if stdout => {
            Err(Mistake::new("MCAP needs a file: expected a name, found - (stdout)").into())
        }
        (Some(Output::Csv | Output::Mcap | Output::Arrow), _)
            if arguments.partition_by.is_some() =>
        {
            Err(Mistake::new("--partition-by: expected Parquet, found another form").into())
        }
        (Some(output), _) => Ok(output),
        (None, _) if arguments.partition_by.is_some() => Ok(Output::Parquet),
        (None, Some("parquet")) => Ok(Output::Parquet),
        (None, Some("arrow" | "arrows")) => Ok(Output::Arrow),
        (None, Some("csv")) => Ok(Output::Csv),
        (None, Some("mcap")) => Ok(Output::Mcap),
        (None, _) if stdout => Ok(Output::Csv),
        (None, _) => {
            let file = arguments.file.display();
            let text = "expected a name in .csv, .mcap, .parquet or .arrow, or --output";
            let is_store = crate::advice::is_store(&arguments.file);
            let order = if is_store { ", found a store: STORE comes first" } else { "" };
            Err(Mistake::new(format!("{file}: {text}{order}")).into())
        }
    }
}

fn write(
    store: &Store,
    request: &Request,
    output: Output,
    mut file: NewFile,
) -> Result<(Exported, u64)> {
    let out = BufWriter::with_capacity(BUFFER_BYTES, &mut file);
    let exported = match output {
        Output::Mcap => baro_export::to_mcap(store, request, out)?,
        // The others have gone their own way.
        _ => baro_export::to_csv(store, request, out)?,
    };
    Ok((exported, file.finish()?))
}

fn print(
    arguments: &Arguments,
    exported: &Exported,
    bytes: u64,
    damage: Vec<String>,
) -> Result<()> {
    if arguments.format == Format::Json {
        return print_json(&json!({
            "path": arguments.file.to_string_lossy(),
            "file_bytes": bytes,
            "rows": exported.rows,
            "frames_left_out": exported.frames_left_out,
            "infinite_as_null": exported.infinite_as_null,
            "fields_missing": exported.fields_missing,
            "before_1970": exported.before_1970,
            "records_lost": exported.lost,
            "blocks_recycled": exported.notes.blocks_recycled,
            "damage": damage,
        }));
    }
    let rows = baro_show::plural(exported.rows, "row");
    out!("{}: {rows}, {}", arguments.file.display(), show_bytes(bytes));
    Ok(())
}

/// Says what is not in the file, and what that makes of the exit code.
fn told(store: &Store, exported: &Exported) -> Outcome {
    let notes = &exported.notes;
    if exported.frames_left_out > 0 {
        let frames = baro_show::plural(exported.frames_left_out, "frame");
        say!("note: {frames} left out: CSV has no place for them (use MCAP)");
    }
    if exported.lost > 0 {
        let records = baro_show::plural(exported.lost, "record");
        say!("note: lost in this range when they were recorded: {records}");
    }
    for (count, what) in [
        (exported.fields_missing, "values are missing: frames ended before their fields"),
        (exported.infinite_as_null, "infinite values are null: JSON has none"),
        (exported.before_1970, "records left out: MCAP has no times before 1970"),
        (notes.blocks_recycled, "blocks were recycled by the recorder before they were read"),
    ] {
        if count > 0 {
            say!("note: {count} {what}");
        }
    }
    let damage = damaged::all(store, &notes.damage);
    damage.iter().for_each(|damage| say!("damage: {damage}"));
    let damaged = damage.iter().any(baro_store::Damage::is_loss);
    Outcome::lost_if(damaged || exported.lost > 0 || notes.blocks_recycled > 0)
}
