//! Samples of one series and one time with different values, in one run: the last of them counts, so the
//! others are not read back. That is how a value is corrected; it is also what becomes of a table whose
//! columns were misread, and of times that are rounded to seconds. So it is counted and told.
//!
//! Found are samples that follow each other in their series, however far apart they come, and where times
//! go back also those that are held at once ([`HELD_MAX`](crate::intake)). To know of more would take memory
//! for every sample of the input. So what goes back further, over what came before, is noted as
//! [`Unseen`]: whoever can reads it again ([`Recount`](crate::Recount)). He need not where hashes have told
//! that nothing came twice ([`seen`](crate::seen)).
//!
//! Invariant: nothing is counted that can be read back, the same sample sent twice above all. Held by
//! `values_of_one_time_that_replace_each_other_are_counted` (`tests/names.rs`).

use crate::ledger::Place;
use crate::recount::Unseen;
use crate::seen::{Seen, ShortHash, is_among, sifted};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Series of one page of the table: ids are dense, but an input may have a few of a store of millions.
const PAGE: usize = 256;
/// Bits of a place that are the line's.
const LINE_BITS: u32 = 48;

/// A sample that was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) id: u32,
    pub(crate) time_ns: i64,
    /// Those of a number, or a hash of a text.
    pub(crate) bits: u64,
    pub(crate) line: u64,
}

/// The latest sample of a series; none if it has no place.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    time_ns: i64,
    bits: u64,
    place: u64,
    /// The earliest of all.
    min_ns: i64,
    /// The latest of those that were held at once before, and which those are that are now; 0: there was none.
    before_ns: i64,
    turn: u32,
    /// Its series is among those of [`Unseen`].
    is_unseen: bool,
}

impl Latest {
    fn of(one: &Taken, place: u64, turn: u32) -> Self {
        let Taken { time_ns, bits, .. } = *one;
        Latest {
            time_ns,
            bits,
            place,
            min_ns: time_ns,
            before_ns: i64::MIN,
            turn,
            is_unseen: false,
        }
    }

    /// Whether this may be the time of one that is not held any more, and is not the latest.
    fn may_have_had(&self, time_ns: i64) -> bool {
        (self.min_ns..=self.before_ns).contains(&time_ns)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    pages: Vec<Option<Box<[Latest; PAGE]>>>,
    /// Which samples were replaced, of those held at once, by their place among them; and where they were.
    found: BTreeMap<usize, u64>,
    pub(crate) count: u64,
    unseen: Unseen,
    seen: Seen,
    first: u64,
    /// Rises with what is held at once.
    turn: u32,
}

impl Replaced {
    /// One that notes what it may to find, in an input that is in no order, what came twice.
    pub(crate) fn noting() -> Self {
        Replaced { seen: Seen::noting(), ..Replaced::default() }
    }

    /// Those of which is not known whether they replaced others, at the end of the input.
    pub(crate) fn unseen(self) -> Unseen {
        if self.unseen.samples == 0 {
            return Unseen::default();
        }
        match self.seen.twice() {
            Some(twice) if twice.is_empty() => Unseen::default(),
            twice => Unseen { twice, ..self.unseen },
        }
    }

    /// Takes all that was held at once, in its order.
    pub(crate) fn take(&mut self, input: u32, held: impl Iterator<Item = Taken> + Clone) {
        let mut goes_back = false;
        self.turn = self.turn.wrapping_add(1).max(1);
        let turn = self.turn;
        for (at, one) in held.clone().enumerate() {
            let place = place(input, one.line);
            let latest = self.latest(one.id);
            if latest.place == 0 {
                *latest = Latest::of(&one, place, turn);
                continue;
            }
            if latest.turn != turn {
                (latest.before_ns, latest.turn) = (latest.time_ns, turn);
            }
            if one.time_ns < latest.time_ns {
                goes_back = true;
                let unseen = latest.may_have_had(one.time_ns);
                latest.min_ns = latest.min_ns.min(one.time_ns);
                if unseen {
                    let is_known = std::mem::replace(&mut latest.is_unseen, true);
                    self.unseen.samples += 1;
                    if !is_known {
                        self.unseen.series.insert(one.id);
                    }
                    self.unseen.first = self.unseen.first.or(Some(from_place(place)));
                }
                continue;
            }
            let same = one.time_ns == latest.time_ns && one.bits != latest.bits;
            let before = std::mem::replace(&mut latest.place, place);
            (latest.time_ns, latest.bits) = (one.time_ns, one.bits);
            if same {
                self.found.insert(at, before);
            }
        }
        if goes_back {
            let hashes: Vec<ShortHash> = held.clone().map(|one| ShortHash::of(&one)).collect();
            self.find(input, held, &hashes);
            self.seen.note(hashes.iter().copied(), goes_back);
        } else {
            self.seen.note(held.map(|one| ShortHash::of(&one)), goes_back);
        }
        self.count += self.found.len() as u64;
        let first = self.found.values().copied().chain((self.first > 0).then_some(self.first));
        self.first = first.min().unwrap_or(0);
        self.found.clear();
    }

    /// Finds those that were replaced among what is held at once, in whatever order it came.
    fn find(&mut self, input: u32, held: impl Iterator<Item = Taken>, hashes: &[ShortHash]) {
        let twice = sifted(hashes);
        if twice.is_empty() {
            return;
        }
        let mut all: Vec<(usize, Taken)> =
            held.enumerate().filter(|(_, one)| is_among(&twice, one)).collect();
        all.sort_unstable_by_key(|(at, one)| (one.id, one.time_ns, *at));
        for pair in all.windows(2) {
            let [(_, before), (at, one)] = pair else { continue };
            let same = (before.id, before.time_ns) == (one.id, one.time_ns);
            if same && before.bits != one.bits {
                self.found.insert(*at, place(input, before.line));
            }
        }
    }

    fn latest(&mut self, id: u32) -> &mut Latest {
        let (page, at) = (id as usize / PAGE, id as usize % PAGE);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new([Latest::default(); PAGE]));
        &mut page[at]
    }

    /// Whether a sample of this series was taken.
    pub(crate) fn has(&self, id: u32) -> bool {
        let page = self.pages.get(id as usize / PAGE).and_then(Option::as_ref);
        page.is_some_and(|page| page[id as usize % PAGE].place > 0)
    }

    /// Where the first of them was.
    pub(crate) fn first(&self) -> Option<Place> {
        (self.first > 0).then_some(from_place(self.first))
    }

    /// The same as [`place`] makes it; 0: there is none.
    pub(crate) fn first_place(&self) -> u64 {
        self.first
    }
}

/// Input and line in a number that rises with both; never 0.
pub(crate) fn place(input: u32, line: u64) -> u64 {
    u64::from(input.min(0xffff)) << LINE_BITS | line.clamp(1, (1 << LINE_BITS) - 1)
}

pub(crate) fn from_place(place: u64) -> Place {
    Place { input: (place >> LINE_BITS) as u32, line: place & ((1 << LINE_BITS) - 1) }
}

/// What a text is compared by.
pub(crate) fn text_bits(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
