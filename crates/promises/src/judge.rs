//! The judgement over [`Facts`]: pure, one function a promise.
//!
//! Invariant: each promise that the facts allow to judge is in the result exactly once, in the
//! order of [`Promise`]. Test: `tests.rs`.

use crate::durable::durable;
use crate::in_place::{in_place, no_forced_commits};
use crate::{Facts, Judged, Look, Promise};
use baro_sys::place::{DirectIo, Queue};

/// What others may have in a device's queue before a write without anybody noticing: on a device
/// of 12 MB/s, 1 MiB cost nothing and 16 MiB lost a third of the records
/// (results/2026-11-21-amd-epyc-2cpu).
const SHORT_QUEUE_BYTES: u64 = 4 << 20;

/// Judges each promise by the facts. Those about rings are judged once there are rings.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Judged> {
    let mut judged = vec![never_waits(facts)];
    judged.extend(survives_processes(facts));
    judged.push(durable(facts));
    judged.push(no_forced_commits(facts));
    judged.push(in_place(facts));
    judged.push(past_page_cache(facts));
    judged.push(own_file_system(facts));
    judged.extend(short_queue(facts));
    judged.push(real_time(facts));
    judged
}

fn never_waits(facts: &Facts) -> Judged {
    let promise = Promise::NeverWaits;
    if facts.lockable {
        return Judged::yes(promise, "rings can be locked in memory");
    }
    let swap = facts.place.as_ref().is_some_and(|place| place.swap);
    let risk = if swap { "swapped out or migrated" } else { "migrated" };
    Judged::no(promise, format!("rings cannot be locked: a push may meet a page that was {risk}"))
        .remedy(
            "grant it with: ulimit -l unlimited, LimitMEMLOCK=infinity, or setcap cap_ipc_lock+ep \
         $(command -v baro)",
        )
}

fn survives_processes(facts: &Facts) -> Option<Judged> {
    let rings = facts.rings.as_ref()?;
    let promise = Promise::SurvivesProcesses;
    Some(match &rings.folder {
        Some(folder) => Judged::yes(promise, format!("rings are files in {}", folder.display())),
        None => Judged::no(
            promise,
            "rings are private memory: they do not survive this process (no tmpfs at /run, \
             XDG_RUNTIME_DIR or /dev/shm)",
        )
        .remedy("grant it with: mount -t tmpfs tmpfs /dev/shm"),
    })
}

fn past_page_cache(facts: &Facts) -> Judged {
    let promise = Promise::PastPageCache;
    let kind = facts.kind();
    if facts.buffered {
        return Judged::no(promise, "the page cache was asked for").remedy("leave out --buffered");
    }
    match &facts.direct {
        // btrfs reads past the page cache what it writes through it.
        DirectIo::Yes if facts.look == Look::Read && kind == "btrfs" => {
            Judged::unknown(promise, "reads are direct; whether writes are is tried by record")
        }
        DirectIo::Yes => Judged::yes(promise, "direct I/O is direct"),
        DirectIo::PageCache => Judged::no(
            promise,
            format!("{kind} takes O_DIRECT here and goes through the page cache{}", cause(facts)),
        ),
        DirectIo::Refused(reason) => Judged::no(promise, format!("{kind}: {reason}")),
        DirectIo::Coarse(bytes) => {
            Judged::no(promise, format!("direct I/O needs an alignment of {bytes} bytes here"))
        }
        DirectIo::Unknown(reason) => Judged::unknown(promise, reason.clone()),
    }
}

/// What makes O_DIRECT go through the page cache here, as far as it is known.
fn cause(facts: &Facts) -> &'static str {
    let flags = facts.flags.unwrap_or_default();
    let journals = facts.target().is_some_and(|place| place.has_option("data=journal"));
    match facts.kind() {
        _ if journals || flags.journalled => " (data=journal)",
        _ if flags.encrypted => " (fscrypt)",
        _ if flags.inline => " (inline data)",
        _ if flags.compressed => " (compression)",
        "btrfs" if !flags.no_cow => " (checksums)",
        "tmpfs" | "ramfs" => " (it is nothing else)",
        _ => "",
    }
}

fn own_file_system(facts: &Facts) -> Judged {
    let promise = Promise::OwnFileSystem;
    match facts.alone {
        Some(true) => Judged::yes(promise, "nothing else lies on the store's file system"),
        Some(false) => Judged::no(
            promise,
            "the store shares its file system: the writer may wait as long as another's commit \
             takes; the ring covers it",
        )
        .remedy("give the store a partition or volume of its own to be rid of it"),
        None => Judged::unknown(promise, "what else lies on the file system cannot be seen"),
    }
}

/// A device that is slower than this needs more than a second for a full queue.
fn slow_below(bytes: u64) -> String {
    format!("{} MB/s", bytes.div_ceil(1_000_000))
}

fn short_queue(facts: &Facts) -> Option<Judged> {
    let promise = Promise::ShortQueue;
    let queue: &Queue = facts.target()?.queue.as_ref()?;
    let (requests, request_bytes) = (queue.requests?, queue.request_bytes?);
    let (bytes, kib) = (queue.bytes_max()?, request_bytes >> 10);
    let holds = format!("{} takes {requests} requests of {kib} KiB", queue.disk);
    if bytes <= SHORT_QUEUE_BYTES {
        return Some(Judged::yes(promise, holds));
    }
    let folder = format!("/sys/block/{}/queue", queue.disk);
    Some(
        Judged::unknown(
            promise,
            format!(
                "{holds}: a write may wait behind {} MiB of others', more than a second on a \
                 device below {}",
                bytes >> 20,
                slow_below(bytes)
            ),
        )
        .remedy(format!(
            "on a slow device: record with --short-queue (root), or echo 128 > {folder}/max_sectors_kb; echo 32 > {folder}/nr_requests"
        )),
    )
}

fn real_time(facts: &Facts) -> Judged {
    let promise = Promise::RealTime;
    match &facts.fifo {
        Some(Ok(priority)) => Judged::yes(promise, format!("SCHED_FIFO {priority} was granted")),
        Some(Err(reason)) => Judged::no(promise, reason.clone()).remedy(
            "grant it with: ulimit -r 99, LimitRTPRIO=99, or setcap cap_sys_nice+ep \
             $(command -v baro)",
        ),
        None => Judged::no(promise, "SCHED_FIFO was not asked for")
            .remedy("baro record --fifo 50 asks for it"),
    }
}
