//! The files by which sizes of pieces reach the interposer, and by which it tells what it did.
//!
//! Two pages in the group's folder: `pieces`, which only we write and programs map read-only (the
//! group's weight is there too while it is trimmed, for whoever controls next), and
//! `counters`, which every program of the group may write: a hint, never trusted. Sizes change while
//! programs run; a piece that has begun ends with the size it had.
//!
//! Invariant: the files are never truncated or replaced while a program may have them mapped. Held by
//! `tests/share.rs` of the command line, which changes sizes under running programs.

#[path = "../preload/src/layout.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the interposer's part of it")]
mod layout;

use crate::error::ShareError;
use crate::plan::PIECE_BYTES_UNKNOWN;
use crate::weight::Weight;
use baro_sys::memory::SharedMemory;
use layout::{
    COUNTERS_FILE, COUNTERS_MAGIC, FILE_BYTES, PIECES_FILE, PIECES_MAGIC, VERSION, VERSION_AT,
};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::Ordering::Relaxed;

/// Magic and version are the first 12 bytes.
const MAGIC_AT: usize = 0;

/// Sizes of pieces in bytes; 0 does not cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Of direct reads.
    pub read_bytes: u64,
    /// Of direct writes.
    pub write_bytes: u64,
}

/// How I/O is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// By the plan and the observed ratio.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// In pieces of these sizes.
    Fixed(Pieces),
}

impl Cut {
    /// Sizes before anything is known of the disk.
    #[must_use]
    pub fn first(self) -> Pieces {
        match self {
            Self::Auto => {
                Pieces { read_bytes: PIECE_BYTES_UNKNOWN, write_bytes: PIECE_BYTES_UNKNOWN }
            }
            Self::Off => Pieces::default(),
            Self::Fixed(sizes) => sizes,
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => out.write_str("auto"),
            Self::Off => out.write_str("off"),
            Self::Fixed(Pieces { read_bytes, write_bytes }) => {
                write!(out, "{read_bytes}:{write_bytes}")
            }
        }
    }
}

impl FromStr for Cut {
    type Err = String;

    /// `auto`, `off`, or bytes of reads and of writes, `8388608:4194304`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fixed = |text: &str| {
            let (read, write) = text.split_once(':').unwrap_or((text, text));
            let (read_bytes, write_bytes) = (read.parse().ok()?, write.parse().ok()?);
            Some(Self::Fixed(Pieces { read_bytes, write_bytes }))
        };
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => fixed(text).ok_or_else(|| {
                format!("expected auto, off, BYTES or BYTES:BYTES (reads:writes), found {text:?}")
            }),
        }
    }
}

/// The weight that a group of ours has been given; None: what was asked. The two differ while it is
/// being given: whoever finds them so, as the next after a controller that was killed, knows that the
/// group has one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The one that it has.
    pub now: Option<Weight>,
    /// The one that it had, until it has the new one.
    pub before: Option<Weight>,
}

impl Given {
    /// It has this weight, and no other is under way.
    #[must_use]
    pub fn done(now: Option<Weight>) -> Self {
        Self { now, before: now }
    }

    /// Whether a group that was asked to weigh `asked` and weighs `found` has its weight from us.
    #[must_use]
    pub fn is_ours(self, asked: Weight, found: Weight) -> bool {
        [self.now, self.before].iter().any(|weight| weight.unwrap_or(asked) == found)
    }
}

/// The two files of a group.
#[derive(Debug)]
pub struct PieceFiles {
    pieces: SharedMemory,
    counters: SharedMemory,
}

impl PieceFiles {
    /// Makes them in `dir`, which is on a tmpfs.
    ///
    /// # Errors
    /// They are there already, no rights or no memory.
    pub fn create(dir: &Path, first: Pieces) -> Result<Self, ShareError> {
        let pieces = SharedMemory::create(&dir.join(PIECES_FILE), FILE_BYTES)?;
        let counters = SharedMemory::create(&dir.join(COUNTERS_FILE), FILE_BYTES)?;
        // Programs of any user read the sizes, and tell what they did.
        pieces.set_mode(0o644)?;
        counters.set_mode(0o666)?;
        let files = Self { pieces, counters };
        files.set(first);
        counters_head(&files.counters);
        files.pieces.write(MAGIC_AT, &PIECES_MAGIC);
        files.pieces.write(VERSION_AT, &VERSION.to_ne_bytes());
        Ok(files)
    }

    /// Maps those that are there.
    ///
    /// # Errors
    /// They are missing, or not of this version.
    pub fn open(dir: &Path) -> Result<Self, ShareError> {
        let open = |name: &str, magic: [u8; 8]| -> Result<SharedMemory, ShareError> {
            let path = dir.join(name);
            let memory = SharedMemory::open(&path)?;
            let (mut found, mut version) = ([0; 8], [0; 4]);
            memory.read(MAGIC_AT, &mut found);
            memory.read(VERSION_AT, &mut version);
            if found == magic && version == VERSION.to_ne_bytes() {
                return Ok(memory);
            }
            Err(ShareError::Refused(format!(
                "{}: expected pieces of version {}, found another; end the programs of this group \
                 and start them again",
                path.display(),
                VERSION
            )))
        };
        Ok(Self {
            pieces: open(PIECES_FILE, PIECES_MAGIC)?,
            counters: open(COUNTERS_FILE, COUNTERS_MAGIC)?,
        })
    }

    /// Sizes from now on.
    pub fn set(&self, sizes: Pieces) {
        self.pieces.counter(layout::READ_PIECE_AT).store(sizes.read_bytes, Relaxed);
        self.pieces.counter(layout::WRITE_PIECE_AT).store(sizes.write_bytes, Relaxed);
    }

    /// Sizes now.
    #[must_use]
    pub fn get(&self) -> Pieces {
        Pieces {
            read_bytes: self.pieces.counter(layout::READ_PIECE_AT).load(Relaxed),
            write_bytes: self.pieces.counter(layout::WRITE_PIECE_AT).load(Relaxed),
        }
    }

    /// What weight the group has been given.
    pub fn set_weight(&self, given: Given) {
        let bits = |weight: Option<Weight>| weight.map_or(0, |weight| u64::from(weight.get()));
        let both = bits(given.now) | bits(given.before) << layout::WEIGHT_BEFORE_SHIFT;
        self.pieces.counter(layout::WEIGHT_AT).store(both, Relaxed);
    }

    /// What weight the group has been given last, by whichever controller.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "16 bits each")]
    pub fn weight(&self) -> Given {
        let both = self.pieces.counter(layout::WEIGHT_AT).load(Relaxed);
        let weight = |bits: u64| Weight::new(bits as u16);
        Given { now: weight(both), before: weight(both >> layout::WEIGHT_BEFORE_SHIFT) }
    }

    /// How many large direct I/Os the programs say that they did not cut.
    #[must_use]
    pub fn whole(&self) -> u64 {
        use layout::Counter as C;
        let counters = [
            C::Append,
            C::Sync,
            C::Flags,
            C::Unaligned,
            C::AioNotReaped,
            C::AioFull,
            C::AioEventfd,
            C::Raw,
            C::Other,
        ];
        let number = |one: &C| self.counters.counter(one.offset()).load(Relaxed);
        counters.iter().map(number).fold(0, u64::wrapping_add)
    }

    /// What the programs of the group say that they did: names and numbers.
    #[must_use]
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let number = |at: usize| self.counters.counter(at).load(Relaxed);
        layout::Counter::ALL.iter().map(|one| (one.name(), number(one.offset()))).collect()
    }
}

fn counters_head(counters: &SharedMemory) {
    counters.write(MAGIC_AT, &COUNTERS_MAGIC);
    counters.write(VERSION_AT, &VERSION.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_under_way_is_known_whichever_the_group_has() {
        let dir = std::env::temp_dir().join(format!("baro-pieces-{}", std::process::id()));
        baro_sys::files::make_folders(&dir).unwrap();
        let files = PieceFiles::create(&dir, Pieces::default()).unwrap();
        let weight = |number| Weight::new(number).unwrap();
        let asked = weight(200);
        assert_eq!(files.weight(), Given::default());
        assert!(Given::default().is_ours(asked, asked));
        let (asked_only, trimmed) = (Given::done(None), Given::done(Some(weight(1000))));
        for (before, now) in [(None, Some(weight(210))), (Some(weight(210)), None)] {
            files.set_weight(Given { now, before });
            let next = PieceFiles::open(&dir).unwrap().weight();
            assert_eq!(next, Given { now, before });
            assert!(next.is_ours(asked, weight(210)) && next.is_ours(asked, asked));
            assert!(!next.is_ours(asked, weight(211)));
        }
        files.set_weight(trimmed);
        assert_eq!(files.weight(), trimmed);
        assert!(!trimmed.is_ours(asked, asked) && !asked_only.is_ours(asked, weight(210)));
        // Sizes stand beside it.
        assert_eq!(files.get(), Pieces::default());
        drop(files);
        baro_sys::files::remove_tree(&dir).unwrap();
    }
}
