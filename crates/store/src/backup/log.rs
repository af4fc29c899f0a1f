//! The log's part of a backup: which segments are new, and how far the newest one is copied.
//!
//! Of the newest segment only the blocks that were seen before anything of the log is copied: a block
//! says how far its session was durable when it was made, and what it says must be in the copy.

use super::mark::NEW;
use super::outdated::{Insists, Outdated};
use super::place::Place;
use crate::segments::{SegmentFile, SegmentRef};
use crate::{Error, Result, Store};
use baro_log::{
    Blocks, FOLDER, FoundHeader, KEPT, PINS, RUNS, blank_header, list_folder, read_catalog_header,
    remove_if_there, segment_name,
};
use baro_ondisk::SegmentHeader;
use baro_ondisk::limits::UNIT_BYTES;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{AnyFile, Storage, StorageFile};

/// A segment to be copied.
struct Piece {
    segment: SegmentRef,
    /// How far it is copied, and the size of its file.
    end: u64,
    size: u64,
    /// Its samples may be in no run.
    unsettled: bool,
    /// From here on it is copied; what is before is there, and the same. 0: nothing is.
    from: u64,
    /// It lies beside its place, whole.
    staged: bool,
}

/// What of the log is to be copied, by rising epoch.
pub(super) struct Wanted {
    pieces: Vec<Piece>,
    newest_epoch: u64,
    insists: Insists,
}

impl Piece {
    fn folder(&self) -> &'static str {
        match self.segment.file {
            SegmentFile::Log(_) => FOLDER,
            SegmentFile::Kept(_) => KEPT,
        }
    }

    /// Where it lies until it is its turn.
    fn staged(&self) -> String {
        format!("{}/backup-{:016x}.new", self.folder(), self.segment.header.epoch)
    }
}

impl Wanted {
    /// Looks what is new, and how far the log goes now.
    pub(super) fn of(
        store: &Store,
        place: &mut Place<'_>,
        insists: Insists,
    ) -> std::result::Result<Self, Outdated> {
        let (index, recent) = (store.index()?, store.recent()?);
        let newest_epoch = store.segments.started.last().map_or(0, |last| last.header.epoch);
        let settled = store.settled();
        (place.done.recycled, place.done.recycled_unsettled) = (0, 0);
        let mut pieces = Vec::new();
        for segment in &store.segments.started {
            let epoch = segment.header.epoch;
            let with_samples =
                || recent.of_epoch(epoch).is_none_or(|found| found.samples().next().is_some());
            let unsettled = epoch >= settled.epoch && with_samples();
            let copy = kept_instead(segment);
            let (segment, found) = match header_of(store, segment)? {
                // A pin had it copied out before it was reused.
                None => (&copy, header_of(store, &copy)?),
                found => (segment, found),
            };
            let Some((unit, file)) = found else {
                insists.meets(store, epoch, unsettled)?;
                place.done.count_recycled(unsettled);
                continue;
            };
            let size = match segment.file {
                SegmentFile::Log(_) => segment.header.segment_bytes,
                SegmentFile::Kept(_) => file.size_bytes()?,
            };
            let live = index.of_epoch(epoch);
            let newest = epoch == newest_epoch;
            let end = match live.filter(|_| newest) {
                Some(live) => end_of(&file, segment, live.live.end)?,
                None if newest => UNIT_BYTES as u64,
                None => size,
            };
            let name = segment.file.name();
            if !place.may_be_replaced(segment, &unit)? {
                continue;
            }
            let kept = matches!(segment.file, SegmentFile::Kept(_));
            let complete = kept || epoch < place.mark.complete_below;
            let there = place.starts_with(&name, size, &unit)?;
            if there && (complete || place.is_same(&file, &name, end)?) {
                place.done.there_bytes += size;
                continue;
            }
            let from = match there && !kept {
                true => place.same_up_to(&file, segment, end)?,
                false => 0,
            };
            pieces.push(Piece { segment: *segment, end, size, unsettled, from, staged: false });
        }
        // Of a log that went round while it was looked at, what the manifest says to be settled may be
        // reused, and only copies of pins be left.
        let reaches = newest_epoch.max(store.runs.manifest.settled.last_epoch());
        place.reaches(store.identity.store, reaches)?;
        place.folder(FOLDER)?;
        place.folder(KEPT)?;
        Ok(Wanted { pieces, newest_epoch, insists })
    }

    /// Segments of lower epochs are copied to their end: of the newest one there may be more later, and
    /// the one before it may have been on its way to the device.
    pub(super) fn complete_below(&self) -> u64 {
        self.newest_epoch.saturating_sub(1)
    }

    /// Epochs of the copies among them that pins hold.
    pub(super) fn kept(&self) -> impl Iterator<Item = u64> {
        let kept = self.pieces.iter().filter(|piece| piece.folder() == KEPT);
        kept.map(|piece| piece.segment.header.epoch)
    }

    /// Segments that are not there yet, by rising index, lest a hole be left where a log grows; and those
    /// that the store has and of which no block proves itself.
    pub(super) fn fill(
        &self,
        store: &Store,
        place: &mut Place<'_>,
    ) -> std::result::Result<(), Outdated> {
        for index in 0..store.segments.grown {
            let name = segment_name(index);
            if place.bytes_of(&name)?.is_none() {
                place.put_blank(store, index)?;
                place.target.sync_folder(FOLDER)?;
            }
            let mut all = store.segments.started.iter();
            let there = place.header_of(index)?;
            if all.any(|one| one.file == SegmentFile::Log(index)) || there.is_none() {
                continue;
            }
            // What is damaged in the store does not take the place of what is whole. What was started since
            // the store was looked at comes with the next backup.
            let started = there.is_some_and(|(header, _)| header.started());
            let file = match store.storage.open(&name, store.access) {
                Err(error) if error.is_missing() => continue,
                opened => opened?,
            };
            let size = store.identity.segment_bytes;
            if !started && file.size_bytes()? == size && !self.is_to_come(&file)? {
                place.put(&file, &name, size, size)?;
                if place.header_of(index)?.is_some_and(|(now, _)| now.epoch > self.newest_epoch) {
                    place.put_blank(store, index)?;
                }
            }
        }
        Ok(place.target.sync_folder(FOLDER)?)
    }

    /// Whether the header says that the segment was never started, or was since.
    fn is_to_come(&self, file: &AnyFile) -> Result<bool> {
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        let read = file.read_at(0, &mut unit)?;
        let header = SegmentHeader::decode(unit.get(..read).unwrap_or(&[]));
        Ok(header.is_ok_and(|(header, _)| !header.started() || header.epoch > self.newest_epoch))
    }

    /// Copies all beside its place, the newest first: the oldest are what a recorder reuses next. If
    /// something is reused whose samples may be in no run, nothing was changed.
    pub(super) fn stage(
        &mut self,
        store: &Store,
        place: &mut Place<'_>,
    ) -> std::result::Result<(), Outdated> {
        place.remove_parts()?;
        // What has begun there goes on where it is, when its turn comes.
        for piece in self.pieces.iter_mut().rev().filter(|piece| piece.from == 0) {
            let name = piece.staged();
            piece.staged = copy(store, piece, &name, place)?;
            if piece.staged {
                continue;
            }
            remove_if_there(place.target, &name).map_err(Error::from)?;
            let instead = kept_instead(&piece.segment);
            if let Some((_, file)) = header_of(store, &instead)? {
                piece.segment = instead;
                piece.size = file.size_bytes()?;
                piece.end = piece.size;
                piece.staged = copy(store, piece, &piece.staged(), place)?;
                if piece.staged {
                    continue;
                }
            }
            self.insists.meets(store, piece.segment.header.epoch, piece.unsettled)?;
            place.done.count_recycled(piece.unsettled);
        }
        Ok(())
    }

    /// A segment that was the newest at the last backup, and that the store has reused since, is not there
    /// to its end: those behind it would say that it is damaged. All of it is settled, or is there as a copy
    /// that a pin holds, so it goes first.
    fn remove_part(
        &self,
        store: &Store,
        place: &mut Place<'_>,
    ) -> std::result::Result<(), Outdated> {
        let is_copied = |epoch: u64| {
            let mut all = store.segments.started.iter().filter(|one| one.header.epoch == epoch);
            all.any(|one| matches!(one.file, SegmentFile::Kept(_)))
                || self.kept().any(|e| e == epoch)
        };
        for index in 0..store.segments.grown {
            let Some((there, crc)) = place.header_of(index)? else { continue };
            if there.epoch < place.mark.complete_below || !there.started() {
                continue;
            }
            let file = match store.storage.open(&segment_name(index), store.access) {
                Err(error) if error.is_missing() => continue,
                opened => opened?,
            };
            let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
            let read = file.read_at(0, &mut unit)?;
            let found = SegmentHeader::decode(unit.get(..read).unwrap_or(&[]));
            if found.is_ok_and(|(_, found)| found != crc) {
                if !is_copied(there.epoch) {
                    self.insists.meets(store, there.epoch, false)?;
                }
                place.put_blank(store, index)?;
            }
        }
        Ok(place.target.sync_folder(FOLDER)?)
    }

    /// Puts all in their places, the oldest first, and before these what pins hold: it may be of a segment
    /// that goes from the copy's log.
    pub(super) fn put(
        &self,
        store: &Store,
        place: &mut Place<'_>,
    ) -> std::result::Result<(), Outdated> {
        let (kept, log): (Vec<&Piece>, Vec<&Piece>) =
            self.pieces.iter().partition(|piece| piece.folder() == KEPT);
        for piece in kept.into_iter().filter(|piece| piece.staged) {
            place.put_staged(piece)?;
        }
        self.remove_part(store, place)?;
        for piece in log.into_iter().filter(|piece| piece.staged || piece.from > 0) {
            if piece.from > 0 {
                if go_on(store, piece, place)? {
                    place.done.segments += 1;
                    continue;
                }
                // What was written is of the segment's next use, or in part. All of it goes.
                self.remove_part(store, place)?;
                self.insists.meets(store, piece.segment.header.epoch, piece.unsettled)?;
                place.done.count_recycled(piece.unsettled);
                continue;
            }
            place.put_staged(piece)?;
        }
        Ok(place.remove_parts()?)
    }
}

impl Place<'_> {
    /// Whether a segment of the store takes the place of what is there: not if its header is damaged, of
    /// another place, or older than a segment that is there to its end.
    ///
    /// # Errors
    /// What is there is of another history of the store.
    fn may_be_replaced(&self, segment: &SegmentRef, unit: &[u8]) -> Result<bool> {
        let SegmentFile::Log(index) = segment.file else { return Ok(true) };
        let there = self.header_of(index)?;
        let Some((there, crc)) = there.filter(|(header, _)| header.started()) else {
            return Ok(true);
        };
        let valid = SegmentHeader::decode(unit).is_ok() && segment.header.index == index;
        let whole = there.epoch < self.mark.complete_below;
        if whole && there.epoch == segment.header.epoch && valid && crc != segment.crc {
            let why = super::OTHER_HISTORY.to_owned();
            return Err(Error::NotABackup { path: self.path.to_owned(), why });
        }
        Ok(valid && !(whole && segment.header.epoch < there.epoch))
    }

    /// Whether a file of this size is there that begins with this unit.
    fn starts_with(&self, name: &str, size: u64, unit: &[u8]) -> Result<bool> {
        Ok(self.bytes_of(name)? == Some(size) && self.first_unit(name)? == unit)
    }

    /// Where the blocks end of a segment that is there, if it is the same up to there and the store's goes
    /// on behind it; else 0.
    fn same_up_to(&mut self, file: &AnyFile, segment: &SegmentRef, end: u64) -> Result<u64> {
        let name = segment.file.name();
        let Some(there) = self.there(&name)? else { return Ok(0) };
        let from = end_of(&there, segment, u64::MAX)?;
        let goes_on = from > UNIT_BYTES as u64 && from < end && self.is_same(file, &name, from)?;
        Ok(if goes_on { from } else { 0 })
    }

    /// Puts what was staged in its place, durably.
    fn put_staged(&mut self, piece: &Piece) -> Result<()> {
        self.target.rename(&piece.staged(), &piece.segment.file.name())?;
        self.done.segments += 1;
        Ok(self.target.sync_folder(piece.folder())?)
    }

    /// Makes a segment of the log one that was never started.
    fn put_blank(&mut self, store: &Store, index: u32) -> Result<()> {
        let blank = blank_header(&store.identity, index).encode().0;
        self.put_segment(&segment_name(index), &blank, store.identity.segment_bytes)
    }

    /// The first unit of a file; empty if there is none.
    pub(super) fn first_unit(&self, name: &str) -> Result<Vec<u8>> {
        let Some(file) = self.there(name)? else { return Ok(Vec::new()) };
        let mut unit = vec![0; UNIT_BYTES];
        let read = file.read_at(0, &mut unit)?;
        unit.truncate(read);
        Ok(unit)
    }

    /// Removes what was not finished.
    pub(super) fn remove_parts(&self) -> Result<()> {
        remove_if_there(self.target, NEW)?;
        let part = |name: &&String| name.starts_with("backup") && name.ends_with(".new");
        for folder in [FOLDER, KEPT, RUNS, PINS] {
            for name in list_folder(self.target, folder)?.iter().filter(part) {
                self.target.remove(&format!("{folder}/{name}"))?;
            }
        }
        Ok(())
    }
}

/// The first unit of a segment, and its file; `None` if it has been reused.
pub(super) fn header_of(store: &Store, segment: &SegmentRef) -> Result<Option<(Vec<u8>, AnyFile)>> {
    let file = match store.storage.open(&segment.file.name(), store.access) {
        Err(error) if error.is_missing() => return Ok(None),
        opened => opened?,
    };
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let read = file.read_at(0, &mut unit)?;
    let unit = unit.get(..read).unwrap_or(&[]).to_vec();
    // What does not decode is the damaged header of a segment whose blocks prove themselves.
    let reused = SegmentHeader::decode(&unit).is_ok_and(|(found, _)| found != segment.header);
    Ok((!reused).then_some((unit, file)))
}

/// What is there of a segment that was reused, if a pin holds it.
fn kept_instead(segment: &SegmentRef) -> SegmentRef {
    SegmentRef { file: SegmentFile::Kept(segment.header.epoch), ..*segment }
}

/// Copies a segment; false if it was reused before it was copied whole.
fn copy(store: &Store, piece: &Piece, name: &str, place: &mut Place<'_>) -> Result<bool> {
    let Some((_, file)) = header_of(store, &piece.segment)? else { return Ok(false) };
    place.write(&file, name, piece.end, piece.size)?;
    // Whoever reuses it writes its header first.
    Ok(header_of(store, &piece.segment)?.is_some())
}

/// Brings what is new of a segment that was begun at an earlier backup; false if it was reused meanwhile.
/// Its blocks prove themselves, so one that is there in part is the end of what counts, as after a crash:
/// no block is written before all are durable of which it says so.
fn go_on(store: &Store, piece: &Piece, place: &mut Place<'_>) -> Result<bool> {
    let Some((_, file)) = header_of(store, &piece.segment)? else { return Ok(false) };
    let mut from = piece.from;
    for to in steps(&file, piece)? {
        place.write_range(&file, &piece.segment.file.name(), from, to)?;
        from = to;
    }
    Ok(header_of(store, &piece.segment)?.is_some())
}

/// Where the steps end in which a segment's rest is written, each durable before the next is begun.
fn steps(file: &AnyFile, piece: &Piece) -> Result<Vec<u64>> {
    let mut blocks = Blocks::new()?;
    let mut walk = blocks.walk(file, piece.segment.header, piece.segment.crc);
    let (mut ends, mut first) = (Vec::new(), None);
    loop {
        let at = walk.scan().offset();
        // Where something is damaged its claims are too.
        let FoundHeader::Block(block) = walk.next_header()? else { break };
        if at >= piece.end {
            break;
        }
        if at < piece.from {
            continue;
        }
        if first.is_some_and(|first| block.durable > first) {
            ends.push(at);
            first = None;
        }
        first = first.or(Some(block.sequence));
    }
    // The last unit says that all of it was durable.
    let last = piece.size.saturating_sub(UNIT_BYTES as u64);
    let before = ends.last().copied().unwrap_or(piece.from);
    ends.extend((piece.end == piece.size && last > before).then_some(last));
    ends.push(piece.end);
    Ok(ends)
}

/// Where the blocks below `sequence` end.
fn end_of(file: &AnyFile, segment: &SegmentRef, sequence: u64) -> Result<u64> {
    let mut blocks = Blocks::new()?;
    let mut walk = blocks.walk(file, segment.header, segment.crc);
    walk.set_durable(sequence);
    while walk.scan().sequence() < sequence {
        match walk.next_header()? {
            FoundHeader::Block(_) => {}
            FoundHeader::End(_) if walk.skip_damage()?.is_some() => {}
            FoundHeader::End(_) => break,
        }
    }
    Ok(walk.scan().offset())
}

/// Where the blocks of the catalog end that are there now.
pub(super) fn end_of_catalog(file: &AnyFile) -> Result<u64> {
    let (header, crc) = read_catalog_header(file)?;
    let mut blocks = Blocks::new()?;
    let mut walk = blocks.walk(file, header, crc);
    loop {
        match walk.next_header()? {
            FoundHeader::Block(_) => {}
            FoundHeader::End(_) if walk.skip_damage()?.is_some() => {}
            FoundHeader::End(_) => return Ok(walk.scan().offset()),
        }
    }
}
