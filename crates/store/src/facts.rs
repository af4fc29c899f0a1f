//! What the headers of blocks tell of the samples in them: enough to say of most blocks, without
//! reading them, that they have nothing of what is asked for.
//!
//! A record of samples that was not moved to its block's section may have samples of any time, and
//! older writers did not say whether there is one: such a block may have all.
//!
//! Invariant: a block is passed over only if its header proves that it has nothing of what is asked
//! for. Held by `tests/newest.rs` and `tests/model`.

use crate::index::BlockPlace;
use crate::interval::Interval;
use baro_ondisk::BlockHeader;

/// A block that may have samples or texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleBlock {
    pub(crate) sequence: u64,
    pub(crate) place: BlockPlace,
    /// Earliest and latest time of what it may have.
    pub(crate) times_ns: (i64, i64),
    /// Whether it may have samples of numbers.
    numbers: bool,
    /// Whether it may have texts.
    texts: bool,
}

impl SampleBlock {
    /// None if it has neither.
    pub(crate) fn of(offset: u64, header: &BlockHeader) -> Option<Self> {
        let (numbers, texts) = (header.may_have_numbers(), header.may_have_texts());
        (numbers || texts).then(|| SampleBlock {
            sequence: header.sequence,
            place: BlockPlace::new(offset, header),
            times_ns: header.sample_times_ns(),
            numbers,
            texts,
        })
    }
}

/// Samples that are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) interval: Interval,
    pub(crate) numbers: bool,
    pub(crate) texts: bool,
}

impl Wanted {
    /// Whether a block may have some.
    pub(crate) fn of(&self, block: &SampleBlock) -> bool {
        let kind = (self.numbers && block.numbers) || (self.texts && block.texts);
        kind && self.interval.meets(block.times_ns)
    }
}
