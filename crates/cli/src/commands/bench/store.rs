//! `baro bench store`: see `baro_bench::store`.

use crate::commands::Format;
use crate::failure::{Outcome, Result};
use crate::size;
use baro_bench::store::generate::{
    Data, Order, Recorded, Timed, Times, Values, Walk, WalkSpec, record_proc,
};
use baro_bench::store::report::{self, Field};
use baro_bench::store::state::State;
use baro_bench::store::steady::{self, SteadySpec};
use baro_bench::store::{StoreSpec, run as measure};
use baro_recorder::Retention;
use baro_store::RunRetention;
use baro_sys::{clock, files, termination};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The data that is generated.
const WALK: &str = "walk";
/// Of a steady run: recycled often, so that what grows is seen.
const STEADY_LOG_BYTES: u64 = 256 << 20;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro bench store --dir /data --series 1000")]
pub(crate) struct Arguments {
    /// Folder on the file system to measure; stores are made in it and removed
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Number of series of the walk
    #[arg(long, default_value_t = 1000)]
    series: u32,
    /// Samples in all, rounded up to whole ticks; recorded data is repeated to reach them
    #[arg(long)]
    samples: Option<u64>,
    /// Makes walks and questions differ
    #[arg(long, default_value_t = 1, hide_short_help = true)]
    seed: u64,
    /// How the samples of the walk arrive
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    order: OrderName,
    /// When the samples of the walk are taken
    #[arg(long, value_enum, default_value_t)]
    times: TimesName,
    /// What the values of the walk are made into
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    values: ValuesName,
    /// Of 100 samples of the walk so many come late, by up to a tenth of the range; 0, of an aged
    /// store 1
    #[arg(long, value_name = "PERCENT", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    late: Option<u32>,
    /// In which state the store is asked
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    state: StateName,
    /// What is pushed: walk, proc (kernel counters, recorded first), or a file with lines of
    /// time,series,value
    #[arg(long, default_value = "walk")]
    data: String,
    /// How long proc is recorded
    #[arg(long, default_value = "10s", value_parser = size::nanoseconds, hide_short_help = true)]
    record: u64,
    /// Time from one reading of proc to the next
    #[arg(long, default_value = "10ms", value_parser = size::nanoseconds, hide_short_help = true)]
    interval: u64,
    /// Size of the log; as large as the samples need if not given
    #[arg(long, value_parser = size::bytes, hide_short_help = true)]
    log: Option<u64>,
    /// Time for each kind of question; what takes longer is asked less often
    #[arg(long, default_value = "5s", value_parser = size::nanoseconds, hide_short_help = true)]
    budget: u64,
    /// Push so many samples a second, waiting for nobody, and not as many as go in
    #[arg(long, requires = "duration", hide_short_help = true)]
    rate: Option<u64>,
    /// How long, with --rate
    #[arg(long = "for", id = "duration", value_name = "DURATION", requires = "rate",
          value_parser = size::nanoseconds, hide_short_help = true)]
    duration: Option<u64>,
    /// With --rate: the oldest runs are dropped while all together are larger
    #[arg(long, default_value = "256M", value_parser = size::bytes, hide_short_help = true)]
    runs_size: u64,
    /// With --rate: a file for memory, disk and pushes over time
    #[arg(long, requires = "rate", hide_short_help = true)]
    csv: Option<PathBuf>,
    /// With --rate: a picture of it
    #[arg(long, requires = "rate", hide_short_help = true)]
    svg: Option<PathBuf>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// [`Order`] as an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OrderName {
    /// Every tick all series, ascending
    #[default]
    Ticks,
    /// Within each 10 ticks any order
    Shuffled,
    /// Each series delivers 50 ticks at once
    Bursty,
    /// One sample of 100 is late by up to a tenth of the range
    Late,
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::Ticks => Order::Ticks,
            OrderName::Shuffled => Order::Shuffled,
            OrderName::Bursty => Order::Bursty,
            OrderName::Late => Order::Late,
        }
    }
}

/// [`Times`] as an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TimesName {
    /// All series at the same times
    #[default]
    Grid,
    /// Each series at its own place within the tick
    Offset,
    /// At the tick, later by up to a millisecond
    Jitter,
    /// Independent of each other; with the orders ticks and bursty
    Poisson,
}

impl From<TimesName> for Times {
    fn from(name: TimesName) -> Self {
        match name {
            TimesName::Grid => Times::Grid,
            TimesName::Offset => Times::Offset,
            TimesName::Jitter => Times::Jitter,
            TimesName::Poisson => Times::Poisson,
        }
    }
}

/// [`Values`] as an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ValuesName {
    /// Three decimals
    #[default]
    Walk,
    /// Floats whose every bit counts
    Float,
    /// Integers that rise
    Counter,
    /// One of five, each kept for a while
    State,
}

impl From<ValuesName> for Values {
    fn from(name: ValuesName) -> Self {
        match name {
            ValuesName::Walk => Values::Walk,
            ValuesName::Float => Values::Float,
            ValuesName::Counter => Values::Counter,
            ValuesName::State => Values::State,
        }
    }
}

/// [`State`] as an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum StateName {
    /// All settled at once
    #[default]
    Fresh,
    /// The first half settled, the other one in the log
    Half,
    /// Settled in ten portions, with late samples, merged; what was before is dropped
    Aged,
}

impl From<StateName> for State {
    fn from(name: StateName) -> Self {
        match name {
            StateName::Fresh => State::Fresh,
            StateName::Half => State::Half,
            StateName::Aged => State::Aged,
        }
    }
}

impl Arguments {
    /// Of 100 samples so many are late.
    fn late_percent(&self) -> u32 {
        self.late.unwrap_or(u32::from(self.data == WALK && self.state == StateName::Aged))
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                stop.fetch_or(termination::requested().is_some(), Ordering::Relaxed);
                clock::sleep_ns(20_000_000);
            }
        });
        let result = match (arguments.rate, arguments.duration) {
            (Some(rate), Some(duration_ns)) => run_steady(arguments, rate, duration_ns, &stop),
            _ => run_until(arguments, &stop),
        };
        done.store(true, Ordering::Relaxed);
        result
    })
}

fn run_steady(
    arguments: &Arguments,
    rate: u64,
    duration_ns: u64,
    stop: &AtomicBool,
) -> Result<Outcome> {
    let spec = SteadySpec {
        series: arguments.series,
        rate,
        duration_ns,
        seed: arguments.seed,
        log_bytes: arguments.log.unwrap_or(STEADY_LOG_BYTES),
        retention: Retention::default(),
        runs: RunRetention { keep_bytes: Some(arguments.runs_size), ..Default::default() },
        points: u32::try_from(duration_ns / 1_000_000_000).unwrap_or(u32::MAX).clamp(1, 360),
    };
    let report = steady::run(&arguments.dir, &spec, stop)?;
    // First: a file that cannot be written takes no hours of measuring along.
    print(arguments.format, &report.fields())?;
    if let Some(path) = &arguments.csv {
        files::replace(path, report.csv().as_bytes())?;
    }
    if let Some(path) = &arguments.svg {
        files::replace(path, report.svg().as_bytes())?;
    }
    Ok(Outcome::lost_if(
        report.segments_lost_unsettled > 0
            || report.points.last().is_some_and(|point| point.lost > 0),
    ))
}

fn run_until(arguments: &Arguments, stop: &AtomicBool) -> Result<Outcome> {
    let (data, name, order) = data(arguments, stop)?;
    let name_is_walk = arguments.data == WALK;
    let spec = StoreSpec {
        log_bytes: arguments.log,
        seed: arguments.seed,
        data: name,
        order,
        times: if name_is_walk { Times::from(arguments.times).name() } else { "recorded" },
        values: if name_is_walk { Values::from(arguments.values).name() } else { "recorded" },
        late_percent: if name_is_walk { arguments.late_percent() } else { 0 },
        state: arguments.state.into(),
        budget_ns: arguments.budget,
    };
    let report = measure(&arguments.dir, data.as_ref(), &spec, stop)?;
    print(arguments.format, &report.fields())?;
    Ok(Outcome::Done)
}

/// What is pushed, its name, and the name of its order.
fn data(arguments: &Arguments, stop: &AtomicBool) -> Result<(Box<dyn Data>, String, &'static str)> {
    const RECORDED: &str = "recorded";
    let wanted = arguments.samples.unwrap_or(0);
    Ok(match arguments.data.as_str() {
        WALK => {
            let order = Order::from(arguments.order);
            let samples = arguments.samples.unwrap_or(20_000_000);
            let spec = WalkSpec::about(arguments.series, samples, arguments.seed, order)?;
            let data = Timed::new(Walk::new(spec), arguments.times.into())?;
            let data = data.with_values(arguments.values.into());
            let data = data.with_late(arguments.late_percent())?;
            (Box::new(data), WALK.to_owned(), order.name())
        }
        "proc" => {
            let data = record_proc(arguments.record, arguments.interval, wanted, stop)?;
            (Box::new(data), "proc".to_owned(), RECORDED)
        }
        path => {
            let path = Path::new(path);
            let data = Recorded::read(path, wanted)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (Box::new(data), name, RECORDED)
        }
    })
}

fn print(format: Format, fields: &[(&'static str, Field)]) -> Result<()> {
    let text = match format {
        Format::Text => report::text(fields),
        Format::Json => object(fields),
    };
    baro_command::print_lines(text.trim_end())
}

/// One JSON object whose keys keep their order.
fn object(fields: &[(&'static str, Field)]) -> String {
    let line = |(key, field): &(&'static str, Field)| {
        let value = match field {
            Field::Count(count) => json!(count),
            Field::Number(number) => json!(number),
            Field::Text(text) => json!(text),
            Field::Missing => Value::Null,
        };
        format!("  {}: {value}", json!(key))
    };
    let lines: Vec<String> = fields.iter().map(line).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}
