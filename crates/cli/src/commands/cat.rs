//! `baro cat`: what was recorded, in time order.

use crate::failure::{Outcome, Result};
use crate::time;
use baro_command::{Lines, json_line};
use baro_export::csv;
use baro_ondisk::{Gap, Kind};
use baro_store::{Datum, Interval, Point, Reading, RecordRef, Selection, Store};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::borrow::Cow;
use std::io::{BufWriter, Stdout, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Time, name and value, for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
    /// time,series,value with times in nanoseconds: can be recorded again
    Csv,
    /// The bytes of frames, one after another
    Raw,
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// Only these, by name: series, channels (frames as they are), fields of a channel as
    /// CHANNEL.FIELD, CHANNEL.*; or selectors as temp{site="a",line=~"3.*"}; without any of them
    /// all, fields instead of frames
    series: Vec<String>,
    /// From this time on: 2026-11-21T21:03:49Z, nanoseconds, or -30s for a time before now
    #[arg(long, value_parser = time::parse, allow_hyphen_values = true)]
    from: Option<i64>,
    /// Up to this time, exclusive
    #[arg(long, value_parser = time::parse, allow_hyphen_values = true)]
    to: Option<i64>,
    /// Only the last N rows of each of the series named
    #[arg(long, value_name = "N", requires = "series", conflicts_with_all = ["from", "to"])]
    last: Option<usize>,
    /// Leave out gaps and clock steps
    #[arg(long)]
    data_only: bool,
    #[arg(long, value_enum, default_value_t)]
    format: RowFormat,
}

struct Printer<W: Write> {
    out: Lines<W>,
    selection: Selection,
    format: RowFormat,
    /// Rows of CSV say the types of their values.
    typed: bool,
    lost: u64,
    /// Fields that a frame was too short for.
    short: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let selection = if arguments.series.is_empty() {
        Selection::all(store.catalog(), arguments.format != RowFormat::Raw)?
    } else {
        Selection::named(store.catalog(), &arguments.series)?
    };
    let mut printer = Printer::new(selection, arguments.format);
    if let Some(rows) = arguments.last {
        printer.last(&store, rows)?;
        return Ok(Outcome::Done);
    }
    let interval = Interval {
        from_ns: arguments.from.unwrap_or(i64::MIN),
        to_ns: arguments.to.unwrap_or(i64::MAX),
    };
    let mut filter = printer.selection.filter();
    if arguments.data_only {
        filter = filter.data_only();
    }
    let mut failed = None;
    let notes = store.records(interval, &filter, &Reading::default(), |record| {
        match printer.record(record) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    printer.out.flush()?;
    if printer.short > 0 {
        say!("note: {} values are missing: frames ended before their fields", printer.short);
    }
    let headers = store.damage_so_far();
    for damage in headers.iter().chain(&notes.damage) {
        say!("damage: {damage}");
    }
    let damaged = headers.iter().chain(&notes.damage).any(baro_store::Damage::is_loss);
    Ok(Outcome::lost_if(damaged || printer.lost > 0))
}

impl Printer<BufWriter<Stdout>> {
    fn new(selection: Selection, format: RowFormat) -> Self {
        let typed = format == RowFormat::Csv && csv::needs_types(&selection);
        let out = Lines::new(baro_command::exact());
        Printer { out, selection, format, typed, lost: 0, short: 0 }
    }
}

impl<W: Write> Printer<W> {
    fn record(&mut self, record: &RecordRef<'_>) -> Result<()> {
        match record.kind {
            Kind::Frame | Kind::Samples | Kind::Text => {
                let Printer { out, selection, format, typed, .. } = self;
                let mut result = Ok(());
                self.short += selection.unfold(record, |point| {
                    if result.is_ok() {
                        result = print(out, *format, *typed, point);
                    }
                });
                result
            }
            Kind::Gap => {
                let gap = Gap::decode(record.payload).unwrap_or_default();
                self.lost = self.lost.saturating_add(gap.lost());
                self.note(record.time_ns, &format!("{} records lost: {gap:?}", gap.lost()))
            }
            Kind::Clock => self.note(record.time_ns, "the realtime clock was stepped"),
            Kind::Declare | Kind::Moved => Ok(()),
        }
    }

    /// The last rows of each series or channel selected.
    fn last(&mut self, store: &Store, rows: usize) -> Result<()> {
        let ids = self.selection.ids();
        let (tails, _) = store.tail(&ids, rows)?;
        let Printer { out, selection, format, typed, .. } = self;
        for id in ids {
            for row in tails.get(&id).into_iter().flatten() {
                let mut result = Ok(());
                self.short += selection.unfold_row(id, row, |point| {
                    if result.is_ok() {
                        result = print(out, *format, *typed, point);
                    }
                });
                result?;
            }
        }
        Ok(self.out.flush()?)
    }

    fn note(&mut self, time_ns: i64, text: &str) -> Result<()> {
        match self.format {
            RowFormat::Raw => say!("{}  {text}", time::show(time_ns)),
            RowFormat::Csv => writeln!(self.out.exact(), "# {time_ns} {text}")?,
            RowFormat::Text => row!(self.out, "{}  -- {text}", time::show(time_ns))?,
            RowFormat::Json => {
                writeln!(self.out.exact(), "{}", json!({"time_ns": time_ns, "note": text}))?;
            }
        }
        Ok(())
    }
}

fn print<W: Write>(
    out: &mut Lines<W>,
    format: RowFormat,
    typed: bool,
    point: &Point<'_>,
) -> Result<()> {
    let unknown = || Cow::Owned(format!("unknown-{}", point.id));
    let name = point.column.map_or_else(unknown, |column| Cow::Borrowed(column.name.as_str()));
    let time_ns = point.time_ns;
    match (format, &point.value) {
        (RowFormat::Raw, Datum::Frame(bytes)) => out.exact().write_all(bytes)?,
        (RowFormat::Csv, value) => csv::row(out.exact(), time_ns, &name, value, typed)?,
        (RowFormat::Text, Datum::Frame(bytes)) => {
            let start: String = bytes.iter().take(16).map(|b| format!("{b:02x}")).collect();
            let dots = if bytes.len() > 16 { ".." } else { "" };
            let time = time::show(time_ns);
            row!(out, "{time}  {name}  {} B {start}{dots}", bytes.len())?;
        }
        (RowFormat::Json, Datum::Frame(bytes)) => {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            let row =
                json!({"time_ns": time_ns, "channel": name, "bytes": bytes.len(), "hex": hex});
            writeln!(out.exact(), "{}", json_line(&row))?;
        }
        (RowFormat::Raw, _) => {}
        // Escaped: a text may hold what moves a terminal's cursor.
        (RowFormat::Text, Datum::Text(text)) => {
            row!(out, "{}  {name}  {text:?}", time::show(time_ns))?;
        }
        (RowFormat::Text, value) => {
            let mut shown = Vec::new();
            csv::value(&mut shown, value)?;
            let shown = String::from_utf8_lossy(&shown);
            row!(out, "{}  {name}  {shown}", time::show(time_ns))?;
        }
        (RowFormat::Json, value) => {
            // To most who write JSON 21 and 21.5 are of one type.
            let kind = match value {
                Datum::Integer(_) => Some("i64"),
                Datum::Unsigned(_) => Some("u64"),
                _ => None,
            };
            let value = match value {
                Datum::Float(value) => json!(value),
                Datum::Integer(value) => json!(value),
                Datum::Unsigned(value) => json!(value),
                Datum::Boolean(value) => json!(value),
                Datum::Text(text) => json!(text),
                Datum::Frame(_) => json!(null),
            };
            let mut row = json!({"time_ns": time_ns, "series": name, "value": value});
            if let Some(kind) = kind {
                row["value_type"] = json!(kind);
            }
            writeln!(out.exact(), "{}", json_line(&row))?;
        }
    }
    Ok(())
}

/// The last rows of a series as text; nothing if there is no such series.
pub(crate) fn print_last(store: &Store, name: &str, rows: usize) -> Result<()> {
    let Ok(selection) = Selection::named(store.catalog(), &[name]) else { return Ok(()) };
    Printer::new(selection, RowFormat::Text).last(store, rows)
}
