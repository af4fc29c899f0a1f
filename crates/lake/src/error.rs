//! Why nothing was handed over.

use baro_store::Damage;
use std::fmt;
use std::path::PathBuf;

/// Result of a step of handing over.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Letters of a text of others that a message has at most.
const FOREIGN_MAX: usize = 100;

/// Why nothing was handed over. What the table had before it has still.
#[derive(Debug)]
pub(crate) enum Error {
    /// What was met when this store was handed over to this table.
    At { store: PathBuf, table: PathBuf, error: Box<Error> },
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
    /// The folder in which the table is to be made is not there.
    NoParent { table: PathBuf },
    /// The folder is not the one any more that was opened.
    Replaced,
    /// The newest version is not the one any more that was read.
    Rewritten { file: String },
    /// The table is not one that this program writes to.
    Table { file: String, what: &'static str, expected: String, found: String },
    /// The store and the table do not know the same of each other.
    Disagree { expected: String, found: String, next: &'static str },
    /// A commit of more bytes than are read.
    TooLarge { bytes: u64, limit: u64 },
    /// A file that was written is not there any more, and no commit names it.
    Gone { file: String, bytes: u64, found: Option<u64> },
    /// Others have put versions into the table, again and again.
    Contended { tries: u32 },
    /// Another process hands the store over now.
    AlreadyRunning,
    /// Another process has handed over the same runs meanwhile.
    Overtaken { last_run: u64 },
    /// What was committed is not what is read back.
    ReadBackDiffers { file: String },
    /// A run is damaged.
    Damaged { damage: Box<Damage> },
    /// The operating system does not read a run, now.
    Unread { damage: Box<Damage> },
    /// A server does not answer, or not as it should.
    Server { expected: String, found: String, next: &'static str, may_pass: bool },
    /// It was told to end.
    Ended,
}

impl Error {
    /// Whether it is one run that is not read.
    pub(crate) fn is_of_a_run(&self) -> bool {
        matches!(self, Error::Damaged { .. } | Error::Unread { .. })
    }

    /// Whether trying again later may help, or others may mend it meanwhile.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Error::System(_)
            | Error::Store(_)
            | Error::Parquet(_)
            | Error::Rewritten { .. }
            | Error::Table { .. }
            | Error::Gone { .. }
            | Error::Contended { .. }
            | Error::AlreadyRunning
            | Error::Overtaken { .. }
            | Error::Damaged { .. }
            | Error::Unread { .. } => true,
            Error::Server { may_pass, .. } => *may_pass,
            Error::At { .. }
            | Error::Columns(_)
            | Error::Nested { .. }
            | Error::NoTable { .. }
            | Error::NoParent { .. }
            | Error::Replaced
            | Error::Disagree { .. }
            | Error::TooLarge { .. }
            | Error::ReadBackDiffers { .. }
            | Error::Ended => false,
        }
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

/// A text of others, cut: it may have any length.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(FOREIGN_MAX) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or("")),
        None => text.to_owned(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::At { store, table, error } => {
                write!(f, "{} to {}: {error}", store.display(), table.display())
            }
            Error::System(error) => error.fmt(f),
            Error::Store(error) => error.fmt(f),
            Error::Parquet(error) => {
                write!(f, "a file of the table cannot be written: {error}; nothing more was handed over")
            }
            Error::Columns(error) => write!(
                f,
                "rows of a run do not fit the table: {error}; nothing more was handed over: check the \
                 store (baro verify STORE)"
            ),
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
            Error::NoParent { table } => write!(
                f,
                "{}: expected the folder above it, found none: is its file system mounted? Only the \
                 last folder is made",
                table.display()
            ),
            Error::Replaced => f.write_str(
                "expected the folder that was opened, found another or none at its path: it was moved, \
                 replaced or unmounted. Nothing more was handed over: look what is there, then start again",
            ),
            Error::Rewritten { file } => write!(
                f,
                "{file}: expected the newest version as it was read, found another or none: the table \
                 was restored or rewritten. Nothing more was handed over; the next try reads its log from \
                 the begin"
            ),
            Error::Table { file, what, expected, found } => write!(
                f,
                "{file}: {what}: expected {}, found {}; nothing more was handed over: restore the table, or \
                 give a new one",
                cut(expected),
                cut(found)
            ),
            Error::Disagree { expected, found, next } => {
                write!(f, "expected {expected}, found {found}; {next}")
            }
            Error::TooLarge { bytes, limit } => write!(
                f,
                "expected a version of the table's log of at most {limit} bytes, found {bytes}: too \
                 many files at once. Nothing more was handed over"
            ),
            Error::Gone { file, bytes, found } => {
                let found = found.map_or("none".to_owned(), |found| format!("one of {found}"));
                write!(
                    f,
                    "{file}: expected the file of {bytes} bytes that was just written, found {found}: \
                     does somebody clean up the table, or is a clock wrong? Nothing more was handed over"
                )
            }
            Error::Contended { tries } => write!(
                f,
                "expected a free version of the table, found each of {tries} taken by other writers; \
                 nothing more was handed over, try again later"
            ),
            Error::AlreadyRunning => f.write_str(
                "expected nobody who hands this store over, found another process that does; only one is \
                 needed for a store",
            ),
            Error::Overtaken { last_run } => write!(
                f,
                "another process has handed over the same runs meanwhile, up to run {last_run}; only \
                 one is needed for a store"
            ),
            Error::ReadBackDiffers { file } => write!(
                f,
                "{file}: expected what was just committed, found something else; the store counts \
                 nothing as handed over: look at the device of the table"
            ),
            Error::Damaged { damage } => write!(
                f,
                "{damage}; this run and those behind it were not handed over: look at it with baro \
                 verify, or hand over what can be read with --skip-damaged"
            ),
            Error::Unread { damage } => write!(
                f,
                "{damage}; this run and those behind it were not handed over: this may pass, so try \
                 again. With --every and --skip-damaged it is left out if it lasts for an hour"
            ),
            Error::Server { expected, found, next, .. } => {
                write!(f, "expected {}, found {}; {next}", cut(expected), cut(found))
            }
            Error::Ended => f.write_str("ended before all was handed over; the next start goes on with it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_others_is_cut() {
        let (file, expected) = ("0.json".to_owned(), "parquet".to_owned());
        let found = "\u{e9}".repeat(1 << 20);
        let said = Error::Table { file, what: "format", expected, found }.to_string();
        assert!(said.len() < 400 && said.contains("..."), "{said}");
    }
}
