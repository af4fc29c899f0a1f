//! Series that are bands by themselves: columns that decode alone, and the table that says of each
//! what aggregates need.

use super::Grid;
use crate::Error;
use crate::aggregate::Sum;
use crate::cursor::{Cursor, Plane, unzigzag};
use crate::numbers::{Source, Wide, with_tile};
use crate::page::Buffers;
use std::ops::Range;

#[derive(Debug)]
pub(super) struct Table<'a> {
    bases: Plane<'a>,
    sums: Option<Sums<'a>>,
}

#[derive(Debug)]
struct Sums<'a> {
    below: Plane<'a>,
    above: Plane<'a>,
    sums: Plane<'a>,
    lasts: Plane<'a>,
}

impl<'a> Table<'a> {
    pub(super) fn open(
        cursor: &mut Cursor<'a>,
        series: usize,
        columns: usize,
    ) -> Result<Self, Error> {
        let count = series * columns;
        let bases = cursor.plane("bases", count)?;
        let sums = match cursor.byte("sums")? {
            0 => None,
            1 => Some(Sums {
                below: cursor.plane("least values", count)?,
                above: cursor.plane("largest values", count)?,
                sums: cursor.plane("sums", count)?,
                lasts: cursor.plane("last values", series)?,
            }),
            other => return Err(cursor.out_of_range("sums", 1, u64::from(other))),
        };
        Ok(Table { bases, sums })
    }
}

impl<'a> Grid<'a> {
    /// Adds the integers of a series that is a band by itself.
    pub(super) fn line(
        &self,
        series: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        to: &mut Vec<i64>,
    ) -> Result<(), Error> {
        if ticks.is_empty() {
            return Ok(());
        }
        let Buffers { scratch, firsts, .. } = buffers;
        let first = self.firsts.get(series, source, firsts, scratch)?;
        let (from, last) = (ticks.start / self.rows, (ticks.end - 1) / self.rows);
        let mut index = series * self.tiles + from;
        let mut at = self.values.as_ref().map_or(0, |values| values.tile_at(index));
        for column in from..=last {
            let tick = column * self.rows;
            let skip = ticks.start.saturating_sub(tick);
            let end = (ticks.end - tick).min(self.height(column));
            let mut value = self.base(series, column, first);
            if skip == 0 {
                to.push(value);
            }
            let Some(values) = self.values.as_ref().filter(|_| end > 1) else { continue };
            let count = self.height(column) - 1;
            let tile = values.decode(source, at, count, end - 1, scratch)?;
            with_tile!(tile, tile => {
                let (before, wanted) = tile.split_at(skip.saturating_sub(1).min(tile.len()));
                for difference in before {
                    value = value.wrapping_add(difference.wide());
                }
                to.extend(wanted.iter().map(|difference| {
                    value = value.wrapping_add(difference.wide());
                    value
                }));
            });
            at = values.next_at(index, at);
            index += 1;
        }
        Ok(())
    }

    pub(super) fn base(&self, series: usize, column: usize, first: i64) -> i64 {
        let Some(table) = &self.table else { return first };
        first.wrapping_add(unzigzag(table.bases.get(series * self.columns + column)))
    }

    pub(super) fn line_sum(
        &self,
        series: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
    ) -> Result<Option<Sum>, Error> {
        let mut all: Option<Sum> = None;
        let mut tick = ticks.start;
        let mut integers = std::mem::take(&mut buffers.integers);
        while tick < ticks.end {
            let column = tick / self.rows;
            let start = column * self.rows;
            let whole = start + self.height(column);
            let end = whole.min(ticks.end);
            let known = (tick == start && end == whole)
                .then(|| self.known(series, column, end == ticks.end, source, buffers));
            let sum = match known.transpose()?.flatten() {
                Some(sum) => Some(sum),
                None => {
                    integers.clear();
                    self.line(series, tick..end, source, buffers, &mut integers)?;
                    Sum::of(&integers)
                }
            };
            match (&mut all, sum) {
                (Some(all), Some(sum)) => all.append(&sum),
                (None, sum) => all = sum,
                _ => {}
            }
            tick = end;
        }
        buffers.integers = integers;
        Ok(all)
    }

    /// What the table says of a whole column; `last` asks for the last value too, which it only
    /// has of the series' last column.
    pub(super) fn known(
        &self,
        series: usize,
        column: usize,
        last: bool,
        source: &Source<'a>,
        buffers: &mut Buffers,
    ) -> Result<Option<Sum>, Error> {
        let Some(sums) = self.table.as_ref().and_then(|table| table.sums.as_ref()) else {
            return Ok(None);
        };
        if last && column + 1 < self.columns {
            return Ok(None);
        }
        let Buffers { scratch, firsts, .. } = buffers;
        let first = self.firsts.get(series, source, firsts, scratch)?;
        let base = self.base(series, column, first);
        let index = series * self.columns + column;
        let min = base.wrapping_sub(sums.below.get(index) as i64);
        let max = base.wrapping_add(sums.above.get(index) as i64);
        let end = first.wrapping_add(unzigzag(sums.lasts.get(series)));
        let mut sum = Sum::new(min, max, base, end);
        sum.count = self.height(column) as u64;
        sum.sum =
            i128::from(base) * i128::from(sum.count) + i128::from(unzigzag(sums.sums.get(index)));
        Ok(Some(sum))
    }
}
