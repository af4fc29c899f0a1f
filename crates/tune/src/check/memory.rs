//! What the kernel does with memory: swap, compaction, NUMA balancing, huge pages, dirty pages.
//!
//! A locked page is never swapped, but it can be moved: whoever touches it meanwhile faults.

use super::{Circumstances, Files, Need, chosen};

pub(super) fn needs(here: &Circumstances, files: &Files) -> Vec<Need> {
    let mut needs = vec![swap(here, files)];
    if let Some(swappiness) = files.number("/proc/sys/vm/swappiness") {
        needs.push(
            Need::new("vm.swappiness", swappiness.to_string(), "any, as long as rings are locked")
                .because("decides how soon pages of a tmpfs that are not locked go to swap")
                .note(),
        );
    }
    if let Some(zswap) = files.text("/sys/module/zswap/parameters/enabled") {
        let off = zswap == "N";
        needs.push(
            Need::new("zswap", if off { "off" } else { "on" }, "any, as long as rings are locked")
                .because("compresses pages that leave for swap, on whichever processor is there")
                .noted_unless(off, "echo N > /sys/module/zswap/parameters/enabled"),
        );
    }
    if let Some(moves) = files.number("/proc/sys/vm/compact_unevictable_allowed") {
        needs.push(
            Need::new("vm.compact_unevictable_allowed", moves.to_string(), "0")
                .because("at 1 compaction moves locked pages, and a push that meets one faults")
                .good_if(moves == 0, "sysctl -w vm.compact_unevictable_allowed=0"),
        );
    }
    needs.extend(numa(files));
    needs.extend(huge_pages(files));
    needs.extend(dirty(files));
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
    Need::new("swap of the rings", found, "none, or rings locked, or their tmpfs mounted noswap")
        .because("a push that meets a page in swap waits for the swap device")
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
        Need::new("kernel.numa_balancing", found, "0, or one node")
            .because("it takes pages away for a moment to see who touches them: a push faults")
            .good_if(on == 0 || single, "sysctl -w kernel.numa_balancing=0"),
    )
}

fn huge_pages(files: &Files) -> Vec<Need> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let mut needs = Vec::new();
    if let Some(text) = files.text(&format!("{folder}/shmem_enabled")) {
        let found = chosen(&text);
        needs.push(
            Need::new(format!("{folder}/shmem_enabled"), found, "any but deny")
                .because("rings ask for huge pages, which spares a push address translations")
                .good_if(found != "deny", format!("echo advise > {folder}/shmem_enabled")),
        );
    }
    if let Some(text) = files.text(&format!("{folder}/enabled")) {
        needs.push(
            Need::new(format!("{folder}/enabled"), chosen(&text), "any")
                .because("says nothing of shared memory; rings go by shmem_enabled")
                .note(),
        );
    }
    needs
}

fn dirty(files: &Files) -> Vec<Need> {
    let pair = |name: &str| {
        let bytes = files.number(&format!("/proc/sys/vm/{name}_bytes"))?;
        if bytes > 0 {
            return Some(format!("{bytes} bytes"));
        }
        Some(format!("{} %", files.number(&format!("/proc/sys/vm/{name}_ratio"))?))
    };
    let mut needs = Vec::new();
    for name in ["dirty", "dirty_background"] {
        if let Some(found) = pair(name) {
            needs.push(
                Need::new(format!("vm.{name}_bytes, _ratio"), found, "any with direct I/O")
                    .because("a recorder that goes past the page cache does not depend on it")
                    .note(),
            );
        }
    }
    needs
}
