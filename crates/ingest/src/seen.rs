//! Which series and times came more than once, in eight bytes a sample: of each its hash is noted. Whoever
//! reads an input whose times are in no order need not read it again then, if all of them differ; and if
//! some do not, he holds those alone.
//!
//! It is noted only as long as that may be of use: an input whose first quarter million samples are in
//! order is taken for one that is. Two series and times may have one hash; then they are looked at for
//! nothing, and none is missed.

use crate::replaced::Taken;

/// Samples in order, after which nothing is noted any more: 2 MiB.
const FIRST: usize = 256 << 10;
/// Samples that are noted at most, 32 MiB, less what comes before they are counted again.
const MOST: usize = (4 << 20) - (64 << 10);

/// See the module. The default notes nothing.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    hashes: Vec<u64>,
    notes: bool,
}

impl Seen {
    /// One that notes.
    pub(crate) fn noting() -> Self {
        Seen { notes: true, ..Seen::default() }
    }

    pub(crate) fn note(&mut self, one: &Taken) {
        if self.notes {
            self.hashes.push(hash(one));
        }
    }

    /// Gives up where it is of no use; `is_unordered`: times have gone back over what was pushed before.
    pub(crate) fn look(&mut self, is_unordered: bool) {
        if self.hashes.len() > if is_unordered { MOST } else { FIRST } {
            *self = Seen::default();
        }
    }

    /// The hashes that came more than once, by size; `None` if not all were noted.
    pub(crate) fn twice(self) -> Option<Vec<u64>> {
        if !self.notes {
            return None;
        }
        let mut hashes = self.hashes;
        hashes.sort_unstable();
        let pairs = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
        let mut twice: Vec<u64> = pairs.map(|pair| pair[0]).collect();
        twice.dedup();
        Some(twice)
    }
}

/// Different for nearly all series and times: times lie closer together than the products of ids.
pub(crate) fn hash(one: &Taken) -> u64 {
    let id = u64::from(one.id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    one.time_ns.cast_unsigned().wrapping_add(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(id: u32, time_ns: i64) -> Taken {
        Taken { id, time_ns, ..Taken::default() }
    }

    #[test]
    fn what_came_more_than_once_is_known_or_that_it_is_not() {
        let mut seen = Seen::noting();
        for (id, time_ns) in [(1, 5), (2, 5), (1, 6), (1, 5), (2, -5), (1, 5), (2, 5)] {
            seen.note(&taken(id, time_ns));
        }
        seen.look(false);
        let mut expected = vec![hash(&taken(1, 5)), hash(&taken(2, 5))];
        expected.sort_unstable();
        assert_eq!(seen.twice(), Some(expected));

        for (is_unordered, most) in [(false, FIRST), (true, MOST)] {
            let mut seen = Seen::noting();
            for time_ns in 0..=most as i64 {
                seen.look(is_unordered);
                seen.note(&taken(7, time_ns));
            }
            seen.look(!is_unordered);
            assert_eq!(seen.hashes.len(), if is_unordered { 0 } else { most + 1 });
            seen.look(is_unordered);
            assert_eq!(seen.twice(), None);
        }
        assert_eq!(Seen::default().twice(), None);
    }
}
