//! The control of piece sizes by the ratio that is observed: a pure step.
//!
//! The plan's largest safe pieces are where it begins, and mostly where it stays. What shares lack with
//! them is made good by weights (the module `trim`). Where those cannot, and among groups that want more
//! than they get one has more than its share, a card is given one request at a time; does that not help
//! either, or is it no card, that group's pieces become smaller; when all have kept their shares
//! for a while, pieces that were made smaller grow again. Shares are compared over a window that begins
//! anew when the groups that want more change: a load that comes or goes is no error of the scheduler.
//! Nor is it judged while the disk is at large I/O that went through whole: what is counted is then far
//! ahead of what is done. Where smaller pieces do not help (a processor that is too busy to ask for the
//! next piece in time), the plan's sizes come back.
//!
//! Invariant: no group is ever held back but by the size of its pieces, which never falls below the
//! plan's least nor rises above its largest, and by a weight within a quarter of its own. Held by the
//! simulated disks below.

use crate::cgroup::Served;
use crate::judge::asked;
use crate::observe::{Queue, Work};
use crate::pieces::Pieces;
use crate::plan::{Speed, largest_pieces, least_pieces};
use crate::trim::Trim;
use crate::weight::Weight;
use std::collections::{BTreeMap, VecDeque};

/// Large I/O that went whole is done when its group asks again and what was counted since is ahead of
/// what the disk has done by no more than this many times all pieces that may be under way.
const AHEAD_PIECES: f64 = 1.5;
/// Where that cannot be seen, as with others on the disk, it may be done when some of the same group was
/// taken in so many periods since...
const SERVED_PERIODS: u32 = 4;
/// ...and nothing is judged for so long.
const WHOLE_NS: u64 = 5_000_000_000;
/// Shares are judged over this time at least...
const WINDOW_NS: u64 = 3_000_000_000;
/// ...and, while they may be as asked, over this at most.
const WINDOW_MAX_NS: u64 = 12_000_000_000;
/// A window in which pieces are coarser than this goes on, for so many times as long.
const FINE: f64 = 0.015;
const WINDOWS_MAX: u64 = 5;
/// The largest share over the smallest, as parts of what was asked, that makes pieces smaller: this
/// much, and what a piece more or less at either end of the window would make: BFQ counts bytes as it
/// takes them, not as they are done.
const TOO_MUCH: f64 = 1.03;
const GRAINS: f64 = 2.0;
/// With all shares as near as this, pieces may grow.
const NEAR: f64 = 1.015;
/// How often in a row all must be near.
const CALM_WINDOWS: u32 = 2;
/// One step makes pieces no smaller than this part.
const SHRINK_MOST: f64 = 0.3;
const GROW: f64 = 1.05;
/// Growing stops between the last size that was too large and the one after it; that is tried again
/// slowly, since a disk may have become better.
const FORGET: f64 = 1.03;
const SCALE_MIN: f64 = 1.0 / 64.0;
/// So often pieces are made smaller before it is asked whether that helps.
const TRIES: u32 = 2;
/// It helps if the error is less than this part of what it was.
const HELPED: f64 = 0.6;
/// If not, so many windows pass before it is tried again.
const PAUSE_WINDOWS: u32 = 15;
/// Speeds are taken from periods in which the disk was busy for this part.
const BUSY_PERCENT: u64 = 60;
/// How much of a new speed is believed.
const BELIEVED: f64 = 0.3;
/// What a disk did in half of so many such periods is no accident: it may begin with a burst.
const SURE_PERIODS: usize = 6;

/// A group during one period.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPeriod {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: Weight,
    /// What it got.
    pub served: Served,
    /// It wanted more than it got.
    pub backlogged: bool,
    /// Large I/O of it went to the disk whole, or may have.
    pub uncut: bool,
    /// Its weight may be changed.
    pub trimmable: bool,
}

/// A disk and its groups during one period.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// How long it was, ns.
    pub duration_ns: u64,
    /// What the disk did.
    pub work: Work,
    /// Its groups.
    pub groups: Vec<GroupPeriod>,
}

/// What is remembered of a disk from step to step.
#[derive(Clone, Debug, Default)]
pub struct Control {
    reads: Learned,
    writes: Learned,
    /// For so long the disk has been at work and completed nothing: one that takes all of a large I/O at
    /// once may complete it at once, seconds later.
    silent_ns: u64,
    /// Parts of the plan's largest pieces, of groups whose pieces had to be made smaller.
    scales: BTreeMap<String, Scale>,
    window: VecDeque<Period>,
    calm: u32,
    trial: Trial,
    /// Nothing is judged for so long.
    quiet_ns: u64,
    /// Groups with large I/O that went whole: BFQ counts it when it takes it, and the disk may be at it
    /// for many seconds.
    whole: BTreeMap<String, Whole>,
    trim: Trim,
    /// The disk's driver should have one request at a time.
    one_by_one: bool,
}

/// A disk's speed in one direction, bytes a second.
#[derive(Clone, Debug, Default)]
struct Learned {
    now: Option<f64>,
    /// What was seen last, period by period.
    seen: VecDeque<f64>,
    /// The highest that the median of those ever was: what the disk can when nothing holds it up.
    best: Option<f64>,
}

impl Learned {
    fn believe(&mut self, seen: f64) {
        self.now = Some(self.now.map_or(seen, |known| known + BELIEVED * (seen - known)));
        self.seen.push_back(seen);
        if self.seen.len() > SURE_PERIODS {
            self.seen.pop_front();
        }
        if self.seen.len() == SURE_PERIODS {
            let mut sorted: Vec<f64> = self.seen.iter().copied().collect();
            sorted.sort_by(f64::total_cmp);
            let median = sorted.get((SURE_PERIODS - 1) / 2).copied().unwrap_or_default();
            self.best = Some(self.best.map_or(median, |best| best.max(median)));
        }
    }
}

/// What came of a group since large I/O of it went whole.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    /// Periods in which something of it was taken: the whole I/O itself is in some of them where a
    /// processor takes its time, and then nothing is for as long as the disk is at it.
    served: u32,
    /// For so long it has wanted nothing, ns.
    idle_ns: u64,
    /// Bytes of all groups that were counted since and that the disk has not done.
    ahead_bytes: f64,
}

/// How far large I/O that went whole is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    UnderWay,
    /// As far as can be told.
    MaybeDone,
    Done,
}

impl Whole {
    fn begun(period: &Period) -> Self {
        Self { ahead_bytes: ahead_bytes(period), ..Self::default() }
    }

    /// Takes a period in which no other large I/O of the group went whole. `pieces_bytes`: of all
    /// groups.
    fn add(&mut self, group: &GroupPeriod, period: &Period, pieces_bytes: f64) -> Progress {
        self.ahead_bytes += ahead_bytes(period);
        self.served += u32::from(group.served.bytes() > 0);
        self.idle_ns =
            if group.backlogged { 0 } else { self.idle_ns.saturating_add(period.duration_ns) };
        if group.served.bytes() > 0 && self.ahead_bytes <= pieces_bytes * AHEAD_PIECES {
            Progress::Done
        } else if self.served >= SERVED_PERIODS || self.idle_ns >= WHOLE_NS {
            Progress::MaybeDone
        } else {
            Progress::UnderWay
        }
    }
}

/// By how much what was counted in a period is ahead of what the disk did in it, bytes.
fn ahead_bytes(period: &Period) -> f64 {
    let counted: f64 = period.groups.iter().map(|group| group.served.bytes() as f64).sum();
    counted - period.work.read_bytes as f64 - period.work.written_bytes as f64
}

/// Whether smaller pieces help.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// How often pieces were made smaller in a row.
    steps: u32,
    /// The error before the first time.
    error: f64,
    /// Windows to pass.
    pause: u32,
}

/// How much smaller than planned a group's pieces are.
#[derive(Clone, Copy, Debug)]
struct Scale {
    now: f64,
    /// It may grow up to this.
    ceiling: f64,
}

impl Scale {
    fn shrunk(self, step: f64) -> Self {
        let now = (self.now * step).max(SCALE_MIN);
        // Between what failed and what may do: each failure halves the way.
        Self { now, ceiling: (self.now * now).sqrt() }
    }

    fn grown(self) -> Self {
        let ceiling = (self.ceiling * FORGET).min(1.0);
        Self { now: (self.now * GROW).min(ceiling).max(self.now.min(ceiling)), ceiling }
    }
}

impl Control {
    /// How fast the disk was seen to be.
    #[must_use]
    pub fn speed(&self) -> Speed {
        Speed { read_bytes_per_s: self.reads.now, write_bytes_per_s: self.writes.now }
    }

    /// The highest that it was seen to be over a while, once it has been seen often enough to change
    /// the disk's queue for it.
    #[must_use]
    pub fn best_speed(&self) -> Speed {
        Speed { read_bytes_per_s: self.reads.best, write_bytes_per_s: self.writes.best }
    }

    /// Weights of groups that are not to be as asked from now on, of those that may be changed.
    #[must_use]
    pub fn trimmed(&self) -> &BTreeMap<String, Weight> {
        self.trim.weights()
    }

    /// Whether shares were off for longer than weights make good, on a disk whose driver takes requests
    /// ahead: what `plan::one_by_one` is for.
    #[must_use]
    pub fn wants_one_by_one(&self) -> bool {
        self.one_by_one
    }

    /// Takes what was observed, and gives the pieces of each group from now on.
    pub fn step(&mut self, queue: &Queue, period: Period) -> BTreeMap<String, Pieces> {
        self.learn_speed(&period);
        let wanting = |period: &Period| -> Vec<String> {
            let wanting = period.groups.iter().filter(|group| group.backlogged);
            wanting.map(|group| group.name.clone()).collect()
        };
        let now = wanting(&period);
        let all: Vec<(String, Weight)> =
            period.groups.iter().map(|group| (group.name.clone(), group.weight)).collect();
        let pieces = self.pieces(queue, &all);
        let sizes = || pieces.values().map(|one| one.read_bytes.max(one.write_bytes) as f64);
        self.quiet_ns = self.quiet_ns.saturating_sub(period.duration_ns);
        self.watch_whole(&period, sizes().sum());
        if self.quiet_ns > 0 || self.window.back().is_some_and(|last| wanting(last) != now) {
            self.window.clear();
            self.calm = 0;
        }
        match self.quiet_ns {
            0 => self.trim.step(&period, sizes().fold(0.0, f64::max)),
            _ => self.trim.rest(&period),
        }
        self.scales.retain(|name, _| all.iter().any(|(known, _)| known == name));
        if self.quiet_ns == 0 {
            self.window.push_back(period);
        }
        if now.len() > 1 && self.window_ns() >= WINDOW_NS {
            self.correct(queue, &now);
        } else if now.len() < 2 {
            self.window.clear();
        }
        // Every group may become backlogged at any moment: pieces are made for that.
        self.pieces(queue, &all)
    }

    /// The pieces of all groups, as if all wanted more than they get.
    fn pieces(&self, queue: &Queue, all: &[(String, Weight)]) -> BTreeMap<String, Pieces> {
        let pairs: Vec<(&str, Weight)> =
            all.iter().map(|(name, weight)| (name.as_str(), *weight)).collect();
        let shares = asked(&pairs);
        all.iter()
            .map(|(name, _)| {
                let share = shares.get(name).copied().unwrap_or(1.0);
                (name.clone(), self.pieces_of(queue, name, share))
            })
            .collect()
    }

    /// Looks how far large I/O is that went whole, and sets for how long nothing is judged.
    fn watch_whole(&mut self, period: &Period, pieces_bytes: f64) {
        let is_there = |name: &String| period.groups.iter().any(|group| group.name == *name);
        self.whole.retain(|name, _| is_there(name));
        let mut done = false;
        for group in &period.groups {
            if group.uncut {
                self.whole.insert(group.name.clone(), Whole::begun(period));
                continue;
            }
            let Some(whole) = self.whole.get_mut(&group.name) else { continue };
            let progress = whole.add(group, period, pieces_bytes);
            if progress != Progress::UnderWay {
                self.whole.remove(&group.name);
            }
            done |= progress == Progress::Done;
        }
        let mut wanting = period.groups.iter().filter(|group| group.backlogged);
        if wanting.any(|group| self.whole.contains_key(&group.name)) {
            self.quiet_ns = WHOLE_NS;
        } else if done && self.whole.is_empty() {
            self.quiet_ns = 0;
        }
    }

    fn window_ns(&self) -> u64 {
        self.window.iter().map(|period| period.duration_ns).sum()
    }

    /// Compares shares over the window and changes scales, where weights cannot make good what is off.
    fn correct(&mut self, queue: &Queue, wanting: &[String]) {
        let mut got: BTreeMap<&str, (Weight, f64)> = BTreeMap::new();
        for group in self.window.iter().flat_map(|period| &period.groups) {
            if wanting.contains(&group.name) {
                let entry = got.entry(&group.name).or_insert((group.weight, 0.0));
                entry.1 += group.served.bytes() as f64;
            }
        }
        let sum: f64 = got.values().map(|(_, bytes)| bytes).sum();
        if sum <= 0.0 {
            return;
        }
        let pairs: Vec<(&str, Weight)> = got.iter().map(|(name, one)| (*name, one.0)).collect();
        let shares = asked(&pairs);
        let errors: Vec<(String, f64)> = got
            .iter()
            .filter_map(|(name, (_, bytes))| {
                Some(((*name).to_owned(), bytes / sum / shares.get(*name)?))
            })
            .collect();
        // The fewest pieces that any of them had: the grain of what can be seen.
        let pieces = got.iter().map(|(name, (_, bytes))| {
            let share = shares.get(*name).copied().unwrap_or(1.0);
            let sizes = self.pieces_of(queue, name, share);
            bytes / sizes.read_bytes.max(sizes.write_bytes) as f64
        });
        let grain = GRAINS / pieces.fold(f64::INFINITY, f64::min).max(1.0);
        let least = errors.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
        let Some((name, most)) = errors.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return;
        };
        let spread = most / least.max(f64::MIN_POSITIVE);
        let is_too_much = spread > TOO_MUCH + grain;
        if is_too_much {
            self.calm = 0;
        }
        if is_too_much && self.trim.is_spent() {
            self.window.clear();
            if queue.one_at_a_time && !self.one_by_one {
                self.one_by_one = true;
            } else {
                self.shrink(name, spread);
            }
        } else if self.window_ns() >= WINDOW_MAX_NS
            && (grain <= FINE || self.window_ns() >= WINDOWS_MAX * WINDOW_MAX_NS)
        {
            if !is_too_much {
                self.trial = Trial::default();
            }
            if spread <= NEAR + grain {
                self.calm += 1;
            }
            if self.calm >= CALM_WINDOWS {
                self.calm = 0;
                self.scales.values_mut().for_each(|scale| *scale = scale.grown());
            }
            self.window.clear();
        }
    }

    /// Makes the pieces of a group that had too much smaller; the farther off, the larger the step.
    fn shrink(&mut self, name: String, spread: f64) {
        if self.trial.pause > 0 {
            self.trial.pause -= 1;
            return;
        }
        if self.trial.steps == 0 {
            self.trial.error = spread - 1.0;
        } else if self.trial.steps >= TRIES && spread - 1.0 > self.trial.error * HELPED {
            self.scales.clear();
            self.trial = Trial { pause: PAUSE_WINDOWS, ..Trial::default() };
            return;
        }
        self.trial.steps += 1;
        let scale = self.scales.entry(name).or_insert(Scale { now: 1.0, ceiling: 1.0 });
        *scale = scale.shrunk(spread.powi(-2).max(SHRINK_MOST));
    }

    /// The pieces of a group that was asked `share`.
    fn pieces_of(&self, queue: &Queue, name: &str, share: f64) -> Pieces {
        let scale = self.scales.get(name).map_or(1.0, |scale| scale.now);
        let speed = self.speed();
        let largest = largest_pieces(queue, speed, share);
        scaled(largest, least_pieces(queue, speed, share), scale)
    }

    fn learn_speed(&mut self, period: &Period) {
        let Work { read_bytes, written_bytes, busy_ns } = period.work;
        if busy_ns < period.duration_ns / 100 * BUSY_PERCENT || busy_ns == 0 {
            self.silent_ns = 0;
            return;
        }
        let busy_ns = busy_ns.min(period.duration_ns);
        if read_bytes == 0 && written_bytes == 0 {
            self.silent_ns = self.silent_ns.saturating_add(busy_ns);
            return;
        }
        let seconds = (busy_ns as f64 + std::mem::take(&mut self.silent_ns) as f64) / 1e9;
        // A mixture tells neither speed.
        if read_bytes > written_bytes.saturating_mul(9) {
            self.reads.believe(read_bytes as f64 / seconds);
        } else if written_bytes > read_bytes.saturating_mul(9) {
            self.writes.believe(written_bytes as f64 / seconds);
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scales are 0 to 1")]
fn scaled(largest: Pieces, least: Pieces, scale: f64) -> Pieces {
    let size = |largest: u64, least: u64| ((largest as f64 * scale) as u64 >> 12 << 12).max(least);
    Pieces {
        read_bytes: size(largest.read_bytes, least.read_bytes),
        write_bytes: size(largest.write_bytes, least.write_bytes),
    }
}

#[cfg(test)]
#[path = "control/tests.rs"]
mod tests;
