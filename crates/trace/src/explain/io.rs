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

/// A wait that a disk is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct For {
    pub(super) pid: i32,
    /// What is waited for.
    pub(super) cause: Cause,
    /// The device that it is about, if that is known.
    pub(super) about: Option<Device>,
    /// The direction of its I/O, if that is known.
    pub(super) way: Option<Way>,
    pub(super) span: Span,
}

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
    /// The same without those that the kernel gave to the disk.
    programs_ns: u64,
    /// Bytes that the kernel's tasks gave to the disk, but the waiter.
    kernels_bytes: u64,
    /// Sum of the times that requests that ended were with the driver.
    driver_ns: u64,
    done: u64,
    writes: u64,
    reads: u64,
    /// The request that ended the wait, if one ended then: of several the one that did most likely.
    pub(super) ended: Option<Ended>,
    /// Whether a request of the waiter's was there at the end of the time.
    pub(super) holds_own: bool,
    /// Whether one from before the trace was.
    pub(super) holds_before: bool,
    /// Whether something that the kernel writes was.
    pub(super) holds_written: bool,
    /// Whether a flush was.
    pub(super) holds_flush: bool,
    /// When the oldest request that was there then had come.
    pub(super) oldest_ns: Option<u64>,
}

/// A request that ended when a wait did. The larger one is the likelier end of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ended {
    /// It goes where the call of the waiter goes, as far as that is known.
    pub(super) fits: bool,
    pub(super) by: By,
    /// How far from the end of the wait.
    apart_ns: Reverse<u64>,
    is_write: bool,
}

/// Who gave a request to the disk. What a limit has held back, a worker does; a program of its own waits for
/// its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
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
        let Found { device, work, is_shown, is_only } = self.disk(pid, span, wait, about)?;
        let way = self.way_of(pid, wait, span).or(work.ended_by());
        let mut one =
            self.judged(device, &work, For { pid, cause: about.0, about: about.1, way, span });
        match one.known_by {
            Evidence::Event if !is_shown => {
                one.cause = Cause::Unknown;
                doubt(&mut one);
            }
            // Its limit says it if no other disk was in use. What was idle, and has no limit, says so itself.
            Evidence::AbsenceAndSetting if !is_shown && !is_only => doubt(&mut one),
            _ => {}
        }
        Some(one)
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
        let way = Some(Way::Write);
        Some(self.judged(device, &work, For { pid, cause: Cause::Writeback, about, way, span }))
    }

    /// The same, only if a disk ended a request just when the wait ended. Of a wait whose place says nothing of
    /// I/O that shows it only of a request of the waiter's own.
    pub(super) fn io_that_ended(
        &mut self,
        pid: i32,
        span: Span,
        wait: &Wait,
        (cause, about): (Cause, Option<Device>),
    ) -> Option<Node> {
        let found = self.disk(pid, span, wait, (Cause::Unknown, about));
        let Found { device, work, is_shown, .. } =
            found.filter(|found| found.work.ended.is_some())?;
        let way = self.way_of(pid, wait, span).or(work.ended_by());
        let mut one = self.judged(device, &work, For { pid, cause, about, way, span });
        let is_own = work.ended.is_some_and(|ended| ended.by == By::Waiter);
        if !is_shown || cause == Cause::Other && !is_own {
            doubt(&mut one);
        }
        Some(one)
    }

    /// The disk, and what stands below it.
    fn judged(&mut self, device: Device, work: &Work, asked: For) -> Node {
        let For { pid, span, .. } = asked;
        let (cause, known_by, evidence) = self.judge(device, work, asked);
        let mut one = node(pid, cause, &self.known.device_name(device), span, evidence);
        one.known_by = known_by;
        // A disk is judged so only if a mapping above it was.
        if cause == Cause::QueueFrozen {
            let mapping = self.suspended_above(device, asked).map_or(device, |above| above.0);
            (one.detail, one.place) = (Some("suspended"), self.known.device_name(mapping));
        }
        if matches!(cause, Cause::Device | Cause::DeviceQueue) {
            one.children = self.below(device, asked);
        }
        one
    }

    pub(super) fn judge(
        &self,
        device: Device,
        work: &Work,
        asked: For,
    ) -> (Cause, Evidence, String) {
        let For { pid, cause, span, .. } = asked;
        let name = self.known.device_name(device);
        let mean_ns = work.driver_ns.checked_div(work.done).unwrap_or(0);
        let share = work.busy_ns as f64 / work.looked_ns.max(1) as f64;
        let top = work.by_task.iter().max_by_key(|(_, bytes)| **bytes);
        let (top_pid, top_bytes) = top.map_or((0, 0), |(pid, bytes)| (*pid, *bytes));
        let of_top = top_bytes as f64 / work.bytes.max(1) as f64;
        let kind = match work {
            Work { bytes: 0, .. } => "flushes",
            Work { writes, requests, .. } if writes * 2 >= *requests => "mostly writes",
            Work { reads, requests, .. } if reads * 2 >= *requests => "mostly reads",
            _ => "mostly flushes",
        };
        let evidence = match work.requests {
            0 => format!("{name} had no requests"),
            count if work.done == 0 && work.by_task.keys().all(|pid| *pid == Request::BEFORE) => {
                let were = if count == 1 { "request was" } else { "requests were" };
                format!("{count} {were} with {name} before the trace and at its end")
            }
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
            if let Some(held) = self.suspension(device, asked, &evidence) {
                return held;
            }
            return match self.group_limit(device, asked, bytes) {
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
        let mut own = work.by_task.get(&pid).copied().unwrap_or(0);
        let (mut is_own, mut others_ns) = (top_pid == pid, work.others_ns);
        // Such data the kernel gives to the disk, for whoever waits for it and gives nothing itself.
        if is_given_by_kernel(cause) && own == 0 {
            own += work.kernels_bytes;
            is_own |= self.known.is_kernels(top_pid);
            others_ns = work.programs_ns;
        }
        // Much that another had there for a moment was in nobody's way.
        let others =
            own * 2 < work.bytes && !is_own && work.requests > 4 && others_ns * 2 > work.looked_ns;
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
        let (mut intervals, mut of_others, mut of_programs) = (Vec::new(), Vec::new(), Vec::new());
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
            // Of one from before the trace nobody knows whose it is.
            if one.pid != pid && one.pid != Request::BEFORE {
                of_others.push((there.begin_ns, there.end_ns));
                match self.known.is_kernels(one.pid) {
                    true => work.kernels_bytes += u64::from(one.bytes),
                    false => of_programs.push((there.begin_ns, there.end_ns)),
                }
            }
            work.requests += 1;
            work.bytes += u64::from(one.bytes);
            work.writes += u64::from(one.is_write());
            work.reads += u64::from(one.is_read());
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
            if lasts {
                let before_ns = work.oldest_ns.unwrap_or(u64::MAX);
                work.oldest_ns = Some(before_ns.min(one.begin_ns()));
            }
            work.holds_own |= lasts && one.pid == pid;
            work.holds_before |= lasts && one.pid == Request::BEFORE;
            work.holds_written |= lasts && one.is_write() && self.known.is_kernels(one.pid);
            work.holds_flush |= lasts && !one.is_write() && !one.is_read();
        }
        work.busy_ns = covered_ns(intervals, span.begin_ns);
        work.others_ns = covered_ns(of_others, span.begin_ns);
        work.programs_ns = covered_ns(of_programs, span.begin_ns);
        work
    }
}

/// Whether the kernel gives to the disk what is waited for, and not who waits.
fn is_given_by_kernel(cause: Cause) -> bool {
    matches!(cause, Cause::Writeback | Cause::OrderedData | Cause::LogSpace | Cause::JournalBuffer)
}

/// It is concluded that this disk was waited for; what was below it is not told then.
fn doubt(one: &mut Node) {
    one.known_by = Evidence::Absence;
    one.children.clear();
    one.evidence.push_str("; nothing shows that this disk was waited for");
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
