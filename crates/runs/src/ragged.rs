//! Pages of series that each have their own times: sensors that report when they like.
//!
//! A tile is whole series, one after another, until it has 1,024 samples; its times and its values
//! are coded apart, as differences inside each series. First times and first values are apart too,
//! in tiles of 256 series.

mod read;

pub(crate) use read::{Ragged, TileAt, TileKept};

use crate::cursor::{put_plane, put_signed, put_varint};
use crate::domain::to_integers;
use crate::grid::{Whole, Work, put_firsts};
use crate::head::{Shape, put_head};
use crate::numbers::{Numbers, put_numbers};
use crate::text::Dictionary;
use crate::ticks::divisor;
use baro_ondisk::Type;

/// A tile ends with the series that makes it this many samples.
pub(crate) const TILE_SAMPLES: usize = 1024;

/// Samples of several series, series by series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples<'a> {
    pub(crate) ids: &'a [u32],
    /// Samples of each series.
    pub(crate) counts: &'a [u32],
    pub(crate) times: &'a [i64],
    pub(crate) bits: &'a [u64],
}

impl Samples<'_> {
    /// `each` gets the start and end of every series among the samples.
    fn ranges(&self) -> impl Iterator<Item = (usize, usize)> + Clone + '_ {
        let mut at = 0;
        self.counts.iter().map(move |count| {
            let start = at;
            at += *count as usize;
            (start, at)
        })
    }
}

/// Appends a page to `to`; texts come with their dictionary.
pub(crate) fn put_ragged(
    to: &mut Vec<u8>,
    kind: Type,
    samples: &Samples<'_>,
    dictionary: Option<&Dictionary>,
    work: &mut Work,
) -> Whole {
    let Work { integers, patches, .. } = work;
    let domain = to_integers(kind, samples.bits, integers, patches);
    put_head(to, Shape::Ragged, kind, domain, samples.ids, patches);
    put_plane(to, &samples.counts.iter().map(|c| u64::from(*c) - 1).collect::<Vec<_>>());

    let at = |index: usize| samples.times.get(index).copied().unwrap_or(0);
    let start = samples.ranges().map(|(start, _)| at(start)).min().unwrap_or(0);
    let starts = || samples.ranges().map(|(first, _)| at(first).wrapping_sub(start) as u64);
    let inside = || {
        samples.ranges().flat_map(|(start, end)| {
            (start + 1..end).map(move |index| at(index).wrapping_sub(at(index - 1)) as u64)
        })
    };
    let divisor = divisor(starts().chain(inside()));
    put_signed(to, start);
    put_varint(to, divisor);
    put_firsts(to, &starts().map(|start| (start / divisor) as i64).collect::<Vec<_>>());
    let times: Vec<i64> = inside().map(|difference| (difference / divisor) as i64).collect();
    let tiles = tiles(samples.counts);
    if !tiles.is_empty() {
        put_numbers(to, &Numbers::from_slice(&times), tiles.clone());
    }

    let value = |index: usize| integers.get(index).copied().unwrap_or(0);
    put_firsts(to, &samples.ranges().map(|(first, _)| value(first)).collect::<Vec<_>>());
    let values: Vec<i64> = samples
        .ranges()
        .flat_map(|(start, end)| {
            (start + 1..end).map(move |index| value(index).wrapping_sub(value(index - 1)))
        })
        .collect();
    if !tiles.is_empty() {
        put_numbers(to, &Numbers::from_slice(&values), tiles);
    }
    if let Some(dictionary) = dictionary {
        dictionary.put(to);
    }
    if samples.ids.len() > 1 || kind == Type::Text {
        return Whole::Nothing;
    }
    let exact = domain.is_exact() && patches.is_empty();
    Whole::of(kind, domain, exact.then_some(integers), samples.times, samples.bits)
}

/// Numbers of differences in each tile, tiles without any left out.
fn tiles(counts: &[u32]) -> Vec<usize> {
    let (mut tiles, mut samples, mut numbers) = (Vec::new(), 0, 0);
    for (index, count) in counts.iter().enumerate() {
        samples += *count as usize;
        numbers += *count as usize - 1;
        if samples >= TILE_SAMPLES || index + 1 == counts.len() {
            if numbers > 0 {
                tiles.push(numbers);
            }
            (samples, numbers) = (0, 0);
        }
    }
    tiles
}
