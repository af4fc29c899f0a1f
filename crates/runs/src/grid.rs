//! Pages of series that share their times: sensors that are read together.
//!
//! The values are cut into *tiles*: bands of `lanes` series by columns of `rows` ticks, a tile's
//! numbers tick by tick, so that an interval decodes the columns it touches and of the last one only
//! the rows up to its end. The first row of a column is not in its tile but among the *bases*,
//! the differences from column to column: so a tile decodes without those before it and no
//! number is stored twice. What a base costs more than the difference it stands for (2 to 3 bits)
//! is the price of a column.
//!
//! Long series have bands of one lane, and a table of what is known of each tile, so that
//! aggregates decode only the tiles at the ends of the interval.

mod bands;
mod firsts;
mod lanes;
mod long;
mod read;

pub(crate) use firsts::{Firsts, FirstsKept, put_firsts};
pub(crate) use read::Grid;

use crate::aggregate::{Aggregate, Sum};
use crate::cursor::{put_plane, put_varint, zigzag};
use crate::domain::{Domain, Patch, to_integers};
use crate::head::{Shape, put_head};
use crate::numbers::{Numbers, put_few, put_numbers};
use crate::ticks::put_ticks;
use baro_ondisk::Type;

/// Most lanes of a band.
pub(crate) const LANES_MAX: usize = 256;
/// Rows of a column where a band is one series: 768 differences, three of pco's batches.
const LONG_ROWS: usize = 769;

/// Rows of a column where a page has few ticks.
const FEW_ROWS: usize = 7;

/// How a page of `ticks` ticks is cut: lanes of a band, rows of a column. One series is read by
/// decoding its band, so a band has some thousands of values; an interval of all series is read by
/// decoding its columns, so these are short, as far as the bases that they cost allow.
pub(crate) fn cut(series: usize, ticks: usize) -> (usize, usize) {
    let power = |lanes: usize| 1 << lanes.clamp(1, LANES_MAX).ilog2();
    let lanes = match ticks {
        0..=32 => power(2560 / ticks.max(1)),
        33..=511 => power(3200 / ticks),
        _ => 1,
    };
    // A few series need no wide band.
    let lanes = lanes.min(series.next_power_of_two());
    let rows = match ticks {
        _ if lanes == 1 => LONG_ROWS,
        // Two columns of which one is short would cost bases and spare nothing.
        0..=9 => ticks.max(2),
        10..=32 => FEW_ROWS,
        // One of pco's batches of 256.
        _ => (256 / lanes).max(16) + 1,
    };
    (lanes, rows)
}

/// What the index says of a page of one series.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whole {
    /// Nothing: there are more series, or texts.
    Nothing,
    /// In the page's integers.
    Exact(Domain, Sum),
    /// In floats.
    Floats(Aggregate),
}

impl Whole {
    pub(crate) fn of(
        kind: Type,
        domain: Domain,
        integers: Option<&[i64]>,
        times: &[i64],
        bits: &[u64],
    ) -> Self {
        match integers.and_then(Sum::of) {
            Some(sum) if i64::try_from(sum.sum).is_ok() => Whole::Exact(domain, sum),
            _ if kind != Type::F64 => Whole::Nothing,
            _ => Aggregate::of(kind, times, bits).map_or(Whole::Nothing, Whole::Floats),
        }
    }
}

/// Buffers of the writer, kept from page to page.
#[derive(Default, Debug)]
pub(crate) struct Work {
    pub(crate) integers: Vec<i64>,
    pub(crate) differences: Vec<i64>,
    pub(crate) patches: Vec<Patch>,
}

/// Appends a page to `to`: `ids.len()` series, each with the samples of `times`, series by series.
pub(crate) fn put_grid(
    to: &mut Vec<u8>,
    kind: Type,
    ids: &[u32],
    times: &[i64],
    bits: &[u64],
    work: &mut Work,
) -> Whole {
    let Work { integers, differences, patches } = work;
    let domain = to_integers(kind, bits, integers, patches);
    let ticks = times.len();
    let (lanes, rows) = cut(ids.len(), ticks);
    put_head(to, Shape::Grid, kind, domain, ids, patches);
    put_varint(to, ticks as u64);
    to.push(lanes.ilog2() as u8);
    put_varint(to, rows as u64);
    let narrow = |integer: &i64| i32::try_from(*integer).is_ok();
    to.push(u8::from(integers.iter().all(narrow)));
    let time_rows = if lanes == 1 && ids.len() == 1 { rows } else { ticks };
    put_varint(to, time_rows as u64);
    put_ticks(to, times, time_rows);

    let firsts: Vec<i64> = integers.iter().copied().step_by(ticks).collect();
    put_firsts(to, &firsts);
    let has_sums = domain.is_exact() && patches.is_empty();
    if lanes == 1 {
        put_table(to, integers, ticks, rows, has_sums);
    } else if ticks > rows {
        put_bases(to, integers, ticks, lanes, rows);
    }
    if ticks > 1 {
        put_values(to, integers, differences, ticks, lanes, rows);
    }
    if ids.len() > 1 {
        return Whole::Nothing;
    }
    Whole::of(kind, domain, has_sums.then_some(integers), times, bits)
}

/// For each column of each series: its first value, and what aggregates need.
fn put_table(to: &mut Vec<u8>, integers: &[i64], ticks: usize, rows: usize, has_sums: bool) {
    let columns = integers.chunks(ticks).flat_map(|series| {
        let first = series.first().copied().unwrap_or(0);
        series.chunks(rows).map(move |column| (first, column))
    });
    let mut planes: [Vec<u64>; 4] = Default::default();
    let mut fits = has_sums;
    let [bases, below, above, sums] = &mut planes;
    for (first, column) in columns {
        let Some(sum) = Sum::of(column) else { continue };
        bases.push(zigzag(sum.first.wrapping_sub(first)));
        if !has_sums {
            continue;
        }
        below.push(sum.first.wrapping_sub(sum.min) as u64);
        above.push(sum.max.wrapping_sub(sum.first) as u64);
        let more = sum.sum - i128::from(sum.first) * i128::from(sum.count);
        fits &= i64::try_from(more).is_ok();
        sums.push(zigzag(more as i64));
    }
    put_plane(to, bases);
    to.push(u8::from(fits));
    if fits {
        put_plane(to, below);
        put_plane(to, above);
        put_plane(to, sums);
        let lasts: Vec<u64> = integers
            .chunks(ticks)
            .map(|series| match series {
                [first, .., last] => zigzag(last.wrapping_sub(*first)),
                _ => 0,
            })
            .collect();
        put_plane(to, &lasts);
    }
}

/// The differences from column to column, a tile for each band.
fn put_bases(to: &mut Vec<u8>, integers: &[i64], ticks: usize, lanes: usize, rows: usize) {
    let columns = ticks.div_ceil(rows);
    let mut bases = Vec::with_capacity(integers.len() / rows + columns);
    let mut tiles = Vec::new();
    for band in integers.chunks(lanes * ticks) {
        let before = bases.len();
        for column in 1..columns {
            for series in band.chunks(ticks) {
                let at = |column: usize| series.get(column * rows).copied().unwrap_or(0);
                bases.push(at(column).wrapping_sub(at(column - 1)));
            }
        }
        tiles.push(bases.len() - before);
    }
    put_few(to, &bases, tiles);
}

fn put_values(
    to: &mut Vec<u8>,
    integers: &[i64],
    differences: &mut Vec<i64>,
    ticks: usize,
    lanes: usize,
    rows: usize,
) {
    differences.clear();
    let (mut least, mut most) = (i64::MAX, i64::MIN);
    for series in integers.chunks(ticks) {
        differences.push(0);
        let pairs = series.iter().zip(series.get(1..).unwrap_or(&[]));
        differences.extend(pairs.map(|(a, b)| b.wrapping_sub(*a)));
        for difference in differences.get(differences.len() - series.len() + 1..).unwrap_or(&[]) {
            (least, most) = (least.min(*difference), most.max(*difference));
        }
    }
    let columns = ticks.div_ceil(rows);
    let mut tiles = Vec::new();
    for band in differences.chunks(lanes * ticks) {
        for column in 0..columns {
            let height = (ticks - column * rows).min(rows);
            let count = (height - 1) * (band.len() / ticks);
            if count > 0 {
                tiles.push(count);
            }
        }
    }
    let differences = &*differences;
    let numbers = Numbers::collect(least, most, differences.len(), |put| {
        for band in differences.chunks(lanes * ticks) {
            for column in 0..columns {
                let height = (ticks - column * rows).min(rows);
                for tick in column * rows + 1..column * rows + height {
                    band.iter().skip(tick).step_by(ticks).for_each(|value| put(*value));
                }
            }
        }
    });
    put_numbers(to, &numbers, tiles);
}
