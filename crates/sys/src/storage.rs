//! The seam between Barograph and a file system: a folder and its files. [`crate::disk`] is the
//! real one; `sim` is the one that crashes, tears and fails on demand. Everything that
//! must survive a power cut goes through these two traits and nothing else.

mod any;

pub use any::{AnyFile, AnyStorage};

use crate::Result;
use crate::lock::{Holder, LockFile};
use std::fmt::Debug;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only, through the page cache.
    Read,
    /// Read only, past the page cache where that is possible.
    ReadDirect,
    /// Read and write, through the page cache.
    Write,
    /// Read and write past the page cache; an error where the file system cannot.
    WriteDirect,
}

/// A folder: names are relative to it, `/` separates folders.
pub trait Storage: Debug + Send + Sync + 'static {
    /// Its files.
    type File: StorageFile;

    /// Makes a new, empty file for writing through the page cache; fails if the name is taken.
    ///
    /// # Errors
    /// The operating system's reason; `is_full` when the device is full.
    fn create(&self, name: &str) -> Result<Self::File>;

    /// Opens a file.
    ///
    /// # Errors
    /// The operating system's reason; `is_missing` if there is no such file.
    fn open(&self, name: &str, access: Access) -> Result<Self::File>;

    /// Names in a folder (`""` is this one), sorted.
    ///
    /// # Errors
    /// The operating system's reason.
    fn list(&self, folder: &str) -> Result<Vec<String>>;

    /// Makes a folder; not an error if it is there.
    ///
    /// # Errors
    /// The operating system's reason.
    fn create_folder(&self, name: &str) -> Result<()>;

    /// Renames a file over another. Durable after [`Storage::sync_folder`].
    ///
    /// # Errors
    /// The operating system's reason.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file. Durable after [`Storage::sync_folder`].
    ///
    /// # Errors
    /// The operating system's reason.
    fn remove(&self, name: &str) -> Result<()>;

    /// Bytes that may still be allocated; `None` where that cannot be told.
    ///
    /// # Errors
    /// The operating system's reason.
    fn available_bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// What a file that is fixed in place takes a whole number of; 1 where that is no matter.
    fn fixed_unit_bytes(&self) -> u64 {
        1
    }

    /// Takes the lock `name`, whose file is made if it is not there; the inner error names who has it.
    /// `None` where no other process can be, as in a simulation.
    ///
    /// # Errors
    /// The operating system's reason.
    fn lock_file(&self, _name: &str) -> Result<Option<std::result::Result<LockFile, Holder>>> {
        Ok(None)
    }

    /// Makes names in a folder durable. Blocks for the device.
    ///
    /// # Errors
    /// The operating system's reason.
    fn sync_folder(&self, folder: &str) -> Result<()>;
}

/// An open file; positions are explicit, so that threads can share it.
pub trait StorageFile: Debug + Send + Sync + 'static {
    /// Size in bytes.
    ///
    /// # Errors
    /// The operating system's reason.
    fn size_bytes(&self) -> Result<u64>;

    /// Allocates `bytes` from the start, contiguous if the file system can, and sets the size.
    ///
    /// # Errors
    /// `is_full` when there is no room; then nothing has been written.
    fn reserve(&self, bytes: u64) -> Result<()>;

    /// Asks the file system to leave the blocks of this file, which is still empty, where they will
    /// be allocated: one that writes elsewhere and cleans up (f2fs) overwrites them then. Whether
    /// it will; `false` where there is no need or no way to ask.
    ///
    /// # Errors
    /// The operating system's reason; the file is as it was.
    fn fix_in_place(&self) -> Result<bool> {
        Ok(false)
    }

    /// Reads until `bytes` is full or the file ends; returns the bytes read.
    ///
    /// # Errors
    /// The operating system's reason.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize>;

    /// The first place from `offset` on where there may be anything but zeros that nobody wrote; None if
    /// there is none up to the end. Where the file system cannot tell, that is `offset`.
    ///
    /// # Errors
    /// The operating system's reason.
    fn next_data(&self, offset: u64) -> Result<Option<u64>> {
        Ok(Some(offset))
    }

    /// Whether there is no hole in these bytes: what nobody wrote need not be read to be told so.
    /// Where the file system cannot tell, there is none.
    ///
    /// # Errors
    /// The operating system's reason.
    fn is_written(&self, _offset: u64, _bytes: u64) -> Result<bool> {
        Ok(true)
    }

    /// Writes all of `bytes`. Not durable before [`StorageFile::sync_data`].
    ///
    /// # Errors
    /// The operating system's reason; part of the bytes may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Makes what was written, and the size, durable. Blocks for the device. After an error
    /// nothing is known about writes since the last success: do not call it again and believe it.
    ///
    /// # Errors
    /// The operating system's reason.
    fn sync_data(&self) -> Result<()>;
}
