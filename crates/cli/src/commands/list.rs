//! `baro list`: series and channels.

use super::{Format, ask, print_json, selection};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use crate::time;
use baro_command::{Lines, json_line};
use baro_log::Declared;
use baro_ondisk::{Declaration, Layout, written_name};
use baro_store::{Damage, Notes, Selector, Store};
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro list /data/s 'cpu_*'")]
pub(crate) struct Arguments {
    /// The store
    store: PathBuf,
    /// Only these: names, 'cpu_*', or 'temp{site="a"}'
    ///
    /// Names, patterns with * and ?, or selectors as temp{site="a",line=~"3.*",x!="y"}.
    series: Vec<String>,
    /// Also count rows and bytes, which reads the whole log
    #[arg(long)]
    counts: bool,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.counts {
        return counted(arguments);
    }
    let store = Store::open(&arguments.store)?;
    let mut out = Lines::printed();
    let json = arguments.format == Format::Json;
    let mut listed = 0_u64;
    let mut failed = None;
    let hidden = store.hidden()?;
    if json {
        write!(out.exact(), "[")?;
    }
    // Row by row: there may be millions.
    let each = |found: &Declaration<'_>| {
        if hidden.has(found.id) {
            return ControlFlow::Continue(());
        }
        let done = if json { row_json(out.exact(), found, listed) } else { row(&mut out, found) };
        listed += 1;
        failed = done.err();
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match selectors(arguments, &store)? {
        Some(selectors) => store.catalog().scan_selected(&selectors, each)?,
        None => store.catalog().scan(each)?,
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    if listed == 0 && !arguments.series.is_empty() {
        selection::named(&store, &arguments.series)?;
    }
    if json {
        writeln!(out.exact(), "{}]", if listed > 0 { "\n" } else { "" })?;
    }
    out.flush()?;
    Ok(told(&store, &Notes::default()))
}

/// Says what is damaged, `met` by reading too, and what that makes of the exit code.
fn told(store: &Store, met: &Notes) -> Outcome {
    let mut damage = store.catalog().damage();
    for found in store.damage_so_far().iter().chain(&met.damage) {
        if !damage.contains(found) {
            damage.push(found.clone());
        }
    }
    damage.iter().for_each(|found| say!("damage: {found}"));
    let recycled = super::du::recycled(met);
    Outcome::lost_if(damage.iter().any(Damage::is_loss) || recycled)
}

/// What the names and selectors of the command line select; `None` without any. A name that is one
/// stands for itself.
fn selectors(arguments: &Arguments, store: &Store) -> Result<Option<Vec<Selector>>> {
    let mut selectors = Vec::new();
    for text in &arguments.series {
        // A name of nothing is a mistake, here as in every verb.
        if !text.contains(['{', '*', '?']) && store.catalog().lookup(text)?.is_none() {
            selection::named(store, std::slice::from_ref(text))?;
        }
        selectors.push(selection::selector(store, text)?);
    }
    Ok((!selectors.is_empty()).then_some(selectors))
}

fn row<W: Write>(out: &mut Lines<W>, found: &Declaration<'_>) -> std::io::Result<()> {
    row!(
        out,
        "{:>6} {:8} {} {}",
        found.id,
        found.kind.name(),
        written_name(found.name),
        found.unit
    )?;
    field_rows(out, found.name, found.layout.as_deref())
}

/// A row for each field of the channel, if it has a layout.
fn field_rows<W: Write>(
    out: &mut Lines<W>,
    channel: &str,
    layout: Option<&Layout>,
) -> std::io::Result<()> {
    for field in layout.iter().flat_map(|layout| layout.fields()) {
        let array = field.elements.map_or(String::new(), |n| format!("[0..{n}]"));
        let (name, unit) = (&field.name, &field.unit);
        row!(out, "{:>6} {:8} {channel}.{name}{array} {unit}", "", field.kind.name())?;
    }
    Ok(())
}

fn row_json(out: &mut impl Write, found: &Declaration<'_>, number: u64) -> std::io::Result<()> {
    let fields = found.layout.as_deref().map_or(Value::Null, fields);
    let row = json!({"id": found.id, "type": found.kind.name(), "name": written_name(found.name),
                     "unit": found.unit, "fields": fields});
    let before = if number == 0 { "\n" } else { ",\n" };
    write!(out, "{before}  {}", json_line(&row))
}

/// The layout of a channel.
fn fields(layout: &Layout) -> Value {
    let field = |field: &baro_ondisk::Field| {
        json!({
            "name": field.name,
            "type": field.kind.name(),
            "big_endian": field.big_endian,
            "elements": field.elements,
            "offset_bytes": field.offset_bytes,
            "scale": field.scale,
            "bias": field.bias,
            "unit": field.unit,
        })
    };
    layout.fields().iter().map(field).collect()
}

/// Rows in a second of the time that they span, if they span any.
fn rate(rows: u64, times_ns: Option<(i64, i64)>) -> String {
    let span_ns = times_ns.map_or(0, |(from_ns, to_ns)| to_ns.saturating_sub(from_ns));
    if rows < 2 || span_ns <= 0 {
        return String::new();
    }
    format!("  {}/s", baro_show::number((rows - 1) as f64 / (span_ns as f64 / 1e9), 1))
}

fn counted(arguments: &Arguments) -> Result<Outcome> {
    let open = || Ok(Store::open(&arguments.store)?);
    let (store, (mut listed, notes)) = ask(open, || true, |store| Ok(store.counts()?))?;
    let store = &store;
    if let Some(selectors) = selectors(arguments, store)? {
        let wanted = store.catalog().select(&selectors)?;
        listed.retain(|entry| wanted.binary_search(&entry.id).is_ok());
    }
    let name = |id: u32, declared: &Option<Declared>| {
        let unknown = || format!("(undeclared {id})");
        declared.as_ref().map_or_else(unknown, |found| written_name(&found.name).into_owned())
    };
    if arguments.format == Format::Json {
        let list: Vec<Value> = listed
            .iter()
            .map(|entry| {
                json!({
                    "id": entry.id,
                    "type": entry.declared.as_ref().map(|found| found.kind.name()),
                    "name": name(entry.id, &entry.declared),
                    "unit": entry.declared.as_ref().map(|found| found.unit.clone()),
                    "fields": entry.declared.as_ref().and_then(|found| found.layout.as_deref().map(fields)),
                    "rows": entry.rows,
                    "bytes": entry.bytes,
                    "time_min_ns": entry.times_ns.map(|times| times.0),
                    "time_max_ns": entry.times_ns.map(|times| times.1),
                })
            })
            .collect();
        print_json(&Value::Array(list))?;
        return Ok(told(store, &notes));
    }
    let mut out = Lines::printed();
    for entry in &listed {
        let times = entry.times_ns.map_or(String::new(), |(from_ns, to_ns)| {
            format!("{} to {}", time::show(from_ns), time::show(to_ns))
        });
        let declared = entry.declared.as_ref();
        let unit = declared.map_or("", |found| &found.unit);
        row!(
            out,
            "{:>6} {:<7} {:>10} rows {:>10}  {}{}{}  {times}{}",
            entry.id,
            declared.map_or("", |found| found.kind.name()),
            entry.rows,
            show_bytes(entry.bytes),
            name(entry.id, &entry.declared),
            if unit.is_empty() { "" } else { " " },
            unit,
            rate(entry.rows, entry.times_ns)
        )?;
        if let Some(found) = declared {
            field_rows(&mut out, &found.name, found.layout.as_deref())?;
        }
    }
    out.flush()?;
    Ok(told(store, &notes))
}
