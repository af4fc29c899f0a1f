//! Samples on their way into a section: columns in order of arrival, sorted when the section is
//! made. Memory is fixed when the stage is made and not touched before the first sample.
//!
//! Sorting is stable by (series, time). Input that arrives sorted is not sorted; ids close to each
//! other are counted; else a radix sort. Times are looked at within a series and sorted only if
//! they are out of order.
//!
//! Invariant: what comes out is what went in (`tests/section.rs`).

use super::column::Output;
use super::strip::{Scratch, put_strip};
use super::{ENTRY_BYTES, HEAD_BYTES, Place, section_bytes_max};
use crate::bytes::put;
use crate::limits::{SECTION_SAMPLES_MAX, STRIP_SAMPLES};
use alloc::vec;
use alloc::vec::Vec;

/// Ids are counted if they spread over at most this many times as many as there are samples.
const SPREAD_MAX: usize = 4;
/// Bits of a digit of the radix sort.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Samples in order of arrival, on their way into a section, which sorts them by series and time.
#[derive(Debug)]
pub struct SampleStage {
    series: Vec<u32>,
    times_ns: Vec<i64>,
    bits: Vec<u64>,
    count: usize,
    /// Places in the order in which samples go out, if that is not the order of arrival.
    order: Vec<u32>,
    /// Radix sort: ids and places, and room for the next pass.
    keys: Vec<u64>,
    keys_next: Vec<u64>,
    counts: Vec<u32>,
    /// Where strips end.
    cuts: Vec<usize>,
    strip: SortedStrip,
    scratch: Scratch,
    /// The last section had times out of order: look before anything is encoded.
    late: bool,
}

#[derive(Debug)]
struct SortedStrip {
    series: Vec<u32>,
    times_ns: Vec<i64>,
    bits: Vec<u64>,
}

/// Earliest and latest time of a section, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Bytes of the section.
    pub bytes: usize,
    /// Earliest time.
    pub time_min_ns: i64,
    /// Latest time.
    pub time_max_ns: i64,
}

impl SampleStage {
    /// A stage for sections of at most `bytes_max`, whatever the samples are.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        let (mut low, mut high) = (0, SECTION_SAMPLES_MAX);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if section_bytes_max(middle) <= bytes_max {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let most = low;
        // Zeroed memory of this size comes from the system untouched.
        SampleStage {
            series: vec![0; most],
            times_ns: vec![0; most],
            bits: vec![0; most],
            count: 0,
            order: vec![0; most],
            keys: vec![0; most],
            keys_next: vec![0; most],
            counts: vec![0; (most * SPREAD_MAX).max(DIGITS) + 1],
            cuts: Vec::with_capacity(most / (STRIP_SAMPLES / 2) + 1),
            strip: SortedStrip {
                series: vec![0; STRIP_SAMPLES],
                times_ns: vec![0; STRIP_SAMPLES],
                bits: vec![0; STRIP_SAMPLES],
            },
            scratch: Scratch::new(),
            late: false,
        }
    }

    /// Most samples that it holds.
    #[must_use]
    pub fn samples_max(&self) -> usize {
        self.series.len()
    }

    /// Samples in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets the samples.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Room for `count` samples more, to be filled in: series, times, bits of values. `None`, with
    /// nothing changed, if there is not that much.
    pub fn add(&mut self, count: usize) -> Option<(&mut [u32], &mut [i64], &mut [u64])> {
        let range = self.count..self.count.checked_add(count)?;
        let end = range.end;
        let columns = (
            self.series.get_mut(range.clone())?,
            self.times_ns.get_mut(range.clone())?,
            self.bits.get_mut(range)?,
        );
        self.count = end;
        Some(columns)
    }

    /// Writes the section of all samples to the start of `to`. `None` if it does not fit (never if
    /// `to` has [`section_bytes_max`] of them), or there are no samples. The samples stay.
    pub fn encode(&mut self, to: &mut [u8]) -> Option<Encoded> {
        if self.count == 0 {
            return None;
        }
        let mut sorted = self.sort_series()?;
        if self.late {
            self.late = self.sort_times(&mut sorted)?;
        }
        loop {
            match self.encode_sorted(sorted, to)? {
                Some(encoded) => return Some(encoded),
                // Late samples.
                None => self.late = self.sort_times(&mut sorted)?,
            }
        }
    }

    /// Puts the order by series, and by arrival within one, into `order`. True, with no order
    /// made, if the samples came like that.
    fn sort_series(&mut self) -> Option<bool> {
        let series = self.series.get(..self.count)?;
        if series.is_sorted() {
            return Some(true);
        }
        let (least, most) =
            series.iter().fold((u32::MAX, 0), |(low, high), id| (low.min(*id), high.max(*id)));
        let spread = ((most - least) as usize).saturating_add(1);
        let order = self.order.get_mut(..self.count)?;
        if spread <= self.count * SPREAD_MAX {
            let counts = self.counts.get_mut(..=spread)?;
            counts.fill(0);
            for id in series {
                *counts.get_mut((id - least) as usize + 1)? += 1;
            }
            let mut sum = 0;
            for count in counts.iter_mut() {
                sum += *count;
                *count = sum;
            }
            for (at, id) in series.iter().enumerate() {
                let place = counts.get_mut((id - least) as usize)?;
                *order.get_mut(*place as usize)? = at as u32;
                *place += 1;
            }
            return Some(false);
        }
        let keys = self.keys.get_mut(..self.count)?;
        for (at, (key, id)) in keys.iter_mut().zip(series).enumerate() {
            *key = u64::from(id - least) << 32 | at as u64;
        }
        let mut shift = 32;
        while shift < 64 && (spread as u64 - 1) >> (shift - 32) > 0 {
            let (keys, next) = (self.keys.get(..self.count)?, &mut self.keys_next);
            let next = next.get_mut(..self.count)?;
            let counts = self.counts.get_mut(..=DIGITS)?;
            counts.fill(0);
            let digit = |key: u64| (key >> shift) as usize & (DIGITS - 1);
            for key in keys {
                *counts.get_mut(digit(*key) + 1)? += 1;
            }
            let mut sum = 0;
            for count in counts.iter_mut() {
                sum += *count;
                *count = sum;
            }
            for key in keys {
                let place = counts.get_mut(digit(*key))?;
                *next.get_mut(*place as usize)? = *key;
                *place += 1;
            }
            core::mem::swap(&mut self.keys, &mut self.keys_next);
            shift += DIGIT_BITS;
        }
        for (place, key) in order.iter_mut().zip(&self.keys) {
            *place = *key as u32;
        }
        Some(false)
    }

    /// Sorts times within each series; true if any were out of order.
    fn sort_times(&mut self, sorted: &mut bool) -> Option<bool> {
        let order = self.order.get_mut(..self.count)?;
        if *sorted {
            order.iter_mut().enumerate().for_each(|(at, place)| *place = at as u32);
            *sorted = false;
        }
        let (series, times) = (&self.series, &self.times_ns);
        let id = |at: &u32| series.get(*at as usize).copied().unwrap_or(0);
        let time = |at: &u32| times.get(*at as usize).copied().unwrap_or(0);
        let mut late = false;
        for run in order.chunk_by_mut(|a, b| id(a) == id(b)) {
            // Next to each other, so that a comparison looks nowhere else.
            let Some(beside) = self.strip.times_ns.get_mut(..run.len()) else {
                late |= !run.is_sorted_by_key(time);
                run.sort_unstable_by_key(|at| (time(at), *at));
                continue;
            };
            beside.iter_mut().zip(&*run).for_each(|(place, at)| *place = time(at));
            if !beside.is_sorted() {
                late = true;
                if !insert(beside, run) {
                    run.sort_unstable_by_key(|at| (time(at), *at));
                }
            }
        }
        Some(late)
    }

    /// Where strips end: between two series if that leaves more than half of the most in them, so
    /// that few series lie in two strips and their columns stay regular.
    fn cut(&mut self, sorted: bool) -> Option<()> {
        let (series, order) = (&self.series, &self.order);
        let id = |at: usize| {
            let at = if sorted { at } else { *order.get(at)? as usize };
            series.get(at)
        };
        self.cuts.clear();
        let mut start = 0;
        while self.count - start > STRIP_SAMPLES {
            let most = start + STRIP_SAMPLES;
            let mut end = most;
            while end > start + STRIP_SAMPLES / 2 && id(end - 1)? == id(end)? {
                end -= 1;
            }
            if end == start + STRIP_SAMPLES / 2 {
                end = most;
            }
            self.cuts.push(end);
            start = end;
        }
        self.cuts.push(self.count);
        Some(())
    }

    /// Writes strip after strip; `Some(None)` if a series' times are out of order.
    #[allow(clippy::option_option, reason = "does not fit, or has to be sorted first")]
    fn encode_sorted(&mut self, sorted: bool, to: &mut [u8]) -> Option<Option<Encoded>> {
        self.cut(sorted)?;
        let strips = self.cuts.len();
        let directory = HEAD_BYTES + strips * ENTRY_BYTES;
        let (head, body) = to.split_at_mut_checked(directory)?;
        put(head, 0, &(self.count as u32).to_le_bytes());
        put(head, 4, &(strips as u32).to_le_bytes());
        let mut output = Output::new(body);
        let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
        let mut before = None;
        let mut start = 0;
        for at in 0..strips {
            let end = *self.cuts.get(at)?;
            let range = start..end;
            start = end;
            let (series, times_ns, bits) = if sorted {
                let (series, times) = (self.series.get(range.clone())?, &self.times_ns);
                (series, times.get(range.clone())?, self.bits.get(range)?)
            } else {
                let all = (&*self.series, &*self.times_ns, &*self.bits);
                gather(self.order.get(range)?, all, &mut self.strip)?
            };
            // The last sample of the strip before belongs to what is looked at.
            let last = (*series.last()?, *times_ns.last()?);
            let first = (*series.first()?, *times_ns.first()?);
            if before.is_some_and(|before| before > first) || !in_order(series, times_ns) {
                return Some(None);
            }
            before = Some(last);
            let (entry, count) = put_strip(series, times_ns, bits, &mut self.scratch, &mut output)?;
            earliest = earliest.min(entry.time_min_ns);
            latest = latest.max(entry.time_max_ns);
            let place = Place { entry, series: count, end: output.len() as u32 };
            put(head, HEAD_BYTES + at * ENTRY_BYTES, &place.encode());
        }
        let bytes = directory + output.len();
        Some(Some(Encoded { bytes, time_min_ns: earliest, time_max_ns: latest }))
    }
}

/// Copies the samples at these places next to each other.
fn gather<'a>(
    order: &[u32],
    (all_series, all_times_ns, all_bits): (&[u32], &[i64], &[u64]),
    to: &'a mut SortedStrip,
) -> Option<(&'a [u32], &'a [i64], &'a [u64])> {
    let series = to.series.get_mut(..order.len())?;
    let times_ns = to.times_ns.get_mut(..order.len())?;
    let bits = to.bits.get_mut(..order.len())?;
    for (place, from) in series.iter_mut().zip(order) {
        *place = *all_series.get(*from as usize)?;
    }
    for (place, from) in times_ns.iter_mut().zip(order) {
        *place = *all_times_ns.get(*from as usize)?;
    }
    for (place, from) in bits.iter_mut().zip(order) {
        *place = *all_bits.get(*from as usize)?;
    }
    Some((series, times_ns, bits))
}

/// Whether no sample is earlier than the one before it of the same series.
fn in_order(series: &[u32], times_ns: &[i64]) -> bool {
    let (Some(series_after), Some(times_after)) = (series.get(1..), times_ns.get(1..)) else {
        return true;
    };
    let same = series.iter().zip(series_after).map(|(a, b)| a == b);
    let falls = times_ns.iter().zip(times_after).map(|(earlier, later)| earlier > later);
    !same.zip(falls).fold(false, |late, (same, falls)| late | (same & falls))
}

/// Sorts times by insertion, and the places beside them, which is cheap for samples that are a few
/// places late. False, with some done, if it takes too many moves.
fn insert(times: &mut [i64], places: &mut [u32]) -> bool {
    let mut moves = times.len() * 8;
    for at in 1..times.len().min(places.len()) {
        let (Some(time), Some(place)) = (times.get(at).copied(), places.get(at).copied()) else {
            return false;
        };
        let mut to = at;
        while let (Some([earlier, next]), Some([before, after])) =
            (pair(times, to), pair(places, to))
        {
            if *earlier <= time {
                break;
            }
            (*next, *after) = (*earlier, *before);
            to -= 1;
        }
        if let (Some(to_time), Some(to_place)) = (times.get_mut(to), places.get_mut(to)) {
            (*to_time, *to_place) = (time, place);
        }
        if at - to > moves {
            return false;
        }
        moves -= at - to;
    }
    true
}

/// The element before `at`, and that at it.
#[inline]
fn pair<T>(of: &mut [T], at: usize) -> Option<&mut [T; 2]> {
    of.get_mut(at.checked_sub(1)?..=at)?.try_into().ok()
}
