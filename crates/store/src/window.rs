//! What of the log is in no run yet, a window of time at once: a reader in the order of time takes as
//! much memory as it is given, however much waits to be settled.
//!
//! The first look goes through all of it, and keeps it if it fits; else it learns of each segment the
//! times it really has, and later windows read the segments that meet them. What a recorder has
//! recycled meanwhile was settled before: then runs and log are looked at anew, and who reads goes on
//! where it was.
//!
//! Invariant: of log and runs one moment is seen together, so no sample is missed or met twice while
//! it is settled. Held by `tests/timeline.rs`, `tests/model` and the export's `tests/lives.rs`.

use crate::index::{Index, Patience, Search};
use crate::interval::Interval;
use crate::read::{LiveBlock, Notes, read_segment};
use crate::runs::Runs;
use crate::segments::read_segments;
use crate::unsettled::{Unsettled, samples_of, texts_of};
use crate::{Error, Result, Store};
use baro_log::Blocks;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How often a log that goes round is looked at anew before the reader gives up.
const TRIES: u32 = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Windows<'a> {
    store: &'a Store,
    /// Runs and log as they were later than the store was opened.
    anew: Option<(Runs, Index)>,
    bytes_max: usize,
    /// Times of the samples of each segment, by epoch; empty until all were looked at.
    times: HashMap<u64, Span>,
    all: Span,
    bytes: usize,
    held: Unsettled,
    of: Option<Interval>,
    /// Length of the next window.
    length_ns: u64,
    pub(crate) notes: Notes,
}

/// Earliest and latest time; none if the first is the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) i64, pub(crate) i64);

impl Span {
    pub(crate) const NONE: Span = Span(i64::MAX, i64::MIN);

    pub(crate) fn and(self, other: Span) -> Span {
        Span(self.0.min(other.0), self.1.max(other.1))
    }

    fn meets(self, interval: Interval) -> bool {
        interval.meets((self.0, self.1))
    }
}

/// What became of reading.
enum Read {
    Done,
    TooMuch,
    Recycled,
}

impl<'a> Windows<'a> {
    /// Holds up to about `bytes_max` at once.
    pub(crate) fn new(store: &'a Store, bytes_max: usize) -> Self {
        Windows {
            store,
            anew: None,
            bytes_max,
            times: HashMap::new(),
            all: Span::NONE,
            bytes: 0,
            held: Unsettled::default(),
            of: None,
            length_ns: u64::MAX,
            notes: Notes::default(),
        }
    }

    /// The runs that belong to what is held.
    pub(crate) fn runs(&self) -> &Runs {
        self.anew.as_ref().map_or(&self.store.runs, |anew| &anew.0)
    }

    /// What is held.
    pub(crate) fn held(&self) -> &Unsettled {
        &self.held
    }

    /// Times of all samples there are, in runs and log.
    pub(crate) fn times(&mut self) -> Result<Span> {
        self.look()?;
        let runs = self.runs().files.iter().filter(|run| run.entry.samples > 0);
        let runs = runs.map(|run| Span(run.entry.time_min_ns, run.entry.time_max_ns));
        Ok(runs.fold(self.all, Span::and))
    }

    /// Samples there are, about.
    pub(crate) fn samples(&self) -> u64 {
        let runs: u64 = self.runs().files.iter().map(|run| run.entry.samples).sum();
        // Where the log is not held whole: a sample takes two bytes there or more.
        let held: u64 = self.held.parts.iter().map(crate::unsettled::LogPart::samples).sum();
        runs + held.max(self.bytes as u64 / 2) + self.held.texts.len() as u64
    }

    /// Holds what is in the log from `from_ns` on; returns the first time that is not covered.
    pub(crate) fn at(&mut self, from_ns: i64) -> Result<i64> {
        self.look()?;
        if let Some(of) = self.of.filter(|of| of.holds(from_ns)) {
            return Ok(of.to_ns);
        }
        let mut tries = TRIES;
        loop {
            let to_ns = from_ns.saturating_add_unsigned(self.length_ns);
            let of = Interval { from_ns, to_ns };
            match self.read(of)? {
                Read::Done => {
                    if self.held_bytes() < self.bytes_max / 4 {
                        self.length_ns = self.length_ns.saturating_mul(2);
                    }
                    self.of = Some(of);
                    return Ok(to_ns);
                }
                Read::TooMuch if self.length_ns > 1 => self.length_ns /= 2,
                Read::TooMuch => {
                    let (path, limit_bytes) = (self.store.path.clone(), self.bytes_max);
                    return Err(Error::Unsettled { path, limit_bytes });
                }
                Read::Recycled => {
                    self.anew(&mut tries)?;
                    self.look()?;
                    if self.of.is_some() {
                        return Ok(i64::MAX);
                    }
                }
            }
        }
    }

    fn held_bytes(&self) -> usize {
        let texts = self.held.texts.iter().map(|text| text.bytes()).sum::<usize>();
        texts + self.held.parts.iter().map(crate::unsettled::LogPart::bytes).sum::<usize>()
    }

    /// Looks at all of it once.
    fn look(&mut self) -> Result<()> {
        let mut tries = TRIES;
        while self.length_ns == u64::MAX && self.of.is_none() {
            match self.read(Interval::ALL)? {
                Read::Done => self.of = Some(Interval::ALL),
                Read::TooMuch => {
                    let span_ns = u128::from(self.all.1.abs_diff(self.all.0));
                    let part = span_ns * (self.bytes_max as u128 / 2) / (self.bytes as u128).max(1);
                    self.length_ns = u64::try_from(part).unwrap_or(u64::MAX - 1).max(1);
                }
                Read::Recycled => self.anew(&mut tries)?,
            }
        }
        Ok(())
    }

    /// Takes runs and log as they are now.
    fn anew(&mut self, tries: &mut u32) -> Result<()> {
        *tries -= 1;
        let store = self.store;
        if *tries == 0 {
            return Err(Error::Recycled { path: store.path.clone() });
        }
        // In the order of `Store::refresh`, for its reasons.
        let segments = read_segments(&store.storage, &store.identity, store.access)?;
        let runs = Runs::open(&store.storage, store.identity.store, &self.runs().files)?;
        let epoch = runs.manifest.settled.epoch;
        let when_full = store.when_full_since(epoch);
        let segments = segments.since(epoch);
        let index =
            Index::build(&store.storage, store.access, when_full, &segments, Search::Samples)?;
        for damage in runs.damage.iter().chain(&index.damage) {
            if !store.damage_so_far().contains(damage) {
                self.notes.take_damage(damage.clone());
            }
        }
        self.anew = Some((runs, index));
        self.times.clear();
        (self.all, self.bytes) = (Span::NONE, 0);
        (self.of, self.length_ns) = (None, u64::MAX);
        Ok(())
    }

    /// Holds what is in `of`. The first time all of the log is gone through.
    fn read(&mut self, of: Interval) -> Result<Read> {
        self.held = Unsettled::default();
        self.of = None;
        let (store, first) = (self.store, self.times.is_empty());
        let most = self.bytes_max;
        let index = match &self.anew {
            Some((_, index)) => index,
            None => store.recent()?,
        };
        let (settled, deletions) = (self.runs().manifest.settled, self.runs().deletions.clone());
        if index.recycled > 0 {
            return Ok(Read::Recycled);
        }
        let (mut buffer, mut patience) = (Blocks::new()?, Patience::new(store.identity.when_full));
        let (mut notes, mut bytes, mut all) = (Notes::default(), 0, Span::NONE);
        let mut total = 0;
        for entry in index.segments.iter().filter(|s| s.segment.header.epoch >= settled.epoch) {
            let epoch = entry.segment.header.epoch;
            if self.times.get(&epoch).is_some_and(|times| !times.meets(of)) {
                continue;
            }
            let mut times = Span::NONE;
            let held = &mut self.held;
            let each = |live: &LiveBlock<'_>, notes: &mut Notes| {
                if settled.covers(epoch, live.block.header.sequence) {
                    return Ok(ControlFlow::Continue(()));
                }
                if let Some(part) = samples_of(live, notes) {
                    let (min_ns, max_ns) = part.times_ns();
                    times = times.and(Span(min_ns, max_ns));
                    total += part.bytes();
                    if of.meets((min_ns, max_ns)) && bytes <= most {
                        bytes += part.bytes();
                        held.parts.push(part);
                    }
                }
                texts_of(live, notes, |text| {
                    times = times.and(Span(text.time_ns, text.time_ns));
                    total += text.bytes();
                    if of.holds(text.time_ns) && bytes <= most {
                        bytes += text.bytes();
                        held.texts.push(Arc::new(text));
                    }
                });
                // The first time it goes on, for the times.
                let full = bytes > most && !first;
                Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            };
            let flow = read_segment(
                (&store.storage, store.access),
                &mut buffer,
                &mut patience,
                entry,
                &mut notes,
                &deletions,
                each,
            )?;
            if notes.blocks_recycled > 0 {
                return Ok(Read::Recycled);
            }
            if first {
                self.times.insert(epoch, times);
                all = all.and(times);
            }
            if flow.is_break() {
                break;
            }
        }
        if first {
            (self.all, self.bytes) = (all, total);
        }
        self.notes.blocks += notes.blocks;
        notes.damage.into_iter().for_each(|damage| self.notes.take_damage(damage));
        if bytes > most {
            self.held = Unsettled::default();
            return Ok(Read::TooMuch);
        }
        Ok(Read::Done)
    }
}
