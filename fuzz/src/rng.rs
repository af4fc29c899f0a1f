//! SplitMix64: the same numbers everywhere from one seed, in four lines; nothing here is secret.

pub(crate) struct Rng(u64);

impl Rng {
    /// A generator of its own for each iteration, so that one input repeats without those before.
    pub(crate) fn new(seed: u64, iteration: u64) -> Rng {
        let mut rng = Rng(seed);
        let mixed = rng.next() ^ iteration.wrapping_mul(0xd6e8_feb8_6659_fd93);
        Rng(mixed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// One of `items`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
