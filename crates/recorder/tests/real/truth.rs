//! What a producer was told, kept outside of it: a file on a tmpfs, written by plain pwrite after
//! every push, which a SIGKILL does not take back.
//!
//! One byte for each sequence says whether its push returned Ok or a refusal. At most one sequence
//! for each life of the producer is unknown: that of the push after which it was killed.

use super::reading::Entry;
use baro_ondisk::{Gap, Kind};
use baro_sources::generate::{FRAME_BYTES_MIN, fill_frame};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub const CHANNEL: u32 = 7;
const BODY: u64 = 4096;
const TAKEN: u8 = 1;
const REFUSED: u8 = 2;

/// The file.
pub struct Truth {
    file: File,
}

/// What it says.
pub struct Told {
    pub producer: u64,
    /// Highest durable sequence that the producer saw.
    pub durable: u64,
    /// Pushes refused because the recorder had closed.
    pub closed: u64,
    /// By sequence.
    fates: Vec<u8>,
}

/// The frame that a producer pushes as `sequence`: follows from the two alone.
pub fn frame(producer: u64, sequence: u64, frame: &mut Vec<u8>) {
    let mixed = (producer ^ sequence).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    // Mostly small, now and then several units.
    let most = if mixed.is_multiple_of(32) { 12_000 } else { 700 };
    frame.resize(FRAME_BYTES_MIN + (mixed % most) as usize, 0);
    fill_frame(producer, sequence, frame).unwrap();
}

impl Truth {
    pub fn open(folder: &Path) -> Self {
        let path = folder.join("truth");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        Truth { file: options.open(path).unwrap() }
    }

    /// Notes what became of a push, then what was durable after it.
    pub fn note(&self, sequence: u64, taken: bool) {
        let fate = if taken { TAKEN } else { REFUSED };
        self.file.write_all_at(&[fate], BODY + sequence).unwrap();
    }

    pub fn note_head(&self, producer: u64, durable: u64, closed: u64) {
        let mut head = [0; 24];
        for (place, word) in head.chunks_exact_mut(8).zip([producer, durable, closed]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.file.write_all_at(&head, 0).unwrap();
    }

    pub fn read(&self) -> Told {
        let mut head = [0; 24];
        let _ = self.file.read_at(&mut head, 0);
        let mut words = head.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap()));
        let mut next = || words.next().unwrap();
        let (producer, durable, closed) = (next(), next(), next());
        let length = self.file.metadata().unwrap().len().saturating_sub(BODY);
        let mut fates = vec![0; length as usize];
        self.file.read_exact_at(&mut fates, BODY).unwrap();
        Told { producer, durable, closed, fates }
    }
}

impl Told {
    pub fn pushed(&self) -> u64 {
        self.count(TAKEN)
    }

    pub fn refused(&self) -> u64 {
        self.count(REFUSED)
    }

    fn count(&self, fate: u8) -> u64 {
        self.fates.iter().filter(|found| **found == fate).count() as u64
    }

    /// Sequences of which the producer's end is known.
    pub fn known(&self) -> u64 {
        self.fates.len() as u64
    }

    /// Holds the log against what the producer was told. `lives`: how many times it was started;
    /// one push of each may have gone unnoted. Returns the sequence after the log's last record.
    ///
    /// - every record is where it belongs, once, byte for byte;
    /// - nothing that was taken is missing, nothing that was refused is there;
    /// - gaps stand exactly for what was refused, by cause.
    pub fn check(&self, log: &[Entry], lives: u64) -> u64 {
        let mut next = 0;
        let mut expected = Vec::new();
        let mut unknown = 0;
        for entry in log.iter().filter(|entry| entry.producer == self.producer) {
            assert_eq!(entry.sequence, next, "of producer {:x}", self.producer);
            if entry.kind == Kind::Gap {
                let gap = Gap::decode(&entry.payload).unwrap();
                assert_eq!(gap.lost(), gap.ring_full, "{gap:?} at {next}");
                next += gap.lost();
                for sequence in entry.sequence..next {
                    let fate = self.fate(sequence);
                    assert_ne!(fate, TAKEN, "record {sequence} was taken, and is in a gap");
                    unknown += u64::from(fate != REFUSED);
                }
                continue;
            }
            let fate = self.fate(next);
            assert_ne!(fate, REFUSED, "record {next} was refused, and is there");
            unknown += u64::from(fate != TAKEN);
            frame(self.producer, next, &mut expected);
            assert_eq!((entry.kind, entry.stream), (Kind::Frame, CHANNEL));
            assert_eq!(entry.time_ns, next as i64);
            assert!(entry.payload == expected, "record {next} has other contents");
            next += 1;
        }
        assert!(unknown <= lives, "{unknown} records of which the producer did not know");
        assert!(next >= self.durable, "{} were durable, {next} are there", self.durable);
        next
    }

    /// [`Told::check`], and nothing is missing at the end either.
    pub fn check_all(&self, log: &[Entry], lives: u64) {
        let next = self.check(log, lives);
        assert!(next >= self.known(), "{} were offered, {next} are there", self.known());
    }

    fn fate(&self, sequence: u64) -> u8 {
        self.fates.get(sequence as usize).copied().unwrap_or(0)
    }
}
