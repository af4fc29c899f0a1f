//! A file of a simulated disk: durable pages, and the writes since the last sync.

use super::{Fault, Rng, SECTOR_BYTES, SimDisk, State, Survival, error, lock};
use crate::Result;
use crate::storage::{Access, StorageFile};
use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE_BYTES: usize = 4096;

/// Pages that are not all zeros; clones share them.
#[derive(Clone, Debug, Default)]
struct Pages(BTreeMap<u64, Arc<[u8; PAGE_BYTES]>>);

impl Pages {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let (mut offset, mut bytes) = (offset, bytes);
        while !bytes.is_empty() {
            let within = (offset % PAGE_BYTES as u64) as usize;
            let (this, rest) = bytes.split_at(bytes.len().min(PAGE_BYTES - within));
            let number = offset / PAGE_BYTES as u64;
            let zeros = this.iter().all(|byte| *byte == 0);
            if zeros && this.len() == PAGE_BYTES {
                self.0.remove(&number);
            } else if !zeros || self.0.contains_key(&number) {
                let page = self.0.entry(number).or_insert_with(|| Arc::new([0; PAGE_BYTES]));
                Arc::make_mut(page)[within..within + this.len()].copy_from_slice(this);
            }
            offset += this.len() as u64;
            bytes = rest;
        }
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) {
        bytes.fill(0);
        let end = offset + bytes.len() as u64;
        let first = offset / PAGE_BYTES as u64;
        for (number, page) in self.0.range(first..end.div_ceil(PAGE_BYTES as u64)) {
            let start = number * PAGE_BYTES as u64;
            let (from, to) = (start.max(offset), (start + PAGE_BYTES as u64).min(end));
            bytes[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&page[(from - start) as usize..(to - start) as usize]);
        }
    }
}

#[derive(Clone, Debug)]
struct Write {
    offset: u64,
    bytes: Arc<[u8]>,
    /// A failed sync has lost it: only the page cache still has it.
    lost: bool,
}

impl Write {
    /// The pieces of this write that lie in different sectors of the file.
    fn sectors(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let sector = SECTOR_BYTES as u64;
        let head = ((sector - self.offset % sector) as usize).min(self.bytes.len());
        let (first, rest) = self.bytes.split_at(head);
        let at = self.offset + head as u64;
        let numbered = rest.chunks(SECTOR_BYTES).zip(0..);
        std::iter::once((self.offset, first))
            .chain(numbered.map(move |(bytes, number)| (at + number * sector, bytes)))
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct FileState {
    durable: Pages,
    durable_size: u64,
    /// In order, `durable` being what was before them.
    writes: Vec<Write>,
    /// What reads through the page cache see.
    now: Pages,
    pub(super) size: u64,
    /// Faults on top of everything: offset and flipped bits.
    pub(super) flips: Vec<(u64, u8)>,
}

impl FileState {
    pub(super) fn unsynced(&self) -> usize {
        self.writes.iter().filter(|write| !write.lost).count()
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.now.write(offset, bytes);
        self.size = self.size.max(offset + bytes.len() as u64);
        self.writes.push(Write { offset, bytes: bytes.into(), lost: false });
    }

    fn sync(&mut self) {
        for write in self.writes.iter().filter(|write| !write.lost) {
            self.durable.write(write.offset, &write.bytes);
        }
        self.writes.retain(|write| write.lost);
        self.durable_size = self.size;
    }

    /// What is on the medium or on its way to it.
    fn medium(&self) -> Pages {
        let mut pages = self.durable.clone();
        for write in self.writes.iter().filter(|write| !write.lost) {
            pages.write(write.offset, &write.bytes);
        }
        pages
    }

    fn read(&self, offset: u64, bytes: &mut [u8], direct: bool) -> usize {
        let left = self.size.saturating_sub(offset);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let bytes = &mut bytes[..count];
        if direct && self.writes.iter().any(|write| write.lost) {
            self.medium().read(offset, bytes);
        } else {
            self.now.read(offset, bytes);
        }
        for (at, mask) in &self.flips {
            let place = at.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
            if let Some(byte) = place.and_then(|place| bytes.get_mut(place)) {
                *byte ^= mask;
            }
        }
        count
    }

    pub(super) fn crash(&mut self, rng: &mut Rng, survival: Survival) {
        let chance = rng.below(9);
        let mut size = self.durable_size;
        for write in std::mem::take(&mut self.writes) {
            if write.lost {
                continue;
            }
            for (number, (offset, bytes)) in write.sectors().enumerate() {
                let kept = match survival {
                    Survival::None => false,
                    Survival::All => true,
                    // Once for all sectors of a write.
                    Survival::Some if number > 0 => break,
                    Survival::Some | Survival::Torn => rng.chance(chance, 8),
                };
                if !kept {
                    continue;
                }
                let all = if survival == Survival::Some { &write.bytes } else { bytes };
                self.durable.write(offset, all);
                size = size.max(offset + all.len() as u64);
            }
        }
        if survival == Survival::All || (survival != Survival::None && rng.chance(1, 2)) {
            size = size.max(self.size);
        }
        self.now = self.durable.clone();
        (self.size, self.durable_size) = (size, size);
    }
}

/// An open file of a [`SimDisk`].
#[derive(Debug)]
pub struct SimFile {
    pub(super) disk: SimDisk,
    pub(super) id: usize,
    pub(super) name: String,
    pub(super) access: Access,
}

impl SimFile {
    /// Counts an operation on the file and fails it if the file is broken.
    fn begin(&self, state: &mut State, operation: &str) -> Result<()> {
        state.count(operation, &self.name)?;
        let broken = state.has(&Fault::AllBroken)
            || state.faults.iter().any(|f| matches!(f, Fault::Broken(name) if *name == self.name));
        if broken { Err(error(operation, &self.name, libc::EIO)) } else { Ok(()) }
    }

    fn writable(&self, operation: &str) -> Result<()> {
        match self.access {
            Access::Write | Access::WriteDirect => Ok(()),
            Access::Read | Access::ReadDirect => Err(error(operation, &self.name, libc::EBADF)),
        }
    }

    /// What direct I/O demands of a real file is demanded here.
    fn aligned(&self, operation: &str, offset: u64, bytes: usize) -> Result<()> {
        let direct = matches!(self.access, Access::ReadDirect | Access::WriteDirect);
        let aligned = offset.is_multiple_of(PAGE_BYTES as u64) && bytes.is_multiple_of(PAGE_BYTES);
        if direct && !aligned { Err(error(operation, &self.name, libc::EINVAL)) } else { Ok(()) }
    }
}

impl StorageFile for SimFile {
    fn size_bytes(&self) -> Result<u64> {
        Ok(lock(&self.disk.state).files[self.id].size)
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        self.writable("allocate")?;
        let mut state = lock(&self.disk.state);
        self.begin(&mut state, "allocate")?;
        let more = bytes.saturating_sub(state.files[self.id].size);
        if more > state.room() {
            return Err(error("allocate", &self.name, libc::ENOSPC));
        }
        let file = &mut state.files[self.id];
        file.size = file.size.max(bytes);
        Ok(())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        self.aligned("read", offset, bytes.len())?;
        let state = lock(&self.disk.state);
        let end = offset + bytes.len() as u64;
        let fails = |fault: &Fault| match fault {
            Fault::Unreadable { name, from, to } => {
                *name == self.name && offset < *to && *from < end
            }
            _ => false,
        };
        if state.faults.iter().any(fails) {
            return Err(error("read", &self.name, libc::EIO));
        }
        let direct = matches!(self.access, Access::ReadDirect | Access::WriteDirect);
        Ok(state.files[self.id].read(offset, bytes, direct))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.writable("write")?;
        self.aligned("write", offset, bytes.len())?;
        let mut state = lock(&self.disk.state);
        let number = state.writes;
        state.writes += 1;
        self.begin(&mut state, "write")?;
        let end = offset + bytes.len() as u64;
        let is_hole = state.has(&Fault::Holes) && end > PAGE_BYTES as u64;
        if is_hole || end.saturating_sub(state.files[self.id].size) > state.room() {
            return Err(error("write", &self.name, libc::ENOSPC));
        }
        if state.has(&Fault::Write(number)) {
            let whole = Write { offset, bytes: bytes.into(), lost: false };
            let chance = state.rng.below(5);
            for (at, piece) in whole.sectors() {
                if state.rng.chance(chance, 4) {
                    state.files[self.id].write(at, piece);
                }
            }
            return Err(error("write", &self.name, libc::EIO));
        }
        state.files[self.id].write(offset, bytes);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        let mut state = lock(&self.disk.state);
        let number = state.syncs;
        state.syncs += 1;
        self.begin(&mut state, "sync")?;
        let failure = state.faults.iter().find_map(|fault| match fault {
            Fault::Sync { number: at, loses } if *at == number => Some(*loses),
            _ => None,
        });
        if let Some(loses) = failure {
            for place in 0..state.files[self.id].writes.len() {
                let lost = loses && state.rng.chance(2, 3);
                state.files[self.id].writes[place].lost |= lost;
            }
            return Err(error("sync", &self.name, libc::EIO));
        }
        if !state.has(&Fault::NoOpSync) {
            state.files[self.id].sync();
        }
        Ok(())
    }
}
