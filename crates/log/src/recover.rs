//! What a crash left: identity, the headers of all segments, and the tail of the newest session.
//!
//! Bounded: one unit of every segment, and the blocks of at most two segments, because a segment is
//! started only when everything before its predecessor is durable (`docs/format.md`, "Order").

use super::backup::backup_reaches;
use super::catalog::highest_id_covered;
use super::closed::closed_as;
use super::names::{IDENTITY, segment_name};
use super::order::sorted_by;
use super::rebuilt::rebuild;
use super::session::{Extent, Proof, dead_from, judge};
use super::settled::read_progress;
use super::unread::{BadHeader, Headers};
use super::walk::{Blocks, Found, FoundHeader};
use crate::{Error, Result};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BLOCK_HEADER_BYTES, Beside, Block, DeadTail, End, Identity, Kind, Lives, Recycled,
    SampleColumns, Samples, SegmentHeader, SegmentKind, Settled, Summary, Wear, WhenFull,
};
use baro_sys::disk::Disk;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The segments of a log, as their headers tell.
#[derive(Debug, Default)]
pub struct Segments {
    /// Started segments with the CRC of their header, by rising epoch.
    pub started: Vec<(SegmentHeader, u32)>,
    /// Indexes never started.
    pub blank: Vec<u32>,
    /// Indexes whose header is not valid, and why. After a crash this may be the segment that was
    /// being started; it holds nothing durable then.
    pub damaged: Vec<(u32, BadHeader)>,
    /// Indexes whose header is not valid either, but whose blocks prove themselves: among the
    /// started ones by what these tell.
    pub rebuilt: Vec<(u32, BadHeader)>,
    /// Those of them whose first block is lost, and those of the tail whose end cannot be read.
    pub cut: Vec<u32>,
    /// What the newest header says of blocks that are valid and dead all the same.
    pub dead: Vec<DeadTail>,
    /// What all headers say of where segments end.
    pub ends: Vec<DeadTail>,
    /// Segment files that are there; fewer than the geometry says while the log grows.
    pub grown: u32,
    /// What the newest header says of the store's wear.
    pub wear: Wear,
    /// What it says of the segments beside it, and the newest generation of the manifest that any says;
    /// changed if any says so.
    pub beside: Beside,
    /// What the newest header that tells it says of what was recycled, and its epoch.
    pub recycled: Option<(u64, Recycled)>,
}

/// What was found, and what the next session builds on.
#[derive(Debug)]
pub struct Recovery {
    /// Identity and geometry.
    pub identity: Identity,
    /// The log's segments.
    pub segments: Segments,
    /// Highest session found.
    pub last_session: u64,
    /// Highest epoch found, or settled.
    pub last_epoch: u64,
    /// Segments whose blocks were read.
    pub scanned_segments: u32,
    /// Live blocks in them.
    pub tail_blocks: u64,
    /// The newest segment, if it holds no live block and supersedes none: a crash came before its
    /// first one was durable. It is started again before any other, lest a machine that crashes
    /// over and over eats the log.
    pub empty: Option<u32>,
    /// Blocks that are valid and must stay dead: those which the newest header names, and those of
    /// the tail that do not count; and where the tail's segments end. Headers that are written from
    /// now on repeat them.
    pub dead: Vec<DeadTail>,
    /// Sequence after the last record found of each producer.
    pub producers: BTreeMap<u64, u64>,
    /// What was handed to the device so far, the newest segment included.
    pub wear: Wear,
    /// Realtime and boottime of the newest block that was found.
    pub last_block_ns: Option<(i64, i64)>,
    /// Segments are not those that were there when the newest was begun: files of an earlier time were put
    /// back, or headers say that this was found before.
    pub changed: bool,
    /// What the newest segment with live blocks holds: for the header of the next one. None if some
    /// of its blocks are damaged or dead.
    pub summary: Option<Summary>,
    /// What earlier sessions have recycled before it was in runs, as headers tell. Where the last session was
    /// closed in order, what its newest header had was told.
    pub recycled: Recycled,
    /// A backup has put all of this there, one file after another: what one says of another need not be.
    pub copied: bool,
    /// The highest id that was given, as headers and the dictionary tell.
    pub given_id: u32,
    /// The highest id of a record in the segments that were read, declared or not; 0 without any. One far above
    /// those that were given does not count: nobody declared it.
    pub highest_id: u32,
}

/// Opens the folder of the store at `path`. Where there is no folder there is no store: the next
/// step is to make one, not to make a folder.
///
/// # Errors
/// It is not there, or cannot be opened.
pub fn open_folder(path: &Path) -> Result<Disk> {
    match Disk::open(path) {
        Err(error) if error.is_missing() => Err(Error::NotAStore { path: path.to_owned() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(Error::NotAFolder { path: path.to_owned() })
        }
        other => Ok(other?),
    }
}

/// Reads the identity of the store in `storage`, whose place is named `path` in errors.
///
/// # Errors
/// It is no store, or its identity is damaged or of another version.
pub fn read_identity<S: Storage>(storage: &S, path: &Path) -> Result<Identity> {
    let file = match storage.open(IDENTITY, Access::Read) {
        Err(error) if error.is_missing() => {
            return Err(Error::NotAStore { path: path.to_owned() });
        }
        other => other?,
    };
    let mut unit = [0; UNIT_BYTES];
    let read = file.read_at(0, &mut unit)?;
    Identity::decode(unit.get(..read).unwrap_or(&[]))
        .map_err(|source| Error::Format { file: IDENTITY.to_owned(), source })
}

impl Segments {
    /// Started segments: number of the file, then epoch and session.
    #[must_use]
    pub fn lives(&self) -> BTreeMap<u32, (u64, u64)> {
        // One by one: `collect` sorts first, and each sort is 4 kB of a board's code.
        let mut lives = BTreeMap::new();
        let started = self.started.iter().map(|(header, _)| header);
        lives.extend(started.map(|header| (header.index, (header.epoch, header.session))));
        lives
    }

    /// The same beside the newest.
    #[must_use]
    pub fn others(&self) -> BTreeMap<u32, (u64, u64)> {
        let mut others = self.lives();
        if let Some((newest, _)) = self.started.last() {
            others.remove(&newest.index);
        }
        others
    }

    /// Files of which no reader knows all that they hold, and not only since a crash came while they were
    /// started: that leaves a header whose CRC is wrong.
    #[must_use]
    pub fn unread(&self, when_full: WhenFull) -> BTreeSet<u32> {
        let mut unread = self.lost(when_full);
        unread.extend(self.bad(false));
        unread.extend(&self.cut);
        unread
    }

    /// Files whose header is torn, and that held something all the same: no crash explains them.
    #[must_use]
    pub fn lost(&self, when_full: WhenFull) -> BTreeSet<u32> {
        let is_newest = |(index, _): &(u32, BadHeader)| Some(*index) == self.newest_index();
        // Where the newest itself has lost its header, nothing is known.
        if self.rebuilt.iter().any(is_newest) {
            return BTreeSet::new();
        }
        let (beside, newest, others) = (&self.beside, self.newest(), &self.others());
        let headers = Headers { beside, newest, others, unread: self.bad(false).count() };
        let mut torn = BTreeSet::new();
        torn.extend(self.bad(true));
        headers.lost(&torn, when_full)
    }

    fn bad(&self, is_torn: bool) -> impl Iterator<Item = u32> {
        let of = self.damaged.iter().filter(move |(_, why)| why.is_torn() == is_torn);
        of.map(|(index, _)| *index)
    }

    fn newest_index(&self) -> Option<u32> {
        self.started.last().map(|(header, _)| header.index)
    }

    fn newest(&self) -> u64 {
        self.started.last().map_or(0, |(header, _)| header.epoch)
    }

    /// Files whose header cannot be read.
    #[must_use]
    pub fn unsure(&self) -> BTreeSet<u32> {
        let mut unsure = BTreeSet::new();
        unsure.extend(self.damaged.iter().map(|(index, _)| *index));
        unsure
    }

    /// Whether there are others beside the newest than it says; not known where headers are damaged.
    fn are_changed(&self) -> bool {
        let known = self.damaged.is_empty() && self.rebuilt.is_empty();
        let told = self.beside.segments.filter(|_| known);
        self.beside.changed || told.is_some_and(|told| !Lives::of(&self.others()).are(&told))
    }

    /// Reads the headers of all segments.
    ///
    /// # Errors
    /// A segment file is missing or cannot be opened.
    pub fn read<S: Storage>(storage: &S, identity: &Identity) -> Result<Self> {
        let mut found = Segments::default();
        let mut newest = 0;
        let mut to_come = None;
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        let mut blocks = Blocks::new()?;
        let mut candidates = Vec::new();
        for index in 0..identity.segments {
            let file = match storage.open(&segment_name(index), Access::ReadDirect) {
                // One that is to come, if those behind it are to come too.
                Err(error) if error.is_missing() && identity.may_be_to_come(index) => {
                    to_come.get_or_insert(error);
                    continue;
                }
                other => other?,
            };
            if let Some(error) = to_come.take() {
                return Err(error.into());
            }
            found.grown = index + 1;
            let header = match file.read_at(0, &mut unit) {
                Ok(read) => SegmentHeader::decode(unit.get(..read).unwrap_or(&[]))
                    .and_then(|found| check_segment(found, identity, index))
                    .map_err(BadHeader::Format),
                // Its blocks may be readable.
                Err(error) => Err(BadHeader::Unreadable(error)),
            };
            match header {
                Ok((header, crc)) if header.started() => {
                    found.ends.extend(SegmentHeader::dead_tails(&unit));
                    found.beside.meet(&Beside::of(&unit), header.epoch > newest);
                    Recycled::newest(&mut found.recycled, header.epoch, &unit);
                    if header.epoch > newest {
                        newest = header.epoch;
                        found.dead = SegmentHeader::dead_tails(&unit).collect();
                        found.wear = Wear::of(&unit);
                    }
                    found.started.push((header, crc));
                }
                Ok(_) => found.blank.push(index),
                Err(error) => {
                    let place = (index, identity.segment_bytes);
                    let rebuilt = rebuild(&file, &mut blocks, identity.store, place)?;
                    candidates.extend(rebuilt);
                    found.damaged.push((index, error));
                }
            }
        }
        // What is rebuilt and counts was started too, and proves others of its session.
        let newest_first = sorted_by(candidates, |rebuilt| (u64::MAX - rebuilt.header.epoch, 0));
        for rebuilt in newest_first {
            let twice = found.started.iter().any(|(h, _)| h.epoch == rebuilt.header.epoch);
            let valid = found.started.iter().map(|(header, _)| header);
            if twice || !rebuilt.counts(valid, &found.ends) {
                continue;
            }
            found.started.push(rebuilt.among(&found.started));
            if !rebuilt.whole {
                found.cut.push(rebuilt.index);
            }
            let at = found.damaged.iter().position(|(index, _)| *index == rebuilt.index);
            found.rebuilt.extend(at.map(|at| found.damaged.remove(at)));
        }
        found.started = sorted_by(found.started, |(header, _)| (header.epoch, 0));
        Ok(found)
    }
}

/// A header that is valid by itself must also be this store's, of this file.
fn check_segment(
    (header, crc): (SegmentHeader, u32),
    identity: &Identity,
    index: u32,
) -> std::result::Result<(SegmentHeader, u32), baro_ondisk::Error> {
    let check = |field, offset, expected: u64, found: u64| {
        if expected == found {
            return Ok(());
        }
        let what = baro_ondisk::What::Segment;
        Err(baro_ondisk::Error::Mismatch { what, field, offset, expected, found })
    };
    let half = |id: [u8; 16], shift: u32| (u128::from_le_bytes(id) >> shift) as u64;
    for (offset, shift) in [(16, 0), (24, 64)] {
        check("store id", offset, half(identity.store.0, shift), half(header.store.0, shift))?;
    }
    check("kind", 10, 1, if header.kind == SegmentKind::Log { 1 } else { 2 })?;
    check("index", 48, u64::from(index), u64::from(header.index))?;
    check("segment bytes", 56, identity.segment_bytes, header.segment_bytes)?;
    Ok((header, crc))
}

impl Recovery {
    /// What headers tell; blocks are not read yet.
    fn of_headers<S: Storage>(storage: &S, identity: Identity, segments: Segments) -> Self {
        let newest_epoch = segments.started.last().map_or(0, |(header, _)| header.epoch);
        let copied = backup_reaches(storage).is_some_and(|to| newest_epoch <= to);
        Recovery {
            last_session: segments.started.iter().map(|(h, _)| h.session).max().unwrap_or(0),
            last_epoch: newest_epoch,
            recycled: segments.recycled.map_or(Recycled::default(), |(_, told)| told.killed()),
            identity,
            scanned_segments: 0,
            tail_blocks: 0,
            empty: None,
            dead: segments.dead.clone(),
            producers: BTreeMap::new(),
            wear: segments.wear,
            last_block_ns: None,
            summary: None,
            given_id: segments.beside.highest_id.max(highest_id_covered(storage, identity.store)),
            highest_id: 0,
            changed: segments.are_changed() && !copied,
            copied,
            segments,
        }
    }
}

/// Recovers the log: finds where the last session ended and which records of which producer it
/// holds, and makes that tail durable, so that what a reader sees now is there after a power cut.
/// Blocks for reading two segments at most.
///
/// What cannot be read is passed over, as readers do.
///
/// # Errors
/// It is no store, or files are missing or cannot be opened or synced.
pub fn recover<S: Storage>(storage: &S, path: &Path) -> Result<Recovery> {
    let identity = read_identity(storage, path)?;
    let segments = Segments::read(storage, &identity)?;
    let newest = segments.started.last().map(|(header, _)| header.session);
    let newest_epoch = segments.started.last().map_or(0, |(header, _)| header.epoch);
    let progress = read_progress(storage, identity.store);
    let settled = progress.map_or(Settled::default(), |(_, settled)| settled);
    let mut recovery = Recovery::of_headers(storage, identity, segments);
    recovery.last_epoch = newest_epoch.max(settled.last_epoch());
    let tail: Vec<_> = recovery
        .segments
        .started
        .iter()
        .rev()
        .take(2)
        .filter(|(header, _)| Some(header.session) == newest)
        .copied()
        .collect();
    let mut blocks = Blocks::new()?;
    let mut tails = Vec::new();
    let (mut superseded_from, mut proof, mut closed) = (u64::MAX, Proof::default(), 0);
    let mut closed_payload_bytes = 0;
    for (header, crc) in tail {
        let dead_from = superseded_from.min(dead_from(&recovery.dead, header.epoch));
        let mut known = proof.of(&header, &recovery.segments.ends, &recovery.dead);
        if tails.is_empty() {
            let file = storage.open(&segment_name(header.index), Access::ReadDirect)?;
            if let Some(found) = closed_as(&file, &header)? {
                closed = found.end;
                closed_payload_bytes = found.payload_bytes;
                let beside = &mut recovery.segments.beside;
                beside.highest_id = beside.highest_id.max(found.highest_id);
                beside.catalog = found.catalog.or(beside.catalog);
                recovery.given_id = recovery.given_id.max(found.highest_id);
            }
            known = known.max(closed.min(dead_from));
        }
        let most = recovery.given_id.saturating_add(UNTOLD_MAX);
        let tail = read_tail(storage, &mut blocks, (header, crc), (dead_from, known), most)?;
        proof.pass(&tail.extent);
        // Where it is told that nothing was behind its end, nothing is lost.
        let last = if tails.is_empty() { closed } else { superseded_from };
        let is_cut = tail.unread && (last == 0 || tail.extent.end < last);
        recovery.segments.cut.extend(is_cut.then_some(tail.index));
        tails.push(tail);
        superseded_from = header.first_block;
    }
    // The newest header counts what came before it.
    if let Some(newest) = tails.first() {
        // A manifest that says more than the log has ever had is believed nothing.
        let settled =
            if settled.last_epoch() > newest_epoch { Settled::default() } else { settled };
        if let Some((_, told)) = recovery.segments.recycled.filter(|_| closed > 0 || newest.marked)
        {
            recovery.recycled = told.closed(settled);
        }
        recovery.wear = recovery.wear.with(&Wear {
            log_bytes: newest.bytes,
            padding_bytes: newest.padding_bytes,
            // Blocks do not tell how long records were whose samples are packed.
            payload_bytes: closed_payload_bytes
                .saturating_sub(recovery.wear.payload_bytes)
                .max(newest.payload_bytes),
            other_bytes: 0,
        });
    }
    recovery.highest_id = tails.iter().map(|tail| tail.highest_id).max().unwrap_or(0);
    recovery.last_block_ns = tails.iter().find_map(|tail| tail.last_block_ns);
    tails.reverse();
    recovery.scanned_segments = tails.len() as u32;
    // The rule of the readers, so that what they see is not taken from the rings again, and what
    // they do not see is.
    let dead = &recovery.dead;
    let extents: Vec<_> = tails.iter().map(|tail| tail.extent.capped(dead)).collect();
    let verdicts = judge(&extents);
    recovery.empty = match (tails.as_slice(), verdicts.last()) {
        (_, Some(verdict)) if !verdict.live.is_empty() => None,
        ([.., tail], _) if tail.damaged => None,
        ([before, tail], _) if before.extent.end <= tail.extent.first_block => Some(tail.index),
        ([tail], _) if tail.extent.first_block == 0 => Some(tail.index),
        _ => None,
    };
    for (tail, verdict) in tails.into_iter().zip(verdicts) {
        recovery.tail_blocks += verdict.live.end - verdict.live.start;
        let Extent { epoch, end, .. } = tail.extent;
        if verdict.live.end < end.min(dead_from(&recovery.dead, epoch)) {
            let (end, index, end_only) = (verdict.live.end, tail.index, false);
            recovery.dead.push(DeadTail { epoch, end, index, end_only });
        }
        if verdict.live.is_empty() {
            continue;
        }
        recovery.summary = tail.summary.filter(|_| verdict.live.end == end);
        // What was found is durable now: should less be found later, that is damage and no tear.
        if dead_from(&recovery.dead, epoch) == u64::MAX {
            let (end, index, end_only) = (verdict.live.end, tail.index, true);
            recovery.dead.push(DeadTail { epoch, end, index, end_only });
        }
        for (producer, next) in tail.producers {
            let known = recovery.producers.entry(producer).or_default();
            *known = next.max(*known);
        }
    }
    Ok(recovery)
}

/// What one segment of the tail holds.
struct Tail {
    index: u32,
    extent: Extent,
    /// The first block is gone, and was durable, or the end cannot be read.
    damaged: bool,
    /// The end cannot be read: nobody knows how much was behind it.
    unread: bool,
    /// Header and blocks, dead ones too.
    bytes: u64,
    padding_bytes: u64,
    payload_bytes: u64,
    last_block_ns: Option<(i64, i64)>,
    /// Sequence after the last record of each producer, of blocks that are not dead.
    producers: BTreeMap<u64, u64>,
    /// None if blocks are damaged or dead.
    summary: Option<Summary>,
    /// Its last block is the mark of a session that was closed in order.
    marked: bool,
    /// The highest id in it.
    highest_id: u32,
}

/// Ids that one session declares between two headers, at most. One further above those that were given was made up
/// by whoever pushed it, who would have others numbered behind it.
const UNTOLD_MAX: u32 = 1 << 20;

/// The highest id of a series or channel in a block that is not above `most`.
fn highest_id(block: &Block<'_>, most: u32) -> u32 {
    let mut highest = 0;
    let mut see = |id: u32| highest = if id > most { highest } else { id.max(highest) };
    if let Some(section) = block.section().ok().flatten() {
        // Strips are in the order of their series.
        let mut columns = SampleColumns::default();
        for at in (0..section.strips()).rev() {
            let Some(strip) = section.strip(at) else { break };
            see(strip.last_series);
            if strip.last_series <= most {
                break;
            }
            if strip.first_series <= most && section.decode_strip(at, &mut columns).is_ok() {
                columns.iter().for_each(|(id, _, _)| see(id));
            }
        }
    }
    for record in block.chunks().flatten().flat_map(|chunk| chunk.records()).flatten() {
        match record.kind {
            Kind::Frame | Kind::Text => see(record.stream),
            Kind::Samples => {
                let samples = Samples::decode(record.payload, 0);
                samples.iter().flat_map(Samples::iter).for_each(|(id, _, _)| see(id));
            }
            _ => {}
        }
    }
    highest
}

fn read_tail<S: Storage>(
    storage: &S,
    blocks: &mut Blocks,
    (header, crc): (SegmentHeader, u32),
    (dead_from, known): (u64, u64),
    id_max: u32,
) -> Result<Tail> {
    let name = segment_name(header.index);
    let file = storage.open(&name, Access::Write)?;
    file.sync_data()?;
    let direct = storage.open(&name, Access::ReadDirect)?;
    let mut walk = blocks.walk(&direct, header, crc);
    let mut producers = BTreeMap::new();
    let (mut durable, mut bytes, mut padding_bytes) = (0, UNIT_BYTES, 0);
    let (mut payload_bytes, mut last_block_ns) = (0, None);
    walk.set_durable(known);
    walk.pass_unreadable();
    let (mut damaged, mut marked, mut highest) = (false, false, 0);
    let (mut unread, mut summary) = (false, Some(Summary::new(header.epoch, header.first_block)));
    let first_offset = walk.scan().offset();
    loop {
        let offset = walk.scan().offset();
        let block = match walk.next_block() {
            Ok(Found::Block(block)) => block,
            Ok(Found::End(End::Full)) => break,
            found => {
                let failed = found.is_err();
                let first = walk.scan().sequence() == header.first_block;
                // Whether a block that cannot be read was torn nobody can tell: if its header can be, it
                // counts, as it does for readers.
                if failed && let Ok(FoundHeader::Block(block)) = walk.next_header() {
                    (durable, marked) = (block.durable.max(durable), block.is_end_mark());
                    bytes += block.block_bytes();
                    summary = None;
                    continue;
                }
                unread = failed && !marked && !walk.scan().expects_more();
                // Past damage, as readers go: what is behind it was durable, and must not be taken from
                // the rings again.
                let Some((at, block)) = walk.find_proof()? else {
                    summary = summary.filter(|_| !failed);
                    break;
                };
                walk.resume(at, &block);
                (damaged, unread, summary) = (damaged || first, false, None);
                continue;
            }
        };
        durable = block.header.durable.max(durable);
        marked = block.header.is_end_mark();
        let block_bytes = block.header.block_bytes();
        bytes += block_bytes;
        padding_bytes += block_bytes - BLOCK_HEADER_BYTES - block.header.payload_bytes();
        if block.header.sequence >= dead_from {
            summary = None;
            continue;
        }
        highest = highest.max(highest_id(&block, id_max));
        // At least: their records may have had a time for each.
        let packed = block.section().ok().flatten().map_or(0, |section| section.samples());
        payload_bytes += 12 * packed as u64;
        summary.iter_mut().for_each(|summary| summary.add(offset, &block.header));
        last_block_ns = Some((block.header.realtime_ns, block.header.boottime_ns));
        for chunk in block.chunks().flatten() {
            let next: &mut u64 = producers.entry(chunk.producer).or_default();
            for record in chunk.records().flatten() {
                *next = (*next).max(record.next_sequence());
                payload_bytes += record.payload.len() as u64;
            }
        }
    }
    let (epoch, first_block) = (header.epoch, header.first_block);
    let durable = durable.max(known);
    let extent = Extent { epoch, first_block, end: walk.scan().sequence(), durable };
    let nothing = walk.scan().offset() == first_offset && known <= first_block;
    if nothing && !unread && end_earlier_life(&file, &direct)? {
        bytes += UNIT_BYTES;
        padding_bytes += UNIT_BYTES;
    }
    Ok(Tail {
        index: header.index,
        extent,
        damaged: damaged || unread,
        unread,
        bytes: bytes as u64,
        padding_bytes: padding_bytes as u64,
        payload_bytes,
        last_block_ns,
        producers,
        summary,
        marked,
        highest_id: highest,
    })
}

/// Of a segment without a block of its own: takes away what is where its first block would be,
/// durably; whether there was anything.
///
/// The header is durable, so the segment's earlier life has been given up. But blocks of this life
/// may have been on their way and lie over parts of the earlier one. The segment is started again, at
/// once or later. Should a crash tear the header that is written for that, only blocks tell what the
/// segment was (see [`rebuild`]), and the earlier life would come back in shreds, told as damage. With
/// zeros in place of a first block nothing comes back. A crash before that leaves the header, which
/// tells that there is nothing.
///
/// All other segments have a whole life behind their header: before the two of the tail each block
/// was durable, or is of a segment that failed, whose end headers tell.
fn end_earlier_life<F: StorageFile>(file: &F, direct: &F) -> Result<bool> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let read = direct.read_at(UNIT_BYTES as u64, &mut unit)?;
    if unit.iter().take(read).all(|byte| *byte == 0) {
        return Ok(false);
    }
    unit.fill(0);
    file.write_at(UNIT_BYTES as u64, &unit)?;
    file.sync_data()?;
    Ok(true)
}
