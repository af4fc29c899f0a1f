//! Reading an input once more, to count what replaced each other further apart than it was held.
//!
//! Where times of a series go back over what was pushed before, nobody has the earlier samples any more. So
//! whoever can read his input again does, with a [`Recount`]: it holds the samples of those series alone, up to
//! [`HELD_MAX`] at once. Where they are more it holds a part of them, chosen by series and time, and the input
//! is read again for each further part.
//!
//! Invariant: what is counted is what one look at all samples would count. Held by
//! `what_replaces_each_other_far_apart_is_counted_by_reading_again` (`tests/names.rs`).

use crate::ledger::Place;
use crate::replaced::{Replaced, Taken, from_place, place};
use std::collections::{BTreeSet, VecDeque};

/// Samples held at once, of 32 bytes each.
const HELD_MAX: usize = 1 << 20;
/// How often an input is read again at most.
const READINGS_MAX: u32 = 64;

/// Samples whose times go back over what was pushed before: whether they replace any of it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// How many.
    pub samples: u64,
    /// The first of them.
    pub first: Option<Place>,
    /// Ids of their series.
    pub series: BTreeSet<u32>,
}

/// The samples of some series, as an input that is read again hands them in: counts those that others
/// replaced. Holds 32 bytes for each, up to 32 MiB; more are put off to a further reading.
#[derive(Debug, Default)]
pub struct Recount {
    series: BTreeSet<u32>,
    held_max: usize,
    /// Which part of how many is held now.
    part: (u64, u64),
    /// Those that were put off.
    parts: VecDeque<(u64, u64)>,
    held: Vec<Taken>,
    readings: u32,
    /// Of the other series, which the first reading counts.
    others: Replaced,
    count: u64,
    first: u64,
}

impl Recount {
    /// Of these series. What replaces each other in others is counted too.
    #[must_use]
    pub fn new(unseen: &Unseen) -> Self {
        Recount {
            series: unseen.series.clone(),
            held_max: HELD_MAX,
            parts: [(0, 1)].into(),
            ..Recount::default()
        }
    }

    /// The same, that holds fewer at once.
    #[must_use]
    pub fn holding(self, held_max: usize) -> Self {
        Recount { held_max: held_max.max(1), ..self }
    }

    /// Whether the input is to be read again, or once more. False also where that would be too often: see
    /// [`Recount::result`].
    pub fn begin(&mut self) -> bool {
        self.readings += 1;
        if self.readings > READINGS_MAX {
            return false;
        }
        let Some(part) = self.parts.pop_front() else { return false };
        self.part = part;
        true
    }

    /// How many replaced each other, and where the first one was that does not count; `None` if not all was
    /// read.
    #[must_use]
    pub fn result(&self) -> Option<(u64, Option<Place>)> {
        let firsts = [self.first, self.others.first_place()];
        let first = firsts.into_iter().filter(|place| *place > 0).min();
        let all = self.parts.is_empty();
        all.then(|| (self.count + self.others.count, first.map(from_place)))
    }

    pub(crate) fn take(&mut self, input: u32, held: impl Iterator<Item = Taken> + Clone) {
        if self.readings == 1 {
            let series = &self.series;
            self.others.take(input, held.clone().filter(|one| !series.contains(&one.id)));
        }
        for one in held {
            if !self.series.contains(&one.id) || !is_of(&one, self.part) {
                continue;
            }
            self.held.push(Taken { line: place(input, one.line), ..one });
            while self.held.len() > self.held_max && self.part.1 < 1 << 40 {
                let (part, parts) = self.part;
                self.parts.push_back((part + parts, 2 * parts));
                self.part = (part, 2 * parts);
                let kept = self.part;
                self.held.retain(|one| is_of(one, kept));
            }
        }
    }

    /// All of the input was read.
    pub(crate) fn end(&mut self) {
        // Stable: those of one series and time stay in the order in which they came.
        self.held.sort_by_key(|one| (one.id, one.time_ns));
        let pairs = self.held.iter().zip(self.held.iter().skip(1));
        for (before, one) in pairs {
            if (before.id, before.time_ns) == (one.id, one.time_ns) && before.bits != one.bits {
                self.count += 1;
                self.first =
                    if self.first == 0 { before.line } else { self.first.min(before.line) };
            }
        }
        self.held = Vec::new();
    }
}

/// Whether a sample is of this part of so many, a power of two.
fn is_of(one: &Taken, (part, parts): (u64, u64)) -> bool {
    let mixed = (one.time_ns.cast_unsigned() ^ u64::from(one.id) << 32)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .swap_bytes()
        .wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed >> 24 & (parts - 1) == part
}
