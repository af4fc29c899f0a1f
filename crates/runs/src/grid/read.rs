//! Reading grid pages: one series, all of them, or what is known of each over an interval.

use super::Firsts;
use super::long::Table;
use crate::aggregate::{Aggregate, Sum};
use crate::cursor::Cursor;
use crate::head::Head;
use crate::limits::PAGE_SAMPLES_MAX;
use crate::numbers::{Section, Source};
use crate::page::Buffers;
use crate::ticks::Ticks;
use crate::{Error, PageEntry};
use std::ops::Range;

/// A grid page, its head read.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    pub(super) series: usize,
    pub(super) lanes: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Tiles of a band: a last column of one row has none.
    pub(super) tiles: usize,
    /// Whether the integers fit 32 bits.
    pub(super) narrow: bool,
    pub(super) ticks: Ticks<'a>,
    pub(super) firsts: Firsts<'a>,
    pub(super) bases: Option<Section<'a>>,
    pub(super) table: Option<Table<'a>>,
    pub(super) values: Option<Section<'a>>,
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
        // Below, columns and rows are counted from the last tick.
        if count == 0 {
            return Err(cursor.out_of_range("ticks", PAGE_SAMPLES_MAX as u64, 0));
        }
        // Both are 2^16 at most, which 32 bits do not hold.
        cursor.expect("samples", u64::from(entry.samples), count as u64 * series as u64)?;
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

    pub(super) fn width(&self, band: usize) -> usize {
        (self.series - band * self.lanes).min(self.lanes)
    }

    pub(super) fn height(&self, column: usize) -> usize {
        (self.ticks.count - column * self.rows).min(self.rows)
    }

    #[inline(always)]
    pub(crate) fn finish(&self, head: &Head<'a>, sum: &Sum, ends: (i64, i64)) -> Aggregate {
        sum.finish(head.kind, head.domain, ends.0, ends.1)
    }
}

#[cfg(test)]
mod tests {
    use crate::cursor::{put_signed, put_varint};
    use crate::domain::Domain;
    use crate::head::{Shape, put_head, seal};
    use crate::{Error, PageEntry, PageReader};
    use baro_ondisk::Type;

    /// Opens a grid of one series with so many ticks, whose times have this form.
    fn opened(ticks: u32, times: &[u8]) -> Result<Vec<i64>, Error> {
        let mut page = Vec::new();
        put_head(&mut page, Shape::Grid, Type::I64, Domain::Integer, &[1], &[]);
        put_varint(&mut page, u64::from(ticks));
        // A series in a band, a row in a column, 64 bits, a row in a column of times.
        page.extend([0, 1, 0, 1]);
        put_signed(&mut page, 7);
        page.extend(times);
        // The first value is always 3; then the table: no differences, no sums.
        page.extend([0, 6]);
        if ticks > 0 {
            page.extend([0, 0]);
        }
        page.push(0);
        seal(&mut page, 0);
        let entry = PageEntry {
            offset: 0,
            bytes: page.len() as u32,
            first_series: 1,
            last_series: 1,
            time_min_ns: 7,
            time_max_ns: 7,
            samples: ticks,
            kind: Type::I64,
            aggregate: None,
            crc_seed: 0,
        };
        let mut reader = PageReader::new();
        let mut page = reader.open(&entry, &page)?;
        let (mut all, mut bits) = (Vec::new(), Vec::new());
        page.read(1, i64::MIN, i64::MAX, &mut all, &mut bits)?;
        page.aggregate(1, i64::MIN, i64::MAX)?;
        Ok(all)
    }

    #[test]
    fn a_grid_of_no_ticks_is_refused() {
        let steady = [0, 5];
        // A divisor, starts of columns (none of none), and no differences.
        let coded = [1, 1];
        assert_eq!(opened(1, &steady), Ok(vec![7]));
        for times in [&steady[..], &coded] {
            let error = opened(0, times).unwrap_err();
            assert!(matches!(error, Error::OutOfRange { field: "ticks", found: 0, .. }), "{error}");
        }
    }
}
