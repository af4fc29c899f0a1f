//! The series that came last, in the order in which they came: inputs repeat one series for long, or have
//! the same ones in the same order again and again. Such a name is compared and not hashed, which is less
//! work (counts: `results/2026-11-28-amd-epyc-2cpu/import-counts.tsv`).
//!
//! Invariant: what is found here is what the tables of names say. Held by
//! `what_came_lately_is_what_is_known`.

use crate::names::Series;
use baro_ondisk::Type;
use baro_sources::Joint;
use std::ops::Range;

/// So many are remembered, and so many bytes of their names.
const SERIES_MAX: usize = 4096;
const NAMES_BYTES_MAX: usize = 256 << 10;

#[derive(Debug)]
struct Seen {
    /// Where its name lies among those of all.
    name: Range<u32>,
    joint: Option<Joint>,
    series: Series,
    kind: Type,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lately {
    seen: Vec<Seen>,
    names: Vec<u8>,
    /// Which came last.
    last: usize,
    /// It was another one than the one before.
    goes_on: bool,
    /// How many were not found since there is no room.
    missed: usize,
}

impl Lately {
    /// The series that is written so, if it is the last one again, or the one that came behind that before.
    #[inline]
    pub(crate) fn get(&mut self, name: &str, joint: Option<Joint>) -> Option<(Series, Type)> {
        let (last, next) = (self.last, self.next());
        // What it was before it is likely to be again.
        let order = if self.goes_on { [next, last] } else { [last, next] };
        for at in order {
            let Some(seen) = self.seen.get(at) else { continue };
            let written = self.names.get(seen.name.start as usize..seen.name.end as usize);
            if written == Some(name.as_bytes()) && seen.joint == joint {
                (self.last, self.goes_on) = (at, at != last);
                return Some((seen.series, seen.kind));
            }
        }
        None
    }

    fn next(&self) -> usize {
        if self.last + 1 < self.seen.len() { self.last + 1 } else { 0 }
    }

    /// Those that are to be declared have no place any more, or another.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
        self.names.clear();
        (self.last, self.missed) = (0, 0);
    }

    /// This one came, and was not found here.
    pub(crate) fn put(&mut self, name: &str, joint: Option<Joint>, series: Series, kind: Type) {
        let start = self.names.len();
        if self.seen.len() < SERIES_MAX && start + name.len() <= NAMES_BYTES_MAX {
            self.last = self.seen.len();
            self.names.extend_from_slice(name.as_bytes());
            let name = start as u32..self.names.len() as u32;
            self.seen.push(Seen { name, joint, series, kind });
            return;
        }
        // They come in another order by now: it is learnt anew.
        self.missed += 1;
        if self.missed > SERIES_MAX {
            self.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_lately_is_what_is_known() {
        let mut lately = Lately::default();
        let (mut random, mut found) = (1_u64, 0);
        for round in 0..200_000_usize {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // By turns the same ones in order, and any: these soon fill all places, in no order.
            let at = match round / 20_000 % 2 {
                0 => round % 50,
                _ => (random >> 33) as usize % 100,
            };
            let joint = (at % 3 == 0).then_some(Joint { first_bytes: at as u32, repeated: false });
            // Of two without a joint the names are one.
            let at = if joint.is_some() { at } else { at / 2 * 2 };
            let (name, series) = (format!("s{}", at / 2), Series::Declared(at as u32));
            match lately.get(&name, joint) {
                Some(seen) => {
                    assert_eq!(seen, (series, Type::F64));
                    found += 1;
                }
                None => lately.put(&name, joint, series, Type::F64),
            }
        }
        assert!(found > 60_000, "{found}");
        let long = "n".repeat(NAMES_BYTES_MAX + 1);
        lately.put(&long, None, Series::New(1), Type::F64);
        assert_eq!(lately.get(&long, None), None);
        lately.forget();
        assert_eq!(lately.get("s1", None), None);
    }
}
