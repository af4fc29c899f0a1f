//! What shares were asked, what they were, and why they differ.
//!
//! Pure. A weight is a promise among groups that want more than they get: one that asks for less
//! leaves its share to the others, and nothing is wrong. So a share is asked of those only that
//! waited for I/O nearly all the time (*backlogged*).

use crate::cgroup::{Served, Version};
use crate::observe::Queue;
use crate::reach::Running;
use crate::weight::Weight;
use std::collections::BTreeMap;

/// A group that waited for I/O in this part of the samples wants more than it gets, percent.
pub const BACKLOGGED_PERCENT: u32 = 80;
/// What is still as asked, of the ratio.
pub const TOLERANCE: f64 = 0.03;

/// A group on a disk during some time.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSeen {
    /// Its name; `a/b` is `b` in `a`.
    pub name: String,
    /// What was asked.
    pub weight: Weight,
    /// What the controller gave it for the moment, to make good what it lacked.
    pub weight_trimmed: Option<Weight>,
    /// What BFQ says it is, if it says.
    pub weight_read: Option<Weight>,
    /// What it got.
    pub served: Served,
    /// In how many of 100 samples one of its threads waited for I/O.
    pub waiting_percent: u32,
    /// The largest pieces of its I/O, bytes; 0: it is not cut.
    pub piece_bytes: u64,
    /// Its processes.
    pub processes: Vec<Running>,
}

impl GroupSeen {
    /// Whether it wanted more than it got.
    #[must_use]
    pub fn is_backlogged(&self) -> bool {
        self.waiting_percent >= BACKLOGGED_PERCENT
    }
}

/// Shares of 1 that weights ask for among these groups, nested ones of their parent's share. A
/// parent that is not among them has the default weight.
#[must_use]
pub fn asked(groups: &[(&str, Weight)]) -> BTreeMap<String, f64> {
    let mut shares = BTreeMap::new();
    split("", 1.0, groups, groups, &mut shares);
    shares
}

/// Divides `share` among the children of `above` that hold any of `leaves`.
fn split(
    above: &str,
    share: f64,
    leaves: &[(&str, Weight)],
    all: &[(&str, Weight)],
    shares: &mut BTreeMap<String, f64>,
) {
    let mut children: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, _) in leaves {
        let Some(rest) = below(name, above) else { continue };
        let end = name.len() - rest.len() + rest.find('/').unwrap_or(rest.len());
        let child = &name[..end];
        let weight =
            all.iter().find(|(name, _)| *name == child).map_or_else(Weight::default, |one| one.1);
        children.insert(child, f64::from(weight.get()));
    }
    let sum: f64 = children.values().sum();
    for (child, weight) in children {
        let share = share * weight / sum;
        if leaves.iter().any(|(name, _)| *name == child) {
            shares.insert(child.to_owned(), share);
        } else {
            split(child, share, leaves, all, shares);
        }
    }
}

/// The part of `name` below `above`.
fn below<'a>(name: &'a str, above: &str) -> Option<&'a str> {
    if above.is_empty() {
        return Some(name);
    }
    name.strip_prefix(above)?.strip_prefix('/')
}

/// What a group was asked to have and had.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// Of the disk's bytes to groups, of 1; None where it wanted less than its share.
    pub asked: Option<f64>,
    /// Likewise, what it had of the bytes of those that wanted more; of all bytes if it wanted less.
    pub had: f64,
    /// What the two may differ by, as a part of what was asked: [`TOLERANCE`], and one piece of any of
    /// the groups, which may have come just before or after the time that was looked at.
    pub tolerance: f64,
    /// Why the two differ by more than [`TOLERANCE`], or what its share means; empty if all is well.
    pub reasons: Vec<String>,
}

impl Judged {
    /// Whether it had something else than was asked.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.asked.is_some_and(|asked| (self.had / asked - 1.0).abs() > self.tolerance)
    }
}

/// Judges the groups of one disk.
#[must_use]
pub fn judge(queue: &Queue, version: Version, groups: &[GroupSeen]) -> Vec<Judged> {
    let wanting: Vec<&GroupSeen> = groups.iter().filter(|group| group.is_backlogged()).collect();
    let names: Vec<(&str, Weight)> =
        wanting.iter().map(|group| (group.name.as_str(), group.weight)).collect();
    let shares = asked(&names);
    let sum =
        |groups: &[&GroupSeen]| groups.iter().map(|one| one.served.bytes()).sum::<u64>() as f64;
    let (all, of_wanting) = (sum(&groups.iter().collect::<Vec<_>>()), sum(&wanting));
    let largest = wanting.iter().map(|group| group.piece_bytes).max().unwrap_or(0);
    groups
        .iter()
        .map(|group| {
            let asked = shares.get(&group.name).copied();
            let of = if asked.is_some() { of_wanting } else { all };
            let had = group.served.bytes() as f64 / of.max(1.0);
            let expected = asked.unwrap_or(1.0) * of_wanting;
            let tolerance = TOLERANCE + largest as f64 / expected.max(1.0);
            let name = group.name.clone();
            let mut judged = Judged { name, asked, had, tolerance, reasons: Vec::new() };
            judged.reasons = reasons(queue, version, group, judged.differs());
            judged
        })
        .collect()
}

fn reasons(queue: &Queue, version: Version, group: &GroupSeen, differs: bool) -> Vec<String> {
    let mut reasons = Vec::new();
    if queue.scheduler != "bfq" {
        reasons.push(format!(
            "{} has the scheduler {}: only BFQ shares by weight; nobody controls this disk now",
            queue.disk, queue.scheduler
        ));
    }
    let set = group.weight_trimmed.unwrap_or(group.weight);
    if let Some(read) = group.weight_read.filter(|read| *read != set) {
        reasons.push(format!(
            "its weight is {read}, {set} was set: somebody else sets it (systemd's IOWeight is \
             compressed)"
        ));
    }
    if queue.bfq.is_some_and(|bfq| bfq.low_latency != 0) {
        reasons.push("low_latency is on: BFQ raises weights as it likes".to_owned());
    }
    let out: Vec<&Running> = group.processes.iter().filter(|one| !one.reached).collect();
    if differs && let Some(first) = out.first() {
        reasons.push(format!(
            "{} of its {} processes are not reached by the interposer, {} ({}) among them: their \
             large I/O is not cut",
            out.len(),
            group.processes.len(),
            first.name,
            first.pid
        ));
    }
    if let Some(ring) = group.processes.iter().find(|one| one.io_uring) {
        reasons.push(format!(
            "{} ({}) uses io_uring, whose requests are not cut",
            ring.name, ring.pid
        ));
    }
    if !group.is_backlogged() {
        reasons.push(match group.served.bytes() {
            0 if group.processes.is_empty() => "no process is in it".to_owned(),
            0 => "it did no I/O on this disk".to_owned(),
            _ => format!(
                "it waited for I/O in {} % of the time: it wants less than its share",
                group.waiting_percent
            ),
        });
    }
    if version == Version::One && group.served.bytes() == 0 && group.waiting_percent > 0 {
        reasons.push(
            "what it writes through the page cache is written by the kernel for all groups, and \
             version 1 of control groups cannot tell whose it is"
                .to_owned(),
        );
    }
    if differs && reasons.is_empty() {
        reasons.push(
            "no reason is known; what is lacking is made good by weights within seconds, and if they \
             cannot, by smaller pieces"
                .to_owned(),
        );
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Bfq;

    fn weight(weight: u16) -> Weight {
        Weight::new(weight).unwrap()
    }

    fn seen(name: &str, asked: u16, mb: u64, waiting_percent: u32) -> GroupSeen {
        GroupSeen {
            name: name.into(),
            weight: weight(asked),
            weight_trimmed: None,
            weight_read: Some(weight(asked)),
            served: Served { read_bytes: mb << 20, written_bytes: 0 },
            waiting_percent,
            piece_bytes: 1 << 20,
            processes: vec![Running { pid: 7, name: "fio".into(), reached: true, io_uring: false }],
        }
    }

    fn queue() -> Queue {
        let bfq = Some(Bfq { slice_idle_us: 8000, ..Bfq::default() });
        Queue { disk: "sda".into(), scheduler: "bfq".into(), bfq, ..Queue::default() }
    }

    #[test]
    fn nested_groups_divide_their_parents_share() {
        let groups =
            [("a", weight(100)), ("b/x", weight(300)), ("b/y", weight(100)), ("b", weight(100))];
        let shares = asked(&groups[..3]);
        assert_eq!(shares["a"], 0.5);
        assert_eq!((shares["b/x"], shares["b/y"]), (0.375, 0.125));
        assert!(asked(&[]).is_empty());
    }

    #[test]
    fn who_wants_less_is_not_asked_for() {
        let groups = [seen("a", 200, 10, 5), seen("b", 100, 90, 100), seen("c", 100, 90, 99)];
        let judged = judge(&queue(), Version::Two, &groups);
        assert_eq!((judged[0].asked, judged[1].asked), (None, Some(0.5)));
        assert!(judged[0].reasons[0].contains("5 %"), "{:?}", judged[0]);
        assert!(judged[1].reasons.is_empty());
    }

    #[test]
    fn each_reason_is_named() {
        let mut groups = [seen("a", 200, 50, 100), seen("b", 100, 50, 100)];
        groups[0].weight_read = Some(weight(109));
        groups[1].processes[0].reached = false;
        groups[1].processes[0].io_uring = true;
        let mut queue = queue();
        let judged = judge(&queue, Version::One, &groups);
        assert_eq!((judged[0].asked, judged[0].had), (Some(2.0 / 3.0), 0.5));
        assert!(judged[0].reasons[0].contains("weight is 109"));
        assert!(judged[1].reasons.iter().any(|why| why.contains("not reached")));
        assert!(judged[1].reasons.iter().any(|why| why.contains("io_uring")));
        // A weight that the controller gave is nobody else's.
        groups[0].weight_trimmed = Some(weight(109));
        let judged = judge(&queue, Version::One, &groups);
        assert!(!judged[0].reasons.iter().any(|why| why.contains("weight is")), "{judged:?}");
        queue.scheduler = "none".into();
        assert!(judge(&queue, Version::One, &groups)[0].reasons[0].contains("only BFQ"));
        let groups = [seen("a", 200, 50, 100), seen("b", 100, 50, 100)];
        let judged = judge(&self::queue(), Version::One, &groups);
        assert!(judged[1].reasons[0].contains("no reason is known"), "{judged:?}");
    }
}
