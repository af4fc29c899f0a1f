//! Writing a run front to back: samples come by series and time, pages and at the end the index go
//! out. Memory is bounded: a series' samples and a page of each kind, whatever the run holds.
//!
//! Which series share a page: those that have all their times in common (a grid), else neighbours
//! of the same type (ragged); a long series has pages of its own.

use crate::file::{FOOTER_BYTES, Footer, FooterAt, RunInfo, header_crc};
use crate::grid::{LANES_MAX, Whole, Work, cut, put_grid};
use crate::head::seal;
use crate::index::{PageEntry, put_entry};
use crate::limits::{PAGE_SAMPLES_MAX, PAGES_MAX, TEXT_BYTES_MAX};
use crate::ragged::{Samples, put_ragged};
use crate::text::Dictionary;
use crate::{Error, What};
use baro_ondisk::{Type, crc32c};

/// A series of this many samples has pages of its own, with its aggregates in the index.
const LONG_SAMPLES: usize = 8192;
/// The same where its times are its own.
const LONG_RAGGED_SAMPLES: usize = 2048;
/// Series with common times are worth a page of their own from this many samples on.
const GRID_SAMPLES_MIN: usize = 4096;
/// Most samples of several series that share a page: less than the format allows, because who wants
/// one of them reads and checks the whole page.
const SHARED_SAMPLES: usize = 32_768;
/// A page of texts ends when its dictionary has this many bytes.
const TEXTS_BYTES: usize = 1 << 20;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunSummary {
    /// Samples.
    pub samples: u64,
    /// Series.
    pub series: u64,
    /// Pages.
    pub pages: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Earliest and latest time.
    pub times_ns: Option<(i64, i64)>,
    /// CRC of the footer, which stands at its end.
    pub footer_crc: u32,
}

/// Writes a run; `out` gets its bytes in the order of the file.
#[derive(Debug)]
pub struct RunWriter<W, E>
where
    W: FnMut(&[u8]) -> Result<(), E>,
{
    info: RunInfo,
    out: W,
    header_crc: u32,
    offset: u64,
    index: Vec<u8>,
    pages: u64,
    before: Option<PageEntry>,
    summary: RunSummary,
    series: Series,
    group: Group,
    page: Vec<u8>,
    work: Work,
}

/// The series whose samples come in.
#[derive(Debug)]
struct Series {
    id: Option<u32>,
    kind: Type,
    last_ns: Option<i64>,
    times: Vec<i64>,
    bits: Vec<u64>,
}

/// Whole series that wait for a page.
#[derive(Debug)]
struct Group {
    kind: Type,
    /// Whether all have the times of the first.
    is_grid: bool,
    ids: Vec<u32>,
    counts: Vec<u32>,
    times: Vec<i64>,
    bits: Vec<u64>,
    dictionary: Dictionary,
}

impl<W, E> RunWriter<W, E>
where
    W: FnMut(&[u8]) -> Result<(), E>,
    E: From<Error>,
{
    /// Starts a run: its header goes out.
    ///
    /// # Errors
    /// The note is too long, or what `out` says.
    pub fn new(info: &RunInfo, out: W) -> Result<Self, E> {
        let header = info.encode()?;
        let mut this = RunWriter {
            info: info.clone(),
            out,
            header_crc: header_crc(&header),
            offset: 0,
            index: Vec::new(),
            pages: 0,
            before: None,
            summary: RunSummary::default(),
            series: Series {
                id: None,
                kind: Type::F64,
                last_ns: None,
                times: Vec::new(),
                bits: Vec::new(),
            },
            group: Group {
                kind: Type::F64,
                is_grid: true,
                ids: Vec::new(),
                counts: Vec::new(),
                times: Vec::new(),
                bits: Vec::new(),
                dictionary: Dictionary::default(),
            },
            page: Vec::new(),
            work: Work::default(),
        };
        this.write(&header)?;
        Ok(this)
    }

    /// Adds samples of a series: f64 bits, i64, or 0 and 1 of a bool. Series come ascending, times
    /// of a series rise from sample to sample, in one call or several.
    ///
    /// # Errors
    /// Series or times out of order, columns of unlike length, a type that is not the series' or not
    /// one of numbers, or what `out` says.
    pub fn push(
        &mut self,
        series: u32,
        kind: Type,
        times_ns: &[i64],
        bits: &[u64],
    ) -> Result<(), E> {
        if !matches!(kind, Type::F64 | Type::I64 | Type::Bool) {
            return Err(refused("type", Type::Bool as u64, kind as u64).into());
        }
        if times_ns.len() != bits.len() {
            return Err(refused("values", times_ns.len() as u64, bits.len() as u64).into());
        }
        self.begin(series, kind)?;
        let (mut times_ns, mut bits) = (times_ns, bits);
        while !times_ns.is_empty() {
            let room = PAGE_SAMPLES_MAX - self.series.times.len();
            let count = room.min(times_ns.len());
            let (times, later) = times_ns.split_at(count);
            let (values, later_bits) = bits.split_at(count);
            self.check_times(times)?;
            self.series.times.extend_from_slice(times);
            self.series.bits.extend_from_slice(values);
            if self.series.times.len() == PAGE_SAMPLES_MAX {
                self.flush_group()?;
                self.put_long()?;
            }
            (times_ns, bits) = (later, later_bits);
        }
        Ok(())
    }

    /// Adds texts of a series; order as in [`RunWriter::push`].
    ///
    /// # Errors
    /// As there, or a text that is longer than the format allows.
    pub fn push_text(&mut self, series: u32, times_ns: &[i64], texts: &[&str]) -> Result<(), E> {
        if times_ns.len() != texts.len() {
            return Err(refused("values", times_ns.len() as u64, texts.len() as u64).into());
        }
        self.begin(series, Type::Text)?;
        for (time, text) in times_ns.iter().zip(texts) {
            if text.len() > TEXT_BYTES_MAX {
                return Err(refused("text", TEXT_BYTES_MAX as u64, text.len() as u64).into());
            }
            self.check_times(std::slice::from_ref(time))?;
            // Texts get their numbers as they come, so the series joins the group piece by piece.
            let group = &mut self.group;
            let full = group.times.len() >= PAGE_SAMPLES_MAX;
            if full
                || group.dictionary.bytes().saturating_add(text.len()) > TEXTS_BYTES
                || (group.kind != Type::Text && !group.ids.is_empty())
            {
                self.flush_group()?;
            }
            let group = &mut self.group;
            group.kind = Type::Text;
            group.is_grid = false;
            if group.ids.last() != Some(&series) {
                group.ids.push(series);
                group.counts.push(0);
            }
            if let Some(count) = group.counts.last_mut() {
                *count += 1;
            }
            group.times.push(*time);
            group.bits.push(group.dictionary.number(text));
        }
        Ok(())
    }

    /// Writes what is left, the index and the footer.
    ///
    /// # Errors
    /// What `out` says.
    pub fn finish(mut self) -> Result<RunSummary, E> {
        self.end_series()?;
        self.flush_group()?;
        let mut index = Vec::with_capacity(self.index.len() + 8);
        crate::cursor::put_varint(&mut index, self.pages);
        index.extend_from_slice(&self.index);
        let footer = Footer {
            at: FooterAt { offset: self.offset, bytes: index.len() },
            index_crc: crc32c(0, &index),
            run: self.info.run,
            samples: self.summary.samples,
            series: self.summary.series,
            pages: self.pages as u32,
            header_crc: self.header_crc,
        };
        self.write(&index)?;
        let footer = footer.encode();
        debug_assert_eq!(footer.len(), FOOTER_BYTES);
        self.write(&footer)?;
        let footer_crc = crate::RunIndex::footer_crc(&footer);
        Ok(RunSummary { pages: self.pages, bytes: self.offset, footer_crc, ..self.summary })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), E> {
        self.offset += bytes.len() as u64;
        (self.out)(bytes)
    }

    /// Makes `series` the one whose samples come in.
    fn begin(&mut self, series: u32, kind: Type) -> Result<(), E> {
        if self.series.id == Some(series) {
            if self.series.kind != kind {
                return Err(refused("type", self.series.kind as u64, kind as u64).into());
            }
            return Ok(());
        }
        if let Some(before) = self.series.id.filter(|before| *before > series) {
            return Err(refused("series", u64::from(before), u64::from(series)).into());
        }
        self.end_series()?;
        self.series.id = Some(series);
        self.series.kind = kind;
        self.series.last_ns = None;
        Ok(())
    }

    fn check_times(&mut self, times: &[i64]) -> Result<(), Error> {
        let rise = times.is_sorted_by(|a, b| a < b);
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(()) };
        if !rise || self.series.last_ns.is_some_and(|before| before >= *first) {
            let before = self.series.last_ns.unwrap_or(*first);
            return Err(refused("time after the one before", before as u64, *first as u64));
        }
        if self.series.last_ns.is_none() {
            self.summary.series += 1;
        }
        self.series.last_ns = Some(*last);
        self.summary.samples += times.len() as u64;
        let (min, max) = self.summary.times_ns.unwrap_or((*first, *last));
        self.summary.times_ns = Some((min.min(*first), max.max(*last)));
        Ok(())
    }

    /// Gives the series' samples to the group, or pages of their own.
    fn end_series(&mut self) -> Result<(), E> {
        let count = self.series.times.len();
        let Some(id) = self.series.id.filter(|_| count > 0) else { return Ok(()) };
        let group = &self.group;
        let (series, ticks) = (group.ids.len(), group.counts.first().map_or(0, |n| *n as usize));
        let same = group.is_grid
            && ticks == count
            && group.times.get(..count) == Some(self.series.times.as_slice());
        let held = group.bits.len();
        let flush = series > 0
            && (group.kind != self.series.kind
                || count >= LONG_SAMPLES
                || if same {
                    series + 1 > series_of_page(count)
                } else {
                    let own = group.is_grid && series > 1 && held >= GRID_SAMPLES_MIN;
                    let long = series == 1 && ticks >= LONG_RAGGED_SAMPLES;
                    own || long || count >= LONG_RAGGED_SAMPLES || held + count > SHARED_SAMPLES
                });
        if flush {
            self.flush_group()?;
        }
        if count >= LONG_SAMPLES {
            return self.put_long();
        }
        let group = &mut self.group;
        group.is_grid = group.ids.is_empty() || (group.is_grid && same);
        group.kind = self.series.kind;
        group.ids.push(id);
        group.counts.push(count as u32);
        group.times.append(&mut self.series.times);
        group.bits.append(&mut self.series.bits);
        Ok(())
    }

    /// A page of the series' samples alone.
    fn put_long(&mut self) -> Result<(), E> {
        let Some(id) = self.series.id else { return Ok(()) };
        self.page.clear();
        let Series { kind, times, bits, .. } = &self.series;
        let whole = put_grid(&mut self.page, *kind, &[id], times, bits, &mut self.work);
        let span = (times.first().copied().unwrap_or(0), times.last().copied().unwrap_or(0));
        let (kind, samples) = (*kind, times.len());
        self.series.times.clear();
        self.series.bits.clear();
        self.put_page((id, id), kind, samples, span, &whole)
    }

    fn flush_group(&mut self) -> Result<(), E> {
        let group = &mut self.group;
        let (Some(first), Some(last)) = (group.ids.first(), group.ids.last()) else {
            return Ok(());
        };
        let ends = (*first, *last);
        self.page.clear();
        let Group { kind, is_grid, ids, counts, times, bits, dictionary } = group;
        let min = times.iter().copied().min().unwrap_or(0);
        let max = times.iter().copied().max().unwrap_or(0);
        let ticks = counts.first().map_or(0, |count| *count as usize);
        let whole = if *is_grid {
            let times = times.get(..ticks).unwrap_or(&[]);
            put_grid(&mut self.page, *kind, ids, times, bits, &mut self.work)
        } else {
            let samples = Samples { ids, counts, times, bits };
            let dictionary = (*kind == Type::Text).then_some(&*dictionary);
            put_ragged(&mut self.page, *kind, &samples, dictionary, &mut self.work)
        };
        let (kind, samples) = (*kind, bits.len());
        ids.clear();
        counts.clear();
        times.clear();
        bits.clear();
        dictionary.clear();
        *is_grid = true;
        self.put_page(ends, kind, samples, (min, max), &whole)
    }

    fn put_page(
        &mut self,
        series: (u32, u32),
        kind: Type,
        samples: usize,
        span: (i64, i64),
        whole: &Whole,
    ) -> Result<(), E> {
        if self.pages as usize >= PAGES_MAX {
            return Err(refused("pages", PAGES_MAX as u64, self.pages + 1).into());
        }
        let crc_seed = self.info.seed(self.offset);
        seal(&mut self.page, crc_seed);
        let entry = PageEntry {
            offset: self.offset,
            bytes: self.page.len() as u32,
            first_series: series.0,
            last_series: series.1,
            time_min_ns: span.0,
            time_max_ns: span.1,
            samples: samples as u32,
            kind,
            aggregate: None,
            crc_seed,
        };
        put_entry(&mut self.index, &entry, whole, self.before.as_ref());
        self.before = Some(entry);
        self.pages += 1;
        self.offset += self.page.len() as u64;
        (self.out)(&self.page)
    }
}

/// How many series of `ticks` ticks a page takes: whole bands.
fn series_of_page(ticks: usize) -> usize {
    let most = (SHARED_SAMPLES / ticks).max(1);
    let (lanes, _) = cut(LANES_MAX, ticks);
    if most > lanes { most / lanes * lanes } else { most }
}

fn refused(field: &'static str, limit: u64, found: u64) -> Error {
    Error::OutOfRange { what: What::Page, field, offset: 0, limit, found }
}
