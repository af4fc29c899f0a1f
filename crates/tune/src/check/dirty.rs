//! Dirty pages: how many others may have, for the whole machine and for the store's device.
//!
//! Paper A turns the flusher off, paper D makes the machine's limit small. A recorder that goes past
//! the page cache depends on neither; what still reaches it is a device that is busy for seconds
//! with what others had in memory, and against that a limit for this one device helps.

use super::{Circumstances, Files, Need, Remedy, Verdict, is_slow};
use crate::dirty_limit::DirtyLimit;
use crate::setting::Setting;

/// What a slow device (16 MB/s) writes in two seconds.
const SLOW_DEVICE_BYTES: u64 = 32 << 20;
const WHOLE_PPM: u64 = 1_000_000;

pub(super) fn needs(here: &Circumstances, files: &Files) -> Vec<Need> {
    let mut needs = machine(files);
    needs.extend(flusher(files));
    let disk = here.store.as_ref().and_then(|store| store.disk.as_deref());
    needs.extend(disk.and_then(|disk| device(here, disk, files)));
    needs
}

fn machine(files: &Files) -> Vec<Need> {
    let pair = |name: &str| {
        let bytes = files.number(&format!("/proc/sys/vm/{name}_bytes"))?;
        if bytes > 0 {
            return Some(format!("{bytes} bytes"));
        }
        Some(format!("{} %", files.number(&format!("/proc/sys/vm/{name}_ratio"))?))
    };
    let mut needs = Vec::new();
    for (key, name) in [("dirty", "dirty"), ("dirty-background", "dirty_background")] {
        if let Some(found) = pair(name) {
            needs.push(
                Need::new(key, format!("vm.{name}_bytes, _ratio"), found, "any with direct I/O")
                    .because(
                        "a recorder that goes past the page cache does not depend on it; paper D \
                         lowered dirty_ratio from 40 to 5, which a limit of the one slow device \
                         does without touching the others (dirty-limit)",
                    )
                    .costing("a small limit slows every program that writes, on every disk")
                    .note(),
            );
        }
    }
    needs
}

/// Paper A's setting, to be asked for by name.
fn flusher(files: &Files) -> Option<Need> {
    let vm = |name: &str| format!("/proc/sys/vm/{name}");
    let expire = files.number(&vm("dirty_expire_centisecs"))?;
    let wake = files.number(&vm("dirty_writeback_centisecs"))?;
    let settings = [
        ("dirty_ratio", "100"),
        ("dirty_background_ratio", "100"),
        ("dirty_expire_centisecs", "300000"),
    ];
    Some(
        Need::new(
            "flusher",
            "vm.dirty_expire_centisecs, dirty_writeback_centisecs",
            format!("{} s, looked for every {} s", expire / 100, wake / 100),
            "any with direct I/O; paper A, with write() and sync_file_range: 3000 s at 100 %",
        )
        .because(
            "paper A turns the flusher off, which competes with its own write-back: right only on a \
             machine that does nothing else",
        )
        .costing(
            "what others write stays in memory for up to 50 minutes: a power cut takes it, and when \
             memory is full of it everybody waits",
        )
        .by(Remedy::Settings(
            settings.iter().map(|(name, value)| Setting::new(vm(name), *value)).collect(),
        ))
        .note(),
    )
}

fn device(here: &Circumstances, disk: &str, files: &Files) -> Option<Need> {
    let number = files.text(&format!("/sys/block/{disk}/dev"))?;
    // Without the file the kernel is older than 6.2 and has no such limit.
    let limit = DirtyLimit::read(&here.root, &number).ok()?;
    let strict = if limit.strict { "at all times" } else { "only near the machine's limit" };
    let found = format!(
        "{:.1} % of the machine's limit, {} MiB at the moment, {strict}",
        limit.share_ppm as f64 * 100.0 / WHOLE_PPM as f64,
        limit.bytes() >> 20
    );
    let settings = limit.settings(SLOW_DEVICE_BYTES);
    let command: Vec<String> =
        settings.iter().map(|one| format!("echo {} > {}", one.value(), one.path())).collect();
    // Half as much again still is: the machine's limit moves with the memory that is free.
    let short = limit.strict && limit.bytes() <= SLOW_DEVICE_BYTES / 2 * 3;
    let slow = if is_slow(disk, files) { Verdict::Change } else { Verdict::Note };
    Some(
        Need::new(
            "dirty-limit",
            format!("dirty data of {disk} (/sys/class/bdi/{number})"),
            found,
            format!("at most what a slow device writes in 2 s: {} MiB", SLOW_DEVICE_BYTES >> 20),
        )
        .because(
            "commits and syncs write others' dirty data first: gigabytes keep a slow device busy for \
             minutes (paper D: 94 s)",
        )
        .costing("bursts of others go at the device's speed where memory took them before")
        .by(Remedy::Settings(settings))
        .or(short, slow, command.join("; ")),
    )
}
