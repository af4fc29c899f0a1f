//! What each group did, what BFQ charged for it, and how its turns ended: counted from the lines.
//!
//! The sum to look at: BFQ keeps the ratio of what it *charged*, plus what it let groups forget. What
//! was charged is bytes where all is well, and time where a turn ended late or slowly: then the
//! ratio of what was *done* is another one. See [docs/share-cause.md](../../../../docs/share-cause.md).
//!
//! Requests belong to who put them into the scheduler: others send them to the device, too.
//!
//! Invariant: what was done plus what was charged for time is what was charged, but for requests under
//! way at an end. Held by `what_is_charged_is_bytes_and_time` in `bfq/tests.rs`.

use super::message::{Line, Reason, Said, Step, What, parse};
use super::model::Model;
use std::collections::HashMap;

const SECTOR_BYTES: u64 = 512;
/// BFQ's default.
const SLICE_IDLE_US: u64 = 8000;
/// Who comes back within so many `slice_idle` after its last request was done is in time.
const SLICES_IN_TIME: u64 = 3;
/// Weight of a queue in no group until a message tells it.
const OTHER_WEIGHT: u64 = 40;
/// Queues beyond these are not followed; a device seldom has ten.
const QUEUES_MAX: usize = 4096;

/// One group's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupAccount {
    /// Bytes that the device has done.
    pub done_bytes: u64,
    /// Bytes sent to the device.
    pub issued_bytes: u64,
    /// Bytes that BFQ charged, for bytes sent and for time.
    pub charged_bytes: u64,
    /// Turns that ended, by [`Reason`].
    pub expired: [u64; 5],
    /// Turns that BFQ took for slow, which are charged by time.
    pub slow: u64,
    /// Time of all turns that ended.
    pub turns_us: u64,
    /// Activations after the first.
    pub activations: u64,
    /// Activations that lost a lag: the group went on later than where it had stopped.
    pub moved: u64,
    /// The lag that these lost, as bytes of this group.
    pub moved_bytes: u64,
    /// Of what was charged, bytes taken in another's turn: they move the group's own time not at all.
    pub outside_bytes: u64,
    /// Times that the group was emptied in another's turn, with a budget that it never got.
    pub emptied: u64,
    /// These budgets, which its time was moved by all the same.
    pub emptied_bytes: u64,
    /// Activations that were allowed to start in the past.
    pub back: u64,
    /// Most tags held at once.
    pub tags_max: u64,
    /// Tags held, times the microseconds.
    tag_us: u64,
    /// Longest time with requests in the scheduler of which none was sent to the device.
    pub unserved_max_us: u64,
}

impl GroupAccount {
    /// Bytes charged that were not sent: the price of time.
    #[must_use]
    pub fn time_bytes(&self) -> u64 {
        self.charged_bytes.saturating_sub(self.issued_bytes)
    }

    /// What moved the group's virtual time, as bytes: charged in its turns, lags forgotten, budgets
    /// never got. Of groups that always want service these have the ratio of the weights.
    #[must_use]
    pub fn virtual_bytes(&self) -> u64 {
        self.charged_bytes
            .saturating_sub(self.outside_bytes)
            .saturating_add(self.moved_bytes)
            .saturating_add(self.emptied_bytes)
    }

    /// Turns that ended.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.expired.iter().sum()
    }
}

/// Figures of all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// From the first line that was counted to the last.
    pub span_us: u64,
    /// Choices between queues.
    pub choices: u64,
    /// Those that the model of virtual times had expected.
    pub expected: u64,
    /// Most tags that a request could reach, as the kernel said last; 0 if it did not say.
    pub tag_limit: u64,
    /// Time with so many tags held.
    pub at_limit_us: u64,
}

/// Running state of one group, beside its figures.
#[derive(Debug, Default)]
struct Group {
    entity: usize,
    tags: u64,
    queued: u64,
    unserved_since_us: Option<u64>,
    done_at_us: Option<u64>,
    turn_since_us: Option<u64>,
    budget: u64,
}

/// Counts lines; see the module.
#[derive(Debug)]
pub struct Account {
    device: String,
    /// By the name of its process.
    of_process: HashMap<String, usize>,
    /// Entities of queues in no group.
    others: HashMap<String, usize>,
    groups: Vec<Group>,
    model: Model,
    /// Who put the request at this sector into the scheduler.
    owners: HashMap<u64, usize>,
    figures: Vec<GroupAccount>,
    totals: Totals,
    from_us: u64,
    to_us: u64,
    last_us: Option<u64>,
    slice_idle_us: u64,
}

impl Account {
    /// For this device (`7,0`) and groups of one process each, given by its id and the group's
    /// weight. Figures are of the time between the two; the model needs all lines from the first.
    #[must_use]
    pub fn new(device: &str, groups: &[(u32, u64)], from_us: u64, to_us: u64) -> Self {
        let mut account = Self {
            device: device.to_owned(),
            of_process: HashMap::new(),
            others: HashMap::new(),
            groups: Vec::new(),
            model: Model::default(),
            owners: HashMap::new(),
            figures: vec![GroupAccount::default(); groups.len()],
            totals: Totals::default(),
            from_us,
            to_us,
            last_us: None,
            slice_idle_us: SLICE_IDLE_US,
        };
        for (number, (process, weight)) in groups.iter().enumerate() {
            account.of_process.insert(process.to_string(), number);
            let entity = account.model.add(*weight);
            account.groups.push(Group { entity, ..Group::default() });
        }
        account
    }

    /// The same for another `slice_idle` than BFQ's default.
    #[must_use]
    pub fn with_slice_idle(mut self, slice_idle_us: u64) -> Self {
        self.slice_idle_us = slice_idle_us;
        self
    }

    /// The figures of each group, in the order given.
    #[must_use]
    pub fn groups(&self) -> &[GroupAccount] {
        &self.figures
    }

    /// The figures of all together.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Tags that the group held on average.
    #[must_use]
    pub fn tags_mean(&self, group: usize) -> f64 {
        let tag_us = self.figures.get(group).map_or(0, |figures| figures.tag_us);
        tag_us as f64 / self.totals.span_us.max(1) as f64
    }

    /// Takes the next line; those of other devices and of no interest are passed over.
    pub fn line(&mut self, text: &str) {
        let Some(line) = parse(text).filter(|line| line.device == self.device) else { return };
        if line.time_us > self.to_us {
            return;
        }
        self.pass_time(line.time_us);
        match line.what {
            What::TagLimit(limit) => self.totals.tag_limit = limit,
            What::Queue(queue, said) => self.message(queue, said, line.time_us),
            What::Request { step, sector, sectors } => self.request(&line, step, sector, sectors),
        }
    }

    fn counts(&self, time_us: u64) -> bool {
        time_us >= self.from_us
    }

    fn pass_time(&mut self, now_us: u64) {
        let since_us = self.last_us.replace(now_us).unwrap_or(now_us).max(self.from_us);
        let passed_us = now_us.saturating_sub(since_us);
        self.totals.span_us = self.totals.span_us.saturating_add(passed_us);
        let mut held = 0;
        for (group, figures) in self.groups.iter().zip(&mut self.figures) {
            figures.tag_us = figures.tag_us.saturating_add(group.tags.saturating_mul(passed_us));
            held += group.tags;
        }
        if self.totals.tag_limit > 0 && held >= self.totals.tag_limit {
            self.totals.at_limit_us = self.totals.at_limit_us.saturating_add(passed_us);
        }
    }

    fn entity(&mut self, queue: &str) -> Option<usize> {
        if let Some(group) = self.of_process.get(queue) {
            return Some(self.groups[*group].entity);
        }
        if let Some(entity) = self.others.get(queue) {
            return Some(*entity);
        }
        if self.others.len() >= QUEUES_MAX {
            return None;
        }
        let entity = self.model.add(OTHER_WEIGHT);
        self.others.insert(queue.to_owned(), entity);
        Some(entity)
    }

    fn message(&mut self, queue: &str, said: Said, now_us: u64) {
        let Some(entity) = self.entity(queue) else { return };
        let group = self.of_process.get(queue).copied();
        let counts = self.counts(now_us);
        match said {
            Said::Busy => {
                let done_us = group.and_then(|group| self.groups[group].done_at_us);
                let late_us = SLICES_IN_TIME.saturating_mul(self.slice_idle_us);
                let in_time = done_us.is_none_or(|done| now_us.saturating_sub(done) <= late_us);
                self.model.activate(entity, in_time);
            }
            Said::NotBusy => {
                let sectors = self.model.deactivate(entity);
                if let Some(group) = group.filter(|_| counts && sectors > 0) {
                    let figures = &mut self.figures[group];
                    figures.emptied += 1;
                    figures.emptied_bytes = figures.emptied_bytes.saturating_add(bytes(sectors));
                }
            }
            Said::Finish { service, weight } => match group {
                Some(group) => self.groups[group].budget = service,
                None => {
                    self.model.set_weight(entity, weight);
                    let _ = self.model.set_budget(entity, service);
                }
            },
            Said::FinishTimes => self.finish(group, counts),
            Said::Chosen => {
                let expected = self.model.choose(entity);
                if let Some(expected) = expected.filter(|_| counts) {
                    self.totals.choices += 1;
                    self.totals.expected += u64::from(expected);
                }
                if let Some(group) = group {
                    self.groups[group].turn_since_us = Some(now_us);
                }
            }
            Said::Charged(sectors) => {
                let in_turn = self.model.charge(entity, sectors);
                if let Some(group) = group.filter(|_| counts) {
                    let figures = &mut self.figures[group];
                    figures.charged_bytes = figures.charged_bytes.saturating_add(bytes(sectors));
                    let outside = if in_turn { 0 } else { bytes(sectors) };
                    figures.outside_bytes = figures.outside_bytes.saturating_add(outside);
                }
            }
            Said::Expired { reason, slow } => {
                self.model.expire(entity, reason);
                if let Some(group) = group {
                    self.expired(group, reason, slow, now_us);
                }
            }
            Said::Other => {}
        }
    }

    fn finish(&mut self, group: Option<usize>, counts: bool) {
        let Some(group) = group else { return };
        let state = &self.groups[group];
        let Some(moved) = self.model.set_budget(state.entity, state.budget) else { return };
        if counts {
            let figures = &mut self.figures[group];
            figures.activations += 1;
            figures.moved += u64::from(moved.forgotten_sectors > 0);
            figures.moved_bytes =
                figures.moved_bytes.saturating_add(bytes(moved.forgotten_sectors));
            figures.back += u64::from(moved.back);
        }
    }

    fn expired(&mut self, group: usize, reason: Reason, slow: bool, now_us: u64) {
        let since_us = self.groups[group].turn_since_us.take();
        if !self.counts(now_us) {
            return;
        }
        let figures = &mut self.figures[group];
        figures.expired[reason as usize] += 1;
        figures.slow += u64::from(slow);
        let turn_us = now_us.saturating_sub(since_us.unwrap_or(now_us));
        figures.turns_us = figures.turns_us.saturating_add(turn_us);
    }

    fn request(&mut self, line: &Line<'_>, step: Step, sector: u64, sectors: u64) {
        let counts = self.counts(line.time_us);
        let group = match step {
            Step::Tag => self.of_process.get(line.task).copied(),
            Step::Insert => {
                let group = self.of_process.get(line.task).copied();
                if let Some(group) = group {
                    self.owners.insert(sector, group);
                }
                group
            }
            Step::Issue => self.owners.get(&sector).copied(),
            Step::Complete => self.owners.remove(&sector),
        };
        let Some(group) = group else { return };
        let (state, figures) = (&mut self.groups[group], &mut self.figures[group]);
        match step {
            Step::Tag => {
                state.tags += 1;
                figures.tags_max = figures.tags_max.max(state.tags);
            }
            Step::Insert => {
                state.queued += 1;
                state.unserved_since_us.get_or_insert(line.time_us);
            }
            Step::Issue => {
                state.queued = state.queued.saturating_sub(1);
                let since_us = state.unserved_since_us.take().unwrap_or(line.time_us);
                state.unserved_since_us = (state.queued > 0).then_some(line.time_us);
                if counts {
                    figures.issued_bytes = figures.issued_bytes.saturating_add(bytes(sectors));
                    let unserved_us = line.time_us.saturating_sub(since_us);
                    figures.unserved_max_us = figures.unserved_max_us.max(unserved_us);
                }
            }
            Step::Complete => {
                state.tags = state.tags.saturating_sub(1);
                state.done_at_us = Some(line.time_us);
                if counts {
                    figures.done_bytes = figures.done_bytes.saturating_add(bytes(sectors));
                }
            }
        }
    }
}

fn bytes(sectors: u64) -> u64 {
    sectors.saturating_mul(SECTOR_BYTES)
}
