//! A strip: at most 4,096 samples, sorted by (series, time, arrival), as columns. What a writer
//! makes of sorted columns and what a reader makes of the bytes. Format: `docs/format.md`,
//! "Sample section".
//!
//! Invariant: bits, times and order round-trip whatever they are; what is handed out is sorted
//! (`tests/section.rs`).

use super::column::{HEAD_BYTES_MAX, Input, Output, Try, put_column, read_column};
use super::pack::{MINI, PACKED_BYTES, Packed};
use super::scale::{RAW, exponent_of, scale, unscale};
use super::{SampleColumns, StripEntry};
use crate::limits::STRIP_SAMPLES_MAX;
use crate::{Error, What};
use alloc::vec;
use alloc::vec::Vec;

/// Most bytes of a strip beside its samples: heads of seven columns, a mini-block begun in each.
pub(super) const FIXED_BYTES: usize = 7 * 2 * HEAD_BYTES_MAX;

/// Most bytes that samples take: 20 each, run lengths (they add up to the samples, so half a byte
/// for each), scale codes of 5 bits, and heads of the mini-blocks of five columns.
pub(super) const fn sample_bytes_max(count: usize) -> usize {
    count * 20 + count / 2 + count * 5 / 8 + 5 * (count / MINI + 1) * HEAD_BYTES_MAX
}

/// Memory of the writer, for one strip at a time.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Distance to the series before, less one.
    gaps: Vec<i64>,
    /// Samples of each series, less one.
    runs: Vec<i64>,
    codes: Vec<i64>,
    firsts: Vec<i64>,
    rest: Vec<i64>,
    integers: Vec<i64>,
    spare: Vec<i64>,
    packed: Packed,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let column = || vec![0; STRIP_SAMPLES_MAX];
        Scratch {
            gaps: column(),
            runs: column(),
            codes: column(),
            firsts: column(),
            rest: column(),
            integers: column(),
            spare: column(),
            packed: [0; PACKED_BYTES],
        }
    }
}

/// Splits a sorted column into the first value of each run and the differences within runs.
#[inline]
fn split(values: &[i64], runs: &[i64], firsts: &mut [i64], rest: &mut [i64]) -> Option<()> {
    if runs.len() == values.len() {
        firsts.get_mut(..values.len())?.copy_from_slice(values);
        return Some(());
    }
    let (mut from, mut to) = (0, 0);
    for (run, place) in runs.iter().zip(firsts) {
        let more = *run as usize;
        let values = values.get(from..=from + more)?;
        *place = *values.first()?;
        let differences = rest.get_mut(to..to + more)?;
        for (place, pair) in differences.iter_mut().zip(values.windows(2)) {
            if let [before, after] = pair {
                *place = after.wrapping_sub(*before);
            }
        }
        from += more + 1;
        to += more;
    }
    Some(())
}

/// The opposite.
#[inline]
fn join(firsts: &[i64], runs: &[i64], rest: &[i64], to: &mut [i64]) -> Option<()> {
    let (mut rest, mut to) = (rest, to);
    for (first, run) in firsts.iter().zip(runs) {
        let (differences, left) = rest.split_at_checked(*run as usize)?;
        let (values, left_to) = to.split_at_mut_checked((*run as usize).saturating_add(1))?;
        let mut sum = *first;
        let (place, places) = values.split_first_mut()?;
        *place = sum;
        for (place, difference) in places.iter_mut().zip(differences) {
            sum = sum.wrapping_add(*difference);
            *place = sum;
        }
        (rest, to) = (left, left_to);
    }
    Some(())
}

/// Writes a strip; the columns have one length, 1 to [`STRIP_SAMPLES_MAX`], and are sorted.
/// Returns its entry and the number of its series, or `None` if it does not fit.
pub(super) fn put_strip(
    series: &[u32],
    times_ns: &[i64],
    bits: &[u64],
    scratch: &mut Scratch,
    to: &mut Output<'_>,
) -> Option<(StripEntry, u32)> {
    let samples = series.len();
    let Scratch { gaps, runs, codes, firsts, rest, integers, spare, packed } = scratch;
    let (mut count, mut start) = (1, 0);
    for (at, (before, id)) in series.iter().zip(series.get(1..)?).enumerate() {
        if before != id {
            *gaps.get_mut(count - 1)? = i64::from(id.wrapping_sub(*before)) - 1;
            *runs.get_mut(count - 1)? = (at - start) as i64;
            start = at + 1;
            count += 1;
        }
    }
    *runs.get_mut(count - 1)? = (samples - 1 - start) as i64;
    let (runs, gaps) = (runs.get(..count)?, gaps.get(..count - 1)?);
    let codes = codes.get_mut(..count)?;
    let firsts = firsts.get_mut(..count)?;
    let rest = rest.get_mut(..samples - count)?;
    put_column(to, gaps, Try::Offsets, spare, packed)?;
    put_column(to, runs, Try::Offsets, spare, packed)?;
    put_scaled(bits, runs, codes, integers)?;
    put_column(to, codes, Try::Offsets, spare, packed)?;
    split(times_ns, runs, firsts, rest)?;
    let (mut earliest, mut latest, mut end) = (i64::MAX, i64::MIN, 0);
    for (first, run) in firsts.iter().zip(runs) {
        end += *run as usize + 1;
        earliest = earliest.min(*first);
        latest = latest.max(*times_ns.get(end - 1)?);
    }
    put_column(to, firsts, Try::Times, spare, packed)?;
    put_column(to, rest, Try::Spans, spare, packed)?;
    split(integers.get(..samples)?, runs, firsts, rest)?;
    put_column(to, firsts, Try::Offsets, spare, packed)?;
    put_column(to, rest, Try::Offsets, spare, packed)?;
    let entry = StripEntry {
        first_series: *series.first()?,
        last_series: *series.last()?,
        time_min_ns: earliest,
        time_max_ns: latest,
        samples: samples as u32,
    };
    Some((entry, count as u32))
}

/// Chooses a scale for each series and puts the integers of all values into `integers`.
fn put_scaled(bits: &[u64], runs: &[i64], codes: &mut [i64], integers: &mut [i64]) -> Option<()> {
    // Where a series has few values, its own least exponent would be chance: all get one.
    let short = bits.len() < runs.len() * 8;
    let common = if short { common_exponent(bits) } else { 0 };
    if short && common != RAW && scale(bits, common, integers.get_mut(..bits.len())?) == common {
        codes.fill(i64::from(common));
        return Some(());
    }
    let mut at = 0;
    for (run, code) in runs.iter().zip(codes) {
        let range = at..at + *run as usize + 1;
        at = range.end;
        let (bits, integers) = (bits.get(range.clone())?, integers.get_mut(range)?);
        let from = if short { common } else { exponent_of(*bits.first()?, 0) };
        *code = i64::from(scale(bits, from, integers));
    }
    Some(())
}

/// The exponent that serves for most of some values, [`RAW`] if most have none.
fn common_exponent(bits: &[u64]) -> u8 {
    let mut found = [RAW; 16];
    let step = bits.len().div_ceil(found.len()).max(1);
    let mut count = 0;
    for (place, bits) in found.iter_mut().zip(bits.iter().step_by(step)) {
        *place = exponent_of(*bits, 0);
        count += 1;
    }
    let found = found.get_mut(..count).unwrap_or(&mut []);
    found.sort_unstable();
    // The largest but for two of sixteen, which may be strange.
    found.get((count * 7 / 8).min(count.saturating_sub(1))).copied().unwrap_or(RAW)
}

fn wrong(field: &'static str, offset: u64, expected: u64, found: u64) -> Error {
    Error::Mismatch { what: What::Section, field, offset, expected, found }
}

/// Reads a strip of `count` series; `offset` is where it starts in the section.
pub(super) fn read_strip(
    bytes: &[u8],
    entry: &StripEntry,
    count: usize,
    offset: u64,
    columns: &mut SampleColumns,
) -> Result<(), Error> {
    let samples = entry.samples as usize;
    let from = &mut Input::new(bytes, offset);
    let SampleColumns { series, times_ns, bits, scratch } = columns;
    scratch.resize(3 * count + 2 * samples, 0);
    let (runs, others) = scratch.split_at_mut(count);
    let (codes, others) = others.split_at_mut(count);
    let (firsts, others) = others.split_at_mut(count);
    let (integers, rest) = others.split_at_mut(samples);
    let rest = rest.get_mut(..samples - count).unwrap_or(&mut []);
    // Gaps lie where values come later.
    let gaps = integers.get_mut(..count - 1).unwrap_or(&mut []);
    read_column(from, gaps)?;
    read_column(from, runs)?;
    let most = samples as u64;
    let beyond = runs.iter().fold(false, |beyond, run| beyond | (*run as u64 >= most));
    let total = runs.iter().fold(count as u64, |sum, run| sum.wrapping_add(*run as u64));
    if beyond || total != most {
        return Err(wrong("samples of all series", from.offset(), most, total));
    }
    series.resize(samples, 0);
    let last = unfold_series(gaps, runs, entry.first_series, series);
    if last != Some(entry.last_series) {
        let (expected, found) = (u64::from(entry.last_series), last.map_or(u64::MAX, u64::from));
        return Err(wrong("last series", from.offset(), expected, found));
    }
    read_column(from, codes)?;
    times_ns.resize(samples, 0);
    bits.resize(samples, 0);
    let single = count == samples;
    let (ordered, joined);
    if single {
        read_column(from, times_ns)?;
        ordered = spans(times_ns, entry);
        read_column(from, integers)?;
        joined = Some(());
    } else {
        read_column(from, firsts)?;
        read_column(from, rest)?;
        let times = join(firsts, runs, rest, times_ns);
        ordered = times.is_some() && in_order(times_ns, runs, entry);
        read_column(from, firsts)?;
        read_column(from, rest)?;
        joined = join(firsts, runs, rest, integers);
    }
    if !ordered {
        return Err(wrong("order of times", from.offset(), 1, 0));
    }
    if joined.is_none() || !unfold_values(codes, runs, integers, bits) {
        return Err(wrong("scaled values", from.offset(), 1, 0));
    }
    if from.left() != 0 {
        return Err(wrong("bytes of the strip", from.offset(), 0, from.left() as u64));
    }
    Ok(())
}

/// Fills in the series of all samples; the last one, `None` if a gap leads beyond ids.
fn unfold_series(gaps: &[i64], runs: &[i64], first: u32, to: &mut [u32]) -> Option<u32> {
    let mut id = first;
    if runs.len() == to.len() {
        let (place, places) = to.split_first_mut()?;
        *place = id;
        // The sum of a strip's gaps fits, so that a single test at the end finds a wrong one.
        let (mut wide, mut gaps_joined) = (u64::from(id), 0);
        for (place, gap) in places.iter_mut().zip(gaps) {
            gaps_joined |= *gap as u64;
            wide = wide.wrapping_add(*gap as u64).wrapping_add(1);
            *place = wide as u32;
        }
        return u32::try_from(wide).ok().filter(|_| gaps_joined <= u64::from(u32::MAX));
    }
    let mut at = 0;
    for (index, run) in runs.iter().enumerate() {
        if index > 0 {
            let gap = u32::try_from(*gaps.get(index - 1)?).ok()?;
            id = id.checked_add(gap)?.checked_add(1)?;
        }
        let end = at + *run as usize + 1;
        to.get_mut(at..end)?.fill(id);
        at = end;
    }
    Some(id)
}

/// Whether times, each of another series, reach what the entry says.
fn spans(times_ns: &[i64], entry: &StripEntry) -> bool {
    let ends = times_ns.iter().fold((i64::MAX, i64::MIN), |(a, b), t| (a.min(*t), b.max(*t)));
    ends == (entry.time_min_ns, entry.time_max_ns)
}

/// Whether times rise within each series and reach what the entry says.
fn in_order(times_ns: &[i64], runs: &[i64], entry: &StripEntry) -> bool {
    let mut left = times_ns;
    let (mut earliest, mut latest, mut rising) = (i64::MAX, i64::MIN, true);
    for run in runs {
        let Some((times, rest)) = left.split_at_checked((*run as usize).saturating_add(1)) else {
            return false;
        };
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return false };
        let after = times.get(1..).unwrap_or(&[]);
        rising &= times.iter().zip(after).fold(true, |rises, (a, b)| rises & (a <= b));
        (earliest, latest) = (earliest.min(*first), latest.max(*last));
        left = rest;
    }
    rising && (earliest, latest) == (entry.time_min_ns, entry.time_max_ns)
}

/// Turns integers into bits, series of one scale at once.
fn unfold_values(codes: &[i64], runs: &[i64], integers: &[i64], to: &mut [u64]) -> bool {
    let code = |code: Option<&i64>| code.and_then(|code| u8::try_from(*code).ok());
    let first = codes.first();
    if codes.iter().all(|code| Some(code) == first) {
        return unscale(integers, code(first).unwrap_or(u8::MAX), to);
    }
    let mut at = 0;
    let mut runs = runs.iter();
    for group in codes.chunk_by(|a, b| a == b) {
        let length: usize = runs
            .by_ref()
            .take(group.len())
            .map(|run| (*run as usize).saturating_add(1))
            .fold(0, usize::saturating_add);
        let range = at..at + length;
        at += length;
        let code = code(group.first()).unwrap_or(u8::MAX);
        let (Some(from), Some(to)) = (integers.get(range.clone()), to.get_mut(range)) else {
            return false;
        };
        if !unscale(from, code, to) {
            return false;
        }
    }
    true
}
