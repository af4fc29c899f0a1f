//! Reads blocks that are known by their headers, those that lie close together at once.
//!
//! Held by `tests/newest.rs`: what is read, and how often.

use super::{Known, OfBlock, samples_of, texts_of};
use crate::damage::{Damage, Loss, Source};
use crate::index::Patience;
use crate::mask::Mask;
use crate::read::{LiveBlock, Notes};
use crate::{Error, Result, Store};
use baro_ondisk::limits::UNIT_BYTES;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{AnyFile, StorageFile};
use std::sync::Arc;

/// Most bytes read at once, but for a block that is larger.
const AT_ONCE_BYTES: u64 = 1 << 20;
/// What lies between two blocks is read with them if it is no more: a read of its own costs more.
const GAP_BYTES: u64 = 32 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct BlockReader<'a> {
    store: &'a Store,
    patience: Patience,
    /// Of this epoch.
    file: Option<(u64, AnyFile)>,
    buffer: AlignedBuffer,
    /// Where in the file the buffer begins, and how much of it is filled.
    start: u64,
    filled: usize,
}

impl<'a> BlockReader<'a> {
    pub(super) fn new(store: &'a Store) -> Result<Self> {
        let patience = Patience::new(store.identity.when_full);
        let buffer = AlignedBuffer::unlocked(UNIT_BYTES)?;
        Ok(BlockReader { store, patience, file: None, buffer, start: 0, filled: 0 })
    }

    /// The first of these blocks; the others will be asked for next.
    pub(super) fn read(&mut self, blocks: &[Known<'_>]) -> Result<OfBlock> {
        let mut found =
            OfBlock { part: None, texts: Vec::new(), notes: Notes::default(), bytes: 0 };
        let Some(Known { entry, block }) = blocks.first() else { return Ok(found) };
        let (segment, place) = (entry.segment, block.place);
        let epoch = segment.header.epoch;
        if self.file.as_ref().is_none_or(|(of, _)| *of != epoch) {
            let opened = segment.file.open(&self.store.storage, self.store.access)?;
            let recycled = || Error::Recycled { path: self.store.path.clone() };
            let file = opened.ok_or_else(recycled)?;
            (self.file, self.filled) = (Some((epoch, file)), 0);
        }
        let Some((_, file)) = &self.file else { return Ok(found) };
        found.notes.blocks = 1;
        let end = place.offset + u64::from(place.bytes);
        if place.offset < self.start || end > self.start + self.filled as u64 {
            self.filled = 0;
            let bytes = reach(blocks).next_multiple_of(UNIT_BYTES);
            if self.buffer.len() < bytes {
                self.buffer = AlignedBuffer::unlocked(bytes)?;
            }
            let to = self.buffer.get_mut(..bytes).unwrap_or(&mut []);
            match file.read_at(place.offset, to) {
                Ok(read) => (self.start, self.filled) = (place.offset, read),
                Err(error) if bytes > place.bytes as usize => {
                    // One of the others may be what cannot be read.
                    let to = self.buffer.get_mut(..place.bytes as usize).unwrap_or(&mut []);
                    match file.read_at(place.offset, to) {
                        Ok(read) => (self.start, self.filled) = (place.offset, read),
                        Err(_) => return Ok(unreadable(found, blocks, &error)),
                    }
                }
                Err(error) => return Ok(unreadable(found, blocks, &error)),
            }
        }
        let from = usize::try_from(place.offset - self.start).unwrap_or(usize::MAX);
        let until = from.saturating_add(place.bytes as usize).min(self.filled);
        match place.whole(self.buffer.get(from..until).unwrap_or(&[])) {
            Ok(whole) => {
                let mask = Mask::of_block(&self.store.runs.deletions, &whole.header);
                let (file, mask) = (segment.file, mask.as_ref());
                let live = LiveBlock { block: whole, file, offset: place.offset, mask };
                found.part = samples_of(&live, &mut found.notes);
                let mut notes = Notes::default();
                texts_of(&live, &mut notes, |text| found.texts.push(Arc::new(text)));
                found.notes.add(notes);
                let texts = found.texts.iter().map(|text| text.bytes()).sum::<usize>();
                let part = found.part.as_ref().map_or(0, super::LogPart::bytes);
                found.bytes = texts + part + size_of::<OfBlock>();
            }
            Err(_) if self.patience.recycled(file, &segment, true)? => {
                return Err(Error::Recycled { path: self.store.path.clone() });
            }
            Err(source) => {
                let name = segment.file.name();
                found.notes.damage.push(Damage::format(&name, source, Loss::Blocks(1)));
            }
        }
        Ok(found)
    }
}

fn unreadable(mut found: OfBlock, blocks: &[Known<'_>], error: &baro_sys::Error) -> OfBlock {
    if let Some(Known { entry, block }) = blocks.first() {
        let (file, offset) = (entry.segment.file.name(), block.place.offset);
        let source = Source::Unreadable(error.to_string());
        found.notes.damage.push(Damage { file, offset, source, loss: Loss::Blocks(1) });
    }
    found
}

/// Bytes to be read with the first of these blocks.
fn reach(blocks: &[Known<'_>]) -> usize {
    let Some(first) = blocks.first() else { return 0 };
    let start = first.block.place.offset;
    let mut end = start + u64::from(first.block.place.bytes);
    for Known { entry, block } in blocks.get(1..).unwrap_or(&[]) {
        let (offset, bytes) = (block.place.offset, u64::from(block.place.bytes));
        let near = offset >= end && offset - end <= GAP_BYTES;
        let same = entry.segment.header.epoch == first.entry.segment.header.epoch;
        if !same || !near || offset + bytes - start > AT_ONCE_BYTES {
            break;
        }
        end = offset + bytes;
    }
    usize::try_from(end - start).unwrap_or(usize::MAX)
}
