//! Damage: what is not as it once was written, named so that a person can look at it.
//!
//! A torn tail after a power cut is no damage and never becomes one of these; the reading rule is
//! in `docs/format.md`, "Block", and in [`baro_log::judge`].

use baro_ondisk::{Copies, Error};
use std::fmt;

/// What a piece of damage costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Blocks of the log that were durable are missing or unreadable.
    Blocks(u64),
    /// Records of a block cannot be decoded.
    Records(u64),
    /// Declarations of the catalog may be missing.
    Declarations,
    /// Samples of a run are unreadable: at most so many.
    Samples(u64),
    /// Which runs there are: their samples are not read.
    Manifest,
    /// Blocks of the log that were damaged when they were settled: in no run, and gone from the log
    /// sooner or later.
    Unsettled(u64),
    /// How far the log is settled: all of it counts as unsettled.
    Settled,
    /// Runs and deletions that came after an older manifest which was put back.
    Since,
    /// Segments in whose place files of an earlier time were put.
    Replaced,
    /// Segments that could not be read, and that a recorder has reused since, or gone on without.
    Reused,
    /// A pin: what it keeps may be recycled.
    Pin,
    /// So many copies of segments that a pin holds, which are not in the log any more; 0 if they are there
    /// and shorter than they were.
    Copies(u64),
    /// So many blocks of a copy of a segment that the log still has; 0 if it is its header alone.
    Copied(u64),
    /// What has been handed over to a table: runs are neither merged nor dropped meanwhile.
    Handover,
    /// The identity: everything else may still be readable.
    Identity,
    /// A segment file; what it held shows as missing blocks if anything later was durable.
    Segment,
    /// Nothing that was ever durable, as far as can be told.
    Nothing,
}

/// One place that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// File, relative to the store.
    pub file: String,
    /// Offset in it.
    pub offset: u64,
    /// What was expected and found there.
    pub source: Source,
    /// What it costs.
    pub loss: Loss,
}

/// What was expected and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Bytes that are not what the format asks for.
    Format(Error),
    /// The file cannot be read: the reason of the operating system.
    Unreadable(String),
    /// Bytes of a run that are not what its format asks for.
    Run(baro_runs::Error),
    /// Two sequences that should meet.
    Sequence {
        /// Block sequence that should come next.
        expected: u64,
        /// Block sequence that does.
        found: u64,
    },
    /// Something was recorded of an id that no declaration has.
    Undeclared {
        /// The lowest of them.
        id: u32,
    },
    /// Headers know of ids that no declaration has.
    Short {
        /// The highest id that was given.
        expected: u32,
        /// The highest id that is declared.
        found: u32,
    },
    /// What was found earlier, and is told from then on.
    Earlier,
    /// A segment had no header that could be read when a recorder reused it, or began.
    Unread,
    /// Two files claim to be the same segment.
    Twice {
        /// The epoch that both have.
        epoch: u64,
    },
    /// Copies of segments that a pin holds.
    Copies {
        /// What the pin says that there are.
        expected: Copies,
        /// What there is.
        found: Copies,
    },
    /// Other segments are beside the newest than when it was begun.
    Beside {
        /// How many there were.
        expected: u32,
        /// How many there are.
        found: u32,
    },
    /// The catalog does not have the block that was its last one when the newest segment was begun, or ended.
    OtherCatalog,
    /// Two recorders have written at the same time.
    Mixed {
        /// The session that began later.
        later: u64,
        /// The one that has written after it all the same.
        earlier: u64,
    },
}

impl Loss {
    /// Whether it is not known which runs count: nothing is settled or deleted then.
    #[must_use]
    pub fn is_of_manifest(self) -> bool {
        matches!(self, Loss::Manifest | Loss::Since)
    }

    /// Whether records of the log may be missing, or their names.
    pub(crate) fn is_of_log(self) -> bool {
        match self {
            Loss::Blocks(_) | Loss::Records(_) | Loss::Segment | Loss::Copies(_) => true,
            Loss::Replaced | Loss::Reused | Loss::Declarations | Loss::Identity => true,
            Loss::Samples(_) | Loss::Manifest | Loss::Unsettled(_) | Loss::Settled => false,
            Loss::Since | Loss::Pin | Loss::Copied(_) | Loss::Handover | Loss::Nothing => false,
        }
    }
}

impl Damage {
    pub(crate) fn format(file: &str, source: Error, loss: Loss) -> Self {
        let offset = match source {
            Error::Truncated { offset, .. }
            | Error::Mismatch { offset, .. }
            | Error::OutOfRange { offset, .. }
            | Error::NotUtf8 { offset, .. } => offset,
            _ => 0,
        };
        Damage { file: file.to_owned(), offset, source: Source::Format(source), loss }
    }

    /// Of a place in a file that cannot be read, or is not what the format asks for: then the error has
    /// the offset.
    pub(crate) fn at(file: &str, offset: u64, source: Source, loss: Loss) -> Self {
        match source {
            Source::Format(source) => Damage::format(file, source, loss),
            source => Damage { file: file.to_owned(), offset, source, loss },
        }
    }

    /// Whether something that was durable is lost, or may be.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.loss != Loss::Nothing
    }

    /// What to do about it.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        if matches!(self.source, Source::Undeclared { .. }) {
            return "look at the ids that the program pushes with, which are those that declaring \
                    returns; if they are right, a declaration is lost: check the device (smartctl, \
                    dmesg)";
        }
        if matches!(self.source, Source::Short { .. } | Source::OtherCatalog) {
            return "put the newest catalog back if there is a copy of it (baro backup); without it copy what \
                    is readable, under made-up names: baro recover STORE NEW";
        }
        match self.loss {
            Loss::Nothing => "none needed; recording goes on and reuses the segment",
            Loss::Unsettled(_) => {
                "none; this stays told, since those samples are not there any more"
            }
            Loss::Handover => {
                "until then runs are neither merged nor dropped: if its rights or the device are the \
                 reason, mend these; else release the store (baro lake STORE --release), and hand it \
                 over to a new table"
            }
            Loss::Settled => {
                "none; the next settling or recording mends it (baro settle STORE), and it stays told; put \
                 the file back if somebody changed it"
            }
            Loss::Since => {
                "put the newest runs/manifest back; until then nothing is settled, merged or deleted; \
                 without it copy what is readable: baro recover STORE NEW"
            }
            Loss::Replaced => {
                "put the newest segment files back, if there is a copy of them and nobody has recorded \
                 since (baro backup); this stays told"
            }
            Loss::Reused => {
                "check the device (smartctl, dmesg); a copy of the store from before may have it (baro \
                 backup); this stays told, but not in a copy that baro recover STORE NEW makes"
            }
            Loss::Pin => "pin the window again (baro pin), then remove the file",
            Loss::Copies(_) => {
                "put the files of kept/ back if there is a copy of them (baro backup); this stays told \
                 until the pin is released: baro pin STORE --release ID"
            }
            Loss::Copied(_) => {
                "a recorder makes the copy again within minutes (baro record), as long as the log has \
                 the segment; check the device (smartctl, dmesg)"
            }
            Loss::Identity => "copy what is readable into a new store: baro recover STORE NEW",
            _ => {
                "check the device (smartctl, dmesg); copy what is readable: baro recover STORE NEW"
            }
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: ", self.file, self.offset)?;
        match &self.source {
            Source::Format(error) => error.fmt(f)?,
            Source::Run(error) => error.fmt(f)?,
            Source::Unreadable(reason) => f.write_str(reason)?,
            Source::Sequence { expected, found } => {
                write!(f, "expected block {expected} of the session, found block {found}")?;
            }
            Source::Undeclared { id } => {
                write!(
                    f,
                    "expected a declaration of id {id}, of which records are in the log, found none"
                )?;
            }
            Source::Short { expected, found } => {
                write!(
                    f,
                    "expected declarations of ids up to {expected}, found them up to {found}"
                )?;
            }
            Source::OtherCatalog => f.write_str(
                "expected the catalog that the newest segment was recorded with, found another one: of an \
                 earlier time, or of a copy of this store that went on by itself; series may have the names of \
                 others",
            )?,
            Source::Earlier if self.loss == Loss::Replaced => f.write_str(
                "a recorder has met files that were put back from an earlier time, or came from a copy of this \
                 store",
            )?,
            Source::Earlier => f.write_str("damage that a settling met")?,
            Source::Unread => {
                f.write_str("a recorder has gone on without a segment that could not be read")?
            }
            Source::Twice { epoch } => {
                write!(f, "expected one segment of epoch {epoch}, found a second one")?;
            }
            Source::Copies { expected, found } => {
                write!(
                    f,
                    "expected {} copies of segments up to epoch {} ({} bytes), found {} ({} bytes)",
                    expected.count, expected.last_epoch, expected.bytes, found.count, found.bytes
                )?;
            }
            Source::Beside { expected, found } => write!(
                f,
                "expected the {expected} other segments that there were when this one was begun, found \
                 {found}, not all of them the same: somebody has put a segment file of an earlier time back"
            )?,
            Source::Mixed { later, earlier } => {
                write!(
                    f,
                    "expected nothing of session {earlier:016x} after session {later:016x} began, \
                     found a segment: two recorders have written at the same time, and either may \
                     have written over what the other wrote"
                )?;
            }
        }
        match self.loss {
            Loss::Blocks(count) => write!(f, "; {count} durable blocks missing"),
            Loss::Records(count) => write!(f, "; at least {count} records unreadable"),
            Loss::Samples(count) => write!(f, "; {count} samples unreadable"),
            Loss::Unsettled(count) => {
                write!(f, "; {count} blocks were damaged when they were settled: in no run")?;
                Ok(())
            }
            Loss::Handover => f.write_str("; which runs a table has is not known"),
            Loss::Settled => {
                f.write_str("; how far the log is settled is not known: all of it is read")
            }
            Loss::Since => f.write_str("; what was settled and deleted since is not known"),
            Loss::Replaced => f.write_str("; what was in their place is lost"),
            Loss::Reused => {
                f.write_str("; what it held is lost, and nobody knows how much that was")
            }
            Loss::Pin => f.write_str("; what it keeps may be recycled"),
            Loss::Copies(0) => f.write_str("; part of what it keeps is lost"),
            Loss::Copies(count) => write!(f, "; {count} segments that it keeps are lost"),
            Loss::Copied(0) => f.write_str("; the copy has no valid header"),
            Loss::Copied(count) => {
                write!(f, "; {count} blocks of this copy are lost, the log still has the segment")
            }
            Loss::Manifest => f.write_str("; the samples of the runs are not read"),
            Loss::Declarations => f.write_str("; declarations may be missing"),
            Loss::Identity => f.write_str("; the identity is lost"),
            Loss::Segment => f.write_str("; the segment is not readable as such"),
            Loss::Nothing => f.write_str("; nothing durable lost"),
        }
    }
}
