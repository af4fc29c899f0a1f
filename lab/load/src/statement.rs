//! A statement: what the load knows to be promised at one moment, as one block of 4 KiB.
//!
//! It is written beside the store, never synced, one at a time. A log of all the disk's writes holds
//! completed ones in order, so a statement in the log before a cut proves that what it says had been
//! promised before that cut. That is why it says only what may not become untrue later, and why a
//! pin is taken out of it before it is released.
//!
//! Invariant: what is encoded decodes to the same, and a block with any byte changed is none. Held by
//! `tests::statements_read_back_and_any_change_is_refused`.

use baro_ondisk::crc32c;

/// Bytes of a statement: what a disk writes at once, or not at all.
pub const STATEMENT_BYTES: usize = 4096;
/// Most ranges of refused records of a producer.
pub const REFUSED_MAX: usize = 64;
/// Most portions of declarations of a producer.
pub const PORTIONS_MAX: usize = 60;
/// Most pins that stand at once.
pub const PINS_MAX: usize = 12;
/// Released pins that are told, the newest.
pub const RELEASED_MAX: usize = 24;
/// Producers: two of the load, and one of the judge's that follows it.
pub const SLOTS_MAX: usize = 3;

const MAGIC: &[u8; 8] = b"BAROACK1";
const CRC_AT: usize = 8;
const BODY_AT: usize = 12;

/// Consecutive sequences: the first, and the one behind the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First sequence.
    pub from: u64,
    /// First sequence behind it.
    pub to: u64,
}

impl Span {
    /// Whether it holds `sequence`.
    #[must_use]
    pub fn holds(&self, sequence: u64) -> bool {
        (self.from..self.to).contains(&sequence)
    }
}

/// What was promised to one producer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Random id of the producer.
    pub producer: u64,
    /// Every sequence below is durable, or a logged gap.
    pub durable: u64,
    /// Of every sequence below, `refused` is complete.
    pub known: u64,
    /// Sequences that were refused, rising.
    pub refused: Vec<Span>,
    /// First id of each portion of declarations that returned; the others follow it.
    pub portions: Vec<u32>,
}

impl Slot {
    /// Whether a sequence below `known` was refused.
    #[must_use]
    pub fn was_refused(&self, sequence: u64) -> bool {
        let at = self.refused.partition_point(|span| span.to <= sequence);
        self.refused.get(at).is_some_and(|span| span.holds(sequence))
    }

    /// Notes that a sequence was refused.
    pub fn refuse(&mut self, sequence: u64) {
        match self.refused.last_mut().filter(|span| span.to == sequence) {
            Some(span) => span.to += 1,
            None => self.refused.push(Span { from: sequence, to: sequence + 1 }),
        }
    }
}

/// A pin that was granted, and which records it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PinSaid {
    /// Its id.
    pub id: u64,
    /// Number in its name.
    pub number: u32,
    /// Sequences of each of the load's producers that were pushed within its window.
    pub windows: [Span; 2],
}

/// What the load knows to be promised at one moment, as one block of 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    number: u64,
    /// Which bytes the load pushes.
    pub seed: u64,
    /// CRC32C of the scenario's name.
    pub scenario: u32,
    /// Of each producer.
    pub slots: Vec<Slot>,
    /// Pins that stand.
    pub pins: Vec<PinSaid>,
    /// Ids of pins whose release returned, the oldest first.
    pub released: Vec<u64>,
}

/// Number of a scenario in statements.
#[must_use]
pub fn scenario_number(name: &str) -> u32 {
    crc32c(0, name.as_bytes())
}

impl Statement {
    /// The first one: a store was made.
    #[must_use]
    pub fn new(scenario: &str, seed: u64) -> Self {
        Statement { seed, scenario: scenario_number(scenario), ..Statement::default() }
    }

    /// Its number, rising by one from statement to statement; the first has 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next one will have the number after this one's.
    pub fn count(&mut self) {
        self.number += 1;
    }

    /// Its bytes. What is beyond the most that it can say is left out, so that it says less.
    #[must_use]
    pub fn encode(&self) -> [u8; STATEMENT_BYTES] {
        let mut out = Vec::with_capacity(STATEMENT_BYTES);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[0; 4]);
        put(&mut out, u64::from(self.scenario));
        put(&mut out, self.number);
        put(&mut out, self.seed);
        let slots = self.slots.get(..SLOTS_MAX).unwrap_or(&self.slots);
        put(&mut out, slots.len() as u64);
        for slot in slots {
            // Of what lies behind the last range that is told nothing is known.
            let cut = slot.refused.get(REFUSED_MAX).map_or(u64::MAX, |span| span.from);
            let refused = slot.refused.get(..REFUSED_MAX).unwrap_or(&slot.refused);
            let portions = slot.portions.get(..PORTIONS_MAX).unwrap_or(&slot.portions);
            put(&mut out, slot.producer);
            put(&mut out, slot.durable.min(cut));
            put(&mut out, slot.known.min(cut));
            put(&mut out, refused.len() as u64);
            refused.iter().for_each(|span| put_span(&mut out, *span));
            put(&mut out, portions.len() as u64);
            portions.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
        }
        let pins = self.pins.get(..PINS_MAX).unwrap_or(&self.pins);
        put(&mut out, pins.len() as u64);
        for pin in pins {
            put(&mut out, pin.id);
            put(&mut out, u64::from(pin.number));
            pin.windows.iter().for_each(|span| put_span(&mut out, *span));
        }
        let skipped = self.released.len().saturating_sub(RELEASED_MAX);
        put(&mut out, (self.released.len() - skipped) as u64);
        self.released.iter().skip(skipped).for_each(|id| put(&mut out, *id));
        let mut block = [0; STATEMENT_BYTES];
        block.iter_mut().zip(out).for_each(|(place, byte)| *place = byte);
        let crc = crc32c(0, block.get(BODY_AT..).unwrap_or(&[]));
        block.iter_mut().skip(CRC_AT).zip(crc.to_le_bytes()).for_each(|(place, b)| *place = b);
        block
    }

    /// Reads a statement from the first 4 KiB of `bytes`; `None` if there is none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let block = bytes.get(..STATEMENT_BYTES)?;
        let (head, body) = block.split_at_checked(BODY_AT)?;
        if !head.starts_with(MAGIC) || head.get(CRC_AT..)? != crc32c(0, body).to_le_bytes() {
            return None;
        }
        let mut from = Reader(body);
        let mut found = Statement {
            scenario: u32::try_from(from.number()?).ok()?,
            number: from.number()?,
            seed: from.number()?,
            ..Statement::default()
        };
        for _ in 0..from.count(SLOTS_MAX)? {
            let mut slot = Slot {
                producer: from.number()?,
                durable: from.number()?,
                known: from.number()?,
                ..Slot::default()
            };
            for _ in 0..from.count(REFUSED_MAX)? {
                slot.refused.push(from.span()?);
            }
            for _ in 0..from.count(PORTIONS_MAX)? {
                slot.portions.push(from.short()?);
            }
            found.slots.push(slot);
        }
        for _ in 0..from.count(PINS_MAX)? {
            let (id, number) = (from.number()?, u32::try_from(from.number()?).ok()?);
            found.pins.push(PinSaid { id, number, windows: [from.span()?, from.span()?] });
        }
        for _ in 0..from.count(RELEASED_MAX)? {
            found.released.push(from.number()?);
        }
        Some(found)
    }
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// A span as its beginning and length, 4 bytes each: no load pushes 2^32 records.
fn put_span(out: &mut Vec<u8>, span: Span) {
    let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    out.extend_from_slice(&short(span.from));
    out.extend_from_slice(&short(span.to.saturating_sub(span.from)));
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn short(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn count(&mut self, most: usize) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= most)
    }

    fn span(&mut self) -> Option<Span> {
        let from = u64::from(self.short()?);
        Some(Span { from, to: from + u64::from(self.short()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As much as a statement can say.
    fn largest() -> Statement {
        let slot = |at: u64| {
            let refused = (0..REFUSED_MAX as u64).map(|n| Span { from: n * 9, to: n * 9 + 2 });
            Slot {
                producer: u64::MAX - at,
                durable: 700 + at,
                known: 800,
                refused: refused.collect(),
                portions: (1..=PORTIONS_MAX as u32).collect(),
            }
        };
        let pin = |id: u64| PinSaid {
            id,
            number: id as u32,
            windows: [Span { from: id, to: id + 7 }, Span { from: 3, to: 3 }],
        };
        let mut statement = Statement::new("direct", 7);
        statement.slots = (0..SLOTS_MAX as u64).map(slot).collect();
        statement.pins = (1..=PINS_MAX as u64).map(pin).collect();
        statement.released = (100..100 + RELEASED_MAX as u64).collect();
        statement.count();
        statement
    }

    #[test]
    fn statements_read_back_and_any_change_is_refused() {
        for statement in [Statement::new("settle", 3), largest()] {
            let mut block = statement.encode();
            assert_eq!(Statement::decode(&block), Some(statement));
            for at in 0..STATEMENT_BYTES {
                block[at] ^= 1;
                assert_eq!(Statement::decode(&block), None, "byte {at}");
                block[at] ^= 1;
            }
            assert_eq!(Statement::decode(&block[1..]), None);
        }
        assert_eq!(Statement::decode(&[0; STATEMENT_BYTES]), None);
    }

    #[test]
    fn more_than_fits_is_left_out_and_nothing_is_said_of_what_follows_it() {
        let mut statement = largest();
        statement.slots[0].refused.push(Span { from: 600, to: 650 });
        statement.released.push(1);
        let found = Statement::decode(&statement.encode()).unwrap();
        assert_eq!((found.slots[0].durable, found.slots[0].known), (600, 600));
        assert_eq!(found.released[..], statement.released[1..]);
    }

    #[test]
    fn refused_sequences_make_spans() {
        let mut slot = Slot::default();
        [3, 4, 5, 9].into_iter().for_each(|sequence| slot.refuse(sequence));
        assert_eq!(slot.refused, [Span { from: 3, to: 6 }, Span { from: 9, to: 10 }]);
        let refused: Vec<u64> = (0..12).filter(|s| slot.was_refused(*s)).collect();
        assert_eq!(refused, [3, 4, 5, 9]);
    }
}
