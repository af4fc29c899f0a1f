//! Power cuts: a store is recorded in a guest whose disk's writes and flushes are logged; from the log
//! a disk is made as it may be after a cut at any moment; another guest mounts it, opens the store and
//! says whether everything is there that had been promised before the cut.
//!
//! Two controls must fail: a file system without barriers, and a recorder whose syncs do nothing.

pub(crate) mod disk;
mod image;
mod judge;
mod log;
mod record;
pub(crate) mod report;

use crate::site::Site;
use image::Dice;
pub(crate) use judge::Verdict;
use std::num::NonZero;
use std::time::{Duration, Instant};

/// What differs from the ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Ordinary,
    /// A control: the file system asks for no flush.
    NoBarrier,
    /// A control: the recorder's syncs do nothing.
    NoSync,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Ordinary => "ordinary",
            Way::NoBarrier => "no-barrier",
            Way::NoSync => "no-sync",
        }
    }
}

/// One recording and its cuts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) fs: &'static str,
    pub(crate) scenario: &'static str,
    pub(crate) way: Way,
    /// From the load's start to the cut of the recording machine.
    pub(crate) record_for: Duration,
    /// Crash points.
    pub(crate) points: usize,
}

impl Plan {
    fn mount_options(&self) -> String {
        match (self.fs, self.way) {
            (_, Way::NoBarrier) => "-o nobarrier".to_owned(),
            // Both trim by themselves or when told to; ext4 is told.
            ("ext4", _) => "-o discard".to_owned(),
            _ => String::new(),
        }
    }

    /// Makes and mounts the file system.
    fn make(&self, disk: &str) -> String {
        let mkfs = match self.fs {
            "ext4" => "mkfs.ext4 -q -F",
            _ => "mkfs.f2fs -q -f",
        };
        let (fs, mount) = (self.fs, self.mount_options());
        format!(
            "set -e; blockdev --rereadpt {disk}; {mkfs} {disk}1 >/dev/null; \
             mount -t {fs} {mount} {disk}1 /mnt; sync"
        )
    }
}

/// Where the power is cut: after so many entries of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) cut: usize,
    /// Nothing is lost: the machine was killed, not its disk.
    pub(crate) whole: bool,
}

/// What came of a plan.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) plan: Plan,
    pub(crate) release: String,
    pub(crate) seed: u64,
    pub(crate) entries: usize,
    pub(crate) flushes: usize,
    pub(crate) statements: usize,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) record_s: f64,
    pub(crate) judge_s: f64,
}

impl Outcome {
    pub(crate) fn bad(&self) -> usize {
        self.verdicts.iter().filter(|verdict| !verdict.is_ok()).count()
    }

    /// Whether it came out as it must: a control has to fail.
    pub(crate) fn is_right(&self) -> bool {
        (self.plan.way == Way::Ordinary) == (self.bad() == 0)
    }
}

/// Records, cuts and judges.
pub(crate) fn run(site: Site<'_>, plan: &Plan, seed: u64) -> Result<Outcome, String> {
    let kernel = site.kernel;
    let what = |why: String| format!("{} on {}, {}: {why}", plan.scenario, plan.fs, kernel.release);
    let begin = Instant::now();
    let recording = record::record(site, plan, seed).map_err(what)?;
    let record_s = begin.elapsed().as_secs_f64();
    let points = choose(&recording, plan, seed);
    let begin = Instant::now();
    let report = |verdict: &Verdict| {
        if !verdict.is_ok() && plan.way == Way::Ordinary {
            let cut = verdict.point.cut;
            eprintln!("lab: {}", what(format!("cut after entry {cut}: {}", verdict.line)));
        }
    };
    let mut verdicts = judge_all(site, plan, &recording, &points, seed, &report).map_err(what)?;
    verdicts.sort_by_key(|verdict| verdict.point);
    Ok(Outcome {
        plan: *plan,
        release: kernel.release.clone(),
        seed,
        entries: recording.log.entries.len() - recording.begin,
        flushes: recording.flushes().count(),
        statements: recording.statements(),
        verdicts,
        record_s,
        judge_s: begin.elapsed().as_secs_f64(),
    })
}

/// Judges in as many guests as there are turns for, each with its share of the points.
fn judge_all(
    site: Site<'_>,
    plan: &Plan,
    recording: &record::Recording,
    points: &[Point],
    seed: u64,
    report: &(impl Fn(&Verdict) + Sync),
) -> Result<Vec<Verdict>, String> {
    let guests = std::thread::available_parallelism().map_or(1, NonZero::get);
    // A guest must have enough to do to be worth its start.
    let guests = guests.min(points.len() / 5).max(1);
    std::thread::scope(|scope| {
        let mut working = Vec::new();
        for guest in 0..guests {
            working.push(scope.spawn(move || {
                let share: Vec<Point> =
                    points.iter().copied().skip(guest).step_by(guests).collect();
                let mut verdicts = Vec::new();
                let dice = seed ^ (guest as u64) << 48;
                judge::judge(site, plan, recording, &share, seed, dice, |verdict| {
                    report(&verdict);
                    verdicts.push(verdict);
                })?;
                Ok::<_, String>(verdicts)
            }));
        }
        let mut verdicts = Vec::new();
        for guest in working {
            let share = guest.join().map_err(|_| "a judge panicked".to_owned())?;
            verdicts.extend(share?);
        }
        Ok(verdicts)
    })
}

/// Half of the points just before a flush is done, when the most is at stake, evenly over all of
/// them; the others anywhere. The last is the end of the log with nothing lost.
///
/// A control hardly flushes once it records; it is cut while it does, in the last half of the log.
fn choose(recording: &record::Recording, plan: &Plan, seed: u64) -> Vec<Point> {
    let flushes: Vec<usize> = recording.flushes().collect();
    let (begin, end) = (recording.begin + 1, recording.log.entries.len());
    let mut dice = Dice::new(seed);
    let mut points = Vec::new();
    let mut anywhere = |from: usize, count: usize, points: &mut Vec<Point>| {
        for _ in 0..count {
            let cut = from + usize::try_from(dice.below((end + 1 - from) as u64)).unwrap_or(0);
            points.push(Point { cut, whole: false });
        }
    };
    if plan.way == Way::Ordinary {
        let at_flushes = (plan.points / 2).min(flushes.len());
        for number in 0..at_flushes {
            let cut = flushes[number * flushes.len() / at_flushes];
            points.push(Point { cut, whole: false });
        }
        anywhere(begin, plan.points.saturating_sub(at_flushes + 1), &mut points);
        points.push(Point { cut: end, whole: true });
    } else {
        anywhere(begin + (end - begin) / 2, plan.points, &mut points);
    }
    points.sort();
    points
}
