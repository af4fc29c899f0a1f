//! Which series and times came more than once, in six bytes a sample: of each its hash is noted. Whoever
//! reads an input whose times are in no order need not read it again then, if all of them differ; and if
//! some do not, he holds those alone.
//!
//! It is noted only where that is of use: an input whose first 65,536 samples are in order is taken for one that
//! is. Two series and times may have one hash; then they are looked at for nothing, and none is missed.

use crate::replaced::Taken;

/// Samples in order, after which nothing is noted any more.
const FIRST: usize = 64 << 10;
/// Samples that are noted at most, 32 MiB, less what comes before they are counted again.
const MOST: usize = (32 << 20) / size_of::<ShortHash>() - (64 << 10);

/// The hash of a series and time; of a sample as much as six bytes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortHash([u8; 6]);

impl ShortHash {
    /// Different for nearly all series and times: times lie closer together than the products of ids.
    pub(crate) fn of(one: &Taken) -> Self {
        let id = u64::from(one.id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let [a, b, c, d, e, f, ..] = one.time_ns.cast_unsigned().wrapping_add(id).to_le_bytes();
        ShortHash([a, b, c, d, e, f])
    }

    /// By this they are in order.
    pub(crate) fn rank(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }
}

/// Bits of the sieve, as a power of two: sixteen for each sample that is held at most.
const SIEVE_BITS: u32 = 20;
/// Fewer hashes are sorted sooner than the bits are cleared.
const FEW: usize = 4096;

/// In order, those that are there more than once: each of them once. As [`more_than_once`], but only those are
/// sorted that share a bit with an earlier one, and nearly all do not.
///
/// Sorting all that is held at once took 7 % of an import; the bits fit a cache of the processor.
pub(crate) fn sifted(hashes: &[ShortHash]) -> Vec<ShortHash> {
    if hashes.len() < FEW {
        return more_than_once(&mut hashes.to_vec());
    }
    let words = 1 << (SIEVE_BITS - u64::BITS.ilog2());
    let (mut set, mut again) = (vec![0; words], vec![0; words]);
    for hash in hashes {
        let (at, bit) = sieve_place(*hash);
        again[at] |= set[at] & bit;
        set[at] |= bit;
    }
    let is_again = |hash: &ShortHash| {
        let (at, bit) = sieve_place(*hash);
        again[at] & bit != 0
    };
    let mut left: Vec<ShortHash> = hashes.iter().copied().filter(is_again).collect();
    more_than_once(&mut left)
}

/// The word and its bit. Times are often multiples of a round number, so the high bits of a product decide.
fn sieve_place(hash: ShortHash) -> (usize, u64) {
    let bit = hash.rank().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SIEVE_BITS);
    (bit as usize / 64, 1 << (bit % 64))
}

/// In order, those that are there more than once: each of them once.
fn more_than_once(hashes: &mut [ShortHash]) -> Vec<ShortHash> {
    hashes.sort_unstable_by_key(|one| one.rank());
    let pairs = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
    let mut twice: Vec<ShortHash> = pairs.map(|pair| pair[0]).collect();
    twice.dedup();
    twice
}

/// Whether the sample is one of those, which are in order.
pub(crate) fn is_among(twice: &[ShortHash], one: &Taken) -> bool {
    twice.binary_search_by_key(&ShortHash::of(one).rank(), |hash| hash.rank()).is_ok()
}

/// See the module. The default notes nothing.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    hashes: Vec<ShortHash>,
    notes: Notes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Notes {
    #[default]
    No,
    /// As long as it is not known whether times go back.
    AtFirst,
    Yes,
}

impl Seen {
    /// One that notes, if times go back early.
    pub(crate) fn noting() -> Self {
        Seen { notes: Notes::AtFirst, ..Seen::default() }
    }

    /// Notes what was held at once, if it is of use; `goes_back`: times go back in it, or over what came before.
    pub(crate) fn note(&mut self, held: impl Iterator<Item = ShortHash>, goes_back: bool) {
        if self.notes == Notes::No {
            return;
        }
        self.hashes.extend(held);
        if goes_back {
            self.notes = Notes::Yes;
        }
        if self.hashes.len() > if self.notes == Notes::Yes { MOST } else { FIRST } {
            *self = Seen::default();
        }
    }

    /// The hashes that came more than once, in order; `None` if not all were noted.
    pub(crate) fn twice(mut self) -> Option<Vec<ShortHash>> {
        (self.notes == Notes::Yes).then(|| more_than_once(&mut self.hashes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(id: u32, time_ns: i64) -> ShortHash {
        ShortHash::of(&Taken { id, time_ns, ..Taken::default() })
    }

    /// All that were there more than once, and no others, whatever shares a bit.
    #[test]
    fn sifting_finds_what_sorting_finds() {
        for (count, apart_ns, ids) in
            [(0, 1, 1), (10, 1, 1), (65_536, 1_000_000, 20_000), (300_000, 1, 7)]
        {
            let mut random = 1_u64;
            let mut below = |limit: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % limit
            };
            let one = |_| hash(below(ids) as u32, below(100_000) as i64 * apart_ns);
            let hashes: Vec<ShortHash> = (0..count).map(one).collect();
            let found = sifted(&hashes);
            assert_eq!(found, more_than_once(&mut hashes.clone()), "{count}");
            assert_eq!(found.is_empty(), count < 65_536, "{count}");
        }
    }

    #[test]
    fn what_came_more_than_once_is_known_or_that_it_is_not() {
        let came = [(1, 5), (2, 5), (1, 6), (1, 5), (2, -5), (1, 5), (2, 5)];
        let came = came.map(|(id, time_ns)| hash(id, time_ns));
        let mut expected = vec![came[0], came[1]];
        expected.sort_unstable_by_key(|one| one.rank());
        let mut seen = Seen::noting();
        seen.note(came[..3].iter().copied(), true);
        seen.note(came[3..].iter().copied(), false);
        assert_eq!(seen.twice(), Some(expected.clone()));
        for (id, time_ns, is_one) in [(1, 5, true), (2, 5, true), (1, 6, false)] {
            let one = Taken { id, time_ns, ..Taken::default() };
            assert_eq!(is_among(&expected, &one), is_one, "{id} at {time_ns}");
        }

        let many = |count: usize| (0..count as i64).map(|time_ns| hash(7, time_ns));
        for (before, goes_back, count, is_known) in [
            (0, true, MOST, true),
            (0, true, MOST + 1, false),
            (0, false, FIRST, false),
            // What was noted until times went back is there still.
            (FIRST, true, 10, true),
            (FIRST + 1, true, 10, false),
        ] {
            let mut seen = Seen::noting();
            // Each file begins with what was held of the one before, which may be nothing.
            seen.note(many(0), false);
            seen.note((0..before as i64).map(|time_ns| hash(8, time_ns)), false);
            seen.note(many(count), goes_back);
            let noted = if is_known || before + count == FIRST { before + count } else { 0 };
            assert_eq!(seen.hashes.len(), noted, "{before} {goes_back} {count}");
            assert_eq!(seen.twice(), is_known.then(Vec::new), "{before} {goes_back} {count}");
        }
        assert_eq!(Seen::default().twice(), None);
    }
}
