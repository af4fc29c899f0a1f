//! Crash images: what a disk may hold after a power cut.
//!
//! A prefix of the log of writes; of the writes after its last flush any may be lost, whole or in
//! pieces of 4 KiB, which is what a file system expects of its device. A discarded range may read as
//! it did or as zeroes.
//!
//! Invariant: a write before the last flush, or with FUA, is there, unless written over or discarded.
//! Test: `what_was_flushed_is_there`.

use super::log::{Entry, Log};

/// What is lost and kept at once.
const ATOM_BYTES: usize = 4096;

/// Numbers from a seed (xorshift64*, Vigna 2016).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Below `most`.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }
}

/// What becomes of the writes after the last flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// All are lost.
    None,
    /// All are there.
    All,
    /// Each write is there or not.
    Some,
    /// Each 4 KiB of each write.
    Torn,
}

impl Fate {
    pub(crate) fn of(dice: &mut Dice) -> Fate {
        match dice.below(20) {
            0..2 => Fate::None,
            2..5 => Fate::All,
            5..13 => Fate::Some,
            _ => Fate::Torn,
        }
    }
}

/// A disk as it is at a flush of the log; goes forward only.
#[derive(Debug)]
pub(crate) struct Disk {
    bytes: Vec<u8>,
    /// Entries that are in it.
    done: usize,
    data: Vec<u8>,
}

/// An image and what it lacks.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// Writes after the last flush, and how many of them are lost in part or whole.
    pub(crate) pending: usize,
    pub(crate) lost: usize,
}

impl Disk {
    /// An empty disk of that size; what is written beyond it is not kept.
    pub(crate) fn new(bytes: usize) -> Disk {
        Disk { bytes: vec![0; bytes], done: 0, data: Vec::new() }
    }

    /// The disk after a cut behind the first `cut` entries of the log.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn cut(
        &mut self,
        log: &Log,
        cut: usize,
        fate: Fate,
        dice: &mut Dice,
    ) -> Result<Image, String> {
        let upto = &log.entries[..cut];
        let durable = upto.iter().rposition(|entry| entry.flush).unwrap_or(0);
        debug_assert!(self.done <= durable || self.done == 0, "the disk goes forward only");
        for entry in &upto[self.done.min(durable)..durable] {
            apply(&mut self.bytes, log, entry, &mut self.data, |_| true, dice)?;
        }
        self.done = self.done.max(durable);
        let mut image = Image { bytes: self.bytes.clone(), pending: 0, lost: 0 };
        for entry in &upto[self.done..] {
            if entry.bytes == 0 {
                continue;
            }
            let mut whole = true;
            let kept = match fate {
                Fate::None => 0,
                Fate::Some => dice.below(2),
                Fate::All | Fate::Torn => 1,
            };
            let mut own = dice.clone();
            apply(
                &mut image.bytes,
                log,
                entry,
                &mut self.data,
                |_| {
                    let here =
                        entry.fua || (kept == 1 && (fate != Fate::Torn || own.below(2) == 1));
                    whole &= here;
                    here
                },
                dice,
            )?;
            dice.next();
            image.pending += 1;
            image.lost += usize::from(!whole);
        }
        Ok(image)
    }
}

/// Does what an entry did, for those of its pieces that are kept.
fn apply(
    disk: &mut [u8],
    log: &Log,
    entry: &Entry,
    data: &mut Vec<u8>,
    mut kept: impl FnMut(usize) -> bool,
    dice: &mut Dice,
) -> Result<(), String> {
    let Ok(offset) = usize::try_from(entry.offset) else { return Ok(()) };
    if entry.bytes == 0 || offset >= disk.len() {
        return Ok(());
    }
    let end =
        disk.len().min(offset.saturating_add(usize::try_from(entry.bytes).unwrap_or(usize::MAX)));
    if entry.discard {
        if kept(0) && dice.below(2) == 1 {
            disk[offset..end].fill(0);
        }
        return Ok(());
    }
    log.data(entry, data)?;
    let place = &mut disk[offset..end];
    for (number, (to, from)) in
        place.chunks_mut(ATOM_BYTES).zip(data.chunks(ATOM_BYTES)).enumerate()
    {
        if kept(number) {
            to.copy_from_slice(&from[..to.len()]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::log::tests::{log_of, written};
    use super::*;

    const UNIT: usize = 4096;

    #[test]
    fn what_was_flushed_is_there() {
        let write = |unit: u64, value: u8, units: usize| (unit * 8, vec![value; units * UNIT], 0);
        let flush = (0, Vec::new(), 1);
        let entries = [
            write(0, 1, 4),
            flush.clone(),
            write(1, 2, 2),
            (24, vec![9; UNIT], 2),
            flush,
            write(0, 3, 1),
        ];
        let log = log_of("image", &written(&entries)).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut disk = Disk::new(8 * UNIT);
            let mut dice = Dice::new(seed);
            let fate = Fate::of(&mut dice);
            let image = disk.cut(&log, 4, fate, &mut dice).unwrap();
            let units: Vec<u8> = image.bytes.chunks(UNIT).map(|unit| unit[0]).collect();
            assert_eq!((units[0], units[3]), (1, 9), "flushed, and FUA");
            assert!(units[1..3].iter().all(|unit| [1, 2].contains(unit)));
            match fate {
                Fate::None => assert_eq!((&units[1..3], image.lost), (&[1, 1][..], 1)),
                Fate::All => assert_eq!((&units[1..3], image.lost), (&[2, 2][..], 0)),
                Fate::Some => assert_eq!(units[1], units[2]),
                Fate::Torn => {}
            }
            assert_eq!(image.pending, 2);
            seen.insert(units);
            // Forward to the next flush: nothing is pending any more.
            let image = disk.cut(&log, 5, fate, &mut dice).unwrap();
            assert_eq!((image.pending, image.bytes[UNIT], image.bytes[0]), (0, 2, 1));
        }
        assert_eq!(seen.len(), 4, "none, all, and each half of the torn one");
    }

    #[test]
    fn a_discarded_range_is_old_or_zero_and_beyond_the_end_is_nothing() {
        let flush = (0, Vec::new(), 1);
        let entries =
            [(0, vec![5; UNIT], 0), flush, (0, vec![0; UNIT], 4), (4096, vec![1; UNIT], 0)];
        let log = log_of("image", &written(&entries)).unwrap();
        let found = |seed| {
            let mut dice = Dice::new(seed);
            Disk::new(UNIT).cut(&log, 4, Fate::All, &mut dice).unwrap().bytes[7]
        };
        let seen: std::collections::BTreeSet<u8> = (0..20).map(found).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 5]);
    }
}
