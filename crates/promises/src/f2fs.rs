//! What holds on f2fs, which writes elsewhere and cleans up, but for fixed files (it calls them
//! pinned).
//!
//! Segments are fixed when they are made. An fdatasync of one finds nothing but data then: it writes
//! the inode only if size or blocks have changed, which file times have not, mounted lazytime or not
//! (fs/f2fs/super.c: f2fs_inode_dirtied; fs/f2fs/file.c: f2fs_do_sync_file, need_do_checkpoint).
//! Measured on Linux 5.10, 6.1 and 6.12 (docs/durability.md).
//!
//! Invariant: neither promise is said to hold unless every segment was seen to be fixed.
//! Test: `tests.rs`; on a real one the recorder's `tests/real/places/f2fs.rs`.

use crate::facts::FixedSegments;
use crate::{Facts, Judged, Promise};
use baro_sys::place::FixedFile;

pub(crate) fn in_place(facts: &Facts) -> Judged {
    let promise = Promise::InPlace;
    let Some(found) = &facts.fixed else {
        return Judged::unknown(promise, "f2fs: whether segments are fixed cannot be seen");
    };
    if let Some(why) = not_fixed(found) {
        return Judged::no(promise, why).remedy(
            "make the store anew, where f2fs is not mounted mode=lfs and has whole sections free, \
             or on ext4",
        );
    }
    let mut why = format!(
        "f2fs: all {} segments are fixed (pinned files): they are overwritten",
        found.segments
    );
    if found.met_by_cleaner_max > 0 {
        why += &format!(
            "; its cleaner wanted one of them {} times, and frees it at gc_pin_file_thresh",
            found.met_by_cleaner_max
        );
    }
    if FixedFile::takes_more(found.allocated_bytes, found.size_bytes) {
        why += &format!(
            "; each takes whole sections, {} KiB of the device for {} KiB",
            found.allocated_bytes >> 10,
            found.size_bytes >> 10
        );
    }
    Judged::yes(promise, why)
}

pub(crate) fn no_forced_commits(facts: &Facts) -> Judged {
    let promise = Promise::NoForcedCommits;
    let Some(found) = &facts.fixed else {
        return Judged::unknown(promise, "f2fs: whether segments are fixed cannot be seen");
    };
    match not_fixed(found) {
        // In log mode, which refuses it, each sync has new places of blocks to write.
        Some(why) => Judged::unknown(
            promise,
            format!("{why}; none was seen where it was measured (docs/durability.md)"),
        ),
        None => Judged::yes(promise, "f2fs, segments fixed and written: a sync finds no metadata"),
    }
}

/// Why blocks may be moved.
fn not_fixed(found: &FixedSegments) -> Option<String> {
    if found.segments > 0 && found.fixed == found.segments {
        return None;
    }
    let mut why = format!(
        "f2fs: {} of {} segments are not fixed (pinned files): f2fs may write them elsewhere, \
         and its cleaner moves them",
        found.segments - found.fixed.min(found.segments),
        found.segments
    );
    if let Some(reason) = &found.refused {
        why += &format!("; it is refused here: {reason}");
    }
    Some(why)
}
