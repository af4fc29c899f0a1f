//! A simulated disk behind [`Storage`]: deterministic from a seed, with power cuts and faults.
//!
//! What was written and what survives are kept apart: a file is its durable pages and the list of
//! writes since the last sync, a name is durable only once its folder has been synced, and faults
//! lie on top, so that they can be taken away again and the checker knows what is true.
//!
//! What each part must survive, hence what can be made to happen:
//! - power cut at any operation: of the writes not synced none, all, a random choice, or a random
//!   choice of 512-byte sectors survive ([`Survival`]); names not synced vanish from some point on;
//! - a write or a sync fails once, a file fails always, the device is full ([`Fault`]);
//! - a failed sync loses what it should have written, and the next one succeeds: Linux before 4.13,
//!   and every file system since that marks pages clean after a failed write;
//! - bits flip in what was durable ([`SimDisk::flip`]), or it cannot be read;
//! - as the control that the checkers can fail: syncs that succeed and do nothing.
//!
//! Invariant: after a sync that succeeded, what was written to that file before it is there after
//! every power cut. Held by the tests below.

mod file;
mod names;
mod rng;

pub use file::SimFile;
pub use rng::Rng;

use crate::storage::{Access, Storage};
use crate::{Error, Result};
use file::FileState;
use names::{Names, Node};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The unit in which a device writes atomically.
pub const SECTOR_BYTES: usize = 512;

/// What of the unsynced writes a power cut leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// Each write with the same chance, which is itself drawn.
    Some,
    /// Each sector of each write with the same chance, which is itself drawn.
    Torn,
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The write with this number (see [`SimDisk::writes`]) fails; some of its sectors are written.
    Write(u64),
    /// The sync with this number (see [`SimDisk::syncs`]) fails.
    Sync {
        /// Its number.
        number: u64,
        /// What it should have made durable may be lost though the next sync succeeds; reads
        /// through the page cache go on to see it.
        loses: bool,
    },
    /// Every write and sync of this file fails.
    Broken(String),
    /// Every read of this file fails that touches these bytes.
    Unreadable {
        /// Its name when it was opened.
        name: String,
        /// First byte.
        from: u64,
        /// Behind the last byte.
        to: u64,
    },
    /// Every write and sync fails.
    AllBroken,
    /// Every write behind the first page of a file fails, as in a file with holes on a full device.
    Holes,
    /// The device is full once files take this many bytes.
    Full(u64),
    /// The folder is gone: nothing can be opened, listed or made.
    Gone,
    /// Syncs succeed and make nothing durable: a control for checkers.
    NoOpSync,
    /// From this operation on (see [`SimDisk::operations`]) everything fails without effect.
    PowerOff(u64),
}

#[derive(Clone, Debug)]
struct State {
    rng: Rng,
    names: Names,
    files: Vec<FileState>,
    faults: Vec<Fault>,
    operations: u64,
    writes: u64,
    syncs: u64,
}

/// A simulated folder; clones are handles of the same one.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn error(operation: &str, name: &str, errno: i32) -> Error {
    Error::new(operation, name, io::Error::from_raw_os_error(errno))
}

impl State {
    /// Counts an operation that changes something; fails if the power is off by now.
    fn count(&mut self, operation: &str, name: &str) -> Result<()> {
        let number = self.operations;
        if self.faults.iter().any(|f| matches!(f, Fault::PowerOff(at) if *at <= number)) {
            return Err(error(operation, name, libc::EIO));
        }
        self.operations += 1;
        Ok(())
    }

    fn has(&self, fault: &Fault) -> bool {
        self.faults.contains(fault)
    }

    fn reachable(&self, operation: &str, name: &str) -> Result<()> {
        if self.has(&Fault::Gone) { Err(error(operation, name, libc::ENOENT)) } else { Ok(()) }
    }

    /// Bytes that may still be allocated.
    fn room(&self) -> u64 {
        let full = self.faults.iter().find_map(|fault| match fault {
            Fault::Full(bytes) => Some(*bytes),
            _ => None,
        });
        full.map_or(u64::MAX, |full| full.saturating_sub(self.used()))
    }

    /// Bytes of the files that have a name.
    fn used(&self) -> u64 {
        let named = self.names.files().into_iter();
        named.filter_map(|(_, id)| self.files.get(id)).map(|file| file.size).sum()
    }
}

impl SimDisk {
    /// An empty, faultless disk whose choices all follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State {
            rng: Rng::new(seed),
            names: Names::default(),
            files: Vec::new(),
            faults: Vec::new(),
            operations: 0,
            writes: 0,
            syncs: 0,
        };
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Operations so far that change something: creations, writes, syncs, renames.
    #[must_use]
    pub fn operations(&self) -> u64 {
        lock(&self.state).operations
    }

    /// Writes so far, which is the number of the next one.
    #[must_use]
    pub fn writes(&self) -> u64 {
        lock(&self.state).writes
    }

    /// Syncs of files so far, which is the number of the next one.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        lock(&self.state).syncs
    }

    /// Bytes of all files.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        lock(&self.state).used()
    }

    /// Makes something go wrong.
    pub fn inject(&self, fault: Fault) {
        lock(&self.state).faults.push(fault);
    }

    /// Takes all faults away, flipped bits too; what they did to data before stays done.
    pub fn heal(&self) {
        let mut state = lock(&self.state);
        state.faults.clear();
        state.files.iter_mut().for_each(|file| file.flips.clear());
    }

    /// A disk of its own with the same contents, faults and random numbers to come.
    #[must_use]
    pub fn fork(&self) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(lock(&self.state).clone())) }
    }

    /// The disk that is found when the power is back, without faults; this one is not changed.
    #[must_use]
    pub fn crash(&self, rng: &mut Rng, survival: Survival) -> SimDisk {
        let mut state = lock(&self.state).clone();
        state.faults.clear();
        state.rng = Rng::new(rng.next());
        (state.operations, state.writes, state.syncs) = (0, 0, 0);
        state.names.crash(rng, survival);
        state.files.iter_mut().for_each(|file| file.crash(rng, survival));
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Flips bits of a byte of a file, as seen by every read, until [`SimDisk::heal`]. False if
    /// there is no such file.
    pub fn flip(&self, name: &str, offset: u64, mask: u8) -> bool {
        let mut state = lock(&self.state);
        let Some(Node::File(id)) = state.names.get(name) else { return false };
        state.files[id].flips.push((offset, mask));
        true
    }

    /// Files that have unsynced writes, and how many, for a log.
    #[must_use]
    pub fn unsynced(&self) -> Vec<(String, usize)> {
        let state = lock(&self.state);
        let files = state.names.files();
        let count = |id: usize| state.files.get(id).map_or(0, FileState::unsynced);
        files.into_iter().map(|(name, id)| (name, count(id))).filter(|(_, n)| *n > 0).collect()
    }

    fn file(&self, name: &str, id: usize, access: Access) -> SimFile {
        SimFile { disk: self.clone(), id, name: name.to_owned(), access }
    }
}

impl Storage for SimDisk {
    type File = SimFile;

    fn create(&self, name: &str) -> Result<SimFile> {
        let mut state = lock(&self.state);
        state.reachable("create", name)?;
        if state.names.get(name).is_some() {
            return Err(error("create", name, libc::EEXIST));
        }
        if !state.names.has_folder(names::parent(name)) {
            return Err(error("create", name, libc::ENOENT));
        }
        if state.room() == 0 {
            return Err(error("create", name, libc::ENOSPC));
        }
        state.count("create", name)?;
        let id = state.files.len();
        state.files.push(FileState::default());
        state.names.add(name, Node::File(id));
        Ok(self.file(name, id, Access::Write))
    }

    fn open(&self, name: &str, access: Access) -> Result<SimFile> {
        let state = lock(&self.state);
        state.reachable("open", name)?;
        match state.names.get(name) {
            Some(Node::File(id)) => Ok(self.file(name, id, access)),
            Some(Node::Folder) => Err(error("open", name, libc::EISDIR)),
            None => Err(error("open", name, libc::ENOENT)),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let state = lock(&self.state);
        state.reachable("list", folder)?;
        if !state.names.has_folder(folder) {
            return Err(error("list", folder, libc::ENOENT));
        }
        Ok(state.names.list(folder))
    }

    fn create_folder(&self, name: &str) -> Result<()> {
        let mut state = lock(&self.state);
        state.reachable("make folder", name)?;
        match state.names.get(name) {
            Some(Node::Folder) => return Ok(()),
            Some(Node::File(_)) => return Err(error("make folder", name, libc::EEXIST)),
            None => {}
        }
        state.count("make folder", name)?;
        state.names.add(name, Node::Folder);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = lock(&self.state);
        state.reachable("rename", from)?;
        if state.names.get(from).is_none() {
            return Err(error("rename", from, libc::ENOENT));
        }
        state.count("rename", from)?;
        state.names.rename(from, to);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut state = lock(&self.state);
        state.reachable("remove", name)?;
        if !matches!(state.names.get(name), Some(Node::File(_))) {
            return Err(error("remove", name, libc::ENOENT));
        }
        state.count("remove", name)?;
        state.names.remove(name);
        Ok(())
    }

    fn available_bytes(&self) -> Result<Option<u64>> {
        Ok(Some(lock(&self.state).room()))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        let mut state = lock(&self.state);
        state.reachable("sync folder", folder)?;
        state.count("sync folder", folder)?;
        if state.has(&Fault::AllBroken) {
            return Err(error("sync folder", folder, libc::EIO));
        }
        if !state.has(&Fault::NoOpSync) {
            state.names.sync(folder);
        }
        Ok(())
    }
}

/// What the disk does with files as sets of names, for tests of what uses it.
impl SimDisk {
    /// Names of all files, sorted.
    #[must_use]
    pub fn files(&self) -> BTreeSet<String> {
        lock(&self.state).names.files().into_iter().map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests;
