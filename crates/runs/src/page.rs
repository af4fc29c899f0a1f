//! Pages as callers see them: samples or aggregates of one series or all, over an interval.
//!
//! **Invariant:** nothing is decoded before the page's CRC, which is seeded with run and place, is
//! found right; held by `tests/damage.rs`.

use crate::aggregate::{Aggregate, Known, Sum};
use crate::domain::Patch;
use crate::grid::{FirstsKept, Grid};
use crate::head::{CRC_BYTES, Head, Shape};
use crate::limits::{PAGE_BYTES_MAX, PAGE_SAMPLES_MAX};
use crate::numbers::{Scratch, Source};
use crate::ragged::{Ragged, TileAt, TileKept};
use crate::text::Texts;
use crate::ticks::TimesKept;
use crate::{Error, PageEntry, What};
use baro_ondisk::Type;
use std::ops::Range;

/// Reads pages; keeps its buffers from one to the next, so that in the long run only pco's tables
/// are allocated for a page (a few KiB).
#[derive(Default, Debug)]
pub struct PageReader {
    tail: Vec<u8>,
    buffers: Buffers,
}

/// What pages are decoded into.
#[derive(Default, Debug)]
pub(crate) struct Buffers {
    pub(crate) scratch: Scratch,
    pub(crate) ticks: TimesKept,
    pub(crate) firsts: FirstsKept,
    pub(crate) starts: FirstsKept,
    pub(crate) bases: Vec<i64>,
    pub(crate) integers: Vec<i64>,
    pub(crate) tiles: Vec<TileAt>,
    tile: TileKept,
    patches: Vec<Patch>,
    times: Vec<i64>,
    bits: Vec<u64>,
    band: Vec<i64>,
}

/// A page whose CRC is right.
#[derive(Debug)]
pub struct Page<'a> {
    source: Source<'a>,
    head: Head<'a>,
    body: Body<'a>,
    buffers: &'a mut Buffers,
}

#[derive(Debug)]
enum Body<'a> {
    Grid(Grid<'a>),
    Ragged(Ragged<'a>, Option<Texts<'a>>),
}

impl PageReader {
    /// A reader without buffers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the bytes of a page and reads its head. `bytes` are those at `entry.offset`,
    /// `entry.bytes` of them.
    ///
    /// # Errors
    /// Not as many bytes as the index says, a CRC that is wrong, or a page that is not the one of
    /// the index or not of this format.
    pub fn open<'a>(&'a mut self, entry: &PageEntry, bytes: &'a [u8]) -> Result<Page<'a>, Error> {
        let PageReader { tail, buffers } = self;
        let (what, offset) = (What::Page, entry.offset);
        if bytes.len() != entry.bytes as usize || bytes.len() > PAGE_BYTES_MAX {
            let (expected, found) = (u64::from(entry.bytes), bytes.len() as u64);
            return Err(Error::Truncated { what, field: "page", offset, expected, found });
        }
        let source = Source::new(bytes, offset, tail);
        let mut cursor = source.cursor(0);
        let found = cursor.u32("CRC")?;
        let crc = baro_ondisk::crc32c(entry.crc_seed, bytes.get(CRC_BYTES..).unwrap_or(&[]));
        if found != crc {
            let (expected, found) = (u64::from(crc), u64::from(found));
            return Err(Error::Mismatch { what, field: "CRC", offset, expected, found });
        }
        let samples = u64::from(entry.samples);
        if entry.samples as usize > PAGE_SAMPLES_MAX {
            return Err(cursor.out_of_range("samples", PAGE_SAMPLES_MAX as u64, samples));
        }
        buffers.ticks.forget();
        buffers.firsts.forget();
        buffers.starts.forget();
        let head = Head::open(&source, &mut cursor, entry, &mut buffers.patches)?;
        let body = match head.shape {
            Shape::Grid => Body::Grid(Grid::open(&source, &mut cursor, &head, entry)?),
            Shape::Ragged => {
                let tiles = &mut buffers.tiles;
                let ragged = Ragged::open(&source, &mut cursor, &head, entry, tiles)?;
                let texts = match head.kind {
                    Type::Text => Some(Texts::open(&mut cursor)?),
                    _ => None,
                };
                cursor.expect("end", bytes.len() as u64, cursor.at() as u64)?;
                Body::Ragged(ragged, texts)
            }
        };
        if matches!(body, Body::Grid(_)) && head.kind == Type::Text {
            return Err(cursor.out_of_range("shape", 2, 1));
        }
        Ok(Page { source, head, body, buffers })
    }
}

impl Page<'_> {
    /// The series of the page, ascending.
    pub fn series(&self) -> impl Iterator<Item = u32> {
        self.head.ids.iter()
    }

    /// Type of the values.
    #[must_use]
    pub fn kind(&self) -> Type {
        self.head.kind
    }

    /// Appends the samples of `series` in `from_ns..to_ns`; none if the page does not hold it. Here
    /// and below an end of `i64::MAX` is no end: a sample of that very time is among them.
    /// Of a text, the bits are its number in the page: see [`Page::read_text`].
    ///
    /// # Errors
    /// Bytes that are not of the format; what was appended until then is cut off again.
    pub fn read(
        &mut self,
        series: u32,
        from_ns: i64,
        to_ns: i64,
        times: &mut Vec<i64>,
        bits: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let Some(place) = self.head.ids.position(series) else { return Ok(()) };
        let before = (times.len(), bits.len());
        let read = self.read_at(place, from_ns, to_ns, times, bits);
        if read.is_err() {
            times.truncate(before.0);
            bits.truncate(before.1);
        }
        read
    }

    fn read_at(
        &mut self,
        place: usize,
        from_ns: i64,
        to_ns: i64,
        times: &mut Vec<i64>,
        bits: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let Page { source, head, body, buffers } = self;
        match body {
            Body::Grid(grid) => {
                let ticks = grid.range(from_ns, to_ns, source, buffers)?;
                let first = grid.place(place, ticks.start);
                grid.times(ticks.clone(), source, buffers, times)?;
                let mut integers = std::mem::take(&mut buffers.integers);
                integers.clear();
                let read = grid.series(place, ticks, source, buffers, &mut integers);
                let start = bits.len();
                head.domain.restore(integers.iter().copied(), bits);
                buffers.integers = integers;
                patch(&buffers.patches, first, bits.get_mut(start..).unwrap_or(&mut []));
                read
            }
            Body::Ragged(ragged, _) => {
                let mut tile = std::mem::take(&mut buffers.tile);
                let index = Ragged::tile_of(&buffers.tiles, place);
                let read = ragged.load(index, source, buffers, &mut tile);
                if read.is_ok() {
                    let range = within(&tile, place, from_ns, to_ns);
                    times.extend_from_slice(tile.times.get(range.clone()).unwrap_or(&[]));
                    let start = bits.len();
                    let integers = tile.integers.get(range.clone()).unwrap_or(&[]);
                    head.domain.restore(integers.iter().copied(), bits);
                    let new = bits.get_mut(start..).unwrap_or(&mut []);
                    patch(&buffers.patches, tile.samples + range.start, new);
                }
                buffers.tile = tile;
                read
            }
        }
    }

    /// Hands out every series of the page with samples in `from_ns..to_ns`, ascending, each with
    /// those samples.
    ///
    /// # Errors
    /// Bytes that are not of the format, perhaps after some series were handed out.
    pub fn read_all(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(u32, &[i64], &[u64]),
    ) -> Result<(), Error> {
        let buffers = &mut *self.buffers;
        let mut times = std::mem::take(&mut buffers.times);
        let mut bits = std::mem::take(&mut buffers.bits);
        let read = self.read_all_into(from_ns, to_ns, &mut times, &mut bits, &mut each);
        self.buffers.times = times;
        self.buffers.bits = bits;
        read
    }

    fn read_all_into(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        times: &mut Vec<i64>,
        bits: &mut Vec<u64>,
        each: &mut impl FnMut(u32, &[i64], &[u64]),
    ) -> Result<(), Error> {
        let Page { source, head, body, buffers } = self;
        let mut ids = head.ids.iter();
        match body {
            Body::Grid(grid) => {
                let ticks = grid.range(from_ns, to_ns, source, buffers)?;
                if ticks.is_empty() {
                    return Ok(());
                }
                times.clear();
                grid.times(ticks.clone(), source, buffers, times)?;
                let mut band = std::mem::take(&mut buffers.band);
                let mut place = 0;
                for index in 0..grid.bands() {
                    grid.band_by_series(index, ticks.clone(), source, buffers, &mut band)?;
                    for integers in band.chunks(ticks.len()) {
                        bits.clear();
                        head.domain.restore(integers.iter().copied(), bits);
                        patch(&buffers.patches, grid.place(place, ticks.start), bits);
                        place += 1;
                        let Some(id) = ids.next() else { break };
                        each(id, times, bits);
                    }
                }
                buffers.band = band;
            }
            Body::Ragged(ragged, _) => {
                let mut tile = std::mem::take(&mut buffers.tile);
                for index in 0..buffers.tiles.len() {
                    ragged.load(index, source, buffers, &mut tile)?;
                    for place in tile.series..tile.series + tile.ends.len() {
                        let range = within(&tile, place, from_ns, to_ns);
                        let Some(id) = ids.next() else { break };
                        if range.is_empty() {
                            continue;
                        }
                        bits.clear();
                        let integers = tile.integers.get(range.clone()).unwrap_or(&[]);
                        head.domain.restore(integers.iter().copied(), bits);
                        patch(&buffers.patches, tile.samples + range.start, bits);
                        each(id, tile.times.get(range).unwrap_or(&[]), bits);
                    }
                }
                buffers.tile = tile;
            }
        }
        Ok(())
    }

    /// Hands out what is known of every series of the page with samples in `from_ns..to_ns`,
    /// ascending; reads no more than that takes. Of texts nothing is known.
    ///
    /// # Errors
    /// Bytes that are not of the format, perhaps after some series were handed out.
    pub fn aggregate_all(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(u32, Known<'_>),
    ) -> Result<(), Error> {
        let kind = self.head.kind;
        if let (Body::Grid(grid), true) = (&self.body, self.sums_are_exact()) {
            let Page { source, head, buffers, .. } = self;
            let ticks = grid.range(from_ns, to_ns, source, buffers)?;
            if ticks.is_empty() {
                return Ok(());
            }
            let ends = (
                grid.time(ticks.start, source, buffers)?,
                grid.time(ticks.end - 1, source, buffers)?,
            );
            let mut ids = head.ids.iter();
            return grid.sums(ticks, source, buffers, |sum| {
                if let Some(id) = ids.next() {
                    each(id, Known::exact(sum, head.kind, head.domain, ends));
                }
            });
        }
        if kind == Type::Text {
            return Ok(());
        }
        if self.sums_are_exact() {
            return self.sum_ragged(from_ns, to_ns, each);
        }
        self.read_all(from_ns, to_ns, |id, times, bits| {
            if let Some(aggregate) = Aggregate::of(kind, times, bits) {
                each(id, Known::floats(&aggregate));
            }
        })
    }

    /// Sums up integers, which stand for the values exactly; of tiles of other times no values are
    /// decoded.
    fn sum_ragged(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(u32, Known<'_>),
    ) -> Result<(), Error> {
        let Page { source, head, body: Body::Ragged(ragged, _), buffers } = self else {
            return Ok(());
        };
        let mut ids = head.ids.iter();
        let mut tile = std::mem::take(&mut buffers.tile);
        for index in 0..buffers.tiles.len() {
            ragged.load_times(index, source, buffers, &mut tile)?;
            let mut loaded = false;
            for place in tile.series..tile.series + tile.ends.len() {
                let range = within(&tile, place, from_ns, to_ns);
                let Some(id) = ids.next() else { break };
                if range.is_empty() {
                    continue;
                }
                if !std::mem::replace(&mut loaded, true) {
                    ragged.load_values(index, source, buffers, &mut tile)?;
                }
                let times = tile.times.get(range.clone()).unwrap_or(&[]);
                let integers = tile.integers.get(range).unwrap_or(&[]);
                let ends = times.first().copied().zip(times.last().copied());
                if let (Some(sum), Some(ends)) = (Sum::of(integers), ends) {
                    each(id, Known::exact(&sum, head.kind, head.domain, ends));
                }
            }
        }
        buffers.tile = tile;
        Ok(())
    }

    /// What is known of the samples of `series` in `from_ns..to_ns`; `None` if there are none, or
    /// if they are texts.
    ///
    /// # Errors
    /// Bytes that are not of the format.
    pub fn aggregate(
        &mut self,
        series: u32,
        from_ns: i64,
        to_ns: i64,
    ) -> Result<Option<Aggregate>, Error> {
        let Some(place) = self.head.ids.position(series) else { return Ok(None) };
        if let (Body::Grid(grid), true) = (&self.body, self.sums_are_exact()) {
            let Page { source, head, buffers, .. } = self;
            let ticks = grid.range(from_ns, to_ns, source, buffers)?;
            if ticks.is_empty() {
                return Ok(None);
            }
            let first = grid.time(ticks.start, source, buffers)?;
            let last = grid.time(ticks.end - 1, source, buffers)?;
            let sum = grid.sum(place, ticks, source, buffers)?;
            return Ok(sum.map(|sum| grid.finish(head, &sum, (first, last))));
        }
        if self.head.kind == Type::Text {
            return Ok(None);
        }
        let mut times = std::mem::take(&mut self.buffers.times);
        let mut bits = std::mem::take(&mut self.buffers.bits);
        times.clear();
        bits.clear();
        let read = self.read_at(place, from_ns, to_ns, &mut times, &mut bits);
        let aggregate = Aggregate::of(self.head.kind, &times, &bits);
        self.buffers.times = times;
        self.buffers.bits = bits;
        read.map(|()| aggregate)
    }

    /// Hands out the texts of `series` in `from_ns..to_ns`; none if it holds no texts.
    ///
    /// # Errors
    /// Bytes that are not of the format, perhaps after some texts were handed out.
    pub fn read_text(
        &mut self,
        series: u32,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(i64, &str),
    ) -> Result<(), Error> {
        if self.head.kind != Type::Text {
            return Ok(());
        }
        let mut times = std::mem::take(&mut self.buffers.times);
        let mut bits = std::mem::take(&mut self.buffers.bits);
        times.clear();
        bits.clear();
        let mut read = self.read(series, from_ns, to_ns, &mut times, &mut bits);
        if let (Body::Ragged(_, Some(texts)), true) = (&self.body, read.is_ok()) {
            read = times
                .iter()
                .zip(&bits)
                .try_for_each(|(time, number)| texts.get(*number).map(|text| each(*time, text)));
        }
        self.buffers.times = times;
        self.buffers.bits = bits;
        read
    }

    /// As [`Page::read_text`], of every series, ascending.
    ///
    /// # Errors
    /// As there.
    pub fn read_all_text(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(u32, i64, &str),
    ) -> Result<(), Error> {
        let ids: Vec<u32> = self.series().collect();
        ids.into_iter().try_for_each(|series| {
            self.read_text(series, from_ns, to_ns, |time, text| each(series, time, text))
        })
    }

    /// How many texts the page has, each once.
    #[must_use]
    pub fn texts(&self) -> usize {
        match &self.body {
            Body::Ragged(_, Some(texts)) => texts.count(),
            _ => 0,
        }
    }

    /// The text of this number, below [`Page::texts`]: the bits of a sample of texts, see [`Page::read`].
    ///
    /// # Errors
    /// There is none of this number, or it is not UTF-8.
    pub fn text(&self, number: u64) -> Result<&str, Error> {
        match &self.body {
            Body::Ragged(_, Some(texts)) => texts.get(number),
            _ => Err(Error::OutOfRange {
                what: What::Page,
                field: "number of a text",
                offset: 0,
                limit: 0,
                found: number,
            }),
        }
    }

    /// Whether aggregates of the page's integers are those of its values.
    fn sums_are_exact(&self) -> bool {
        self.head.domain.is_exact() && self.buffers.patches.is_empty()
    }
}

/// A series' samples in an interval, by their places in the tile.
fn within(tile: &TileKept, series: usize, from_ns: i64, to_ns: i64) -> Range<usize> {
    let (start, end) = tile.range(series);
    let times = tile.times.get(start..end).unwrap_or(&[]);
    let from = times.partition_point(|time| *time < from_ns);
    let to = times.partition_point(|time| *time < to_ns || to_ns == i64::MAX);
    start + from..start + to.max(from)
}

/// Puts the values that are kept beside into `bits`, the page's samples from `first` on.
fn patch(patches: &[Patch], first: usize, bits: &mut [u64]) {
    if patches.is_empty() {
        return;
    }
    let from = patches.partition_point(|patch| (patch.0 as usize) < first);
    for (place, value) in patches.get(from..).unwrap_or(&[]) {
        let Some(bits) = bits.get_mut(*place as usize - first) else { break };
        *bits = *value;
    }
}
