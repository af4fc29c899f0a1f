//! Looks at all groups and their disks over a time: what each got, and how often it waited.
//!
//! Used by the controller for each of its periods and by `baro share status` for one. Whether a group
//! wants more than it gets is told by samples: a thread of it sleeps uninterruptibly, as in direct
//! I/O, or waits for events of asynchronous I/O.
//!
//! Invariant: reads only. A disk that vanished is left out, its groups stay.

use crate::cgroup::{Group, Hierarchy, Served, Version};
use crate::error::ShareError;
use crate::judge::GroupSeen;
use crate::member::INTERPOSER;
use crate::observe::{self, Queue, Work};
use crate::pieces::{PieceFiles, Pieces};
use crate::reach;
use crate::registry::{Entry, Registry};
use baro_sys::clock;
use baro_sys::task::{self, AtIo};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// More threads of one group than this are not looked at.
const THREADS_MAX: usize = 256;

/// A group whose threads were in user space for this part of the time computes, percent.
const COMPUTES_PERCENT: u64 = 20;
/// In fewer looks than this part of all, percent, nobody is taken for waiting all the time.
const SEEN_PERCENT: u32 = 40;

/// A disk and its groups during some time.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSeen {
    /// Its queue.
    pub queue: Queue,
    /// What it did.
    pub work: Work,
    /// For how long it was looked at, ns.
    pub duration_ns: u64,
    /// Its groups.
    pub groups: Vec<GroupSeen>,
}

/// Looks at groups over and over.
#[derive(Debug)]
pub struct Sampler {
    registry: Registry,
    hierarchy: Hierarchy,
    began_ns: u64,
    works: BTreeMap<String, Work>,
    members: Vec<Seen>,
    samples: u32,
}

#[derive(Debug)]
struct Seen {
    entry: Entry,
    group: Group,
    before: BTreeMap<String, Served>,
    user_ns: u64,
    waited: u32,
    /// Looks that found it on its way.
    ran: u32,
}

impl Seen {
    /// In how many of 100 looks it waited for I/O.
    fn waiting_percent(&self, samples: u32, duration_ns: u64) -> u32 {
        let user_ns = user_ns(&self.group).saturating_sub(self.user_ns);
        let computes = user_ns.saturating_mul(100) >= duration_ns.saturating_mul(COMPUTES_PERCENT);
        let skipped = if computes { 0 } else { self.ran };
        waiting_percent(self.waited, skipped, samples)
    }
}

/// `waited` of `samples` looks, without those `skipped` if enough of all are left.
fn waiting_percent(waited: u32, skipped: u32, samples: u32) -> u32 {
    let of = |looks: u32| waited.saturating_mul(100) / looks.max(1);
    match of(samples) >= SEEN_PERCENT {
        true => of(samples.saturating_sub(skipped)).min(100),
        false => of(samples),
    }
}

fn user_ns(group: &Group) -> u64 {
    group.processes().into_iter().map(task::user_ns).fold(0, u64::saturating_add)
}

impl Sampler {
    /// Begins with the groups that are there now.
    ///
    /// # Errors
    /// No hierarchy of control groups.
    pub fn new(registry: Registry) -> Result<Self, ShareError> {
        let hierarchy = Hierarchy::find(Path::new("/"))?;
        let mut sampler = Self {
            registry,
            hierarchy,
            began_ns: 0,
            works: BTreeMap::new(),
            members: Vec::new(),
            samples: 0,
        };
        sampler.begin();
        Ok(sampler)
    }

    /// Which control groups there are.
    #[must_use]
    pub fn version(&self) -> Version {
        self.hierarchy.version()
    }

    /// The hierarchy of control groups.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The groups of this period.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.members.iter().map(|seen| &seen.entry)
    }

    /// The control group of an entry.
    ///
    /// # Errors
    /// One that was adopted is gone.
    pub fn group(&self, entry: &Entry) -> Result<Group, ShareError> {
        match &entry.asked.adopted {
            Some(path) => self.hierarchy.adopted(path),
            None => self.hierarchy.group(&entry.asked.name),
        }
    }

    fn begin(&mut self) {
        self.began_ns = clock::monotonic_ns();
        self.samples = 0;
        let living = self.registry.list().into_iter().filter(|entry| entry.alive);
        let mut members = Vec::new();
        for entry in living {
            if let Ok(group) = self.group(&entry) {
                let before = group.served();
                let user_ns = user_ns(&group);
                members.push(Seen { entry, group, before, user_ns, waited: 0, ran: 0 });
            }
        }
        self.members = members;
        let disks = self.disks();
        let work = |disk: &String| Some((disk.clone(), observe::work(Path::new("/"), disk).ok()?));
        self.works = disks.iter().filter_map(work).collect();
    }

    fn disks(&self) -> BTreeSet<String> {
        self.members.iter().flat_map(|seen| seen.entry.asked.disks.iter().cloned()).collect()
    }

    /// Looks once whether each group waits for I/O now.
    pub fn sample(&mut self) {
        self.samples += 1;
        for seen in &mut self.members {
            let threads = seen.group.processes().into_iter().flat_map(task::thread_ids);
            let mut runs = false;
            let waits = threads.take(THREADS_MAX).map(task::at_io).any(|at| {
                runs |= at == AtIo::Runs;
                at == AtIo::Waits
            });
            seen.waited += u32::from(waits);
            seen.ran += u32::from(runs && !waits);
        }
    }

    /// How often it was looked in this period.
    #[must_use]
    pub fn looks(&self) -> u32 {
        self.samples
    }

    /// How long ago this period began, ns.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.began_ns)
    }

    /// What was seen since the last time, and begins anew. `with_processes`: look at each process too.
    pub fn finish(&mut self, with_processes: bool) -> Vec<DiskSeen> {
        let duration_ns = self.duration_ns();
        let mut disks = Vec::new();
        for disk in self.disks() {
            let root = Path::new("/");
            let (Ok(queue), Ok(work)) = (observe::queue(root, &disk), observe::work(root, &disk))
            else {
                continue;
            };
            let before = self.works.get(&disk).copied().unwrap_or(work);
            let on = |seen: &&Seen| seen.entry.asked.disks.contains(&disk);
            let groups = self.members.iter().filter(on).map(|seen| {
                let served = seen.group.served().get(&queue.number).copied().unwrap_or_default();
                let first = seen.before.get(&queue.number).copied().unwrap_or_default();
                let files = PieceFiles::open(&seen.entry.dir).ok();
                let pids = if with_processes { seen.group.processes() } else { Vec::new() };
                GroupSeen {
                    name: seen.entry.asked.name.clone(),
                    weight: seen.entry.asked.weight,
                    processes: pids
                        .into_iter()
                        .filter_map(|pid| reach::running(pid, INTERPOSER, files.as_ref()))
                        .collect(),
                    weight_trimmed: files.as_ref().and_then(|files| files.weight().now),
                    weight_read: seen.group.weight().ok(),
                    served: served.since(first),
                    piece_bytes: files.map_or(0, |files| {
                        let Pieces { read_bytes, write_bytes } = files.get();
                        read_bytes.max(write_bytes)
                    }),
                    waiting_percent: seen.waiting_percent(self.samples, duration_ns),
                }
            });
            let groups = groups.collect();
            disks.push(DiskSeen { work: work.since(before), queue, duration_ns, groups });
        }
        self.begin();
        disks
    }
}

#[cfg(test)]
mod tests {
    use super::waiting_percent;

    #[test]
    fn looks_that_find_a_group_on_its_way_say_little() {
        assert_eq!(waiting_percent(10, 0, 10), 100);
        // Woken at the same moments as who looks: of the others all found it waiting.
        assert_eq!(waiting_percent(6, 4, 10), 100);
        assert_eq!(waiting_percent(6, 2, 10), 75);
        // Hardly ever seen to wait: it copies from memory, say.
        assert_eq!(waiting_percent(3, 7, 10), 30);
        assert_eq!((waiting_percent(0, 0, 0), waiting_percent(u32::MAX, 9, 3)), (0, 100));
    }
}
