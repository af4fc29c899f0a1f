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
    /// disk in use by others ends requests at any time. A wait that has not ended is about the disk that
    /// has a request of the task, else about that of the task's wait before in the same functions; one for
    /// what the kernel writes about the only disk that has such a request. If none of it is known, it is the
    /// busiest disk, and nothing shows it.
    pub(super) fn disk(
        &self,
        pid: i32,
        span: Span,
        wait: &Wait,
        (cause, about): (Cause, Option<Device>),
    ) -> Option<Found> {
        let about = about.and_then(|device| self.disk_of(device));
        let before = self.disk_before(pid, wait);
        let woken_ns = wait.woken_ns.or(wait.end_ns).unwrap_or(span.end_ns);
        let disks = self.known.line.disks.iter();
        let way = self.way_of(pid, wait, span);
        let works: Vec<_> = disks
            .map(|(device, disk)| {
                (*device, self.work((pid, *device), &disk.requests, span, (woken_ns, way)))
            })
            .collect();
        let has_ended = wait.woken_ns.or(wait.end_ns).is_some();
        let written = match has_ended || !is_written(cause) {
            true => None,
            false => self.only_written(&works),
        };
        let own = |work: &Work| match has_ended {
            true => work.by_task.contains_key(&pid) && work.ended.is_some(),
            false => work.holds_own,
        };
        let ends = |work: &Work| work.ended.filter(|_| has_ended);
        let is = |one: Option<Device>, device: &Device| one == Some(*device);
        // What a limit holds back never came to the disk.
        let took_part = |(device, work): &(Device, Work)| work.requests > 0 || is(before, device);
        let shown = |(device, work): &(Device, Work)| {
            let is = |one| is(one, device);
            (is(about), own(work), is(before), is(written), ends(work))
        };
        let likeliest = works
            .into_iter()
            .filter(took_part)
            .max_by_key(|one| (shown(one), one.1.busy_ns, one.1.bytes))?;
        let is_any = shown(&likeliest) > (false, false, false, false, None);
        let (device, work) = likeliest;
        let is_shown = is_any || work.by_task.contains_key(&pid);
        Some(Found { device, work, is_shown })
    }

    /// The only disk, but for those that it is made of, that has something which the kernel writes.
    fn only_written(&self, works: &[(Device, Work)]) -> Option<Device> {
        let holds: Vec<Device> = works
            .iter()
            .filter(|(_, work)| work.holds_written)
            .map(|(device, _)| *device)
            .collect();
        let is_above = |top: &Device| {
            let below = self.all_below(*top);
            holds.iter().all(|one| one == top || below.contains(one))
        };
        holds.iter().copied().find(is_above)
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

    /// For a wait that has not ended: the disk that the task waited for before in the same functions.
    fn disk_before(&self, pid: i32, wait: &Wait) -> Option<Device> {
        if wait.woken_ns.or(wait.end_ns).is_some() {
            return None;
        }
        let waits = &self.known.line.tasks.get(&pid)?.waits;
        let before = waits.partition_point(|one| one.begin_ns < wait.begin_ns);
        let mut earlier = waits.get(..before)?.iter().rev().take(LOOK_BACK_WAITS);
        let alike = earlier.find(|one| {
            self.looked(1);
            one.woken_ns.is_some() && self.is_same_place(one, wait)
        })?;
        let span = Span { begin_ns: alike.begin_ns, end_ns: alike.woken_ns? };
        let Found { device, work, .. } = self.disk(pid, span, alike, (Cause::Unknown, None))?;
        work.ended.map(|_| device)
    }

    /// Whether two waits are in the same functions: the stack of one that lasts is read in another way, with
    /// other addresses in them.
    fn is_same_place(&self, one: &Wait, other: &Wait) -> bool {
        let names = |wait: &Wait| wait.stack.map(|stack| self.known.functions(stack));
        one.stack == other.stack || names(one) == names(other)
    }
}

/// Whether the kernel gives to a disk what is waited for, and not the task that waits.
fn is_written(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Writeback
            | Cause::OrderedData
            | Cause::JournalWrite
            | Cause::JournalBuffer
            | Cause::LogSpace
    )
}
