//! Bands of several series: tick by tick, all lanes at once, or one lane of them.

use super::Grid;
use super::lanes::{Lane, LaneSums, Lanes};
use crate::Error;
use crate::aggregate::Sum;
use crate::numbers::{Source, Wide, with_tile};
use crate::page::Buffers;
use std::ops::Range;

impl<'a> Grid<'a> {
    pub(super) fn by_series<L: Lane>(
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

    pub(super) fn lane_sums<L: Lane>(
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

    /// Calls `each` with every tick and the band's integers at it.
    pub(super) fn band<L: Lane>(
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
        self.firsts.row(band * self.lanes, base, source, firsts, scratch)?;
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
                    let mut places = base.iter_mut();
                    section.each_alone(own + more, width, |more| {
                        if let Some(place) = places.next() {
                            *place = place.plus(more);
                        }
                    });
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
    pub(super) fn lane(
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
}
