//! `baro cat`: what was recorded, in time order, from log and runs.

mod follow;

use super::query::tell_nothing;
use super::{damaged, selection};
use crate::failure::{Outcome, Result};
use crate::time;
use baro_command::{Lines, Stdout, json_line};
use baro_export::csv;
use baro_ondisk::written_name;
use baro_store::{Damage, Datum, Interval, Moment, Point, Query, Reading, Selection, Store};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
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
#[command(after_help = "Example: baro cat /data/s cpu_user_ticks --last 3 --follow")]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// Only these: names, 'cpu_*', CHANNEL.FIELD, 'temp{site="a"}'
    ///
    /// Names of series, of channels (frames as they are), fields of a channel as CHANNEL.FIELD or
    /// CHANNEL.*; patterns with * and ?; or selectors as temp{site="a",line=~"3.*"}. Without any of them
    /// all, fields instead of frames.
    series: Vec<String>,
    /// From this time on: 2026-11-21, 21:03, 1h (ago)
    ///
    /// 2026-11-21, '2026-11-21 21:03', 21:03 (today), yesterday, 1h (ago), 2026-11-21T21:03:49Z, seconds
    /// with a point or nanoseconds since 1970, now. All in UTC.
    #[arg(long, aliases = ["since", "start"], value_parser = time::parse, allow_hyphen_values = true, value_name = "TIME")]
    from: Option<i64>,
    /// Up to this time, exclusive
    #[arg(long, aliases = ["until", "end", "stop"], value_parser = time::parse, allow_hyphen_values = true, value_name = "TIME")]
    to: Option<i64>,
    /// Only the last N rows of each of the series named
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = baro_command::size::count::<usize>, requires = "series", conflicts_with_all = ["from", "to"])]
    last: Option<usize>,
    /// Go on with what is recorded from now on, until Ctrl-C
    ///
    /// In the order in which it is recorded. With --last behind these rows.
    #[arg(long, short_alias = 'f', conflicts_with_all = ["from", "to"])]
    follow: bool,
    /// Leave out gaps and clock steps
    #[arg(long)]
    data_only: bool,
    /// How rows are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    format: RowFormat,
}

struct Printer<W: Write> {
    out: Lines<W>,
    selection: Selection,
    format: RowFormat,
    /// Rows of CSV say the types of their values.
    typed: bool,
    lost: u64,
    rows: u64,
    /// Fields that a frame was too short for.
    short: u64,
    /// Infinite values that JSON has as null.
    infinite: u64,
    /// Samples that were to be printed raw.
    samples: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let selection = selected(&store, arguments)?;
    let mut printer = Printer::new(selection, arguments.format);
    if arguments.follow {
        return follow::run(arguments, store, printer);
    }
    if let Some(rows) = arguments.last {
        let damage = printer.last(&store, rows)?;
        printer.tell();
        return Ok(told(&store, &damage, 0));
    }
    let interval = time::interval(arguments.from, arguments.to)?;
    let (mut failed, selection) = (None, printer.selection.clone());
    let mut take = |moment: &Moment<'_>| match printer.moment(moment) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    };
    let reading = Reading::default();
    let (notes, short) = match arguments.data_only {
        true => store.points(interval, &selection, &reading, |p| take(&Moment::Point(*p)))?,
        false => store.timeline(interval, &selection, &reading, take)?,
    };
    printer.short = short;
    if let Some(error) = failed {
        return Err(error);
    }
    printer.out.flush()?;
    if printer.rows == 0 && notes.damage.is_empty() {
        tell_nothing(interval);
    }
    printer.tell();
    let outcome = told(&store, &notes.damage, notes.blocks_recycled);
    Ok(if printer.lost > 0 { Outcome::lost_if(true) } else { outcome })
}

fn selected(store: &Store, arguments: &Arguments) -> Result<Selection> {
    let as_frames = arguments.format == RowFormat::Raw;
    match arguments.series.is_empty() {
        true => Ok(Selection::all(store.catalog(), !as_frames)?),
        false if as_frames => selection::named(store, &arguments.series),
        false => selection::with_fields_of_patterns(store, &arguments.series),
    }
}

/// Says what is missing, and what that makes of the exit code.
fn told(store: &Store, damage: &[Damage], recycled: u64) -> Outcome {
    if recycled > 0 {
        say!("note: {recycled} blocks were recycled by the recorder before they were read");
    }
    let all = damaged::all(store, damage);
    all.iter().for_each(|damage| say!("damage: {damage}"));
    Outcome::lost_if(all.iter().any(Damage::is_loss) || recycled > 0)
}

impl Printer<BufWriter<Stdout>> {
    fn new(selection: Selection, format: RowFormat) -> Self {
        let typed = format == RowFormat::Csv && csv::needs_types(&selection);
        let out = Lines::new(baro_command::exact());
        Printer {
            out,
            selection,
            format,
            typed,
            lost: 0,
            rows: 0,
            short: 0,
            infinite: 0,
            samples: 0,
        }
    }
}

impl<W: Write> Printer<W> {
    fn moment(&mut self, moment: &Moment<'_>) -> Result<()> {
        self.rows += 1;
        match moment {
            Moment::Point(point) => self.point(point),
            Moment::Lost { time_ns, gap } => {
                self.lost = self.lost.saturating_add(gap.lost());
                self.note(
                    *time_ns,
                    &format!("{} lost: {gap}", baro_show::plural(gap.lost(), "record")),
                )
            }
            Moment::Stepped { time_ns } => self.note(*time_ns, "the realtime clock was stepped"),
        }
    }

    /// The last rows of each series or channel selected: of series by their times, from log and runs;
    /// of channels those recorded last.
    fn last(&mut self, store: &Store, rows: usize) -> Result<Vec<Damage>> {
        let selection = self.selection.clone();
        let channels = selection.columns().iter().filter(|column| !column.is_series());
        let channels: BTreeSet<u32> = channels.map(|column| column.id).collect();
        let (tails, notes) = match channels.is_empty() {
            true => Default::default(),
            false => store.tail(&channels.iter().copied().collect::<Vec<_>>(), rows)?,
        };
        let mut damage = notes.damage;
        for id in selection.ids() {
            let mut result = Ok(());
            if !channels.contains(&id) {
                let query = Query { last: Some(rows), ..Query::raw(Interval::ALL) };
                let found = store.query_ids(&[id], &query, |batch| {
                    selection.unfold_batch(id, batch, |point| {
                        if result.is_ok() {
                            result = self.point(point);
                        }
                    });
                    if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                let new = found.read.damage.into_iter().filter(|found| !damage.contains(found));
                let new: Vec<_> = new.collect();
                damage.extend(new);
            }
            for row in tails.get(&id).into_iter().flatten() {
                let short = selection.unfold_row(id, row, |point| {
                    if result.is_ok() {
                        result = self.point(point);
                    }
                });
                self.short += short;
            }
            result?;
        }
        self.out.flush()?;
        Ok(damage)
    }

    fn point(&mut self, point: &Point<'_>) -> Result<()> {
        if self.format == RowFormat::Json
            && let Datum::Float(value) = point.value
        {
            self.infinite += u64::from(value.is_infinite());
        }
        let is_frame = matches!(point.value, Datum::Frame(_));
        self.samples += u64::from(self.format == RowFormat::Raw && !is_frame);
        print(&mut self.out, self.format, self.typed, point)
    }

    /// Says what is not in the rows.
    fn tell(&self) {
        if self.short > 0 {
            say!("note: {} values are missing: frames ended before their fields", self.short);
        }
        if self.infinite > 0 {
            say!("note: {} infinite values are null: JSON has none", self.infinite);
        }
        if self.samples > 0 {
            let values = baro_show::plural(self.samples, "value");
            say!("note: {values} left out: raw has frames alone; use --format csv");
        }
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
    if format == RowFormat::Csv {
        return Ok(csv::row(out.exact(), time_ns, &name, &point.value, typed)?);
    }
    let name = written_name(&name);
    match (format, &point.value) {
        (RowFormat::Raw, Datum::Frame(bytes)) => out.exact().write_all(bytes)?,
        (RowFormat::Text, Datum::Frame(bytes)) => {
            let start = baro_show::hex(&bytes[..bytes.len().min(16)]);
            let dots = if bytes.len() > 16 { ".." } else { "" };
            let time = time::show(time_ns);
            row!(out, "{time}  {name}  {} B {start}{dots}", bytes.len())?;
        }
        (RowFormat::Json, Datum::Frame(bytes)) => {
            let hex = baro_show::hex(bytes);
            let row =
                json!({"time_ns": time_ns, "channel": name, "bytes": bytes.len(), "hex": hex});
            writeln!(out.exact(), "{}", json_line(&row))?;
        }
        (RowFormat::Raw | RowFormat::Csv, _) => {}
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
    Printer::new(selection, RowFormat::Text).last(store, rows).map(drop)
}
