//! Why a store's log could not be made, found or read: what, where, what was expected and found,
//! and what to do. Whoever records or reads adds reasons of its own and passes these on with their
//! texts as they are (`baro_recorder::Error::Log`, `baro_store::Error::Store`).

use crate::lock::Holding;
use std::fmt;
use std::path::PathBuf;

/// An error of the log's files.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    System(baro_sys::Error),
    /// A file of the store is not what the format asks for.
    Format {
        /// The file, relative to the store.
        file: String,
        /// What is wrong with it.
        source: baro_ondisk::Error,
    },
    /// The folder is no store.
    NotAStore {
        /// The folder.
        path: PathBuf,
    },
    /// A store is a folder, and this is a file.
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// The disk has no room for a new store, which is written in full when it is made.
    NoRoom {
        /// The folder.
        path: PathBuf,
        /// Bytes of all its files.
        needed_bytes: u64,
        /// What the operating system said.
        source: baro_sys::Error,
    },
    /// The folder holds a store already.
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// Another process makes a store in the folder.
    Making {
        /// The folder.
        path: PathBuf,
        /// The process, if known.
        pid: Option<u32>,
    },
    /// Another process holds the lock without which the manifest is not replaced, and is not waited for
    /// any longer.
    Locked {
        /// The process, if known.
        pid: Option<u32>,
        /// What it does, as it says.
        doing: Option<String>,
    },
    /// A setting is outside what is possible.
    Setting {
        /// Its name.
        name: &'static str,
        /// What is wanted of it.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The catalog has no room for another declaration.
    CatalogFull {
        /// Its size.
        bytes: u64,
    },
}

/// Result of a call to the log.
pub type Result<T> = std::result::Result<T, Error>;

impl From<baro_sys::Error> for Error {
    fn from(error: baro_sys::Error) -> Self {
        Error::System(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::System(error) => error.fmt(f),
            Error::Format { file, source } => write!(f, "{file}: {source}"),
            Error::NotAStore { path } => write!(
                f,
                "{}: no store here (no file named store); make one with: baro init {}",
                path.display(),
                path.display()
            ),
            Error::NotAFolder { path } => {
                write!(f, "{}: expected a store, which is a folder, found a file", path.display())
            }
            Error::NoRoom { path, needed_bytes, source } => write!(
                f,
                "{}: a store of this size needs {} MiB free on its disk, since it is written in \
                 full when it is made; choose a smaller one, or make room ({source})",
                path.display(),
                needed_bytes.div_ceil(1 << 20)
            ),
            Error::Exists { path } => write!(
                f,
                "{}: holds a store already; record into it, or choose another folder (what happens when its \
                 log is full is changed with: baro init {} --when-full recycle)",
                path.display(),
                path.display()
            ),
            Error::Making { path, pid } => {
                let who = pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
                write!(
                    f,
                    "{}: expected nobody who makes a store there, found {who}, which does; wait \
                     for its end, and look what is there then",
                    path.display()
                )
            }
            Error::Locked { pid, doing } => write!(
                f,
                "runs/manifest: expected to replace it, found it locked by {}; nothing was \
                 changed: wait for its end, or end it, and try again",
                Holding { pid: *pid, doing: doing.clone() }
            ),
            Error::Setting { name, expected, found } => {
                write!(f, "{name}: expected {expected}, found {found}")
            }
            Error::CatalogFull { bytes } => write!(
                f,
                "the catalog is full ({bytes} bytes): no further series can be declared in this \
                 store; make a new store"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System(error) => Some(error),
            Error::Format { source, .. } => Some(source),
            Error::NoRoom { source, .. } => Some(source),
            Error::NotAStore { .. }
            | Error::NotAFolder { .. }
            | Error::Exists { .. }
            | Error::Making { .. }
            | Error::Locked { .. }
            | Error::Setting { .. }
            | Error::CatalogFull { .. } => None,
        }
    }
}
