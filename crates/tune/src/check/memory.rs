//! What the kernel does with memory: how much is left, swap, compaction, NUMA balancing, huge pages.
//!
//! A locked page is never swapped, but it can be moved: whoever touches it meanwhile faults.

use super::{Circumstances, Files, Need, Remedy, chosen};

/// Free for those who may not wait: 2 % of memory, and on a large machine no more than this.
const RESERVE_BYTES: u64 = 64 << 20;

pub(super) fn needs(here: &Circumstances, files: &Files) -> Vec<Need> {
    let mut needs = vec![swap(here, files)];
    if let Some(swappiness) = files.number("/proc/sys/vm/swappiness") {
        needs.push(
            Need::new(
                "swappiness",
                "vm.swappiness",
                swappiness.to_string(),
                "any, as long as rings are locked",
            )
            .because("decides how soon pages of a tmpfs that are not locked go to swap")
            .costing("a small one keeps idle programs in memory, and the page cache small")
            .note(),
        );
    }
    if let Some(zswap) = files.text("/sys/module/zswap/parameters/enabled") {
        let off = zswap == "N";
        needs.push(
            Need::new(
                "zswap",
                "zswap",
                if off { "off" } else { "on" },
                "any, as long as rings are locked",
            )
            .because("compresses pages that leave for swap, on whichever processor is there")
            .costing("less fits into memory before the swap device is used")
            .by_setting("/sys/module/zswap/parameters/enabled", "N")
            .noted_unless(off, "echo N > /sys/module/zswap/parameters/enabled"),
        );
    }
    if let Some(moves) = files.number("/proc/sys/vm/compact_unevictable_allowed") {
        needs.push(
            Need::new("compaction", "vm.compact_unevictable_allowed", moves.to_string(), "0")
                .because("at 1 compaction moves locked pages, and a push that meets one faults")
                .costing("huge pages are harder to get where much memory is locked")
                .by_setting("/proc/sys/vm/compact_unevictable_allowed", "0")
                .good_if(moves == 0, "sysctl -w vm.compact_unevictable_allowed=0"),
        );
    }
    needs.extend(numa(files));
    needs.extend(huge_pages(files));
    needs.extend(room(here, files));
    needs.extend(reserve(files));
    needs
}

fn swap(here: &Circumstances, files: &Files) -> Need {
    let swaps = files.text("/proc/swaps").unwrap_or_default().lines().count().saturating_sub(1);
    let noswap = here.rings.as_ref().is_some_and(|mount| mount.has("noswap"));
    let lockable =
        here.may_lock || here.memlock_bytes.is_none_or(|limit| limit >= here.locked_bytes);
    let at = here.rings.as_ref().map_or_else(
        || "/run/barograph".to_owned(),
        |mount| mount.mount_point.display().to_string(),
    );
    let found = match (swaps, noswap) {
        (0, _) => "no swap".to_owned(),
        (count, true) => format!("{count} swap areas; {at} is mounted noswap"),
        (count, false) => format!("{count} swap areas; {at} is not mounted noswap"),
    };
    Need::new(
        "swap",
        "swap of the rings",
        found,
        "none, or rings locked, or their tmpfs mounted noswap",
    )
    .because("a push that meets a page in swap waits for the swap device")
    .costing("memory of the rings is never lent to others")
    .by(Remedy::Mount("tmpfs /run/barograph tmpfs noswap,mode=0755 0 0"))
    .good_if(
        swaps == 0 || noswap || lockable,
        "mkdir -p /run/barograph && mount -t tmpfs -o noswap,mode=0755 tmpfs /run/barograph \
             (Linux 6.4; it cannot be set by a remount)",
    )
}

fn numa(files: &Files) -> Option<Need> {
    let on = files.number("/proc/sys/kernel/numa_balancing")?;
    let nodes = files.text("/sys/devices/system/node/online").unwrap_or_default();
    let single = nodes == "0";
    let found = if single { format!("{on}, one node") } else { on.to_string() };
    Some(
        Need::new("numa", "kernel.numa_balancing", found, "0, or one node")
            .because("it takes pages away for a moment to see who touches them: a push faults")
            .costing("programs that move between nodes keep their memory far away")
            .by_setting("/proc/sys/kernel/numa_balancing", "0")
            .good_if(on == 0 || single, "sysctl -w kernel.numa_balancing=0"),
    )
}

fn huge_pages(files: &Files) -> Vec<Need> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let mut needs = Vec::new();
    if let Some(text) = files.text(&format!("{folder}/shmem_enabled")) {
        let found = chosen(&text);
        needs.push(
            Need::new("huge-rings", format!("{folder}/shmem_enabled"), found, "any but deny")
                .because("rings ask for huge pages, which spares a push address translations")
                .costing("a ring takes whole pages of 2 MiB")
                .by_setting(format!("{folder}/shmem_enabled"), "advise")
                .good_if(found != "deny", format!("echo advise > {folder}/shmem_enabled")),
        );
    }
    if let Some(text) = files.text(&format!("{folder}/enabled")) {
        needs.push(
            Need::new("huge", format!("{folder}/enabled"), chosen(&text), "any")
                .because("says nothing of shared memory; rings go by shmem_enabled")
                .costing("none for a recorder")
                .note(),
        );
    }
    needs
}

/// Memory for rings and buffers, and room for the rings in their tmpfs.
fn room(here: &Circumstances, files: &Files) -> Vec<Need> {
    let mut needs = Vec::new();
    if let Some(available) = kib(files, "MemAvailable:") {
        let wanted = here.locked_bytes.saturating_mul(2);
        needs.push(
            Need::new(
                "memory",
                "memory available",
                format!("{} MiB", available >> 20),
                format!("at least {} MiB, twice what is locked", wanted >> 20),
            )
            .because(
                "locked memory is the recorder's alone; beside it programs and the page cache of \
                 readers need some, or everybody looks for free pages",
            )
            .costing("a smaller ring covers a shorter stall of the device")
            .good_if(
                available >= wanted,
                "record with a smaller --ring, or stop what fills memory",
            ),
        );
    }
    if let (Some(free), Some(rings)) = (here.rings_free_bytes, &here.rings) {
        let at = rings.mount_point.display();
        needs.push(
            Need::new(
                "ring",
                format!("room for rings in {at}"),
                format!("{} MiB", free >> 20),
                format!("at least {} MiB for each source", here.ring_bytes.div_ceil(1 << 20)),
            )
            .because("a ring is allocated whole when a recorder opens, or it does not open")
            .costing("memory, as much as is used of it")
            .good_if(
                free >= here.ring_bytes,
                format!("mount -o remount,size=50% {at}, or record with --rings on another tmpfs"),
            ),
        );
    }
    needs
}

fn reserve(files: &Files) -> Option<Need> {
    let path = "/proc/sys/vm/min_free_kbytes";
    let found = u64::try_from(files.number(path)?).ok()?;
    let total = kib(files, "MemTotal:")?;
    let wanted = (total / 50).min(RESERVE_BYTES) >> 10;
    Some(
        Need::new("reserve", "vm.min_free_kbytes", found.to_string(), format!("at least {wanted}"))
            .because(
                "when no page is free the writer looks for one itself, and may wait for what others \
                 have to write back; a buffered recorder loses its page cache to them (paper A)",
            )
            .costing("that much memory is used by nobody")
            .by_setting(path, wanted.to_string())
            .noted_unless(found >= wanted, format!("sysctl -w vm.min_free_kbytes={wanted}")),
    )
}

/// A line of /proc/meminfo, in bytes.
fn kib(files: &Files, name: &str) -> Option<u64> {
    let text = files.text("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
