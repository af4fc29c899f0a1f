//! Reading grid pages: one series, all of them, or what is known of each over an interval.

use super::Firsts;
use super::lanes::{Lane, LaneSums, Lanes};
use crate::aggregate::{Aggregate, Sum};
use crate::cursor::{Cursor, Plane, unzigzag};
use crate::head::Head;
use crate::limits::PAGE_SAMPLES_MAX;
use crate::numbers::{Section, Source, Wide, with_tile};
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
    /// Whether the integers fit 32 bits.
    narrow: bool,
    ticks: Ticks<'a>,
    firsts: Firsts<'a>,
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
        let narrow = cursor.byte("narrow")? != 0;
        let time_rows = cursor.count("rows of the times", PAGE_SAMPLES_MAX)?;
        if rows == 0 || time_rows == 0 {
            return Err(cursor.out_of_range("rows", PAGE_SAMPLES_MAX as u64, 0));
        }
        let ticks = Ticks::open(source, cursor, count, time_rows)?;
        cursor.expect("first time", entry.time_min_ns as u64, ticks.start as u64)?;
        let (columns, bands) = (count.div_ceil(rows), series.div_ceil(lanes));
        let tiles = columns - usize::from(count % rows == 1 || rows == 1);
        let firsts = Firsts::open(source, cursor, "first values", series)?;
        let (mut bases, mut table) = (None, None);
        if lanes == 1 {
            table = Some(Table::open(cursor, series, columns)?);
        } else if columns > 1 {
            bases = Some(Section::open(source, cursor, "bases", bands, series * (columns - 1))?);
        }
        let values = match count {
            1 => None,
            _ => Some(Section::open(source, cursor, "values", bands * tiles, 0)?),
        };
        cursor.expect("end", source.page.len() as u64, cursor.at() as u64)?;
        Ok(Grid {
            series,
            lanes,
            rows,
            columns,
            tiles,
            narrow,
            ticks,
            firsts,
            bases,
            table,
            values,
        })
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
        self.lane(series, ticks, source, buffers, to)
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
        if self.narrow {
            self.by_series::<i32>(band, ticks, source, buffers, to)
        } else {
            self.by_series::<i64>(band, ticks, source, buffers, to)
        }
    }

    fn by_series<L: Lane>(
        &self,
        band: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        to: &mut Vec<i64>,
    ) -> Result<usize, Error> {
        let (width, count, first) = (self.width(band), ticks.len(), ticks.start);
        to.resize(width * count, 0);
        let mut lanes = Lanes::<L>::new();
        self.band(band, ticks, source, buffers, &mut lanes, |tick, row| {
            let places = to.iter_mut().skip(tick - first).step_by(count.max(1));
            places.zip(row).for_each(|(place, value)| *place = value.wide());
        })?;
        Ok(width)
    }

    pub(crate) fn bands(&self) -> usize {
        self.series.div_ceil(self.lanes)
    }

    /// Aggregates of all series over `ticks`, which are not empty, in the order of the series.
    pub(crate) fn sums(
        &self,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        mut each: impl FnMut(&Sum),
    ) -> Result<(), Error> {
        if self.table.is_some() {
            for series in 0..self.series {
                if let Some(sum) = self.line_sum(series, ticks.clone(), source, buffers)? {
                    each(&sum);
                }
            }
            return Ok(());
        }
        if self.narrow {
            self.lane_sums::<i32>(ticks, source, buffers, each)
        } else {
            self.lane_sums::<i64>(ticks, source, buffers, each)
        }
    }

    fn lane_sums<L: Lane>(
        &self,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        mut each: impl FnMut(&Sum),
    ) -> Result<(), Error> {
        let (mut lanes, mut sums) = (Lanes::<L>::new(), LaneSums::<L>::new());
        let (first, last, count) = (ticks.start, ticks.end - 1, ticks.len() as u64);
        for band in 0..self.bands() {
            self.band(band, ticks.clone(), source, buffers, &mut lanes, |tick, row| {
                if tick == first {
                    sums.begin(row);
                } else {
                    sums.add(row);
                    if tick == last {
                        sums.end(row);
                    }
                }
            })?;
            for lane in 0..self.width(band) {
                each(&sums.sum(lane, count));
            }
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
    fn band<L: Lane>(
        &self,
        band: usize,
        ticks: Range<usize>,
        source: &Source<'a>,
        buffers: &mut Buffers,
        lanes: &mut Lanes<L>,
        mut each: impl FnMut(usize, &[L]),
    ) -> Result<(), Error> {
        if ticks.is_empty() {
            return Ok(());
        }
        let width = self.width(band);
        let (Some(base), Some(row)) = (lanes.base.get_mut(..width), lanes.now.get_mut(..width))
        else {
            return Ok(());
        };
        let Buffers { scratch, firsts, bases, .. } = buffers;
        for (series, base) in (band * self.lanes..).zip(base.iter_mut()) {
            *base = L::narrow(self.firsts.get(series, source, firsts, scratch)?);
        }
        let (from, to) = (ticks.start / self.rows, (ticks.end - 1) / self.rows);
        let open = self.bases.as_ref().filter(|bases| bases.is_open());
        // Where the band's bases start in the section.
        let own = band * self.lanes * (self.columns - 1);
        bases.clear();
        if let Some(section) = self.bases.as_ref().filter(|bases| to > 0 && !bases.is_open()) {
            let all = (self.columns - 1) * width;
            let tile = section.decode(source, section.tile_at(band), all, to * width, scratch)?;
            with_tile!(tile, tile => bases.extend(tile.iter().map(|base| base.wide())));
        }
        let mut index = band * self.tiles + from;
        let mut at = self.values.as_ref().map_or(0, |values| values.tile_at(index));
        for column in 0..=to {
            let more = (column.wrapping_sub(1)).wrapping_mul(width);
            match open {
                _ if column == 0 => {}
                Some(section) => {
                    for (index, base) in (own + more..).zip(base.iter_mut()) {
                        *base = base.plus(section.alone(index).unwrap_or(0));
                    }
                }
                None => {
                    let more = bases.get(more..).unwrap_or(&[]);
                    base.iter_mut().zip(more).for_each(|(base, more)| *base = base.plus(*more));
                }
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
            let Some(values) = self.values.as_ref().filter(|_| end > 1) else { continue };
            let count = (self.height(column) - 1) * width;
            let tile = values.decode(source, at, count, (end - 1) * width, scratch)?;
            with_tile!(tile, tile => {
                for (tick, differences) in (tick + 1..).zip(tile.chunks_exact(width)) {
                    for (value, difference) in row.iter_mut().zip(differences) {
                        *value = value.plus(difference.wide());
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

    /// Adds the integers of one lane of a band.
    fn lane(
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
        let (band, lane) = (series / self.lanes, series % self.lanes);
        let width = self.width(band);
        let Buffers { scratch, firsts, bases, .. } = buffers;
        let mut base = self.firsts.get(series, source, firsts, scratch)?;
        let (from, last) = (ticks.start / self.rows, (ticks.end - 1) / self.rows);
        bases.clear();
        if let Some(section) = self.bases.as_ref().filter(|_| last > 0) {
            let own = band * self.lanes * (self.columns - 1) + lane;
            if section.is_open() {
                let indices = (own..).step_by(width).take(last);
                bases.extend(indices.filter_map(|index| section.alone(index)));
            } else {
                let all = (self.columns - 1) * width;
                let at = section.tile_at(band);
                let tile = section.decode(source, at, all, last * width, scratch)?;
                with_tile!(tile, tile => {
                    bases.extend(tile.iter().skip(lane).step_by(width).map(|base| base.wide()));
                });
            }
        }
        let mut index = band * self.tiles + from;
        let mut at = self.values.as_ref().map_or(0, |values| values.tile_at(index));
        for column in 0..=last {
            if column > 0 {
                base = base.wrapping_add(bases.get(column - 1).copied().unwrap_or(0));
            }
            if column < from {
                continue;
            }
            let tick = column * self.rows;
            let skip = ticks.start.saturating_sub(tick);
            let end = (ticks.end - tick).min(self.height(column));
            if skip == 0 {
                to.push(base);
            }
            let Some(values) = self.values.as_ref().filter(|_| end > 1) else { continue };
            let count = (self.height(column) - 1) * width;
            let tile = values.decode(source, at, count, (end - 1) * width, scratch)?;
            with_tile!(tile, tile => {
                let mut value = base;
                for (row, difference) in (1..).zip(tile.iter().skip(lane).step_by(width)) {
                    value = value.wrapping_add(difference.wide());
                    if row >= skip {
                        to.push(value);
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
