//! What producers offered and what they were told: the truth against which a log is checked.

use baro_recorder::Producer;
use std::collections::BTreeMap;

/// A record that was pushed.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// When it was pushed, in running time.
    pub pushed_ns: i64,
    pub channel: u32,
    pub time_ns: i64,
    pub length: usize,
}

/// One producer's records.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// By sequence; `None` was refused.
    pub offers: Vec<Option<Offer>>,
    /// Below this the log must have everything.
    pub durable: u64,
    /// Its producer lives.
    pub alive: bool,
}

/// All producers that ever were.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub books: BTreeMap<u64, Book>,
    /// Every segment has been started, so that the oldest may be being started anew.
    pub recycling: bool,
    /// How many of the oldest segments may be found with their earlier life, because the device
    /// failed when it was their turn. Those that came after them are gone, which is no damage.
    pub passed_over: usize,
    /// Pins were granted, so that old segments stay where later ones are recycled.
    pub pinning: bool,
    /// What the pins of the store must hold, by id.
    pub pins: BTreeMap<u64, Promise>,
    /// Nothing younger than this (running time) may be recycled.
    pub keep_ns: u64,
    /// Running time now.
    pub running_ns: i64,
}

/// What a granted pin promises.
#[derive(Clone, Debug, Default)]
pub struct Promise {
    /// Its window, in running time.
    pub from_ns: i64,
    pub to_ns: i64,
    /// Sequences of each producer that were gone when it was granted.
    pub gone_below: BTreeMap<u64, u64>,
    /// It ended early: below these sequences it holds what it promised.
    pub cut_at: Option<BTreeMap<u64, u64>>,
}

impl Ledger {
    /// Sequences of each producer that are durable.
    pub fn durable(&self) -> BTreeMap<u64, u64> {
        self.books.iter().map(|(producer, book)| (*producer, book.durable)).collect()
    }
}

/// The payload of a record: follows from who pushed it, so that no two are alike.
pub fn payload(producer: u64, sequence: u64, length: usize) -> Vec<u8> {
    let mut word = producer ^ sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = vec![0; length];
    for piece in bytes.chunks_mut(8) {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        piece.copy_from_slice(&word.to_le_bytes()[..piece.len()]);
    }
    bytes
}

impl Ledger {
    /// Notes what the producer has been told so far.
    pub fn note_durable(&mut self, producer: &Producer) {
        let book = self.books.entry(producer.report().producer).or_default();
        book.durable = book.durable.max(producer.durable());
        book.alive = true;
    }

    /// After a power cut: what was found is all there will ever be, and must stay.
    pub fn freeze(&mut self, found: &BTreeMap<u64, u64>) {
        for (producer, book) in &mut self.books {
            let next = found.get(producer).copied().unwrap_or(0);
            book.offers.truncate(next as usize);
            book.durable = next;
            book.alive = false;
        }
    }
}
