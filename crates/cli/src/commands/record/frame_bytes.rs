//! The size of frames that `--frame-bytes` gives, against what a ring takes.

use crate::failure::Result;

/// Frames that would all be refused are better refused before the first.
pub(super) fn check_frame_bytes(frame_bytes: usize, limit: usize) -> Result<()> {
    if frame_bytes <= limit {
        return Ok(());
    }
    Err(format!(
        "--frame-bytes: expected at most {limit} (a quarter of --ring, 4 MiB, and a quarter of a \
         segment), found {frame_bytes}"
    )
    .into())
}
