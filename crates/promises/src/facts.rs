//! The facts that decide which promises hold, gathered from the system.
//!
//! Invariant: nothing is judged here, and a fact that is not to be had stays unknown.

use baro_log::{FOLDER, segment_name};
use baro_sys::disk::Disk;
use baro_sys::identity::alone_on_file_system;
use baro_sys::memory::{Locked, lockable};
use baro_sys::place::{
    DirectIo, Extents, FixedFile, Place, PlaceFile, file_flags, try_direct_write, try_fix_in_place,
};
use baro_sys::storage::Storage;
use std::path::{Path, PathBuf};

/// How closely a place may be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// By writing one page to a file without a name, as the recorder would.
    Write,
    /// By reading only: beside a running writer, or without the right to write.
    Read,
}

/// The rings of an open store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingFacts {
    /// Where they are; `None` if they are private memory.
    pub folder: Option<PathBuf>,
    /// Bytes of one.
    pub bytes: u64,
}

/// How the segments are held on f2fs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FixedSegments {
    /// Segments that are there.
    pub(crate) segments: u32,
    /// Those of them that are fixed: pinned files, as f2fs calls them.
    pub(crate) fixed: u32,
    /// How often the cleaner wanted the one that it wanted most often.
    pub(crate) met_by_cleaner_max: u32,
    /// Size of the largest.
    pub(crate) size_bytes: u64,
    /// What that takes of the device.
    pub(crate) allocated_bytes: u64,
    /// Why a new file would not be fixed, if that was tried.
    pub(crate) refused: Option<String>,
}

impl FixedSegments {
    /// Of the store at `path`; `None` if its folder cannot be read. Opens each segment.
    fn of(path: &Path, look: Look) -> Option<Self> {
        let names = Disk::open(path).and_then(|disk| disk.list(FOLDER)).ok()?;
        let mut found = FixedSegments::default();
        for name in names.iter().filter(|name| name.ends_with(".seg")) {
            let one = FixedFile::of(&path.join(FOLDER).join(name)).unwrap_or_default();
            found.segments += 1;
            found.fixed += u32::from(one.fixed);
            found.met_by_cleaner_max = found.met_by_cleaner_max.max(one.met_by_cleaner);
            if one.size_bytes > found.size_bytes {
                (found.size_bytes, found.allocated_bytes) = (one.size_bytes, one.allocated_bytes);
            }
        }
        if look == Look::Write && found.fixed < found.segments {
            found.refused = try_fix_in_place(&path.join(FOLDER)).and_then(Result::err);
        }
        Some(found)
    }
}

/// What is known of a store's place and of this process's rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The folder's mount, options, device.
    pub(crate) place: Option<Place>,
    /// Nothing else lies on its file system.
    pub alone: Option<bool>,
    /// Whether direct I/O is direct.
    pub direct: DirectIo,
    /// How that was found out.
    pub(crate) look: Look,
    /// The page cache was asked for.
    pub buffered: bool,
    /// Flags of the first segment, or of the folder before there is one.
    pub(crate) flags: Option<PlaceFile>,
    /// Blocks of the first segment.
    pub(crate) extents: Option<Extents>,
    /// How the segments are held, on f2fs.
    pub(crate) fixed: Option<FixedSegments>,
    /// Rings, once the store is open.
    pub rings: Option<RingFacts>,
    /// Whether a ring's memory can be locked.
    pub lockable: bool,
    /// SCHED_FIFO: the priority granted, or why not; `None` if it was not asked for.
    pub fifo: Option<Result<u8, String>>,
}

impl Facts {
    /// Of the store at `path`, for rings of `ring_bytes`. With [`Look::Write`] it blocks for the
    /// write of one page.
    #[must_use]
    pub fn of(path: &Path, look: Look, ring_bytes: usize) -> Self {
        let segment = path.join(segment_name(0));
        let direct = match look {
            Look::Write => try_direct_write(&path.join(FOLDER)),
            Look::Read => DirectIo::of_reads(&segment),
        };
        let (flags, extents) = file_flags(&segment).unwrap_or_default();
        let place = Place::of(path).ok();
        // What shares an overlay's upper layer cannot be seen through the overlay.
        let overlay = place.as_ref().is_some_and(|place| place.kind == "overlay");
        let mut facts = Facts {
            place,
            alone: if overlay { None } else { alone_on_file_system(path) },
            direct,
            look,
            buffered: false,
            flags,
            extents,
            fixed: None,
            rings: None,
            lockable: lockable(ring_bytes) == Locked::Yes,
            fifo: None,
        };
        if facts.kind() == "f2fs" {
            facts.fixed = FixedSegments::of(path, look);
        }
        facts
    }

    /// The place that writes go to in the end: that of an overlayfs is its upper layer, `None` if
    /// it cannot be seen.
    pub(crate) fn target(&self) -> Option<&Place> {
        let mut place = self.place.as_ref()?;
        while place.kind == "overlay" {
            place = place.upper.as_deref()?;
        }
        Some(place)
    }

    /// Why there is no [`Facts::target`], for sentences.
    pub(crate) fn unseen(&self) -> &'static str {
        match &self.place {
            Some(_) => "the upper layer of this overlayfs cannot be seen from here",
            None => "the file system cannot be asked",
        }
    }

    /// Name of the file system's type, for sentences.
    pub(crate) fn kind(&self) -> &str {
        self.target().or(self.place.as_ref()).map_or("unknown", |place| place.kind.as_str())
    }
}
