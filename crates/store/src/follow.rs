//! What is recorded from now on, block by block in the order of writing.
//!
//! A place in the log is kept, not a time: so late and early rows come as they are recorded, each once.
//! Nothing is read twice. A damaged block is told and passed over, also in the segment that is written to.
//! Held by `tests/live.rs`.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::index::Patience;
use crate::mask::Mask;
use crate::read::{LiveBlock, Notes, RecordRef};
use crate::segments::SegmentRef;
use crate::store::{Store, for_each_record};
use baro_log::{Blocks, Found, FoundHeader, Walk};
use baro_ondisk::limits::BLOCK_BYTES_MAX;
use baro_ondisk::{BlockHeader, End, UnfoldedSamples, WhenFull};
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
    /// So often nothing was found there.
    looks: u32,
}

/// Looks at a log that is written faster than it is looked at.
const LOOKS: u32 = 64;
/// For each look in vain, as much is searched for what proves that something is missing.
const SEARCH_BYTES: u64 = 64 << 10;
/// But no more: some of the largest blocks.
const SEARCH_MAX_BYTES: u64 = 4 * BLOCK_BYTES_MAX as u64;

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
        let mut blocks = Blocks::new()?;
        let mut pass = Pass {
            store: self,
            notes: Notes::default(),
            unfolded: UnfoldedSamples::default(),
            patience: Patience::new(self.identity.when_full),
            each: &mut each,
        };
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
                // What is behind damage in the one before, now that nothing is on its way to it.
                if let Some((earlier, before)) = &last
                    && header.session == place.session
                    && header.first_block > place.sequence
                {
                    let mut rest = blocks.walk(earlier, before.header, before.crc);
                    rest.set_durable(header.first_block);
                    let whole = Some(u64::MAX);
                    if place.find(&mut rest)?
                        && pass.read(&mut rest, (earlier, before), place, whole)?.is_break()
                    {
                        return Ok(pass.notes);
                    }
                    walk = blocks.walk(&file, *header, segment.crc);
                }
                // It was reused while it was read, or before; or it is a copy that went with its pin. Of one that a pin
                // keeps those behind it may have been.
                let patience = &mut pass.patience;
                let mut gone = |skipped| match (self.identity.when_full, &last) {
                    (WhenFull::Stop, _) => Ok(false),
                    (WhenFull::Recycle, None) => Ok(true),
                    (_, Some((file, segment))) => {
                        Ok(skipped || patience.recycled(file, segment, true)?)
                    }
                };
                place.enter(segment, &mut gone, &mut pass.notes)?;
            }
            if !place.find(&mut walk)? {
                break;
            }
            if pass.read(&mut walk, (&file, segment), place, None)?.is_break() {
                return Ok(pass.notes);
            }
            last = Some((file, segment));
        }
        Ok(pass.notes)
    }
}

/// Reads on in one segment after the other.
struct Pass<'a> {
    store: &'a Store,
    notes: Notes,
    unfolded: UnfoldedSamples,
    patience: Patience,
    each: &'a mut dyn FnMut(&RecordRef<'_>) -> ControlFlow<()>,
}

impl Pass<'_> {
    /// Hands out the blocks from the place of `walk` on. A block that is damaged or cannot be read costs
    /// itself, once a later one proves that it was durable: that is looked for in `within` bytes, or as far
    /// as the place has patience for.
    fn read(
        &mut self,
        walk: &mut Walk<'_, AnyFile>,
        (file, segment): (&AnyFile, &SegmentRef),
        place: &mut Follow,
        within: Option<u64>,
    ) -> Result<ControlFlow<()>> {
        walk.pass_unreadable();
        let mut tried_at = 0;
        loop {
            let (offset, sequence) = (walk.scan().offset(), walk.scan().sequence());
            let (source, failed) = match walk.next_block() {
                Ok(Found::Block(block)) => {
                    self.notes.blocks += 1;
                    place.pass(offset, &block.header);
                    let mask = Mask::of_block(&self.store.runs.deletions, &block.header);
                    let (file, mask) = (segment.file, mask.as_ref());
                    let live = LiveBlock { block, file, offset, mask };
                    let take = |record: &RecordRef<'_>| (self.each)(record);
                    if for_each_record(&live, &mut self.notes, &mut self.unfolded, take).is_break()
                    {
                        return Ok(ControlFlow::Break(()));
                    }
                    continue;
                }
                Ok(Found::End(End::Full)) => return Ok(ControlFlow::Continue(())),
                Ok(Found::End(End::Tail(source))) => (Source::Format(source), None),
                Err(error) => (Source::Unreadable(error.to_string()), Some(error)),
            };
            let bytes = match (within, &failed) {
                _ if tried_at == offset => SEARCH_MAX_BYTES,
                (Some(within), _) => within,
                (None, Some(_)) => SEARCH_MAX_BYTES,
                (None, None) => place.patience_bytes(),
            };
            let proof = if bytes > 0 { walk.find_proof_within(bytes)? } else { None };
            let Some((at, header)) = proof else {
                return failed.map_or(Ok(ControlFlow::Continue(())), |error| Err(error.into()));
            };
            // A writer may have written it since: looked at once more before it counts.
            if tried_at != offset {
                tried_at = offset;
                continue;
            }
            if self.patience.recycled(file, segment, true)? {
                return Ok(ControlFlow::Continue(()));
            }
            let loss = Loss::Blocks(header.sequence - sequence);
            self.notes.take_damage(Damage::at(&segment.file.name(), offset, source, loss));
            walk.resume(at, &header);
            place.go_on(at, &header);
        }
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
        self.looks = 0;
    }

    /// Goes on with the block at `offset`, behind some that are damaged.
    fn go_on(&mut self, offset: u64, header: &BlockHeader) {
        (self.offset, self.sequence) = (offset, header.sequence);
        (self.previous_crc, self.looks) = (header.previous_crc, 0);
    }

    /// How far to look for proof of damage now. At the end of a log nothing is to be found, however often:
    /// so that is done at the second, fourth, eighth look, and further each time.
    fn patience_bytes(&mut self) -> u64 {
        self.looks = self.looks.saturating_add(1);
        let is_due = self.looks > 1 && self.looks.is_power_of_two();
        if is_due { SEARCH_MAX_BYTES.min(u64::from(self.looks) * SEARCH_BYTES) } else { 0 }
    }
}
