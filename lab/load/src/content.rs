//! What is pushed: it follows from seed, producer and sequence alone, and from a series and a time
//! the record that a sample came in. So the judge needs no list, and sees each sample only once.
//!
//! Each producer has series of its own, declared in portions of 16 of fixed types. A record's time is
//! its sequence in milliseconds; the elements of a batch may be later by less than half of that, or
//! come late by some milliseconds, which their last six digits tell. No two samples of a series have
//! the same time.
//!
//! Invariant: [`Load::place`] finds the record of each sample that [`Load::element`] makes. Held by
//! `tests::every_sample_is_found_again`.

use crate::scenario::{RECORD_BYTES_MAX, Scenario};
use baro_ondisk::Type;

/// Series of a portion.
pub const PORTION: usize = 16;
const FLOATS: usize = 7;
const INTEGERS: usize = 6;
const BOOLEAN: usize = 13;
const TEXT: usize = 14;
const CHANNEL: usize = 15;

/// Time of sequence 0: a fixed day, so that a wrong clock of a guest changes nothing.
pub const BASE_NS: i64 = 1_700_000_000_000_000_000;
/// Between the times of two records of a producer.
pub const STEP_NS: i64 = 1_000_000;
/// A late sample belongs so many records back.
const LATE: i64 = 3;
const LATE_NS: i64 = STEP_NS / 2;
const ELEMENT_NS: i64 = 100;
/// Producer of the records that the judge pushes after a power cut.
pub const AFTER: usize = 2;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Larger than is taken: refused, whatever the ring holds.
    TooLarge,
    /// A frame of the channel of this portion.
    Frame {
        /// The portion.
        portion: usize,
        /// Its length.
        bytes: usize,
    },
    /// A batch of floats, from this one of all float series on.
    Floats(Batch),
    /// The same of integers.
    Integers(Batch),
    /// One truth value of the series of this portion.
    Boolean(usize),
    /// One text of the series of this portion.
    Text(usize),
}

/// Samples of consecutive series, each of them once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The first one.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Each has a time of its own.
    pub timed: bool,
    /// Series there are: behind the last one comes the first.
    pub of: usize,
}

/// One sample of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Number of the series among those of its producer.
    pub member: usize,
    /// Its time.
    pub time_ns: i64,
    /// Bits of its value.
    pub bits: u64,
}

/// What one producer pushes.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    scenario: &'static Scenario,
    key: u64,
    /// Which producer.
    pub slot: usize,
}

/// splitmix64.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A part of a hash as a number below `limit`.
fn below(mixed: u64, shift: u32, limit: usize) -> usize {
    ((mixed >> shift) & 0xffff) as usize % limit.max(1)
}

/// Time of a record.
#[must_use]
pub fn time_ns(sequence: u64) -> i64 {
    BASE_NS + sequence as i64 * STEP_NS
}

/// Type of a series by its number.
#[must_use]
pub fn kind(member: usize) -> Type {
    match member % PORTION {
        at if at < FLOATS => Type::F64,
        BOOLEAN => Type::Bool,
        TEXT => Type::Text,
        CHANNEL => Type::Channel,
        _ => Type::I64,
    }
}

/// Unit of a series by its number.
#[must_use]
pub fn unit(member: usize) -> &'static str {
    match kind(member) {
        Type::F64 => "degC",
        Type::I64 => "1/min",
        _ => "",
    }
}

/// Name of a series.
#[must_use]
pub fn name(slot: usize, member: usize) -> String {
    let (portion, at) = (member / PORTION, member % PORTION);
    match kind(member) {
        Type::Channel => format!("frames.p{slot}.k{portion}"),
        _ => format!("load{{at=\"{at:02}\",p=\"{slot}\",portion=\"{portion:02}\"}}"),
    }
}

/// Producer and number of the series of this name, if the load declares such a one.
#[must_use]
pub fn member(text: &str) -> Option<(usize, usize)> {
    let numbers: Vec<usize> = text
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok().filter(|number| *number < 1000))
        .collect();
    let found = match (text.starts_with("frames."), numbers.as_slice()) {
        (true, [slot, portion]) => (*slot, portion * PORTION + CHANNEL),
        (false, [at, slot, portion]) if *at < CHANNEL => (*slot, portion * PORTION + at),
        _ => return None,
    };
    (name(found.0, found.1) == text).then_some(found)
}

impl Load {
    /// Of a producer.
    #[must_use]
    pub fn new(scenario: &'static Scenario, seed: u64, slot: usize) -> Self {
        Load { scenario, key: mix(seed ^ mix(slot as u64 + 1)), slot }
    }

    /// What the frames of this producer begin with.
    #[must_use]
    pub fn frame_seed(&self) -> u64 {
        self.key
    }

    /// Portions that are declared before `sequence` is pushed.
    #[must_use]
    pub fn portions(&self, sequence: u64) -> usize {
        let most = if self.slot == AFTER { 1 } else { self.scenario.portions };
        let due = 1 + sequence / self.scenario.portion_every.max(1);
        usize::try_from(due).unwrap_or(most).min(most)
    }

    fn hash(&self, sequence: u64) -> u64 {
        mix(self.key ^ sequence.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// What is pushed as `sequence`.
    #[must_use]
    pub fn what(&self, sequence: u64) -> What {
        let mixed = self.hash(sequence);
        let portions = self.portions(sequence);
        if mixed % 311 == 7 && self.slot != AFTER {
            return What::TooLarge;
        }
        let portion = below(mixed, 8, portions);
        if (mixed >> 60) < self.scenario.frames_of_16 {
            // Mostly small, now and then several units, seldom as large as it may be.
            let bytes = match below(mixed, 24, 64) {
                0 => below(mixed, 40, RECORD_BYTES_MAX - 24),
                1..=4 => below(mixed, 40, 12_000),
                _ => below(mixed, 40, 900),
            };
            return What::Frame { portion, bytes: 24 + bytes };
        }
        let batch = |each: usize, timed| {
            let of = portions * each;
            let count = (1 + below(mixed, 24, self.scenario.batch)).min(of);
            Batch { first: below(mixed, 40, of), count, timed, of }
        };
        match below(mixed, 16, 16) {
            0..=4 => What::Floats(batch(FLOATS, false)),
            5..=8 => What::Floats(batch(FLOATS, true)),
            9..=11 => What::Integers(batch(INTEGERS, false)),
            12..=13 => What::Integers(batch(INTEGERS, true)),
            14 => What::Boolean(portion),
            _ => What::Text(portion),
        }
    }

    /// The samples of a record; a text's bits are those of its hash.
    pub fn elements(&self, sequence: u64, what: What) -> impl Iterator<Item = Element> + use<> {
        let load = *self;
        (0..what.samples()).map(move |at| load.element(sequence, what, at))
    }

    /// Sample number `at` of a record.
    #[must_use]
    pub fn element(&self, sequence: u64, what: What, at: usize) -> Element {
        let (member, timed) = match what {
            What::Floats(batch) => {
                let number = (batch.first + at) % batch.of.max(1);
                (number / FLOATS * PORTION + number % FLOATS, batch.timed)
            }
            What::Integers(batch) => {
                let number = (batch.first + at) % batch.of.max(1);
                (number / INTEGERS * PORTION + FLOATS + number % INTEGERS, batch.timed)
            }
            What::Boolean(portion) => (portion * PORTION + BOOLEAN, false),
            What::Text(portion) => (portion * PORTION + TEXT, false),
            What::Frame { .. } | What::TooLarge => (0, false),
        };
        let mixed = mix(self.hash(sequence) ^ member as u64);
        let mut time_ns = time_ns(sequence);
        if timed {
            time_ns += at as i64 * ELEMENT_NS;
            if mixed.is_multiple_of(4) {
                time_ns += LATE_NS - LATE * STEP_NS;
            }
        }
        let bits = match (kind(member), member % 3) {
            (Type::F64, 0) => {
                ((mixed >> 20) as f64 % 100_000.0).round().mul_add(0.01, 0.0).to_bits()
            }
            (Type::F64, 1) => (sequence as f64).mul_add(0.25, (mixed >> 60) as f64).to_bits(),
            (Type::I64, 0) => sequence * 10 + (mixed & 7),
            (Type::Bool, _) => mixed & 1,
            // Any bits, NaN with a payload among them.
            _ => mixed,
        };
        Element { member, time_ns, bits }
    }

    /// The record, and the number in it, of the sample that a series has at a time.
    #[must_use]
    pub fn place(&self, member: usize, time_ns: i64) -> Option<(u64, usize)> {
        let since_ns = time_ns.checked_sub(BASE_NS)?;
        let late = since_ns.rem_euclid(STEP_NS) >= LATE_NS;
        let sequence = since_ns.div_euclid(STEP_NS) + if late { LATE } else { 0 };
        let sequence = u64::try_from(sequence).ok()?;
        let what = self.what(sequence);
        let in_batch = |batch: Batch, first: usize, each: usize| {
            let number = (member / PORTION) * each + (member % PORTION).checked_sub(first)?;
            let at = (number + batch.of).checked_sub(batch.first)? % batch.of.max(1);
            (number < batch.of && at < batch.count).then_some(at)
        };
        let at = match (what, kind(member)) {
            (What::Floats(batch), Type::F64) => in_batch(batch, 0, FLOATS)?,
            (What::Integers(batch), Type::I64) => in_batch(batch, FLOATS, INTEGERS)?,
            (What::Boolean(_), Type::Bool) | (What::Text(_), Type::Text) => 0,
            _ => return None,
        };
        let element = self.element(sequence, what, at);
        (element.member == member && element.time_ns == time_ns).then_some((sequence, at))
    }

    /// A text of this hash.
    #[must_use]
    pub fn text(bits: u64) -> String {
        let mut text = format!("{bits:016x} ");
        let words = ["pressure", "drum", "pen", "gale", "Wetterküche", "hPa"];
        for at in 0..below(bits, 32, 24) {
            text.push_str(words.get(below(bits, at as u32, words.len())).unwrap_or(&""));
            text.push(' ');
        }
        text
    }
}

impl What {
    /// How many samples it has.
    #[must_use]
    pub fn samples(&self) -> usize {
        match self {
            What::TooLarge | What::Frame { .. } => 0,
            What::Floats(batch) | What::Integers(batch) => batch.count,
            What::Boolean(_) | What::Text(_) => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SCENARIOS;
    use std::collections::HashSet;

    #[test]
    fn every_name_is_found_again() {
        for (slot, at) in (0..3).flat_map(|slot| (0..60 * PORTION).map(move |at| (slot, at))) {
            assert_eq!(member(&name(slot, at)), Some((slot, at)));
        }
        for other in ["", "frames.p0.k1x", "frames.p0", "load{at=\"15\",p=\"0\",portion=\"00\"}"] {
            assert_eq!(member(other), None, "{other}");
        }
    }

    #[test]
    fn every_sample_is_found_again() {
        for scenario in SCENARIOS {
            for slot in 0..3 {
                let load = Load::new(scenario, 42, slot);
                let mut seen = HashSet::new();
                let mut kinds = [0; 6];
                for sequence in 0..5000 {
                    let what = load.what(sequence);
                    kinds[match what {
                        What::TooLarge => 0,
                        What::Frame { .. } => 1,
                        What::Floats(_) => 2,
                        What::Integers(_) => 3,
                        What::Boolean(_) => 4,
                        What::Text(_) => 5,
                    }] += 1;
                    for (at, element) in load.elements(sequence, what).enumerate() {
                        assert!(element.member / PORTION < load.portions(sequence));
                        let found = load.place(element.member, element.time_ns);
                        assert_eq!(found, Some((sequence, at)), "{element:?}");
                        assert!(seen.insert((element.member, element.time_ns)), "{element:?}");
                        assert_eq!(load.place(element.member, element.time_ns + 1), None);
                    }
                }
                assert!(kinds.iter().skip(1).all(|count| *count > 0), "{kinds:?}");
            }
        }
    }
}
