//! Whether durable means durable at a place: that a sync reaches what survives a power cut.
//!
//! It can only be denied or believed: a device that lies about its cache is not found out by
//! software. Invariant: what is known to make it void is never passed over. Test:
//! `tests.rs`; on real ones the recorder's `tests/real/places.rs` counts the flushes.

use crate::{Facts, Judged, Promise};
use baro_sys::place::{Place, QueueCache};

pub(crate) fn durable(facts: &Facts) -> Judged {
    let promise = Promise::Durable;
    let Some(target) = facts.target() else {
        return Judged::unknown(promise, facts.unseen());
    };
    // The second is how Linux 6.18 shows it.
    let volatile =
        |place: &Place| place.has_option("volatile") || place.has_option("fsync=volatile");
    if facts.place.as_ref().is_some_and(volatile) {
        let why = "overlayfs is mounted volatile: it leaves out all syncs";
        return Judged::no(promise, why).remedy("mount it without the option volatile");
    }
    match target.kind.as_str() {
        "tmpfs" | "ramfs" => {
            let why = format!("{} is memory: nothing survives a power cut", target.kind);
            Judged::no(promise, why).remedy("make the store on a disk")
        }
        "ext4" | "ext3" | "ext2" | "xfs" | "btrfs" | "f2fs" => on_disk(target),
        kind if kind.starts_with("nfs") => Judged::unknown(
            promise,
            format!("{kind}: a sync goes to the server, which may answer before it writes"),
        )
        .remedy("export it with the option sync, and look at the server's own disk"),
        kind if kind.starts_with("fuse") => {
            Judged::unknown(promise, format!("{kind}: what a sync does is up to its program"))
        }
        kind => Judged::unknown(promise, format!("{kind}: what a sync does there was not tried")),
    }
}

fn on_disk(place: &Place) -> Judged {
    let promise = Promise::Durable;
    if place.has_option("nobarrier") || place.has_option("barrier=0") {
        let why = "mounted nobarrier: a sync does not flush the device's cache; durable means \
                   written";
        let at = place.mount_point.display();
        return Judged::no(promise, why).remedy(format!("mount -o remount,barrier {at}"));
    }
    // f2fs: the first leaves out the flush, with the second nothing but data is written.
    for option in ["fsync_mode=nobarrier", "checkpoint=disable"] {
        if place.kind == "f2fs" && place.has_option(option) {
            let why = format!("mounted {option}: after a power cut what was synced may be gone");
            return Judged::no(promise, why).remedy(format!("mount it without {option}"));
        }
    }
    match place.queue.as_ref().map(|queue| (queue.cache, &queue.disk)) {
        Some((Some(QueueCache::WriteBack), disk)) => {
            Judged::yes(promise, format!("a sync flushes the cache of {disk}"))
        }
        Some((Some(QueueCache::WriteThrough), disk)) => Judged::yes(
            promise,
            format!(
                "{disk} says that it has no cache that loses its contents, so nothing is flushed \
                 (/sys/block/{disk}/queue/write_cache)"
            ),
        ),
        _ => Judged::unknown(promise, "whether the device's cache is flushed cannot be seen"),
    }
}
