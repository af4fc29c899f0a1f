//! What a segment holds, in a few numbers: told by the header of the segment after it, or, where its
//! session was closed in order, by its own last unit. So a reader passes over gigabytes of frames
//! with one read of a segment. `docs/format.md`, "Summary".
//!
//! It stands in a unit with a CRC of its own and names an epoch and an end; where any of it does not
//! fit, blocks are read as if it were not there. Held by `tests/summary.rs` of the store and by
//! `verify`, which compares it with the blocks.

use crate::BlockHeader;
use crate::bytes::{i64_at, put, u32_at, u64_at};
use crate::limits::UNIT_BYTES;

/// What the blocks of one segment hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Epoch of the segment.
    pub epoch: u64,
    /// Sequence after its last block.
    pub end: u64,
    /// Earliest and latest time in its blocks, frames included; as in a block without records if
    /// there is none.
    pub times_ns: (i64, i64),
    /// Earliest and latest time of the blocks that may have samples or texts; all times if one has
    /// samples in its bodies, which may be of any time.
    pub sample_times_ns: (i64, i64),
    /// Unit of the segment at which the last block begins that may have samples or texts; 0 if
    /// none has.
    pub last_samples: u32,
    /// Unit behind the last block.
    pub end_unit: u32,
}

/// Where a block says that the one before it with samples or texts is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// So many units before this block; 0 if there is none in the segment.
    pub units_back: u32,
    /// Those before have no sample and no text later than the earliest time of this block.
    pub in_order: bool,
}

impl Link {
    /// Further back than this nothing is said: a segment has no more units.
    pub(crate) const BACK_MAX: u32 = (1 << 20) - 1;
}

impl Summary {
    /// Of a segment whose blocks are still to come.
    #[must_use]
    pub fn new(epoch: u64, first_block: u64) -> Self {
        let nothing = (i64::MAX, i64::MIN);
        Summary {
            epoch,
            end: first_block,
            times_ns: nothing,
            sample_times_ns: nothing,
            last_samples: 0,
            end_unit: 1,
        }
    }

    /// What the block at `offset` is to say of those before it; `time_min_ns` is its earliest time.
    #[must_use]
    pub fn link(&self, offset: u64, time_min_ns: i64) -> Option<Link> {
        let here = u32::try_from(offset / UNIT_BYTES as u64).ok()?;
        let units_back = match self.last_samples {
            0 => 0,
            last => here.checked_sub(last).filter(|back| *back <= Link::BACK_MAX)?,
        };
        Some(Link { units_back, in_order: self.sample_times_ns.1 <= time_min_ns })
    }

    /// Takes in the block at `offset`.
    pub fn add(&mut self, offset: u64, header: &BlockHeader) {
        let with = |(min_ns, max_ns): (i64, i64), (from_ns, to_ns): (i64, i64)| {
            (min_ns.min(from_ns), max_ns.max(to_ns))
        };
        let unit = |offset: u64| u32::try_from(offset / UNIT_BYTES as u64).unwrap_or(0);
        self.end = header.sequence + 1;
        self.end_unit = unit(offset + header.block_bytes() as u64);
        self.times_ns = with(self.times_ns, (header.time_min_ns, header.time_max_ns));
        if header.may_have_numbers() || header.may_have_texts() {
            self.sample_times_ns = with(self.sample_times_ns, header.sample_times_ns());
            self.last_samples = unit(offset);
        }
    }

    pub(crate) fn encode(&self, to: &mut [u8]) {
        put(to, 0, &self.epoch.to_le_bytes());
        put(to, 8, &self.end.to_le_bytes());
        put(to, 16, &self.times_ns.0.to_le_bytes());
        put(to, 24, &self.times_ns.1.to_le_bytes());
        put(to, 32, &self.sample_times_ns.0.to_le_bytes());
        put(to, 40, &self.sample_times_ns.1.to_le_bytes());
        put(to, 48, &self.last_samples.to_le_bytes());
        put(to, 52, &self.end_unit.to_le_bytes());
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        Summary {
            epoch: u64_at(bytes, 0),
            end: u64_at(bytes, 8),
            times_ns: (i64_at(bytes, 16), i64_at(bytes, 24)),
            sample_times_ns: (i64_at(bytes, 32), i64_at(bytes, 40)),
            last_samples: u32_at(bytes, 48),
            end_unit: u32_at(bytes, 52),
        }
    }
}
