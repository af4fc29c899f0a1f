//! A disk that is shared for the time of one cell: groups with weights, programs in them, and the
//! controller of the library, all in this process.
//!
//! Rates are the kernel's own count for each group between two moments, as `baro share` takes them; of
//! large I/Os between the begins of whole ones. Where a moment matters, completions are counted instead.
//!
//! Invariant: when a session ends, its programs have ended, its groups are gone, and settings are as
//! found; what is written but not on the disk yet is not waited for. Held by
//! `two_cells_are_measured_and_nothing_is_left` in `tests/bench_share.rs`.

use super::completed::Completed;
use super::moment::{Moment, whole};
use super::row::{Case, Figures, Load, NESTED, Task};
use super::setting::Setting;
use super::site::Site;
use super::{fio, refused};
use baro_bench::error::BenchError;
use baro_command::say;
use baro_share::member::find_interposer;
use baro_share::pieces::PieceFiles;
use baro_share::{Asked, Controller, Member, MemberSpec, Weight};
use baro_sys::{clock, termination};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const TICK_NS: u64 = 50_000_000;
/// An I/O of 100 MB on a slow disk that is shared, several times.
const END_NS: u64 = 60_000_000_000;
const SIGINT: i32 = 2;
/// Programs have begun, and a control has seen a few periods.
pub(super) const WARM_UP_NS: u64 = 3_000_000_000;
/// No longer than this for a first I/O.
const WARM_UP_MAX_NS: u64 = 30_000_000_000;
/// I/Os from this size on are counted whole.
const LARGE_BYTES: u64 = 8 << 20;
/// So many at least...
const WHOLE_MIN: u64 = 2;
/// ...unless that takes longer.
const WHOLE_MAX_NS: u64 = 60_000_000_000;

/// A program in a group.
#[derive(Debug)]
struct Running {
    child: Child,
    group: usize,
    load: Option<Load>,
}

/// Groups on a disk.
#[derive(Debug)]
pub(super) struct Session<'a> {
    site: &'a Site,
    stop: &'a AtomicBool,
    running: Vec<Running>,
    members: Vec<Member>,
    /// The group that others are within.
    above: Option<Member>,
    controller: Option<Controller>,
    notes: Vec<String>,
    /// Each tick since the warm-up.
    seen: Vec<Moment>,
    /// Counts instead of the groups.
    completed: Option<Completed>,
}

impl<'a> Session<'a> {
    /// Makes the groups of a case and sets the disk.
    ///
    /// # Errors
    /// No BFQ, no control groups of block devices, or the kernel refuses a setting.
    pub(super) fn begin(
        site: &'a Site,
        case: &Case,
        stop: &'a AtomicBool,
    ) -> Result<Self, BenchError> {
        let mut session = Self {
            site,
            stop,
            running: Vec::new(),
            members: Vec::new(),
            above: None,
            controller: None,
            notes: Vec::new(),
            seen: Vec::new(),
            completed: None,
        };
        let interposer = find_interposer().filter(|_| case.setting.cuts());
        if case.setting.cuts() && interposer.is_none() {
            session.notes.push("nothing was cut: the interposer is not beside baro".to_owned());
        }
        let own = format!("bench-{}", std::process::id());
        let enter = |name: String, weight: u16| -> Result<Member, BenchError> {
            let disks = vec![site.disk.clone()];
            let weight = kernel_weight(weight)?;
            let asked = Asked { name, weight, disks, adopted: None, cut: None };
            let spec = MemberSpec { asked, interposer: interposer.clone() };
            Member::enter(site.registry(), spec).map_err(refused)
        };
        let nested = if case.task == Task::Nested { NESTED } else { 0..0 };
        if let Some(within) = case.weights.get(nested.clone()).filter(|within| !within.is_empty()) {
            session.above = Some(enter(format!("{own}-in"), within.iter().sum())?);
        }
        for (index, weight) in case.weights.iter().enumerate() {
            let above = if nested.contains(&index) { format!("{own}-in/") } else { String::new() };
            session.members.push(enter(format!("{above}{own}-{index}"), *weight)?);
        }
        let opened = Controller::open(site.registry(), &site.state_dir(), case.setting.policy())
            .map_err(refused)?;
        let Some((mut controller, _)) = opened else {
            return Err(BenchError::Refused("the settings of this run are held twice".to_owned()));
        };
        if let Some(error) = controller.refusal(&site.disk) {
            return Err(BenchError::Refused(error.to_string()));
        }
        for done in controller.take_done() {
            if let Err(refused) = done.applied {
                session.notes.push(format!("{} is not set: {refused}", done.remedy.key));
            }
        }
        session.controller = Some(controller);
        for member in session.above.iter_mut().chain(&mut session.members) {
            member.make().map_err(refused)?;
        }
        // What the kernel refused without a word would be measured under a wrong name.
        for (file, expected) in case.setting.policy().set {
            let path = format!("/sys/block/{}/queue/{file}", site.disk);
            let found = baro_sys::files::read_text(std::path::Path::new(&path), 4096)?;
            if found.trim() != expected {
                session.notes.push(format!("{file} is {}, not {expected}", found.trim()));
            }
        }
        Ok(session)
    }

    /// From now on moments are of what the disk has completed, where the tracer is to be had; else the
    /// figures say why not.
    pub(super) fn count_completed(&mut self) {
        match Completed::start(self.site, self.members.len()) {
            Ok(completed) => self.completed = Some(completed),
            Err(why) => self.notes.push(format!("counted when submitted, not when done: {why}")),
        }
    }

    /// Ends that, and whether completions were counted, all of them.
    ///
    /// # Errors
    /// Those of reading the tracer.
    pub(super) fn end_completed(&mut self, figures: &mut Figures) -> Result<bool, BenchError> {
        let Some(completed) = self.completed.take() else { return Ok(false) };
        let lost = completed.finish()?;
        if lost > 0 {
            figures.notes.push(format!("{lost} events of the tracer were lost"));
        }
        Ok(lost == 0)
    }

    /// Starts fio in a group, on the group's file.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn load(&mut self, group: usize, load: Load) -> Result<(), BenchError> {
        let file = self.site.file(group);
        if !load.direct {
            self.site.drop_cached(&file)?;
        }
        let command = fio::command(load, &file, self.site.file_bytes);
        let child = self.start(group, command)?;
        self.running.push(Running { child, group, load: Some(load) });
        Ok(())
    }

    /// Starts a program in a group; whoever asked looks after its end.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(
        &mut self,
        group: usize,
        mut command: Command,
    ) -> Result<Child, BenchError> {
        let member = self.members.get_mut(group).ok_or_else(|| no_group(group))?;
        let (child, why_not) = member.start(&mut command).map_err(refused)?;
        if let Some(why) = why_not
            && !self.notes.contains(&why)
        {
            self.notes.push(why);
        }
        Ok(child)
    }

    /// Lets the controller work until `end_ns`; `look` is called at each of its ticks.
    ///
    /// # Errors
    /// A load ended by itself, the disk vanished, or [`BenchError::Stopped`].
    pub(super) fn run_until(
        &mut self,
        end_ns: u64,
        look: &mut dyn FnMut(&Moment) -> bool,
    ) -> Result<(), BenchError> {
        loop {
            let now_ns = clock::monotonic_ns();
            if self.stop.load(Relaxed) {
                return Err(BenchError::Stopped);
            }
            if let Some(controller) = &mut self.controller {
                controller.tick().map_err(refused)?;
            }
            if let Some(completed) = &mut self.completed {
                completed.drain()?;
            }
            for running in &mut self.running {
                if let Ok(Some(status)) = running.child.try_wait() {
                    // A Ctrl-C is for fio too.
                    if termination::requested().is_some() {
                        return Err(BenchError::Stopped);
                    }
                    let mut said = String::new();
                    if let Some(stderr) = running.child.stderr.as_mut() {
                        let _ = std::io::Read::read_to_string(stderr, &mut said);
                    }
                    return Err(BenchError::Refused(format!(
                        "fio: ended before it was told to ({status}): {}",
                        said.trim()
                    )));
                }
            }
            let moment = self.moment();
            self.seen.push(moment.clone());
            if look(&moment) || now_ns >= end_ns {
                return Ok(());
            }
            clock::sleep_ns(TICK_NS.min(end_ns - now_ns));
        }
    }

    /// Runs for so long.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    pub(super) fn run_for(&mut self, duration_ns: u64) -> Result<Moment, BenchError> {
        self.run_until(clock::monotonic_ns() + duration_ns, &mut |_| false)?;
        Ok(self.moment())
    }

    /// Runs until each load is under way: for 3 s, and until what was in the first I/O of each is
    /// served, since a first I/O begins before there are sizes of pieces.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    pub(super) fn warm_up(&mut self) -> Result<Moment, BenchError> {
        let loads: Vec<(usize, u64)> = self
            .running
            .iter()
            .filter_map(|one| Some((one.group, one.load.filter(|load| load.direct)?.block_bytes())))
            .collect();
        let first = self.run_for(WARM_UP_NS)?;
        self.run_until(first.at_ns + WARM_UP_MAX_NS, &mut |moment| {
            let done = |(group, block): &(usize, u64)| {
                moment.bytes.get(*group).is_none_or(|bytes| *bytes > block * 5 / 4)
            };
            loads.iter().all(done)
        })?;
        self.seen.clear();
        Ok(self.moment())
    }

    /// Runs for so long, and until each load past the page cache has done some whole I/Os.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    pub(super) fn run_whole(&mut self, duration_ns: u64) -> Result<(), BenchError> {
        let blocks = self.blocks();
        let first = self.run_for(duration_ns)?;
        let mut seen = self.seen.clone();
        self.run_until(first.at_ns + WHOLE_MAX_NS, &mut |moment| {
            seen.push(moment.clone());
            let enough = |(group, block): (usize, &Option<u64>)| {
                let Some(block) = block.filter(|block| *block >= LARGE_BYTES) else { return true };
                whole(&seen, group, block).is_some_and(|one| one.blocks >= WHOLE_MIN)
            };
            blocks.iter().enumerate().all(enough)
        })
    }

    /// Sizes of the I/Os of each group's load, if that goes past the page cache.
    fn blocks(&self) -> Vec<Option<u64>> {
        let of = |group: usize| {
            let mine = self.running.iter().find(|running| running.group == group)?;
            Some(mine.load.filter(|load| load.direct)?.block_bytes())
        };
        (0..self.members.len()).map(of).collect()
    }

    /// What the groups have got by now.
    pub(super) fn moment(&self) -> Moment {
        if let Some(completed) = &self.completed {
            return Moment { at_ns: clock::monotonic_ns(), bytes: completed.bytes() };
        }
        let bytes = |member: &Member| {
            let served = member.group().served();
            served.get(&self.site.number).copied().unwrap_or_default().bytes()
        };
        Moment { at_ns: clock::monotonic_ns(), bytes: self.members.iter().map(bytes).collect() }
    }

    /// What is said of the groups at this moment: weights, pieces, counters; rates since `before`.
    ///
    /// # Errors
    /// A weight is not to be had: the group or the disk is gone.
    pub(super) fn figures(&self, case: &Case, before: &Moment) -> Result<Figures, BenchError> {
        let now = self.moment();
        let weight = |member: &Member| Ok(member.group().weight()?.get());
        let pieces = |member: &Member| {
            let pieces = PieceFiles::open(member.dir()).ok()?.get();
            let writes =
                case.load.is_some_and(|load| load.direction == super::row::Direction::Write);
            Some(if writes { pieces.write_bytes } else { pieces.read_bytes })
        };
        let counters = self.members.iter().map(|member| {
            let some = member.counters().into_iter().filter(|(_, count)| *count > 0);
            some.map(|(name, count)| (name.to_owned(), count)).collect()
        });
        let plain = now.rates(before);
        let rates = plain.iter().zip(self.blocks()).enumerate().map(|(group, (plain, block))| {
            let block = block.filter(|block| *block >= LARGE_BYTES);
            let exact = block.and_then(|block| whole(&self.seen, group, block));
            exact.map_or(*plain, |whole| whole.mb_per_s)
        });
        Ok(Figures {
            mb_per_s: rates.collect(),
            fio_mb_per_s: vec![None; self.members.len()],
            weights_read: self
                .members
                .iter()
                .map(weight)
                .collect::<Result<_, baro_share::ShareError>>()
                .map_err(refused)?,
            piece_bytes: case
                .setting
                .cuts()
                .then(|| self.members.iter().map(pieces).collect::<Option<Vec<_>>>())
                .flatten(),
            counters: counters.collect(),
            seconds: now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9,
            late: None,
            settled: None,
            notes: self.notes.clone(),
        })
    }

    /// Ends the loads of a group, or of all, and puts what they say of themselves into `figures`.
    ///
    /// # Errors
    /// One does not end, or says that it failed.
    pub(super) fn end(
        &mut self,
        group: Option<usize>,
        figures: &mut Figures,
    ) -> Result<(), BenchError> {
        let ends = |running: &Running| group.is_none_or(|group| running.group == group);
        for running in self.running.iter().filter(|running| ends(running)) {
            let _ = termination::send(running.child.id(), SIGINT);
        }
        let (ending, staying) = std::mem::take(&mut self.running).into_iter().partition(ends);
        self.running = staying;
        for running in ending {
            let (group, load) = (running.group, running.load);
            let said = self.finish(running.child)?;
            if let (Some(load), Some(rate)) = (load, figures.fio_mb_per_s.get_mut(group)) {
                *rate = Some(fio::rate(&said, load.direction)?);
            }
        }
        Ok(())
    }

    /// Waits for a program that was told to end; the controller goes on meanwhile.
    ///
    /// # Errors
    /// It had to be killed.
    pub(super) fn finish(&mut self, mut child: Child) -> Result<String, BenchError> {
        let deadline_ns = clock::monotonic_ns() + END_NS;
        loop {
            if let Ok(Some(_)) = child.try_wait() {
                break;
            }
            if let Some(controller) = &mut self.controller {
                controller.tick().map_err(refused)?;
            }
            if clock::monotonic_ns() > deadline_ns {
                kill(&mut child);
                return Err(BenchError::Refused(
                    "fio: expected to end within a minute of being told, found it running; is the \
                     disk that slow? Choose smaller blocks with --only"
                        .to_owned(),
                ));
            }
            clock::sleep_ns(TICK_NS / 5);
        }
        let output = child.wait_with_output().map_err(BenchError::Thread)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for running in &mut self.running {
            kill(&mut running.child);
        }
        self.members.clear();
        self.above = None;
        if let Some(controller) = self.controller.take() {
            let report = controller.close();
            if !report.is_clean() {
                say!("bench: {report}");
            }
        }
    }
}

pub(super) fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn no_group(group: usize) -> BenchError {
    BenchError::Refused(format!("this cell has no group {group}"))
}

/// Ends with its scope, however that is left.
pub(super) struct Ended(pub(super) Option<Child>);

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            kill(child);
        }
    }
}

/// The weight that the kernel gets: a hundred times the small number.
fn kernel_weight(weight: u16) -> Result<Weight, BenchError> {
    Weight::new(weight.saturating_mul(100)).ok_or(BenchError::Specification {
        field: "weight",
        found: u64::from(weight),
        expected: "1 to 10",
    })
}

/// Whether a setting cuts with nothing to cut by.
pub(super) fn lacks_interposer(setting: Setting) -> bool {
    setting.cuts() && find_interposer().is_none()
}
