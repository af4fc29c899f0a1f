//! Names as keys of 128 bits, so that a table of millions of names has no text of them.
//!
//! A key is SipHash-1-3 with 128 bits, made with a random secret of the process. Nobody who does not know
//! the secret can find two names of one key; by chance two of 2^32 names have one with a probability of
//! 2^-65, which is far below that of an error of the memory.
//!
//! Invariant: different parts give different input to the hash, since the length of each goes before it.
//! Held by `tests::parts_are_kept_apart`.

/// A name, or a name as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub [u64; 2]);

/// Makes keys: the state of a hash that has taken some parts already.
#[derive(Clone, Copy, Debug)]
pub struct KeyMaker {
    state: [u64; 4],
}

/// Rounds for each word, and at the end.
const ROUNDS: usize = 1;
const LAST_ROUNDS: usize = 3;

fn rounds(state: [u64; 4], count: usize) -> [u64; 4] {
    let [mut a, mut b, mut c, mut d] = state;
    for _ in 0..count {
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32);
        c = c.wrapping_add(b);
        a = a.wrapping_add(d);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
    }
    [a, b, c, d]
}

fn word([a, b, c, d]: [u64; 4], word: u64, count: usize) -> [u64; 4] {
    let [a, b, c, d] = rounds([a, b, c, d ^ word], count);
    [a ^ word, b, c, d]
}

fn start([first, second]: [u64; 2]) -> [u64; 4] {
    [
        first ^ 0x736f_6d65_7073_6575,
        second ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        first ^ 0x6c79_6765_6e65_7261,
        second ^ 0x7465_6462_7974_6573,
    ]
}

fn finish([a, b, c, d]: [u64; 4], count: usize) -> [u64; 2] {
    let [a, b, c, d] = rounds([a, b, c ^ 0xee, d], count);
    let first = a ^ b ^ c ^ d;
    let [a, b, c, d] = rounds([a, b ^ 0xdd, c, d], count);
    [first, a ^ b ^ c ^ d]
}

/// Takes bytes as words; the last one is filled up with zeros.
fn words(mut state: [u64; 4], bytes: &[u8], count: usize) -> [u64; 4] {
    let (whole, rest) = bytes.as_chunks::<8>();
    for bytes in whole {
        state = word(state, u64::from_le_bytes(*bytes), count);
    }
    if !rest.is_empty() {
        let last = rest.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte));
        state = word(state, last, count);
    }
    state
}

impl KeyMaker {
    /// With this secret.
    #[must_use]
    pub fn new(secret: [u64; 2]) -> Self {
        KeyMaker { state: start(secret) }
    }

    /// The same behind one part more.
    #[must_use]
    pub fn with(self, part: &[u8]) -> Self {
        let state = word(self.state, part.len() as u64, ROUNDS);
        KeyMaker { state: words(state, part, ROUNDS) }
    }

    /// The key of the parts before and this one.
    #[must_use]
    pub fn key(self, part: &[u8]) -> Key {
        Key(finish(self.with(part).state, LAST_ROUNDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SipHash-2-4 with 128 bits, of which its authors give results.
    fn reference(bytes: &[u8]) -> [u64; 2] {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let whole = bytes.len() / 8 * 8;
        let state = words(start(key), &bytes[..whole], 2);
        let mut last = [0; 8];
        last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
        last[7] = bytes.len() as u8;
        finish(word(state, u64::from_le_bytes(last), 2), 4)
    }

    #[test]
    fn rounds_and_end_are_those_of_siphash() {
        let of = |bytes: [u8; 16]| {
            let (first, second) = bytes.split_at(8);
            [first, second].map(|half| u64::from_le_bytes(half.try_into().unwrap()))
        };
        let empty = [
            0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55,
            0x02, 0x93,
        ];
        let one = [
            0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22,
            0xfc, 0x45,
        ];
        assert_eq!((reference(&[]), reference(&[0])), (of(empty), of(one)));
    }

    #[test]
    fn parts_are_kept_apart() {
        let maker = KeyMaker::new([1, 2]);
        let mut keys = std::collections::HashSet::new();
        let text = [0; 20];
        for first in 0..=20 {
            for second in 0..=20 {
                let key = maker.with(&text[..first]).key(&text[..second]);
                assert!(keys.insert(key), "{first} {second}");
            }
        }
        assert!(keys.insert(maker.key(b"")) && keys.insert(KeyMaker::new([1, 3]).key(b"")));
    }
}
