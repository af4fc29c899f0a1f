//! The store's file system and the queue of its device.

use super::{Circumstances, Files, MountFacts, Need, chosen};

/// Above this a slow device loses records behind a queue that others keep full
/// (results/2026-11-21-amd-epyc-2cpu: 1 MiB cost nothing at 12 MB/s, 16 MiB a third).
const QUEUE_BYTES: i64 = 4 << 20;

pub(super) fn needs(here: &Circumstances, files: &Files) -> Vec<Need> {
    let Some(store) = &here.store else { return Vec::new() };
    let mut needs = Vec::new();
    if !matches!(store.kind.as_str(), "tmpfs" | "ramfs") {
        needs.extend(mount(store));
    }
    if let Some(disk) = &store.disk {
        needs.extend(queue(disk, files));
    }
    needs
}

fn mount(store: &MountFacts) -> Vec<Need> {
    let at = store.mount_point.display();
    let atime = ["noatime", "relatime"].into_iter().find(|option| store.has(option));
    let mut needs = vec![
        Need::new(format!("atime of {at}"), atime.unwrap_or("strictatime"), "relatime or noatime")
            .because("else each reader of a segment changes its inode, beside the writer")
            .good_if(atime.is_some(), format!("mount -o remount,noatime {at}")),
    ];
    if store.kind == "ext4" {
        let lazy = if store.has("lazytime") { "lazytime" } else { "not lazytime" };
        needs.push(
            Need::new(format!("file times of {at}"), lazy, "any")
                .because(
                    "before Linux 6.18 lazytime spares the writer a journal handle a tick; on 6.18 \
                     it was measured not to",
                )
                .note(),
        );
    }
    let barrier = !store.has("nobarrier") && !store.has("barrier=0");
    needs.push(
        Need::new(format!("barriers of {at}"), if barrier { "on" } else { "nobarrier" }, "on")
            .because("without them durable means written: a power cut takes what the device caches")
            .good_if(barrier, format!("mount -o remount,barrier {at}")),
    );
    needs
}

fn queue(disk: &str, files: &Files) -> Vec<Need> {
    let folder = format!("/sys/block/{disk}/queue");
    let file = |name: &str| format!("{folder}/{name}");
    let mut needs = Vec::new();
    if let Some(text) = files.text(&file("scheduler")) {
        let found = chosen(&text);
        needs.push(
            Need::new(file("scheduler"), found, "none, mq-deadline or kyber; bfq to give weights")
                .because("bfq lets a device idle between processes unless it is told their weights")
                .noted_unless(found != "bfq", format!("echo mq-deadline > {}", file("scheduler"))),
        );
    }
    let numbers = (files.number(&file("nr_requests")), files.number(&file("max_sectors_kb")));
    if let (Some(requests), Some(kib)) = numbers {
        let bytes = requests.saturating_mul(kib).saturating_mul(1024);
        // What such a device writes in a second is less than its queue holds.
        // A virtual disk says that it rotates, whatever it is made of.
        let turns = files.number(&file("rotational")) == Some(1) && !disk.starts_with("vd");
        let slow = disk.starts_with("mmcblk") || turns;
        let command =
            format!("echo 128 > {}; echo 32 > {}", file("max_sectors_kb"), file("nr_requests"));
        let need = Need::new(
            format!("{folder}: nr_requests x max_sectors_kb"),
            format!("{requests} x {kib} KiB = {} MiB", bytes >> 20),
            format!("at most {} MiB on a slow device", QUEUE_BYTES >> 20),
        )
        .because("a write of the recorder waits behind what others have in the queue");
        let short = bytes <= QUEUE_BYTES;
        needs.push(if slow {
            need.good_if(short, command)
        } else {
            need.noted_unless(short, command)
        });
    }
    if let Some(cache) = files.text(&file("write_cache")) {
        let flushed = cache == "write back";
        needs.push(
            Need::new(file("write_cache"), cache, "write back if the device has a volatile cache")
                .because("at write through a sync flushes nothing: right only without such a cache")
                .noted_unless(
                    flushed,
                    format!("echo 'write back' > {} if its cache is volatile", file("write_cache")),
                ),
        );
    }
    if let Some(held_us) = files.number(&file("wbt_lat_usec")) {
        needs.push(
            Need::new(file("wbt_lat_usec"), held_us.to_string(), "not 0")
                .because("holds back others' buffered writes where they delay reads and syncs")
                .noted_unless(held_us != 0, format!("echo -1 > {}", file("wbt_lat_usec"))),
        );
    }
    needs
}
