//! First values, and first times, of a page's series. Neighbours are unrelated, so they are coded as
//! they are.

use super::lanes::Lane;
use crate::Error;
use crate::cursor::Cursor;
use crate::numbers::{Scratch, Section, Source, Wide, put_few, with_tile};

/// A tile has this many; bands never cross one, being powers of two.
const TILE: usize = 256;

pub(crate) fn put_firsts(to: &mut Vec<u8>, firsts: &[i64]) {
    put_few(to, firsts, firsts.chunks(TILE).map(<[i64]>::len).collect());
}

/// First values of a page.
#[derive(Debug)]
pub(crate) struct Firsts<'a> {
    section: Section<'a>,
    series: usize,
}

/// A tile of them, kept while its series are asked for.
#[derive(Default, Debug)]
pub(crate) struct FirstsKept {
    values: Vec<i64>,
    tile: Option<usize>,
}

impl FirstsKept {
    pub(crate) fn forget(&mut self) {
        self.tile = None;
    }
}

impl<'a> Firsts<'a> {
    pub(crate) fn open(
        source: &Source<'a>,
        cursor: &mut Cursor<'a>,
        field: &'static str,
        series: usize,
    ) -> Result<Self, Error> {
        let section = Section::open(source, cursor, field, series.div_ceil(TILE), series)?;
        Ok(Firsts { section, series })
    }

    /// Those of the series from `first` on, as many as `to` takes.
    pub(crate) fn row<L: Lane>(
        &self,
        first: usize,
        to: &mut [L],
        source: &Source<'a>,
        kept: &mut FirstsKept,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let count = to.len();
        let mut places = to.iter_mut();
        let put = |value| {
            if let Some(place) = places.next() {
                *place = L::narrow(value);
            }
        };
        if self.section.each_alone(first, count, put) {
            return Ok(());
        }
        for (series, place) in (first..).zip(to) {
            *place = L::narrow(self.get(series, source, kept, scratch)?);
        }
        Ok(())
    }

    /// That of one series.
    #[inline]
    pub(crate) fn get(
        &self,
        series: usize,
        source: &Source<'a>,
        kept: &mut FirstsKept,
        scratch: &mut Scratch,
    ) -> Result<i64, Error> {
        if let Some(first) = self.section.alone(series) {
            return Ok(first);
        }
        let tile = series / TILE;
        if kept.tile != Some(tile) {
            kept.tile = None;
            let count = self.series.saturating_sub(tile * TILE).min(TILE);
            let at = self.section.tile_at(tile);
            kept.values.clear();
            let decoded = self.section.decode(source, at, count, count, scratch)?;
            with_tile!(decoded, values => kept.values.extend(values.iter().map(|v| v.wide())));
            kept.tile = Some(tile);
        }
        Ok(kept.values.get(series % TILE).copied().unwrap_or(0))
    }
}
