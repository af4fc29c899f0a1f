//! Limits of I/O that control groups have for a disk, and which of them holds what a task waits for.
//!
//! A limit explains a wait only if it is of the task's group and for the direction of its I/O. In the first
//! version of control groups it holds the tasks of its own group alone (block/blk-throttle.c keeps them flat;
//! measured on 6.18), in the second those of the groups below as well: the recorder lists them so.
//!
//! A thread of the kernel does I/O for others: what it waits for may be of any group. That is told only of a
//! group with a task for whose sake the thread works, else it is said that it may be so.
//!
//! Invariant: a group's limit explains no wait of a task outside of it, of the other direction, or of a time in
//! which it was not set. Held by `a_limit_explains_only_waits_of_its_group_and_direction`,
//! `a_limit_explains_only_waits_of_its_time`.

use super::chain::{Span, Walk};
use super::io::For;
use super::members::{Member, Members};
use super::stands::{AT_END, device_of};
use super::{Cause, Knowledge, history};
use crate::record::Device;
use crate::timeline::{Timeline, Wait};
use std::collections::{BTreeMap, BTreeSet};

/// Where control groups are.
pub(super) const GROUPS: &str = "/sys/fs/cgroup/";
/// What a request has if nobody saw one: to compare requests a second with bytes a second.
const REQUEST_BYTES: u64 = 64 << 10;

/// The direction of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
}

/// A limit that a group has for a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) device: Device,
    way: Way,
    per_s: u64,
    /// Whether it counts requests, and not bytes.
    counts_requests: bool,
    pub(super) group: String,
    /// Its file, and the line of it.
    pub(super) file: String,
    pub(super) rule: String,
    /// Whether the group had it still when the recording ended, as far as is known.
    pub(super) lasts: bool,
    /// When the group may have had it.
    set: Vec<Span>,
}

/// Limits of all groups, and who is in these.
#[derive(Debug, Default)]
pub(super) struct GroupLimits {
    limits: Vec<Limit>,
    pub(super) members: Members,
    /// Groups with a limit of memory.
    of_memory: BTreeSet<String>,
}

impl GroupLimits {
    pub(super) fn of(facts: &BTreeMap<String, String>, line: &Timeline) -> Self {
        let mut all = Self { members: Members::of(facts, line), ..Self::default() };
        for (path, _) in facts.iter().filter(|(path, _)| path.starts_with(GROUPS)) {
            let file = path.strip_suffix(AT_END).unwrap_or(path);
            if let Some((group, "memory.max" | "memory.high")) = file.rsplit_once('/') {
                all.of_memory.insert(group.to_owned());
            }
        }
        for text in history::of(facts) {
            for mut one in limits_of(text.file, text.text) {
                (one.lasts, one.set) = (text.is_last, vec![text.span]);
                let is_same = |same: &&mut Limit| {
                    (&same.file, &same.rule, same.way, same.counts_requests)
                        == (&one.file, &one.rule, one.way, one.counts_requests)
                };
                match all.limits.iter_mut().find(is_same) {
                    Some(same) => {
                        same.lasts |= text.is_last;
                        same.set.push(text.span);
                    }
                    None => all.limits.push(one),
                }
            }
        }
        all
    }

    /// All limits.
    pub(super) fn all(&self) -> impl Iterator<Item = &Limit> {
        self.limits.iter()
    }
}

impl Limit {
    /// In a sentence.
    pub(super) fn told(&self) -> String {
        let has = if self.lasts { "has" } else { "had" };
        format!("{} {has} \"{}\"", self.file, self.rule)
    }

    /// Whether the group may have had it at some time within this one.
    fn is_set_within(&self, span: Span) -> bool {
        let overlaps = |set: &Span| set.begin_ns <= span.end_ns && set.end_ns >= span.begin_ns;
        self.set.iter().any(overlaps)
    }

    /// Bytes a second that it lets through, of requests as large as these.
    fn bytes_per_s(&self, request_bytes: u64) -> u64 {
        let each = if self.counts_requests { request_bytes } else { 1 };
        self.per_s.saturating_mul(each)
    }

    /// Whether it holds tasks of a group, where its own group has this path.
    pub(super) fn holds(&self, own: &str, group: &str) -> bool {
        let is_below = |rest: &str| own == "/" || rest.starts_with('/');
        own == group || self.is_v2() && group.strip_prefix(own).is_some_and(is_below)
    }

    fn is_v2(&self) -> bool {
        self.file.ends_with("/io.max")
    }

    pub(super) fn is_of_root(&self) -> bool {
        ["/sys/fs/cgroup", "/sys/fs/cgroup/blkio", "/sys/fs/cgroup/unified"]
            .contains(&self.group.as_str())
    }
}

/// Limits in a file of a group: `8:0 1048576` a line (v1), `8:0 rbps=max wbps=1048576 ..` (v2).
fn limits_of(file: &str, text: &str) -> Vec<Limit> {
    const V1: [(&str, &str); 4] = [
        ("blkio.throttle.read_bps_device", "rbps"),
        ("blkio.throttle.write_bps_device", "wbps"),
        ("blkio.throttle.read_iops_device", "riops"),
        ("blkio.throttle.write_iops_device", "wiops"),
    ];
    let Some((group, name)) = file.rsplit_once('/') else { return Vec::new() };
    let key_of_file = V1.iter().find(|(one, _)| *one == name).map(|(_, key)| *key);
    if key_of_file.is_none() && name != "io.max" {
        return Vec::new();
    }
    let mut limits = Vec::new();
    for line in text.lines() {
        let Some((device, rest)) = line.split_once(' ') else { continue };
        let Some(device) = device_of(device) else { continue };
        let words: Vec<&str> =
            rest.split_whitespace().filter(|word| !word.ends_with("=max")).collect();
        let rule = format!("{device} {}", words.join(" "));
        for word in words {
            let pair = key_of_file.map(|key| (key, word)).or_else(|| word.split_once('='));
            let Some((key, per_s)) = pair else { continue };
            let Some(per_s) = per_s.parse().ok().filter(|per_s| *per_s > 0) else { continue };
            let (way, counts_requests) = match key {
                "rbps" => (Way::Read, false),
                "wbps" => (Way::Write, false),
                "riops" => (Way::Read, true),
                "wiops" => (Way::Write, true),
                _ => continue,
            };
            let (group, file, rule) = (group.to_owned(), file.to_owned(), rule.clone());
            let (lasts, set) = (false, Vec::new());
            let limit =
                Limit { device, way, per_s, counts_requests, group, file, rule, lasts, set };
            limits.push(limit);
        }
    }
    limits
}

impl Knowledge {
    /// Whether a task was seen in a group that has a limit of memory.
    pub(super) fn has_memory_limit(&self, pid: i32) -> bool {
        let GroupLimits { members, of_memory, .. } = &self.group_limits;
        members.is_in_any(pid, of_memory)
    }
}

/// A limit that fits, and whether nothing else does.
pub(super) struct Fits<'a> {
    pub(super) limit: &'a Limit,
    pub(super) is_sure: bool,
}

impl<'a> Walk<'a> {
    /// The limit that holds what a task waits for, of several the tightest; None: none fits. What has not come to
    /// a disk may be held back on one that stands on it.
    pub(super) fn group_limit(
        &self,
        device: Device,
        asked: For,
        request_bytes: Option<u64>,
    ) -> Option<Fits<'a>> {
        let known = self.known;
        let For { pid, way, span, about, .. } = asked;
        let for_whom = self.for_whom(pid, span);
        let serves_others = known.is_kernels(pid)
            || self
                .call_of(pid, span.begin_ns)
                .is_some_and(|call| matches!(call, "sync" | "syncfs"));
        let mut best: Option<(Member, &Limit)> = None;
        let mut is_doubtful = way.is_none();
        let bytes = request_bytes.unwrap_or(REQUEST_BYTES);
        for limit in known.group_limits.all() {
            self.looked(1);
            let is_here = limit.device == device;
            // One that has requests of its own is judged by them.
            let is_above = || {
                !known.line.disks.contains_key(&limit.device)
                    && self.all_below(limit.device).contains(&device)
            };
            if !is_here && !is_above()
                || way.is_some_and(|way| way != limit.way)
                || !limit.is_set_within(span)
            {
                continue;
            }
            self.looked(for_whom.len() as u64);
            let member =
                for_whom.iter().map(|task| known.is_in_group(limit, *task, span.begin_ns)).max();
            let member = member.filter(|one| *one != Member::No || !serves_others);
            let mut member = member.unwrap_or(Member::Unknown);
            if member != Member::No && !is_here && !self.came_through(limit.device, device, about) {
                member = Member::Unknown;
            }
            is_doubtful |= member == Member::Unknown;
            let rank = |member: Member| member.min(Member::ByParent);
            let is_better = best.is_none_or(|(of, before)| {
                rank(member) > rank(of)
                    || rank(member) == rank(of)
                        && limit.bytes_per_s(bytes) < before.bytes_per_s(bytes)
            });
            if member != Member::No && is_better {
                best = Some((member, limit));
            }
        }
        let (member, limit) = best?;
        let is_sure = match member {
            // Another limit of its group would not make this one untrue.
            Member::Yes => way.is_some(),
            Member::ByParent => !is_doubtful,
            Member::Unknown | Member::No => false,
        };
        Some(Fits { limit, is_sure })
    }

    /// A task, and of a thread of the kernel those for whose sake it works: who waits for it, and who has a
    /// handle of the transaction that it commits.
    fn for_whom(&self, pid: i32, span: Span) -> BTreeSet<i32> {
        let known = self.known;
        let mut tasks = BTreeSet::from([pid]);
        if known.is_kernels(pid) {
            tasks.extend(&self.path);
            let device = known.index.journal_of_thread(pid);
            let committing = device.and_then(|device| {
                Some((device, known.index.committing(&known.line, device, span.begin_ns)?.tid))
            });
            if let Some((device, tid)) = committing {
                let owners = known.index.handles(&known.line, device, tid);
                tasks.extend(owners.inspect(|_| self.looked(1)).map(|(owner, _)| owner));
            }
        }
        tasks
    }

    /// The direction of the I/O that a wait is for, as its stack and its call tell.
    pub(super) fn way_of(&self, pid: i32, wait: &Wait, span: Span) -> Option<Way> {
        let place = self.known.place(wait.stack)?;
        match place.layers.last().map(|layer| layer.cause) {
            Some(Cause::MetadataRead | Cause::DataRead) => Some(Way::Read),
            Some(
                Cause::Writeback
                | Cause::OrderedData
                | Cause::JournalWrite
                | Cause::JournalBuffer
                | Cause::LogSpace
                | Cause::Flush,
            ) => Some(Way::Write),
            Some(Cause::DirectIo) => match self.call_of(pid, span.begin_ns)? {
                "read" | "pread64" | "readv" | "preadv" | "preadv2" => Some(Way::Read),
                "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => Some(Way::Write),
                _ => None,
            },
            _ if place.is_commit || place.is_flusher => Some(Way::Write),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_that_limit() {
        let facts = [
            (
                "/sys/fs/cgroup/a/io.max",
                "7:0 rbps=max wbps=1048576 riops=max wiops=20\n7:1 rbps=max",
            ),
            ("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "7:2 4096\n7:3 9\nx"),
            ("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device at the end", "7:2 4096"),
            ("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", ""),
            ("hangs at the end", "at 5"),
        ];
        let facts = facts.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let all = GroupLimits::of(&facts, &Timeline::default());
        let of = |minor| {
            let told = all.all().filter(|one| one.device == Device::new(7, minor));
            told.map(|one| (one.told(), one.way, one.per_s, one.lasts)).collect::<Vec<_>>()
        };
        let rule = "/sys/fs/cgroup/a/io.max had \"7:0 wbps=1048576 wiops=20\"".to_owned();
        assert_eq!(
            of(0),
            [(rule.clone(), Way::Write, 1_048_576, false), (rule, Way::Write, 20, false)]
        );
        assert_eq!(of(1), []);
        let file = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device";
        assert_eq!(of(2), [(format!("{file} has \"7:2 4096\""), Way::Read, 4_096, true)]);
        assert_eq!(of(3), [(format!("{file} had \"7:3 9\""), Way::Read, 9, false)]);
    }
}
