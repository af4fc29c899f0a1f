//! `baro cat`: what was recorded, in time order.

use crate::failure::{Outcome, Result};
use crate::time;
use baro_ondisk::{Gap, Kind, Type};
use baro_recorder::log::Declared;
use baro_store::{Filter, Interval, Reading, RecordRef, Store, Value};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::collections::HashMap;
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
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// Only these series and channels, by name; all without it
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

struct Printer<W> {
    out: W,
    names: HashMap<u32, (String, Option<Type>)>,
    wanted: Option<Vec<u32>>,
    format: RowFormat,
    lost: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let ids = ids(&store, &arguments.series)?;
    let mut printer = Printer::new(&store, arguments.format);
    if let (Some(rows), Some(ids)) = (arguments.last, &ids) {
        let (tails, _) = store.tail(ids, rows)?;
        for id in ids {
            for row in tails.get(id).into_iter().flatten() {
                printer.row(row.time_ns, *id, &row.value)?;
            }
        }
        printer.out.flush()?;
        return Ok(Outcome::Done);
    }
    let interval = Interval {
        from_ns: arguments.from.unwrap_or(i64::MIN),
        to_ns: arguments.to.unwrap_or(i64::MAX),
    };
    let mut filter = ids.as_ref().map_or_else(Filter::all, |ids| Filter::ids(ids));
    if arguments.data_only {
        filter = filter.data_only();
    }
    printer.wanted = ids;
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
    for damage in store.damage().iter().chain(&notes.damage) {
        eprintln!("damage: {damage}");
    }
    let damaged = store.damage().iter().chain(&notes.damage).any(baro_store::Damage::is_loss);
    Ok(Outcome::lost_if(damaged || printer.lost > 0))
}

fn ids(store: &Store, names: &[String]) -> Result<Option<Vec<u32>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let find =
        |name: &String| {
            store.catalog().name(name).map(|found| found.id).ok_or_else(|| {
                format!("{name}: no such series or channel; baro list shows all").into()
            })
        };
    names.iter().map(find).collect::<Result<Vec<u32>>>().map(Some)
}

impl Printer<BufWriter<std::io::StdoutLock<'static>>> {
    fn new(store: &Store, format: RowFormat) -> Self {
        let name = |entry: &Declared| (entry.id, (entry.name.clone(), Some(entry.kind)));
        Printer {
            out: BufWriter::with_capacity(1 << 20, std::io::stdout().lock()),
            names: store.catalog().entries().iter().map(name).collect(),
            wanted: None,
            format,
            lost: 0,
        }
    }
}

impl<W: Write> Printer<W> {
    fn record(&mut self, record: &RecordRef<'_>) -> Result<()> {
        match record.kind {
            Kind::Frame => self.frame(record.time_ns, record.stream, record.payload),
            Kind::Samples => {
                for (id, time_ns, bits) in record.samples().iter().flat_map(|s| s.iter()) {
                    if self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&id)) {
                        self.sample(time_ns, id, bits)?;
                    }
                }
                Ok(())
            }
            Kind::Gap => {
                let gap = Gap::decode(record.payload).unwrap_or_default();
                self.lost = self.lost.saturating_add(gap.lost());
                self.note(record.time_ns, &format!("{} records lost: {gap:?}", gap.lost()))
            }
            Kind::Clock => self.note(record.time_ns, "the realtime clock was stepped"),
            Kind::Declare => Ok(()),
        }
    }

    fn row(&mut self, time_ns: i64, id: u32, value: &Value) -> Result<()> {
        match value {
            Value::Bits(bits) => self.sample(time_ns, id, *bits),
            Value::Frame(bytes) => self.frame(time_ns, id, bytes),
        }
    }

    fn sample(&mut self, time_ns: i64, id: u32, bits: u64) -> Result<()> {
        let unknown = (format!("unknown-{id}"), None);
        let (name, kind) = self.names.get(&id).unwrap_or(&unknown);
        match self.format {
            RowFormat::Raw => {}
            RowFormat::Csv => {
                let value = text(*kind, bits);
                writeln!(self.out, "{time_ns},{},{value}", quoted(name))?;
            }
            RowFormat::Text => {
                writeln!(self.out, "{}  {name}  {}", time::show(time_ns), text(*kind, bits))?;
            }
            RowFormat::Json => {
                let value = match kind {
                    Some(Type::F64) => json!(f64::from_bits(bits)),
                    Some(Type::Bool) => json!(bits != 0),
                    _ => json!(bits as i64),
                };
                writeln!(
                    self.out,
                    "{}",
                    json!({"time_ns": time_ns, "series": name, "value": value})
                )?;
            }
        }
        Ok(())
    }

    fn frame(&mut self, time_ns: i64, id: u32, bytes: &[u8]) -> Result<()> {
        let unknown = (format!("unknown-{id}"), None);
        let (name, _) = self.names.get(&id).unwrap_or(&unknown);
        match self.format {
            RowFormat::Raw => self.out.write_all(bytes)?,
            // Frames have no place in rows of values.
            RowFormat::Csv => {}
            RowFormat::Text => {
                let start: String = bytes.iter().take(16).map(|b| format!("{b:02x}")).collect();
                let dots = if bytes.len() > 16 { ".." } else { "" };
                let time = time::show(time_ns);
                writeln!(self.out, "{time}  {name}  {} B {start}{dots}", bytes.len())?;
            }
            RowFormat::Json => {
                let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                let row =
                    json!({"time_ns": time_ns, "channel": name, "bytes": bytes.len(), "hex": hex});
                writeln!(self.out, "{row}")?;
            }
        }
        Ok(())
    }

    fn note(&mut self, time_ns: i64, text: &str) -> Result<()> {
        match self.format {
            RowFormat::Raw => eprintln!("{}  {text}", time::show(time_ns)),
            RowFormat::Csv => writeln!(self.out, "# {time_ns} {text}")?,
            RowFormat::Text => writeln!(self.out, "{}  -- {text}", time::show(time_ns))?,
            RowFormat::Json => {
                writeln!(self.out, "{}", json!({"time_ns": time_ns, "note": text}))?;
            }
        }
        Ok(())
    }
}

fn text(kind: Option<Type>, bits: u64) -> String {
    match kind {
        Some(Type::F64) => f64::from_bits(bits).to_string(),
        Some(Type::Bool) => (bits != 0).to_string(),
        _ => (bits as i64).to_string(),
    }
}

/// A name as a CSV field.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) || name.starts_with('#') {
        return format!("\"{}\"", name.replace('"', "\"\""));
    }
    name.to_owned()
}

/// The last rows of a series as text; nothing if there is no such series.
pub(crate) fn print_last(store: &Store, name: &str, rows: usize) -> Result<()> {
    let Some(found) = store.catalog().name(name) else { return Ok(()) };
    let mut printer = Printer::new(store, RowFormat::Text);
    let (tails, _) = store.tail(&[found.id], rows)?;
    for row in tails.get(&found.id).into_iter().flatten() {
        printer.row(row.time_ns, found.id, &row.value)?;
    }
    Ok(printer.out.flush()?)
}
