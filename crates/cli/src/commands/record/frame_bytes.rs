//! The size of frames, against what a ring and a store take. Held by `tests/frames.rs`.

use crate::failure::Result;
use baro_log::{open_folder, read_identity};
use baro_ondisk::limits::RECORD_BYTES_MAX;
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

/// Frames that would all be refused are better refused before the first.
pub(super) fn check_frame_bytes(frame_bytes: usize, limit: usize) -> Result<()> {
    if frame_bytes <= limit {
        return Ok(());
    }
    Err(format!("--frame-bytes: expected at most {limit} ({LIMITS}), found {frame_bytes}").into())
}
