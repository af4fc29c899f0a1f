//! Which promises hold at a place, why, and what would grant the others.
//!
//! A promise that does not hold is said when a store is made, opened or looked at, before anybody
//! relies on it. Facts are gathered (`facts`), the judgement over them is pure
//! (`judge`) and says of each promise that it holds, that it does not, or that it cannot be
//! known; nothing is assumed in favour. Tests: `tests.rs` for the judgement, and the recorder's
//! `tests/real/places.rs` on real file systems, where the promise that is denied is also seen to
//! be broken.
//!
//! ```no_run
//! use baro_promises::{Look, at};
//! for judged in at("/data/store".as_ref(), Look::Read, 16 << 20) {
//!     println!("{judged}");
//! }
//! ```

mod durable;
mod f2fs;
mod facts;
mod in_place;
mod judge;
#[cfg(test)]
mod tests;

pub use facts::{Facts, Look, RingFacts};
pub use judge::judge;

use std::fmt;
use std::path::Path;

/// Which promises hold for the store at `path` with rings of `ring_bytes`, as far as it is known
/// without recording. With [`Look::Write`] it blocks for the write of one page.
#[must_use]
pub fn at(path: &Path, look: Look, ring_bytes: usize) -> Vec<Judged> {
    judge(&Facts::of(path, look, ring_bytes))
}

/// What Barograph promises, where the place allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Promise {
    /// A push never meets a missing page: the ring is locked in memory.
    NeverWaits,
    /// What was pushed survives the death of producer and recorder.
    SurvivesProcesses,
    /// What is durable survives a power cut.
    Durable,
    /// Recording forces no commit of the file system's journal.
    NoForcedCommits,
    /// Recording allocates nothing: blocks are overwritten where they are.
    InPlace,
    /// Writes do not depend on anybody's dirty pages: they go past the page cache.
    PastPageCache,
    /// The writer waits for nobody else's commits: the file system is the store's own.
    OwnFileSystem,
    /// A write waits for little of what others have put into the device's queue.
    ShortQueue,
    /// The writer is not held up by other programs' use of the processors: SCHED_FIFO.
    RealTime,
}

/// Its name in JSON and in documents.
impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Promise::NeverWaits => "never-waits",
            Promise::SurvivesProcesses => "survives-processes",
            Promise::Durable => "durable",
            Promise::NoForcedCommits => "no-forced-commits",
            Promise::InPlace => "in-place",
            Promise::PastPageCache => "past-page-cache",
            Promise::OwnFileSystem => "own-file-system",
            Promise::ShortQueue => "short-queue",
            Promise::RealTime => "real-time",
        })
    }
}

/// Whether a promise holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It cannot be known from here.
    Unknown,
}

/// `yes`, `no` or `unknown`.
impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Holds::Yes => "yes",
            Holds::No => "no",
            Holds::Unknown => "unknown",
        })
    }
}

/// One promise, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Which.
    pub promise: Promise,
    /// Whether it holds.
    pub holds: Holds,
    /// The fact that decides.
    pub why: String,
    /// What would grant it, with the command; `None` where it holds or nothing would.
    pub remedy: Option<String>,
}

impl Judged {
    fn yes(promise: Promise, why: impl Into<String>) -> Self {
        Judged { promise, holds: Holds::Yes, why: why.into(), remedy: None }
    }

    fn no(promise: Promise, why: impl Into<String>) -> Self {
        Judged { promise, holds: Holds::No, why: why.into(), remedy: None }
    }

    fn unknown(promise: Promise, why: impl Into<String>) -> Self {
        Judged { promise, holds: Holds::Unknown, why: why.into(), remedy: None }
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.holds {
            Holds::Yes => "holds",
            Holds::No => "does not hold",
            Holds::Unknown => "cannot be known",
        };
        write!(f, "{} {verdict}: {}", self.promise, self.why)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}
