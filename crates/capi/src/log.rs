//! Records in the order in which they were written, oldest segment first: a small reader, without
//! the store's index and queries, in bounded memory (one block, 1 to 8 MiB).
//!
//! Two passes: at open the headers of all blocks, by which [`judge`] says what is live, as recovery
//! sees it too; then block by block. Works beside a recorder: what it reuses meanwhile is counted.
//! Segments that were copied out of the log for a pin are read in their places.
//!
//! Invariant: hands out what the store's reader hands out, each record once (`tests/read.rs`).

mod deleted;

use baro_log::{
    Blocks, Catalog, Error, Extent, Found, FoundHeader, KEPT, Pins, Proof, Result, Segments, Walk,
    closed_as, dead_from, judge, kept_epochs, kept_name, open_folder, read_deletions,
    read_identity, rebuild, segment_name, sorted_by,
};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    Block, BlockHeader, Deletion, End, Identity, Kind, LogPlace, Pin, Scan, SegmentHeader, Step,
    UnfoldedSamples, WhenFull, deletions_of_block,
};
use baro_sys::clock;
use baro_sys::disk::{Disk, DiskFile};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// Bytes read at once where blocks are small.
const READ_BYTES: usize = 1 << 20;
/// Before damage is believed beside a recorder that recycles: it may have started the segment anew
/// between the look at its header and the look at its blocks.
const PATIENCE_NS: u64 = 20_000_000;

/// What was met so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) blocks: u64,
    pub(crate) damaged: u64,
    pub(crate) recycled: u64,
}

/// A record; its payload is bytes of [`LogReader::payload`].
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) session: u64,
    pub(crate) producer: u64,
    pub(crate) sequence: u64,
    pub(crate) time_ns: i64,
    pub(crate) kind: Kind,
    pub(crate) stream: u32,
    payload: Range<usize>,
    /// The payload is one of [`LogReader::unfolded`].
    unfolded: bool,
}

/// A started segment and the file it is in.
#[derive(Clone, Debug)]
struct Started {
    name: String,
    header: SegmentHeader,
    crc: u32,
}

/// A segment with live blocks.
#[derive(Debug)]
struct Part {
    name: String,
    header: SegmentHeader,
    crc: u32,
    live: Range<u64>,
    /// Where blocks are missing that were durable: offset, and the block that comes next.
    jumps: Vec<(u64, u64, BlockHeader)>,
}

#[derive(Debug)]
struct Cursor {
    file: DiskFile,
    scan: Scan,
}

#[derive(Debug)]
pub(crate) struct LogReader {
    disk: Disk,
    pub(crate) catalog: Catalog,
    pub(crate) pins: Vec<Pin>,
    recycles: bool,
    parts: std::collections::VecDeque<Part>,
    cursor: Option<Cursor>,
    buffer: AlignedBuffer,
    /// Offset in the segment of the buffer's first byte.
    start: u64,
    filled: usize,
    entries: Vec<Entry>,
    /// The samples of the block's section.
    unfolded: UnfoldedSamples,
    next: usize,
    pub(crate) counts: Counts,
    /// What has been deleted.
    deletions: Vec<Deletion>,
}

impl LogReader {
    /// Opens the store at `path`; reads one unit of each segment and the headers of all blocks.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let disk = open_folder(path)?;
        let identity = read_identity(&disk, path)?;
        let catalog = Catalog::read(&disk)?;
        // Before the log: what a pin holds is there as long as the pin is.
        let pins = Pins::read(&disk, identity.store)?.pins.into_values().collect();
        // Where that cannot be read nobody knows what was deleted; it is counted as damaged.
        let deletions = read_deletions(&disk, identity.store);
        let counts = Counts { damaged: u64::from(deletions.is_none()), ..Counts::default() };
        let mut reader = LogReader {
            catalog,
            pins,
            recycles: identity.when_full == WhenFull::Recycle,
            parts: std::collections::VecDeque::new(),
            cursor: None,
            buffer: AlignedBuffer::unlocked(READ_BYTES)?,
            start: 0,
            filled: 0,
            entries: Vec::new(),
            unfolded: UnfoldedSamples::default(),
            next: 0,
            counts,
            deletions: deletions.unwrap_or_default(),
            disk,
        };
        reader.index(&identity)?;
        Ok(reader)
    }

    fn index(&mut self, identity: &Identity) -> Result<()> {
        let segments = Segments::read(&self.disk, identity)?;
        let in_log = segments.started.iter().map(|(header, crc)| {
            let name = segment_name(header.index);
            Started { name, header: *header, crc: *crc }
        });
        let mut started: Vec<Started> = in_log.collect();
        // After the log: a segment is copied before it is recycled.
        self.add_kept(identity, &mut started)?;
        let started = sorted_by(started, |part| (part.header.session, part.header.epoch));
        let mut blocks = Blocks::new()?;
        let mut parts = Vec::new();
        for session in started.chunk_by(|a, b| a.header.session == b.header.session) {
            let (mut found, mut extents) = (Vec::new(), Vec::new());
            let mut proof = Proof::default();
            // The last first: what is later proves what was before.
            for (at, started) in session.iter().enumerate().rev() {
                // What is two segments behind the session's end was durable before it went on.
                let proven = at + 2 < session.len();
                let mut known = proof.of(&started.header, &segments.ends, &segments.dead);
                if at + 1 == session.len() && !started.name.starts_with(KEPT) {
                    let dead_from = dead_from(&segments.dead, started.header.epoch);
                    let file = self.disk.open(&started.name, Access::ReadDirect)?;
                    let closed = closed_as(&file, &started.header)?.map_or(0, |closed| closed.end);
                    known = known.max(closed.min(dead_from));
                }
                let (part, extent) = match self.extent(
                    &mut blocks,
                    started,
                    (proven, at + 1 == session.len(), known),
                ) {
                    // A copy that was released a moment ago.
                    Err(Error::System(error)) if error.is_missing() => continue,
                    other => other?,
                };
                proof.pass(&extent);
                found.push(part);
                extents.push(extent.capped(&segments.dead));
            }
            found.reverse();
            extents.reverse();
            for (mut part, verdict) in found.into_iter().zip(judge(&extents)) {
                let hole = verdict.hole.filter(|hole| !(self.recycles && hole.epochs_missing));
                self.counts.damaged += hole.map_or(0, |hole| hole.blocks.end - hole.blocks.start);
                part.live = verdict.live;
                if !part.live.is_empty() {
                    parts.push(part);
                }
            }
        }
        self.parts = sorted_by(parts, |part| (part.header.epoch, 0)).into();
        Ok(())
    }

    /// Adds segments that were copied out of the log and are not in it any more. One that cannot
    /// be read is left out: its blocks are missing then, which counts as damage where it is any.
    fn add_kept(&mut self, identity: &Identity, started: &mut Vec<Started>) -> Result<()> {
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        let mut in_log = BTreeSet::new();
        in_log.extend(started.iter().map(|part| part.header.epoch));
        for epoch in kept_epochs(&self.disk)?.difference(&in_log) {
            let name = kept_name(*epoch);
            let Ok(file) = self.disk.open(&name, Access::ReadDirect) else { continue };
            let read = file.read_at(0, &mut unit)?;
            let decoded = SegmentHeader::decode(unit.get(..read).unwrap_or(&[]));
            let (header, crc) = if let Ok(decoded) = decoded {
                decoded
            } else {
                // Its blocks tell what its header would.
                let (mut blocks, place) = (Blocks::new()?, (0, identity.segment_bytes));
                let Some(found) = rebuild(&file, &mut blocks, identity.store, place)? else {
                    self.counts.damaged += 1;
                    continue;
                };
                (found.header, found.crc)
            };
            if header.epoch == *epoch && header.store == identity.store {
                started.push(Started { name, header, crc });
            }
        }
        Ok(())
    }

    fn extent(
        &mut self,
        blocks: &mut Blocks,
        started: &Started,
        (proven, at_end, known): (bool, bool, u64),
    ) -> Result<(Part, Extent)> {
        let Started { name, header, crc } = started.clone();
        let file = self.disk.open(&name, Access::ReadDirect)?;
        let mut walk = blocks.walk(&file, header, crc);
        let (mut durable, mut jumps) = (known, Vec::new());
        // A copy ends behind its last block.
        let whole_bytes = if name.starts_with(KEPT) { file.size_bytes()? } else { 0 };
        walk.set_durable(known);
        loop {
            match step(&mut walk, proven)? {
                Ok(block) => durable = block.durable.max(durable),
                Err(End::Full) => break,
                Err(End::Tail(_)) => {
                    let from = walk.scan().offset();
                    let of_copy = from + UNIT_BYTES as u64 <= whole_bytes;
                    if of_copy {
                        walk.set_durable(u64::MAX);
                    }
                    let Some((at, block)) = walk.find_proof()? else {
                        // What is missing up to a later segment is counted as its hole.
                        let last = known.saturating_sub(walk.scan().sequence());
                        let missing = if of_copy { last.max(1) } else { last };
                        self.counts.damaged += if of_copy || at_end { missing } else { 0 };
                        break;
                    };
                    walk.resume(at, &block);
                    jumps.push((from, at, block));
                }
            }
        }
        let (epoch, first_block, end) = (header.epoch, header.first_block, walk.scan().sequence());
        let live = first_block..end;
        let part = Part { name, header, crc, live, jumps };
        Ok((part, Extent { epoch, first_block, end, durable }))
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            if let Some(entry) = self.entries.get(self.next) {
                self.next += 1;
                self.counts.records += 1;
                return Ok(Some(entry.clone()));
            }
            if !self.next_block()? {
                return Ok(None);
            }
        }
    }

    /// The payload of the record handed out last.
    pub(crate) fn payload(&self, entry: &Entry) -> &[u8] {
        let from = if entry.unfolded { self.unfolded.bytes() } else { &self.buffer };
        from.get(entry.payload.clone()).unwrap_or(&[])
    }

    /// Reads the next live block; false at the end of the log.
    fn next_block(&mut self) -> Result<bool> {
        self.entries.clear();
        self.next = 0;
        while let Some(part) = self.parts.front() {
            let (live, header, crc) = (part.live.clone(), part.header, part.crc);
            if self.cursor.is_none() {
                match self.disk.open(&part.name, Access::ReadDirect) {
                    Ok(file) => {
                        self.cursor = Some(Cursor { file, scan: Scan::new(header, crc) });
                    }
                    // A copy that was released meanwhile.
                    Err(error) if error.is_missing() => {
                        self.counts.recycled += live.end - live.start;
                        self.leave();
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
                (self.start, self.filled) = (0, 0);
            }
            let Some(scan) = self.cursor.as_ref().map(|cursor| cursor.scan.clone()) else { break };
            if scan.sequence() >= live.end {
                self.leave();
                continue;
            }
            let offset = scan.offset();
            let mut bytes = self.load(offset, UNIT_BYTES)?;
            if let Some(whole) = scan.block_bytes(self.bytes(bytes.clone())) {
                bytes = self.load(offset, whole)?;
            }
            let mut after = scan.clone();
            let within = self.buffer.get(bytes.clone()).unwrap_or(&[]);
            if let Step::Block(block) = after.step(within) {
                let base = within.as_ptr() as usize - bytes.start;
                let at =
                    LogPlace { session: block.header.session, sequence: block.header.sequence };
                let by = deletions_of_block(&self.deletions, at, (i64::MIN, i64::MAX));
                let whole = decode(&block, base, by, &mut self.unfolded, &mut self.entries);
                self.counts.blocks += 1;
                self.counts.damaged += u64::from(!whole);
                self.set(after);
                return Ok(true);
            }
            self.pass_damage(scan, &live, bytes)?;
        }
        Ok(false)
    }

    /// Goes on behind what should be a live block and is none.
    fn pass_damage(&mut self, scan: Scan, live: &Range<u64>, bytes: Range<usize>) -> Result<()> {
        let left = live.end - scan.sequence();
        if self.recycled(scan.header())? {
            self.counts.recycled += left;
            self.leave();
            return Ok(());
        }
        let mut after = scan.clone();
        let jumps = self.parts.front().map(|part| part.jumps.as_slice()).unwrap_or(&[]);
        if let Some((_, at, block)) = jumps.iter().find(|(from, ..)| *from == scan.offset()) {
            self.counts.damaged += block.sequence - scan.sequence();
            after.resume(*at, block);
            self.set(after);
        } else if after.step_header(self.bytes(bytes)).is_ok() {
            // Only the payload is damaged.
            self.counts.damaged += 1;
            self.set(after);
        } else {
            self.counts.damaged += left;
            self.leave();
        }
        Ok(())
    }

    /// Whether the segment is not the one that it was.
    fn recycled(&mut self, than: &SegmentHeader) -> Result<bool> {
        let Some(Cursor { file, .. }) = &self.cursor else { return Ok(false) };
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        for wait in [true, false] {
            let mut later = |offset, epoch: fn(&[u8]) -> Option<u64>| -> Result<bool> {
                let read = file.read_at(offset, &mut unit)?;
                Ok(epoch(unit.get(..read).unwrap_or(&[])).is_some_and(|e| e > than.epoch))
            };
            let header = |bytes: &[u8]| SegmentHeader::decode(bytes).ok().map(|(h, _)| h.epoch);
            let block = |bytes: &[u8]| BlockHeader::decode(bytes).ok().map(|h| h.epoch);
            if later(0, header)? || later(UNIT_BYTES as u64, block)? {
                return Ok(true);
            }
            if !self.recycles {
                return Ok(false);
            }
            if wait {
                clock::sleep_ns(PATIENCE_NS);
            }
        }
        Ok(false)
    }

    fn set(&mut self, scan: Scan) {
        if let Some(cursor) = &mut self.cursor {
            cursor.scan = scan;
        }
    }

    fn leave(&mut self) {
        self.cursor = None;
        self.parts.pop_front();
    }

    fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or(&[])
    }

    /// Has `bytes` at `offset` of the segment in the buffer, as far as the file goes; where.
    fn load(&mut self, offset: u64, bytes: usize) -> Result<Range<usize>> {
        let inside =
            offset >= self.start && offset + bytes as u64 <= self.start + self.filled as u64;
        if !inside && let Some(Cursor { file, scan }) = &self.cursor {
            let wanted = bytes.next_multiple_of(UNIT_BYTES);
            if wanted > self.buffer.len() {
                self.buffer = AlignedBuffer::unlocked(wanted)?;
            }
            let left = scan.header().segment_bytes.saturating_sub(offset);
            let room = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.filled = 0;
            let read = file.read_at(offset, self.buffer.get_mut(..room).unwrap_or(&mut []))?;
            (self.start, self.filled) = (offset, read);
        }
        let from = usize::try_from(offset - self.start).unwrap_or(self.filled).min(self.filled);
        Ok(from..(from + bytes).min(self.filled))
    }
}

fn step(
    walk: &mut Walk<'_, DiskFile>,
    proven: bool,
) -> Result<std::result::Result<BlockHeader, End>> {
    Ok(if proven {
        match walk.next_header()? {
            FoundHeader::Block(header) => Ok(header),
            FoundHeader::End(end) => Err(end),
        }
    } else {
        match walk.next_block()? {
            Found::Block(block) => Ok(block.header),
            Found::End(end) => Err(end),
        }
    })
}

/// Lists the records of a block, with one record for each distinct time of its section behind
/// them; payloads are given as places from address `base` on. False if not all can be read.
fn decode(
    block: &Block<'_>,
    base: usize,
    by: &[Deletion],
    unfolded: &mut UnfoldedSamples,
    entries: &mut Vec<Entry>,
) -> bool {
    let whole = decode_bodies(block, base, entries);
    unfolded.clear();
    let unfold = match block.section() {
        Ok(Some(section)) => unfolded.unfold_kept(&section, by),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    entries.extend(unfolded.records().map(|(time_ns, payload)| Entry {
        session: block.header.session,
        producer: 0,
        sequence: block.header.sequence,
        time_ns,
        kind: Kind::Samples,
        stream: 0,
        payload,
        unfolded: true,
    }));
    if !by.is_empty() {
        deleted::leave_out(by, block, base, unfolded, entries);
    }
    whole && unfold.is_ok()
}

fn decode_bodies(block: &Block<'_>, base: usize, entries: &mut Vec<Entry>) -> bool {
    for chunk in block.chunks() {
        let Ok(chunk) = chunk else { return false };
        for record in chunk.records() {
            let Ok(record) = record else { return false };
            if record.kind == Kind::Moved {
                continue;
            }
            let from = record.payload.as_ptr() as usize - base;
            entries.push(Entry {
                session: block.header.session,
                producer: chunk.producer,
                sequence: record.sequence,
                time_ns: record.time_ns,
                kind: record.kind,
                stream: record.stream,
                payload: from..from + record.payload.len(),
                unfolded: false,
            });
        }
    }
    true
}
