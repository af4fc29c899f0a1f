//! A window of time of several series, in columns.
//!
//! Columns begin at multiples of their length since 1970, so that a column is the same one in whichever window
//! it is seen, and live ones join.
//!
//! The store is asked once. It reads aggregates where a column has many samples, and the samples where it has few.
//!
//! Invariant: a column is what a fold over all its samples gives. Held by `tests/page`.

use super::chosen::{self, Chosen};
use super::column::Column;
use crate::api::{Parameters, Refusal};
use baro_ondisk::PinState;
use baro_store::{Interval, QueryNotes, Selection, Store};
use baro_sys::clock;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// Columns of a window at most: the pixels of a wide screen.
const COLUMNS_MAX: u32 = 4_096;
/// Columns have whole microseconds, so that their numbers are exact in JavaScript.
pub(super) const STEP_NS: i64 = 1_000;
/// Pins and sentences that are told at most.
const PINS_MAX: usize = 100;
const NOTES_MAX: usize = 20;

/// Columns of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    /// At least [`STEP_NS`].
    step_ns: i64,
    /// Number of the first one; it begins at so many steps since 1970.
    first: i64,
    count: usize,
}

impl Grid {
    fn of(parameters: &Parameters) -> Result<Self, Refusal> {
        let time = |name| {
            parameters.needed(name)?;
            parameters.time_ns(name).map(Option::unwrap_or_default)
        };
        let (from_ns, to_ns): (i64, i64) = (time("from")?, time("to")?);
        let span_ns = to_ns.checked_sub(from_ns).filter(|span_ns| *span_ns > 0);
        let Some(span_ns) = span_ns else {
            let said = "invalid parameter \"to\": expected a time after \"from\", found none";
            return Err(Refusal::bad(said));
        };
        let text = parameters.needed("columns")?;
        let columns =
            text.parse::<u32>().ok().filter(|columns| (1..=COLUMNS_MAX).contains(columns));
        let columns = columns.ok_or_else(|| {
            Refusal::bad(&format!(
                "invalid parameter \"columns\": expected 1 to {COLUMNS_MAX}, found {text:?}"
            ))
        })?;
        let step_ns = (span_ns.cast_unsigned().div_ceil(u64::from(columns)))
            .next_multiple_of(STEP_NS.cast_unsigned())
            .cast_signed();
        let (first, last) = (from_ns.div_euclid(step_ns), (to_ns - 1).div_euclid(step_ns));
        Ok(Grid { step_ns, first, count: usize::try_from(last - first + 1).unwrap_or(0) })
    }

    /// Whole columns.
    fn interval(&self) -> Interval {
        let at_ns = |number: i64| number.saturating_mul(self.step_ns);
        Interval { from_ns: at_ns(self.first), to_ns: at_ns(self.first + self.count as i64) }
    }

    fn step(&self) -> NonZeroU64 {
        NonZeroU64::new(self.step_ns.unsigned_abs()).unwrap_or(NonZeroU64::MIN)
    }

    fn place(&self, time_ns: i64) -> usize {
        usize::try_from(time_ns.div_euclid(self.step_ns) - self.first).unwrap_or(usize::MAX)
    }
}

/// A window while it is read.
struct Window<'a> {
    store: &'a Store,
    grid: Grid,
    until_ns: u64,
    /// Of each series, in the order of the names.
    columns: Vec<Vec<Column>>,
    notes: BTreeSet<String>,
}

impl Window<'_> {
    fn read(&mut self, selection: &Selection, places: &[usize]) -> Result<(), Refusal> {
        let (grid, until_ns, columns) = (self.grid, self.until_ns, &mut self.columns);
        let mut late = false;
        let notes = self.store.outline(
            selection,
            grid.interval(),
            grid.step(),
            |target, at_ns, outline| {
                late = clock::monotonic_ns() >= until_ns;
                let place = places.get(target.place).copied().unwrap_or(usize::MAX);
                let columns = columns.get_mut(place);
                if let Some(column) = columns.and_then(|columns| columns.get_mut(grid.place(at_ns)))
                {
                    *column = Column::of(outline);
                }
                if late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        let notes = notes.map_err(|error| Refusal::internal(&error))?;
        if late {
            return Err(Refusal::timeout("the window takes too long: ask for a shorter one"));
        }
        self.note(&notes);
        Ok(())
    }

    fn note(&mut self, notes: &QueryNotes) {
        let mut say = |said: String| {
            if self.notes.len() < NOTES_MAX {
                self.notes.insert(said);
            }
        };
        for damage in &notes.read.damage {
            say(format!("samples are missing: {damage}"));
        }
        if notes.read.blocks_recycled > 0 {
            let blocks = notes.read.blocks_recycled;
            say(format!("{blocks} blocks were recycled before they were read"));
        }
    }

    fn pins(&self) -> Vec<Value> {
        let Interval { from_ns, to_ns } = self.grid.interval();
        let held = self.store.pins().filter(|pin| {
            let (pin_from_ns, pin_to_ns) = pin.window_ns();
            pin.state != PinState::Refused && pin_from_ns < to_ns && pin_to_ns > from_ns
        });
        let one = held.take(PINS_MAX).map(|pin| {
            let (from_ns, to_ns) = pin.window_ns();
            let us = |time_ns: i64| time_ns.div_euclid(1_000);
            json!({ "name": pin.name, "from_us": us(from_ns), "to_us": us(to_ns) })
        });
        one.collect()
    }
}

/// `{"step_ns","first","columns","series":[{"name","unit","values":[..]}],"pins":[..],"notes":[..]}`.
pub(super) fn answer(
    store: &Store,
    parameters: &Parameters,
    until_ns: u64,
) -> Result<String, Refusal> {
    let grid = Grid::of(parameters)?;
    let names = chosen::names(parameters, 1)?;
    let chosen = Chosen::of(store, &names)?;
    let columns = vec![vec![Column::EMPTY; grid.count]; names.len()];
    let mut window = Window { store, grid, until_ns, columns, notes: BTreeSet::new() };
    if !chosen.series.columns().is_empty() {
        window.read(&chosen.series, &chosen.places[0])?;
    }
    if !chosen.fields.columns().is_empty() {
        window.read(&chosen.fields, &chosen.places[1])?;
    }
    for (name, columns) in names.iter().zip(&window.columns) {
        let infinite = columns.iter().filter(|column| column.is_infinite()).count();
        if infinite > 0 && window.notes.len() < NOTES_MAX {
            window
                .notes
                .insert(format!("{infinite} columns of {name} have infinite values: not drawn"));
        }
    }
    Ok(text(&window, &names, &chosen.units))
}

fn text(window: &Window<'_>, names: &[String], units: &[String]) -> String {
    let Grid { step_ns, first, count } = window.grid;
    let mut text =
        format!("{{\"step_ns\":{step_ns},\"first\":{first},\"columns\":{count},\"series\":[");
    for (at, (name, columns)) in names.iter().zip(&window.columns).enumerate() {
        if at > 0 {
            text.push(',');
        }
        let unit = units.get(at).map_or("", String::as_str);
        text.push_str(&format!("{{\"name\":{},\"unit\":{},\"values\":[", json!(name), json!(unit)));
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            column.write(&mut text);
        }
        text.push_str("]}");
    }
    let notes: Vec<&String> = window.notes.iter().collect();
    text.push_str(&format!("],\"pins\":{},\"notes\":{}}}", json!(window.pins()), json!(notes)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_net::Query as Form;

    fn grid(text: &str) -> Result<Grid, Refusal> {
        Grid::of(&Parameters::new(Form::parse(text).unwrap(), Form::default()))
    }

    #[test]
    fn columns_lie_on_multiples_of_their_length_and_cover_the_window() {
        let found = grid("from=1700000000&to=1700000030&columns=1500").unwrap();
        assert_eq!(found, Grid { step_ns: 20_000_000, first: 85_000_000_000, count: 1_500 });
        // One more where the window begins within a column.
        let found = grid("from=1700000000.01&to=1700000030.01&columns=1500").unwrap();
        assert_eq!((found.first, found.count), (85_000_000_000, 1_501));
        // Never below a microsecond, and before 1970 too.
        let found = grid("from=-0.000005&to=0.000005&columns=4096").unwrap();
        assert_eq!(found, Grid { step_ns: 1_000, first: -5, count: 10 });
        for wrong in [
            "from=1&to=1&columns=1",
            "from=2&to=1&columns=1",
            "from=-9e9&to=9.2e9&columns=1",
            "from=1&to=2&columns=0",
            "from=1&to=2&columns=4097",
            "from=1&to=2",
            "to=2&columns=5",
        ] {
            assert!(grid(wrong).is_err(), "{wrong}");
        }
    }
}
