//! What a disk did while it was waited for.

use super::chain::{Span, Walk, node};
use super::group_limits::{Fits, Way};
use super::which_disk::Found;
use super::{Cause, Evidence, Node};
use crate::record::Device;
use crate::timeline::{Request, Wait};
use baro_show::duration;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A disk was idle if no request was with it for this share of a wait.
const IDLE_SHARE: f64 = 0.5;
/// Requests issued before a wait began are looked at for so long, none takes longer but on a broken disk;
/// and so many of them.
const LOOK_BACK_NS: u64 = 60_000_000_000;
const LOOK_BACK_REQUESTS: usize = 20_000;
/// Requests issued within a wait that are looked at; of a wait with more only its end is judged.
const WITHIN_REQUESTS: usize = 200_000;

/// Requests of a disk within a time.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// How much of the time was looked at: its end.
    looked_ns: u64,
    /// Time in which at least one request was queued or with the driver.
    pub(super) busy_ns: u64,
    /// Requests that were there at some time.
    pub(super) requests: u64,
    pub(super) bytes: u64,
    /// Bytes by the task that issued them.
    pub(super) by_task: BTreeMap<i32, u64>,
    /// Time in which at least one request of another than the waiter was there.
    others_ns: u64,
    /// Sum of the times that requests that ended were with the driver.
    driver_ns: u64,
    done: u64,
    writes: u64,
    /// The request that ended the wait, if one ended then: of several the one that did most likely.
    pub(super) ended: Option<Ended>,
    /// Whether a request of the waiter's was there at the end of the time.
    pub(super) holds_own: bool,
    /// Whether something that the kernel writes was.
    pub(super) holds_written: bool,
    /// Whether a flush was.
    pub(super) holds_flush: bool,
}

/// A request that ended when a wait did. The larger one is the likelier end of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ended {
    /// It goes where the call of the waiter goes, as far as that is known.
    fits: bool,
    by: By,
    /// How far from the end of the wait.
    apart_ns: Reverse<u64>,
    is_write: bool,
}

/// Who gave a request to the disk. What a limit has held back, a worker does; a program of its own waits for
/// its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Other,
    Kernel,
    Waiter,
}

impl Work {
    /// Whether a request of the waiter's, or of the kernel, ended the wait.
    pub(super) fn is_ended_by_own(&self) -> bool {
        self.ended.is_some_and(|ended| ended.by > By::Other)
    }

    fn ended_by(&self) -> Option<Way> {
        self.ended.map(|ended| if ended.is_write { Way::Write } else { Way::Read })
    }
}

impl Walk<'_> {
    /// The disk that was waited for for this cause, as [`Walk::disk`] finds it; None if none did anything.
    pub(super) fn io(
        &mut self,
        pid: i32,
        span: Span,
        wait: &Wait,
        about: (Cause, Option<Device>),
    ) -> Option<Node> {
        let Found { device, work, is_shown } = self.disk(pid, span, wait, about)?;
        let way = self.way_of(pid, wait, span).or(work.ended_by());
        if !is_shown {
            let (_, known_by, evidence) = self.judge(pid, device, &work, way, span);
            // What was idle says so itself.
            if known_by == Evidence::Event {
                let evidence = format!("{evidence}; nothing shows that this disk was waited for");
                let name = self.known.device_name(device);
                return Some(node(pid, Cause::Unknown, &name, span, evidence));
            }
        }
        Some(self.judged(pid, device, &work, way, span))
    }

    /// The disk that writers are held back for.
    pub(super) fn writes(
        &mut self,
        pid: i32,
        span: Span,
        wait: &Wait,
        about: Option<Device>,
    ) -> Option<Node> {
        // Held to a rate, writers sleep for set times: a disk that was merely in use is none of theirs.
        let found = self.disk(pid, span, wait, (Cause::Unknown, about));
        let Found { device, work, .. } = found.filter(|found| found.is_shown)?;
        Some(self.judged(pid, device, &work, Some(Way::Write), span))
    }

    /// The same, only if a disk ended a request just when the wait ended.
    pub(super) fn io_that_ended(
        &mut self,
        pid: i32,
        span: Span,
        wait: &Wait,
        about: Option<Device>,
    ) -> Option<Node> {
        let found = self.disk(pid, span, wait, (Cause::Unknown, about));
        let Found { device, work, .. } = found.filter(|found| found.work.ended.is_some())?;
        let way = self.way_of(pid, wait, span).or(work.ended_by());
        Some(self.judged(pid, device, &work, way, span))
    }

    /// The disk that a device is, or is a partition of.
    pub(super) fn disk_of(&self, device: Device) -> Option<Device> {
        let disks = &self.known.line.disks;
        let whole = || self.known.stands.whole(device);
        Some(device).filter(|device| disks.contains_key(device)).or_else(whole)
    }

    /// The disk, and what stands below it.
    fn judged(
        &mut self,
        pid: i32,
        device: Device,
        work: &Work,
        way: Option<Way>,
        span: Span,
    ) -> Node {
        let (cause, known_by, evidence) = self.judge(pid, device, work, way, span);
        let mut one = node(pid, cause, &self.known.device_name(device), span, evidence);
        one.known_by = known_by;
        if matches!(cause, Cause::Device | Cause::DeviceQueue) {
            one.children = self.below(pid, device, way, span);
        }
        one
    }

    /// What a disk that is made of another, or of a file, waited for in this time.
    fn below(&mut self, pid: i32, device: Device, way: Option<Way>, span: Span) -> Vec<Node> {
        let below = self.known.stands.below(device).to_vec();
        let mut busiest: Option<(u64, Device, Node)> = None;
        for lower in below {
            self.looked(1);
            let Some(lower) = self.disk_of(lower).filter(|lower| *lower != device) else {
                continue;
            };
            let Some(disk) = self.known.line.disks.get(&lower) else { continue };
            let work = self.work((pid, lower), &disk.requests, span, (span.end_ns, way));
            let (cause, known_by, evidence) = self.judge(pid, lower, &work, way, span);
            // Of several disks that it is made of the one that had most to do.
            let is_busier = busiest.as_ref().is_none_or(|(busy_ns, ..)| work.busy_ns > *busy_ns);
            if known_by != Evidence::Absence && work.requests > 0 && is_busier {
                let mut one = node(pid, cause, &self.known.device_name(lower), span, evidence);
                one.known_by = known_by;
                busiest = Some((work.busy_ns, lower, one));
            }
        }
        if let Some((_, lower, mut one)) = busiest {
            if one.cause != Cause::Throttle && self.enter(pid) {
                one.children = self.below(pid, lower, way, span);
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

    fn judge(
        &self,
        pid: i32,
        device: Device,
        work: &Work,
        way: Option<Way>,
        span: Span,
    ) -> (Cause, Evidence, String) {
        let name = self.known.device_name(device);
        let mean_ns = work.driver_ns.checked_div(work.done).unwrap_or(0);
        let share = work.busy_ns as f64 / work.looked_ns.max(1) as f64;
        let top = work.by_task.iter().max_by_key(|(_, bytes)| **bytes);
        let (top_pid, top_bytes) = top.map_or((0, 0), |(pid, bytes)| (*pid, *bytes));
        let of_top = top_bytes as f64 / work.bytes.max(1) as f64;
        let kind = match work {
            Work { bytes: 0, .. } => "flushes",
            Work { writes, requests, .. } if writes * 2 >= *requests => "mostly writes",
            _ => "mostly reads",
        };
        let evidence = match work.requests {
            0 => format!("{name} had no requests"),
            _ => format!(
                "{name} had requests for {:.0} % of the {}: {} {} ({kind}), {:.1} MB, {} each; \
             {:.0} % of the bytes by {}",
                share * 100.0,
                match work.looked_ns < span.ns() {
                    true => format!("last {}", duration(work.looked_ns)),
                    false => "time".to_owned(),
                },
                work.requests,
                if work.requests == 1 { "request" } else { "requests" },
                work.bytes as f64 / 1e6,
                duration(mean_ns),
                of_top * 100.0,
                self.known.who(top_pid),
            ),
        };
        if share < IDLE_SHARE {
            // That it was idle says that what was waited for was elsewhere, and not where.
            let bytes = work.bytes.checked_div(work.requests).filter(|bytes| *bytes > 0);
            return match self.group_limit(pid, device, way, span, bytes) {
                Some(Fits { limit, is_sure: true }) => (
                    Cause::Throttle,
                    Evidence::AbsenceAndSetting,
                    format!(
                        "{evidence}; what was waited for had not been given to the disk, and {}",
                        limit.told()
                    ),
                ),
                Some(Fits { limit, is_sure: false }) => (
                    Cause::Throttle,
                    Evidence::Absence,
                    format!(
                        "{evidence}; {}, which may hold back what was waited for: whether that is of this \
                         group and direction was not recorded",
                        limit.told()
                    ),
                ),
                None => (
                    Cause::Unknown,
                    Evidence::Absence,
                    format!(
                        "{evidence}; where what was waited for was in the rest of the time was not \
                         recorded, and when limits were looked at no control group that it is of had one for this disk"
                    ),
                ),
            };
        }
        let own = work.by_task.get(&pid).copied().unwrap_or(0);
        // Much that another had there for a moment was in nobody's way.
        let others = own * 2 < work.bytes
            && top_pid != pid
            && work.requests > 4
            && work.others_ns * 2 > work.looked_ns;
        (if others { Cause::DeviceQueue } else { Cause::Device }, Evidence::Event, evidence)
    }

    /// What requests, in the order of their issue, were at a disk within a time.
    pub(super) fn work(
        &self,
        (pid, device): (i32, Device),
        requests: &[Request],
        span: Span,
        (woken_ns, way): (u64, Option<Way>),
    ) -> Work {
        let mut work = Work::default();
        let after = requests.partition_point(|one| one.issued_ns < span.end_ns);
        let (mut intervals, mut of_others) = (Vec::new(), Vec::new());
        let first = requests.partition_point(|one| one.issued_ns < span.begin_ns);
        let from = first.max(after.saturating_sub(WITHIN_REQUESTS));
        let span = match requests.get(from).filter(|_| from > first) {
            Some(one) => Span { begin_ns: one.issued_ns, ..span },
            None => span,
        };
        work.looked_ns = span.ns();
        let mut earlier = 0;
        // Those that were queued before the end but issued after it are few and not far behind.
        let behind =
            requests.iter().skip(after).take(64).filter(|one| one.begin_ns() < span.end_ns);
        let before = self.known.index.requests(device, requests, after, span.begin_ns).take_while(
            move |one| {
                earlier += usize::from(one.issued_ns < span.begin_ns);
                earlier <= LOOK_BACK_REQUESTS && one.issued_ns + LOOK_BACK_NS > span.begin_ns
            },
        );
        self.looked(1);
        for one in before.chain(behind) {
            self.looked(1);
            let done_ns = one.done_ns.unwrap_or(u64::MAX);
            if done_ns <= span.begin_ns {
                continue;
            }
            let there = Span { begin_ns: one.begin_ns(), end_ns: done_ns }.within(span);
            intervals.push((there.begin_ns, there.end_ns));
            if one.pid != pid {
                of_others.push((there.begin_ns, there.end_ns));
            }
            work.requests += 1;
            work.bytes += u64::from(one.bytes);
            work.writes += u64::from(one.is_write());
            *work.by_task.entry(one.pid).or_default() += u64::from(one.bytes);
            if let Some(done_ns) = one.done_ns {
                work.done += 1;
                work.driver_ns += done_ns.saturating_sub(one.issued_ns);
                let ends_wait = done_ns <= woken_ns + 50_000 && done_ns + 2_000_000 >= woken_ns;
                if ends_wait {
                    let is_write = one.is_write();
                    let fits = way.is_none_or(|way| (way == Way::Read) == one.is_read());
                    let by = match one.pid {
                        by if by == pid => By::Waiter,
                        by if self.known.is_kernels(by) => By::Kernel,
                        _ => By::Other,
                    };
                    let apart_ns = Reverse(done_ns.abs_diff(woken_ns));
                    let ended = Ended { fits, by, apart_ns, is_write };
                    work.ended = work.ended.max(Some(ended));
                }
            }
            let lasts = done_ns > span.end_ns;
            work.holds_own |= lasts && one.pid == pid;
            work.holds_written |= lasts && one.is_write() && self.known.is_kernels(one.pid);
            work.holds_flush |= lasts && !one.is_write() && !one.is_read();
        }
        work.busy_ns = covered_ns(intervals, span.begin_ns);
        work.others_ns = covered_ns(of_others, span.begin_ns);
        work
    }
}

/// How much time intervals cover together.
fn covered_ns(mut intervals: Vec<(u64, u64)>, from_ns: u64) -> u64 {
    intervals.sort_unstable();
    let (mut covered_ns, mut reached_ns) = (0, from_ns);
    for (begin_ns, end_ns) in intervals {
        covered_ns += end_ns.saturating_sub(begin_ns.max(reached_ns));
        reached_ns = reached_ns.max(end_ns);
    }
    covered_ns
}
