//! The index of a run: where each page lies, what it holds, and, for pages of one series, what is
//! known of its samples. Held in memory while the run is open.

use crate::aggregate::{Aggregate, Sum};
use crate::cursor::{Cursor, put_signed, put_varint};
use crate::domain::Domain;
use crate::file::{FOOTER_BYTES, Footer, FooterAt, RunInfo, header_crc};
use crate::grid::Whole;
use crate::head::type_from;
use crate::limits::{PAGE_BYTES_MAX, PAGE_SAMPLES_MAX, PAGES_MAX};
use crate::{Error, What};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Type, crc32c};
use std::ops::Range;

/// Fewest bytes of an entry, so that a count of pages is checked against the bytes there are.
const ENTRY_BYTES_MIN: usize = 7;
const HAS_INTEGERS: u8 = 0x80;
const HAS_FLOATS: u8 = 0x40;

/// What the index says of a page.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageEntry {
    /// Where the page starts in the file.
    pub offset: u64,
    /// Bytes of the page.
    pub bytes: u32,
    /// First series in it.
    pub first_series: u32,
    /// Last series in it.
    pub last_series: u32,
    /// Earliest time in it.
    pub time_min_ns: i64,
    /// Latest time in it.
    pub time_max_ns: i64,
    /// Samples in it.
    pub samples: u32,
    /// Type of its values.
    pub kind: Type,
    /// What is known of its samples, if they are of one series and no texts.
    pub aggregate: Option<Aggregate>,
    /// What the page's CRC starts from.
    pub(crate) crc_seed: u32,
}

/// The index of a run, in memory.
#[derive(Clone, Debug)]
pub struct RunIndex {
    info: RunInfo,
    pages: Vec<PageEntry>,
    samples: u64,
    series: u64,
    times: Option<(i64, i64)>,
}

/// Appends an entry; `before` is the page before it.
pub(crate) fn put_entry(
    to: &mut Vec<u8>,
    entry: &PageEntry,
    whole: &Whole,
    before: Option<&PageEntry>,
) {
    let (series, time) = before.map_or((0, 0), |page| (page.first_series, page.time_min_ns));
    put_varint(to, u64::from(entry.bytes));
    put_varint(to, u64::from(entry.first_series - series));
    put_varint(to, u64::from(entry.last_series - entry.first_series));
    put_varint(to, u64::from(entry.samples));
    let flag = match whole {
        Whole::Nothing => 0,
        Whole::Exact(..) => HAS_INTEGERS,
        Whole::Floats(_) => HAS_FLOATS,
    };
    to.push(entry.kind as u8 | flag);
    put_signed(to, entry.time_min_ns.wrapping_sub(time));
    put_varint(to, entry.time_max_ns.wrapping_sub(entry.time_min_ns) as u64);
    match whole {
        Whole::Nothing => {}
        Whole::Exact(domain, sum) => {
            to.extend_from_slice(&domain.bytes());
            put_signed(to, sum.first);
            put_signed(to, sum.last.wrapping_sub(sum.first));
            put_varint(to, sum.first.wrapping_sub(sum.min) as u64);
            put_varint(to, sum.max.wrapping_sub(sum.first) as u64);
            put_signed(to, sum.sum as i64);
        }
        Whole::Floats(a) => {
            for value in [a.first.1, a.last.1, a.min, a.max, a.sum] {
                to.extend_from_slice(&value.to_bits().to_le_bytes());
            }
        }
    }
}

impl RunIndex {
    /// Bytes of the footer, which are the last of the file.
    pub const FOOTER_BYTES: usize = FOOTER_BYTES;

    /// Where the index lies, of a file of `file_bytes`; `tail` are its last bytes, at least
    /// [`RunIndex::FOOTER_BYTES`] of them.
    ///
    /// # Errors
    /// Too short, not a footer, a wrong CRC, or a place that is not in front of the footer.
    pub fn footer(file_bytes: u64, tail: &[u8]) -> Result<FooterAt, Error> {
        Footer::decode(file_bytes, tail).map(|footer| footer.at)
    }

    /// The CRC that a footer ends with: index and header are in it by their CRCs.
    #[must_use]
    pub fn footer_crc(footer: &[u8]) -> u32 {
        footer.last_chunk().copied().map_or(0, u32::from_le_bytes)
    }

    /// Reads the index: `header` is the file's first unit, `index` the bytes where
    /// [`RunIndex::footer`] says, `footer` the last bytes of the file.
    ///
    /// # Errors
    /// Anything that is not of the format, has a wrong CRC, or does not belong together.
    pub fn decode(header: &[u8], index: &[u8], footer: &[u8]) -> Result<Self, Error> {
        let info = RunInfo::decode(header)?;
        let at = footer.len().saturating_sub(FOOTER_BYTES);
        let footer = footer.get(at..).unwrap_or(footer);
        // The footer says how long the file is; the caller has compared it in `footer`.
        let mut place = Cursor::new(What::Footer, 0, footer, 8);
        let offset = place.u64("index offset")?;
        let bytes = place.u32("index bytes")?;
        let end = offset.saturating_add(u64::from(bytes)).saturating_add(FOOTER_BYTES as u64);
        let footer = Footer::decode(end, footer)?;
        let mut cursor = Cursor::new(What::Index, footer.at.offset, index, 0);
        cursor.expect("index bytes", footer.at.bytes as u64, index.len() as u64)?;
        cursor.expect("CRC", u64::from(footer.index_crc), u64::from(crc32c(0, index)))?;
        cursor.expect("run", footer.run, info.run)?;
        cursor.expect("header CRC", u64::from(footer.header_crc), u64::from(header_crc(header)))?;
        let count = cursor.count("pages", PAGES_MAX.min(index.len() / ENTRY_BYTES_MIN))?;
        cursor.expect("pages", u64::from(footer.pages), count as u64)?;
        let mut this = RunIndex {
            info,
            pages: Vec::with_capacity(count),
            samples: 0,
            series: footer.series,
            times: None,
        };
        let mut offset = UNIT_BYTES as u64;
        for _ in 0..count {
            let entry = entry(&mut cursor, &this.info, offset, this.pages.last())?;
            offset += u64::from(entry.bytes);
            this.samples += u64::from(entry.samples);
            let (min, max) = this.times.unwrap_or((i64::MAX, i64::MIN));
            this.times = Some((min.min(entry.time_min_ns), max.max(entry.time_max_ns)));
            this.pages.push(entry);
        }
        cursor.expect("end", index.len() as u64, cursor.at() as u64)?;
        cursor.expect("index offset", footer.at.offset, offset)?;
        cursor.expect("samples", footer.samples, this.samples)?;
        Ok(this)
    }

    /// Who the run is.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// All pages, by series and, within a series, time.
    #[must_use]
    pub fn pages(&self) -> &[PageEntry] {
        &self.pages
    }

    /// The pages that can hold a series: in any other it is not.
    #[must_use]
    #[inline]
    pub fn find(&self, series: u32) -> Range<usize> {
        let from = self.pages.partition_point(|page| page.last_series < series);
        let to = self.pages.partition_point(|page| page.first_series <= series);
        from..to.max(from)
    }

    /// Samples in the run.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Earliest and latest time in the run; `None` of an empty one.
    #[must_use]
    pub fn time_range(&self) -> Option<(i64, i64)> {
        self.times
    }

    /// Series in the run.
    #[must_use]
    pub fn series(&self) -> u64 {
        self.series
    }
}

fn entry(
    cursor: &mut Cursor<'_>,
    info: &RunInfo,
    offset: u64,
    before: Option<&PageEntry>,
) -> Result<PageEntry, Error> {
    let (least, time) = before.map_or((0, 0), |page| (page.first_series, page.time_min_ns));
    let bytes = cursor.count("page bytes", PAGE_BYTES_MAX)? as u32;
    let room = |from: u32| (u32::MAX - from) as usize;
    let first_series = least + cursor.count("first series", room(least))? as u32;
    let last_series = first_series + cursor.count("last series", room(first_series))? as u32;
    if before.is_some_and(|page| first_series < page.last_series) {
        return Err(cursor.out_of_range(
            "series in order",
            u64::from(least),
            u64::from(first_series),
        ));
    }
    let samples = cursor.count("samples", PAGE_SAMPLES_MAX)? as u32;
    // No writer makes one, and what a page is cut into is counted from its last sample.
    if samples == 0 {
        return Err(cursor.out_of_range("samples", PAGE_SAMPLES_MAX as u64, 0));
    }
    let flags = cursor.byte("type")?;
    let Some(kind) = type_from(flags & 0x3f) else {
        return Err(cursor.out_of_range("type", Type::Text as u64, u64::from(flags & 0x3f)));
    };
    let time_min_ns = time.wrapping_add(cursor.signed("earliest time")?);
    let span = cursor.varint("latest time")?;
    let time_max_ns = time_min_ns.wrapping_add(span as i64);
    if time_max_ns < time_min_ns {
        return Err(cursor.out_of_range("latest time", i64::MAX as u64, span));
    }
    let ends = (time_min_ns, time_max_ns);
    let aggregate = match flags & !0x3f {
        0 => None,
        HAS_INTEGERS => Some(integers(cursor, kind, samples, ends)?),
        HAS_FLOATS => Some(floats(cursor, samples, ends)?),
        other => return Err(cursor.out_of_range("type", 0x80, u64::from(other))),
    };
    let crc_seed = info.seed(offset);
    Ok(PageEntry {
        offset,
        bytes,
        first_series,
        last_series,
        time_min_ns,
        time_max_ns,
        samples,
        kind,
        aggregate,
        crc_seed,
    })
}

fn integers(
    cursor: &mut Cursor<'_>,
    kind: Type,
    samples: u32,
    ends: (i64, i64),
) -> Result<Aggregate, Error> {
    let [form, parameter] = cursor.array("domain")?;
    let domain = Domain::from_bytes([form, parameter]).filter(|domain| domain.is_exact());
    let domain = domain.ok_or_else(|| cursor.out_of_range("domain", 1, u64::from(form)))?;
    let first = cursor.signed("first value")?;
    let last = first.wrapping_add(cursor.signed("last value")?);
    let min = first.wrapping_sub(cursor.varint("least value")? as i64);
    let max = first.wrapping_add(cursor.varint("largest value")? as i64);
    let mut sum = Sum::new(min, max, first, last);
    sum.count = u64::from(samples);
    sum.sum = i128::from(cursor.signed("sum")?);
    Ok(sum.finish(kind, domain, ends.0, ends.1))
}

fn floats(cursor: &mut Cursor<'_>, samples: u32, ends: (i64, i64)) -> Result<Aggregate, Error> {
    let mut float = |field| cursor.u64(field).map(f64::from_bits);
    Ok(Aggregate {
        count: u64::from(samples),
        first: (ends.0, float("first value")?),
        last: (ends.1, float("last value")?),
        min: float("least value")?,
        max: float("largest value")?,
        sum: float("sum")?,
        integers: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of one page, as its header, index and footer have it, with right checksums.
    fn decoded(samples: u32) -> Result<RunIndex, Error> {
        let info = RunInfo::default();
        let header = info.encode()?;
        let entry = PageEntry {
            offset: UNIT_BYTES as u64,
            bytes: 90,
            first_series: 1,
            last_series: 1,
            time_min_ns: 5,
            time_max_ns: 5,
            samples,
            kind: Type::F64,
            aggregate: None,
            crc_seed: 0,
        };
        // Behind the number of pages, as the writer has it.
        let mut index = vec![1];
        put_entry(&mut index, &entry, &Whole::Nothing, None);
        let footer = Footer {
            at: FooterAt { offset: UNIT_BYTES as u64 + 90, bytes: index.len() },
            index_crc: crc32c(0, &index),
            run: info.run,
            samples: u64::from(samples),
            series: 1,
            pages: 1,
            header_crc: header_crc(&header),
        };
        RunIndex::decode(&header, &index, &footer.encode())
    }

    #[test]
    fn a_page_of_no_samples_is_refused() {
        assert_eq!(decoded(1).map(|index| index.samples()), Ok(1));
        let error = decoded(0).unwrap_err();
        let what = What::Index;
        assert!(
            matches!(error, Error::OutOfRange { what: at, field: "samples", found: 0, .. } if at == what),
            "{error}"
        );
    }
}
