//! Walks the blocks of one segment file: the I/O shell around [`baro_ondisk::Scan`], one for
//! recovery, readers and verification. Memory: one buffer, fixed.

use baro_ondisk::limits::{BLOCK_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{BLOCK_HEADER_BYTES, Block, BlockHeader, End, Scan, SegmentHeader, Step};
use baro_sys::Result;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::StorageFile;

/// Bytes read at once: large enough to keep a device busy; at least a block must fit.
const BUFFER_BYTES: usize = BLOCK_BYTES_MAX;
/// Bytes read at once while blocks are small, so that a short segment costs no long read.
const READ_BYTES: usize = 1 << 20;
/// Bytes read at once for headers of small blocks.
const HEADERS_BYTES: usize = 128 << 10;
/// Of blocks larger than this only a unit is read: a read of several costs no less than theirs.
const LARGE_BYTES: usize = 32 << 10;

/// So many units that cannot be read are passed over in a search: a whole block. With more it has found
/// nothing.
const UNREADABLE_UNITS: usize = BLOCK_BYTES_MAX / UNIT_BYTES;

/// Buffer of a walk; may serve many walks, one after another.
#[derive(Debug)]
pub struct Blocks {
    buffer: AlignedBuffer,
}

/// Walk over the blocks of one segment.
#[derive(Debug)]
pub struct Walk<'a, F> {
    file: &'a F,
    buffer: &'a mut AlignedBuffer,
    scan: Scan,
    /// CRC of the segment's header.
    first_crc: u32,
    /// Offset in the file of the buffer's first byte.
    start: u64,
    filled: usize,
    /// The last block was large: for headers, reading ahead would gain nothing.
    large: bool,
    /// Bytes read at once.
    at_once: usize,
    /// Up to here nothing is read ahead: it was tried, and something there cannot be read.
    one_by_one_to: u64,
    /// A search goes on behind what cannot be read.
    passes_unreadable: bool,
}

/// What [`Walk::next_header`] found.
#[derive(Clone, Copy, Debug)]
pub enum FoundHeader {
    /// The header of the next block; its payload has not been looked at.
    Block(BlockHeader),
    /// No further block of this chain.
    End(End),
}

/// What a walk found.
#[derive(Debug)]
pub enum Found<'a> {
    /// The next valid block.
    Block(Block<'a>),
    /// No further valid block.
    End(End),
}

impl Blocks {
    /// Allocates the buffer.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new() -> Result<Self> {
        Ok(Blocks { buffer: AlignedBuffer::unlocked(BUFFER_BYTES)? })
    }

    /// A walk over the segment in `file`, whose header (and its CRC) has been read.
    pub fn walk<'a, F: StorageFile>(
        &'a mut self,
        file: &'a F,
        header: SegmentHeader,
        crc: u32,
    ) -> Walk<'a, F> {
        self.go_on(file, Scan::new(header, crc), crc)
    }

    /// A walk that goes on where another one was; `crc` is that of the segment's header.
    pub fn go_on<'a, F: StorageFile>(
        &'a mut self,
        file: &'a F,
        scan: Scan,
        crc: u32,
    ) -> Walk<'a, F> {
        let (start, buffer, at_once) = (scan.offset(), &mut self.buffer, READ_BYTES);
        Walk {
            file,
            start,
            buffer,
            scan,
            first_crc: crc,
            filled: 0,
            large: false,
            at_once,
            one_by_one_to: 0,
            passes_unreadable: false,
        }
    }
}

impl<F: StorageFile> Walk<'_, F> {
    /// Reads `bytes` at once from now on: fewer where little is expected.
    pub fn read_at_once(&mut self, bytes: usize) {
        self.at_once = bytes.next_multiple_of(UNIT_BYTES);
    }

    /// A place that cannot be read does not end the search for a later block, for who only reads.
    pub fn pass_unreadable(&mut self) {
        self.passes_unreadable = true;
    }

    /// Blocks below `sequence` are known to have been durable: see [`Scan::set_durable`].
    pub fn set_durable(&mut self, sequence: u64) {
        self.scan.set_durable(sequence);
    }

    /// Begins again at the first block.
    pub fn rewind(&mut self) {
        self.scan = Scan::new(*self.scan.header(), self.first_crc);
        (self.start, self.filled) = (self.scan.offset(), 0);
    }

    /// Where the walk is.
    #[must_use]
    pub fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The next block.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_block(&mut self) -> Result<Found<'_>> {
        let header = self.fill(BLOCK_HEADER_BYTES)?;
        if let Some(bytes) = self.scan.block_bytes(self.bytes(header)) {
            self.fill(bytes)?;
        }
        let (from, offset) = (self.from(), self.scan.offset());
        let bytes = self.buffer.get(from..self.filled).unwrap_or(&[]);
        Ok(match self.scan.step(bytes) {
            Step::Block(block) => Found::Block(block),
            Step::End(end) => Found::End(end),
            // The file is shorter than its segment.
            Step::Need(expected) => Found::End(End::Tail(baro_ondisk::Error::Truncated {
                what: baro_ondisk::What::Block,
                offset,
                expected: expected as u64,
                found: bytes.len() as u64,
            })),
        })
    }

    /// After an end: whether a later block of the segment proves that durable blocks are missing
    /// here. If so its header is returned and the walk goes on there.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn skip_damage(&mut self) -> Result<Option<BlockHeader>> {
        let Some((at, header)) = self.find_proof()? else { return Ok(None) };
        self.resume(at, &header);
        Ok(Some(header))
    }

    /// After an end: if a later block of the segment proves that durable blocks are missing here,
    /// the first block behind them and its offset. The walk stays where it is.
    ///
    /// Beside a writer the proof may be younger than what was read before it: call
    /// [`Walk::next_block`] once more before believing it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find_proof(&mut self) -> Result<Option<(u64, BlockHeader)>> {
        self.find_proof_within(u64::MAX)
    }

    /// As [`Walk::find_proof`], but looks no further than `bytes` from here.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find_proof_within(&mut self, bytes: u64) -> Result<Option<(u64, BlockHeader)>> {
        let end = self.scan.header().segment_bytes.min(self.scan.offset().saturating_add(bytes));
        let mut at = self.scan.offset() + UNIT_BYTES as u64;
        let (mut first, mut found) = (None, None);
        let mut unreadable = 0;
        while at + UNIT_BYTES as u64 <= end {
            // What nobody wrote proves nothing: of a file of 4 GiB with holes only the rest is read.
            if at >= self.start + self.filled as u64 {
                let Some(data) = self.file.next_data(at)? else { break };
                let units = (data.max(at) - at) / UNIT_BYTES as u64;
                at += units * UNIT_BYTES as u64;
                if at + UNIT_BYTES as u64 > end {
                    break;
                }
            }
            match self.load(at, UNIT_BYTES, self.at_once) {
                Err(_) if self.passes_unreadable => {
                    unreadable += 1;
                    at += UNIT_BYTES as u64;
                    if unreadable > UNREADABLE_UNITS {
                        break;
                    }
                    continue;
                }
                loaded => loaded?,
            }
            let from = (at - self.start) as usize;
            let Some(bytes) = self.buffer.get(from..self.filled).filter(|b| !b.is_empty()) else {
                break;
            };
            if first.is_none() {
                first = self.scan.follows(bytes).map(|header| (at, header));
            }
            if self.scan.proves_damage(bytes).is_some() {
                found = first;
                break;
            }
            at += UNIT_BYTES as u64;
        }
        // The buffer has moved ahead of the walk.
        self.start = self.scan.offset();
        self.filled = 0;
        Ok(found)
    }

    /// Goes on with the block at `offset` that [`Walk::find_proof`] found.
    pub fn resume(&mut self, offset: u64, header: &BlockHeader) {
        self.scan.resume(offset, header);
        self.start = offset;
        self.filled = 0;
    }

    /// The header of the next block; reads one unit of each block where blocks are large.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_header(&mut self) -> Result<FoundHeader> {
        let offset = self.scan.offset();
        if offset < self.start || offset > self.start + self.filled as u64 {
            self.start = offset;
            self.filled = 0;
        }
        let at_once = if self.large { UNIT_BYTES } else { HEADERS_BYTES };
        self.load(offset, UNIT_BYTES, at_once)?;
        let from = self.from();
        let bytes = self.buffer.get(from..self.filled).unwrap_or(&[]);
        Ok(match self.scan.step_header(bytes) {
            Ok(header) => {
                self.large = header.block_bytes() > LARGE_BYTES;
                FoundHeader::Block(header)
            }
            Err(end) => FoundHeader::End(end),
        })
    }

    fn from(&self) -> usize {
        (self.scan.offset() - self.start) as usize
    }

    fn bytes(&self, from: usize) -> &[u8] {
        self.buffer.get(from..self.filled).unwrap_or(&[])
    }

    /// Has `bytes` at the scan's offset in the buffer, as far as the file goes; returns their place.
    fn fill(&mut self, bytes: usize) -> Result<usize> {
        self.load(self.scan.offset(), bytes, self.at_once)?;
        Ok(self.from())
    }

    /// Has `bytes` at `offset`, not before the buffer's start, in the buffer; reads `at_once`, but no more
    /// than `bytes` where something behind them cannot be read.
    fn load(&mut self, offset: u64, bytes: usize, at_once: usize) -> Result<()> {
        let from = (offset - self.start) as usize;
        if from + bytes <= self.filled {
            return Ok(());
        }
        // Whole units, as direct reads demand: offsets are, and so are the lengths.
        let keep = self.filled.saturating_sub(from) / UNIT_BYTES * UNIT_BYTES;
        if keep > 0 {
            self.buffer.copy_within(from..from + keep, 0);
        }
        self.start = offset;
        self.filled = keep;
        let need = bytes.next_multiple_of(UNIT_BYTES);
        let want = if offset < self.one_by_one_to { need } else { need.max(at_once) };
        let left = self.scan.header().segment_bytes.saturating_sub(offset);
        let most = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let (need, want) = (need.min(most), want.min(most));
        match self.read_to(keep, want) {
            Err(_) if need < want => {
                self.one_by_one_to = offset + want as u64;
                self.read_to(keep, need)
            }
            read => read,
        }
    }

    /// Fills the buffer from `keep` to `to`.
    fn read_to(&mut self, keep: usize, to: usize) -> Result<()> {
        if let Some(room) = self.buffer.get_mut(keep..to) {
            let read = self.file.read_at(self.start + keep as u64, room)?;
            self.filled = keep + read;
        }
        Ok(())
    }
}
