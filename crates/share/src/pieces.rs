//! How sizes of pieces reach the interposer, and how it tells what it did.
//!
//! A page in the group's folder, `pieces`, which only we write and programs map read-only (the
//! group's weight is there too while it is trimmed, for whoever controls next). It names a segment of
//! memory with the counters, which programs of every user write: a hint, never trusted, and no file,
//! since who may write a file may shorten it under all who have it mapped. Sizes change while
//! programs run; a piece that has begun ends with the size it had.
//!
//! Invariant: the file is never truncated or replaced while a program may have it mapped, and nobody but
//! root can; what others write ends neither us nor a program. Held by `tests/share.rs`
//! of the command line, which changes sizes under running programs, some of another user's.

#[path = "../preload/src/layout.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the interposer's part of it")]
mod layout;

use crate::error::ShareError;
use crate::plan::PIECE_BYTES_UNKNOWN;
use crate::weight::Weight;
use baro_sys::files;
use baro_sys::memory::{Segment, SharedMemory};
use baro_sys::state::StateFolder;
pub(crate) use layout::{COUNTERS_FILE, PIECES_FILE};
use layout::{COUNTERS_MAGIC, FILE_BYTES, PIECES_MAGIC, VERSION, VERSION_AT};
use std::fmt;
use std::fs::File;
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

/// Where the counters are.
#[derive(Debug)]
enum Counters {
    Segment(Segment),
    /// Of a group of 0.1: read and not mapped, since anybody may shorten it.
    File(File),
    /// The kernel has no segments, or its maker and all its programs have ended.
    None,
}

/// The sizes and counters of a group.
#[derive(Debug)]
pub struct PieceFiles {
    pieces: SharedMemory,
    counters: Counters,
}

impl PieceFiles {
    /// Makes them; the folder is on a tmpfs.
    ///
    /// # Errors
    /// The file is there already, no rights or no memory.
    pub fn create(folder: &StateFolder, first: Pieces) -> Result<Self, ShareError> {
        // Programs of any user read the sizes.
        let pieces = SharedMemory::create_in(folder, PIECES_FILE, FILE_BYTES, 0o644)?;
        // Without counters all else works.
        let counters = Segment::create(FILE_BYTES).map_or(Counters::None, Counters::Segment);
        let files = Self { pieces, counters };
        files.set(first);
        if let Counters::Segment(segment) = &files.counters {
            let token = baro_sys::identity::random_u64()?;
            let [a, b, c, d] = VERSION.to_ne_bytes();
            let version = u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]);
            segment.counter(VERSION_AT).store(version, Relaxed);
            segment.counter(layout::SEGMENT_TOKEN_AT).store(token, Relaxed);
            segment.counter(MAGIC_AT).store(u64::from_ne_bytes(COUNTERS_MAGIC), Relaxed);
            files.pieces.counter(layout::TOKEN_AT).store(token, Relaxed);
            let number = u64::try_from(segment.id()).map_or(0, |id| id + 1);
            files.pieces.counter(layout::SEGMENT_AT).store(number, Relaxed);
        }
        files.pieces.write(VERSION_AT, &VERSION.to_ne_bytes());
        files.pieces.write(MAGIC_AT, &PIECES_MAGIC);
        Ok(files)
    }

    /// Maps those that are there.
    ///
    /// # Errors
    /// They are missing, not of this version, or others could shorten them.
    pub fn open(dir: &Path) -> Result<Self, ShareError> {
        let folder = StateFolder::open(dir)?;
        let pieces = SharedMemory::open_in(&folder, PIECES_FILE)?;
        let (mut found, mut version) = ([0; 8], [0; 4]);
        pieces.read(MAGIC_AT, &mut found);
        pieces.read(VERSION_AT, &mut version);
        if found != PIECES_MAGIC || version != VERSION.to_ne_bytes() {
            return Err(ShareError::Refused(format!(
                "{}: expected pieces of version {}, found another; end the programs of this group \
                 and start them again",
                pieces.path().display(),
                VERSION
            )));
        }
        let number = pieces.counter(layout::SEGMENT_AT).load(Relaxed).checked_sub(1);
        let counters = match number.and_then(|id| i32::try_from(id).ok()) {
            Some(id) => Segment::open(id, FILE_BYTES).map_or(Counters::None, Counters::Segment),
            None => folder.open_anybodys(COUNTERS_FILE).map_or(Counters::None, Counters::File),
        };
        Ok(Self { pieces, counters })
    }

    /// Whether the maps of a process, as /proc shows them, have these sizes and these counters.
    #[must_use]
    pub fn are_in(&self, maps: &str) -> bool {
        let has = |inode: u64, name: &str| {
            let inode = inode.to_string();
            maps.lines().any(|line| {
                let mut fields = line.split_ascii_whitespace().skip(4);
                fields.next() == Some(&inode) && fields.any(|path| path.contains(name))
            })
        };
        let counted = match &self.counters {
            // The kernel shows its number as the inode's.
            Counters::Segment(segment) => {
                u64::try_from(segment.id()).is_ok_and(|id| has(id, "SYSV"))
            }
            // Of an older version's controller.
            Counters::File(_) => true,
            // Nothing shows what it does.
            Counters::None => false,
        };
        counted && self.pieces.inode().is_some_and(|inode| has(inode, PIECES_FILE))
    }

    fn count(&self, at: usize) -> u64 {
        match &self.counters {
            Counters::Segment(segment) => segment.counter(at).load(Relaxed),
            Counters::File(file) => {
                let mut bytes = [0; 8];
                let read = files::read_at(file, &mut bytes, at as u64);
                read.map_or(0, |()| u64::from_ne_bytes(bytes))
            }
            Counters::None => 0,
        }
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
        let number = |one: &C| self.count(one.offset());
        counters.iter().map(number).fold(0, u64::wrapping_add)
    }

    /// What the programs of the group say that they did: names and numbers.
    #[must_use]
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        layout::Counter::ALL.iter().map(|one| (one.name(), self.count(one.offset()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_under_way_is_known_whichever_the_group_has() {
        let name = format!("baro-pieces-{}", std::process::id());
        let dir = std::env::temp_dir().join(&name);
        let folder = StateFolder::make(&dir, 0o755).unwrap();
        let files = PieceFiles::create(&folder, Pieces::default()).unwrap();
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
        // Who has its sizes, and counts nowhere, is not called reached.
        let inode = files.pieces.inode().unwrap();
        let map = |inode, path| format!("7f00-7f01 r--s 00000000 00:01 {inode} {path}\n");
        let sizes = map(inode, format!("/run/x/{PIECES_FILE}"));
        let counters = match &files.counters {
            Counters::Segment(segment) => map(segment.id() as u64, "/SYSV00000000".to_owned()),
            _ => String::new(),
        };
        assert_eq!(files.are_in(&format!("{sizes}{counters}")), !counters.is_empty());
        let files = PieceFiles { counters: Counters::None, ..files };
        assert!(!files.are_in(&format!("{sizes}{counters}")) && !files.are_in(&sizes));
        drop(files);
        folder.remove(PIECES_FILE).unwrap();
        StateFolder::open(dir.parent().unwrap()).unwrap().remove_folder(&name).unwrap();
    }
}
