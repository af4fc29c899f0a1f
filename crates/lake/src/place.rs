//! Where a table lies. Delta asks for little: a list, files that appear whole, and one name that only one
//! of two writers can get. An object store has these too; for now there is a folder.
//!
//! Invariant: a file is there whole and durable under its name, or not at all. Held by
//! `a_kill_at_every_step_loses_and_doubles_nothing`.

use crate::error::{Error, Result};
use baro_sys::disk::Disk;
use baro_sys::files::{self, PacedOutput};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::fmt::Debug;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Folder of a table's log.
pub(crate) const LOG: &str = "_delta_log";

/// A table's folder, here or elsewhere. Names are relative to it.
pub(crate) trait Place: Debug {
    /// Names in a folder; none if it is not there.
    fn names(&self, folder: &str) -> Result<Vec<String>>;

    /// A file of at most so many bytes.
    fn read(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>>;

    /// Makes a file durably; false if the name is taken, and then nothing is done.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool>;

    /// Begins a file that nobody sees before it is finished.
    fn begin(&self, name: &str) -> Result<Box<dyn Output>>;

    /// Makes the names in a folder durable, also those that somebody else has made.
    fn sync_names(&self, folder: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<()>;
}

/// A file in the making. Given up, nothing of it is left.
pub(crate) trait Output: Write + Send + Debug {
    /// Makes it durable under its name; returns its bytes.
    fn finish(self: Box<Self>) -> Result<u64>;
}

/// A table in a folder of this machine.
#[derive(Debug)]
pub(crate) struct Local {
    disk: Disk,
    path: PathBuf,
}

impl Local {
    /// Opens the folder of a table, and makes it if it is not there.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let disk = match files::exists(path) {
            true => Disk::open(path)?,
            false => Disk::create(path)?,
        };
        let names = disk.list("")?;
        // What a killed one has left of its first try begins with a dot.
        if !names.iter().any(|name| name == LOG)
            && let Some(other) = names.iter().find(|name| !name.starts_with('.'))
        {
            let (table, found) = (path.to_owned(), format!("{other:?} and no {LOG}"));
            return Err(Error::NoTable { table, found });
        }
        disk.create_folder(LOG)?;
        disk.sync_folder("")?;
        Ok(Local { disk, path: path.to_owned() })
    }
}

impl Place for Local {
    fn names(&self, folder: &str) -> Result<Vec<String>> {
        match self.disk.list(folder) {
            Err(error) if error.is_missing() => Ok(Vec::new()),
            other => Ok(other?),
        }
    }

    fn read(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>> {
        let file = self.disk.open(name, Access::Read)?;
        let bytes = file.size_bytes()?;
        if bytes > bytes_max {
            return Err(Error::Table {
                file: name.to_owned(),
                what: "size",
                expected: format!("at most {bytes_max} bytes"),
                found: format!("{bytes}"),
            });
        }
        let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(0)];
        let read = file.read_at(0, &mut buffer)?;
        buffer.truncate(read);
        Ok(buffer)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let taken = |error: &baro_sys::Error| error.kind() == ErrorKind::AlreadyExists;
        let path = self.path.join(name);
        let mut output = match PacedOutput::create(&path) {
            Err(error) if taken(&error) => return Ok(false),
            other => other?,
        };
        let written = output.write_all(bytes);
        written.map_err(|error| baro_sys::Error::new("write", &path, error))?;
        match output.finish() {
            Err(error) if taken(&error) => Ok(false),
            other => Ok(other.map(|()| true)?),
        }
    }

    fn begin(&self, name: &str) -> Result<Box<dyn Output>> {
        let output = PacedOutput::create(&self.path.join(name))?;
        Ok(Box::new(LocalOutput { output, bytes: 0 }))
    }

    fn sync_names(&self, folder: &str) -> Result<()> {
        Ok(self.disk.sync_folder(folder)?)
    }

    fn remove(&self, name: &str) -> Result<()> {
        Ok(self.disk.remove(name)?)
    }
}

#[derive(Debug)]
struct LocalOutput {
    output: PacedOutput,
    bytes: u64,
}

impl Write for LocalOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.output.flush()
    }
}

impl Output for LocalOutput {
    fn finish(self: Box<Self>) -> Result<u64> {
        self.output.finish()?;
        Ok(self.bytes)
    }
}

/// Fails if one of two folders is in the other.
pub(crate) fn check_apart(table: &Path, store: &Path) -> Result<()> {
    // The table may still be to be made: what is there of its path tells where it will be.
    let real = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let found = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
        match found {
            Some((part, real)) => {
                path.strip_prefix(part).map_or(real.clone(), |rest| real.join(rest))
            }
            None => path,
        }
    };
    let (inner, outer) = (real(table), real(store));
    if inner.starts_with(&outer) || outer.starts_with(&inner) {
        return Err(Error::Nested { table: table.to_owned(), store: store.to_owned() });
    }
    Ok(())
}
