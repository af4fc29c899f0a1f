//! Reading an input once more, to count what replaced each other further apart than it was held.
//!
//! Where times of a series go back over what was pushed before, nobody has the earlier samples any more. So
//! whoever can read his input again does, with a [`Recount`]: it holds the samples of those series alone, up to
//! [`HELD_MAX`] at once. Where they are more it holds a part of them, chosen by series and time, and the input
//! is read again for each further part. Where it is known what came twice, it holds nothing else.
//!
//! Invariant: what is counted is what one look at all samples would count. Held by
//! `what_replaces_each_other_far_apart_is_counted_by_reading_again` (`tests/names.rs`).

use crate::ledger::Place;
use crate::replaced::{Replaced, Taken, from_place, place};
use crate::seen::{ShortHash, is_among};
use std::collections::{BTreeSet, VecDeque};

/// Samples held at once: 32 MiB.
const HELD_MAX: usize = (32 << 20) / size_of::<Held>();
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
    /// The hashes of what came more than once, if that is known.
    pub(crate) twice: Option<Vec<ShortHash>>,
}

/// The last sample of a series and time, and how many of these it replaced, the first of them from `first`.
#[derive(Clone, Copy, Debug)]
struct Held {
    id: u32,
    time_ns: i64,
    bits: u64,
    place: u64,
    count: u64,
    first: u64,
}

/// The samples of some series, as an input that is read again hands them in: counts those that others
/// replaced. Holds one for each series and time, up to 32 MiB; more are put off to a further reading.
#[derive(Debug, Default)]
pub struct Recount {
    series: BTreeSet<u32>,
    /// Of these no other sample can have replaced another.
    twice: Option<Vec<ShortHash>>,
    held_max: usize,
    /// Which part of how many is held now.
    part: (u64, u64),
    /// Those that were put off.
    parts: VecDeque<(u64, u64)>,
    held: Vec<Held>,
    /// How many of them there are before room is made.
    limit: usize,
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
            twice: unseen.twice.clone(),
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
            if self.twice.as_ref().is_some_and(|twice| !is_among(twice, &one)) {
                continue;
            }
            let Taken { id, time_ns, bits, line } = one;
            let held = Held { id, time_ns, bits, place: place(input, line), count: 0, first: 0 };
            if !self.series.contains(&id) || !held.is_of(self.part) {
                continue;
            }
            self.held.push(held);
            if self.held.len() > self.limit.max(self.held_max) {
                self.make_room();
            }
        }
    }

    /// Keeps the last of each series and time, and if these are many still, puts half of them off.
    fn make_room(&mut self) {
        self.join();
        while self.held.len() > self.held_max / 2 && self.part.1 < u64::from(READINGS_MAX) {
            let (part, parts) = self.part;
            self.parts.push_back((part + parts, 2 * parts));
            self.part = (part, 2 * parts);
            let kept = self.part;
            self.held.retain(|one| one.is_of(kept));
        }
        // Where no more parts are made, it is not looked at each sample.
        self.limit = 2 * self.held.len();
    }

    /// Those of one series and time become one.
    fn join(&mut self) {
        // Stable: they stay in the order in which they came.
        self.held.sort_by_key(|one| (one.id, one.time_ns));
        self.held.dedup_by(|one, before| {
            let same = (before.id, before.time_ns) == (one.id, one.time_ns);
            if same {
                let replaced = before.bits != one.bits;
                let place = if replaced { before.place } else { 0 };
                let count = before.count + one.count + u64::from(replaced);
                let firsts =
                    [before.first, one.first, place].into_iter().filter(|first| *first > 0);
                *before = Held { count, first: firsts.min().unwrap_or(0), ..*one };
            }
            same
        });
    }

    /// All of the input was read.
    pub(crate) fn end(&mut self) {
        self.join();
        for one in std::mem::take(&mut self.held) {
            self.count += one.count;
            let firsts = [self.first, one.first].into_iter().filter(|first| *first > 0);
            self.first = firsts.min().unwrap_or(0);
        }
        self.limit = 0;
    }
}

impl Held {
    /// Whether it is of this part of so many, a power of two.
    fn is_of(&self, (part, parts): (u64, u64)) -> bool {
        let mixed = (self.time_ns.cast_unsigned() ^ u64::from(self.id) << 32)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .swap_bytes()
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed >> 24 & (parts - 1) == part
    }
}
