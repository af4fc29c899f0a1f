//! What stands below a disk: the disk of a partition, the disks that a composed one is made of, the disk or file
//! of a loop device.
//!
//! A composed disk that hands what comes to it to others as it is (LVM, dm-crypt, md) has no requests of its own:
//! what is about it is about the disks below that have some.
//!
//! Invariant: what is about a device is about the first disks with requests on each way down from it. Held by
//! `a_disk_without_requests_is_followed_to_those_below`.

use super::chain::{Span, Walk, node};
use super::io::For;
use super::{Cause, Evidence, Node};
use crate::record::Device;

/// Disks that are looked at below another; loops on loops are not deeper.
const BELOW_MAX: usize = 32;

impl Walk<'_> {
    /// The disks that have what comes to a device: itself if it has requests, else the first that have some on each
    /// way down.
    pub(super) fn disks_of(&self, device: Device) -> Vec<Device> {
        let has_requests = |one: Device| self.known.line.disks.contains_key(&one);
        self.down(device, &|one| !has_requests(one))
            .into_iter()
            .filter(|one| has_requests(*one))
            .collect()
    }

    /// A device, the disk that it is a partition of, what that is made of, and so on.
    pub(super) fn all_below(&self, device: Device) -> Vec<Device> {
        self.down(device, &|_| true)
    }

    /// The same, where below is looked only under those that are said.
    fn down(&self, device: Device, is_looked_under: &dyn Fn(Device) -> bool) -> Vec<Device> {
        let mut all = vec![device];
        let mut at = 0;
        while let Some(one) = all.get(at).copied().filter(|_| all.len() < BELOW_MAX) {
            self.looked(1);
            at += 1;
            if !is_looked_under(one) {
                continue;
            }
            let stands = &self.known.stands;
            for lower in stands.below(one).iter().copied().chain(stands.whole(one)) {
                if !all.contains(&lower) {
                    all.push(lower);
                }
            }
        }
        all
    }

    /// Whether one of two devices stands on the other.
    pub(super) fn stands_on(&self, one: Device, other: Device) -> bool {
        self.all_below(one).contains(&other) || self.all_below(other).contains(&one)
    }

    /// Whether what is waited for came to a disk by way of another that stands on it: what it is about stands on
    /// both, or all does that is mounted of the lower one.
    pub(super) fn came_through(&self, upper: Device, lower: Device, about: Option<Device>) -> bool {
        let ways = match about {
            Some(about) => vec![self.all_below(about)],
            None => self.known.mounted_devices().map(|one| self.all_below(one)).collect(),
        };
        let mut on_lower = ways.iter().filter(|way| way.contains(&lower)).peekable();
        on_lower.peek().is_some() && on_lower.all(|way| way.contains(&upper))
    }

    /// What a disk that is made of another, or of a file, waited for in this time.
    pub(super) fn below(&mut self, device: Device, asked: For) -> Vec<Node> {
        let For { pid, way, span, .. } = asked;
        // Who gives requests to what is below is the kernel, for whoever has given them to the upper one.
        let asked = For { cause: Cause::Writeback, about: Some(device), ..asked };
        let below: Vec<Device> = self
            .known
            .stands
            .below(device)
            .iter()
            .flat_map(|lower| self.disks_of(*lower))
            .collect();
        let mut busiest: Option<(u64, Device, Node)> = None;
        for lower in below {
            self.looked(1);
            let disk = self.known.line.disks.get(&lower).filter(|_| lower != device);
            let Some(disk) = disk else { continue };
            let work = self.work((pid, lower), &disk.requests, span, (span.end_ns, way));
            let (cause, known_by, evidence) = self.judge(lower, &work, asked);
            // Of several disks that it is made of the one that had most to do.
            let is_busier = busiest.as_ref().is_none_or(|(busy_ns, ..)| work.busy_ns > *busy_ns);
            if known_by != Evidence::Absence && work.requests > 0 && is_busier {
                let name = self.known.device_name(lower);
                let mut one = node(pid, cause, &name, span, evidence);
                one.known_by = known_by;
                busiest = Some((work.busy_ns, lower, one));
            }
        }
        if let Some((_, lower, mut one)) = busiest {
            if one.cause != Cause::Throttle && self.enter(pid) {
                one.children = self.below(lower, asked);
                self.leave();
            }
            return vec![one];
        }
        if !self.known.stands.is_loop(device) {
            return Vec::new();
        }
        // The worker that slept longest in the meantime, if that was most of it.
        let slept = |pid: &i32| {
            let task = self.known.line.tasks.get(pid)?;
            let from = task
                .waits
                .partition_point(|one| one.end_ns.is_some_and(|end_ns| end_ns <= span.begin_ns));
            let within = task.waits[from..].iter().take_while(|one| one.begin_ns < span.end_ns);
            let serves = within.inspect(|_| self.looked(1)).filter(|one| {
                self.known.place(one.stack).is_some_and(|place| place.is_loop_worker)
            });
            let ns: u64 = serves
                .map(|one| {
                    let end_ns = one.end_ns.unwrap_or(span.end_ns);
                    Span { begin_ns: one.begin_ns, end_ns }.within(span).ns()
                })
                .sum();
            Some((ns, *pid))
        };
        let longest = self.known.loop_workers.iter().filter_map(slept).max();
        match longest.filter(|(ns, _)| ns * 2 > span.ns()) {
            Some((_, worker)) => self.waits(worker, span),
            None => Vec::new(),
        }
    }
}
