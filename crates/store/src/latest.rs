//! Blocks of the log that are in no run and may have some of what is wanted, the latest first.
//!
//! Of a segment with a summary nothing is read that does not meet the interval: its blocks lead from
//! each that may have samples to the one before it (`docs/format.md`, "Summary"). A link that leads
//! nowhere is no answer: then the headers of all blocks are read, as where there is no summary.
//!
//! Invariant: what is handed out is what the headers of all blocks would tell, and nothing that is
//! not handed out is later than [`Latest::bound_ns`]. Held by `tests/newest.rs`, `tests/summary.rs`
//! and `tests/model`.

use crate::facts::{SampleBlock, Wanted};
use crate::index::{Index, SegmentIndex};
use crate::unsettled::Known;
use crate::{Error, Result, Store};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{BlockHeader, Settled};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{AnyFile, StorageFile};
use std::collections::BinaryHeap;

/// Bytes read at once where blocks with samples lie close together.
const WINDOW_BYTES: u64 = 128 << 10;
/// Of blocks further apart only a unit is read.
const NEAR_BYTES: u64 = 32 << 10;

/// A block, or a segment of which blocks are still to be found; by their places in the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Chain(usize),
    Block(usize),
}

/// See the module.
pub(crate) struct Latest<'a> {
    store: &'a Store,
    wanted: Wanted,
    settled: Settled,
    /// By the latest time that may be in it.
    left: BinaryHeap<(i64, Reached)>,
    blocks: Vec<Known<'a>>,
    chains: Vec<Chain<'a>>,
}

/// What [`Latest::next`] found.
pub(crate) enum Next<'a> {
    Block(Known<'a>),
    End,
    /// A link leads nowhere: damage, or the segment is not there any more.
    Broken,
}

impl<'a> Latest<'a> {
    /// Blocks of the segments of `index`, one of [`Store::lately`] or [`Store::recent`].
    pub(crate) fn new(store: &'a Store, index: &'a Index, wanted: &Wanted) -> Result<Self> {
        if index.recycled > 0 {
            return Err(Error::Recycled { path: store.path.clone() });
        }
        let (settled, left) = (store.settled(), BinaryHeap::new());
        let (blocks, chains) = (Vec::new(), Vec::new());
        let mut latest = Latest { store, wanted: *wanted, settled, left, blocks, chains };
        for entry in index.segments.iter().filter(|s| s.segment.header.epoch >= settled.epoch) {
            for block in entry.samples() {
                latest.take(entry, *block);
            }
            let Some(summary) = &entry.chain else { continue };
            if wanted.interval.meets(summary.sample_times_ns) {
                let place = latest.chains.len();
                latest.left.push((summary.sample_times_ns.1, Reached::Chain(place)));
                let (at, before) = (summary.last_samples, entry.live.end);
                latest.chains.push(Chain { entry, at, before, file: None, near: false });
            }
        }
        Ok(latest)
    }

    fn take(&mut self, entry: &'a SegmentIndex, block: SampleBlock) {
        let epoch = entry.segment.header.epoch;
        if !self.settled.covers(epoch, block.sequence) && self.wanted.of(&block) {
            self.left.push((block.times_ns.1, Reached::Block(self.blocks.len())));
            self.blocks.push(Known { entry, block });
        }
    }

    /// The latest time that what comes next may have; none if nothing comes.
    pub(crate) fn bound_ns(&self) -> Option<i64> {
        self.left.peek().map(|(time_ns, _)| *time_ns)
    }

    /// The next block.
    pub(crate) fn next(&mut self) -> Result<Next<'a>> {
        while let Some((bound_ns, reached)) = self.left.pop() {
            let place = match reached {
                Reached::Block(place) => match self.blocks.get(place) {
                    Some(known) => return Ok(Next::Block(*known)),
                    None => continue,
                },
                Reached::Chain(place) => place,
            };
            let Some(chain) = self.chains.get_mut(place) else { continue };
            let entry = chain.entry;
            let Some((header, block)) = chain.next(self.store)? else { return Ok(Next::Broken) };
            let more = chain.at > 0 && !self.settled.covers(header.epoch, header.sequence);
            // What is before it in order is no later than its earliest time.
            let in_order = header.link.is_some_and(|link| link.in_order);
            let bound_ns = if in_order { bound_ns.min(header.time_min_ns) } else { bound_ns };
            if more && bound_ns >= self.wanted.interval.from_ns {
                self.left.push((bound_ns, Reached::Chain(place)));
            }
            self.take(entry, block);
        }
        Ok(Next::End)
    }

    /// All of them in the order of recording; none if a link leads nowhere.
    pub(crate) fn all(mut self) -> Result<Option<Vec<Known<'a>>>> {
        let mut found = Vec::new();
        loop {
            match self.next()? {
                Next::Block(known) => found.push(known),
                Next::Broken => return Ok(None),
                Next::End => break,
            }
        }
        found.sort_unstable_by_key(Known::key);
        Ok(Some(found))
    }
}

/// The blocks of one segment that may have samples, the last first.
struct Chain<'a> {
    entry: &'a SegmentIndex,
    /// Unit at which the next one begins; 0 if there is none.
    at: u32,
    /// Its sequence is below this.
    before: u64,
    /// Opened, and what was read of it: from where on, and how many bytes.
    file: Option<(AnyFile, AlignedBuffer, u64, usize)>,
    /// The last two lay close together.
    near: bool,
}

impl Chain<'_> {
    /// None if there is no such block of this segment.
    fn next(&mut self, store: &Store) -> Result<Option<(BlockHeader, SampleBlock)>> {
        let of = &self.entry.segment.header;
        let offset = u64::from(self.at) * UNIT_BYTES as u64;
        let Some(header) = self.header(store, offset)? else { return Ok(None) };
        let same = (header.store, header.session, header.epoch) == (of.store, of.session, of.epoch);
        let sequences = self.entry.live.start..self.before;
        let fits = offset + header.block_bytes() as u64 <= of.segment_bytes;
        let block = SampleBlock::of(offset, &header);
        let (Some(link), Some(block)) = (header.link, block) else { return Ok(None) };
        let before = self.at.checked_sub(link.units_back).filter(|at| *at > 0);
        let Some(before) = before.filter(|_| same && fits) else { return Ok(None) };
        if !sequences.contains(&header.sequence) {
            return Ok(None);
        }
        self.near = u64::from(link.units_back) * UNIT_BYTES as u64 <= NEAR_BYTES;
        self.at = if link.units_back == 0 { 0 } else { before };
        self.before = header.sequence;
        Ok(Some((header, block)))
    }

    fn header(&mut self, store: &Store, offset: u64) -> Result<Option<BlockHeader>> {
        let unit = UNIT_BYTES as u64;
        let window = if self.near { WINDOW_BYTES } else { unit };
        let (file, buffer, start, filled) = match &mut self.file {
            Some(file) => file,
            None => {
                let opened = self.entry.segment.file.open(&store.storage, store.access)?;
                let Some(file) = opened else { return Ok(None) };
                let buffer = AlignedBuffer::unlocked(WINDOW_BYTES as usize)?;
                self.file.insert((file, buffer, 0, 0))
            }
        };
        if offset < *start || offset + unit > *start + *filled as u64 {
            *start = (offset + unit).saturating_sub(window);
            let bytes = (offset + unit - *start) as usize;
            let read = file.read_at(*start, buffer.get_mut(..bytes).unwrap_or(&mut []));
            // What cannot be read is named by who reads all headers.
            let Ok(read) = read else { return Ok(None) };
            *filled = read;
        }
        let from = (offset - *start) as usize;
        Ok(BlockHeader::decode(buffer.get(from..*filled).unwrap_or(&[])).ok())
    }
}
