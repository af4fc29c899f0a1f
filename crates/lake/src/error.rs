//! Why nothing was handed over.

use baro_store::Damage;
use std::fmt;
use std::path::PathBuf;

/// Result of a step of handing over.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Why nothing was handed over. What the table had before it has still.
#[derive(Debug)]
pub(crate) enum Error {
    /// The operating system refuses.
    System(baro_sys::Error),
    /// The store cannot be read.
    Store(baro_store::Error),
    /// Parquet cannot be written.
    Parquet(parquet::errors::ParquetError),
    /// Columns that do not fit their schema.
    Columns(arrow_schema::ArrowError),
    /// A table in a store, or the other way round.
    Nested { table: PathBuf, store: PathBuf },
    /// A folder with other things in it.
    NoTable { table: PathBuf, found: String },
    /// The table is not one that this program writes to.
    Table { file: String, what: &'static str, expected: String, found: String },
    /// The store and the table do not know the same of each other.
    Apart { expected: String, found: String, next: &'static str },
    /// Others have put versions into the table, again and again.
    Contended { tries: u32 },
    /// Another process hands the store over now.
    Beside,
    /// Another process has handed over the same runs meanwhile.
    Overtaken { last_run: u64 },
    /// What was committed is not what is read back.
    NotBack { file: String },
    /// A run cannot be read.
    Damaged { damage: Box<Damage> },
    /// It was told to end.
    Ended,
}

impl Error {
    /// Whether trying again later may help.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self,
            Error::System(_)
                | Error::Store(_)
                | Error::Parquet(_)
                | Error::Contended { .. }
                | Error::Overtaken { .. }
                | Error::Beside
        )
    }
}

impl std::error::Error for Error {}

impl From<baro_sys::Error> for Error {
    fn from(error: baro_sys::Error) -> Self {
        Error::System(error)
    }
}

impl From<baro_store::Error> for Error {
    fn from(error: baro_store::Error) -> Self {
        Error::Store(error)
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Error::Parquet(error)
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Error::Columns(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::System(error) => error.fmt(f),
            Error::Store(error) => error.fmt(f),
            Error::Parquet(error) => {
                write!(f, "a file of the table cannot be written: {error}; nothing was handed over")
            }
            Error::Columns(error) => write!(f, "rows of a run do not fit the table: {error}"),
            Error::Nested { table, store } => write!(
                f,
                "{}: expected a folder apart from the store {}, found one inside the other",
                table.display(),
                store.display()
            ),
            Error::NoTable { table, found } => write!(
                f,
                "{}: expected a Delta table, an empty folder or none, found {found}; give another \
                 folder",
                table.display()
            ),
            Error::Table { file, what, expected, found } => {
                write!(f, "{file}: {what}: expected {expected}, found {found}")
            }
            Error::Apart { expected, found, next } => {
                write!(f, "expected {expected}, found {found}; {next}")
            }
            Error::Contended { tries } => write!(
                f,
                "expected a free version of the table, found each of {tries} taken by other writers; \
                 nothing was handed over, try again later"
            ),
            Error::Beside => f.write_str(
                "expected nobody who hands this store over, found another process that does; only one is \
                 needed for a store",
            ),
            Error::Overtaken { last_run } => write!(
                f,
                "another process has handed over the same runs meanwhile, up to run {last_run}; only \
                 one is needed for a store"
            ),
            Error::NotBack { file } => write!(
                f,
                "{file}: expected what was just committed, found something else; the store counts \
                 nothing as handed over: look at the device of the table"
            ),
            Error::Damaged { damage } => write!(
                f,
                "{damage}; nothing was handed over: look at it with baro verify, or hand over what \
                 can be read with --skip-damaged"
            ),
            Error::Ended => f.write_str("ended before it was done; nothing was handed over"),
        }
    }
}
