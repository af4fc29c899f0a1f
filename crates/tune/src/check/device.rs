//! The queue of the store's device.

use super::{Circumstances, Files, Need, Remedy, chosen, is_slow};
use crate::setting::Setting;

/// Above this a slow device loses records behind a queue that others keep full
/// (results/2026-11-21-amd-epyc-2cpu: 1 MiB cost nothing at 12 MB/s, 16 MiB a third).
const QUEUE_BYTES: i64 = 4 << 20;

pub(super) fn needs(here: &Circumstances, files: &Files) -> Vec<Need> {
    let Some(disk) = here.store.as_ref().and_then(|store| store.disk.as_deref()) else {
        return Vec::new();
    };
    let all =
        [scheduler(disk, files), queue(disk, files), cache(disk, files), throttle(disk, files)];
    all.into_iter().flatten().collect()
}

fn file(disk: &str, name: &str) -> String {
    format!("/sys/block/{disk}/queue/{name}")
}

fn scheduler(disk: &str, files: &Files) -> Option<Need> {
    let path = file(disk, "scheduler");
    let text = files.text(&path)?;
    let found = chosen(&text);
    let command = format!("echo mq-deadline > {path}");
    Some(
        Need::new(
            "scheduler",
            path.clone(),
            found,
            "none, mq-deadline or kyber; bfq to give weights",
        )
        .because("bfq lets a device idle between processes unless it is told their weights")
        .costing("without bfq no weights: a greedy program may have most of the disk")
        .by_setting(path, "mq-deadline")
        .noted_unless(found != "bfq", command),
    )
}

fn queue(disk: &str, files: &Files) -> Option<Need> {
    let requests = files.number(&file(disk, "nr_requests"))?;
    let kib = files.number(&file(disk, "max_sectors_kb"))?;
    let bytes = requests.saturating_mul(kib).saturating_mul(1024);
    let wanted = [("max_sectors_kb", kib.min(128)), ("nr_requests", requests.min(32))];
    let settings =
        wanted.iter().map(|(name, value)| Setting::new(file(disk, name), value.to_string()));
    let command: Vec<String> =
        wanted.iter().map(|(name, value)| format!("echo {value} > {}", file(disk, name))).collect();
    let need = Need::new(
        "queue",
        format!("/sys/block/{disk}/queue: nr_requests x max_sectors_kb"),
        format!("{requests} x {kib} KiB = {} MiB", bytes >> 20),
        format!("at most {} MiB on a slow device", QUEUE_BYTES >> 20),
    )
    .because("a write of the recorder waits behind what others have in the queue")
    .costing("on a fast device throughput of others: more and smaller requests")
    .by(Remedy::Settings(settings.collect()));
    let short = bytes <= QUEUE_BYTES;
    let command = command.join("; ");
    // What a slow device writes in a second is less than its queue holds.
    Some(match is_slow(disk, files) {
        true => need.good_if(short, command),
        false => need.noted_unless(short, command),
    })
}

fn cache(disk: &str, files: &Files) -> Option<Need> {
    let path = file(disk, "write_cache");
    let found = files.text(&path)?;
    let flushed = found == "write back";
    Some(
        Need::new(
            "write-cache",
            path.clone(),
            found,
            "write back if the device has a volatile cache",
        )
        .because("at write through a sync flushes nothing: right only without such a cache")
        .costing("each sync waits for the device's cache")
        .noted_unless(flushed, format!("echo 'write back' > {path} if its cache is volatile")),
    )
}

fn throttle(disk: &str, files: &Files) -> Option<Need> {
    let path = file(disk, "wbt_lat_usec");
    let held_us = files.number(&path)?;
    let command = format!("echo -1 > {path}");
    Some(
        Need::new("wbt", path.clone(), held_us.to_string(), "not 0")
            .because("holds back others' buffered writes where they delay reads and syncs")
            .costing("write-back beside reads takes longer")
            .by_setting(path, "-1")
            .noted_unless(held_us != 0, command),
    )
}
