//! The size of frames, against what a ring and a store take. Held by `tests/frames.rs`.

use crate::failure::Result;
use baro_log::{open_folder, read_identity};
use baro_ondisk::limits::RECORD_BYTES_MAX;
use baro_sources::generate::FRAME_BYTES_MIN;
use std::path::Path;

/// What bounds a frame.
pub(super) const LIMITS: &str = "7 MiB, a quarter of --ring, and a quarter of a segment, which is a \
                                 64th of the log: init --size";

/// The largest frame that this store can take at all; of one that cannot be opened, any.
pub(super) fn largest_of(store: &Path) -> usize {
    let identity = open_folder(store).and_then(|disk| read_identity(&disk, store)).ok();
    let quarter = identity.map_or(u64::MAX, |identity| identity.segment_bytes / 4);
    usize::try_from(quarter).unwrap_or(usize::MAX).min(RECORD_BYTES_MAX)
}

/// What is wrong with a size of frames, wherever they go: generated ones have a head.
pub(super) fn too_small(arguments: &super::Arguments) -> Option<String> {
    let least = if arguments.generate { FRAME_BYTES_MIN as u64 } else { 1 };
    let found = arguments.frame_bytes;
    (found < least).then(|| format!("expected {least} bytes or more, found {found}"))
}

/// Frames that would all be refused are better refused before the first.
pub(super) fn check_frame_bytes(frame_bytes: usize, limit: usize) -> Result<()> {
    if frame_bytes <= limit {
        return Ok(());
    }
    Err(format!("--frame-bytes: expected at most {limit} ({LIMITS}), found {frame_bytes}").into())
}
