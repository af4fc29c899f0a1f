//! The times that the series of a grid page share: a constant step, which costs nothing, or coded
//! differences, cut into columns so that a long series' interval needs only its own.
//!
//! Differences are divided by what divides them all: clocks that count milliseconds or whole ticks
//! give small numbers.

use crate::cursor::{Cursor, Plane, put_plane, put_signed, put_varint};
use crate::numbers::{Numbers, Scratch, Section, Source, Wide, put_numbers, with_tile};
use crate::{Error, What};
use std::ops::Range;

const STEADY: u8 = 0;
const CODED: u8 = 1;

/// Greatest common divisor of rising differences; 1 as soon as it is known.
pub(crate) fn divisor(differences: impl Iterator<Item = u64>) -> u64 {
    let mut divisor = 0;
    for difference in differences {
        let (mut a, mut b) = (divisor, difference);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        divisor = a;
        if divisor == 1 {
            break;
        }
    }
    divisor.max(1)
}

/// Writes `times`, which rise and are not empty; `rows` are the times of a column.
pub(crate) fn put_ticks(to: &mut Vec<u8>, times: &[i64], rows: usize) {
    let start = times.first().copied().unwrap_or(0);
    put_signed(to, start);
    let differences = || {
        times.windows(2).map(|pair| match pair {
            [a, b] => b.wrapping_sub(*a) as u64,
            _ => 0,
        })
    };
    let step = differences().next().unwrap_or(0);
    if differences().all(|difference| difference == step) {
        to.push(STEADY);
        put_varint(to, step);
        return;
    }
    to.push(CODED);
    let divisor = divisor(differences());
    put_varint(to, divisor);
    let columns = times.chunks(rows);
    let starts: Vec<u64> = columns
        .clone()
        .map(|column| column.first().map_or(0, |time| time.wrapping_sub(start) as u64 / divisor))
        .collect();
    put_plane(to, &starts);
    let (mut least, mut most) = (i64::MAX, i64::MIN);
    let inside = |put: &mut dyn FnMut(i64)| {
        for column in columns.clone() {
            for pair in column.windows(2) {
                if let [a, b] = pair {
                    put((b.wrapping_sub(*a) as u64 / divisor) as i64);
                }
            }
        }
    };
    inside(&mut |value| (least, most) = (least.min(value), most.max(value)));
    let count = times.len() - starts.len();
    let numbers = Numbers::collect(least.min(most), most, count, inside);
    let tiles = columns.clone().map(|c| c.len() - 1).filter(|count| *count > 0).collect();
    put_numbers(to, &numbers, tiles);
}

/// The times of a page, as they are stored.
#[derive(Debug)]
pub(crate) struct Ticks<'a> {
    pub(crate) start: i64,
    pub(crate) count: usize,
    form: Form<'a>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each page, and never moved around")]
enum Form<'a> {
    Steady { step: u64 },
    Coded { divisor: u64, rows: usize, starts: Plane<'a>, inside: Section<'a> },
}

/// Decoded times of one column or more, kept while they are asked for again.
#[derive(Default, Debug)]
pub(crate) struct TimesKept {
    times: Vec<i64>,
    column: Option<usize>,
}

impl TimesKept {
    pub(crate) fn forget(&mut self) {
        self.column = None;
    }
}

impl<'a> Ticks<'a> {
    pub(crate) fn open(
        source: &Source<'a>,
        cursor: &mut Cursor<'a>,
        count: usize,
        rows: usize,
    ) -> Result<Self, Error> {
        let start = cursor.signed("first time")?;
        let form = match cursor.byte("form of the times")? {
            STEADY => {
                let step = cursor.varint("step of the times")?;
                // So that no later sum overflows.
                let last = i128::from(start) + i128::from(step) * (count as i128 - 1);
                if last > i128::from(i64::MAX) {
                    return Err(cursor.out_of_range("step of the times", i64::MAX as u64, step));
                }
                Form::Steady { step }
            }
            CODED => {
                let divisor = cursor.varint("divisor of the times")?;
                let starts = cursor.plane("starts of the times", count.div_ceil(rows))?;
                let alone = usize::from(count % rows == 1 || rows == 1);
                let tiles = count.div_ceil(rows) - alone;
                let inside = Section::open(source, cursor, "times", tiles, 0)?;
                Form::Coded { divisor, rows, starts, inside }
            }
            other => return Err(cursor.out_of_range("form of the times", 1, u64::from(other))),
        };
        Ok(Ticks { start, count, form })
    }

    /// The ticks in `from..to`, both in nanoseconds.
    pub(crate) fn range(
        &self,
        from: i64,
        to: i64,
        source: &Source<'a>,
        kept: &mut TimesKept,
        scratch: &mut Scratch,
    ) -> Result<Range<usize>, Error> {
        let first = self.first_at_or_after(from, source, kept, scratch)?;
        let end = self.first_at_or_after(to, source, kept, scratch)?;
        Ok(first..end.max(first))
    }

    fn first_at_or_after(
        &self,
        time: i64,
        source: &Source<'a>,
        kept: &mut TimesKept,
        scratch: &mut Scratch,
    ) -> Result<usize, Error> {
        if time <= self.start {
            return Ok(0);
        }
        // Above the start, so the difference fits.
        let after = time.wrapping_sub(self.start) as u64;
        match &self.form {
            Form::Steady { step: 0 } => Ok(self.count),
            Form::Steady { step } => Ok((after.div_ceil(*step)).min(self.count as u64) as usize),
            Form::Coded { divisor, rows, starts, .. } => {
                let columns = self.count.div_ceil(*rows);
                let (mut low, mut high) = (0, columns);
                while low + 1 < high {
                    let middle = low.midpoint(high);
                    if starts.get(middle).saturating_mul(*divisor) < after {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                self.load(low, source, kept, scratch)?;
                Ok(low * rows + kept.times.partition_point(|t| *t < time))
            }
        }
    }

    /// Decodes a column of coded times.
    fn load(
        &self,
        column: usize,
        source: &Source<'a>,
        kept: &mut TimesKept,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let Form::Coded { divisor, rows, starts, inside } = &self.form else { return Ok(()) };
        if kept.column == Some(column) {
            return Ok(());
        }
        kept.column = None;
        kept.times.clear();
        let start = (self.start as u64).wrapping_add(starts.get(column).wrapping_mul(*divisor));
        let mut time = start as i64;
        kept.times.push(time);
        let count = (self.count - column * rows).min(*rows) - 1;
        if count > 0 {
            let at = inside.tile_at(column);
            let tile = inside.decode(source, at, count, count, scratch)?;
            with_tile!(tile, differences => for difference in differences {
                time = time.wrapping_add((difference.wide() as u64).wrapping_mul(*divisor) as i64);
                kept.times.push(time);
            });
        }
        kept.column = Some(column);
        Ok(())
    }

    /// Adds the times of `ticks` to `to`.
    pub(crate) fn read(
        &self,
        ticks: Range<usize>,
        source: &Source<'a>,
        kept: &mut TimesKept,
        scratch: &mut Scratch,
        to: &mut Vec<i64>,
    ) -> Result<(), Error> {
        match &self.form {
            Form::Steady { step } => {
                let (start, step) = (self.start as u64, *step);
                to.extend(
                    ticks.map(|tick| start.wrapping_add(step.wrapping_mul(tick as u64)) as i64),
                );
            }
            Form::Coded { rows, .. } => {
                let mut tick = ticks.start;
                while tick < ticks.end {
                    let column = tick / rows;
                    self.load(column, source, kept, scratch)?;
                    let end = ((column + 1) * rows).min(ticks.end);
                    let part = kept.times.get(tick - column * rows..end - column * rows);
                    to.extend_from_slice(part.unwrap_or(&[]));
                    tick = end;
                }
            }
        }
        Ok(())
    }

    /// The time of one tick.
    pub(crate) fn at(
        &self,
        tick: usize,
        source: &Source<'a>,
        kept: &mut TimesKept,
        scratch: &mut Scratch,
    ) -> Result<i64, Error> {
        match &self.form {
            Form::Steady { step } => {
                Ok((self.start as u64).wrapping_add(step.wrapping_mul(tick as u64)) as i64)
            }
            Form::Coded { rows, .. } => {
                self.load(tick / rows, source, kept, scratch)?;
                kept.times.get(tick % rows).copied().ok_or(Error::Truncated {
                    what: What::Page,
                    field: "times",
                    offset: source.base,
                    expected: tick as u64,
                    found: kept.times.len() as u64,
                })
            }
        }
    }
}
