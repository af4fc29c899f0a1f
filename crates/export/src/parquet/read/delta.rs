//! Lengths of texts that are stored as differences: how many there are and what they come to.
//!
//! A few bytes may say that a thousand million lengths follow which are all the same, and of texts that
//! share beginnings each may be as long as all of the page. Here the lengths are counted and summed,
//! and nothing is kept.

use super::compact::Walk;

/// Values of a block at most; writers take some hundred.
const BLOCK_MAX: usize = 1 << 20;

/// What the lengths of a page come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    /// How many there are.
    pub(super) count: u64,
    /// Their sum.
    pub(super) sum_bytes: u64,
    /// The longest.
    pub(super) max_bytes: u64,
}

/// Values of a page that are lengths alone.
pub(super) fn of_lengths(values: &[u8], most: u64) -> Option<Lengths> {
    let mut stream = Stream::new(values, most)?;
    let mut lengths = Lengths { count: stream.left, ..Lengths::default() };
    while let Some(length) = stream.next_value()? {
        lengths.sum_bytes += length;
        lengths.max_bytes = lengths.max_bytes.max(length);
    }
    Some(lengths)
}

/// Values of a page that are lengths of shared beginnings, and then lengths of the rest.
pub(super) fn of_shared(values: &[u8], most: u64) -> Option<Lengths> {
    let mut shared = Stream::new(values, most)?;
    let mut end = Stream::new(values, most)?;
    while end.next_value()?.is_some() {}
    let mut rest = Stream::new(values.get(end.end()..)?, most)?;
    let mut lengths = Lengths { count: shared.left, ..Lengths::default() };
    while let (Some(shared), Some(rest)) = (shared.next_value()?, rest.next_value()?) {
        lengths.sum_bytes = lengths.sum_bytes.checked_add(shared + rest)?;
        lengths.max_bytes = lengths.max_bytes.max(shared + rest);
    }
    Some(lengths)
}

/// How many numbers there are, of a page whose values begin with differences.
pub(super) fn count(values: &[u8]) -> Option<u64> {
    let mut walk = Walk::new(values);
    // Behind the sizes of blocks.
    walk.varint()?;
    walk.varint()?;
    walk.varint()
}

/// Numbers in Parquet's DELTA_BINARY_PACKED.
#[derive(Debug)]
struct Stream<'a> {
    bytes: &'a [u8],
    at: usize,
    per_block: usize,
    minis: usize,
    /// Values still to come.
    left: u64,
    next: i64,
    is_first: bool,
    least_delta: i64,
    /// Place of this block's widths, and of its values.
    widths_at: usize,
    mini: usize,
    /// Of this miniblock.
    in_mini: usize,
    width: u32,
}

impl<'a> Stream<'a> {
    fn new(bytes: &'a [u8], most: u64) -> Option<Self> {
        let mut walk = Walk::new(bytes);
        let per_block = usize::try_from(walk.varint()?).ok()?;
        let minis = usize::try_from(walk.varint()?).ok()?;
        let left = walk.varint()?;
        let next = walk.zigzag()?;
        let fits = minis > 0
            && (minis..=BLOCK_MAX).contains(&per_block)
            && per_block.is_multiple_of(minis)
            && (per_block / minis).is_multiple_of(8);
        // More values than the page has would have no row.
        if !fits || left > most {
            return None;
        }
        Some(Stream {
            bytes,
            at: walk.at(),
            per_block,
            minis,
            left,
            next,
            is_first: true,
            least_delta: 0,
            widths_at: 0,
            mini: minis,
            in_mini: 0,
            width: 0,
        })
    }

    /// The next length: Some(None) behind the last one, None if it is damaged.
    fn next_value(&mut self) -> Option<Option<u64>> {
        if self.left == 0 {
            return Some(None);
        }
        self.left -= 1;
        if !std::mem::take(&mut self.is_first) {
            if self.in_mini == 0 {
                self.next_mini()?;
            }
            self.in_mini -= 1;
            let place = self.per_block / self.minis - 1 - self.in_mini;
            let delta = self.bits(place)?;
            self.next = self.next.wrapping_add(self.least_delta).wrapping_add(delta);
        }
        // Lengths have 32 bits.
        let length = u64::try_from(self.next).ok().filter(|one| *one <= i32::MAX as u64)?;
        Some(Some(length))
    }

    fn next_mini(&mut self) -> Option<()> {
        if self.mini < self.minis {
            self.at += self.per_block / self.minis / 8 * self.width as usize;
        }
        self.mini += 1;
        if self.mini >= self.minis {
            let mut walk = Walk::new(self.bytes.get(self.at..)?);
            self.least_delta = walk.zigzag()?;
            self.widths_at = self.at + walk.at();
            self.at = self.widths_at.checked_add(self.minis)?;
            self.mini = 0;
        }
        self.width = u32::from(*self.bytes.get(self.widths_at + self.mini)?);
        self.in_mini = self.per_block / self.minis;
        (self.width <= 32).then_some(())
    }

    /// The number at a place of this miniblock.
    fn bits(&self, place: usize) -> Option<i64> {
        let width = self.width as usize;
        if width == 0 {
            return Some(0);
        }
        let from = place * width;
        let bytes = self.bytes.get(self.at + from / 8..)?;
        let mut word = [0; 8];
        for (to, byte) in word.iter_mut().zip(bytes) {
            *to = *byte;
        }
        let value = u64::from_le_bytes(word) >> (from % 8) & ((1 << width) - 1);
        Some(value.cast_signed())
    }

    /// Where it ends, after its last value: miniblocks are whole, and those behind the last value have
    /// no bytes.
    fn end(&self) -> usize {
        match self.mini < self.minis {
            true => self.at + self.per_block / self.minis / 8 * self.width as usize,
            false => self.at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_counted_and_summed() {
        // 128 values a block in 4 miniblocks; 5 of them from 3 on: 3, 5, 4, 4, 10.
        let mut bytes = vec![128, 1, 4, 5, 6];
        // Least difference -1; differences 2, -1, 0, 6 above it 3, 0, 1, 7: three bits each.
        bytes.extend([1, 3, 0, 0, 0]);
        let packed: u64 = 3 | 1 << 6 | 7 << 9;
        bytes.extend(&packed.to_le_bytes()[..]);
        bytes.extend([0; 4]);
        let lengths = Lengths { count: 5, sum_bytes: 26, max_bytes: 10 };
        assert_eq!(of_lengths(&bytes, 5), Some(lengths));
        assert_eq!(of_lengths(&bytes, 4), None, "more than there are rows");
        // The same again as what follows the shared beginnings.
        let twice = [bytes.clone(), bytes].concat();
        let both = Lengths { count: 5, sum_bytes: 52, max_bytes: 20 };
        assert_eq!(of_shared(&twice, 5), Some(both));
    }

    #[test]
    fn a_stream_that_lies_is_none() {
        for bytes in
            [&[][..], &[128, 1, 0, 5, 6], &[128, 1, 4, 255, 255, 255, 255, 15, 0], &[1, 1, 1]]
        {
            assert_eq!(of_lengths(bytes, 1_000), None, "{bytes:?}");
        }
        // No value at all, and one alone, have no block.
        assert_eq!(of_lengths(&[128, 1, 4, 0, 0], 9), Some(Lengths::default()));
        let one = Lengths { count: 1, sum_bytes: 7, max_bytes: 7 };
        assert_eq!(of_lengths(&[128, 1, 4, 1, 14], 9), Some(one));
    }
}
