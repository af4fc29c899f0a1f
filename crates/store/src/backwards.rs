//! Blocks of the log by the latest time in them, the latest first: for who wants the newest frames and
//! not all of them. The headers of a segment's blocks are read when its latest time is reached.
//!
//! Only finds out where to look: what cannot be read is passed over, and named by who reads the blocks
//! in the order of time afterwards. Held by `tests/newest.rs`.

use crate::Result;
use crate::index::{BlockPlace, Index, SegmentIndex};
use crate::interval::Interval;
use crate::mask::Mask;
use crate::read::{LiveBlock, Notes};
use crate::store::{Store, for_each_stored};
use baro_log::{Blocks, FoundHeader};
use baro_ondisk::limits::UNIT_BYTES;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{AnyFile, StorageFile};
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// A segment whose blocks are not listed yet, or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Segment(usize),
    Block { segment: usize, place: usize },
}

/// See the module.
pub(crate) struct Backwards<'a> {
    store: &'a Store,
    index: &'a Index,
    interval: Interval,
    /// By the latest time.
    left: BinaryHeap<(i64, Reached)>,
    places: Vec<BlockPlace>,
    headers: Blocks,
    buffer: AlignedBuffer,
    /// The segment file opened last.
    file: Option<(usize, AnyFile)>,
}

impl<'a> Backwards<'a> {
    /// Blocks with records in the interval.
    pub(crate) fn new(store: &'a Store, index: &'a Index, interval: Interval) -> Result<Self> {
        let segments = index.segments.iter().enumerate();
        let meet = segments.filter(|(_, segment)| interval.meets(segment.times));
        let left = meet.map(|(at, segment)| (segment.times.1, Reached::Segment(at))).collect();
        let (headers, buffer) = (Blocks::new()?, AlignedBuffer::unlocked(UNIT_BYTES)?);
        let (places, file) = (Vec::new(), None);
        Ok(Backwards { store, index, interval, left, places, headers, buffer, file })
    }

    /// The latest time that what comes next may have; none if nothing comes.
    pub(crate) fn bound_ns(&self) -> Option<i64> {
        self.left.peek().map(|(time_ns, _)| *time_ns)
    }

    /// Calls `each` with the next block, and says whether there was one.
    pub(crate) fn next(&mut self, each: impl FnMut(&LiveBlock<'_>)) -> Result<bool> {
        while let Some((_, reached)) = self.left.pop() {
            match reached {
                Reached::Segment(at) => self.list(at)?,
                Reached::Block { segment, place } => {
                    self.read(segment, place, each)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn list(&mut self, segment: usize) -> Result<()> {
        let Some(entry) = self.index.segments.get(segment) else { return Ok(()) };
        let SegmentIndex { segment: of, live, .. } = entry;
        let opened = of.file.open(&self.store.storage, self.store.access)?;
        let Some(file) = opened else { return Ok(()) };
        let mut walk = self.headers.walk(&file, of.header, of.crc);
        walk.set_durable(live.end);
        walk.pass_unreadable();
        while walk.scan().sequence() < live.end {
            let offset = walk.scan().offset();
            match walk.next_header() {
                Ok(FoundHeader::Block(header)) => {
                    let times_ns = (header.time_min_ns, header.time_max_ns);
                    if self.interval.meets(times_ns) {
                        let place = self.places.len();
                        self.places.push(BlockPlace::new(offset, &header));
                        self.left.push((times_ns.1, Reached::Block { segment, place }));
                    }
                }
                Ok(FoundHeader::End(_)) | Err(_) => match walk.find_proof() {
                    Ok(Some((at, header))) => walk.resume(at, &header),
                    Ok(None) | Err(_) => break,
                },
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        segment: usize,
        place: usize,
        mut each: impl FnMut(&LiveBlock<'_>),
    ) -> Result<()> {
        let Some(entry) = self.index.segments.get(segment) else { return Ok(()) };
        let Some(place) = self.places.get(place).copied() else { return Ok(()) };
        let of = entry.segment.file;
        if self.file.as_ref().is_none_or(|(at, _)| *at != segment) {
            let opened = of.open(&self.store.storage, self.store.access)?;
            let Some(file) = opened else { return Ok(()) };
            self.file = Some((segment, file));
        }
        let Some((_, file)) = &self.file else { return Ok(()) };
        let (offset, bytes) = (place.offset, place.bytes as usize);
        if self.buffer.len() < bytes {
            self.buffer = AlignedBuffer::unlocked(bytes)?;
        }
        let Ok(read) = file.read_at(offset, self.buffer.get_mut(..bytes).unwrap_or(&mut [])) else {
            return Ok(());
        };
        if let Ok(block) = place.whole(self.buffer.get(..read).unwrap_or(&[])) {
            let mask = Mask::of_block(&self.store.runs.deletions, &block.header);
            each(&LiveBlock { block, file: of, offset, mask: mask.as_ref() });
        }
        Ok(())
    }
}

/// Calls `each` with the records of a block, but for moved samples; what does not decode is passed over.
pub(crate) fn records_of(live: &LiveBlock<'_>, mut each: impl FnMut(&crate::RecordRef<'_>)) {
    let _ = for_each_stored(live, &mut Notes::default(), |record, _| {
        each(record);
        ControlFlow::Continue(())
    });
}
