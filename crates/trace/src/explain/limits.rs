//! Limits: of dirty data, and what the journal's numbers show.

use super::chain::{Span, Walk, merge};
use super::{Cause, Evidence, Node};
use crate::record::Device;
use crate::timeline::{Throttle, WaitKind};
use baro_show::duration;
use std::fmt::Write;

const PAGE_MB: f64 = 4096.0 / 1e6;
/// A sleep may end this long after its time was over.
const LATE_NS: u64 = 100_000_000;
/// Flushers that are looked into.
const FLUSHERS_MAX: usize = 4;

impl Walk<'_> {
    /// The last throttle event of a task that belongs to a time: its sleep reaches into it.
    fn throttle(&self, pid: i32, span: Span) -> Option<&Throttle> {
        let throttles = self.known.line.tasks.get(&pid)?.throttles.as_slice();
        let after = throttles.partition_point(|one| one.begin_ns <= span.end_ns);
        let last = throttles.get(after.checked_sub(1)?)?;
        let until_ns = last.begin_ns + last.pause_ms * 1_000_000 + LATE_NS;
        (until_ns >= span.begin_ns).then_some(last)
    }

    /// Which limit it is. The event has only numbers of the whole machine: below half way between
    /// the limits of background and of writers nobody is throttled for the machine's sake, so it is
    /// the device's or the group's (mm/page-writeback.c, `dirty_freerun_ceiling`).
    ///
    /// Without an event it is concluded, and so is a group's limit: that is one only if its group has a limit
    /// of memory.
    pub(super) fn dirty_limit(&self, pid: i32, span: Span) -> (Cause, Evidence) {
        let Some(one) = self.throttle(pid, span) else {
            return (Cause::DirtyLimitGlobal, Evidence::Absence);
        };
        let cause = self.limit_of_event(one);
        let known_by = match cause {
            Cause::DirtyLimitGroup if self.known.has_memory_limit(pid) => {
                Evidence::AbsenceAndSetting
            }
            Cause::DirtyLimitGroup => Evidence::Absence,
            _ => Evidence::Stack,
        };
        (cause, known_by)
    }

    fn limit_of_event(&self, one: &Throttle) -> Cause {
        let free_run = (2 * one.setpoint).saturating_sub(one.limit);
        if one.dirty >= free_run {
            return Cause::DirtyLimitGlobal;
        }
        let strict = format!("/sys/class/bdi/{}/strict_limit", one.bdi);
        let max = format!("/sys/class/bdi/{}/max_bytes", one.bdi);
        // It may have been set or lifted within the trace.
        let at_begin = |path: &str| self.known.facts.get(path).map(|text| text.trim().to_owned());
        let fact = |path: &str| self.known.fact(path).map(|text| text.trim().to_owned());
        match at_begin(&strict).filter(|text| text == "1").or_else(|| fact(&strict)).as_deref() {
            Some("1") => Cause::DirtyLimitDevice,
            // Limits were set after the recording began, or the file is not there.
            Some(_)
                if fact(&max).is_some_and(|max| max != "0")
                    && one.device_setpoint * 4 < free_run =>
            {
                Cause::DirtyLimitDevice
            }
            Some("0") => Cause::DirtyLimitGroup,
            _ => Cause::DirtyLimitDevice,
        }
    }

    pub(super) fn limit_evidence(&self, pid: i32, span: Span) -> String {
        let Some(one) = self.throttle(pid, span) else {
            return "no event of balance_dirty_pages was recorded".to_owned();
        };
        format!(
            "bdi {}: {:.0} MB of it dirty (its share of the limit {:.0} MB), machine {:.0} of {:.0} MB; \
             the task was allowed {} KB/s",
            one.bdi,
            one.device_dirty as f64 * PAGE_MB,
            one.device_setpoint as f64 * PAGE_MB,
            one.dirty as f64 * PAGE_MB,
            one.limit as f64 * PAGE_MB,
            one.task_rate_kbs,
        )
    }

    /// Why dirty data does not fall: the flusher waits, or the disk takes no more.
    pub(super) fn behind_limit(&mut self, pid: i32, span: Span) -> Vec<Node> {
        let mut flushers: Vec<(u64, i32)> = Vec::new();
        for flusher in &self.known.flushers {
            let Some(task) = self.known.line.tasks.get(flusher) else { continue };
            self.looked(1);
            let from = task
                .waits
                .partition_point(|wait| wait.end_ns.is_some_and(|end_ns| end_ns <= span.begin_ns));
            let within = task.waits[from..].iter().take_while(|wait| wait.begin_ns < span.end_ns);
            let slept = within.inspect(|_| self.looked(1)).filter(|wait| {
                wait.kind == WaitKind::Sleep
                    && self.known.place(wait.stack).is_some_and(|place| place.is_flusher)
            });
            let end_ns = self.known.line.end_ns;
            let ns: u64 = slept
                .map(|wait| {
                    let whole =
                        Span { begin_ns: wait.begin_ns, end_ns: wait.end_ns.unwrap_or(end_ns) };
                    whole.within(span).ns()
                })
                .sum();
            if ns > 0 {
                flushers.push((ns, *flusher));
            }
        }
        flushers.sort_unstable_by(|a, b| b.cmp(a));
        let mut nodes = Vec::new();
        for (_, flusher) in flushers.into_iter().take(FLUSHERS_MAX) {
            nodes.extend(self.waits(flusher, span));
        }
        let about = self.throttle(pid, span).and_then(|one| {
            let bdi = one.bdi.to_string();
            let (major, minor) = bdi.split_once(':')?;
            Some(Device::new(major.parse().ok()?, minor.parse().ok()?))
        });
        // What is no wait of the flusher is the disk's work.
        let whole = crate::timeline::Wait {
            kind: WaitKind::Sleep,
            begin_ns: span.begin_ns,
            woken_ns: None,
            end_ns: Some(span.end_ns),
            stack: None,
            waker: None,
            next_pid: None,
            processor: crate::timeline::Processor::default(),
        };
        let of_flushers: u64 = nodes.iter().map(|node| node.ns).max().unwrap_or(0);
        if of_flushers < span.ns() / 2
            && let Some(mut disk) = self.writes(pid, span, &whole, about)
            // Writers are held to a rate: that the disk was idle meanwhile leaves nothing unexplained.
            && disk.known_by != Evidence::Absence
        {
            disk.ns = span.ns().saturating_sub(of_flushers);
            // That writers are held back is a limit of dirty data, whoever has the disk.
            if disk.cause == Cause::DeviceQueue {
                disk.cause = Cause::Device;
            }
            nodes.push(disk);
        }
        merge(nodes)
    }

    /// Which transactions were committed within a time, and how full the journal was.
    pub(super) fn journal_evidence(&self, device: Device, span: Span) -> String {
        let Some(journal) = self.known.line.journals.get(&device) else { return String::new() };
        let mut text = format!("journal of {}", self.known.device_name(device));
        let overlaps = |one: &&crate::timeline::Transaction| {
            one.commit_ns.is_some_and(|begin_ns| begin_ns < span.end_ns)
                && one.end_ns.is_none_or(|end_ns| end_ns > span.begin_ns)
        };
        let near = self.known.index.commits(&self.known.line, device, (span.begin_ns, span.end_ns));
        // Of equally long ones the last.
        let longest = near.inspect(|_| self.looked(1)).filter(overlaps).max_by_key(|one| {
            let end_ns = one.end_ns.unwrap_or(span.end_ns);
            (end_ns.saturating_sub(one.commit_ns.unwrap_or(0)), one.tid)
        });
        if let Some(one) = longest {
            let commit_ns = one.commit_ns.unwrap_or(span.begin_ns);
            let took_ns = one.end_ns.unwrap_or(self.known.line.end_ns).saturating_sub(commit_ns);
            let _ =
                write!(text, ": the commit of transaction {} took {}", one.tid, duration(took_ns));
            if let (Some(locking_ns), Some(flushing_ns)) = (one.locking_ns, one.flushing_ns) {
                let locked_ns = flushing_ns.saturating_sub(locking_ns);
                let _ = write!(text, " ({} of it locked)", duration(locked_ns));
            }
            if let Some(stats) = &one.stats {
                let _ = write!(text, ", {} handles, {} blocks", stats.handles, stats.blocks_logged);
            }
        }
        let near = journal.samples.partition_point(|sample| sample.time_ns <= span.end_ns);
        if let Some(sample) = near.checked_sub(1).and_then(|index| journal.samples.get(index)) {
            let _ = write!(
                text,
                ", {} of {} journal blocks free",
                sample.free_blocks, sample.total_blocks
            );
        }
        text
    }

    pub(super) fn ordered_evidence(&self, device: Device, span: Span) -> String {
        let known = self.known;
        let committing = known.index.committing(&known.line, device, span.begin_ns);
        let Some(one) = committing else { return String::new() };
        let name = self.known.device_name(device);
        let mut text = format!("transaction {} of {name}: {} files", one.tid, one.data_files);
        if one.data_pages > 0 {
            let mb = one.data_pages as f64 * PAGE_MB;
            let _ = write!(text, ", {} pages ({mb:.1} MB) sent by the commit", one.data_pages);
        }
        text
    }
}
