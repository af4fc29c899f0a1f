//! Why a body cannot be read to its end, and the status that says so.

use std::fmt;

/// Why a body cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// It is larger than the limit.
    TooLarge {
        /// Bytes that it may have, as it comes and unpacked.
        limit_bytes: u64,
    },
    /// Its pieces, or what they unpack to, are not what they should be: what was expected and found.
    Malformed(String),
    /// Nothing came, or too little, for this time.
    Stalled {
        /// For so long.
        waited_ns: u64,
    },
    /// The connection ended first.
    Gone,
}

impl BodyError {
    /// The status that tells the client.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            BodyError::TooLarge { .. } => 413,
            BodyError::Malformed(_) | BodyError::Gone => 400,
            // Telegraf and Prometheus drop what is answered with 408, and send again after 503.
            BodyError::Stalled { .. } => 503,
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyError::TooLarge { limit_bytes } => write!(
                f,
                "expected a body of at most {limit_bytes} bytes, unpacked, found more: send it in parts"
            ),
            BodyError::Malformed(said) => f.write_str(said),
            BodyError::Stalled { waited_ns } => {
                let seconds = waited_ns / 1_000_000_000;
                write!(
                    f,
                    "expected the rest of the body, found nothing or too little for {seconds} s: send this \
                     request again"
                )
            }
            BodyError::Gone => {
                f.write_str("expected the rest of the body, found the end of the connection")
            }
        }
    }
}

impl std::error::Error for BodyError {}
