//! Copies of segments that the log still has too. Readers take the log's; verification reads both in
//! full, since the copy is what is left when the log comes round.
//!
//! Invariant: a bit that has rotted in any copy of `kept/` is told. Held by
//! `rot_in_a_copy_is_told_while_the_log_has_the_segment` (`tests/rot`).

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::index::SegmentIndex;
use crate::segments::SegmentFile;
use crate::store::Store;
use baro_log::{Blocks, Found, FoundHeader, kept_epochs, kept_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{End, Error as Format, SegmentHeader, What};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyFile, Storage, StorageFile};
use std::collections::BTreeSet;

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) copies: u64,
    pub(super) damage: Vec<Damage>,
}

/// Reads each copy that is not read in place of its segment. `each` gets the bytes of a block.
pub(super) fn check(store: &Store, access: Access, mut each: impl FnMut(u64)) -> Result<Read> {
    let (mut read, mut blocks) = (Read::default(), Blocks::new()?);
    let instead = store.index()?.segments.iter().filter_map(|entry| match entry.segment.file {
        SegmentFile::Kept(epoch) => Some(epoch),
        SegmentFile::Log(_) => None,
    });
    let instead: BTreeSet<u64> = instead.collect();
    for epoch in kept_epochs(&store.storage)?.difference(&instead).copied() {
        // What of it counts: nothing where all its blocks are superseded.
        let Some(entry) = store.index()?.of_epoch(epoch) else { continue };
        let name = kept_name(epoch);
        let file = match store.storage.open(&name, access) {
            // Released meanwhile.
            Err(error) if error.is_missing() => continue,
            Err(error) => {
                read.damage.push(unreadable(&name, 0, &error, entry.blocks));
                continue;
            }
            Ok(file) => file,
        };
        read.copies += 1;
        one(&file, &name, entry, &mut blocks, &mut read.damage, &mut each)?;
    }
    Ok(read)
}

fn unreadable(name: &str, offset: u64, error: &baro_sys::Error, blocks: u64) -> Damage {
    let (source, loss) = (Source::Unreadable(error.to_string()), Loss::Copied(blocks));
    Damage { file: name.to_owned(), offset, source, loss }
}

/// Reads one copy of the segment that `entry` has found in the log.
fn one(
    file: &AnyFile,
    name: &str,
    entry: &SegmentIndex,
    blocks: &mut Blocks,
    damage: &mut Vec<Damage>,
    each: &mut impl FnMut(u64),
) -> Result<()> {
    let wanted = &entry.segment.header;
    let live = entry.live.end - entry.live.start;
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let read = match file.read_at(0, &mut unit) {
        Ok(read) => read,
        Err(error) => {
            damage.push(unreadable(name, 0, &error, live));
            return Ok(());
        }
    };
    let (header, crc) = match SegmentHeader::decode(unit.get(..read).unwrap_or(&[])) {
        Ok((header, crc)) if header.epoch == wanted.epoch && header.store == wanted.store => {
            (header, crc)
        }
        Ok((header, _)) => {
            let (what, field, offset) = (What::Segment, "epoch", 40);
            let (expected, found) = (wanted.epoch, header.epoch);
            let source = Format::Mismatch { what, field, offset, expected, found };
            damage.push(Damage::format(name, source, Loss::Copied(live)));
            return Ok(());
        }
        Err(source) => {
            // The blocks behind it chain to the header that the log has.
            damage.push(Damage::format(name, source, Loss::Copied(0)));
            (*wanted, entry.segment.crc)
        }
    };
    let size = file.size_bytes()?;
    let mut walk = blocks.walk(file, header, crc);
    loop {
        let (offset, sequence) = (walk.scan().offset(), walk.scan().sequence());
        let end = match walk.next_block() {
            Ok(Found::Block(block)) => {
                each(block.header.block_bytes() as u64);
                continue;
            }
            Ok(Found::End(end)) => end,
            Err(error) => {
                let left = entry.live.end.saturating_sub(sequence);
                damage.push(unreadable(name, offset, &error, left));
                return Ok(());
            }
        };
        // Behind the last block that counts nothing does.
        if sequence >= entry.live.end {
            return Ok(());
        }
        let source = match end {
            End::Tail(source) => source,
            End::Full => return Ok(()),
        };
        if offset < size {
            // A payload that is damaged: its header still leads on.
            if let Ok(FoundHeader::Block(_)) = walk.next_header() {
                damage.push(Damage::format(name, source, Loss::Copied(1)));
                continue;
            }
            // A copy ends behind its last block, so more was there.
            walk.set_durable(u64::MAX);
            if let Some((at, found)) = walk.find_proof()? {
                let missing = found.sequence.saturating_sub(sequence);
                damage.push(Damage::format(name, source, Loss::Copied(missing)));
                walk.resume(at, &found);
                continue;
            }
        }
        let missing = entry.live.end.saturating_sub(sequence);
        damage.push(Damage::format(name, source, Loss::Copied(missing)));
        return Ok(());
    }
}
