//! Why nothing more can be taken. A sample that is refused is none of these: it costs only itself.

use baro_recorder::{Refused, Trouble};
use std::fmt;
use std::path::PathBuf;

/// An error of ingest: the input is not at fault.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The recorder cannot do what was asked, or its device failed.
    Recorder(baro_recorder::Error),
    /// The operating system refused.
    System(baro_sys::Error),
    /// The ring refuses a record though it has room for it.
    Refused(Refused),
    /// The process that records has ended.
    Gone,
    /// The recorder makes nothing durable any more.
    Still {
        /// Its store.
        store: PathBuf,
        /// For how long.
        still_ns: u64,
        /// Its reason.
        trouble: Trouble,
        /// Why settling makes no room, if it has stopped.
        unsettled: Option<String>,
    },
    /// It was told to stop while it waited for room.
    Stopped,
    /// There is no memory for the times of pushes.
    Histogram(hdrhistogram::CreationError),
}

/// Result of a call to ingest.
pub type Result<T> = std::result::Result<T, Error>;

impl From<baro_recorder::Error> for Error {
    fn from(error: baro_recorder::Error) -> Self {
        Error::Recorder(error)
    }
}

impl From<baro_sys::Error> for Error {
    fn from(error: baro_sys::Error) -> Self {
        Error::System(error)
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Error::Refused(refused)
    }
}

impl From<hdrhistogram::CreationError> for Error {
    fn from(error: hdrhistogram::CreationError) -> Self {
        Error::Histogram(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Recorder(error) => error.fmt(f),
            Error::System(error) => error.fmt(f),
            Error::Refused(refused) => refused.fmt(f),
            Error::Gone => f.write_str(
                "the process that records has ended before all was durable; what is in its ring is \
                 taken over by the next: repeat the import then",
            ),
            Error::Still { store, still_ns, trouble, unsettled } => {
                match trouble {
                    Trouble::None => {
                        let seconds = still_ns / 1_000_000_000;
                        write!(f, "nothing has become durable for {seconds} s, and the recorder ")?;
                        f.write_str("does not say why")?;
                    }
                    trouble => trouble.fmt(f)?,
                }
                if *trouble == Trouble::LogFull {
                    let store = store.display();
                    write!(
                        f,
                        " (all its segments are begun, and each start of a recorder begins one; to reuse \
                         its oldest part from now on: baro init {store} --when-full recycle)"
                    )?;
                }
                unsettled.iter().try_for_each(|why| write!(f, "; settling has stopped: {why}"))
            }
            Error::Stopped => f.write_str("told to stop while it waited for room"),
            Error::Histogram(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Recorder(error) => Some(error),
            Error::System(error) => Some(error),
            Error::Refused(refused) => Some(refused),
            Error::Histogram(error) => Some(error),
            Error::Gone | Error::Still { .. } | Error::Stopped => None,
        }
    }
}
