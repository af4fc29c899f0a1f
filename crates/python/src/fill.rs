//! Rows for steps of time that have no sample: without a value, with the value before, or with a number that
//! the caller says. A step's row is made up only where it was asked for.
//!
//! Invariant: rows that are there stay as they are, and each step of a series has one row. Held by
//! `tests/python.rs`.

use crate::calendar::Grid;
use crate::gather::Gather;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use baro_store::{Batch, Interval, Target, Texts, Values};

/// Rows that are made up at a time.
const PIECE: usize = 8192;
/// Steps of one series at most: who asks for more has mistaken a unit.
pub(crate) const STEPS_MAX: i64 = 100_000_000;

/// What a step without a sample gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fill {
    Nothing,
    Previous,
    Number(f64),
}

/// The last value of a series.
#[derive(Clone, Debug)]
enum Last {
    None,
    F64(f64),
    I64(i64),
    U64(u64),
    Bool(bool),
    Text(String),
}

impl Last {
    fn of(values: &Values<'_>, at: usize) -> Last {
        match values {
            Values::F64(values) => values.get(at).map_or(Last::None, |value| Last::F64(*value)),
            Values::I64(values) => values.get(at).map_or(Last::None, |value| Last::I64(*value)),
            Values::U64(values) => values.get(at).map_or(Last::None, |value| Last::U64(*value)),
            Values::Bool(values) => values.get(at).map_or(Last::None, |value| Last::Bool(*value)),
            Values::Text(texts) => {
                texts.get(at).map_or(Last::None, |text| Last::Text(text.to_owned()))
            }
        }
    }

    /// A number in the type of the values of a series; a text has none.
    fn number(values: &Values<'_>, number: f64) -> Last {
        match values {
            Values::F64(_) => Last::F64(number),
            Values::I64(_) => Last::I64(number as i64),
            Values::U64(_) => Last::U64(number as u64),
            Values::Bool(_) | Values::Text(_) => Last::None,
        }
    }
}

/// Fills the steps of a query's series, one after the other.
#[derive(Debug)]
pub(crate) struct Filler {
    fill: Fill,
    grid: Grid,
    /// Begin of the first step, and the time behind the last, where the query has them.
    from_ns: Option<i64>,
    to_ns: Option<i64>,
    series: Option<(String, Target)>,
    next_ns: i64,
    last: Last,
}

/// Where record batches go; false: nobody takes more.
type Each<'a> = &'a mut dyn FnMut(RecordBatch) -> bool;

impl Filler {
    pub(crate) fn new(fill: Fill, grid: Grid, interval: Interval) -> Self {
        let from_ns = (interval.from_ns != i64::MIN).then(|| grid.around(interval.from_ns).0);
        let to_ns = (interval.to_ns != i64::MAX).then_some(interval.to_ns);
        Filler { fill, grid, from_ns, to_ns, series: None, next_ns: 0, last: Last::None }
    }

    /// Takes rows of a series, with the steps before and between them.
    pub(crate) fn take(
        &mut self,
        name: &str,
        batch: &Batch<'_>,
        gather: &mut Gather,
        each: Each<'_>,
    ) -> Result<bool, ArrowError> {
        let Some(first_ns) = batch.times_ns.first().copied() else { return Ok(true) };
        if self.series.as_ref().map(|(_, target)| *target) != Some(batch.target) {
            if !self.end(gather, each)? {
                return Ok(false);
            }
            self.series = Some((name.to_owned(), batch.target));
            self.next_ns = self.from_ns.unwrap_or(first_ns);
            self.last = match self.fill {
                Fill::Number(number) => Last::number(&batch.values, number),
                Fill::Nothing | Fill::Previous => Last::None,
            };
        }
        let mut at = 0;
        while let Some(time_ns) = batch.times_ns.get(at).copied() {
            if !self.until(time_ns, gather, each)? {
                return Ok(false);
            }
            // Rows of steps that follow one another.
            let (mut to, mut next_ns) = (at + 1, self.grid.around(time_ns).1);
            while batch.times_ns.get(to) == Some(&next_ns) {
                next_ns = self.grid.around(next_ns).1;
                to += 1;
            }
            if !gather.take(name, batch, at..to, &mut *each)? {
                return Ok(false);
            }
            self.next_ns = next_ns;
            if self.fill == Fill::Previous {
                self.last = Last::of(&batch.values, to - 1);
            }
            at = to;
        }
        Ok(true)
    }

    /// The steps behind the last row of the last series.
    pub(crate) fn end(&mut self, gather: &mut Gather, each: Each<'_>) -> Result<bool, ArrowError> {
        let done = match self.to_ns {
            Some(to_ns) => self.until(to_ns, gather, each)?,
            None => true,
        };
        self.series = None;
        Ok(done)
    }

    /// Makes up rows for the steps before a time.
    fn until(
        &mut self,
        time_ns: i64,
        gather: &mut Gather,
        each: Each<'_>,
    ) -> Result<bool, ArrowError> {
        let Some((name, target)) = self.series.clone() else { return Ok(true) };
        while self.next_ns < time_ns {
            let mut times = Vec::new();
            while self.next_ns < time_ns && times.len() < PIECE {
                times.push(self.next_ns);
                self.next_ns = self.grid.around(self.next_ns).1;
            }
            let rows = times.len();
            let taken = match &self.last {
                Last::None => gather.take_empty(&name, target, &times, &mut *each)?,
                Last::F64(value) => made(
                    gather,
                    &name,
                    target,
                    &times,
                    Values::F64(&vec![*value; rows]),
                    &mut *each,
                )?,
                Last::I64(value) => made(
                    gather,
                    &name,
                    target,
                    &times,
                    Values::I64(&vec![*value; rows]),
                    &mut *each,
                )?,
                Last::U64(value) => made(
                    gather,
                    &name,
                    target,
                    &times,
                    Values::U64(&vec![*value; rows]),
                    &mut *each,
                )?,
                Last::Bool(value) => made(
                    gather,
                    &name,
                    target,
                    &times,
                    Values::Bool(&vec![*value; rows]),
                    &mut *each,
                )?,
                Last::Text(value) => {
                    // One at a time: a text may be long.
                    let end = [u32::try_from(value.len()).unwrap_or(u32::MAX)];
                    let mut taken = true;
                    for time in &times {
                        let texts = Values::Text(Texts { ends: &end, bytes: value });
                        taken &= made(gather, &name, target, &[*time], texts, &mut *each)?;
                    }
                    taken
                }
            };
            if !taken {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn made(
    gather: &mut Gather,
    name: &str,
    target: Target,
    times_ns: &[i64],
    values: Values<'_>,
    each: Each<'_>,
) -> Result<bool, ArrowError> {
    gather.take(name, &Batch { target, times_ns, values }, 0..times_ns.len(), each)
}
