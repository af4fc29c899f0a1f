//! `baro query`: samples of some series over an interval, or one value for each step of time.

mod agg;
mod output;
mod promql;
mod steps;
mod table;
mod text;

use super::{ask, damaged, open_to_ask, selection, text_form};
use crate::failure::{Mistake, Outcome, Result};
use crate::size;
use crate::time::{self, Moment};
use baro_export::rows::{self, Rows, Told};
use baro_sources::Zone;
use baro_store::{
    Aggregate, Batch, Column, Every, Fill, Interval, Query, QueryNotes, Selection, Store,
};
use clap::{Args, ValueEnum};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use steps::Length;

pub(crate) use output::{Output, tell};

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsFormat {
    /// Aligned columns, for people
    Table,
    /// Time, series, value and unit, two blanks between them
    Text,
    /// time,series,value with times in nanoseconds: can be recorded again
    Csv,
    /// An array of objects
    Json,
    /// One JSON object a line: can be recorded again
    Ndjson,
    /// An Arrow IPC stream: columns series, time, value
    Arrow,
    /// A Parquet file: columns series, time, value
    Parquet,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: baro query /data/s cpu_user_ticks --from 1h --every 1m")]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// Series: names, 'cpu_*', CHANNEL.FIELD, 'temp{site="a"}'
    ///
    /// Names, fields of a channel as CHANNEL.FIELD or CHANNEL.*, patterns with * and ?, or selectors as
    /// temp{site="a",line=~"3.*"}. Without any all.
    selectors: Vec<String>,
    /// PromQL instead of series: 'sum by (site) (temp)'
    ///
    /// At --to, or now; with --every at each step from --from to --to, both included. The engine is that of
    /// baro serve.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true, conflicts_with_all = ["selectors", "agg", "fill", "last", "limit", "offset", "output"])]
    promql: Option<String>,
    /// With --promql: how long a sample counts where none follows; without it 5m
    #[arg(long, value_name = "TIME", value_parser = size::nanoseconds, hide_short_help = true)]
    lookback: Option<u64>,
    /// From this time on: 2026-11-21, 21:03, 1h (ago)
    ///
    /// 2026-11-21, '2026-11-21 21:03', 21:03 (today), yesterday, 1h (ago), 2026-11-21T21:03:49Z, seconds
    /// with a point or nanoseconds since 1970, now. In UTC, or in --zone.
    #[arg(long, aliases = ["since", "start"], value_parser = Moment::parse, allow_hyphen_values = true, value_name = "TIME")]
    from: Option<Moment>,
    /// Up to this time, exclusive
    #[arg(long, aliases = ["until", "end", "stop"], value_parser = Moment::parse, allow_hyphen_values = true, value_name = "TIME")]
    to: Option<Moment>,
    /// One value for each step of time: 10m, 1d, 1w, 1mo
    ///
    /// The mean, or what --agg says. Steps start at multiples since 1970; weeks (w) on Mondays, months (mo) and
    /// years (y) on their first day. Also such as 1h30m.
    #[arg(long, value_parser = steps::length, value_name = "TIME")]
    every: Option<Length>,
    /// Zone whose days, weeks, months and years steps are: Europe/Berlin
    ///
    /// UTC, +01:00, or a place: a day has 23 or 25 hours there when clocks are set. Also that of --from and
    /// --to.
    #[arg(long, value_parser = text_form::zone, allow_hyphen_values = true, hide_short_help = true)]
    zone: Option<Zone>,
    /// Steps start so much later: --every 1d --offset 6h
    #[arg(long, value_parser = size::nanoseconds, requires = "every", value_name = "TIME", hide_short_help = true)]
    offset: Option<u64>,
    /// What the samples of a step, or of all, become: max, p99.9, rate
    ///
    /// Without --every those of the whole interval. mean, min, max, sum, count, first, last; median, and
    /// percentiles from p0 to p100; stddev; increase and rate (by second) of a counter, which was set back
    /// to zero where it falls; delta, the difference to the sample before the step; time-mean, where a
    /// value holds until the next one.
    #[arg(long, value_parser = agg::Parser, value_name = "NAME", hide_possible_values = true)]
    agg: Option<Aggregate>,
    /// What a step without a sample has; without it no row
    ///
    /// From --from, or the first sample, to --to, or the last sample. Texts are not filled.
    #[arg(long, value_enum, value_name = "WITH", hide_short_help = true)]
    fill: Option<Empty>,
    /// Only the last N rows of each series
    #[arg(long, short_alias = 'n', value_name = "N", num_args = 0..=1, default_missing_value = "1", value_parser = rows_after_last)]
    last: Option<usize>,
    /// At most N rows in all
    #[arg(long, value_name = "N", value_parser = size::count::<u64>)]
    limit: Option<u64>,
    /// Form of the rows
    ///
    /// Without it by the name of the file, else table.
    #[arg(long, value_enum, value_name = "FORM")]
    format: Option<RowsFormat>,
    /// The file to make; without it stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "output", hide_short_help = true)]
    force: bool,
}

/// A number of rows; a series behind --last would be taken for it.
fn rows_after_last(text: &str) -> std::result::Result<usize, String> {
    if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        return size::count(text);
    }
    Err(format!(
        "expected a number of rows after --last, found {text}; put the series before --last"
    ))
}

/// What a step without a sample has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Empty {
    /// The value before it, also from before --from
    Previous,
    /// Zero
    Zero,
}

impl From<Empty> for Fill {
    fn from(empty: Empty) -> Self {
        match empty {
            Empty::Previous => Fill::Previous,
            Empty::Zero => Fill::Zero,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let bound = |option: &str, moment: &Option<Moment>| {
        let ns = moment.as_ref().map(|moment| moment.ns(arguments.zone)).transpose();
        ns.map_err(|error| Mistake::new(format!("{option}: {error}")))
    };
    let from_ns = bound("--from", &arguments.from)?;
    let interval = time::interval(from_ns, bound("--to", &arguments.to)?)?;
    if let Some(promql) = &arguments.promql {
        let step_ns = match &arguments.every {
            Some(length) => match length.steps(arguments.zone, 0).map_err(Mistake::new)? {
                (step_ns, None) => step_ns,
                _ => {
                    let text = "--promql: expected --every of one length (24h), found a step of the calendar";
                    return Err(Mistake::new(text).into());
                }
            },
            None => 0,
        };
        return promql::run(arguments, promql, interval, step_ns);
    }
    if arguments.lookback.is_some() {
        return Err(Mistake::new("--lookback: expected --promql beside it, found none").into());
    }
    // Of a step most want its mean.
    let agg = arguments.agg.or(arguments.every.map(|_| Aggregate::Mean));
    if arguments.fill.is_some() && agg.is_none() {
        let text = "--fill: expected --every or --agg beside it, which make steps";
        return Err(Mistake::new(text).into());
    }
    let (step_ns, steps) = match arguments.every {
        Some(length) => {
            length.steps(arguments.zone, arguments.offset.unwrap_or(0)).map_err(Mistake::new)?
        }
        None => (0, None),
    };
    let every = agg.map(|agg| Every { step_ns, aggregate: agg });
    let Arguments { last, limit, .. } = *arguments;
    let fill = arguments.fill.map(Fill::from);
    let query = Query { interval, every, steps, fill, last, limit };
    let output = Output::choose(arguments.format, arguments.output.as_deref(), arguments.force)?;
    let store = open_to_ask(&arguments.store)?;
    let selection = selection::of_values(&store, &arguments.selectors)?;
    let first = RefCell::new(Some(store));
    let open = || match first.take() {
        Some(store) => Ok(store),
        None => open_to_ask(&arguments.store),
    };
    let ((store, (notes, told)), file) = output.write(&selection, every, |rows| {
        let begun = Cell::new(false);
        let again = || !begun.get();
        ask(open, again, |store| {
            let whole = every.is_some_and(|every| every.step_ns == 0) && arguments.from.is_none();
            // Reads the headers of all blocks, and so only where it is needed.
            let start_ns = if whole { store.earliest_ns()? } else { None };
            let rows = &mut Begun { rows: &mut *rows, start_ns, begun: &begun };
            Ok(rows::query(store, &selection, &query, None, rows)?)
        })
    })?;
    if let Some((path, bytes)) = file {
        let rows = baro_show::plural(notes.rows, "row");
        out!("{}: {rows}, {}", path.display(), size::show_bytes(bytes));
    }
    // Who asks for no rows gets none; what is damaged was recorded.
    let whole = notes.read.damage.is_empty();
    if notes.rows == 0 && whole && last != Some(0) && limit != Some(0) {
        // The last sample before a step counts too, so of a single one there is none.
        let two = |every: &Every| {
            use Aggregate::{Delta, Increase, Rate};
            matches!(every.aggregate, Delta | Increase | Rate)
        };
        match every.filter(two) {
            Some(every) => say!(
                "note: no rows: nothing of this was recorded then, or single samples, which have no {}",
                every.aggregate.name()
            ),
            None => tell_nothing(interval),
        }
    }
    tell(&told);
    if let Some(aggregate) = every.map(|every| every.aggregate) {
        tell_texts(&selection, aggregate);
    }
    Ok(met(&store, &notes))
}

/// Says that there is nothing, which an empty file or table does not.
pub(crate) fn tell_nothing(interval: Interval) {
    let bound = |time_ns: i64, open: i64| match time_ns == open {
        true => "..".to_owned(),
        false => time::show(time_ns),
    };
    match (bound(interval.from_ns, i64::MIN), bound(interval.to_ns, i64::MAX)) {
        (from, to) if from == to => say!("note: nothing of this was recorded"),
        (from, to) => say!(
            "note: nothing of this was recorded from {from} to {to} (UTC); baro info STORE shows the \
             times of what there is"
        ),
    }
}

/// Most names that a note has.
const NAMES_TOLD: usize = 10;

/// Says which series have no row because what was asked for is nothing that texts have.
fn tell_texts(selection: &Selection, aggregate: Aggregate) {
    let columns = selection.columns().iter();
    let mut names = columns
        .filter(|column| column.is_series() && column.folded(aggregate).is_none())
        .map(|column| column.name.as_str());
    let told: Vec<&str> = names.by_ref().take(NAMES_TOLD).collect();
    if !told.is_empty() {
        let more = match names.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (name, told) = (aggregate.name(), told.join(", "));
        say!("note: texts have no {name} (but count, first and last): {told}{more}");
    }
}

/// Rows, and whether any has come.
struct Begun<'a> {
    rows: &'a mut dyn Rows,
    /// One value over all there is would have the earliest time that can be written, which pandas takes
    /// for none: it gets this, the time of the store's earliest record.
    start_ns: Option<i64>,
    begun: &'a Cell<bool>,
}

impl Rows for Begun<'_> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> baro_export::Result<()> {
        self.begun.set(true);
        let start = self.start_ns.filter(|_| batch.times_ns == [i64::MIN]).map(|ns| [ns]);
        let times_ns = start.as_ref().map_or(batch.times_ns, |start| start);
        self.rows.batch(column, &Batch { times_ns, ..*batch })
    }

    fn finish(&mut self) -> baro_export::Result<Told> {
        self.begun.set(true);
        self.rows.finish()
    }
}

/// Says what is missing of the answer, and what that makes of the exit code.
pub(crate) fn met(store: &Store, notes: &QueryNotes) -> Outcome {
    let recycled = notes.read.blocks_recycled;
    for (count, what) in [
        (notes.fields_missing, "values are missing: frames ended before their fields"),
        (notes.sums_left_out, "sums of integers are left out: they are larger than their type"),
        (recycled, "blocks were recycled by the recorder before they were read"),
    ] {
        if count > 0 {
            say!("note: {count} {what}");
        }
    }
    let damage = damaged::all(store, &notes.read.damage);
    damage.iter().for_each(|damage| say!("damage: {damage}"));
    let left_out = recycled > 0 || notes.sums_left_out > 0;
    Outcome::lost_if(damage.iter().any(baro_store::Damage::is_loss) || left_out)
}
