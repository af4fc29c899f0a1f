//! Which samples are kept: what was pushed, by record, until it is known to be durable; and what came
//! from which line, so that the first one that is not in the store can be named.
//!
//! A record is one sequence of its ring, and a ring makes records durable in their order. So one number,
//! the ring's durable sequence, divides what is kept from what is not, to the sample.
//!
//! Invariant: each sample that was taken is kept or counted as not kept. Held by this file's tests and by
//! `a_full_log_ends_an_import_with_what_is_kept_and_what_is_not` of the command line.

use std::collections::VecDeque;

/// Where a sample came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of its input, from 0: see [`Intake::begin`](crate::Intake::begin).
    pub input: u32,
    /// Line of that input, or row, from 1.
    pub line: u64,
}

/// Samples that are not in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unkept {
    /// How many; of texts and of samples alike.
    pub samples: u64,
    /// Records in which they were or would have been, as far as they were made.
    pub records: u64,
    /// Where the first of them came from.
    pub first: Option<Place>,
}

impl Unkept {
    /// So many more, of which the first is of `place`.
    pub(crate) fn add(&mut self, samples: u64, records: u64, place: Place) {
        if samples > 0 {
            self.samples += samples;
            self.records += records;
            self.first = Some(self.first.map_or(place, |first| first.min(place)));
        }
    }
}

/// A record, or several in a row.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its sequence, and the one behind it.
    first: u64,
    end: u64,
    samples: u64,
    place: Place,
}

/// Durable records are remembered together up to so many samples.
const TOGETHER_SAMPLES: u64 = 8192;

/// What of an intake is kept, by record, and from which line the first sample is that is not.
#[derive(Debug)]
pub struct Ledger {
    /// Not durable when last looked at.
    waiting: VecDeque<Part>,
    durable: Vec<Part>,
    /// Never reached the ring.
    unpushed: Unkept,
    input: u32,
}

impl Default for Ledger {
    fn default() -> Self {
        let (waiting, durable, unpushed) = (VecDeque::new(), Vec::new(), Unkept::default());
        Ledger { waiting, durable, unpushed, input: 0 }
    }
}

impl Ledger {
    /// Another input begins.
    pub(crate) fn begin(&mut self, input: u32) {
        self.input = input;
    }

    /// A record of `samples`, the first of which is of this line, is in the ring.
    pub(crate) fn pushed(&mut self, sequence: u64, samples: u64, line: u64) {
        let place = Place { input: self.input, line };
        self.waiting.push_back(Part { first: sequence, end: sequence + 1, samples, place });
    }

    /// So many samples, the first of this line, will not be pushed.
    pub(crate) fn given_up(&mut self, samples: u64, line: u64) {
        self.unpushed.add(samples, 0, Place { input: self.input, line });
    }

    /// All records below `sequence` are durable.
    pub fn durable_below(&mut self, sequence: u64) {
        while let Some(part) = self.waiting.front().copied().filter(|part| part.end <= sequence) {
            self.waiting.pop_front();
            match self.durable.last_mut() {
                Some(last)
                    if last.samples + part.samples <= TOGETHER_SAMPLES
                        && last.end == part.first
                        && last.place.input == part.place.input =>
                {
                    last.end = part.end;
                    last.samples += part.samples;
                    last.place = last.place.min(part.place);
                }
                _ => self.durable.push(part),
            }
        }
    }

    /// Samples that are not durable, or never reached the ring.
    #[must_use]
    pub fn unkept(&self) -> Unkept {
        let mut unkept = self.unpushed;
        self.waiting.iter().for_each(|part| unkept.add(part.samples, 1, part.place));
        unkept
    }

    /// Samples that never reached the ring.
    #[must_use]
    pub fn unpushed(&self) -> u64 {
        self.unpushed.samples
    }

    /// Of those that were durable: what is gone if of this ring's records the first in the store is
    /// `sequence`. Where records of different sizes were remembered together it may be up to 8,192
    /// samples more than it was.
    #[must_use]
    pub fn gone_below(&self, sequence: u64) -> Unkept {
        let mut gone = Unkept::default();
        for part in self.durable.iter().take_while(|part| part.first < sequence) {
            let records = part.end.min(sequence) - part.first;
            let alike = part.samples == part.end - part.first;
            gone.add(if alike { records } else { part.samples }, records, part.place);
        }
        gone
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_durable_is_counted_to_the_sample_with_its_first_line() {
        let mut ledger = Ledger::default();
        ledger.pushed(10, 8192, 1);
        ledger.pushed(11, 8192, 8193);
        // A text of an earlier line may follow.
        ledger.pushed(12, 1, 8190);
        let first = |unkept: Unkept| unkept.first.map(|place| (place.input, place.line));
        assert_eq!((ledger.unkept().samples, ledger.unkept().records), (16_385, 3));
        ledger.durable_below(11);
        assert_eq!((ledger.unkept().samples, first(ledger.unkept())), (8193, Some((0, 8190))));
        ledger.begin(1);
        ledger.given_up(5, 3);
        ledger.durable_below(13);
        assert_eq!((ledger.unkept().samples, first(ledger.unkept())), (5, Some((1, 3))));
        assert_eq!(ledger.gone_below(10), Unkept::default());
        let gone = ledger.gone_below(12);
        assert_eq!((gone.samples, gone.records, first(gone)), (16_384, 2, Some((0, 1))));
    }

    #[test]
    fn small_records_are_remembered_together_and_counted_one_by_one() {
        let mut ledger = Ledger::default();
        for sequence in 0..100_000 {
            ledger.pushed(sequence, 1, sequence + 1);
            ledger.durable_below(sequence);
        }
        ledger.durable_below(100_000);
        assert!(ledger.durable.len() < 20, "{}", ledger.durable.len());
        assert_eq!(ledger.unkept(), Unkept::default());
        assert_eq!(ledger.gone_below(12_345).samples, 12_345);
    }
}
