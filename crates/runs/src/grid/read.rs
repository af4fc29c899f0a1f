//! Reading grid pages: one series, all of them, or what is known of each over an interval.

use super::{FIRSTS, LANES_MAX};
use crate::aggregate::{Aggregate, Sum};
use crate::cursor::{Cursor, Plane, unzigzag};
use crate::head::Head;
use crate::limits::PAGE_SAMPLES_MAX;
use crate::numbers::{Scratch, Section, Source, Wide, with_tile};
use crate::page::Buffers;
use crate::ticks::Ticks;
use crate::{Error, PageEntry};
use std::ops::Range;

/// A grid page, its head read.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    series: usize,
    lanes: usize,
    rows: usize,
    columns: usize,
    /// Tiles of a band: a last column of one row has none.
    tiles: usize,
    ticks: Ticks<'a>,
    firsts: Section<'a>,
    bases: Option<Section<'a>>,
    table: Option<Table<'a>>,
    values: Option<Section<'a>>,
}

#[derive(Debug)]
struct Table<'a> {
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

impl<'a> Grid<'a> {
    pub(crate) fn open(
        source: &Source<'a>,
        cursor: &mut Cursor<'a>,
        head: &Head<'a>,
        entry: &PageEntry,
    ) -> Result<Self, Error> {
        let series = head.ids.count;
        let count = cursor.count("ticks", PAGE_SAMPLES_MAX)?;
        cursor.expect("samples", u64::from(entry.samples), (count * series) as u64)?;
        let lanes = cursor.byte("lanes")?;
        if lanes > 8 {
            return Err(cursor.out_of_range("lanes", 8, u64::from(lanes)));
        }
        let lanes = 1_usize << lanes;
        let rows = cursor.count("rows", PAGE_SAMPLES_MAX)?;
        let time_rows = cursor.count("rows of the times", PAGE_SAMPLES_MAX)?;
        if rows == 0 || time_rows == 0 {
            return Err(cursor.out_of_range("rows", PAGE_SAMPLES_MAX as u64, 0));
        }
        let ticks = Ticks::open(source, cursor, count, time_rows)?;
        cursor.expect("first time", entry.time_min_ns as u64, ticks.start as u64)?;
        let (columns, bands) = (count.div_ceil(rows), series.div_ceil(lanes));
        let tiles = columns - usize::from(count % rows == 1 || rows == 1);
        let firsts = Section::open(source, cursor, "first values", series.div_ceil(FIRSTS))?;
        let (mut bases, mut table) = (None, None);
        if lanes == 1 {
            table = Some(Table::open(cursor, series, columns)?);
        } else if columns > 1 {
            bases = Some(Section::open(source, cursor, "bases", bands)?);
        }
        let values = match count {
            1 => None,
            _ => Some(Section::open(source, cursor, "values", bands * tiles)?),
        };
        cursor.expect("end", source.page.len() as u64, cursor.at() as u64)?;
        Ok(Grid { series, lanes, rows, columns, tiles, ticks, firsts, bases, table, values })
    }

    pub(crate) fn range(
        &self,
        from_ns: i64,
        to_ns: i64,
        source: &Source<'a>,
        buffers: &mut Buffers,
    ) -> Result<Range<usize>, Error> {
        self.ticks.range(from_ns, to_ns, source, &mut buffers.ticks, &mut buffers.scratch)
    }

    /// The place among the page's samples of a series' sample at a tick.
    pub(crate) fn place(&self, series: usize, tick: usize) -> usize {
        series * self.ticks.count + tick
    }

    /// Adds the times of `ticks`.
    pub(crate) fn times(
        &self,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        to: &mut Vec<i64>,
    ) -> Result<(), Error> {
        self.ticks.read(ticks, source, &mut buffers.ticks, &mut buffers.scratch, to)
    }

    /// Adds the integers of one series at `ticks`.
    pub(crate) fn series(
        &self,
        series: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        to: &mut Vec<i64>,
    ) -> Result<(), Error> {
        if self.table.is_some() {
            return self.line(series, ticks, source, buffers, to);
        }
        let lane = series % self.lanes;
        self.band(series / self.lanes, ticks, source, buffers, |_, row| {
            to.extend(row.get(lane));
        })
    }

    /// All series of a band, one after another; returns how many.
    pub(crate) fn band_by_series(
        &self,
        band: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        to: &mut Vec<i64>,
    ) -> Result<usize, Error> {
        to.clear();
        if self.table.is_some() {
            self.line(band, ticks, source, buffers, to)?;
            return Ok(1);
        }
        let (lanes, count) = (self.width(band), ticks.len());
        to.resize(lanes * count, 0);
        let first = ticks.start;
        self.band(band, ticks, source, buffers, |tick, row| {
            let places = to.iter_mut().skip(tick - first).step_by(count.max(1));
            places.zip(row).for_each(|(place, value)| *place = *value);
        })?;
        Ok(lanes)
    }

    pub(crate) fn bands(&self) -> usize {
        self.series.div_ceil(self.lanes)
    }

    /// Aggregates of a band's series over `ticks`, which are not empty.
    pub(crate) fn sums(
        &self,
        band: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        mut each: impl FnMut(usize, &Sum),
    ) -> Result<(), Error> {
        if self.table.is_some() {
            if let Some(sum) = self.line_sum(band, ticks, source, buffers)? {
                each(band, &sum);
            }
            return Ok(());
        }
        let (first, count) = (ticks.start, ticks.len() as u64);
        let width = self.width(band);
        let mut firsts = [0_i64; LANES_MAX];
        let (mut least, mut most) = ([0_i64; LANES_MAX], [0_i64; LANES_MAX]);
        let (mut lows, mut highs) = ([0_i64; LANES_MAX], [0_i64; LANES_MAX]);
        let mut lasts = [0_i64; LANES_MAX];
        self.band(band, ticks, source, buffers, |tick, row| {
            let width = row.len().min(LANES_MAX);
            if tick == first {
                for to in [&mut firsts, &mut least, &mut most] {
                    to[..width].copy_from_slice(&row[..width]);
                }
            }
            for lane in 0..width {
                let value = row[lane];
                least[lane] = least[lane].min(value);
                most[lane] = most[lane].max(value);
                // Two halves, so that no sum of 2^16 values overflows.
                lows[lane] += value & 0xffff_ffff;
                highs[lane] += value >> 32;
                lasts[lane] = value;
            }
        })?;
        for lane in 0..width {
            let mut sum = Sum::new(least[lane], most[lane], firsts[lane], lasts[lane]);
            sum.count = count;
            sum.sum = (i128::from(highs[lane]) << 32) + i128::from(lows[lane]);
            each(band * self.lanes + lane, &sum);
        }
        Ok(())
    }

    /// One series' aggregate over `ticks`.
    pub(crate) fn sum(
        &self,
        series: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
    ) -> Result<Option<Sum>, Error> {
        if self.table.is_some() {
            return self.line_sum(series, ticks, source, buffers);
        }
        let mut integers = std::mem::take(&mut buffers.integers);
        integers.clear();
        let read = self.series(series, ticks, source, buffers, &mut integers);
        let sum = Sum::of(&integers);
        buffers.integers = integers;
        read.map(|()| sum)
    }

    pub(crate) fn time(
        &self,
        tick: usize,
        source: &Source<'a>,
        buffers: &mut Buffers,
    ) -> Result<i64, Error> {
        self.ticks.at(tick, source, &mut buffers.ticks, &mut buffers.scratch)
    }

    fn width(&self, band: usize) -> usize {
        (self.series - band * self.lanes).min(self.lanes)
    }

    fn height(&self, column: usize) -> usize {
        (self.ticks.count - column * self.rows).min(self.rows)
    }

    /// Calls `each` with every tick and the band's integers at it.
    fn band(
        &self,
        band: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        mut each: impl FnMut(usize, &[i64]),
    ) -> Result<(), Error> {
        if ticks.is_empty() {
            return Ok(());
        }
        let width = self.width(band);
        let Buffers { scratch, firsts, bases, .. } = buffers;
        let (mut base, mut row) = ([0_i64; LANES_MAX], [0_i64; LANES_MAX]);
        let base = &mut base[..width];
        let row = &mut row[..width];
        let first = band * self.lanes % FIRSTS;
        let loaded =
            firsts.load(&self.firsts, band * self.lanes / FIRSTS, self.series, source, scratch)?;
        base.copy_from_slice(loaded.get(first..first + width).unwrap_or(&[0; LANES_MAX][..width]));
        let (from, to) = (ticks.start / self.rows, (ticks.end - 1) / self.rows);
        bases.clear();
        if let Some(section) = &self.bases
            && to > 0
        {
            let all = (self.columns - 1) * width;
            let tile = section.decode(source, section.tile_at(band), all, to * width, scratch)?;
            with_tile!(tile, tile => bases.extend(tile.iter().map(|base| base.wide())));
        }
        let mut index = band * self.tiles + from;
        let mut at = self.values.as_ref().map_or(0, |values| values.tile_at(index));
        for column in 0..=to {
            if column > 0 {
                let more = bases.get((column - 1) * width..).unwrap_or(&[]);
                base.iter_mut().zip(more).for_each(|(base, more)| *base = base.wrapping_add(*more));
            }
            if column < from {
                continue;
            }
            row.copy_from_slice(base);
            let tick = column * self.rows;
            if tick >= ticks.start {
                each(tick, row);
            }
            let end = (ticks.end - tick).min(self.height(column));
            if end < 2 {
                continue;
            }
            let Some(values) = &self.values else { continue };
            let count = (self.height(column) - 1) * width;
            let tile = values.decode(source, at, count, (end - 1) * width, scratch)?;
            with_tile!(tile, tile => {
                for (tick, differences) in (tick + 1..).zip(tile.chunks_exact(width)) {
                    for (value, difference) in row.iter_mut().zip(differences) {
                        *value = value.wrapping_add(difference.wide());
                    }
                    if tick >= ticks.start {
                        each(tick, row);
                    }
                }
            });
            at = values.next_at(index, at);
            index += 1;
        }
        Ok(())
    }

    /// Adds the integers of a series that is a band by itself.
    fn line(
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
        let loaded = firsts.load(&self.firsts, series / FIRSTS, self.series, source, scratch)?;
        let first = loaded.get(series % FIRSTS).copied().unwrap_or(0);
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

    fn base(&self, series: usize, column: usize, first: i64) -> i64 {
        let Some(table) = &self.table else { return first };
        first.wrapping_add(unzigzag(table.bases.get(series * self.columns + column)))
    }

    fn line_sum(
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
    fn known(
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
        let loaded = firsts.load(&self.firsts, series / FIRSTS, self.series, source, scratch)?;
        let first = loaded.get(series % FIRSTS).copied().unwrap_or(0);
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

    pub(crate) fn finish(&self, head: &Head<'a>, sum: &Sum, ends: (i64, i64)) -> Aggregate {
        sum.finish(head.kind, head.domain, ends.0, ends.1)
    }
}

impl<'a> Table<'a> {
    fn open(cursor: &mut Cursor<'a>, series: usize, columns: usize) -> Result<Self, Error> {
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

/// A tile of first values, kept while bands of it are read.
#[derive(Default, Debug)]
pub(crate) struct FirstsKept {
    values: Vec<i64>,
    tile: Option<usize>,
}

impl FirstsKept {
    pub(crate) fn forget(&mut self) {
        self.tile = None;
    }

    pub(crate) fn load(
        &mut self,
        section: &Section<'_>,
        tile: usize,
        series: usize,
        source: &Source<'_>,
        scratch: &mut Scratch,
    ) -> Result<&[i64], Error> {
        if self.tile != Some(tile) {
            self.tile = None;
            let count = (series - tile * FIRSTS).min(FIRSTS);
            let at = section.tile_at(tile);
            self.values.clear();
            let decoded = section.decode(source, at, count, count, scratch)?;
            with_tile!(decoded, values => self.values.extend(values.iter().map(|v| v.wide())));
            self.tile = Some(tile);
        }
        Ok(&self.values)
    }
}
