//! The sample section of a block: samples sorted by (series, time, arrival) and stored by column,
//! so that one series is found by binary search and few bytes go to the device. Format:
//! `docs/format.md`, "Sample section".
//!
//! Invariant: any samples round-trip bit by bit, and any bytes give samples in order or an error;
//! nothing is sized by a count that is beyond the limits (`tests/section.rs`, fuzz target
//! `section`).

mod column;
mod pack;
mod scale;
mod stage;
mod strip;
mod unfold;

pub use stage::{Encoded, SampleStage};
pub use unfold::UnfoldedSamples;

use crate::bytes::{i64_at, put, u32_at};
use crate::limits::{SECTION_SAMPLES_MAX, STRIP_SAMPLES, STRIP_SAMPLES_MAX};
use crate::{Error, What};
use alloc::vec::Vec;
use core::ops::Range;

const HEAD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 40;

/// Samples of a section, sorted by (series, time, arrival): columns of one length.
#[derive(Clone, Debug, Default)]
pub struct SampleColumns {
    /// Ids of series.
    pub series: Vec<u32>,
    /// Times in nanoseconds.
    pub times_ns: Vec<i64>,
    /// Values: bits of an f64 or i64, or 0 or 1, by the catalog.
    pub bits: Vec<u64>,
    scratch: Vec<i64>,
}

impl SampleColumns {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// (series, time in nanoseconds, value bits) of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i64, u64)> + '_ {
        let values = self.times_ns.iter().zip(&self.bits);
        self.series.iter().zip(values).map(|(series, (time, bits))| (*series, *time, *bits))
    }

    fn clear(&mut self) {
        self.series.clear();
        self.times_ns.clear();
        self.bits.clear();
    }
}

/// What the directory says of a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripEntry {
    /// Least series in it.
    pub first_series: u32,
    /// Largest series in it.
    pub last_series: u32,
    /// Earliest time in it.
    pub time_min_ns: i64,
    /// Latest time in it.
    pub time_max_ns: i64,
    /// Samples in it.
    pub samples: u32,
}

/// An entry of the directory.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: StripEntry,
    series: u32,
    /// Where the strip ends, from the end of the directory.
    end: u32,
}

impl Place {
    fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        put(&mut bytes, 0, &self.entry.first_series.to_le_bytes());
        put(&mut bytes, 4, &self.entry.last_series.to_le_bytes());
        put(&mut bytes, 8, &self.entry.time_min_ns.to_le_bytes());
        put(&mut bytes, 16, &self.entry.time_max_ns.to_le_bytes());
        put(&mut bytes, 24, &self.entry.samples.to_le_bytes());
        put(&mut bytes, 28, &self.series.to_le_bytes());
        put(&mut bytes, 32, &self.end.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Self {
        let entry = StripEntry {
            first_series: u32_at(bytes, 0),
            last_series: u32_at(bytes, 4),
            time_min_ns: i64_at(bytes, 8),
            time_max_ns: i64_at(bytes, 16),
            samples: u32_at(bytes, 24),
        };
        Place { entry, series: u32_at(bytes, 28), end: u32_at(bytes, 32) }
    }
}

/// A sample section whose directory has been checked; strips are when they are decoded.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    directory: &'a [u8],
    strips: &'a [u8],
    samples: usize,
}

impl<'a> Section<'a> {
    /// Takes the bytes of a section and checks its directory.
    ///
    /// # Errors
    /// Truncated, counts beyond the limits, or a directory that does not fit what it describes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        let what = What::Section;
        let found = bytes.len() as u64;
        let short = |offset: usize, expected: usize| Error::Truncated {
            what,
            offset: offset as u64,
            expected: expected as u64,
            found,
        };
        if bytes.len() < HEAD_BYTES {
            return Err(short(bytes.len(), HEAD_BYTES));
        }
        let range = |field, offset, limit: usize, found: u32| {
            let (limit, found) = (limit as u64, u64::from(found));
            if (1..=limit).contains(&found) {
                return Ok(());
            }
            Err(Error::OutOfRange { what, field, offset, limit, found })
        };
        let (samples, strips) = (u32_at(bytes, 0), u32_at(bytes, 4));
        range("samples", 0, SECTION_SAMPLES_MAX, samples)?;
        range("strips", 4, samples as usize, strips)?;
        let directory_bytes = strips as usize * ENTRY_BYTES;
        let rest = bytes.get(HEAD_BYTES..).unwrap_or(&[]);
        let Some((directory, strips)) = rest.split_at_checked(directory_bytes) else {
            return Err(short(bytes.len(), HEAD_BYTES + directory_bytes));
        };
        let (mut total, mut end, mut series) = (0_u64, 0, 0);
        for (at, bytes) in directory.chunks_exact(ENTRY_BYTES).enumerate() {
            let offset = (HEAD_BYTES + at * ENTRY_BYTES) as u64;
            let place = Place::decode(bytes);
            let StripEntry { first_series, last_series, time_min_ns, time_max_ns, samples } =
                place.entry;
            range("samples of a strip", offset + 24, STRIP_SAMPLES_MAX, samples)?;
            range("series of a strip", offset + 28, samples as usize, place.series)?;
            let mismatch = |field, at: u64, expected: u64, found: u64| {
                Err(Error::Mismatch { what, field, offset: offset + at, expected, found })
            };
            if first_series < series {
                return mismatch("first series", 0, u64::from(series), u64::from(first_series));
            }
            let spread = u64::from(last_series).checked_sub(u64::from(first_series));
            if spread.is_none_or(|spread| spread < u64::from(place.series) - 1) {
                return mismatch("last series", 4, u64::from(first_series), u64::from(last_series));
            }
            if time_min_ns > time_max_ns {
                return mismatch("latest time", 16, time_min_ns as u64, time_max_ns as u64);
            }
            if place.end < end || place.end as usize > strips.len() {
                return mismatch("end of a strip", 32, strips.len() as u64, u64::from(place.end));
            }
            (end, series, total) = (place.end, last_series, total + u64::from(samples));
        }
        if end as usize != strips.len() {
            let (expected, found) = (strips.len() as u64, u64::from(end));
            let offset = (HEAD_BYTES + directory_bytes - 8) as u64;
            return Err(Error::Mismatch { what, field: "end of strips", offset, expected, found });
        }
        if total != u64::from(samples) {
            let (expected, found) = (total, u64::from(samples));
            return Err(Error::Mismatch { what, field: "samples", offset: 0, expected, found });
        }
        Ok(Section { directory, strips, samples: samples as usize })
    }

    /// How many samples the section has whose first bytes these are; `None` if they are too few or
    /// no section begins so. What follows is not looked at.
    #[must_use]
    pub fn samples_told(head: &[u8]) -> Option<u32> {
        let samples = u32_at(head.get(..HEAD_BYTES)?, 0);
        (1..=SECTION_SAMPLES_MAX as u32).contains(&samples).then_some(samples)
    }

    /// Samples in all strips, at most [`SECTION_SAMPLES_MAX`].
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Number of strips.
    #[must_use]
    pub fn strips(&self) -> usize {
        self.directory.len() / ENTRY_BYTES
    }

    fn place(&self, at: usize) -> Option<Place> {
        let start = at.checked_mul(ENTRY_BYTES)?;
        self.directory.get(start..start.checked_add(ENTRY_BYTES)?).map(Place::decode)
    }

    /// What the directory says of strip number `at`.
    #[must_use]
    pub fn strip(&self, at: usize) -> Option<StripEntry> {
        self.place(at).map(|place| place.entry)
    }

    /// Strips that can hold `series`, by binary search; empty if none can.
    #[must_use]
    pub fn find(&self, series: u32) -> Range<usize> {
        let first = self.partition(|entry| entry.last_series < series);
        let end = self.partition(|entry| entry.first_series <= series);
        first..end.max(first)
    }

    /// Number of strips from the first on for which `before` holds.
    fn partition(&self, before: impl Fn(&StripEntry) -> bool) -> usize {
        let (mut low, mut high) = (0, self.strips());
        while low < high {
            let middle = low.midpoint(high);
            if self.strip(middle).is_some_and(|entry| before(&entry)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Decodes strip number `at` into `to`, whose contents are replaced. Within a series, samples
    /// are in the order of time, and of arrival where times are the same.
    ///
    /// # Errors
    /// There is no such strip, or its bytes are not what the format asks for; `to` is empty then.
    pub fn decode_strip(&self, at: usize, to: &mut SampleColumns) -> Result<(), Error> {
        let what = What::Section;
        let Some(place) = self.place(at) else {
            to.clear();
            let (limit, found) = (self.strips() as u64, at as u64);
            return Err(Error::OutOfRange { what, field: "strip", offset: 4, limit, found });
        };
        let start = at.checked_sub(1).and_then(|before| self.place(before));
        let start = start.map_or(0, |before| before.end as usize);
        let bytes = self.strips.get(start..place.end as usize).unwrap_or(&[]);
        let offset = (HEAD_BYTES + self.directory.len() + start) as u64;
        let read = strip::read_strip(bytes, &place.entry, place.series as usize, offset, to);
        if read.is_err() {
            to.clear();
        }
        read
    }
}

/// Most bytes that a section of `samples` takes, whatever they are.
#[must_use]
pub const fn section_bytes_max(samples: usize) -> usize {
    // All strips but the last have more than half of the most.
    let strips = samples / (STRIP_SAMPLES / 2) + 1;
    HEAD_BYTES + strips * (ENTRY_BYTES + strip::FIXED_BYTES) + strip::sample_bytes_max(samples)
}
