//! Reading ragged pages: a tile at a time.

use super::TILE_SAMPLES;
use crate::cursor::{Cursor, Plane};
use crate::grid::{Firsts, FirstsKept};
use crate::head::Head;
use crate::numbers::{Scratch, Section, Source, Wide, with_tile};
use crate::page::Buffers;
use crate::{Error, PageEntry};

/// A ragged page, its head read.
#[derive(Debug)]
pub(crate) struct Ragged<'a> {
    series: usize,
    counts: Plane<'a>,
    start: i64,
    divisor: u64,
    starts: Firsts<'a>,
    times: Option<Section<'a>>,
    firsts: Firsts<'a>,
    values: Option<Section<'a>>,
}

/// Where a tile is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileAt {
    /// First series, by its place in the page.
    series: usize,
    /// Samples before it in the page.
    samples: usize,
    /// Differences in it.
    numbers: usize,
    /// Its place in the sections, which leave out tiles without differences.
    index: usize,
}

/// A tile's samples: times and integers of `ends.len()` series.
#[derive(Default, Debug)]
pub(crate) struct TileKept {
    pub(crate) times: Vec<i64>,
    pub(crate) integers: Vec<i64>,
    /// Behind each series' samples.
    pub(crate) ends: Vec<usize>,
    /// First series.
    pub(crate) series: usize,
    /// Samples of the page before the tile.
    pub(crate) samples: usize,
}

impl<'a> Ragged<'a> {
    pub(crate) fn open(
        source: &Source<'a>,
        cursor: &mut Cursor<'a>,
        head: &Head<'a>,
        entry: &PageEntry,
        tiles: &mut Vec<TileAt>,
    ) -> Result<Self, Error> {
        let series = head.ids.count;
        let counts = cursor.plane("counts", series)?;
        tiles.clear();
        let mut tile = TileAt { series: 0, samples: 0, numbers: 0, index: 0 };
        let mut samples = 0_usize;
        for index in 0..series {
            let count = counts.get(index);
            let room = u64::from(entry.samples).saturating_sub(samples as u64);
            if count >= room {
                return Err(cursor.out_of_range("counts", room, count.saturating_add(1)));
            }
            samples += count as usize + 1;
            tile.numbers += count as usize;
            if samples - tile.samples >= TILE_SAMPLES || index + 1 == series {
                tiles.push(tile);
                let more = usize::from(tile.numbers > 0);
                tile = TileAt { series: index + 1, samples, numbers: 0, index: tile.index + more };
            }
        }
        cursor.expect("samples", u64::from(entry.samples), samples as u64)?;
        let start = cursor.signed("first time")?;
        cursor.expect("first time", entry.time_min_ns as u64, start as u64)?;
        let divisor = cursor.varint("divisor of the times")?;
        let starts = Firsts::open(source, cursor, "first times", series)?;
        let some = tile.index > 0;
        let open = |cursor: &mut Cursor<'a>, field| {
            some.then(|| Section::open(source, cursor, field, tile.index, 0)).transpose()
        };
        let times = open(cursor, "times")?;
        let firsts = Firsts::open(source, cursor, "first values", series)?;
        let values = open(cursor, "values")?;
        Ok(Ragged { series, counts, start, divisor, starts, times, firsts, values })
    }

    /// The tile that holds a series.
    pub(crate) fn tile_of(tiles: &[TileAt], series: usize) -> usize {
        tiles.partition_point(|tile| tile.series <= series).saturating_sub(1)
    }

    /// Decodes tile `index` into `kept`.
    pub(crate) fn load(
        &self,
        index: usize,
        source: &Source<'a>,
        buffers: &mut Buffers,
        kept: &mut TileKept,
    ) -> Result<(), Error> {
        self.load_times(index, source, buffers, kept)?;
        self.load_values(index, source, buffers, kept)
    }

    /// Decodes the times of tile `index`: with them it is known whether its values are wanted.
    pub(crate) fn load_times(
        &self,
        index: usize,
        source: &Source<'a>,
        buffers: &mut Buffers,
        kept: &mut TileKept,
    ) -> Result<(), Error> {
        let Buffers { scratch, starts, tiles, .. } = buffers;
        let Some(tile) = tiles.get(index).copied() else { return Ok(()) };
        let end = tiles.get(index + 1).map_or(self.series, |next| next.series);
        kept.series = tile.series;
        kept.samples = tile.samples;
        kept.ends.clear();
        let mut behind = 0;
        for series in tile.series..end {
            behind += self.counts.get(series) as usize + 1;
            kept.ends.push(behind);
        }
        let times = Column {
            differences: self.times.as_ref(),
            firsts: &self.starts,
            scale: self.divisor as i64,
            base: self.start,
        };
        times.load(tile, &kept.ends, source, (starts, scratch), &mut kept.times)
    }

    /// Decodes the values of tile `index`, whose times are in `kept`.
    pub(crate) fn load_values(
        &self,
        index: usize,
        source: &Source<'a>,
        buffers: &mut Buffers,
        kept: &mut TileKept,
    ) -> Result<(), Error> {
        let Buffers { scratch, firsts, tiles, .. } = buffers;
        let Some(tile) = tiles.get(index).copied() else { return Ok(()) };
        let values =
            Column { differences: self.values.as_ref(), firsts: &self.firsts, scale: 1, base: 0 };
        values.load(tile, &kept.ends, source, (firsts, scratch), &mut kept.integers)
    }
}

/// Times or values of the series of a page.
struct Column<'a, 'b> {
    differences: Option<&'b Section<'a>>,
    firsts: &'b Firsts<'a>,
    scale: i64,
    base: i64,
}

impl<'a> Column<'a, '_> {
    /// Decodes a tile whose series end at `ends`.
    fn load(
        &self,
        tile: TileAt,
        ends: &[usize],
        source: &Source<'a>,
        (kept, scratch): (&mut FirstsKept, &mut Scratch),
        all: &mut Vec<i64>,
    ) -> Result<(), Error> {
        let (scale, base) = (self.scale, self.base);
        let count = tile.numbers + ends.len();
        all.clear();
        // A place for each first value, the differences behind it; then they are summed up.
        all.reserve(count);
        match self.differences.filter(|_| tile.numbers > 0) {
            Some(section) => {
                let at = section.tile_at(tile.index);
                let decoded = section.decode(source, at, tile.numbers, tile.numbers, scratch)?;
                with_tile!(decoded, numbers => {
                    let mut rest = numbers;
                    let mut start = 0;
                    for end in ends {
                        let (own, others) = rest.split_at((end - start - 1).min(rest.len()));
                        all.push(0);
                        all.extend(own.iter().map(|number| number.wide()));
                        (rest, start) = (others, *end);
                    }
                });
            }
            None => all.resize(count, 0),
        }
        let mut start = 0;
        for (series, end) in (tile.series..).zip(ends) {
            let first = self.firsts.get(series, source, kept, scratch)?;
            let mut value = base.wrapping_add(first.wrapping_mul(scale));
            for place in all.get_mut(start..*end).unwrap_or(&mut []) {
                value = value.wrapping_add(place.wrapping_mul(scale));
                *place = value;
            }
            start = *end;
        }
        Ok(())
    }
}

impl TileKept {
    /// Start and end of a series' samples in the tile.
    pub(crate) fn range(&self, series: usize) -> (usize, usize) {
        let index = series.wrapping_sub(self.series);
        let end = self.ends.get(index).copied().unwrap_or(0);
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        (start.unwrap_or(0), end)
    }
}
