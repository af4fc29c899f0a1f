//! The segment files as their headers tell: which are started, in which order, and which are
//! damaged, missing, foreign or in the wrong place. A damaged header is no reason to give up the
//! blocks behind it: the first block tells the same, and its chain proves it.
//!
//! Held by `tests/hostile.rs`.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BlockHeader, DeadTail, Error as Format, Identity, SegmentHeader, SegmentKind, What,
};
use baro_recorder::log::{Blocks, FoundHeader, segment_name};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};

/// A started segment and the file it is in (which is not what its header says if files have been
/// swapped).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentRef {
    pub(crate) file: u32,
    pub(crate) header: SegmentHeader,
    pub(crate) crc: u32,
}

/// All segment files at one moment.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// By rising epoch, each epoch once.
    pub(crate) started: Vec<SegmentRef>,
    pub(crate) blank: u32,
    pub(crate) damage: Vec<Damage>,
    /// Of the newest header: blocks that are valid and dead all the same.
    pub(crate) dead: Vec<DeadTail>,
    /// Epoch of that header.
    dead_epoch: u64,
}

/// Reads all headers. Beside a writer one pass is no snapshot: a segment may be started after it
/// was looked at, and the next one before. So where epochs are missing there is a second pass,
/// which finds every segment up to the newest of the first, or that it has been recycled.
pub(crate) fn read_segments<S: Storage>(
    storage: &S,
    identity: &Identity,
    access: Access,
) -> Result<Segments> {
    let first = read_once(storage, identity, access)?;
    let epochs =
        |s: &Segments| Some((s.started.first()?.header.epoch, s.started.last()?.header.epoch));
    let Some((oldest, newest)) = epochs(&first) else { return Ok(first) };
    if newest - oldest < first.started.len() as u64 {
        return Ok(first);
    }
    let mut second = read_once(storage, identity, access)?;
    second.started.retain(|segment| segment.header.epoch <= newest);
    Ok(second)
}

fn read_once<S: Storage>(storage: &S, identity: &Identity, access: Access) -> Result<Segments> {
    let mut found = Segments::default();
    let mut waits = HEADER_WAITS;
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let mut blocks = Blocks::new()?;
    for index in 0..identity.segments {
        let name = segment_name(index);
        let file = match storage.open(&name, access) {
            Err(error) if error.is_missing() => {
                let source = Source::Unreadable(error.to_string());
                found.damage.push(Damage { file: name, offset: 0, source, loss: Loss::Segment });
                continue;
            }
            other => other?,
        };
        let place = Place { file: &file, name: &name, index, identity };
        // A header that is being written may be read torn.
        if waits > 0 && is_torn(&file, &mut unit) {
            waits -= 1;
            baro_sys::clock::sleep_ns(HEADER_WAIT_NS);
        }
        if let Some(segment) = look(&place, &mut unit, &mut blocks, &mut found)? {
            found.started.push(segment);
        }
    }
    found.started.sort_by_key(|s| (s.header.epoch, s.file != s.header.index));
    let mut twice = Vec::new();
    found.started.dedup_by(|later, first| {
        let same = later.header.epoch == first.header.epoch;
        if same {
            twice.push((later.file, first.header.epoch));
        }
        same
    });
    found.damage.extend(twice.into_iter().map(|(file, epoch)| Damage {
        file: segment_name(file),
        offset: 40,
        source: Source::Twice { epoch },
        loss: Loss::Segment,
    }));
    Ok(found)
}

/// Damaged headers for which a moment is waited: a writer has at most a few in the making.
const HEADER_WAITS: u32 = 3;
const HEADER_WAIT_NS: u64 = 10_000_000;

fn is_torn<F: StorageFile>(file: &F, unit: &mut AlignedBuffer) -> bool {
    let Ok(read) = file.read_at(0, unit) else { return false };
    let decoded = SegmentHeader::decode(unit.get(..read).unwrap_or(&[]));
    matches!(decoded, Err(Format::Mismatch { field: "CRC", .. }))
}

struct Place<'a, F> {
    file: &'a F,
    name: &'a str,
    index: u32,
    identity: &'a Identity,
}

fn look<F: StorageFile>(
    place: &Place<'_, F>,
    unit: &mut AlignedBuffer,
    blocks: &mut Blocks,
    found: &mut Segments,
) -> Result<Option<SegmentRef>> {
    let Place { file, name, index, identity } = *place;
    let read = match file.read_at(0, unit) {
        Ok(read) => read,
        Err(error) => {
            let source = Source::Unreadable(error.to_string());
            let file = name.to_owned();
            found.damage.push(Damage { file, offset: 0, source, loss: Loss::Segment });
            return Ok(None);
        }
    };
    let size = file.size_bytes()?;
    let decoded = SegmentHeader::decode(unit.get(..read).unwrap_or(&[]));
    let started = !matches!(&decoded, Ok((header, _)) if !header.started());
    if size < identity.segment_bytes && decoded.is_ok() {
        let (expected, found_) = (identity.segment_bytes, size);
        let source =
            Format::Truncated { what: What::Segment, offset: size, expected, found: found_ };
        let loss = if started { Loss::Segment } else { Loss::Nothing };
        found.damage.push(Damage::format(name, source, loss));
    }
    let (header, crc) = match decoded {
        Ok(decoded) => decoded,
        Err(source) => {
            let rebuilt = rebuild(place, unit, blocks)?;
            let torn = matches!(source, Format::Mismatch { field: "CRC", .. });
            let loss = if rebuilt.is_none() && torn { Loss::Nothing } else { Loss::Segment };
            found.damage.push(Damage::format(name, source, loss));
            return Ok(rebuilt);
        }
    };
    let wrong = belongs(&header, identity, index);
    if let Some(source) = wrong {
        found.damage.push(Damage::format(name, source, Loss::Segment));
        // In the wrong place it is this store's all the same; of another store it is not.
        if !matches!(source, Format::Mismatch { field: "index" | "segment bytes", .. }) {
            return Ok(None);
        }
    }
    if !started {
        found.blank += 1;
        return Ok(None);
    }
    if header.epoch > found.dead_epoch {
        found.dead_epoch = header.epoch;
        found.dead = SegmentHeader::dead_tails(unit).collect();
    }
    Ok(Some(SegmentRef { file: index, header, crc }))
}

/// What is wrong with a valid header in this place.
fn belongs(header: &SegmentHeader, identity: &Identity, index: u32) -> Option<Format> {
    let half = |id: [u8; 16], shift: u32| (u128::from_le_bytes(id) >> shift) as u64;
    let (ours, theirs) = (identity.store.0, header.store.0);
    let kind = if header.kind == SegmentKind::Log { 1 } else { 2 };
    [
        ("store id", 16, half(ours, 0), half(theirs, 0)),
        ("store id", 24, half(ours, 64), half(theirs, 64)),
        ("kind", 10, 1, kind),
        ("segment bytes", 56, identity.segment_bytes, header.segment_bytes),
        ("index", 48, u64::from(index), u64::from(header.index)),
    ]
    .into_iter()
    .find(|(_, _, expected, found)| expected != found)
    .map(|(field, offset, expected, found)| Format::Mismatch {
        what: What::Segment,
        field,
        offset,
        expected,
        found,
    })
}

/// The header as the blocks behind it tell; `None` if there are none of this store, or if nothing
/// proves that they were ever durable: then it is what a crash leaves of a segment being started,
/// which recovery does not count either.
fn rebuild<F: StorageFile>(
    place: &Place<'_, F>,
    unit: &mut AlignedBuffer,
    blocks: &mut Blocks,
) -> Result<Option<SegmentRef>> {
    let Ok(read) = place.file.read_at(UNIT_BYTES as u64, unit) else { return Ok(None) };
    let Ok(first) = BlockHeader::decode(unit.get(..read).unwrap_or(&[])) else { return Ok(None) };
    if first.store != place.identity.store {
        return Ok(None);
    }
    let header = SegmentHeader {
        kind: SegmentKind::Log,
        store: first.store,
        session: first.session,
        epoch: first.epoch,
        index: place.index,
        previous_crc: 0,
        segment_bytes: place.identity.segment_bytes,
        first_block: first.sequence,
        realtime_ns: first.realtime_ns,
        boottime_ns: first.boottime_ns,
        boot_id: [0; 16],
    };
    let mut walk = blocks.walk(place.file, header, first.previous_crc);
    while let FoundHeader::Block(block) = walk.next_header()? {
        if block.durable > first.sequence {
            let file = place.index;
            return Ok(Some(SegmentRef { file, header, crc: first.previous_crc }));
        }
    }
    Ok(None)
}
