//! Requests that were with a disk when the recording began, and were so still when it ended: no event tells of them,
//! as of a disk that does not answer any more. The counts that the kernel keeps of each disk do.
//!
//! Invariant: they are told only where more was with a disk at the end than the events account for. Held by
//! `what_was_with_a_disk_all_the_time_is_told`.

use crate::record::{Device, Name};
use crate::timeline::{Request, Timeline};
use std::collections::BTreeMap;

/// The fact with the disks that have requests, and how many.
pub(crate) const IN_FLIGHT: &str = "in flight";
const AT_END: &str = "in flight at the end";
/// What a recording begins with; in a trace that was taken out of a ring that is long before.
const BEGAN: &str = "hangs";
const OLD_NS: u64 = 2_000_000_000;
/// Of one disk.
const REQUESTS_MAX: u64 = 64;

/// Adds them to the disks.
pub(super) fn add(
    line: &mut Timeline,
    facts: &BTreeMap<String, String>,
    devices: &BTreeMap<Device, String>,
) {
    let began_ns = facts.get(BEGAN).and_then(|text| text.lines().next()?.strip_prefix("at "));
    let began_ns = began_ns.and_then(|at| at.trim().parse::<u64>().ok()).unwrap_or(0);
    let is_lost = line.lost_events > 0 || line.lost_places > 0;
    if is_lost || line.is_cut || began_ns.saturating_add(OLD_NS) < line.begin_ns {
        return;
    }
    let (begin, end) = (counts(facts.get(IN_FLIGHT)), counts(facts.get(AT_END)));
    for (device, name) in devices {
        let (Some(begin), Some(end)) = (begin.get(name.as_str()), end.get(name.as_str())) else {
            continue;
        };
        let disk = line.disks.get(device);
        let open = disk.map_or(0, |disk| {
            disk.requests.iter().filter(|one| one.done_ns.is_none()).count() as u64
        });
        let sum = |(reads, writes): (u64, u64)| reads.saturating_add(writes);
        let left = sum(*end).saturating_sub(open).min(sum(*begin)).min(REQUESTS_MAX);
        let requests = (0..left).map(|number| Request {
            sector: 0,
            bytes: 0,
            class: Name::new(if number < begin.0 { b"R" } else { b"W" }),
            pid: Request::BEFORE,
            queued_ns: None,
            issued_ns: line.begin_ns,
            done_ns: None,
        });
        if left > 0 {
            line.disks.entry(*device).or_default().requests.splice(0..0, requests);
        }
    }
}

/// `NAME READS WRITES` a line.
fn counts(text: Option<&String>) -> BTreeMap<&str, (u64, u64)> {
    let lines = text.map_or("", String::as_str).lines();
    lines
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?;
            Some((name, (words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
        })
        .collect()
}
