//! What was not taken, and why: the line, the series, what was expected and what was found.
//!
//! A value, not a text, so that a door that answers somebody can say which of many samples it was.

use crate::types::Misfit;
use baro_ondisk::limits::NAME_BYTES_MAX;
use baro_show::date;
use std::fmt;

/// How much of a series' name is shown.
const NAME_CHARS_MAX: usize = 200;

/// Whom refusals are told to, one by one, as they happen.
pub type Tell<'t> = dyn FnMut(&Refusal<'_>) + 't;

/// A sample that was not taken.
#[derive(Clone, Debug)]
pub struct Refusal<'a> {
    /// Line of the input, or row, from 1.
    pub line: u64,
    /// Name of its series.
    pub series: &'a str,
    /// Why.
    pub reason: Reason<'a>,
}

/// Why a sample was not taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reason<'a> {
    /// The series does not take the value.
    Misfit(Misfit<'a>),
    /// The text is longer than the ring takes.
    TextTooLong {
        /// Bytes of the text.
        bytes: usize,
        /// What the ring takes.
        limit_bytes: usize,
    },
    /// The series is new and its name is too long.
    NameTooLong {
        /// Bytes of the name.
        bytes: usize,
    },
    /// There is no name.
    NoName,
    /// The series is new, and its labels have values without quotes.
    BareLabels,
    /// The series has come from two other names, which are joined to the same.
    OtherNames {
        /// Those.
        first: String,
        /// These.
        found: String,
    },
    /// The series is new, and the recorder refuses to declare it; its words.
    Undeclarable(&'a str),
    /// The series is new, and the source has declared as many as it may.
    NoMore,
    /// Whoever records would drop the sample once it has settled.
    TooOld {
        /// What is earlier is dropped.
        kept_from_ns: i64,
        /// The time of the sample.
        time_ns: i64,
    },
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Misfit(misfit) => misfit.fmt(f),
            Reason::NameTooLong { bytes } => {
                write!(f, "expected a name of at most {NAME_BYTES_MAX} bytes, found {bytes} bytes")
            }
            Reason::TextTooLong { bytes, limit_bytes } => write!(
                f,
                "expected a text of at most {limit_bytes} bytes, which the ring takes, found {bytes} bytes \
                 (baro record --ring makes it larger: a text has a quarter of it at most)"
            ),
            Reason::NoName => f.write_str("expected the name of a series, found nothing"),
            Reason::BareLabels => f.write_str(
                "expected each label once and its value in quotes, as in oven{zone=\"1\"}, found another \
                 form (has a shell taken the quotes? A name without labels is written \
                 {\"oven{zone=1}\"})",
            ),
            Reason::OtherNames { first, found } => write!(
                f,
                "expected {first}, of which the series was made so far, found {found}, which \
                 would be the same series: rename one of them, or bring it into another store"
            ),
            Reason::Undeclarable(said) => {
                write!(f, "expected a series that can be declared, found {said}")
            }
            Reason::TooOld { kept_from_ns, time_ns } => write!(
                f,
                "expected a time from {} on (the recorder of this store drops what is older, --keep-runs: \
                 start it with a longer one, or without), found {}",
                date((*kept_from_ns).into()),
                date((*time_ns).into())
            ),
            Reason::NoMore => f.write_str(
                "expected one of the series declared so far (this source may declare no more: \
                 the store has enough for that; declare it with --declare), found a new one",
            ),
        }
    }
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let series: String = self.series.chars().take(NAME_CHARS_MAX).collect();
        write!(f, "line {}: series {series}: {}", self.line, self.reason)
    }
}

impl Refusal<'_> {
    /// The same as a complaint of a source: with the name as it was written, and where the recorder
    /// refused a declaration, in its words alone, which name the series.
    pub(crate) fn complaint(&self) -> String {
        let Refusal { line, reason, .. } = self;
        let series: String = self.series.chars().take(NAME_CHARS_MAX).collect();
        match reason {
            Reason::Undeclarable(said) => format!("line {line}: {said}"),
            Reason::NoMore => format!("line {line}: series {series:?}: {reason}"),
            _ => format!("line {line}: series {series}: {reason}"),
        }
    }
}
