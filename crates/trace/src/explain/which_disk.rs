//! Which disk a task waited for.

use super::Cause;
use super::chain::{Span, Walk};
use super::io::Work;
use crate::record::Device;
use crate::timeline::Wait;

/// Waits of a task that are looked at before one that has not ended.
const LOOK_BACK_WAITS: usize = 64;
/// Disks that are looked at below another; loops on loops are not deeper.
const BELOW_MAX: usize = 32;

/// The disk that was waited for.
pub(super) struct Found {
    pub(super) device: Device,
    pub(super) work: Work,
    /// Whether more than that it was in use says so.
    pub(super) is_shown: bool,
}

impl Walk<'_> {
    /// The disk that was waited for for `cause`, which is about a device if that is known.
    ///
    /// It is the disk of that device if it did anything, else one that has requests of the task, else the
    /// one that ended a request when the wait ended, of several the likeliest ([`super::io::Ended`]): a
    /// disk in use by others ends requests at any time.
    ///
    /// Nothing has ended a wait that lasts. It is about the disk of the device, whatever that did; else about one
    /// that has, or had meanwhile, a request of the task; else about that of the task's wait before in the same
    /// functions; else about the only disk that has what is given to it by others than who waits, or that was
    /// in use at all. If none of it is known, it is the busiest disk, and nothing shows it.
    pub(super) fn disk(
        &self,
        pid: i32,
        span: Span,
        wait: &Wait,
        (cause, about): (Cause, Option<Device>),
    ) -> Option<Found> {
        let about = about.and_then(|device| self.disk_of(device));
        let woken_ns = wait.woken_ns.or(wait.end_ns).unwrap_or(span.end_ns);
        let disks = self.known.line.disks.iter();
        let way = self.way_of(pid, wait, span);
        let works: Vec<_> = disks
            .map(|(device, disk)| {
                (*device, self.work((pid, *device), &disk.requests, span, (woken_ns, way)))
            })
            .collect();
        let lasts = wait.woken_ns.or(wait.end_ns).is_none();
        let before = if lasts { self.disk_before(pid, wait) } else { None };
        let only = if lasts { self.only_disk(cause, &works) } else { None };
        let is = |one: Option<Device>, device: &Device| one == Some(*device);
        // What a limit holds back never came to the disk.
        let took_part = |(device, work): &(Device, Work)| {
            work.requests > 0 || is(before, device) || lasts && is(about, device)
        };
        let shown = |(device, work): &(Device, Work)| {
            let has_own = work.by_task.contains_key(&pid);
            let own = if lasts { work.holds_own } else { has_own && work.ended.is_some() };
            let ends = work.ended.filter(|_| !lasts);
            let meanwhile = lasts && has_own;
            (is(about, device), own, meanwhile, is(before, device), is(only, device), ends)
        };
        let likeliest = works
            .into_iter()
            .filter(took_part)
            .max_by_key(|one| (shown(one), one.1.busy_ns, one.1.bytes))?;
        let is_any = shown(&likeliest) > (false, false, false, false, false, None);
        let (device, work) = likeliest;
        let is_shown = is_any || work.by_task.contains_key(&pid);
        Some(Found { device, work, is_shown })
    }

    /// For a wait that lasts, if others give to the disk what is waited for: the only disk that has such, or
    /// else the only one that was in use within the recording.
    fn only_disk(&self, cause: Cause, works: &[(Device, Work)]) -> Option<Device> {
        // The task's own requests are those of the task.
        if cause == Cause::DirectIo {
            return None;
        }
        let of = |holds: &dyn Fn(&Work) -> bool| {
            let devices = works.iter().filter(|(_, work)| holds(work)).map(|(device, _)| *device);
            self.top_of(&devices.collect::<Vec<_>>())
        };
        let found = match cause {
            Cause::Writeback | Cause::OrderedData | Cause::JournalWrite | Cause::LogSpace => {
                of(&|work| work.holds_written)
            }
            Cause::Flush => of(&|work| work.holds_flush),
            _ => None,
        };
        found.or_else(|| of(&|_| true))
    }

    /// Of disks the one that all others are below.
    fn top_of(&self, disks: &[Device]) -> Option<Device> {
        let is_top = |top: &Device| {
            let below = self.all_below(*top);
            disks.iter().all(|one| below.contains(one))
        };
        disks.iter().copied().find(is_top)
    }

    /// What a disk is made of, and that of.
    fn all_below(&self, device: Device) -> Vec<Device> {
        let mut all = vec![device];
        let mut at = 0;
        while let Some(one) = all.get(at).copied().filter(|_| all.len() < BELOW_MAX) {
            self.looked(1);
            for lower in self.known.stands.below(one) {
                let lower = self.disk_of(*lower).unwrap_or(*lower);
                if !all.contains(&lower) {
                    all.push(lower);
                }
            }
            at += 1;
        }
        all
    }

    /// For a wait that lasts: the disk that the task waited for before in the same functions.
    fn disk_before(&self, pid: i32, wait: &Wait) -> Option<Device> {
        let waits = &self.known.line.tasks.get(&pid)?.waits;
        let before = waits.partition_point(|one| one.begin_ns < wait.begin_ns);
        let mut earlier = waits.get(..before)?.iter().rev().take(LOOK_BACK_WAITS);
        // The stack of what lasts is read in another way, with other addresses in the same functions.
        let names = |wait: &Wait| wait.stack.map(|stack| self.known.functions(stack));
        let own = names(wait);
        let alike = earlier.find(|one| {
            self.looked(1);
            one.woken_ns.is_some() && (one.stack == wait.stack || names(one) == own)
        })?;
        let span = Span { begin_ns: alike.begin_ns, end_ns: alike.woken_ns? };
        let Found { device, work, .. } = self.disk(pid, span, alike, (Cause::Unknown, None))?;
        work.is_ended_by_own().then_some(device)
    }
}
