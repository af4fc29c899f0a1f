//! Which disk a task waited for.

use super::Cause;
use super::chain::{Span, Walk};
use super::io::{By, Work};
use crate::record::Device;
use crate::timeline::Wait;

/// Waits of a task that are looked at before one that has not ended.
const LOOK_BACK_WAITS: usize = 64;

/// The disk that was waited for.
pub(super) struct Found {
    pub(super) device: Device,
    pub(super) work: Work,
    /// Whether more than that it was in use says so.
    pub(super) is_shown: bool,
    /// Whether no other was in use meanwhile, but what it stands on or what stands on it.
    pub(super) is_only: bool,
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
        let about = about.map_or_else(Vec::new, |device| self.disks_of(device));
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
        let only = if lasts { self.only_disk(cause, wait, &works) } else { None };
        let is = |one: Option<Device>, device: &Device| one == Some(*device);
        // What a limit holds back never came to the disk.
        let took_part = |(device, work): &(Device, Work)| {
            work.requests > 0 || is(before, device) || lasts && about.contains(device)
        };
        let shown = |(device, work): &(Device, Work)| {
            let has_own = work.by_task.contains_key(&pid);
            let own = if lasts { work.holds_own } else { has_own && work.ended.is_some() };
            let ends = work.ended.filter(|_| !lasts);
            let meanwhile = lasts && has_own;
            let is_about = about.contains(device);
            (is_about, own, meanwhile, is(before, device), is(only, device), ends)
        };
        let fits = |(_, work): &&(Device, Work)| work.ended.is_some_and(|ended| ended.fits);
        let in_use = works.iter().filter(|(_, work)| work.requests > 0);
        let in_use: Vec<Device> = in_use.map(|(device, _)| *device).collect();
        let fitting: Vec<Device> = works.iter().filter(fits).map(|(device, _)| *device).collect();
        let likeliest = works
            .into_iter()
            .filter(took_part)
            .max_by_key(|one| (shown(one), one.1.busy_ns, one.1.bytes))?;
        let (is_about, own, meanwhile, is_before, is_only, ends) = shown(&likeliest);
        let (device, work) = likeliest;
        // A disk in use by others ends requests at any time: one of those is shown only if no other disk may be it.
        let is_end = ends.is_some_and(|ended| {
            let is_one =
                || fitting.iter().all(|one| *one == device || self.stands_on(*one, device));
            ended.fits && (ended.by > By::Other || is_one())
        });
        let is_any = is_about || own || meanwhile || is_before || is_only || is_end;
        let is_shown = is_any || work.by_task.contains_key(&pid);
        let is_only = in_use.iter().all(|one| *one == device || self.stands_on(*one, device));
        Some(Found { device, work, is_shown, is_only })
    }

    /// For a wait that lasts, if others give to the disk what is waited for: the only disk that has such, or
    /// else the only one that was in use within the recording.
    fn only_disk(&self, cause: Cause, wait: &Wait, works: &[(Device, Work)]) -> Option<Device> {
        let of = |holds: &dyn Fn(&Work) -> bool| {
            self.top_of(&works.iter().filter(|(_, work)| holds(work)).collect::<Vec<_>>())
        };
        // The task's own requests are those of the task, but from before the trace nobody knows whose they are.
        if cause == Cause::DirectIo {
            let is_from_before = wait.begin_ns <= self.known.line.begin_ns;
            return of(&|work| work.holds_before).filter(|_| is_from_before);
        }
        let found = match cause {
            Cause::Writeback | Cause::OrderedData | Cause::JournalWrite | Cause::LogSpace => {
                of(&|work| work.holds_written)
            }
            Cause::Flush => of(&|work| work.holds_flush),
            _ => None,
        };
        found.or_else(|| of(&|_| true))
    }

    /// Of disks the one that all others are below; of those that one without requests is made of the one whose
    /// oldest request has been there longest.
    fn top_of(&self, works: &[&(Device, Work)]) -> Option<Device> {
        let is_top = |top: Device| {
            let below = self.all_below(top);
            works.iter().all(|(one, _)| below.contains(one))
        };
        let of_them = works.iter().map(|(device, _)| *device).find(|one| is_top(*one));
        of_them.or_else(|| {
            self.known.stands.composed().find(|one| is_top(*one))?;
            let lasting =
                works.iter().filter_map(|(device, work)| Some((work.oldest_ns?, *device)));
            lasting.min().map(|(_, device)| device)
        })
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
