//! The segment files as their headers tell: which are started, in which order, and which are
//! damaged, missing, foreign or in the wrong place. A damaged header is no reason to give up the
//! blocks behind it: the first block tells the same ([`baro_log::rebuild`]).
//!
//! Held by `tests/hostile.rs` and `tests/rot.rs`.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use baro_log::{
    Blocks, Closed, Headers, Rebuilt, closed_as, kept_epochs, kept_name, rebuild, segment_name,
};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    Beside, CatalogEnd, DeadTail, Error as Format, Identity, Lives, Recycled, SegmentHeader,
    SegmentKind, Summary, Wear, What, WhenFull,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use std::collections::{BTreeMap, BTreeSet};

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

    /// Opens it. `None`: it is a copy that has gone with its pin since the store was opened, which is as if the
    /// segment had been recycled.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(crate) fn open(self, storage: &AnyStorage, access: Access) -> Result<Option<AnyFile>> {
        match storage.open(&self.name(), access) {
            Err(error) if error.is_missing() && matches!(self, SegmentFile::Kept(_)) => Ok(None),
            opened => Ok(Some(opened?)),
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

impl SegmentRef {
    /// What its session told of it when it was closed in order; `None` also of a copy for a pin.
    pub(crate) fn closed(&self, storage: &AnyStorage, access: Access) -> Result<Option<Closed>> {
        let SegmentFile::Log(_) = self.file else { return Ok(None) };
        let file = storage.open(&self.file.name(), access)?;
        Ok(closed_as(&file, &self.header)?)
    }
}

/// All segment files at one moment.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// By rising epoch, each epoch once.
    pub(crate) started: Vec<SegmentRef>,
    pub(crate) blank: u32,
    /// Segment files that are there.
    pub(crate) grown: u32,
    /// Segment files of the log that tell no epoch: missing, or with a damaged header.
    pub(crate) unread: u32,
    /// Of the newest header: what was handed to the device before it.
    pub(crate) wear: Wear,
    pub(crate) damage: Vec<Damage>,
    /// Of the newest header: blocks that are valid and dead all the same.
    pub(crate) dead: Vec<DeadTail>,
    /// Of all headers: where segments end, as the writer or a recovery has found it.
    pub(crate) ends: Vec<DeadTail>,
    /// What headers tell of other segments.
    pub(crate) summaries: Vec<(SegmentFile, Summary)>,
    /// What the newest header tells of the segments beside it, and any of the manifest.
    pub(crate) beside: Beside,
    /// What the newest header that tells it says of what was recycled, and its epoch.
    pub(crate) recycled: Option<(u64, Recycled)>,
    /// Others are beside it.
    differs: Option<(Lives, Lives)>,
    /// Files with a torn header, and their places in the list of damage.
    torn: BTreeMap<u32, usize>,
    /// Epoch of that header; 0 if there is none.
    pub(crate) newest_epoch: u64,
}

/// What the log tells of the catalog.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declarations {
    /// The highest id that was given; 0 if nothing tells.
    pub(crate) highest_id: u32,
    /// The catalog's last block, when the newest segment was begun or ended.
    pub(crate) end: Option<CatalogEnd>,
    /// Epoch of that segment.
    pub(crate) epoch: u64,
}

impl Segments {
    /// Those of this epoch and later ones.
    pub(crate) fn since(&self, epoch: u64) -> Segments {
        let started = self.started.iter().filter(|s| s.header.epoch >= epoch).copied().collect();
        let (dead, ends) = (self.dead.clone(), self.ends.clone());
        let summaries = self.summaries.clone();
        Segments { started, dead, ends, summaries, ..Segments::default() }
    }

    /// Files of the log that are damaged and tell no epoch.
    pub(crate) fn without_epoch(&self) -> Vec<&Damage> {
        let in_log = |damage: &&Damage| {
            let mut started = self.started.iter();
            let is_file = damage.loss == Loss::Segment && file_index(&damage.file).is_some();
            is_file && !started.any(|segment| segment.file.name() == damage.file)
        };
        self.damage.iter().filter(in_log).collect()
    }

    /// The epoch of one that tells none, if it is the only one beside the newest.
    pub(crate) fn epoch_of(&self, file: &str) -> Option<u64> {
        let told = self.beside.segments?;
        let is_newest = self.started.iter().all(|s| s.header.epoch <= self.newest_epoch);
        let index = file_index(file).filter(|_| is_newest)?;
        told.missing(&others(self), index, self.newest_epoch)
    }

    /// What the log tells of the catalog: its headers, and the end of the last session if it was closed in
    /// order. Nothing of a copy that was made one file after another.
    pub(crate) fn declared(&self, storage: &AnyStorage, access: Access) -> Result<Declarations> {
        let newest = self.started.last().filter(|s| matches!(s.file, SegmentFile::Log(_)));
        let Some(newest) = newest else { return Ok(Declarations::default()) };
        let epoch = newest.header.epoch;
        if baro_log::backup_reaches(storage).is_some_and(|to| epoch <= to) {
            return Ok(Declarations::default());
        }
        let closed = newest.closed(storage, access)?;
        let highest_id = closed.map_or(0, |closed| closed.highest_id).max(self.beside.highest_id);
        let told = self.beside.catalog.filter(|_| epoch == self.newest_epoch);
        let end = closed.and_then(|closed| closed.catalog).or(told);
        Ok(Declarations { highest_id, end, epoch })
    }
}

/// Reads all headers. Beside a writer one pass is no snapshot: a segment may be started after it
/// was looked at, and the next one before. So where epochs are missing there is a second pass,
/// which finds every segment up to the newest of the first, or that it has been recycled.
pub(crate) fn read_segments(
    storage: &AnyStorage,
    identity: &Identity,
    access: Access,
) -> Result<Segments> {
    let mut first = read_once(storage, identity, access)?;
    // A writer may begin two segments during one look. Only what is so twice is so.
    let mut replaced = None;
    for _ in 0..LOOKS {
        let Some((expected, found)) = first.differs else { break };
        let again = read_once(storage, identity, access)?;
        let stays = again.differs == first.differs && again.newest_epoch == first.newest_epoch;
        first = again;
        if stays {
            let newest = first.started.iter().rev().find(|s| s.header.epoch == first.newest_epoch);
            let file = newest.map_or_else(String::new, |newest| newest.file.name());
            let source = Source::Beside { expected: expected.count, found: found.count };
            replaced = Some(Damage { file, offset: 4080, source, loss: Loss::Replaced });
            break;
        }
    }
    let epochs =
        |s: &Segments| Some((s.started.first()?.header.epoch, s.started.last()?.header.epoch));
    if let Some((oldest, newest)) = epochs(&first)
        && newest - oldest >= first.started.len() as u64
    {
        first = read_once(storage, identity, access)?;
        first.started.retain(|segment| segment.header.epoch <= newest);
    }
    first.damage.extend(replaced);
    // Beside a writer the log may have gone on since its headers were read.
    if is_behind_copies(&first) {
        let again = read_once(storage, identity, access)?;
        if is_behind_copies(&again) && again.newest_epoch == first.newest_epoch {
            let (file, offset, source) = (baro_log::FOLDER.to_owned(), 0, Source::Earlier);
            first.damage.push(Damage { file, offset, source, loss: Loss::Replaced });
        }
    }
    Ok(first)
}

/// Whether there is a copy of a segment that is newer than the log: one is made of segments of the log only.
fn is_behind_copies(found: &Segments) -> bool {
    let newest = found.started.last();
    let is_copy = newest.is_some_and(|newest| matches!(newest.file, SegmentFile::Kept(_)));
    is_copy && found.unread == 0
}

/// Looks at all headers until two in a row have found the same.
const LOOKS: u32 = 8;

/// The number of a file of the log.
fn file_index(name: &str) -> Option<u32> {
    let number = name.strip_prefix(baro_log::FOLDER)?.strip_prefix('/')?.strip_suffix(".seg")?;
    number.parse().ok()
}

/// What the newest header tells of the segments beside it, and what there is, if that is another thing.
/// Nothing is known where headers are damaged, nor of a backup, which copies one file after another.
fn differs(storage: &AnyStorage, found: &Segments) -> Option<(Lives, Lives)> {
    let told = found.beside.segments.filter(|_| found.unread == 0)?;
    // The newest has lost its header, and what an older one tells is of the time before.
    if found.started.iter().any(|segment| segment.header.epoch > found.newest_epoch) {
        return None;
    }
    let there = Lives::of(&others(found));
    let copied = || baro_log::backup_reaches(storage).is_some_and(|to| found.newest_epoch <= to);
    (!there.are(&told) && !copied()).then_some((told, there))
}

/// The others beside the newest, by their files.
fn others(found: &Segments) -> BTreeMap<u32, (u64, u64)> {
    let others = found.started.iter().filter(|s| s.header.epoch != found.newest_epoch);
    let place = |s: &SegmentRef| match s.file {
        SegmentFile::Log(index) => Some((index, (s.header.epoch, s.header.session))),
        SegmentFile::Kept(_) => None,
    };
    others.filter_map(place).collect()
}

/// Torn headers that no crash explains are those of segments that held something.
fn tell_torn(storage: &AnyStorage, found: &mut Segments, when_full: WhenFull) {
    let others = others(found);
    let mut torn = found.torn.clone();
    torn.retain(|index, _| !others.contains_key(index));
    let newest = found.newest_epoch;
    // Where the newest itself has lost its header, nothing is known.
    let is_newest = found.started.iter().all(|segment| segment.header.epoch <= newest);
    let copied = || baro_log::backup_reaches(storage).is_some_and(|to| newest <= to);
    if torn.is_empty() || !is_newest || copied() {
        return;
    }
    let unread = (found.unread as usize).saturating_sub(torn.len());
    let headers = Headers { beside: &found.beside, newest, others: &others, unread };
    for index in headers.lost(&torn.keys().copied().collect(), when_full) {
        let place = torn.get(&index).and_then(|damage| found.damage.get_mut(*damage));
        place.into_iter().for_each(|damage| damage.loss = Loss::Segment);
    }
}

fn read_once(storage: &AnyStorage, identity: &Identity, access: Access) -> Result<Segments> {
    let mut found = Segments::default();
    let mut waits = HEADER_WAITS;
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let mut blocks = Blocks::new()?;
    let mut headless = Vec::new();
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
        let mut read = file.read_at(0, &mut unit);
        // A header that is being written may be read torn.
        if waits > 0 && read.as_ref().is_ok_and(|read| is_torn(unit.get(..*read).unwrap_or(&[]))) {
            waits -= 1;
            baro_sys::clock::sleep_ns(HEADER_WAIT_NS);
            read = file.read_at(0, &mut unit);
        }
        let to = (&mut found, &mut headless);
        if let Some(segment) = look(&place, (&unit, read), &mut blocks, to)? {
            found.started.push(segment);
        }
    }
    count_headless(&mut found, headless, identity.when_full);
    found.unread = found.grown.saturating_sub(found.blank + found.started.len() as u32);
    found.differs = differs(storage, &found);
    tell_torn(storage, &mut found, identity.when_full);
    if found.beside.changed {
        let (file, offset, source) = (baro_log::FOLDER.to_owned(), 0, Source::Earlier);
        found.damage.push(Damage { file, offset, source, loss: Loss::Replaced });
    }
    if found.beside.unread {
        let (file, offset, source) = (baro_log::FOLDER.to_owned(), 0, Source::Unread);
        found.damage.push(Damage { file, offset, source, loss: Loss::Reused });
    }
    let in_log: BTreeSet<u64> = found.started.iter().map(|s| s.header.epoch).collect();
    read_kept((storage, access), identity, &in_log, &mut found, &mut blocks)?;
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
fn read_kept(
    (storage, access): (&AnyStorage, Access),
    identity: &Identity,
    in_log: &BTreeSet<u64>,
    found: &mut Segments,
    blocks: &mut Blocks,
) -> Result<()> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    for epoch in kept_epochs(storage)?.difference(in_log).copied() {
        let file = SegmentFile::Kept(epoch);
        let opened = match storage.open(&file.name(), access) {
            // Released meanwhile.
            Err(error) if error.is_missing() => continue,
            other => other?,
        };
        let decoded = match opened.read_at(0, &mut unit) {
            Ok(read) => {
                SegmentHeader::decode(unit.get(..read).unwrap_or(&[])).map_err(Source::Format)
            }
            Err(error) => Err(Source::Unreadable(error.to_string())),
        };
        match decoded {
            Ok((header, _)) if header.epoch != epoch || header.store != identity.store => {
                let (field, offset) = ("epoch", 40);
                let (expected, found_) = (epoch, header.epoch);
                let what = What::Segment;
                let source = Format::Mismatch { what, field, offset, expected, found: found_ };
                found.damage.push(Damage::format(&file.name(), source, Loss::Segment));
            }
            Ok((header, crc)) => found.started.push(SegmentRef { file, header, crc }),
            Err(source) => {
                found.damage.push(Damage::at(&file.name(), 0, source, Loss::Segment));
                // A copy is made of what counts, so its blocks prove themselves.
                let place = (0, identity.segment_bytes);
                let rebuilt = rebuild(&opened, blocks, identity.store, place)?;
                let header = rebuilt.filter(|rebuilt| rebuilt.header.epoch == epoch);
                let of = |Rebuilt { header, crc, .. }| SegmentRef { file, header, crc };
                found.started.extend(header.map(of));
            }
        }
    }
    Ok(())
}

/// A segment whose header is damaged, as its blocks tell.
struct Headless {
    rebuilt: Rebuilt,
    /// The header is what a power cut may leave.
    torn: bool,
    /// Its place in the list of damage.
    damage: usize,
}

/// Takes in those whose blocks are proven, by themselves, by a later segment or by what a later
/// header tells of their end.
fn count_headless(found: &mut Segments, mut headless: Vec<Headless>, when_full: WhenFull) {
    headless.sort_by_key(|one| std::cmp::Reverse(one.rebuilt.header.epoch));
    for Headless { rebuilt, torn, damage } in headless {
        let others = found.started.iter().map(|segment| &segment.header);
        if !rebuilt.counts(others, &found.ends) {
            continue;
        }
        let file = SegmentFile::Log(rebuilt.index);
        let (header, crc) = (rebuilt.header, rebuilt.crc);
        found.started.push(SegmentRef { file, header, crc });
        // A power cut while a segment is started anew leaves a torn header, and where segments are
        // recycled the blocks of its earlier life behind it. Should any be missing, that is told
        // where blocks are counted.
        let may_be_cut = torn && when_full == WhenFull::Recycle;
        if let Some(damage) = found.damage.get_mut(damage).filter(|_| !may_be_cut) {
            damage.loss = Loss::Segment;
        }
    }
}

/// Damaged headers for which a moment is waited: a writer has at most a few in the making.
const HEADER_WAITS: u32 = 3;
const HEADER_WAIT_NS: u64 = 10_000_000;

fn is_torn(unit: &[u8]) -> bool {
    matches!(SegmentHeader::decode(unit), Err(Format::Mismatch { field: "CRC", .. }))
}

struct Place<'a> {
    file: &'a AnyFile,
    name: &'a str,
    index: u32,
    identity: &'a Identity,
}

/// What the blocks of a segment tell whose header is damaged.
fn headless_of(
    place: &Place<'_>,
    blocks: &mut Blocks,
    (torn, damage): (bool, usize),
) -> Result<Option<Headless>> {
    let Place { file, index, identity, .. } = *place;
    let rebuilt = rebuild(file, blocks, identity.store, (index, identity.segment_bytes))?;
    Ok(rebuilt.map(|rebuilt| Headless { rebuilt, torn, damage }))
}

fn look(
    place: &Place<'_>,
    (unit, read): (&[u8], baro_sys::Result<usize>),
    blocks: &mut Blocks,
    (found, headless): (&mut Segments, &mut Vec<Headless>),
) -> Result<Option<SegmentRef>> {
    let Place { file, name, index, identity } = *place;
    let read = match read {
        Ok(read) => read,
        Err(error) => {
            let source = Source::Unreadable(error.to_string());
            headless.extend(headless_of(place, blocks, (false, found.damage.len()))?);
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
            let torn = matches!(source, Format::Mismatch { field: "CRC", .. });
            let damage = found.damage.len();
            headless.extend(headless_of(place, blocks, (torn, damage))?);
            let loss = if torn { Loss::Nothing } else { Loss::Segment };
            if torn {
                found.torn.insert(index, damage);
            }
            found.damage.push(Damage::format(name, source, loss));
            return Ok(None);
        }
    };
    let wrong = belongs(&header, identity, index);
    if let Some(source) = wrong {
        // It may be the header alone that is of another place or store.
        let place = (index, identity.segment_bytes);
        let rebuilt = rebuild(file, blocks, identity.store, place)?;
        let is_other = |rebuilt: &Rebuilt| {
            header.store != identity.store || rebuilt.header.epoch != header.epoch
        };
        let (rebuilt, damage) = (rebuilt.filter(is_other), found.damage.len());
        found.damage.push(Damage::format(name, source, Loss::Segment));
        if let Some(rebuilt) = rebuilt {
            headless.push(Headless { rebuilt, torn: false, damage });
            return Ok(None);
        }
        // In the wrong place it is this store's all the same; of another store it is not.
        if !matches!(source, Format::Mismatch { field: "index" | "segment bytes", .. }) {
            return Ok(None);
        }
    }
    if !started {
        found.blank += 1;
        return Ok(None);
    }
    found.ends.extend(SegmentHeader::dead_tails(unit));
    found.beside.meet(&Beside::of(unit), header.epoch > found.newest_epoch);
    Recycled::newest(&mut found.recycled, header.epoch, unit);
    let file = SegmentFile::Log(index);
    found.summaries.extend(SegmentHeader::summary(unit).map(|summary| (file, summary)));
    if header.epoch > found.newest_epoch {
        found.newest_epoch = header.epoch;
        found.dead = SegmentHeader::dead_tails(unit).collect();
        found.wear = Wear::of(unit);
    }
    Ok(Some(SegmentRef { file, header, crc }))
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
