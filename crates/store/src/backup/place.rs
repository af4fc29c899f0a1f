//! The folder that a backup is written into: a file is written under another name, synced and renamed,
//! so that under its own it is whole.

use super::BackedUp;
use super::history::There;
use super::mark::{self, Mark, NEW};
use crate::Result;
use baro_log::{IDENTITY, list_folder, remove_if_there, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{SegmentHeader, StoreId};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use std::path::Path;

/// What is being written, in the folder that it is for: so the sync of one folder makes its name durable.
fn new_name(name: &str) -> String {
    match name.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/backup.new"),
        None => NEW.to_owned(),
    }
}

/// Read and written at once: 20 ms of a device of 12 MB/s.
const PIECE_BYTES: usize = 256 << 10;
/// Written through the page cache between two syncs.
const SYNC_BYTES: u64 = 1 << 20;

pub(super) struct Place<'a> {
    pub(super) target: &'a AnyStorage,
    pub(super) path: &'a Path,
    pub(super) done: BackedUp,
    pub(super) mark: Mark,
    piece: AlignedBuffer,
    other: AlignedBuffer,
    tick: &'a mut dyn FnMut(u64),
}

impl<'a> Place<'a> {
    pub(super) fn open(
        target: &'a AnyStorage,
        path: &'a Path,
        tick: &'a mut dyn FnMut(u64),
    ) -> Result<Self> {
        let mark = baro_log::read_backup_mark(target)?.map_or_else(Mark::default, |(_, mark)| mark);
        let first = !target.list("")?.iter().any(|name| name == IDENTITY);
        let done = BackedUp { first, ..BackedUp::default() };
        let piece = AlignedBuffer::unlocked(PIECE_BYTES)?;
        let other = AlignedBuffer::unlocked(PIECE_BYTES)?;
        Ok(Place { target, path, done, mark, piece, other, tick })
    }

    /// The segments of the log that are there and were started; those missing or damaged are passed over.
    pub(super) fn started(&self, segments: u32) -> Result<Vec<There>> {
        let mut found = Vec::new();
        for index in 0..segments {
            let header = self.header_of(index)?.filter(|(header, _)| header.started());
            found.extend(header.map(|(header, crc)| (index, header, crc)));
        }
        Ok(found)
    }

    /// The header of a segment of the log that is there and valid, and its CRC.
    pub(super) fn header_of(&self, index: u32) -> Result<Option<(SegmentHeader, u32)>> {
        Ok(SegmentHeader::decode(&self.first_unit(&segment_name(index))?).ok())
    }

    /// Whether a file ends so; also if nobody knows how it should end.
    pub(super) fn ends_with(&self, name: &str, end: Option<Vec<u8>>) -> Result<bool> {
        let Some(end) = end else { return Ok(true) };
        let file = self.target.open(name, Access::Read)?;
        let mut found = vec![0; end.len()];
        let read = file.read_at(file.size_bytes()?.saturating_sub(end.len() as u64), &mut found)?;
        Ok(found.get(..read) == Some(&*end))
    }

    /// What is to come reaches up to this epoch.
    pub(super) fn reaches(&mut self, store: StoreId, epoch: u64) -> Result<()> {
        if epoch > self.mark.reaches {
            self.mark.reaches = epoch;
            mark::write(self.mark, self.target, store)?;
        }
        Ok(())
    }

    /// All is there below this epoch.
    pub(super) fn complete(&mut self, store: StoreId, epoch: u64) -> Result<()> {
        self.mark.complete_below = epoch;
        mark::write(self.mark, self.target, store)
    }

    pub(super) fn folder(&self, name: &str) -> Result<()> {
        self.target.create_folder(name)?;
        Ok(self.target.sync_folder("")?)
    }

    /// Bytes of a file that is there.
    pub(super) fn bytes_of(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.there(name)?.map(|file| file.size_bytes()).transpose()?)
    }

    pub(super) fn there(&self, name: &str) -> Result<Option<AnyFile>> {
        match self.target.open(name, Access::Read) {
            Err(error) if error.is_missing() => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }

    /// All of a small file that is there.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.there(name)? else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(file.size_bytes()?).unwrap_or(0)];
        let read = file.read_at(0, &mut bytes)?;
        bytes.truncate(read);
        Ok(Some(bytes))
    }

    /// Makes `name` a copy of `file` up to `end`, of `size` bytes.
    pub(super) fn put(&mut self, file: &AnyFile, name: &str, end: u64, size: u64) -> Result<()> {
        let new = new_name(name);
        self.write(file, &new, end, size)?;
        Ok(self.target.rename(&new, name)?)
    }

    /// The same where that is not what is there.
    pub(super) fn put_if_other(
        &mut self,
        file: &AnyFile,
        name: &str,
        end: u64,
        size: u64,
    ) -> Result<()> {
        if self.bytes_of(name)? == Some(size) && self.is_same(file, name, end)? {
            return Ok(());
        }
        self.put(file, name, end, size)
    }

    pub(super) fn is_same(&mut self, file: &AnyFile, name: &str, end: u64) -> Result<bool> {
        let there = self.target.open(name, Access::Read)?;
        let mut at = 0;
        while at < end {
            let bytes = usize::try_from(end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let (ours, theirs) = (self.piece.get_mut(..bytes), self.other.get_mut(..bytes));
            let (Some(ours), Some(theirs)) = (ours, theirs) else { return Ok(false) };
            let read = (file.read_at(at, ours)?, there.read_at(at, theirs)?);
            if read != (bytes, bytes) || ours != theirs {
                return Ok(false);
            }
            at += bytes as u64;
        }
        Ok(true)
    }

    /// Writes `name` anew: what `file` has up to `end`, and `size` bytes in all. What is zero is left
    /// out, so that a segment takes the room of what it holds. Past the page cache where that can be:
    /// what would be written back from there at once is what a recorder on the same disk would wait for.
    pub(super) fn write(&mut self, file: &AnyFile, name: &str, end: u64, size: u64) -> Result<()> {
        remove_if_there(self.target, name)?;
        let cached = self.target.create(name)?;
        if self.fill(file, name, &cached, 0, end)? < size {
            // A hole up to its last byte.
            cached.write_at(size - 1, &[0])?;
        }
        Ok(cached.sync_data()?)
    }

    /// Writes what `file` has from `from` to `end` into `name`, which is there and has nothing from `from` on.
    pub(super) fn write_range(
        &mut self,
        file: &AnyFile,
        name: &str,
        from: u64,
        end: u64,
    ) -> Result<()> {
        let cached = self.target.open(name, Access::Write)?;
        self.fill(file, name, &cached, from, end)?;
        Ok(cached.sync_data()?)
    }

    /// Returns where the last byte is that is not zero.
    fn fill(
        &mut self,
        file: &AnyFile,
        name: &str,
        cached: &AnyFile,
        from: u64,
        end: u64,
    ) -> Result<u64> {
        let direct = self.target.open(name, Access::WriteDirect).ok();
        let (mut at, mut unsynced, mut reaches) = (from, 0, 0);
        while at < end {
            let Some(data) = file.next_data(at)?.filter(|data| *data < end) else { break };
            at = at.max(data / UNIT_BYTES as u64 * UNIT_BYTES as u64);
            // Whole units, as direct reads demand.
            let left = usize::try_from(end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let room = self.piece.get_mut(..left.next_multiple_of(UNIT_BYTES)).unwrap_or(&mut []);
            let read = file.read_at(at, room)?.min(left);
            if read == 0 {
                break;
            }
            let bytes = room.get(..read).unwrap_or(&[]);
            if bytes.iter().any(|byte| *byte != 0) {
                match direct.as_ref().filter(|_| read % UNIT_BYTES == 0) {
                    Some(direct) => direct.write_at(at, bytes)?,
                    None => {
                        cached.write_at(at, bytes)?;
                        unsynced += read as u64;
                    }
                }
                reaches = at + read as u64;
                self.done.bytes += read as u64;
            }
            at += read as u64;
            if unsynced >= SYNC_BYTES {
                cached.sync_data()?;
                unsynced = 0;
            }
            (self.tick)(read as u64);
        }
        Ok(reaches)
    }

    /// Makes `name` a file of these bytes.
    pub(super) fn put_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.put_segment(name, bytes, bytes.len() as u64)
    }

    /// Makes `name` a file of `size` bytes that begins with these, and has nothing behind them.
    pub(super) fn put_segment(&mut self, name: &str, bytes: &[u8], size: u64) -> Result<()> {
        let new = new_name(name);
        remove_if_there(self.target, &new)?;
        let file = self.target.create(&new)?;
        file.write_at(0, bytes)?;
        if (bytes.len() as u64) < size {
            file.write_at(size - 1, &[0])?;
        }
        file.sync_data()?;
        self.done.bytes += bytes.len() as u64;
        Ok(self.target.rename(&new, name)?)
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<()> {
        match self.target.remove(name) {
            Err(error) if error.is_missing() => Ok(()),
            removed => {
                self.done.removed += 1;
                Ok(removed?)
            }
        }
    }

    /// Removes files of a folder that are `ours` by name and not among `wanted`.
    pub(super) fn remove_others(
        &mut self,
        folder: &str,
        ours: impl Fn(&str) -> bool,
        wanted: &[String],
    ) -> Result<()> {
        let mut gone = false;
        for name in list_folder(self.target, folder)?.iter().filter(|name| ours(name)) {
            let name = format!("{folder}/{name}");
            if !wanted.contains(&name) {
                self.remove(&name)?;
                gone = true;
            }
        }
        if gone {
            self.target.sync_folder(folder)?;
        }
        Ok(())
    }
}
