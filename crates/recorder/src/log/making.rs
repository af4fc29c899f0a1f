//! A segment file in the making, one step at a time: added to the log, or copied out of it for a
//! pin. Written under another name, synced, renamed, and the folder synced; only then does it
//! count, so that a crash at any point leaves it whole or not there.
//!
//! Steps are small so that whoever makes them can pace them, and never holds up anything else.
//! Held by the simulator's tests (`tests/crash`), with crashes between all steps.

use super::names::{COPY, FOLDER, GROW, KEPT, kept_name, segment_name};
use super::walk::{Blocks, FoundHeader};
use crate::{Error, Result};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{End, SegmentHeader, StoreId};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};

/// Bytes of one step: 20 ms of a 12 MB/s device.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// See the module.
#[derive(Debug)]
pub(crate) struct Making<F> {
    temporary: &'static str,
    folder: &'static str,
    name: String,
    file: F,
    /// Copied from here; zeros behind a header without.
    source: Option<F>,
    header: Option<Box<[u8; UNIT_BYTES]>>,
    offset: u64,
    end: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Write,
    Sync,
    Rename,
    SyncFolder,
}

/// What a step was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// So many bytes were written; there is more to do.
    Bytes(u64),
    /// The file is there for good.
    Done,
}

fn make_new<S: Storage>(storage: &S, temporary: &str, bytes: u64) -> Result<S::File> {
    match storage.remove(temporary) {
        Err(error) if !error.is_missing() => return Err(error.into()),
        _ => {}
    }
    let buffered = storage.create(temporary)?;
    buffered.reserve(bytes)?;
    // Past the page cache where possible: it would push everything else out.
    Ok(storage.open(temporary, Access::WriteDirect).unwrap_or(buffered))
}

impl<F: StorageFile> Making<F> {
    /// A segment to be added to the log, with this header that says that it was never started.
    pub(crate) fn blank<S: Storage<File = F>>(storage: &S, header: &SegmentHeader) -> Result<Self> {
        let file = make_new(storage, GROW, header.segment_bytes)?;
        Ok(Making {
            temporary: GROW,
            folder: FOLDER,
            name: segment_name(header.index),
            file,
            source: None,
            header: Some(Box::new(header.encode().0)),
            offset: 0,
            end: header.segment_bytes,
            stage: Stage::Write,
        })
    }

    /// A copy of the segment of `epoch` in the log's file `index`, without blocks from `dead_from`
    /// on; `None` if there is nothing else in it. Reads the headers of its blocks first.
    pub(crate) fn copy<S: Storage<File = F>>(
        storage: &S,
        store: StoreId,
        (epoch, index): (u64, u32),
        dead_from: u64,
    ) -> Result<Option<Self>> {
        let name = segment_name(index);
        let source = storage.open(&name, Access::ReadDirect)?;
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        let read = source.read_at(0, &mut unit)?;
        let damaged = |source| Error::Format { file: name.clone(), source };
        let (header, crc) =
            SegmentHeader::decode(unit.get(..read).unwrap_or(&[])).map_err(damaged)?;
        if header.epoch != epoch || header.store != store {
            return Err(damaged(baro_ondisk::Error::Mismatch {
                what: baro_ondisk::What::Segment,
                field: "epoch",
                offset: 40,
                expected: epoch,
                found: header.epoch,
            }));
        }
        // Superseded as a whole: its header, kept for longer than what superseded it, would tell of
        // blocks that were written again elsewhere.
        if dead_from <= header.first_block {
            return Ok(None);
        }
        let end = live_end(&source, header, crc, dead_from)?;
        storage.create_folder(KEPT)?;
        storage.sync_folder("")?;
        let file = make_new(storage, COPY, end)?;
        Ok(Some(Making {
            temporary: COPY,
            folder: KEPT,
            name: kept_name(epoch),
            file,
            source: Some(source),
            header: None,
            offset: 0,
            end,
            stage: Stage::Write,
        }))
    }

    /// Whether it is a copy.
    pub(crate) fn is_copy(&self) -> bool {
        self.source.is_some()
    }

    /// The next step. `piece` has [`PIECE_BYTES`]. After an error nothing counts; what was made is
    /// removed when the next file is made.
    pub(crate) fn step<S: Storage<File = F>>(
        &mut self,
        storage: &S,
        piece: &mut AlignedBuffer,
    ) -> Result<Step> {
        match self.stage {
            Stage::Write => {
                let bytes = (self.end - self.offset).min(piece.len() as u64) as usize;
                let part = piece.get_mut(..bytes).unwrap_or(&mut []);
                part.fill(0);
                if let Some(source) = &self.source {
                    // What the file lacks is missing there as well.
                    source.read_at(self.offset, part)?;
                }
                if let (Some(header), Some(unit)) = (self.header.take(), part.get_mut(..UNIT_BYTES))
                {
                    unit.copy_from_slice(header.as_slice());
                }
                self.file.write_at(self.offset, part)?;
                self.offset += bytes as u64;
                if self.offset >= self.end {
                    self.stage = Stage::Sync;
                }
                return Ok(Step::Bytes(bytes as u64));
            }
            Stage::Sync => {
                self.file.sync_data()?;
                self.stage = Stage::Rename;
            }
            Stage::Rename => {
                storage.rename(self.temporary, &self.name)?;
                self.stage = Stage::SyncFolder;
            }
            Stage::SyncFolder => {
                storage.sync_folder(self.folder)?;
                return Ok(Step::Done);
            }
        }
        Ok(Step::Bytes(0))
    }
}

/// Where the last live block of a segment ends; past damage where a later block proves it.
fn live_end<F: StorageFile>(
    file: &F,
    header: SegmentHeader,
    crc: u32,
    dead_from: u64,
) -> Result<u64> {
    let mut blocks = Blocks::new()?;
    let mut walk = blocks.walk(file, header, crc);
    let mut end = walk.scan().offset();
    loop {
        match walk.next_header()? {
            FoundHeader::Block(block) if block.sequence >= dead_from => return Ok(end),
            FoundHeader::Block(_) => end = walk.scan().offset(),
            FoundHeader::End(End::Full) => return Ok(end),
            FoundHeader::End(End::Tail(_)) => match walk.find_proof()? {
                Some((at, proof)) => walk.resume(at, &proof),
                None => return Ok(end),
            },
        }
    }
}
