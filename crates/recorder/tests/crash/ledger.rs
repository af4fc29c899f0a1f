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
    /// Of the payload of a frame.
    pub length: usize,
    pub form: Form,
}

/// What a record is; follows from who pushed it, its number and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Frame,
    /// So many samples, all of one time.
    Samples(usize),
    /// The same, each with a time of its own.
    Timed(usize),
}

impl Form {
    /// A third are frames, as are the smallest.
    pub fn of(producer: u64, sequence: u64, length: usize) -> Self {
        let room = length.saturating_sub(8);
        match (producer ^ sequence.wrapping_mul(5)) % 3 {
            1 if room >= 12 => Form::Samples(room / 12),
            2 if room >= 20 => Form::Timed(room / 20),
            _ => Form::Frame,
        }
    }
}

/// The samples of a record: (series, time, bits). Few series, so that many records have the same,
/// and times out of order; bits tell whose they are, some as decimals.
pub fn samples(producer: u64, sequence: u64, offer: &Offer) -> Vec<(u32, i64, u64)> {
    let (count, timed) = match offer.form {
        Form::Frame => (0, false),
        Form::Samples(count) => (count, false),
        Form::Timed(count) => (count, true),
    };
    let word = |at: u64| (producer << 40 ^ sequence << 12 ^ at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let one = |at: u64| {
        let word = word(at);
        let series = if offer.channel == 0 { word >> 40 } else { word % 40 } as u32;
        let time_ns = offer.time_ns + if timed { (word >> 50) as i64 } else { 0 };
        let decimal = (sequence as f64 * 1000.0 + at as f64) / 1000.0;
        (series, time_ns, if offer.channel == 1 { decimal.to_bits() } else { word })
    };
    (0..count as u64).map(one).collect()
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
    /// A write or a sync has failed, and not all segments have been started since: some may stand there
    /// without a block, only to say which blocks of others are dead.
    pub failed: bool,
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
