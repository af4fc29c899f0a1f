//! A segment file in the making, one step at a time: added to the log, or copied out of it for a
//! pin. Written under another name, synced, renamed, and the folder synced; only then does it
//! count, so that a crash at any point leaves it whole or not there.
//!
//! Steps are small so that whoever makes them can pace them, and never holds up anything else.
//! Held by the simulator's tests (the recorder's `tests/crash`), with crashes between all steps.

use super::names::{COPY, FOLDER, GROW, KEPT, kept_name, segment_name};
use super::walk::{Blocks, FoundHeader};
use crate::{Error, Result};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{End, SegmentHeader, StoreId};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};

/// Bytes of one step: 20 ms of a 12 MB/s device.
pub const PIECE_BYTES: usize = 256 << 10;

/// Of a file that is written through the page cache so much is synced at once: a third of a second of such
/// a device, so that whoever makes it has a look at other things meanwhile.
const SYNC_BYTES: u64 = 4 << 20;

/// A segment file in the making; it counts when a step was [`Step::Done`].
#[derive(Debug)]
pub struct Making<F> {
    temporary: &'static str,
    folder: &'static str,
    name: String,
    file: F,
    /// Copied from here; zeros behind a header without.
    source: Option<F>,
    header: Option<Box<[u8; UNIT_BYTES]>>,
    offset: u64,
    end: u64,
    /// Of what is written through the page cache: synced so far.
    synced: Option<u64>,
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
pub enum Step {
    /// So many bytes were written; there is more to do.
    Bytes(u64),
    /// The file is there for good.
    Done,
}

/// Whether a new file is one that will be overwritten for as long as there is a store, so that its
/// blocks should stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Overwritten,
    Kept,
}

/// A new file with `bytes` allocated, opened for writing past the page cache where possible: what
/// is written to it would push everything else out.
pub(super) fn allocated<S: Storage>(
    storage: &S,
    name: &str,
    bytes: u64,
    what_for: Use,
) -> Result<S::File> {
    Ok(allocated_for(storage, name, bytes, what_for)?.0)
}

/// The same, and whether it is written past the page cache.
fn allocated_for<S: Storage>(
    storage: &S,
    name: &str,
    bytes: u64,
    what_for: Use,
) -> Result<(S::File, bool)> {
    let mut file = storage.create(name)?;
    // Where it is refused the file is an ordinary one, which is said when the store is opened.
    let fixed = what_for == Use::Overwritten && file.fix_in_place().unwrap_or(false);
    if let Err(error) = file.reserve(bytes) {
        if !fixed {
            return Err(error.into());
        }
        // It takes whole sections that are free; an ordinary file finds room between others' blocks.
        storage.remove(name)?;
        file = storage.create(name)?;
        file.reserve(bytes)?;
    }
    let direct = storage.open(name, Access::WriteDirect);
    Ok(direct.map_or((file, false), |direct| (direct, true)))
}

fn make_new<S: Storage>(
    storage: &S,
    temporary: &str,
    bytes: u64,
    what: Use,
) -> Result<(S::File, bool)> {
    match storage.remove(temporary) {
        Err(error) if !error.is_missing() => return Err(error.into()),
        _ => {}
    }
    allocated_for(storage, temporary, bytes, what)
}

impl<F: StorageFile> Making<F> {
    /// A segment to be added to the log, with this header that says that it was never started.
    ///
    /// # Errors
    /// The file cannot be made, or there is no room for it.
    pub fn blank<S: Storage<File = F>>(storage: &S, header: &SegmentHeader) -> Result<Self> {
        let (file, direct) = make_new(storage, GROW, header.segment_bytes, Use::Overwritten)?;
        Ok(Making {
            synced: (!direct).then_some(0),
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
    ///
    /// # Errors
    /// The segment is not that of the epoch, is damaged or cannot be read, or the file cannot be
    /// made.
    pub fn copy<S: Storage<File = F>>(
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
        let (file, direct) = make_new(storage, COPY, end, Use::Kept)?;
        Ok(Some(Making {
            synced: (!direct).then_some(0),
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
    #[must_use]
    pub fn is_copy(&self) -> bool {
        self.source.is_some()
    }

    /// Bytes that the file has when it is there.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// The next step. `piece` has [`PIECE_BYTES`]. After an error nothing counts; what was made is
    /// removed when the next file is made.
    ///
    /// # Errors
    /// The device fails or is full.
    pub fn step<S: Storage<File = F>>(
        &mut self,
        storage: &S,
        piece: &mut AlignedBuffer,
    ) -> Result<Step> {
        match self.stage {
            Stage::Write => {
                if let Some(synced) = &mut self.synced
                    && self.offset - *synced >= SYNC_BYTES
                {
                    self.file.sync_data()?;
                    *synced = self.offset;
                    return Ok(Step::Bytes(0));
                }
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
    if dead_from < u64::MAX && dead_from > header.first_block {
        walk.set_durable(dead_from);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use baro_sys::sim::{SimDisk, SimFile};
    use baro_sys::{Error as SysError, Result as SysResult};
    use std::sync::{Arc, Mutex};

    /// A disk whose fixed files find no whole sections, and what was asked of it.
    #[derive(Clone, Debug)]
    struct NoSections(SimDisk, Arc<Mutex<Vec<String>>>);

    #[derive(Debug)]
    struct Fixed(SimFile, NoSections, Mutex<bool>);

    impl NoSections {
        fn note(&self, what: &str) {
            self.1.lock().unwrap().push(what.to_owned());
        }
    }

    impl Storage for NoSections {
        type File = Fixed;
        fn create(&self, name: &str) -> SysResult<Fixed> {
            self.note("create");
            Ok(Fixed(self.0.create(name)?, self.clone(), Mutex::new(false)))
        }
        fn open(&self, name: &str, access: Access) -> SysResult<Fixed> {
            if access == Access::WriteDirect {
                let invalid = std::io::ErrorKind::InvalidInput.into();
                return Err(SysError::new("open past the page cache", name, invalid));
            }
            Ok(Fixed(self.0.open(name, access)?, self.clone(), Mutex::new(false)))
        }
        fn list(&self, folder: &str) -> SysResult<Vec<String>> {
            self.0.list(folder)
        }
        fn create_folder(&self, name: &str) -> SysResult<()> {
            self.0.create_folder(name)
        }
        fn rename(&self, from: &str, to: &str) -> SysResult<()> {
            self.0.rename(from, to)
        }
        fn remove(&self, name: &str) -> SysResult<()> {
            self.note("remove");
            self.0.remove(name)
        }
        fn sync_folder(&self, folder: &str) -> SysResult<()> {
            self.0.sync_folder(folder)
        }
    }

    impl StorageFile for Fixed {
        fn size_bytes(&self) -> SysResult<u64> {
            self.0.size_bytes()
        }
        fn reserve(&self, bytes: u64) -> SysResult<()> {
            if *self.2.lock().unwrap() {
                self.1.note("no sections");
                let full = std::io::ErrorKind::StorageFull.into();
                return Err(SysError::new("allocate", "x", full));
            }
            self.0.reserve(bytes)
        }
        fn fix_in_place(&self) -> SysResult<bool> {
            self.1.note("fix");
            *self.2.lock().unwrap() = true;
            Ok(true)
        }
        fn read_at(&self, offset: u64, bytes: &mut [u8]) -> SysResult<usize> {
            self.0.read_at(offset, bytes)
        }
        fn write_at(&self, offset: u64, bytes: &[u8]) -> SysResult<()> {
            self.0.write_at(offset, bytes)
        }
        fn sync_data(&self) -> SysResult<()> {
            self.1.note("sync");
            self.0.sync_data()
        }
    }

    #[test]
    fn what_is_written_through_the_page_cache_is_synced_in_parts() {
        let disk = NoSections(SimDisk::new(1), Arc::default());
        disk.create_folder(FOLDER).unwrap();
        let identity = baro_ondisk::Identity {
            store: StoreId([1; 16]),
            created_ns: 1,
            segment_bytes: 12 << 20,
            segments: 2,
            when_full: baro_ondisk::WhenFull::Recycle,
            init_segments: 0,
        };
        let header = crate::blank_header(&identity, 0);
        let mut making = Making::blank(&disk, &header).unwrap();
        let mut piece = AlignedBuffer::unlocked(PIECE_BYTES).unwrap();
        let mut written = 0;
        while let Step::Bytes(bytes) = making.step(&disk, &mut piece).unwrap() {
            written += bytes;
        }
        let syncs = disk.1.lock().unwrap().iter().filter(|what| *what == "sync").count();
        assert_eq!((written, making.bytes(), syncs), (12 << 20, 12 << 20, 3));
    }

    #[test]
    fn without_whole_sections_a_segment_is_an_ordinary_file() {
        let disk = NoSections(SimDisk::new(1), Arc::default());
        let file = allocated(&disk, "a", 8192, Use::Overwritten).unwrap();
        assert_eq!(file.size_bytes().unwrap(), 8192);
        let asked = ["create", "fix", "no sections", "remove", "create"];
        assert_eq!(*disk.1.lock().unwrap(), asked);
        let kept = allocated(&disk, "b", 4096, Use::Kept).unwrap();
        assert_eq!(kept.size_bytes().unwrap(), 4096);
        assert_eq!(disk.1.lock().unwrap()[asked.len()..], ["create"]);
    }
}
