//! A producer of the load: declares, pushes, and notes what became of each push.

use super::said;
use super::told::{History, Told};
use crate::content::{self, Load, PORTION, What};
use crate::scenario::{RECORD_BYTES_MAX, Scenario};
use crate::statement::REFUSED_MAX;
use baro_recorder::{Producer, Recorder, Refused};
use baro_sources::generate::fill_frame;
use baro_sys::clock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

/// Longer than any window of a pin.
const HISTORY_NS: i64 = 5_000_000_000;

/// What became of a producer's pushes.
#[derive(Debug, Default)]
pub struct Pushed {
    /// Taken.
    pub taken: u64,
    /// Refused since the ring was full.
    pub full: u64,
    /// Refused for their length.
    pub large: u64,
    /// Bytes of what was taken.
    pub bytes: u64,
    pub(super) producer: Option<Producer>,
}

impl Clone for Pushed {
    /// The figures; a producer is not copied.
    fn clone(&self) -> Self {
        Pushed {
            taken: self.taken,
            full: self.full,
            large: self.large,
            bytes: self.bytes,
            producer: None,
        }
    }
}

impl Pushed {
    pub(super) fn add(&mut self, other: &Pushed) {
        self.taken += other.taken;
        self.full += other.full;
        self.large += other.large;
        self.bytes += other.bytes;
    }
}

/// What was pushed, to be kept and used again.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    frame: Vec<u8>,
    ids: Vec<u32>,
    times_ns: Vec<i64>,
    floats: Vec<f64>,
    integers: Vec<i64>,
}

/// Pushes what belongs to the producer's next sequence; returns its bytes.
pub(crate) fn push(
    load: &Load,
    producer: &mut Producer,
    ids: &[u32],
    buffers: &mut Buffers,
) -> Result<usize, Refused> {
    let sequence = producer.next_sequence();
    let (what, time_ns) = (load.what(sequence), content::time_ns(sequence));
    let id = |member: usize| ids.get(member).copied().unwrap_or(u32::MAX);
    let of_batch = |buffers: &mut Buffers| {
        buffers.ids.clear();
        buffers.times_ns.clear();
        buffers.floats.clear();
        buffers.integers.clear();
        for element in load.elements(sequence, what) {
            buffers.ids.push(id(element.member));
            buffers.times_ns.push(element.time_ns);
            buffers.floats.push(f64::from_bits(element.bits));
            buffers.integers.push(element.bits.cast_signed());
        }
        buffers.ids.len() * 20
    };
    match what {
        What::TooLarge => {
            buffers.frame.resize(RECORD_BYTES_MAX + 1, 0);
            producer.push_frame(id(PORTION - 1), time_ns, &buffers.frame).map(|_| 0)
        }
        What::Frame { portion, bytes } => {
            buffers.frame.resize(bytes, 0);
            // Shorter than its head is none that `what` makes.
            let _ = fill_frame(load.frame_seed(), sequence, &mut buffers.frame);
            let channel = id(portion * PORTION + PORTION - 1);
            producer.push_frame(channel, time_ns, &buffers.frame).map(|_| bytes)
        }
        What::Floats(batch) => {
            let bytes = of_batch(buffers);
            let Buffers { ids, times_ns, floats, .. } = buffers;
            match (batch.timed, ids.as_slice(), floats.as_slice()) {
                (true, ids, floats) => producer.push_batch(times_ns, ids, floats),
                (false, [id], [value]) => producer.push_sample(*id, time_ns, *value),
                (false, ids, floats) => producer.push_samples(time_ns, ids, floats),
            }
            .map(|_| bytes)
        }
        What::Integers(batch) => {
            let bytes = of_batch(buffers);
            let Buffers { ids, times_ns, integers, .. } = buffers;
            match batch.timed {
                true => producer.push_batch(times_ns, ids, integers),
                false => producer.push_samples(time_ns, ids, integers),
            }
            .map(|_| bytes)
        }
        What::Boolean(_) => {
            let element = load.element(sequence, what, 0);
            let value = element.bits.cast_signed();
            producer.push_sample(id(element.member), time_ns, value).map(|_| 20)
        }
        What::Text(_) => {
            let element = load.element(sequence, what, 0);
            let text = Load::text(element.bits);
            producer.push_text(id(element.member), time_ns, &text).map(|_| text.len())
        }
    }
}

/// Declares a portion; returns its ids.
pub(crate) fn declare(
    recorder: &Recorder,
    slot: usize,
    portion: usize,
) -> Result<Vec<u32>, String> {
    let members = portion * PORTION..(portion + 1) * PORTION;
    let names: Vec<String> = members.clone().map(|member| content::name(slot, member)).collect();
    let wanted: Vec<_> = names
        .iter()
        .zip(members)
        .map(|(name, member)| (name.as_str(), content::kind(member), content::unit(member)))
        .collect();
    recorder.declare(&wanted).map_err(said)
}

/// See the module.
#[derive(Debug)]
pub(super) struct Producing {
    load: Load,
    scenario: &'static Scenario,
    recorder: Arc<Recorder>,
    told: Arc<Told>,
    producer: Producer,
    ids: Vec<u32>,
    buffers: Buffers,
    pushed: Pushed,
    history: History,
    /// Ranges of refused sequences, and the sequence that would go on with the last one.
    ranges: usize,
    refused_next: u64,
}

impl Producing {
    /// A producer with its ring and its first portion.
    pub(super) fn new(
        load: Load,
        scenario: &'static Scenario,
        recorder: &Arc<Recorder>,
        told: &Arc<Told>,
    ) -> Result<Self, String> {
        let producer = recorder.producer().map_err(said)?;
        let id = producer.report().producer;
        told.change(|statement| {
            statement.slots.resize_with(load.slot + 1, Default::default);
            if let Some(slot) = statement.slots.get_mut(load.slot) {
                slot.producer = id;
            }
        });
        let mut made = Producing {
            load,
            scenario,
            recorder: Arc::clone(recorder),
            told: Arc::clone(told),
            producer,
            ids: Vec::new(),
            buffers: Buffers::default(),
            pushed: Pushed::default(),
            history: told.history(load.slot),
            ranges: 0,
            refused_next: u64::MAX,
        };
        made.declare_due()?;
        Ok(made)
    }

    /// Declares what is due before the next push, and notes it when it is promised.
    fn declare_due(&mut self) -> Result<(), String> {
        let due = self.load.portions(self.producer.next_sequence());
        while self.ids.len() < due * PORTION {
            let ids = declare(&self.recorder, self.load.slot, self.ids.len() / PORTION)?;
            let first = ids.first().copied().unwrap_or(0);
            if !ids.iter().copied().eq(first..first + PORTION as u32) {
                return Err(format!("ids of a portion do not rise one by one: {ids:?}"));
            }
            self.ids.extend(ids);
            self.told.change_slot(self.load.slot, |slot| slot.portions.push(first));
        }
        Ok(())
    }

    pub(super) fn run(mut self, stop: &AtomicBool) -> Pushed {
        let started_ns = clock::monotonic_ns();
        let rate = self.scenario.bytes_per_s.max(2) / 2;
        while !stop.load(Ordering::Acquire) {
            let due_ns = u128::from(self.pushed.bytes) * 1_000_000_000 / u128::from(rate);
            let due_ns = started_ns.saturating_add(u64::try_from(due_ns).unwrap_or(u64::MAX));
            let now_ns = clock::monotonic_ns();
            if now_ns < due_ns {
                // What is durable goes on while nothing is pushed.
                self.note(None);
                clock::sleep_ns((due_ns - now_ns).clamp(100_000, 3_000_000));
                continue;
            }
            if let Err(complaint) = self.declare_due() {
                self.told.complain(format!("declare: {complaint}"));
                break;
            }
            if !self.push_one() {
                break;
            }
        }
        self.note(None);
        self.pushed.producer = Some(self.producer);
        self.pushed
    }

    /// One push; false when there can be no further one.
    fn push_one(&mut self) -> bool {
        let sequence = self.producer.next_sequence();
        let room = self.producer.free_bytes() > RECORD_BYTES_MAX + 4096;
        // A statement says only so many ranges.
        if !room && (!self.scenario.refuses || self.ranges >= REFUSED_MAX - 2) {
            self.note(None);
            clock::sleep_ns(2_000_000);
            return true;
        }
        let before_ns = clock::boottime_ns();
        let done = push(&self.load, &mut self.producer, &self.ids, &mut self.buffers);
        let after_ns = clock::boottime_ns();
        match done {
            Ok(bytes) => {
                self.pushed.taken += 1;
                self.pushed.bytes += bytes as u64;
                self.note(Some((sequence, false)));
                self.remember(before_ns, after_ns, sequence);
            }
            Err(Refused::RingFull) => {
                self.pushed.full += 1;
                self.ranges += usize::from(self.refused_next != sequence);
                self.refused_next = sequence + 1;
                self.note(Some((sequence, true)));
                clock::sleep_ns(5_000_000);
            }
            Err(Refused::TooLarge { .. }) => {
                // Refused whatever the ring holds: nobody needs to be told.
                self.pushed.large += 1;
                self.note(Some((sequence, false)));
            }
            Err(other) => {
                self.told.complain(format!("push {sequence}: {other}"));
                return false;
            }
        }
        true
    }

    /// Notes what became of a push, and then what is durable: so what is durable is never more than
    /// what is known.
    fn note(&self, push: Option<(u64, bool)>) {
        let durable = self.producer.durable();
        self.told.change_slot(self.load.slot, |slot| {
            if let Some((sequence, refused)) = push {
                slot.known = sequence + 1;
                if refused {
                    slot.refuse(sequence);
                }
            }
            slot.durable = durable.min(slot.known).max(slot.durable);
        });
    }

    fn remember(&self, before_ns: i64, after_ns: i64, sequence: u64) {
        if !self.scenario.pins {
            return;
        }
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.push_back((before_ns, after_ns, sequence));
        while history.front().is_some_and(|first| first.0 < before_ns - HISTORY_NS) {
            history.pop_front();
        }
    }
}
