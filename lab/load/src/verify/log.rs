//! The records of the log: each is where it belongs, once, byte for byte; what is missing was
//! refused, or recycled where that may be.
//!
//! A hole is recycling only if whole segments are missing between its two sides, and as many newer
//! ones are there as the log has, but for the few that may be in the making or held by pins.

use super::declared::Declared;
use super::{Look, Verdict, bad, no_loss};
use crate::content::{self, AFTER, Load, PORTION, What};
use crate::statement::SLOTS_MAX;
use crate::write::said;
use baro_ondisk::{Gap, Kind, Record, Samples};
use baro_sources::generate::{check_frame, fill_frame};
use baro_store::{LiveBlock, SegmentFile, Store};
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

/// What became of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Absent,
    Record,
    Gap,
}

/// What the log holds.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Of each producer, by sequence: what became of it, and the epoch in which that stands.
    fates: [Vec<(Fate, u64)>; SLOTS_MAX],
    /// Epochs of segments with live blocks in the log, copies outside of it not among them.
    epochs: BTreeSet<u64>,
    found: u64,
}

struct Pass<'a> {
    look: &'a Look<'a>,
    declared: &'a Declared,
    producers: HashMap<u64, usize>,
    log: Log,
    frame: Vec<u8>,
}

pub(super) fn read(look: &Look<'_>, store: &Store, declared: &Declared) -> Verdict<Log> {
    let mut producers = HashMap::new();
    for (slot, told) in look.statement.slots.iter().enumerate() {
        if told.producer != 0 {
            producers.insert(told.producer, slot);
        }
    }
    if producers.len() < 2 || !producers.values().any(|slot| *slot == 1) {
        learn(look, store, &mut producers)?;
    }
    let mut pass = Pass { look, declared, producers, log: Log::default(), frame: Vec::new() };
    let mut verdict = Ok(());
    let notes = store.blocks(|live| {
        verdict = pass.block(live);
        if verdict.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let notes = notes.map_err(said)?;
    verdict?;
    no_loss("reading the log", &notes.damage)?;
    Ok(pass.log)
}

/// Which records are of which of the load's producers, told by their frames: for when no statement
/// says so.
fn learn(look: &Look<'_>, store: &Store, producers: &mut HashMap<u64, usize>) -> Verdict {
    let seeds = look.loads.map(|load| load.frame_seed());
    let notes = store.records_as_written(|record| {
        if record.kind == Kind::Frame
            && let Ok((seed, _)) = check_frame(record.payload)
            && let Some(slot) = seeds.iter().take(AFTER).position(|other| *other == seed)
        {
            producers.entry(record.producer).or_insert(slot);
        }
        ControlFlow::Continue(())
    });
    notes.map_err(said)?;
    Ok(())
}

impl Pass<'_> {
    fn block(&mut self, live: &LiveBlock<'_>) -> Verdict {
        let epoch = live.block.header.epoch;
        if matches!(live.file, SegmentFile::Log(_)) {
            self.log.epochs.insert(epoch);
        }
        for chunk in live.block.chunks() {
            let chunk = chunk.map_err(said)?;
            // The writer's own records.
            if chunk.producer == 0 {
                continue;
            }
            let slot = self.producers.get(&chunk.producer).copied();
            let told = (0..2).all(|slot| self.look.slot(slot).is_some_and(|s| s.producer != 0));
            for record in chunk.records() {
                let record = record.map_err(said)?;
                match slot {
                    Some(slot) => self.record(slot, &record, epoch)?,
                    // An earlier judge's.
                    None if told => self.stranger(&record)?,
                    // Nobody has said whose they are, and they have no frame.
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// A record of a producer that no statement knows: only an earlier judge may have pushed it.
    fn stranger(&mut self, record: &Record<'_>) -> Verdict {
        if record.kind != Kind::Frame {
            return Ok(());
        }
        match check_frame(record.payload) {
            Ok((seed, _)) if self.look.loads.get(AFTER).map(Load::frame_seed) == Some(seed) => {
                Ok(())
            }
            other => bad("a frame of an unknown producer", "none", format!("{other:?}")),
        }
    }

    fn record(&mut self, slot: usize, record: &Record<'_>, epoch: u64) -> Verdict {
        let sequence = record.sequence;
        if record.kind == Kind::Gap {
            return self.gap(slot, record, epoch);
        }
        self.note(slot, sequence, (Fate::Record, epoch))?;
        self.log.found += 1;
        let Some(load) = self.look.loads.get(slot) else { return Ok(()) };
        let what = load.what(sequence);
        if self.look.taken(slot, sequence, what == What::TooLarge) == Some(false) {
            return bad(format!("record {slot}/{sequence}"), "refused", "there");
        }
        if record.time_ns != content::time_ns(sequence) && !timed_later(load, what, record) {
            let at = format!("time of record {slot}/{sequence}");
            return bad(at, content::time_ns(sequence), record.time_ns);
        }
        let id = |member: usize| self.declared.id(slot, member);
        let right = match (what, record.kind) {
            (What::Frame { portion, bytes }, Kind::Frame) => {
                self.frame.resize(bytes, 0);
                let _ = fill_frame(load.frame_seed(), sequence, &mut self.frame);
                id(portion * PORTION + PORTION - 1) == Some(record.stream)
                    && record.payload == self.frame.as_slice()
            }
            (What::Text(_), Kind::Text) => {
                let element = load.element(sequence, what, 0);
                id(element.member) == Some(record.stream)
                    && record.payload == Load::text(element.bits).as_bytes()
            }
            (What::Floats(_) | What::Integers(_) | What::Boolean(_), Kind::Moved) => {
                record.moved().map_err(said)? as usize == what.samples()
            }
            (What::Floats(_) | What::Integers(_) | What::Boolean(_), Kind::Samples) => {
                let samples = Samples::decode(record.payload, record.time_ns).map_err(said)?;
                let expected = load
                    .elements(sequence, what)
                    .map(|element| (id(element.member), element.time_ns, element.bits));
                samples.iter().map(|(id, time_ns, bits)| (Some(id), time_ns, bits)).eq(expected)
            }
            _ => false,
        };
        if right {
            return Ok(());
        }
        let found = match record.kind {
            Kind::Frame => format!("frame of {}: {:?}", record.stream, check_frame(record.payload)),
            kind => format!("{kind:?} of {} with {} bytes", record.stream, record.payload.len()),
        };
        bad(format!("record {slot}/{sequence}"), format!("{what:?}"), found)
    }

    fn gap(&mut self, slot: usize, record: &Record<'_>, epoch: u64) -> Verdict {
        let gap = Gap::decode(record.payload).map_err(said)?;
        if gap.damaged + gap.unknown > 0 {
            return bad(
                format!("gap {slot}/{}", record.sequence),
                "refused records",
                format!("{gap:?}"),
            );
        }
        for sequence in record.sequence..record.next_sequence() {
            self.note(slot, sequence, (Fate::Gap, epoch))?;
            let too_large = self.look.loads.get(slot).map(|load| load.what(sequence));
            let too_large = too_large == Some(What::TooLarge);
            if self.look.taken(slot, sequence, too_large) == Some(true) {
                return bad(format!("record {slot}/{sequence}"), "taken", format!("{gap:?}"));
            }
        }
        Ok(())
    }

    fn note(&mut self, slot: usize, sequence: u64, fate: (Fate, u64)) -> Verdict {
        let Some(fates) = self.log.fates.get_mut(slot) else { return Ok(()) };
        let at = usize::try_from(sequence).unwrap_or(usize::MAX);
        if at > 1 << 26 {
            return bad(format!("record {slot}/{sequence}"), "one that was pushed", "it");
        }
        if fates.len() <= at {
            fates.resize(at + 1, <_>::default());
        }
        match fates.get_mut(at) {
            Some(place) if place.0 == Fate::Absent => *place = fate,
            _ => return bad(format!("record {slot}/{sequence}"), "once", "again"),
        }
        Ok(())
    }
}

/// The time of a batch with times of its own is that of its first sample.
fn timed_later(load: &Load, what: What, record: &Record<'_>) -> bool {
    let timed = match what {
        What::Floats(batch) | What::Integers(batch) => batch.timed,
        _ => false,
    };
    timed && record.time_ns == load.element(record.sequence, what, 0).time_ns
}

impl Log {
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// Whether this record is in the log.
    pub(super) fn holds(&self, slot: usize, sequence: u64) -> bool {
        let fates = self.fates.get(slot);
        let fate = fates.and_then(|fates| fates.get(usize::try_from(sequence).ok()?));
        fate.is_some_and(|(fate, _)| *fate == Fate::Record)
    }

    /// First sequence behind all that was found of a producer.
    pub(super) fn end(&self, slot: usize) -> u64 {
        self.fates.get(slot).map_or(0, Vec::len) as u64
    }

    pub(super) fn check(&self, look: &Look<'_>) -> Verdict {
        for (slot, fates) in self.fates.iter().enumerate() {
            let durable = look.slot(slot).map_or(0, |told| told.durable);
            if (fates.len() as u64) < durable {
                let what = format!("durable records of producer {slot}");
                let last = fates.iter().rposition(|(fate, _)| *fate == Fate::Record);
                return bad(what, durable, format!("{}, the last {last:?}", fates.len()));
            }
            let mut at = 0;
            while let Some(from) = fates.iter().skip(at).position(|f| f.0 == Fate::Absent) {
                let from = at + from;
                // The last one is never absent.
                let to = fates.iter().skip(from).position(|f| f.0 != Fate::Absent);
                at = from + to.unwrap_or(1);
                self.hole(look, slot, (from, at), durable)?;
            }
        }
        for pin in &look.statement.pins {
            for (slot, window) in pin.windows.iter().enumerate() {
                self.window(look, slot, (window.from, window.to), pin.number)?;
            }
        }
        Ok(())
    }

    /// Whether recycling explains that these sequences are not there.
    fn hole(
        &self,
        look: &Look<'_>,
        slot: usize,
        (from, to): (usize, usize),
        durable: u64,
    ) -> Verdict {
        let scenario = look.scenario;
        let what = format!("records {from} to {to} of producer {slot} ({durable} durable)");
        if !scenario.recycle {
            return bad(what, "there, as nothing is recycled", "not there");
        }
        let fates = self.fates.get(slot).map_or(&[][..], Vec::as_slice);
        let epoch = |at: usize| fates.get(at).map_or(0, |fate| fate.1);
        let (before, after) = (from.checked_sub(1).map_or(0, epoch), epoch(to));
        if after < before + 2 {
            let found = format!("not there, between epochs {before} and {after}");
            return bad(what, "there, as no segment is missing", found);
        }
        // One may be in the making, another one just started; one more when recording began again.
        let spare = 2 + u64::from(look.again);
        let held = if scenario.pins { u64::from(scenario.segments) / 2 } else { 0 };
        let least = u64::from(scenario.segments).saturating_sub(spare + held).max(1);
        let newer = self.epochs.range(after..).count() as u64;
        if newer < least {
            let found = format!("{newer} of {:?}, not there before {after}", self.epochs);
            return bad(what, format!("recycled, and {least} newer segments"), found);
        }
        Ok(())
    }

    /// Whether what a pin holds is there.
    fn window(&self, look: &Look<'_>, slot: usize, (from, to): (u64, u64), number: u32) -> Verdict {
        let durable = look.slot(slot).map_or(0, |told| told.durable);
        let Some(load) = look.loads.get(slot) else { return Ok(()) };
        for sequence in from..to.min(durable) {
            let too_large = load.what(sequence) == What::TooLarge;
            if look.taken(slot, sequence, too_large) == Some(true) && !self.holds(slot, sequence) {
                let what = format!("record {slot}/{sequence} of pin {number} ({from} to {to})");
                return bad(what, "held", format!("not there; epochs {:?}", self.epochs));
            }
        }
        Ok(())
    }
}
