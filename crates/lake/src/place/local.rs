//! A table in a folder of this machine.
//!
//! The folder is opened once and held: what is read and what is made lies in the same one, whatever is at
//! its path by now. No link below it is followed.
//!
//! A table is for others to read. Who may read the folder may read its files, whatever the umask of who
//! hands over.

use super::{LOG, Output, Place};
use crate::error::{Error, Result};
use baro_sys::clock;
use baro_sys::disk::Disk;
use baro_sys::files::{self, PacedOutput};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Rights of a table's folder that is made here, less what the umask takes away.
const FOLDER_RIGHTS: u32 = 0o750;
/// What nobody has written to for so long, and nobody holds, was left by a process that is gone.
const LEFT_NS: i64 = 3_600_000_000_000;
/// What a new file system has in its first folder.
const LOST_AND_FOUND: &str = "lost+found";

/// A table in a folder of this machine.
#[derive(Debug)]
pub(crate) struct Local {
    disk: Disk,
}

impl Local {
    /// Opens the folder of a table, which may be empty; `None` if it is not there.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        if !files::exists(path) {
            return Ok(None);
        }
        let disk = Disk::open(path)?;
        let names = disk.list("")?;
        // What a killed one has left of its first try begins with a dot.
        let is_other = |name: &&String| !name.starts_with('.') && *name != LOST_AND_FOUND;
        if !names.iter().any(|name| name == LOG)
            && let Some(other) = names.iter().find(is_other)
        {
            let (table, found) = (path.to_owned(), format!("{other:?} and no {LOG}"));
            return Err(Error::NoTable { table, found });
        }
        Ok(Some(Local { disk }))
    }

    /// Makes the folder of a table; that above it must be there.
    pub(crate) fn make(path: &Path) -> Result<Self> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let no_parent = || Error::NoParent { table: path.to_owned() };
        match files::make_folder_with(path, FOLDER_RIGHTS) {
            Err(error) if error.is_missing() => return Err(no_parent()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => other?,
        }
        match Disk::open(parent.unwrap_or(Path::new("."))).and_then(|above| above.sync_folder("")) {
            // Who may make a folder there but not look into it has no way to sync it.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            other => other?,
        }
        Self::open(path)?.ok_or_else(no_parent)
    }

    /// Rights of the table's folder.
    fn rights(&self) -> Result<u32> {
        Ok(self.disk.found_here()?.rights)
    }

    /// Rights of a file: who may read or write in the folder may do so with its files. Where nobody may
    /// remove what another has made, nobody may write to it either.
    fn file_rights(&self) -> Result<u32> {
        let rights = self.rights()?;
        let most = if rights & 0o1000 == 0 { 0o666 } else { 0o644 };
        Ok(0o600 | (rights & most))
    }

    fn try_tidy(&self, folder: &str) -> Result<()> {
        for name in self.names(folder)?.iter().filter(|name| PacedOutput::is_part(name)) {
            let name = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let age_ns = clock::realtime_ns().saturating_sub(self.disk.found(&name)?.modified_ns);
            if age_ns > LEFT_NS && !self.disk.is_held(&name)? {
                self.disk.remove(&name)?;
            }
        }
        Ok(())
    }
}

fn is_taken(error: &baro_sys::Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists
}

impl Place for Local {
    fn check(&self) -> Result<()> {
        if self.disk.is_elsewhere()? { Err(Error::Replaced) } else { Ok(()) }
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        match self.disk.list(folder) {
            Err(error) if error.is_missing() => Ok(Vec::new()),
            other => Ok(other?),
        }
    }

    fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        let file = match self.disk.open(name, Access::Read) {
            Err(error) if error.is_missing() => return Ok(None),
            other => other?,
        };
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
        Ok(Some(buffer))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        match self.disk.found(name) {
            Err(error) if error.is_missing() => Ok(None),
            other => Ok(Some(other?.bytes)),
        }
    }

    fn make_log(&self) -> Result<()> {
        self.disk.create_folder_with(LOG, self.rights()? & 0o777)?;
        Ok(self.disk.sync_folder("")?)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let mut output = match self.disk.create_paced(name, self.file_rights()?) {
            Err(error) if is_taken(&error) => return Ok(false),
            other => other?,
        };
        let written = output.write_all(bytes);
        written
            .map_err(|error| baro_sys::Error::new("write", self.disk.folder().join(name), error))?;
        match output.finish() {
            Err(error) if is_taken(&error) => Ok(false),
            other => Ok(other.map(|()| true)?),
        }
    }

    fn begin(&self, name: &str) -> Result<Box<dyn Output>> {
        let output = self.disk.create_paced(name, self.file_rights()?)?;
        Ok(Box::new(LocalOutput { output, bytes: 0 }))
    }

    fn sync_names(&self, folder: &str) -> Result<()> {
        Ok(self.disk.sync_folder(folder)?)
    }

    fn remove(&self, name: &str) -> Result<()> {
        Ok(self.disk.remove(name)?)
    }

    fn tidy(&self) {
        // Nobody reads what is left; where it cannot be removed it takes room, and that is all.
        let _ = self.try_tidy("").and_then(|()| self.try_tidy(LOG));
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
