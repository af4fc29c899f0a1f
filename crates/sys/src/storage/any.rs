//! A storage of any kind behind one type.
//!
//! What reads and settles stores holds this, not a type parameter: its code is compiled once and not in each
//! program that uses it, simulations included. A call costs a jump more, beside the system call that it
//! makes.

use super::{Access, Storage, StorageFile};
use crate::Result;
use crate::disk::Disk;
use crate::lock::{Holder, LockFile};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Any [`Storage`]. Clones share it.
#[derive(Clone, Debug)]
pub struct AnyStorage(Arc<dyn Erased>);

/// A file of one.
#[derive(Debug)]
pub struct AnyFile(Box<dyn StorageFile>);

impl AnyStorage {
    /// Hides the type of a storage.
    pub fn new(storage: impl Storage) -> Self {
        match (&storage as &dyn Any).downcast_ref::<AnyStorage>() {
            Some(same) => same.clone(),
            None => AnyStorage(Arc::new(storage)),
        }
    }

    /// The folder on disk that it is, unless it is something else.
    #[must_use]
    pub fn disk(&self) -> Option<&Disk> {
        self.0.as_any().downcast_ref()
    }
}

/// [`Storage`] without its type of files.
trait Erased: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn create(&self, name: &str) -> Result<AnyFile>;
    fn open(&self, name: &str, access: Access) -> Result<AnyFile>;
    fn list(&self, folder: &str) -> Result<Vec<String>>;
    fn create_folder(&self, name: &str) -> Result<()>;
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    fn remove(&self, name: &str) -> Result<()>;
    fn available_bytes(&self) -> Result<Option<u64>>;
    fn fixed_unit_bytes(&self) -> u64;
    fn lock_file(&self, name: &str) -> Result<Option<std::result::Result<LockFile, Holder>>>;
    fn sync_folder(&self, folder: &str) -> Result<()>;
}

impl<S: Storage> Erased for S {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn create(&self, name: &str) -> Result<AnyFile> {
        Ok(AnyFile(Box::new(Storage::create(self, name)?)))
    }
    fn open(&self, name: &str, access: Access) -> Result<AnyFile> {
        Ok(AnyFile(Box::new(Storage::open(self, name, access)?)))
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        Storage::list(self, folder)
    }
    fn create_folder(&self, name: &str) -> Result<()> {
        Storage::create_folder(self, name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        Storage::rename(self, from, to)
    }
    fn remove(&self, name: &str) -> Result<()> {
        Storage::remove(self, name)
    }
    fn available_bytes(&self) -> Result<Option<u64>> {
        Storage::available_bytes(self)
    }
    fn fixed_unit_bytes(&self) -> u64 {
        Storage::fixed_unit_bytes(self)
    }
    fn lock_file(&self, name: &str) -> Result<Option<std::result::Result<LockFile, Holder>>> {
        Storage::lock_file(self, name)
    }
    fn sync_folder(&self, folder: &str) -> Result<()> {
        Storage::sync_folder(self, folder)
    }
}

impl Storage for AnyStorage {
    type File = AnyFile;

    fn create(&self, name: &str) -> Result<AnyFile> {
        self.0.create(name)
    }
    fn open(&self, name: &str, access: Access) -> Result<AnyFile> {
        self.0.open(name, access)
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
    fn available_bytes(&self) -> Result<Option<u64>> {
        self.0.available_bytes()
    }
    fn fixed_unit_bytes(&self) -> u64 {
        self.0.fixed_unit_bytes()
    }
    fn lock_file(&self, name: &str) -> Result<Option<std::result::Result<LockFile, Holder>>> {
        self.0.lock_file(name)
    }
    fn sync_folder(&self, folder: &str) -> Result<()> {
        self.0.sync_folder(folder)
    }
}

impl StorageFile for AnyFile {
    fn size_bytes(&self) -> Result<u64> {
        self.0.size_bytes()
    }
    fn reserve(&self, bytes: u64) -> Result<()> {
        self.0.reserve(bytes)
    }
    fn fix_in_place(&self) -> Result<bool> {
        self.0.fix_in_place()
    }
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        self.0.read_at(offset, bytes)
    }
    fn next_data(&self, offset: u64) -> Result<Option<u64>> {
        self.0.next_data(offset)
    }
    fn is_written(&self, offset: u64, bytes: u64) -> Result<bool> {
        self.0.is_written(offset, bytes)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.write_at(offset, bytes)
    }
    fn sync_data(&self) -> Result<()> {
        self.0.sync_data()
    }
}
