//! Why a store could not be read.

use std::fmt;
use std::path::PathBuf;

/// An error of a reader. Damage in a store is no error: it is reported beside what is readable.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    System(baro_sys::Error),
    /// The store as a whole cannot be opened or made.
    Store(baro_log::Error),
    /// More blocks overlap in time than the index may hold; narrow the interval, or read in order
    /// of writing.
    Overlap {
        /// Blocks allowed.
        limit: usize,
    },
    /// Nothing in the folder tells the geometry of a store.
    NoSegments {
        /// The folder.
        path: PathBuf,
    },
    /// The copy that recovery makes is full before everything is in it.
    CopyFull {
        /// Its segments.
        segments: u32,
    },
    /// Between the open and the query the log was recycled: to be refreshed and asked again.
    Recycled {
        /// The store.
        path: PathBuf,
    },
    /// More of the log is in no run than a query should hold in memory.
    Unsettled {
        /// The store.
        path: PathBuf,
        /// Most bytes that are held.
        limit_bytes: usize,
    },
    /// A percentile of more samples than are held in memory.
    Percentile {
        /// Most samples of one step.
        limit: usize,
    },
    /// Between two samples are more empty steps than are filled.
    Filled {
        /// Most steps.
        limit: u64,
    },
    /// Another process settles the store.
    Settling {
        /// The store.
        path: PathBuf,
        /// The process, if known.
        pid: Option<u32>,
    },
    /// Which runs there are is not readable, so nothing is settled on top of it.
    Manifest {
        /// What is wrong with it.
        damage: Box<crate::Damage>,
    },
    /// What says which runs a table has is not readable, so nothing is handed over.
    Handover {
        /// What is wrong with it.
        damage: Box<crate::Damage>,
    },
    /// Settling was ended: everything is as before the step.
    Ended,
    /// An earlier version of Barograph, which knows no deletions, settles the store.
    OldSettler {
        /// The store.
        path: PathBuf,
    },
    /// A run of the store is damaged, and would replace what a backup has whole.
    BackupOfDamaged {
        /// The folder of the backup.
        path: PathBuf,
        /// What is wrong.
        damage: Box<crate::Damage>,
    },
    /// A folder that a backup of the store does not go to.
    NotABackup {
        /// The folder.
        path: PathBuf,
        /// What is there instead.
        why: String,
    },
    /// Somebody else has replaced the manifest meanwhile.
    ManifestChanged,
    /// More deletions than a manifest tells of.
    Deletions {
        /// Most deletions.
        limit: usize,
        /// Most ranges of ids of all together.
        ranges: usize,
    },
    /// More runs than a manifest may name.
    Runs {
        /// Most runs.
        limit: usize,
    },
    /// The encoder of runs was given what it does not take.
    Run(baro_runs::Error),
    /// A thread has ended by itself.
    Thread {
        /// What it was doing.
        name: &'static str,
    },
    /// A text that is no selector.
    Selector(crate::SelectorError),
    /// A name that nothing has, or a selector that selects nothing.
    UnknownName(crate::UnknownName),
    /// The catalog is damaged: what is derived from it would hide that.
    CatalogDamaged {
        /// What is wrong with it.
        reason: String,
    },
    /// A structure that was just written cannot be encoded.
    Format(baro_ondisk::Error),
}

/// Result of a call to a reader.
pub type Result<T> = std::result::Result<T, Error>;

impl From<baro_sys::Error> for Error {
    fn from(error: baro_sys::Error) -> Self {
        Error::System(error)
    }
}

impl From<baro_runs::Error> for Error {
    fn from(error: baro_runs::Error) -> Self {
        Error::Run(error)
    }
}

impl From<baro_ondisk::Error> for Error {
    fn from(error: baro_ondisk::Error) -> Self {
        Error::Format(error)
    }
}

impl From<crate::SelectorError> for Error {
    fn from(error: crate::SelectorError) -> Self {
        Error::Selector(error)
    }
}

impl From<crate::UnknownName> for Error {
    fn from(error: crate::UnknownName) -> Self {
        Error::UnknownName(error)
    }
}

impl From<baro_log::Error> for Error {
    fn from(error: baro_log::Error) -> Self {
        match error {
            baro_log::Error::System(error) => Error::System(error),
            other => Error::Store(other),
        }
    }
}

impl Error {
    /// Whether the device or quota is full.
    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        let source = match self {
            Error::System(source) | Error::Store(baro_log::Error::System(source)) => source,
            _ => return false,
        };
        source.is_full()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::System(error) => error.fmt(f),
            Error::Store(error @ baro_log::Error::Format { .. }) => {
                write!(f, "{error}; copy what is readable with: baro recover STORE NEW")
            }
            Error::Store(error) => error.fmt(f),
            Error::Overlap { limit } => write!(
                f,
                "more than {limit} blocks overlap in time: expected fewer, since they are merged \
                 in memory; ask for a shorter interval, or for the order of writing"
            ),
            Error::NoSegments { path } => write!(
                f,
                "{}: expected segment files log/NNNNNNNN.seg, found none that tells a geometry",
                path.display()
            ),
            Error::CopyFull { segments } => {
                write!(f, "the copy's {segments} segments do not hold what was read")
            }
            Error::Recycled { path } => write!(
                f,
                "{}: expected the log as it was at the open, found it recycled meanwhile; open the \
                 store again",
                path.display()
            ),
            Error::Unsettled { path, limit_bytes } => {
                let (path, limit) = (path.display(), limit_bytes >> 20);
                write!(
                    f,
                    "{path}: expected at most {limit} MiB of the log that are in no run yet, found \
                     more; settle first: baro settle {path}"
                )
            }
            Error::Percentile { limit } => write!(
                f,
                "a percentile: expected at most {limit} samples in a step, found more; ask for \
                 shorter steps"
            ),
            Error::Filled { limit } => write!(
                f,
                "filling empty steps: expected at most {limit} of them in a row, found more; ask \
                 for longer steps or a shorter interval"
            ),
            Error::Settling { path, pid } => {
                write!(f, "{}: expected nobody who settles it, found ", path.display())?;
                match pid {
                    Some(pid) => write!(
                        f,
                        "process {pid}, which does (a recorder settles by itself); wait for it or end it"
                    ),
                    None => f.write_str("another process that does; wait for it"),
                }
            }
            Error::Manifest { damage } => write!(
                f,
                "{damage}; nothing is settled before it is readable: see baro verify and baro \
                 recover"
            ),
            Error::Handover { damage } => {
                write!(f, "{damage}; {}", damage.next_step())
            }
            Error::Ended => f.write_str("settling was ended before it was done; nothing is lost"),
            Error::OldSettler { path } => write!(
                f,
                "{}: expected nobody who settles it and knows no deletions, found a process of an \
                 earlier version of baro; end it first",
                path.display()
            ),
            Error::BackupOfDamaged { path, damage } => of_damaged(f, path, damage),
            Error::NotABackup { path, why } => no_backup(f, path, why),
            Error::ManifestChanged => f.write_str(
                "runs/manifest: expected it as it was read, found it replaced meanwhile by who \
                 settles or deletes; nothing was changed: try again",
            ),
            Error::Deletions { limit, ranges } => write!(
                f,
                "expected at most {limit} deletions, and {ranges} ranges of ids in them, found \
                 more; nothing was deleted. Settling forgets those of which nothing is left: baro \
                 settle --all"
            ),
            Error::Runs { limit } => write!(
                f,
                "expected at most {limit} runs, found more; let them grow larger, or keep less"
            ),
            Error::Run(error) => error.fmt(f),
            Error::Thread { name } => write!(f, "the thread for {name} has ended by itself"),
            Error::Selector(error) => error.fmt(f),
            Error::UnknownName(error) => error.fmt(f),
            Error::CatalogDamaged { reason } => {
                write!(f, "{reason}; make a whole one from what is left: baro recover STORE NEW")
            }
            Error::Format(error) => error.fmt(f),
        }
    }
}

fn of_damaged(
    f: &mut fmt::Formatter<'_>,
    path: &std::path::Path,
    damage: &crate::Damage,
) -> fmt::Result {
    write!(
        f,
        "{damage}; {} has what was whole at the last backup, and stays as it is: see baro recover, or \
         make another backup in another folder",
        path.display()
    )
}

fn no_backup(f: &mut fmt::Formatter<'_>, path: &std::path::Path, why: &str) -> fmt::Result {
    write!(
        f,
        "{}: expected an empty folder or a backup of this store, found that {why}; nothing was \
         written: name another folder",
        path.display()
    )
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System(error) => Some(error),
            Error::Store(error) => Some(error),
            Error::Run(error) => Some(error),
            Error::Selector(error) => Some(error),
            Error::UnknownName(error) => Some(error),
            Error::Format(error) => Some(error),
            _ => None,
        }
    }
}
