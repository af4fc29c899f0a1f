//! Why an export ended early.

use std::fmt;

/// An error of an export.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The store cannot be read.
    Store(baro_store::Error),
    /// The output cannot be written.
    Output(std::io::Error),
    /// More channels than an MCAP file can have.
    Channels {
        /// What it can have.
        limit: usize,
        /// What was selected.
        found: usize,
    },
    /// The MCAP writer refuses.
    Mcap(mcap::McapError),
    /// The Arrow writer refuses.
    Arrow(arrow_schema::ArrowError),
    /// The Parquet writer or reader refuses.
    Parquet(parquet::errors::ParquetError),
    /// A query hands out values of a type that its series is not declared with.
    ValueType {
        /// The series.
        series: String,
        /// Types of the columns there are.
        expected: String,
        /// Type of the values.
        found: &'static str,
    },
    /// A Parquet file that cannot be understood as samples.
    Layout {
        /// What it has.
        found: String,
        /// What it must have.
        expected: &'static str,
    },
    /// A column of a Parquet file that cannot be taken as it is.
    Column {
        /// Its name.
        column: String,
        /// What it must be, or what would do.
        expected: String,
        /// What it has.
        found: &'static str,
    },
}

/// Result of an export.
pub type Result<T> = std::result::Result<T, Error>;

impl From<baro_store::Error> for Error {
    fn from(error: baro_store::Error) -> Self {
        Error::Store(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Output(error)
    }
}

impl From<mcap::McapError> for Error {
    fn from(error: mcap::McapError) -> Self {
        match error {
            mcap::McapError::Io(error) => Error::Output(error),
            other => Error::Mcap(other),
        }
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        match error {
            // With its kind: a closed pipe is told from a full disk.
            arrow_schema::ArrowError::IoError(_, error) => Error::Output(error),
            other => Error::Arrow(other),
        }
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        use parquet::errors::ParquetError;
        let ParquetError::External(inner) = error else { return Error::Parquet(error) };
        match inner.downcast::<std::io::Error>() {
            Ok(error) => Error::Output(*error),
            Err(other) => Error::Parquet(ParquetError::External(other)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store(error) => error.fmt(f),
            Error::Output(error) => write!(f, "output: {error}"),
            Error::Channels { limit, found } => write!(
                f,
                "MCAP: expected at most {limit} series and channels in one file, found {found}; \
                 select some, or export to CSV"
            ),
            Error::Mcap(error) => write!(f, "MCAP: {error}"),
            Error::Arrow(error) => write!(f, "Arrow: {error}"),
            Error::Parquet(error) => write!(f, "Parquet: {error}"),
            Error::ValueType { series, expected, found } => {
                write!(f, "series {series}: expected values of type {expected}, found {found}")
            }
            Error::Layout { found, expected } => {
                write!(f, "Parquet: expected {expected}, found {found}")
            }
            Error::Column { column, expected, found } => {
                write!(f, "Parquet: column {column}: expected {expected}, found {found}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Output(error) => Some(error),
            _ => None,
        }
    }
}
