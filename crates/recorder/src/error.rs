//! Why the recorder could not do what was asked.

use crate::writer::PinRefusal;
use baro_ondisk::Type;
use std::fmt;
use std::path::PathBuf;

/// An error of the recorder; says what, where, what was expected and found, and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    System(baro_sys::Error),
    /// The file is no ring, or not one of this version or store.
    ForeignRing {
        /// The file.
        path: PathBuf,
        /// The field that is wrong.
        field: &'static str,
        /// Its offset.
        offset: u64,
        /// What it must be.
        expected: u64,
        /// What it is.
        found: u64,
    },
    /// The ring belongs to another store with the same id: one of the two is a copy.
    StrayRing {
        /// The file.
        path: PathBuf,
        /// The store that it was made for: where it was, device and inode.
        made_for: String,
        /// The store that would take it.
        here: String,
    },
    /// Another process pushes into a ring (or, for a writer, reads it).
    RingBusy {
        /// The file.
        path: PathBuf,
    },
    /// The log: it is no store, a file of it is damaged, a series cannot be declared.
    Log(baro_log::Error),
    /// Another process records into this store.
    Busy {
        /// The folder.
        path: PathBuf,
        /// The process.
        pid: Option<u32>,
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
    /// A field layout that cannot be, or not here.
    Layout(baro_ondisk::LayoutError),
    /// A pin is refused.
    Pin(PinRefusal),
    /// Another process's recorder refuses a pin.
    PinDenied {
        /// What it says.
        why: String,
    },
    /// There is no such pin.
    NoPin {
        /// Its id.
        id: u64,
    },
    /// The process that records into the store does not answer.
    NoAnswer {
        /// The store.
        path: PathBuf,
        /// The process.
        pid: Option<u32>,
    },
    /// A series or channel is refused by the recorder in another process.
    Undeclared {
        /// What it says.
        why: String,
    },
    /// A series or channel is declared with another type than was asked for.
    DeclaredOtherwise {
        /// Its name.
        name: String,
        /// Its id.
        id: u32,
        /// The type that it has.
        kind: Type,
        /// The type that was asked for.
        wanted: Type,
    },
    /// Nobody records any more through a ring of another process.
    NobodyRecords {
        /// The ring.
        ring: PathBuf,
    },
    /// The recorder in another process has not answered a request to declare.
    Unanswered {
        /// The ring beside which it was asked.
        ring: PathBuf,
        /// For how long it was waited.
        waited_ns: u64,
    },
    /// The writer's thread has ended.
    WriterGone,
}

/// Result of a call to the recorder.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl From<baro_sys::Error> for Error {
    fn from(error: baro_sys::Error) -> Self {
        Error::System(error)
    }
}

impl From<baro_log::Error> for Error {
    fn from(error: baro_log::Error) -> Self {
        match error {
            baro_log::Error::System(error) => Error::System(error),
            other => Error::Log(other),
        }
    }
}

impl From<baro_ondisk::LayoutError> for Error {
    fn from(error: baro_ondisk::LayoutError) -> Self {
        Error::Layout(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::System(error) => error.fmt(f),
            Error::ForeignRing { path, field, offset, expected, found } => write!(
                f,
                "{}: ring header: {field} at offset {offset}: expected {expected:#x}, found \
                 {found:#x}; it is not a ring of this store and version: remove it",
                path.display()
            ),
            Error::StrayRing { path, made_for, here } => write!(
                f,
                "{}: the ring belongs to the store {made_for}, and not to {here}, which has the same \
                 id: one of them is a copy; record into the first to have what it holds, or, if \
                 this is that store, restored or on a disk that was mounted anew: \
                 baro rings STORE --adopt",
                path.display()
            ),
            Error::RingBusy { path } => write!(
                f,
                "{}: another process uses this ring; one producer and one writer at a time",
                path.display()
            ),
            Error::Layout(error) => error.fmt(f),
            Error::Log(error) => error.fmt(f),
            Error::Busy { path, pid: Some(pid) } => write!(
                f,
                "{}: process {pid} records into this store; one writer at a time: end it, or push \
                 through its rings (start it with --attach N; in C: baro_attach)",
                path.display()
            ),
            Error::Busy { path, pid: None } => write!(
                f,
                "{}: another process records into this store; one writer at a time",
                path.display()
            ),
            Error::Setting { name, expected, found } => {
                write!(f, "{name}: expected {expected}, found {found}")
            }
            Error::Pin(refusal) => write!(f, "pin refused: {refusal}"),
            Error::PinDenied { why } => f.write_str(why),
            Error::NoPin { id } => {
                write!(f, "no pin {id:016x}; baro pin STORE --list tells which there are")
            }
            Error::NoAnswer { path, pid } => write!(
                f,
                "{}: process {} records into this store and has not answered for 20 s",
                path.display(),
                pid.map_or("unknown".to_owned(), |pid| pid.to_string())
            ),
            Error::Undeclared { why } => f.write_str(why),
            Error::DeclaredOtherwise { name, kind, wanted, .. } => write!(
                f,
                "type of a series: expected {} as declared for {name}, found {}",
                kind.name(),
                wanted.name()
            ),
            Error::NobodyRecords { ring } => write!(
                f,
                "{}: the process that records has ended: declare again when the next one has taken \
                 this ring over",
                ring.display()
            ),
            Error::Unanswered { ring, waited_ns } => write!(
                f,
                "{}: the process that records has not answered a request to declare for {:.1} s: it waits \
                 for its device, is stopped, or is of an older version, which does not declare for others",
                ring.display(),
                *waited_ns as f64 / 1e9
            ),
            Error::WriterGone => f.write_str("the writer's thread has ended; open the store again"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System(error) => Some(error),
            Error::Log(error) => Some(error),
            Error::Layout(error) => Some(error),
            Error::Pin(refusal) => Some(refusal),
            Error::ForeignRing { .. }
            | Error::StrayRing { .. }
            | Error::RingBusy { .. }
            | Error::Busy { .. }
            | Error::Setting { .. }
            | Error::PinDenied { .. }
            | Error::NoPin { .. }
            | Error::NoAnswer { .. }
            | Error::Undeclared { .. }
            | Error::DeclaredOtherwise { .. }
            | Error::NobodyRecords { .. }
            | Error::Unanswered { .. }
            | Error::WriterGone => None,
        }
    }
}
