//! SplitMix64: the same numbers everywhere from one seed; nothing here is secret.

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// One whose numbers all follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends, and is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// True `part` times in `whole`.
    pub fn chance(&mut self, part: u64, whole: u64) -> bool {
        self.below(whole) < part
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}
