//! What can go wrong with a setting or with the journal: where, expected, found, and what to do.
//!
//! A setting that cannot be read, written or journalled is an error and is not in effect; a
//! conflict while undoing is no error but an [`UndoneAs`](crate::UndoneAs).

use crate::allowed;
use crate::owner::Owner;
use std::fmt;
use std::path::PathBuf;

/// Why a setting was not applied or the journal not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file of the host could not be read, written or synced.
    Host(baro_sys::Error),
    /// The setting itself is not one that this crate takes; nothing was touched.
    Unfit {
        /// The path of the setting, as given.
        path: String,
        /// What a setting must be.
        expected: &'static str,
        /// What it was.
        found: String,
    },
    /// The kernel refused the value; the file holds what it held before.
    Rejected {
        /// The name of the setting.
        name: String,
        /// The value it refused.
        value: String,
        /// Its reason.
        source: baro_sys::Error,
    },
    /// A value was put back and the file says otherwise.
    NotTaken {
        /// The name of the setting.
        name: String,
        /// The value that was written.
        expected: String,
        /// The value read back.
        found: String,
    },
    /// Another process owns the journal.
    Held {
        /// The lock file.
        lock: PathBuf,
        /// The process that took the lock, where it could be read. If it has ended, a child that
        /// it forked holds on to the lock.
        pid: Option<u32>,
        /// What it said of itself.
        owner: Option<Owner>,
    },
    /// Another owner has settings of the same disk, or the same setting; nothing was touched.
    Claimed {
        /// The disk, or the file.
        object: String,
        /// Who has it.
        owner: Owner,
    },
    /// The journal is not as it was written.
    Damaged {
        /// The journal file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What the line should have held.
        expected: String,
        /// What it held.
        found: String,
    },
    /// The journal names a setting that this program does not set, or a value that it does not have:
    /// somebody else wrote it. Nothing was put back.
    Foreign {
        /// The journal file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The name of the setting.
        name: String,
    },
    /// More settings than the journal holds; nothing was touched.
    Full {
        /// The most it holds.
        settings_max: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Host(error) => error.fmt(out),
            Error::Unfit { path, expected, found } => {
                write!(out, "setting {path}: expected {expected}, found {found:?}")
            }
            Error::Rejected { name, value, source } => {
                write!(out, "setting {name}: the kernel refused {value:?}: {source}")
            }
            Error::NotTaken { name, expected, found } => {
                write!(out, "setting {name}: wrote {expected:?} back, found {found:?} afterwards")
            }
            Error::Held { lock, pid: Some(pid), owner } => {
                let lock = lock.display();
                write!(out, "{lock}: settings are held by process {pid} or a child of it")?;
                owner.iter().try_for_each(|owner| write!(out, ", {owner}"))?;
                out.write_str("; stop it, and they are undone")
            }
            Error::Claimed { object, owner } => {
                write!(
                    out,
                    "{object}: its settings are held by {owner}, and have one owner at a "
                )?;
                out.write_str("time; end that one, and it puts them back")
            }
            Error::Held { lock, pid: None, .. } => write!(
                out,
                "{0}: settings are held by another process; find it with `fuser -v {0}` and stop it",
                lock.display()
            ),
            Error::Damaged { file, line, expected, found } => {
                let file = file.display();
                write!(out, "{file}, line {line}: expected {expected}, found {found:?}; ")?;
                write!(out, "its fields are path, form, value found and value set: put back by ")?;
                write!(out, "hand what is still set, then `mv {file} {file}.damaged`")
            }
            Error::Foreign { file, line, name } => {
                let file = file.display();
                write!(
                    out,
                    "{file}, line {line}: expected {}, found {name:?}; ",
                    allowed::EXPECTED
                )?;
                write!(out, "somebody else wrote this journal, so nothing of it was put back; ")?;
                write!(out, "find out who may write there, then `mv {file} {file}.foreign`")
            }
            Error::Full { settings_max } => write!(
                out,
                "the settings journal is full: expected at most {settings_max} settings; undo some"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Host(source) | Error::Rejected { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<baro_sys::Error> for Error {
    fn from(error: baro_sys::Error) -> Error {
        Error::Host(error)
    }
}
