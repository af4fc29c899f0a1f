//! The segment files as their headers tell: which are started, in which order, and which are
//! damaged, missing, foreign or in the wrong place. A damaged header is no reason to give up the
//! blocks behind it: the first block tells the same, and its chain proves it.
//!
//! Held by `tests/hostile.rs`.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use baro_log::{Blocks, FoundHeader, kept_epochs, kept_name, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BlockHeader, DeadTail, Error as Format, Identity, SegmentHeader, SegmentKind, Wear, What,
    WhenFull,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeSet;

/// A file that holds a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentFile {
    /// Of the log, by its number.
    Log(u32),
    /// Copied out of the log for a pin, by its epoch.
    Kept(u64),
}

impl SegmentFile {
    /// The file's name, relative to the store.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            SegmentFile::Log(index) => segment_name(index),
            SegmentFile::Kept(epoch) => kept_name(epoch),
        }
    }
}

/// A started segment and the file it is in (which is not what its header says if files have been
/// swapped).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentRef {
    pub(crate) file: SegmentFile,
    pub(crate) header: SegmentHeader,
    pub(crate) crc: u32,
}

/// All segment files at one moment.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// By rising epoch, each epoch once.
    pub(crate) started: Vec<SegmentRef>,
    pub(crate) blank: u32,
    /// Segment files that are there.
    pub(crate) grown: u32,
    /// Of the newest header: what was handed to the device before it.
    pub(crate) wear: Wear,
    pub(crate) damage: Vec<Damage>,
    /// Of the newest header: blocks that are valid and dead all the same.
    pub(crate) dead: Vec<DeadTail>,
    /// Epoch of that header; 0 if there is none.
    pub(crate) newest_epoch: u64,
}

impl Segments {
    /// Those of this epoch and later ones.
    pub(crate) fn since(&self, epoch: u64) -> Segments {
        let started = self.started.iter().filter(|s| s.header.epoch >= epoch).copied().collect();
        Segments { started, dead: self.dead.clone(), ..Segments::default() }
    }
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
    let mut to_come = Vec::new();
    for index in 0..identity.segments {
        let name = segment_name(index);
        let file = match storage.open(&name, access) {
            Err(error) if error.is_missing() && identity.may_be_to_come(index) => {
                to_come.push((name, error));
                continue;
            }
            Err(error) if error.is_missing() => {
                let source = Source::Unreadable(error.to_string());
                found.damage.push(Damage { file: name, offset: 0, source, loss: Loss::Segment });
                continue;
            }
            other => other?,
        };
        // Files are added in order, so what is missing before one that is there is lost.
        found.damage.extend(to_come.drain(..).map(|(file, error)| {
            let source = Source::Unreadable(error.to_string());
            Damage { file, offset: 0, source, loss: Loss::Segment }
        }));
        found.grown = index + 1;
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
    let in_log: BTreeSet<u64> = found.started.iter().map(|s| s.header.epoch).collect();
    read_kept(storage, identity, access, &in_log, &mut found)?;
    let misplaced = |s: &SegmentRef| s.file != SegmentFile::Log(s.header.index);
    found.started.sort_by_key(|s| (s.header.epoch, misplaced(s)));
    let mut twice = Vec::new();
    found.started.dedup_by(|later, first| {
        let same = later.header.epoch == first.header.epoch;
        if same {
            twice.push((later.file, first.header.epoch));
        }
        same
    });
    found.damage.extend(twice.into_iter().map(|(file, epoch)| Damage {
        file: file.name(),
        offset: 40,
        source: Source::Twice { epoch },
        loss: Loss::Segment,
    }));
    Ok(found)
}

/// Segments that were copied out of the log and are not in it any more.
fn read_kept<S: Storage>(
    storage: &S,
    identity: &Identity,
    access: Access,
    in_log: &BTreeSet<u64>,
    found: &mut Segments,
) -> Result<()> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    for epoch in kept_epochs(storage)?.difference(in_log).copied() {
        let file = SegmentFile::Kept(epoch);
        let read = match storage.open(&file.name(), access).and_then(|f| f.read_at(0, &mut unit)) {
            // Released meanwhile.
            Err(error) if error.is_missing() => continue,
            other => other?,
        };
        match SegmentHeader::decode(unit.get(..read).unwrap_or(&[])) {
            Ok((header, _)) if header.epoch != epoch || header.store != identity.store => {
                let (field, offset) = ("epoch", 40);
                let (expected, found_) = (epoch, header.epoch);
                let what = What::Segment;
                let source = Format::Mismatch { what, field, offset, expected, found: found_ };
                found.damage.push(Damage::format(&file.name(), source, Loss::Segment));
            }
            Ok((header, crc)) => found.started.push(SegmentRef { file, header, crc }),
            Err(source) => {
                found.damage.push(Damage::format(&file.name(), source, Loss::Segment));
            }
        }
    }
    Ok(())
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
            // A power cut while a segment is started anew leaves a torn header, and where segments
            // are recycled the blocks of its earlier life behind it, which prove themselves. Should
            // any be missing, that is told where blocks are counted.
            let may_be_cut = rebuilt.is_none() || identity.when_full == WhenFull::Recycle;
            let loss = if torn && may_be_cut { Loss::Nothing } else { Loss::Segment };
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
    if header.epoch > found.newest_epoch {
        found.newest_epoch = header.epoch;
        found.dead = SegmentHeader::dead_tails(unit).collect();
        found.wear = Wear::of(unit);
    }
    Ok(Some(SegmentRef { file: SegmentFile::Log(index), header, crc }))
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
            let file = SegmentFile::Log(place.index);
            return Ok(Some(SegmentRef { file, header, crc: first.previous_crc }));
        }
    }
    Ok(None)
}
