//! Advice about dirty data: limits of one device or of the machine, set and lifted.
//!
//! A limit shortens a wait only if it is smaller than what was written meanwhile.
//!
//! Invariant: a limit of one device is so small that it halves the wait, or is not advised; and none is advised
//! that is larger than the one of now. Held by `a_limit_is_advised_only_where_it_halves_the_wait`,
//! `advice_raises_no_limit_of_dirty_data`.

use super::{Advice, Write, advice, bdi, mounted, number, within, written};
use crate::explain::{Cause, Knowledge, SlowCall};
use crate::record::Device;
use crate::timeline::Throttle;
use std::collections::BTreeSet;

/// A limit of dirty data lets through this part of what was written during a wait.
const HELPS: u64 = 3;
/// Dirty data that is allowed of all devices.
const DIRTY_BYTES_OF_MACHINE: u64 = 256 << 20;
/// Less stops writers on f2fs until its next checkpoint, up to a minute: it keeps 16 MiB of nodes from
/// write-back in the background (`f2fs_write_node_pages`), and these count as dirty. Measured: docs/tune.md.
pub(super) const F2FS_DIRTY_BYTES_MIN: u64 = 32 << 20;

/// Only of a limit that is larger: an event says what it was.
pub(super) fn limit_of_machine(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let (limit_bytes, background_bytes) = limits_of_now(known, call)?;
    if limit_bytes <= DIRTY_BYTES_OF_MACHINE {
        return None;
    }
    let mut writes = Vec::new();
    let mut command = "sysctl -w".to_owned();
    let limits = [
        ("dirty_background_bytes", DIRTY_BYTES_OF_MACHINE / 4, background_bytes),
        ("dirty_bytes", DIRTY_BYTES_OF_MACHINE, limit_bytes),
    ];
    for (name, bytes, _) in limits.iter().filter(|(_, bytes, now)| bytes < now) {
        command.push_str(&format!(" vm.{name}={bytes}"));
        writes.push(Write::new(format!("/proc/sys/vm/{name}"), bytes.to_string()));
    }
    Some(Advice {
        writes,
        ..advice(
            command,
            "write-back begins early and no more than 256 MB has to be written before a writer goes on",
            "less is gathered in memory: files that live shortly are written too; for all disks alike",
        )
    })
}

/// The machine's limit of dirty data, and the one from which on it is written in the background, as the last
/// event within the call has them (mm/page-writeback.c: what is steered to lies between them).
fn limits_of_now(known: &Knowledge, call: &SlowCall) -> Option<(u64, u64)> {
    let throttles = call.chain.iter().filter(|link| link.cause == Cause::DirtyLimitGlobal);
    let throttles = throttles.filter_map(|link| known.line.tasks.get(&link.pid));
    let within = |one: &&Throttle| one.begin_ns < call.end_ns;
    let throttles = throttles.filter_map(|task| task.throttles.iter().rev().find(within));
    let last = throttles.max_by_key(|one| one.begin_ns)?;
    let bytes = |pages: u64| pages.saturating_mul(4096);
    let background = last.setpoint.saturating_mul(4).saturating_sub(last.limit.saturating_mul(3));
    Some((bytes(last.limit), bytes(background)))
}

pub(super) fn no_limit_of_device(known: &Knowledge, device: Option<Device>) -> Option<Advice> {
    let bdi = bdi(known, device)?;
    let path = |file: &str| format!("/sys/class/bdi/{bdi}/{file}");
    let is_limited = number(known, &path("strict_limit")) == Some(1)
        || number(known, &path("max_ratio")).is_some_and(|percent| percent < 100);
    is_limited.then(|| {
        written(
            // Not 0 into max_bytes: that is a limit of nothing.
            [Write::new(path("max_ratio"), "100"), Write::new(path("strict_limit"), "0")],
            "the device's own limit of dirty data goes; or choose a larger one by max_bytes",
            "more dirty data of a slow device: commits and syncs that have to write it take longer",
        )
    })
}

/// A limit of dirty data for one device alone (since 6.2), if the traced machine can have one and has it not: what it
/// writes in about two seconds. What is not known to have written gets none: it may be fast.
pub(in crate::explain) fn limit_of_device(
    known: &Knowledge,
    device: Option<Device>,
) -> Option<Advice> {
    let bytes = two_seconds(known, device?)?;
    limit(known, device, bytes)
}

/// The same, so small that what may be dirty is written in a third of the time that a call waited; None if it
/// would have to be smaller than a limit can be. More shortens the wait by less than half (measured:
/// results/2026-11-26-amd-epyc-2cpu/advice.md).
pub(super) fn limit_that_helps(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let device = call.device?;
    let own = written_within(known, device, call);
    let of_whole =
        || known.stands.whole(device).map_or(0, |disk| written_within(known, disk, call));
    let written = if own > 0 { own } else { of_whole() };
    let mib = (written / HELPS) >> 20;
    (mib > 0).then(|| limit(known, Some(device), mib.min(1024) << 20)).flatten()
}

/// What a disk wrote while a call waited.
fn written_within(known: &Knowledge, device: Device, call: &SlowCall) -> u64 {
    let writes = within(known, device, call).filter(|one| one.is_write());
    writes.map(|one| u64::from(one.bytes)).sum()
}

fn limit(known: &Knowledge, device: Option<Device>, mut bytes: u64) -> Option<Advice> {
    let bdi = bdi(known, device)?;
    let path = |file: &str| format!("/sys/class/bdi/{bdi}/{file}");
    if device.is_some_and(|device| is_f2fs(known, device)) {
        bytes = bytes.max(F2FS_DIRTY_BYTES_MIN);
    }
    // The kernel reads it back a little smaller. One that it has is not made larger, whether it is strict or not.
    let is_less = number(known, &path("max_bytes"))
        .is_some_and(|now| now != 0 && now <= bytes.saturating_add(bytes / 64));
    (!is_less).then(|| {
        written(
            [
                Write::new(path("strict_limit"), "1"),
                Write::new(path("max_bytes"), bytes.to_string()),
            ],
            "no more than this is dirty of the device, so nobody has to wait until more is written",
            "those who write faster than the device are slowed down earlier, in small steps",
        )
    })
}

/// What a device wrote in two seconds of the trace, in whole MiB.
fn two_seconds(known: &Knowledge, device: Device) -> Option<u64> {
    let seconds = known.line.duration_ns() as f64 / 1e9;
    let bytes = written_below(known, device) as f64;
    let mib = (bytes / seconds.max(0.1) * 2.0) as u64 >> 20;
    (mib > 0).then(|| mib.clamp(4, 1024) << 20)
}

/// What a device wrote, the disk that it is a part of, or those that it is made of: a composed one may have no
/// requests of its own.
fn written_below(known: &Knowledge, device: Device) -> u64 {
    let (mut next, mut seen, mut bytes) = (vec![device], BTreeSet::new(), 0_u64);
    while let Some(device) = next.pop() {
        if !seen.insert(device) {
            continue;
        }
        let own = known.index.written_bytes(device);
        bytes = bytes.saturating_add(own);
        // A loop device has requests of its own.
        if own == 0 && !known.stands.is_loop(device) {
            next.extend(known.stands.whole(device));
            next.extend(known.stands.below(device));
        }
    }
    bytes
}

fn is_f2fs(known: &Knowledge, device: Device) -> bool {
    mounted(known, device).is_some_and(|(kind, _)| kind == "f2fs")
}

/// Whether the limit of a device with f2fs is below what does; the kernel reads it back a little smaller.
pub(super) fn stops_f2fs(known: &Knowledge, device: Device) -> bool {
    let limit = known.fact(&format!("/sys/class/bdi/{device}/max_bytes"));
    let bytes = limit.and_then(|text| text.trim().parse::<u64>().ok());
    is_f2fs(known, device) && bytes.is_some_and(|bytes| bytes < F2FS_DIRTY_BYTES_MIN / 4 * 3)
}
