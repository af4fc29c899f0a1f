//! `baro watch`: what comes into a store now, once a second: rates, last values and how they went, losses, and
//! what waits for the disk. It only reads, and sees what is durable; it maps no ring.
//!
//! On a terminal it is a page that stays in its place, of the size that the terminal has at that moment. Into a
//! pipe go lines, one for each series of which something came, or JSON, an object for each step.
//!
//! Invariant: a page never takes more lines or columns than the terminal has, so that nothing scrolls. Held by
//! `screen::tests` and by `a_watch_stays_in_its_terminal`.

mod screen;
mod seen;

use super::{Format, selection};
use crate::failure::{Outcome, Result};
use baro_command::{Lines, Stdout, json_line, on_terminal, terminal_size};
use baro_log::{Role, StoreLock};
use baro_ondisk::{Gap, Kind};
use baro_recorder::inspect::{disk_pressure, waiting_at};
use baro_store::{Selection, Store};
use baro_sys::{clock, termination};
use clap::{Args, ValueEnum};
use screen::{Head, Page};
use seen::Seen;
use serde_json::json;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Which series come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Those of which most came
    Rate,
    /// Those that were declared first
    Age,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: baro watch /data/s 'cpu_*' --every 500ms")]
pub(crate) struct Arguments {
    /// The store; is recorded into meanwhile
    store: PathBuf,
    /// Only these: names, 'cpu_*', CHANNEL.FIELD, 'temp{site="a"}'
    series: Vec<String>,
    /// Between two looks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = baro_command::size::nanoseconds_above_0)]
    every: u64,
    /// Which series come first: rate, unless some are named
    #[arg(long, value_enum)]
    by: Option<By>,
    /// End after so many looks
    #[arg(long, value_name = "N", value_parser = baro_command::size::count::<u64>)]
    count: Option<u64>,
    /// text or json, where it goes into a file or a pipe
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// Looks are no nearer to each other.
const EVERY_NS_MIN: u64 = 50_000_000;
/// How soon a signal is seen.
const SIGNAL_NS: u64 = 20_000_000;
/// Series of a step in a pipe.
const PIPED_ROWS: usize = 1_000;
/// Where a terminal does not say its size.
const SIZE: (usize, usize) = (80, 24);

/// The page of a terminal, which has what it showed before when this is dropped.
struct Screen;

impl Screen {
    fn enter() -> Self {
        // A line that is too wide all the same, as with fonts of double width, does not go on in the next.
        write(b"\x1b[?1049h\x1b[?25l\x1b[?7l");
        Screen
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        write(b"\x1b[?7h\x1b[?25h\x1b[?1049l");
    }
}

fn write(bytes: &[u8]) {
    let mut out = baro_command::exact();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut store = Store::open(&arguments.store)?;
    let mut selection = selected(&store, arguments)?;
    termination::watch()?;
    let every_ns = arguments.every.max(EVERY_NS_MIN);
    let by = arguments.by.unwrap_or(match arguments.series.is_empty() {
        true => By::Rate,
        false => By::Age,
    });
    let mut place = store.end()?;
    let mut seen = Seen::default();
    let mut out = Lines::printed();
    let screen = (on_terminal() && arguments.format == Format::Text).then(Screen::enter);
    let mut looks = 0;
    let mut begun_ns = clock::monotonic_ns();
    while arguments.count.is_none_or(|count| looks < count) && waited(every_ns) {
        let declared = store.catalog().len();
        store.refresh()?;
        if store.catalog().len() != declared {
            selection = selected(&store, arguments)?;
        }
        let notes = store.follow(&mut place, |record| {
            match record.kind {
                Kind::Gap => seen.lost += Gap::decode(record.payload).map_or(0, |gap| gap.lost()),
                Kind::Clock => {}
                _ => {
                    selection.unfold(record, |point| seen.take(point));
                }
            }
            ControlFlow::Continue(())
        })?;
        seen.skipped += notes.blocks_recycled;
        let now_ns = clock::monotonic_ns();
        let (columns, lines) = terminal_size().unwrap_or(SIZE);
        let rows = match &screen {
            Some(_) => screen::rows(lines),
            None => PIPED_ROWS,
        };
        let shown = seen.step(by, &selection, rows, now_ns.saturating_sub(begun_ns));
        begun_ns = now_ns;
        let head = head(&arguments.store, &store, &seen)?;
        let page = Page { head: &head, seen: &seen, selection: &selection, shown: &shown };
        match (&screen, arguments.format) {
            (Some(_), _) => write(&page.drawn(columns, lines)),
            (None, Format::Text) => {
                let nothing = page.lines().all(|line| line.rate <= 0.0);
                if looks == 0 && nothing {
                    // Else a pipe from an idle store would look like a program that hangs.
                    let nobody = match head.recorder {
                        Some(_) => "",
                        None => ", and nobody records into this store",
                    };
                    say!("note: waits for samples: none has come yet{nobody}");
                }
                text(&mut out, &page)?;
            }
            (None, Format::Json) => {
                writeln!(out.exact(), "{}", json_line(&page.json()))?;
                out.flush()?;
            }
        }
        looks += 1;
    }
    drop(screen);
    if seen.skipped > 0 {
        say!("note: {} blocks were recycled by the recorder before they were read", seen.skipped);
    }
    Ok(Outcome::lost_if(seen.lost > 0 || seen.skipped > 0))
}

fn selected(store: &Store, arguments: &Arguments) -> Result<Selection> {
    match arguments.series.is_empty() {
        true => Ok(Selection::all(store.catalog(), true)?),
        false => selection::named(store, &arguments.series),
    }
}

/// What is told of the recorder.
fn head(path: &Path, store: &Store, seen: &Seen) -> Result<Head> {
    let recorder = StoreLock::holder_at(path, Role::Recording)?;
    let (waiting_bytes, ring_bytes) = waiting_at(path, store.identity().store);
    Ok(Head {
        store: path.display().to_string(),
        recorder: recorder.map(|holder| holder.pid.unwrap_or(0)),
        waiting_bytes,
        ring_bytes,
        disk_pressure: disk_pressure(),
        age_ns: seen.newest_ns.map(|newest_ns| clock::realtime_ns().saturating_sub(newest_ns)),
    })
}

/// False once a signal has come.
fn waited(every_ns: u64) -> bool {
    let mut left_ns = every_ns;
    while termination::requested().is_none() && left_ns > 0 {
        let part_ns = left_ns.min(SIGNAL_NS);
        clock::sleep_ns(part_ns);
        left_ns -= part_ns;
    }
    termination::requested().is_none()
}

/// A line for each series of which something came.
fn text(out: &mut Lines<BufWriter<Stdout>>, page: &Page<'_>) -> Result<()> {
    let time = baro_show::rfc3339(clock::realtime_ns());
    for line in page.lines().filter(|line| line.rate > 0.0) {
        let rate = baro_show::number(line.rate, 1);
        row!(out, "{time}  {}  {} {}  {rate}/s", line.name, line.value, line.unit)?;
    }
    if page.seen.lost > 0 {
        row!(out, "{time}  -- {} lost so far", baro_show::plural(page.seen.lost, "record"))?;
    }
    out.flush()?;
    Ok(())
}

impl Page<'_> {
    fn json(&self) -> serde_json::Value {
        let series: Vec<_> = self
            .lines()
            .map(|line| {
                json!({
                    "series": line.name, "value": line.json, "unit": line.unit,
                    "time_ns": line.time_ns, "samples_per_s": line.rate,
                })
            })
            .collect();
        json!({
            "time_ns": clock::realtime_ns(),
            "samples_per_s": self.seen.rate,
            "lost": self.seen.lost,
            "ring_used_bytes": self.head.waiting_bytes,
            "ring_bytes": self.head.ring_bytes,
            "recorder": self.head.recorder,
            "series": series,
        })
    }
}
