//! The beginning of a file of shared memory, read and not mapped: to look at it costs no memory, and
//! who shortens it meanwhile does no harm.
//!
//! Invariant: nothing is taken and nothing changed. Held by `tests/attach.rs` of baro-recorder, which
//! looks at rings that are in use.

use crate::state::StateFolder;
use crate::{Error, Result};
use std::fs::File;

/// The beginning of a file.
#[derive(Debug)]
pub struct Glimpse {
    file: File,
    head: Vec<u8>,
    bytes: usize,
}

impl Glimpse {
    /// Of the file `name` in `folder`: its first `head_bytes`, and how long it is.
    ///
    /// # Errors
    /// It is missing, shorter, or not its owner's alone to write.
    pub fn of(folder: &StateFolder, name: &str, head_bytes: usize) -> Result<Self> {
        let (file, path) = (folder.open_file(name)?, folder.path().join(name));
        let mut head = vec![0; head_bytes];
        crate::files::read_at(&file, &mut head, 0)
            .map_err(|error| Error::new("read its beginning", &path, error.source))?;
        let length = file.metadata().map_err(|e| Error::new("stat", &path, e))?.len();
        Ok(Glimpse { file, head, bytes: usize::try_from(length).unwrap_or(usize::MAX) })
    }

    /// Its beginning.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// As [`super::SharedMemory::is_locked`].
    #[must_use]
    pub fn is_locked(&self, byte: i64) -> bool {
        crate::lock::is_locked(&self.file, byte)
    }
}
