//! Where a table lies: in a folder, or below a prefix of a bucket. Delta asks for little: a list, files that
//! appear whole, and one name that only one of two writers can get.
//!
//! Invariant: a file is there whole and durable under its name, or not at all. Held by
//! `a_kill_at_every_step_loses_and_doubles_nothing`.

mod local;
mod s3;

pub(crate) use local::Local;

use crate::error::{Error, Result};
use baro_sys::files;
use s3::S3;
use std::fmt::Debug;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Folder of a table's log.
pub(crate) const LOG: &str = "_delta_log";

/// A table's folder, here or elsewhere. Names are relative to it.
pub(crate) trait Place: Debug {
    /// Fails if the folder is not the one any more that its path leads to.
    fn check(&self) -> Result<()>;

    /// Names in a folder; none if it is not there.
    fn names(&self, folder: &str) -> Result<Vec<String>>;

    /// A file of at most so many bytes; `None` if it is not there.
    fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>>;

    /// Bytes of a file; `None` if it is not there.
    fn size(&self, name: &str) -> Result<Option<u64>>;

    /// Makes the folder of the log, for a first version.
    fn make_log(&self) -> Result<()>;

    /// Makes a file durably; false if the name is taken. Over a network that may be so by us, in a try
    /// whose answer was lost.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool>;

    /// Begins a file that nobody sees before it is finished.
    fn begin(&self, name: &str) -> Result<Box<dyn Output>>;

    /// Makes the names in a folder durable, also those that somebody else has made.
    fn sync_names(&self, folder: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<()>;

    /// Removes what killed processes have left unfinished, as far as that goes.
    fn tidy(&self);
}

/// A file in the making. Given up, nothing of it is left.
pub(crate) trait Output: Write + Send + Debug {
    /// Makes it durable under its name; returns its bytes.
    fn finish(self: Box<Self>) -> Result<u64>;
}

impl Place for Box<dyn Place> {
    fn check(&self) -> Result<()> {
        (**self).check()
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        (**self).names(folder)
    }

    fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        (**self).read(name, bytes_max)
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        (**self).size(name)
    }

    fn make_log(&self) -> Result<()> {
        (**self).make_log()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        (**self).put_new(name, bytes)
    }

    fn begin(&self, name: &str) -> Result<Box<dyn Output>> {
        (**self).begin(name)
    }

    fn sync_names(&self, folder: &str) -> Result<()> {
        (**self).sync_names(folder)
    }

    fn remove(&self, name: &str) -> Result<()> {
        (**self).remove(name)
    }

    fn tidy(&self) {
        (**self).tidy();
    }
}

/// Opens the place of a table by its path or URL, which may be empty; `None` if it is a folder that is not
/// there.
pub(crate) fn open(table: &Path) -> Result<Option<Box<dyn Place>>> {
    match table.to_str().and_then(|text| text.split_once("://")) {
        Some(("s3" | "s3a", rest)) => Ok(Some(Box::new(S3::open(table, rest)?))),
        Some((other, _)) if !files::exists(table) => {
            let found = format!("a URL of {other}");
            Err(Error::NoTable { table: table.to_owned(), found })
        }
        _ => Ok(Local::open(table)?.map(|local| Box::new(local) as Box<dyn Place>)),
    }
}

/// Whether a table is in a bucket, and not in a folder of this machine.
pub(crate) fn is_elsewhere(table: &Path) -> bool {
    table.to_str().is_some_and(|text| text.starts_with("s3://") || text.starts_with("s3a://"))
}

/// Fails if one of two folders is in the other.
pub(crate) fn check_apart(table: &Path, store: &Path) -> Result<()> {
    if is_elsewhere(table) {
        return Ok(());
    }
    // The table may still be to be made: what is there of its path tells where it will be.
    let real = |path: &Path| -> PathBuf {
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
