//! The one that sets disks up and controls pieces; one at a time on a machine.
//!
//! Who opens the journal of settings first controls all groups of the registry, also those of other
//! processes; when it ends, another one takes over. Its own ends are the journal's: what a killed one
//! left set is put back by the next, and groups whose holders are gone are removed.
//!
//! Invariant: settings are applied once for each disk and never again against somebody who changes
//! them; a disk that vanishes costs its groups their control and nothing else.

use crate::cgroup::Version;
use crate::control::{Control, GroupPeriod, Period};
use crate::error::ShareError;
use crate::journals::Journals;
use crate::observe::{self, Queue};
use crate::pieces::{Cut, Given, PieceFiles, Pieces};
use crate::plan::{self, Remedy};
use crate::registry::{Entry, Registry};
use crate::sampler::{DiskSeen, Sampler};
use crate::weight::Weight;
use baro_tune::{Applied, Journal, OnConflict, Options, Outcome, Report, Setting};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One period of control.
const PERIOD_NS: u64 = 500_000_000;
/// A period with fewer looks, as on a processor that is too busy, goes on, for so many times as long.
const LOOKS: u32 = 8;
const LOOKS_MAX: u64 = 4;
/// Choosing a scheduler gives its parameters, and these may ask for more.
const ROUNDS_MAX: usize = 3;

/// What a controller does.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether the plan's remedies are set; without them only BFQ itself.
    pub remedies: bool,
    /// One request at a time, for programs that cannot be cut.
    pub strict: bool,
    /// How I/O of groups is cut that do not say it themselves.
    pub cut: Cut,
    /// Further files of the queue, as `iosched/fifo_expire_sync`, with values.
    pub set: Vec<(String, String)>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { remedies: true, strict: false, cut: Cut::Auto, set: Vec::new() }
    }
}

/// What was done to a disk's queue.
#[derive(Clone, Debug)]
pub struct Done {
    /// The disk.
    pub disk: String,
    /// What was planned.
    pub remedy: Remedy,
    /// What came of it; Err: why the kernel refused, which is no error of the sharing.
    pub applied: Result<Applied, String>,
}

/// Controls all groups of a registry.
#[derive(Debug)]
pub struct Controller {
    policy: Policy,
    journal: Journal,
    journals: Journals,
    raised: Vec<Result<String, String>>,
    registry: Registry,
    sampler: Sampler,
    /// Disks that were set up.
    disks: BTreeSet<String>,
    /// Disks that could not be, and why.
    refused: BTreeMap<String, ShareError>,
    /// Adopted groups whose weight was set.
    adopted: BTreeSet<PathBuf>,
    controls: BTreeMap<String, Control>,
    /// A disk's largest request as it was found and as it was set last, bytes.
    shortened: BTreeMap<String, (u64, u64)>,
    /// Disks that are given one request at a time, since nothing cheaper kept shares.
    one_by_one: BTreeSet<String>,
    files: BTreeMap<PathBuf, PieceFiles>,
    /// By group, how much large I/O had gone whole.
    whole: BTreeMap<String, u64>,
    done: Vec<Done>,
}

impl Controller {
    /// Takes control, if nobody has it. Puts back what a killed one left, and removes groups whose
    /// holders are gone; the programs in them go on. A disk that cannot be set up is no error of
    /// control, since others' groups go on: see [`Controller::refusal`].
    ///
    /// # Errors
    /// The journal is damaged, or no rights; no hierarchy of control groups.
    pub fn open(
        registry: &Registry,
        state_dir: &Path,
        policy: Policy,
    ) -> Result<Option<(Self, Report)>, ShareError> {
        let Some((mut controller, report)) = Self::take(registry, state_dir, policy)? else {
            return Ok(None);
        };
        controller.set_up()?;
        Ok(Some((controller, report)))
    }

    /// Puts back what a killed one left, if nobody has control, and sets up nothing.
    ///
    /// # Errors
    /// As [`Controller::open`].
    pub fn put_back(registry: &Registry, state_dir: &Path) -> Result<Option<Report>, ShareError> {
        let taken = Self::take(registry, state_dir, Policy::default())?;
        Ok(taken.map(|(controller, report)| {
            drop(controller.close());
            report
        }))
    }

    fn take(
        registry: &Registry,
        state_dir: &Path,
        policy: Policy,
    ) -> Result<Option<(Self, Report)>, ShareError> {
        let options = Options {
            state_dir: state_dir.to_owned(),
            on_conflict: OnConflict::Leave,
            ..Options::default()
        };
        let (journal, report) = match Journal::open(&options) {
            Ok(opened) => opened,
            Err(baro_tune::Error::Held { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let sampler = Sampler::new(registry.clone())?;
        let mut controller = Self {
            policy,
            journal,
            journals: Journals::open(registry.folder()?),
            raised: Vec::new(),
            registry: registry.clone(),
            sampler,
            disks: BTreeSet::new(),
            refused: BTreeMap::new(),
            adopted: BTreeSet::new(),
            controls: BTreeMap::new(),
            shortened: BTreeMap::new(),
            one_by_one: BTreeSet::new(),
            files: BTreeMap::new(),
            whole: BTreeMap::new(),
            done: Vec::new(),
        };
        controller.remove_dead()?;
        Ok(Some((controller, report)))
    }

    /// Why a disk cannot be set up: another owner has its settings, or it has no BFQ.
    #[must_use]
    pub fn refusal(&self, disk: &str) -> Option<&ShareError> {
        self.refused.get(disk)
    }

    /// What was put back, since this was last asked, of other owners who were killed meanwhile.
    pub fn take_undone(&mut self) -> Report {
        self.journal.take_undone()
    }

    /// What has been done to queues since this was last asked.
    pub fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }

    /// Threads of file systems' journals that go first at the disk from now on, or why one does not.
    pub fn take_raised(&mut self) -> Vec<Result<String, String>> {
        std::mem::take(&mut self.raised)
    }

    /// To be called each 50 ms or so: looks whether groups wait, and at the end of a period gives
    /// them new pieces and returns what was seen. Blocks for reading some files of /proc and /sys.
    ///
    /// # Errors
    /// A setting of control groups is refused.
    pub fn tick(&mut self) -> Result<Option<Vec<DiskSeen>>, ShareError> {
        self.sampler.sample();
        let duration_ns = self.sampler.duration_ns();
        let too_few = self.sampler.looks() < LOOKS && duration_ns < LOOKS_MAX * PERIOD_NS;
        if duration_ns < PERIOD_NS || too_few {
            return Ok(None);
        }
        let seen = self.sampler.finish(false);
        self.remove_dead()?;
        self.set_up()?;
        self.control(&seen);
        for disk in &seen {
            self.shorten(&disk.queue);
            self.give_one_by_one(&disk.queue);
        }
        Ok(Some(seen))
    }

    /// Makes requests shorter where a disk turned out to be slow, and as they were where it no longer is.
    fn shorten(&mut self, queue: &Queue) {
        let Some(control) = self.controls.get(&queue.disk).filter(|_| self.policy.remedies) else {
            return;
        };
        let Some(now) = queue.request_bytes else { return };
        let (found, last) = *self.shortened.entry(queue.disk.clone()).or_insert((now, now));
        // Somebody else has changed it since.
        if now != last {
            return;
        }
        let Some(shorter) = plan::shorter_requests(queue, control.best_speed(), found) else {
            return;
        };
        self.shortened.insert(queue.disk.clone(), (found, shorter.bytes));
        for remedy in shorter.remedies {
            let applied = self.journal.apply(&remedy.setting).map_err(|error| error.to_string());
            self.done.push(Done { disk: queue.disk.clone(), remedy, applied });
        }
    }

    fn give_one_by_one(&mut self, queue: &Queue) {
        let wants = self.controls.get(&queue.disk).is_some_and(Control::wants_one_by_one);
        if !wants || !self.policy.remedies || !self.one_by_one.insert(queue.disk.clone()) {
            return;
        }
        if let Some(remedy) = plan::one_by_one(queue) {
            let applied = self.journal.apply(&remedy.setting).map_err(|error| error.to_string());
            self.done.push(Done { disk: queue.disk.clone(), remedy, applied });
        }
    }

    /// What the disks were seen to do, bytes a second.
    #[must_use]
    pub fn speed(&self, disk: &str) -> plan::Speed {
        self.controls.get(disk).map(Control::speed).unwrap_or_default()
    }

    fn remove_dead(&mut self) -> Result<(), ShareError> {
        let entries = self.registry.list();
        let dead = entries.iter().filter(|entry| !entry.alive);
        // Nested ones first: a group that has others in it cannot go.
        let mut dead: Vec<_> = dead.collect();
        dead.sort_by_key(|entry| std::cmp::Reverse(entry.asked.name.len()));
        for entry in dead {
            let hierarchy = self.sampler.hierarchy();
            let whole = entry.asked.adopted.is_none();
            let group = self.sampler.group(entry)?;
            self.registry.origins(entry).put_back(hierarchy, &group, whole);
            if whole && group.exists() && group.remove(&hierarchy.top()).is_err() {
                // Tried again the next time.
                continue;
            }
            self.registry.forget(entry);
        }
        self.files.retain(|dir, _| entries.iter().any(|entry| entry.alive && entry.dir == *dir));
        Ok(())
    }

    /// Sets up disks and groups that are new.
    fn set_up(&mut self) -> Result<(), ShareError> {
        let entries: Vec<_> =
            self.registry.list().into_iter().filter(|entry| entry.alive).collect();
        let disks: BTreeSet<String> =
            entries.iter().flat_map(|entry| entry.asked.disks.iter().cloned()).collect();
        self.refused.retain(|disk, _| disks.contains(disk));
        for disk in disks {
            // Who holds it may have ended; what the kernel refused it refuses again.
            let is_held = |error: &ShareError| error.is_claimed();
            if self.disks.contains(&disk) || self.refused.get(&disk).is_some_and(|e| !is_held(e)) {
                continue;
            }
            match self.set_up_disk(&disk) {
                Ok(()) => {
                    self.refused.remove(&disk);
                    self.disks.insert(disk);
                }
                // Of one disk; the groups on others go on.
                Err(error) => drop(self.refused.insert(disk, error)),
            }
        }
        if self.sampler.version() == Version::Two {
            for setting in self.sampler.hierarchy().settings() {
                self.journal.apply(&setting)?;
            }
        }
        for entry in entries.iter().filter(|entry| entry.asked.adopted.is_some()) {
            let group = self.sampler.group(entry)?;
            let file = group.weight_file();
            if !group.exists() {
                // Its unit does not run; the next one has a new group of the same name.
                self.adopted.remove(&file);
            } else if self.adopted.insert(file.clone())
                && let Err(error) = self.journal.apply(&group.weight_setting(entry.asked.weight))
            {
                // Of one group; the others go on.
                self.raised.push(Err(format!(
                    "group {}: it has no weight: {error}; of a service, IOAccounting=yes in its unit and \
                     in those of the slices above it makes the file",
                    entry.asked.name
                )));
            }
        }
        Ok(())
    }

    fn set_up_disk(&mut self, disk: &str) -> Result<(), ShareError> {
        let root = Path::new("/");
        // Also where nothing is to be set: what is right now must stay so.
        self.journal.claim_disk(disk)?;
        for round in 0..ROUNDS_MAX {
            let queue = observe::queue(root, disk)?;
            let without_bfq = queue.bfq.is_none();
            let mut remedies = plan::plan(&queue);
            if !without_bfq {
                let buffered = plan::write_back(&queue);
                remedies.extend(buffered.filter(|_| self.sampler.version() == Version::One));
                remedies.retain(|_| self.policy.remedies);
                remedies.extend(plan::strict(&queue).filter(|_| self.policy.strict));
            }
            if remedies.is_empty() {
                break;
            }
            for remedy in remedies {
                let applied = self.journal.apply(&remedy.setting);
                if without_bfq
                    && applied.as_ref().map_or(true, |one| one.outcome == Outcome::Ignored)
                {
                    let schedulers = queue.schedulers.join(" ");
                    return Err(ShareError::Refused(format!(
                        "{disk}: this kernel gives it no BFQ: expected bfq among its schedulers, \
                         found {schedulers}; `modprobe bfq`, or a kernel with CONFIG_IOSCHED_BFQ"
                    )));
                }
                let applied = applied.map_err(|error| error.to_string());
                if round == 0 || applied.is_ok() {
                    self.done.push(Done { disk: disk.to_owned(), remedy, applied });
                }
            }
        }
        if self.policy.remedies {
            self.raised.extend(self.journals.raise(root, disk));
        }
        for (file, value) in self.policy.set.clone() {
            let path = format!("/sys/block/{disk}/queue/{file}");
            self.journal.apply(&Setting::new(path, value))?;
        }
        Ok(())
    }

    /// Gives every group its pieces, of several disks the smallest, and its weight.
    fn control(&mut self, seen: &[DiskSeen]) {
        let mut pieces: BTreeMap<String, Pieces> = BTreeMap::new();
        let mut weights: BTreeMap<String, Weight> = BTreeMap::new();
        let uncut = self.uncut();
        let trimmable = self.sampler.entries().filter(|entry| self.is_trimmable(entry));
        let trimmable: BTreeSet<String> = trimmable.map(|entry| entry.asked.name.clone()).collect();
        for disk in seen {
            let groups = disk.groups.iter().map(|group| GroupPeriod {
                name: group.name.clone(),
                weight: group.weight,
                served: group.served,
                backlogged: group.is_backlogged(),
                uncut: uncut.contains(&group.name),
                trimmable: trimmable.contains(&group.name),
            });
            let period =
                Period { duration_ns: disk.duration_ns, work: disk.work, groups: groups.collect() };
            let control = self.controls.entry(disk.queue.disk.clone()).or_default();
            for (name, new) in control.step(&disk.queue, period) {
                let least = pieces.entry(name).or_insert(new);
                least.read_bytes = least.read_bytes.min(new.read_bytes);
                least.write_bytes = least.write_bytes.min(new.write_bytes);
            }
            // A group has one weight for all its disks: the last of several that ask for another.
            weights.extend(control.trimmed().iter().map(|(name, weight)| (name.clone(), *weight)));
        }
        for entry in self.registry.list().into_iter().filter(|entry| entry.alive) {
            let cut = self.cut_of(&entry);
            let planned = pieces.get(&entry.asked.name).filter(|_| cut == Cut::Auto).copied();
            let sizes = planned.unwrap_or_else(|| cut.first());
            if !self.files.contains_key(&entry.dir)
                && let Ok(files) = PieceFiles::open(&entry.dir)
            {
                self.files.insert(entry.dir.clone(), files);
            }
            if let Some(files) = self.files.get(&entry.dir) {
                files.set(sizes);
                self.trim(&entry, files, weights.get(&entry.asked.name).copied());
            }
        }
    }

    fn cut_of(&self, entry: &Entry) -> Cut {
        entry.asked.cut.unwrap_or(self.policy.cut)
    }

    /// The weight of an adopted group is written once, as it must be put back: its siblings' are enough.
    fn is_trimmable(&self, entry: &Entry) -> bool {
        entry.asked.adopted.is_none() && self.cut_of(entry) == Cut::Auto
    }

    /// Gives a group of ours another weight for a while, unless somebody else has given it one.
    fn trim(&self, entry: &Entry, files: &PieceFiles, weight: Option<Weight>) {
        let given = files.weight();
        if given == Given::done(weight) {
            return;
        }
        let asked = entry.asked.weight;
        let Ok(group) = self.sampler.group(entry) else { return };
        let Ok(found) = group.weight() else { return };
        if given.is_ours(asked, found) {
            let before = Some(found).filter(|found| *found != asked);
            // Told first: who is killed in between leaves both, and the next one knows them.
            files.set_weight(Given { now: weight, before });
            // A group that is gone needs none; one that did not take it is tried again.
            if group.set_weight(weight.unwrap_or(asked)).is_ok() {
                files.set_weight(Given::done(weight));
            }
        }
    }

    /// Groups of which large I/O went to the disk whole since the last time.
    fn uncut(&mut self) -> BTreeSet<String> {
        let mut uncut = BTreeSet::new();
        for entry in self.registry.list() {
            let now = match self.files.get(&entry.dir) {
                Some(files) => files.whole(),
                None => PieceFiles::open(&entry.dir).map_or(0, |files| files.whole()),
            };
            if is_new(&mut self.whole, &entry.asked.name, now) {
                uncut.insert(entry.asked.name);
            }
        }
        uncut
    }

    /// Puts all settings back.
    #[must_use]
    pub fn close(mut self) -> Report {
        for entry in self.registry.list().into_iter().filter(|entry| entry.alive) {
            if let Some(files) = self.files.get(&entry.dir) {
                self.trim(&entry, files, None);
            }
        }
        self.journals.put_back();
        self.journal.undo_all(OnConflict::Leave)
    }
}

/// Whether a group's count has changed since the last look. At the first look all of it has: a program
/// may have begun with a large I/O before that, which is counted in the same period.
fn is_new(seen: &mut BTreeMap<String, u64>, name: &str, now: u64) -> bool {
    seen.insert(name.to_owned(), now).unwrap_or(0) != now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_io_that_went_whole_before_the_first_look_is_seen() {
        let mut seen = BTreeMap::new();
        assert!(is_new(&mut seen, "early", 1), "it was taken between the start and the first look");
        assert!(!is_new(&mut seen, "early", 1), "once only");
        assert!(!is_new(&mut seen, "none", 0));
        assert!(is_new(&mut seen, "none", 2));
    }
}
