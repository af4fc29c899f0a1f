//! What is live, and when: one pass over the headers of all blocks. Payloads are taken on trust
//! where a later block proves that they were durable; only the unproven tail of a session is read
//! in full, since only there may a crash have torn something.
//!
//! Which blocks were durable is known from the later ones of the session, from the mark at its end,
//! from what later headers tell of ends, and of a copy from its size; so what is missing there is
//! named, and reading goes on behind it.
//!
//! Memory: one entry for each segment, whatever the number of blocks, and one for each block of
//! an unproven tail; for questions about samples also one for each block that may have some.
//! Invariant: what is live is what [`baro_log::judge`] says, as recovery sees it too.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::facts::SampleBlock;
use crate::segments::{SegmentFile, SegmentRef, Segments};
use crate::told;
use baro_log::{Blocks, Extent, FoundHeader, Proof, Verdict, dead_from, judge};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BLOCK_HEADER_BYTES, Block, BlockHeader, End, Error as Format, Scan, SegmentHeader, Summary,
    WhenFull,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyFile, AnyStorage, StorageFile};
use std::ops::Range;

/// One segment with live blocks.
#[derive(Clone, Debug)]
pub(crate) struct SegmentIndex {
    pub(crate) segment: SegmentRef,
    /// Sequences of its live blocks.
    pub(crate) live: Range<u64>,
    /// Behind the last of its blocks that is no mark of an end.
    pub(crate) unmarked_end: u64,
    /// Earliest and latest record time of its blocks.
    pub(crate) times: (i64, i64),
    pub(crate) blocks: u64,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) padding_bytes: u64,
    /// Bodies of its blocks.
    pub(crate) body_bytes: u64,
    /// Sample sections of its blocks.
    pub(crate) section_bytes: u64,
    /// Boottime of its first and last block.
    pub(crate) made_ns: (i64, i64),
    /// Blocks of the session below this are proven durable by the segment's blocks.
    pub(crate) durable: u64,
    /// Those that may have samples, with [`Search::Samples`].
    samples: Vec<SampleBlock>,
    /// What tells of its blocks instead of a look at them, with [`Search::Told`].
    pub(crate) chain: Option<Summary>,
}

/// Where the blocks of a session end although something follows that a crash may have torn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// File, relative to the store.
    pub file: String,
    /// Offset of what is not a valid block.
    pub offset: u64,
    /// What was found there.
    pub found: Format,
}

/// All live segments by rising epoch.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) segments: Vec<SegmentIndex>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) tails: Vec<Tail>,
    /// Valid blocks that do not count: superseded, or behind a torn one.
    pub(crate) dead_blocks: u64,
    /// Segments that a writer recycled in the meantime.
    pub(crate) recycled: u64,
}

/// How far behind the end of a segment a later block is looked for, which would prove that durable ones
/// are missing there, where nothing else says that there were any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// To the end of the segment.
    Whole,
    /// As far as a block and those that were under way with it reach: a question need not read a blank
    /// rest of hundreds of MiB. It is noted which blocks may have samples.
    Samples,
    /// The same, but where a summary tells what a segment holds, none of its blocks is looked at.
    Told,
}

/// At least so far.
const NEAR_BYTES: u64 = 4 << 20;
/// Blocks as large as the largest that was met: the one that is missing, and more than are written at
/// once, of which the last knows it durable.
const NEAR_BLOCKS: u64 = 8;

/// A block that nothing later proves durable.
struct Unproven {
    /// Epoch of its segment.
    segment: u64,
    sequence: u64,
    place: BlockPlace,
}

pub(crate) struct Indexer<'a> {
    storage: &'a AnyStorage,
    search: Search,
    access: Access,
    when_full: WhenFull,
    blocks: Blocks,
    out: Index,
    patience: Patience,
    /// Epochs of which the end is missing and told, and where they end instead.
    told: Vec<(u64, u64)>,
}

impl Index {
    /// The segment of this epoch, if it has live blocks.
    pub(crate) fn of_epoch(&self, epoch: u64) -> Option<&SegmentIndex> {
        let at = self.segments.binary_search_by_key(&epoch, |one| one.segment.header.epoch);
        at.ok().and_then(|at| self.segments.get(at))
    }

    pub(crate) fn build(
        storage: &AnyStorage,
        access: Access,
        when_full: WhenFull,
        segments: &Segments,
        search: Search,
    ) -> Result<Self> {
        let (blocks, out) = (Blocks::new()?, Index::default());
        let patience = Patience::new(when_full);
        let mut indexer =
            Indexer { storage, search, access, when_full, blocks, out, patience, told: Vec::new() };
        let mut by_session: Vec<SegmentRef> = segments.started.clone();
        by_session.sort_by_key(|s| (s.header.session, s.header.epoch));
        for session in by_session.chunk_by(|a, b| a.header.session == b.header.session) {
            indexer.session(session, segments)?;
        }
        indexer.out.segments.sort_by_key(|s| s.segment.header.epoch);
        Ok(indexer.out)
    }
}

impl Indexer<'_> {
    fn session(&mut self, session: &[SegmentRef], segments: &Segments) -> Result<()> {
        let dead = segments.dead.as_slice();
        let mut found: Vec<(SegmentIndex, Extent)> = Vec::new();
        let mut unproven = Vec::new();
        let (mut proof, mut later) = (Proof::default(), None);
        // The last first: what is later proves what was before.
        for segment in session.iter().rev().copied() {
            let known = proof.of(&segment.header, &segments.ends, dead);
            let entry = match self.search {
                Search::Told => {
                    told::segment(self.storage, self.access, segments, segment, (known, later))?
                }
                _ => None,
            };
            let entry = match entry {
                Some(entry) => Some(entry),
                None => {
                    let closed = if later.is_none() { self.closed_end(&segment)? } else { 0 };
                    let dead_from = dead_from(dead, segment.header.epoch);
                    let known = known.max(closed.min(dead_from));
                    self.segment(segment, (known, later), &mut unproven)?
                }
            };
            if let Some(entry) = entry {
                later = Some(entry.1.first_block);
                proof.pass(&entry.1);
                unproven.retain(|u: &Unproven| u.sequence >= proof.durable());
                found.push(entry);
            }
        }
        found.reverse();
        unproven.sort_by_key(|u| (u.segment, u.sequence));
        self.check_unproven(&mut found, &unproven)?;
        let extents: Vec<Extent> = found.iter().map(|(_, e)| e.capped(dead)).collect();
        let verdicts = judge(&extents);
        let mut before: Option<(SegmentFile, u64, u64)> = None;
        for ((mut index, extent), verdict) in found.into_iter().zip(verdicts) {
            self.hole(&index.segment, &verdict, before)?;
            let live = verdict.live.end - verdict.live.start;
            let read = extent.end - extent.first_block;
            self.out.dead_blocks += read.saturating_sub(live);
            if live > 0 {
                before = Some((index.segment.file, extent.epoch, verdict.live.end));
                index.live = verdict.live;
                self.out.segments.push(index);
            }
        }
        Ok(())
    }

    /// Blocks of the segment below this were durable when its session was closed in order; 0 if nothing
    /// tells.
    fn closed_end(&self, segment: &SegmentRef) -> Result<u64> {
        Ok(segment.closed(self.storage, self.access)?.map_or(0, |closed| closed.end))
    }

    /// Reports blocks that should be before this segment.
    fn hole(
        &mut self,
        segment: &SegmentRef,
        verdict: &Verdict,
        before: Option<(SegmentFile, u64, u64)>,
    ) -> Result<()> {
        let recycles = self.when_full == WhenFull::Recycle;
        let (expected, found) = match (&verdict.hole, before) {
            (Some(hole), _) if !(recycles && hole.epochs_missing) => {
                (hole.blocks.start, hole.blocks.end)
            }
            // Nothing of a store that never recycles goes by itself.
            (None, None) if !recycles && segment.header.first_block > 0 => {
                if verdict.live.is_empty() {
                    return Ok(());
                }
                (0, segment.header.first_block)
            }
            _ => return Ok(()),
        };
        if before.is_some_and(|(_, epoch, end)| self.told.contains(&(epoch, end))) {
            return Ok(());
        }
        if let Some((file, ..)) = before
            && self.patience.recycled_file(self.storage, self.access, file, segment)?
        {
            return Ok(());
        }
        let (file, offset) = (segment.file.name(), 64);
        let (source, loss) = (Source::Sequence { expected, found }, Loss::Blocks(found - expected));
        self.out.damage.push(Damage { file, offset, source, loss });
        Ok(())
    }

    /// Walks the headers of one segment, of which the blocks below `known` were durable; `later` is the
    /// first block of the session's next segment. `None` if it has been recycled meanwhile.
    fn segment(
        &mut self,
        segment: SegmentRef,
        (known, later): (u64, Option<u64>),
        unproven: &mut Vec<Unproven>,
    ) -> Result<Option<(SegmentIndex, Extent)>> {
        let name = segment.file.name();
        let Some(file) = segment.file.open(self.storage, self.access)? else {
            self.out.recycled += 1;
            return Ok(None);
        };
        let first = segment.header.first_block;
        let mut index = SegmentIndex::new(segment);
        let mut durable = known;
        let mut damage = Vec::new();
        let (mut tried_at, mut near_bytes) = (0, NEAR_BYTES);
        let mut tail = None;
        let number = segment.header.epoch;
        let mut walk = self.blocks.walk(&file, segment.header, segment.crc);
        walk.set_durable(known);
        walk.pass_unreadable();
        // A copy of a segment ends behind its last block.
        let whole_bytes = match segment.file {
            SegmentFile::Log(_) => 0,
            SegmentFile::Kept(_) => file.size_bytes()?,
        };
        loop {
            let offset = walk.scan().offset();
            let source = match walk.next_header() {
                Ok(FoundHeader::Block(header)) => {
                    index.add(&header);
                    if self.search != Search::Whole {
                        index.samples.extend(SampleBlock::of(offset, &header));
                    }
                    // Behind the mark of an end in order nobody writes.
                    near_bytes = match header.is_end_mark() {
                        true => 0,
                        false => near_bytes
                            .max(NEAR_BYTES)
                            .max(NEAR_BLOCKS * header.block_bytes() as u64),
                    };
                    durable = durable.max(header.durable);
                    if header.sequence >= durable {
                        let (sequence, place) = (header.sequence, BlockPlace::new(offset, &header));
                        unproven.push(Unproven { segment: number, sequence, place });
                    }
                    continue;
                }
                Ok(FoundHeader::End(End::Full)) => break,
                Ok(FoundHeader::End(End::Tail(source))) => Source::Format(source),
                // What is behind it may be readable.
                Err(error) => Source::Unreadable(error.to_string()),
            };
            let of_copy = offset + UNIT_BYTES as u64 <= whole_bytes;
            if of_copy {
                walk.set_durable(u64::MAX);
            }
            let sequence = walk.scan().sequence();
            let within = match self.search {
                // What may be behind it is superseded.
                Search::Whole => u64::MAX,
                _ if later.is_some_and(|at| sequence >= at) => 0,
                _ if !walk.scan().expects_more() => near_bytes,
                _ => u64::MAX,
            };
            let Some((at, header)) = walk.find_proof_within(within)? else {
                if !walk.scan().expects_more() {
                    match source {
                        Source::Format(source) => tail = Some((walk.scan().clone(), source)),
                        source => {
                            let marked = index.blocks > 0 && near_bytes == 0;
                            let loss = if marked { Loss::Nothing } else { Loss::Segment };
                            damage.push(Damage::at(&name, offset, source, loss));
                        }
                    }
                    break;
                }
                // Nothing follows, and yet it was durable. A writer may have written it since, as
                // below.
                if tried_at != offset {
                    tried_at = offset;
                    continue;
                }
                let sequence = walk.scan().sequence();
                let missing = if of_copy { 1 } else { known - sequence };
                self.told.push((segment.header.epoch, sequence));
                damage.push(Damage::at(&name, offset, source, Loss::Blocks(missing)));
                break;
            };
            // A writer may have written it since: looked at once more before it counts.
            if tried_at != offset {
                tried_at = offset;
                continue;
            }
            let missing = header.sequence - walk.scan().sequence();
            damage.push(Damage::at(&name, offset, source, Loss::Blocks(missing)));
            walk.resume(at, &header);
        }
        let end = walk.scan().sequence();
        if self.patience.recycled(&file, &segment, !damage.is_empty())? {
            self.out.recycled += 1;
            unproven.retain(|u| u.segment != number);
            return Ok(None);
        }
        if let Some((scan, source)) = tail {
            self.tail(&file, &scan, segment.file, source)?;
        }
        self.out.damage.append(&mut damage);
        index.durable = durable;
        let extent = Extent { epoch: segment.header.epoch, first_block: first, end, durable };
        Ok(Some((index, extent)))
    }

    /// Notes an end at bytes that look like a torn block.
    fn tail(
        &mut self,
        file: &AnyFile,
        scan: &Scan,
        index: SegmentFile,
        found: Format,
    ) -> Result<()> {
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        let offset = scan.offset();
        let read = file.read_at(offset, &mut unit).unwrap_or(0);
        if scan.looks_torn(unit.get(..read).unwrap_or(&[])) {
            self.out.tails.push(Tail { file: index.name(), offset, found });
        }
        Ok(())
    }

    /// Reads what nothing proves durable, in order; the first torn block of a segment ends it.
    fn check_unproven(
        &mut self,
        found: &mut [(SegmentIndex, Extent)],
        unproven: &[Unproven],
    ) -> Result<()> {
        let durable = found.iter().map(|(_, extent)| extent.durable).max().unwrap_or(0);
        let mut buffer = AlignedBuffer::unlocked(UNIT_BYTES)?;
        for block in unproven.iter().filter(|u| u.sequence >= durable) {
            let is = |(_, extent): &&mut (_, Extent)| extent.epoch == block.segment;
            let Some((index, extent)) = found.iter_mut().find(is) else { continue };
            if block.sequence >= extent.end {
                continue;
            }
            let name = index.segment.file.name();
            let Some(file) = index.segment.file.open(self.storage, self.access)? else { continue };
            let (offset, bytes) = (block.place.offset, block.place.bytes as usize);
            if buffer.len() < bytes {
                buffer = AlignedBuffer::unlocked(bytes)?;
            }
            // Whether it was torn cannot be told: whoever reads it says that it cannot be read.
            let read = file.read_at(offset, buffer.get_mut(..bytes).unwrap_or(&mut []));
            let Ok(read) = read else { continue };
            if let Err(found) = block.place.whole(buffer.get(..read).unwrap_or(&[])) {
                self.out.dead_blocks += extent.end - block.sequence;
                extent.end = block.sequence;
                self.out.tails.push(Tail { file: name, offset, found });
            }
        }
        Ok(())
    }
}

impl Index {
    /// Bytes of blocks, and nanoseconds in which they were made, of the newest session: of its
    /// last segments that follow one another, since what was recycled between others took time too.
    pub(crate) fn rate(&self) -> Option<(u64, u64)> {
        let newest = self.segments.last()?.segment.header;
        let (mut bytes, mut made_ns) = (0, (i64::MAX, i64::MIN));
        for (back, entry) in self.segments.iter().rev().enumerate() {
            let header = entry.segment.header;
            if header.session != newest.session || header.epoch + back as u64 != newest.epoch {
                break;
            }
            bytes += entry.bytes;
            made_ns = (made_ns.0.min(entry.made_ns.0), made_ns.1.max(entry.made_ns.1));
        }
        let span_ns = u64::try_from(made_ns.1.saturating_sub(made_ns.0)).ok()?;
        (span_ns > 0).then_some((bytes, span_ns))
    }
}

impl SegmentIndex {
    /// Of one whose blocks are still to be added.
    fn new(segment: SegmentRef) -> Self {
        let first = segment.header.first_block;
        SegmentIndex {
            segment,
            live: first..first,
            unmarked_end: first,
            times: (i64::MAX, i64::MIN),
            blocks: 0,
            records: 0,
            bytes: 0,
            padding_bytes: 0,
            body_bytes: 0,
            section_bytes: 0,
            made_ns: (i64::MAX, i64::MIN),
            durable: 0,
            samples: Vec::new(),
            chain: None,
        }
    }

    /// Of one whose blocks are not looked at.
    pub(crate) fn told(segment: SegmentRef, summary: Summary, durable: u64) -> Self {
        let first = segment.header.first_block;
        let (times, blocks) = (summary.times_ns, summary.end - first);
        let chain = Some(summary);
        SegmentIndex { times, blocks, chain, durable, ..SegmentIndex::new(segment) }
    }

    /// Its live blocks that may have samples, in the order of writing.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &SampleBlock> {
        self.samples.iter().filter(|block| self.live.contains(&block.sequence))
    }

    fn add(&mut self, header: &BlockHeader) {
        let bytes = header.block_bytes();
        self.blocks += 1;
        if !header.is_end_mark() {
            self.unmarked_end = header.sequence + 1;
        }
        self.records += u64::from(header.records);
        self.bytes += bytes as u64;
        self.padding_bytes += (bytes - BLOCK_HEADER_BYTES - header.payload_bytes()) as u64;
        self.body_bytes += u64::from(header.body_bytes);
        self.section_bytes += u64::from(header.section_bytes);
        let (first_ns, last_ns) = self.made_ns;
        self.made_ns = (first_ns.min(header.boottime_ns), last_ns.max(header.boottime_ns));
        self.times = (self.times.0.min(header.time_min_ns), self.times.1.max(header.time_max_ns));
    }
}

/// Where a block is, and by which CRC of its header it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    crc: u32,
}

impl BlockPlace {
    pub(crate) fn new(offset: u64, header: &BlockHeader) -> Self {
        BlockPlace { offset, bytes: header.block_bytes() as u32, crc: header.crc }
    }

    /// The block in `bytes`, if it is this one and whole; an error has offsets in the file.
    pub(crate) fn whole<'a>(&self, bytes: &'a [u8]) -> std::result::Result<Block<'a>, Format> {
        let header = BlockHeader::decode(bytes).map_err(|error| error.at(self.offset))?;
        if header.crc != self.crc {
            return Err(Format::Mismatch {
                what: baro_ondisk::What::Block,
                field: "header CRC",
                offset: self.offset + 124,
                expected: u64::from(self.crc),
                found: u64::from(header.crc),
            });
        }
        Block::new(header, bytes).map_err(|error| error.at(self.offset))
    }

    /// The same of what a read has put into `bytes`.
    pub(crate) fn of_read<'a>(
        &self,
        read: baro_sys::Result<usize>,
        bytes: &'a [u8],
    ) -> std::result::Result<Block<'a>, Source> {
        let read = read.map_err(|error| Source::Unreadable(error.to_string()))?;
        self.whole(bytes.get(..read).unwrap_or(&[])).map_err(Source::Format)
    }
}

/// Tells recycling from damage. A segment may be started anew between the look at its header and the
/// look at its blocks; so before damage is believed a few moments are waited, but not for thousands
/// of places.
#[derive(Debug)]
pub(crate) struct Patience {
    waits: u32,
}

const WAIT_NS: u64 = 20_000_000;

impl Patience {
    /// For a store of this mode: one that never recycles is never waited for.
    pub(crate) fn new(when_full: WhenFull) -> Self {
        Patience { waits: if when_full == WhenFull::Recycle { 20 } else { 0 } }
    }

    /// Whether the segment in `file` is not the one that it was. `doubt`: what was read in it
    /// looks like damage.
    pub(crate) fn recycled(
        &mut self,
        file: &AnyFile,
        segment: &SegmentRef,
        doubt: bool,
    ) -> Result<bool> {
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        loop {
            // Of a damaged header nothing can change; the first block stands for it.
            if is_later_header(file, segment, &mut unit)?
                || is_later_block(file, segment, &mut unit)?
            {
                return Ok(true);
            }
            if !doubt || self.waits == 0 {
                return Ok(false);
            }
            self.waits -= 1;
            baro_sys::clock::sleep_ns(WAIT_NS);
            if !is_later_header(file, segment, &mut unit)?
                && !is_later_block(file, segment, &mut unit)?
            {
                return Ok(false);
            }
        }
    }

    fn recycled_file(
        &mut self,
        storage: &AnyStorage,
        access: Access,
        file: SegmentFile,
        than: &SegmentRef,
    ) -> Result<bool> {
        let Some(file) = file.open(storage, access)? else { return Ok(true) };
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        is_later_header(&file, than, &mut unit)
    }
}

fn is_later_header(file: &AnyFile, segment: &SegmentRef, unit: &mut AlignedBuffer) -> Result<bool> {
    // What cannot be read is no later one.
    let read = file.read_at(0, unit).unwrap_or(0);
    let found = SegmentHeader::decode(unit.get(..read).unwrap_or(&[]));
    Ok(found.is_ok_and(|(h, _)| h.epoch > segment.header.epoch && h.store == segment.header.store))
}

fn is_later_block(file: &AnyFile, segment: &SegmentRef, unit: &mut AlignedBuffer) -> Result<bool> {
    let read = file.read_at(UNIT_BYTES as u64, unit).unwrap_or(0);
    let found = BlockHeader::decode(unit.get(..read).unwrap_or(&[]));
    Ok(found.is_ok_and(|h| h.epoch > segment.header.epoch && h.store == segment.header.store))
}
