//! A disk that counts what is read of it.

use baro_store::Store;
use baro_sys::Result;
use baro_sys::disk::{Disk, DiskFile};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct Counts {
    reads: AtomicU64,
    bytes: AtomicU64,
}

/// A disk that counts what is read.
#[derive(Debug)]
pub struct Counted(Disk, Arc<Counts>);

#[derive(Debug)]
pub struct CountedFile(DiskFile, Arc<Counts>);

impl Storage for Counted {
    type File = CountedFile;

    fn create(&self, name: &str) -> Result<CountedFile> {
        Ok(CountedFile(self.0.create(name)?, Arc::clone(&self.1)))
    }
    fn open(&self, name: &str, access: Access) -> Result<CountedFile> {
        Ok(CountedFile(self.0.open(name, access)?, Arc::clone(&self.1)))
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.0.list(folder)
    }
    fn create_folder(&self, name: &str) -> Result<()> {
        self.0.create_folder(name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.0.remove(name)
    }
    fn sync_folder(&self, folder: &str) -> Result<()> {
        self.0.sync_folder(folder)
    }
}

impl StorageFile for CountedFile {
    fn size_bytes(&self) -> Result<u64> {
        self.0.size_bytes()
    }
    fn reserve(&self, bytes: u64) -> Result<()> {
        self.0.reserve(bytes)
    }
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        self.1.reads.fetch_add(1, Ordering::Relaxed);
        let read = self.0.read_at(offset, bytes)?;
        self.1.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.write_at(offset, bytes)
    }
    fn sync_data(&self) -> Result<()> {
        self.0.sync_data()
    }
}

/// What one question read, the open of the store included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub reads: u64,
    pub bytes: u64,
}

/// What `ask` returns of the store at `path`, and what was read for it, the open included.
pub fn counted<T>(path: &Path, ask: impl FnOnce(&Store) -> T) -> (T, Cost) {
    let counts = Arc::new(Counts::default());
    let disk = Counted(Disk::open(path).unwrap(), Arc::clone(&counts));
    let store = Store::open_in(disk, path, Access::Read).unwrap();
    let found = ask(&store);
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    (found, Cost { reads: of(&counts.reads), bytes: of(&counts.bytes) })
}
