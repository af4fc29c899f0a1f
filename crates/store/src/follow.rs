//! What is recorded from now on, block by block in the order of writing.
//!
//! A place in the log is kept, not a time: so late and early rows come as they are recorded, each once.
//! Nothing is read twice. Held by `tests/live.rs`.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::index::Patience;
use crate::mask::Mask;
use crate::read::{LiveBlock, Notes, RecordRef};
use crate::segments::SegmentRef;
use crate::store::{Store, for_each_record};
use baro_log::{Blocks, Found, FoundHeader, Walk};
use baro_ondisk::{BlockHeader, UnfoldedSamples, WhenFull};
use baro_sys::storage::AnyFile;
use std::ops::ControlFlow;

/// A place in the log behind which nothing has been handed out yet: see [`Store::follow`].
#[derive(Clone, Debug, Default)]
pub struct Follow {
    epoch: u64,
    session: u64,
    /// Of the next block.
    sequence: u64,
    /// Where it is in its segment, and the CRC that it names; 0 if that is still to be found.
    offset: u64,
    previous_crc: u32,
    /// All of its session has been passed.
    ended: bool,
}

/// Looks at a log that is written faster than it is looked at.
const LOOKS: u32 = 64;

impl Store {
    /// The place behind all that this view of the store has.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn end(&self) -> Result<Follow> {
        let last = self.near()?.segments.last();
        Ok(last.map_or_else(Follow::default, |last| Follow {
            epoch: last.segment.header.epoch,
            session: last.segment.header.session,
            sequence: last.live.end,
            ..Follow::default()
        }))
    }

    /// The same of a view that is taken anew until all that reads it ends there. So who queries it and then
    /// follows from that place has each row once: a recorder may write between two looks of one view.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn end_of_reads(&mut self) -> Result<Follow> {
        let mut looks = 0;
        loop {
            let place = self.end()?;
            let last = self.recent()?.segments.last();
            let there = last.map(|last| (last.segment.header.epoch, last.live.end));
            looks += 1;
            if there.is_none_or(|there| there == (place.epoch, place.sequence)) || looks == LOOKS {
                return Ok(place);
            }
            self.refresh()?;
        }
    }

    /// Calls `each` with the records behind a place as they were written, until it breaks, and moves the
    /// place behind the blocks that were read. Sees what was recorded before the last
    /// [`Store::refresh`], in blocks of which all is written; a power cut may still take the last of them.
    ///
    /// # Errors
    /// The operating system refuses; damage, and what went round before it was read, is in the notes.
    pub fn follow(
        &self,
        place: &mut Follow,
        mut each: impl FnMut(&RecordRef<'_>) -> ControlFlow<()>,
    ) -> Result<Notes> {
        let (mut notes, mut blocks) = (Notes::default(), Blocks::new()?);
        let mut unfolded = UnfoldedSamples::default();
        let mut patience = Patience::new(self.identity.when_full);
        let mut last: Option<(AnyFile, &SegmentRef)> = None;
        for segment in &self.segments.started {
            let header = &segment.header;
            if header.epoch < place.epoch {
                continue;
            }
            let Some(file) = segment.file.open(&self.storage, self.access)? else { continue };
            let mut walk = blocks.walk(&file, *header, segment.crc);
            if header.epoch > place.epoch {
                if !place.may_leave(&mut walk, self.segments.newest_epoch)? {
                    break;
                }
                // It was reused while it was read, or before; or it is a copy that went with its pin. Of one that a pin
                // keeps those behind it may have been.
                let mut gone = |skipped| match (self.identity.when_full, &last) {
                    (WhenFull::Stop, _) => Ok(false),
                    (WhenFull::Recycle, None) => Ok(true),
                    (_, Some((file, segment))) => {
                        Ok(skipped || patience.recycled(file, segment, true)?)
                    }
                };
                place.enter(segment, &mut gone, &mut notes)?;
            }
            if !place.find(&mut walk)? {
                break;
            }
            loop {
                let offset = walk.scan().offset();
                let Found::Block(block) = walk.next_block()? else { break };
                notes.blocks += 1;
                place.pass(offset, &block.header);
                let mask = Mask::of_block(&self.runs.deletions, &block.header);
                let file = segment.file;
                let live = LiveBlock { block, file, offset, mask: mask.as_ref() };
                let take = |record: &RecordRef<'_>| each(record);
                if for_each_record(&live, &mut notes, &mut unfolded, take).is_break() {
                    return Ok(notes);
                }
            }
            last = Some((file, segment));
        }
        Ok(notes)
    }
}

impl Follow {
    /// Whether the segment of `walk`, a later one, may be entered: all of the one before has been read,
    /// or never will be.
    fn may_leave(&self, walk: &mut Walk<'_, AnyFile>, newest: u64) -> Result<bool> {
        let header = *walk.scan().header();
        if header.session != self.session || header.first_block <= self.sequence {
            return Ok(true);
        }
        // Blocks of the segment before are still on their way, unless a later one knows them durable.
        if header.epoch < newest {
            return Ok(true);
        }
        let mut proven = false;
        while let FoundHeader::Block(found) = walk.next_header()? {
            proven |= found.durable > self.sequence;
        }
        Ok(proven)
    }

    /// Goes to the start of a later segment. `gone`: whether the one before was reused, so that nobody knows how
    /// many blocks it had, or, if it is told so, one between them.
    fn enter(
        &mut self,
        segment: &SegmentRef,
        gone: &mut dyn FnMut(bool) -> Result<bool>,
        notes: &mut Notes,
    ) -> Result<()> {
        let header = &segment.header;
        let same = header.session == self.session;
        // Of a session that began meanwhile, what it wrote before this segment.
        let expected = if same { self.sequence } else { 0 };
        let skipped = header.epoch > self.epoch + 1;
        if header.first_block > expected && (same || skipped) {
            let found = header.first_block;
            if gone(skipped)? {
                notes.blocks_recycled += found - expected;
            } else {
                let (file, source) = (segment.file.name(), Source::Sequence { expected, found });
                let loss = Loss::Blocks(found - expected);
                notes.take_damage(Damage { file, offset: 64, source, loss });
            }
        }
        // And of the session before, what was written behind the place: one block at least, or its end.
        if !same && self.session != 0 && !self.ended && gone(false)? {
            notes.blocks_recycled += 1;
        }
        // Of a segment that begins again after a failure what was handed out is passed over.
        let sequence =
            if same { self.sequence.max(header.first_block) } else { header.first_block };
        *self =
            Follow { epoch: header.epoch, session: header.session, sequence, ..Follow::default() };
        Ok(())
    }

    /// Moves a walk to this place; false if it is not written yet.
    fn find(&mut self, walk: &mut Walk<'_, AnyFile>) -> Result<bool> {
        if self.offset > 0 {
            let (sequence, previous_crc) = (self.sequence, self.previous_crc);
            let session = self.session;
            let next = BlockHeader { session, sequence, previous_crc, ..BlockHeader::default() };
            walk.resume(self.offset, &next);
            return Ok(true);
        }
        // From the start, by headers; `may_leave` may have moved on.
        walk.rewind();
        while walk.scan().sequence() < self.sequence {
            match walk.next_header()? {
                FoundHeader::Block(header) => self.ended = header.is_end_mark(),
                FoundHeader::End(_) => match walk.find_proof()? {
                    Some((at, header)) => walk.resume(at, &header),
                    None => return Ok(false),
                },
            }
        }
        Ok(true)
    }

    fn pass(&mut self, offset: u64, header: &BlockHeader) {
        self.sequence = header.sequence + 1;
        self.offset = offset + header.block_bytes() as u64;
        self.previous_crc = header.crc;
        self.ended = header.is_end_mark();
    }
}
