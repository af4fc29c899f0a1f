//! A device on a simulated disk and a virtual clock: takes effect and completes in any order, each
//! at a random time after it was asked for.

use baro_log::segment_name;
use baro_recorder::simulate::{Completion, Device, Operation};
use baro_sys::sim::{Rng, SimDisk};
use baro_sys::storage::{Access, Storage, StorageFile};

#[derive(Debug)]
struct Pending {
    operation: Operation,
    /// When it is done on the disk; somewhere between request and completion.
    effect_ns: u64,
    complete_ns: u64,
    result: Option<baro_sys::Result<()>>,
}

/// See the module.
#[derive(Debug)]
pub struct SimDevice {
    pub disk: SimDisk,
    pub rng: Rng,
    pub now_ns: u64,
    /// Longest time that an operation takes.
    pub slowest_ns: u64,
    pending: Vec<Pending>,
    pub submitted: u64,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// Something took effect on the disk; says what.
    Effect(String),
    Completion(Completion),
}

impl Device for SimDevice {
    fn submit(&mut self, operation: Operation) {
        self.submitted += 1;
        let slow = if self.rng.chance(1, 20) { self.slowest_ns } else { self.slowest_ns / 20 };
        let complete_ns = self.now_ns + self.rng.below(slow + 1);
        let span = complete_ns - self.now_ns;
        let effect_ns = match self.rng.below(3) {
            0 => self.now_ns,
            1 => complete_ns,
            _ => self.now_ns + self.rng.below(span + 1),
        };
        self.pending.push(Pending { operation, effect_ns, complete_ns, result: None });
    }
}

fn run(disk: &SimDisk, operation: &Operation) -> (String, baro_sys::Result<()>) {
    let (segment, what) = match operation {
        Operation::Write { segment, offset, bytes, .. } => {
            (*segment, format!("write {segment}: {bytes} at {offset}"))
        }
        Operation::Sync { segment, .. } => (*segment, format!("sync {segment}")),
    };
    let result =
        disk.open(&segment_name(segment), Access::WriteDirect).and_then(|file| match operation {
            Operation::Write { offset, bytes, buffer, .. } => {
                file.write_at(*offset, &buffer[..*bytes])
            }
            Operation::Sync { .. } => file.sync_data(),
        });
    (what, result)
}

impl SimDevice {
    pub fn new(disk: SimDisk, seed: u64, now_ns: u64, slowest_ns: u64) -> Self {
        let pending = Vec::new();
        SimDevice { disk, rng: Rng::new(seed), now_ns, slowest_ns, pending, submitted: 0 }
    }

    /// Operations on their way.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// When something happens next.
    pub fn next_ns(&self) -> Option<u64> {
        let at = |p: &Pending| if p.result.is_some() { p.complete_ns } else { p.effect_ns };
        self.pending.iter().map(at).min()
    }

    /// The next thing that happens at `now_ns` or before.
    pub fn next_event(&mut self) -> Option<Event> {
        let now_ns = self.now_ns;
        let due = |p: &Pending| p.result.is_none() && p.effect_ns <= now_ns;
        let effects: Vec<usize> =
            (0..self.pending.len()).filter(|at| due(&self.pending[*at])).collect();
        if !effects.is_empty() {
            let at = self.rng.pick(&effects);
            let (what, result) = run(&self.disk, &self.pending[at].operation);
            let what = match &result {
                Ok(()) => what,
                Err(error) => format!("{what}: {error}"),
            };
            self.pending[at].result = Some(result);
            return Some(Event::Effect(what));
        }
        let at = self.pending.iter().position(|p| p.result.is_some() && p.complete_ns <= now_ns)?;
        let Pending { operation, result, .. } = self.pending.swap_remove(at);
        let result = result?;
        Some(Event::Completion(match operation {
            Operation::Write { ticket, buffer, .. } => {
                Completion { ticket, buffer: Some(buffer), result }
            }
            Operation::Sync { ticket, .. } => Completion { ticket, buffer: None, result },
        }))
    }

    /// The process is killed: what was on its way takes effect or does not.
    pub fn kill(mut self) {
        for pending in std::mem::take(&mut self.pending) {
            if pending.result.is_none() && self.rng.chance(1, 2) {
                let _ = run(&self.disk, &pending.operation);
            }
        }
    }
}
