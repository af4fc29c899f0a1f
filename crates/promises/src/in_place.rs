//! Whether blocks are overwritten where they are, and whether a sync then finds no metadata.
//!
//! Both rest on segments that were written once in full, on a file system that overwrites. The
//! first is looked at in the first segment, the second known by the file system's kind and
//! options. Invariant: zero forced commits is said to hold where it is measured, on ext4 (ext2 and
//! ext3 are mounted by the same driver) and on f2fs for fixed segments, and where there is no
//! journal.
//! Test: `tests.rs`; on real ones the recorder's `tests/real/places.rs` counts commits and allocations.

use crate::{Facts, Judged, Promise};
use baro_sys::place::Place;

pub(crate) fn no_forced_commits(facts: &Facts) -> Judged {
    let promise = Promise::NoForcedCommits;
    let Some(place) = facts.target() else { return Judged::unknown(promise, facts.unseen()) };
    if let Some(judged) = spoilt(facts, promise) {
        return judged;
    }
    let flags = facts.flags.unwrap_or_default();
    match place.kind.as_str() {
        "ext4" | "ext3" if place.has_option("data=journal") => Judged::no(
            promise,
            "data=journal: every block goes through the journal, and every sync commits it",
        )
        .remedy(other_journal_mode(place)),
        "ext4" | "ext3" if flags.journalled => {
            Judged::no(promise, "segments have the flag j: their data go through the journal")
                .remedy("chattr -j on the files in the store's folder log")
        }
        kind @ ("ext4" | "ext3" | "ext2") => {
            Judged::yes(promise, format!("{kind}, in place, nothing to commit"))
        }
        "tmpfs" | "ramfs" => Judged::yes(promise, format!("{} has no journal", place.kind)),
        "xfs" => Judged::unknown(
            promise,
            "promised on ext4 only; on XFS none was seen where it was measured (docs/durability.md)",
        ),
        "btrfs" => Judged::no(promise, "btrfs: every sync writes its log tree"),
        "f2fs" => crate::f2fs::no_forced_commits(facts),
        "zfs" | "bcachefs" => {
            Judged::no(promise, format!("{}: every write changes metadata", place.kind))
                .remedy("make the store on ext4")
        }
        kind => Judged::unknown(promise, format!("{kind}: promised on ext4 only")),
    }
}

pub(crate) fn in_place(facts: &Facts) -> Judged {
    let promise = Promise::InPlace;
    let Some(place) = facts.target() else { return Judged::unknown(promise, facts.unseen()) };
    if let Some(judged) = spoilt(facts, promise) {
        return judged;
    }
    let flags = facts.flags.unwrap_or_default();
    let kind = place.kind.as_str();
    match kind {
        "ext4" | "ext3" | "ext2" | "xfs" => Judged::yes(promise, format!("{kind} overwrites")),
        "tmpfs" | "ramfs" => Judged::yes(promise, format!("{kind}: pages are there")),
        "btrfs" if flags.no_cow => {
            Judged::yes(promise, "btrfs, segments without copy on write, until a snapshot is made")
        }
        "btrfs" => Judged::no(promise, "btrfs: every write allocates (copy on write)").remedy(
            "before baro init: mkdir the store's folder and chattr +C it (which also gives up \
             btrfs's checksums; Barograph has its own)",
        ),
        "f2fs" => crate::f2fs::in_place(facts),
        "zfs" | "bcachefs" => Judged::no(promise, format!("{kind}: every write allocates"))
            .remedy("make the store on ext4"),
        _ => Judged::unknown(promise, format!("{kind}: not known to overwrite")),
    }
}

/// What somebody has done to the first segment since it was written.
fn spoilt(facts: &Facts, promise: Promise) -> Option<Judged> {
    let extents = facts.extents.unwrap_or_default();
    let seen = extents.seen;
    if extents.shared > 0 {
        let why = format!(
            "{} of {seen} extents of the first segment are shared (reflink, snapshot): their next \
             write allocates and is committed",
            extents.shared
        );
        return Some(Judged::no(promise, why).remedy("it is over once each was written anew"));
    }
    if extents.unwritten > 0 {
        let why = format!(
            "{} of {seen} extents of the first segment were never written: the first write of \
             each is committed",
            extents.unwritten
        );
        return Some(Judged::no(promise, why).remedy("it is over once each was written"));
    }
    if facts.flags.is_some_and(|flags| flags.compressed && !flags.no_cow) {
        let why = "segments are compressed: every write allocates";
        return Some(Judged::no(promise, why).remedy("chattr -c the folder before baro init"));
    }
    None
}

/// The journal's mode cannot be changed by a remount, and it may be the file system's default.
fn other_journal_mode(place: &Place) -> String {
    let (source, at) = (&place.source, place.mount_point.display());
    format!("umount {at}; tune2fs -o ^journal_data {source}; mount -o data=ordered {source} {at}")
}
