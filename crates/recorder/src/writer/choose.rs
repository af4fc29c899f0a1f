//! Which segment is started next; and which must not be, because a pin holds it or because it is
//! younger than what is to be kept.
//!
//! Invariants: a segment that a pin covers is not started again before a copy of it is durable
//! outside the log; a copy whose samples are in no run is not passed over by settling. Held by the
//! simulator's tests (`tests/crash/pinning.rs`).

mod reach;

use super::retention::Retention;
use baro_log::{Recovery, Span, spans};
use baro_ondisk::{DeadTail, SegmentHeader, Settled, WhenFull};
use reach::{Reach, There, reach};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The segment to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) index: u32,
    /// There never was a header but the blank one of init.
    pub(crate) untouched: bool,
    /// Where the segment before it ends, which stays while this one is recycled: only its header
    /// told.
    pub(crate) end: Option<DeadTail>,
}

/// Why no segment can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoNext {
    /// All hold data, and the store never recycles.
    Full,
    /// Others are being added to the log.
    Growing,
    /// So many are held by pins, so many are too young, and of so many the samples are not in runs.
    Held { pinned: u32, young: u32, unsettled: u32 },
}

/// A segment in use.
#[derive(Clone, Copy, Debug)]
struct Started {
    index: u32,
    /// 0 if its header is damaged.
    epoch: u64,
    session: u64,
    first_block: u64,
    span: Span,
    /// It holds samples, or may.
    samples: bool,
}

/// Epochs that a pin holds.
#[derive(Clone, Copy, Debug)]
struct Hold {
    id: u64,
    first: u64,
    last: u64,
}

/// Segments that may be started, in the order in which they will be.
#[derive(Debug)]
pub(crate) struct Choice {
    blank: VecDeque<u32>,
    /// Blank ones that nobody has tried to start.
    untouched: Vec<u32>,
    /// Started ones, oldest first; reused only when the store recycles.
    started: VecDeque<Started>,
    /// Started ones that somebody has taken away or written over: part of them may be there still.
    taken: Vec<Started>,
    when_full: WhenFull,
    retention: Retention,
    /// Most segments in use at once.
    segments_max: usize,
    /// Segments that growth is still to bring.
    to_come: usize,
    holds: Vec<Hold>,
    /// What is behind this may be in no run, if that counts.
    settled: Option<Settled>,
    /// Recycled although their samples were in no run.
    lost_unsettled: u32,
    /// Epochs of which there is a durable copy outside the log.
    copied: BTreeMap<u64, Copied>,
    /// The segment of this epoch stays until its copy has been made again.
    again: Option<u64>,
}

/// A copy of a segment outside the log.
#[derive(Clone, Copy, Debug)]
struct Copied {
    span: Span,
    /// It holds samples, or may.
    samples: bool,
}

impl Choice {
    /// What recovery found, and what to add to boottime to get running time.
    pub(crate) fn new(
        recovery: &Recovery,
        retention: Retention,
        (boot_id, boottime_ns): ([u8; 16], i64),
    ) -> (Self, i64) {
        let Recovery { segments, empty, identity, .. } = recovery;
        let mut blank: VecDeque<u32> = segments.blank.iter().copied().collect();
        blank.make_contiguous().sort_unstable();
        let untouched = blank.iter().copied().collect();
        if let Some(empty) = *empty {
            blank.push_front(empty);
        }
        let headers: Vec<SegmentHeader> = segments.started.iter().map(|(h, _)| *h).collect();
        let last_ns = recovery.last_block_ns.map(|(_, boottime_ns)| boottime_ns);
        let (spans, base_ns) = spans(&headers, last_ns, boot_id, boottime_ns);
        // A damaged header is what a crash leaves of a segment that was being started. Under
        // "stop" it is not reused either: it may be damage to a segment that holds data.
        let nothing = Span { starts_ns: i64::MIN, ends_ns: i64::MIN };
        let damaged = |(index, _): &(u32, _)| Started {
            index: *index,
            epoch: 0,
            session: 0,
            first_block: 0,
            span: nothing,
            samples: false,
        };
        let mut started: VecDeque<Started> = segments.damaged.iter().map(damaged).collect();
        let used = headers.iter().zip(spans);
        // What earlier sessions have put there only settling finds out.
        let samples = true;
        let used = used.map(|(h, span)| Started {
            index: h.index,
            epoch: h.epoch,
            session: h.session,
            first_block: h.first_block,
            span,
            samples,
        });
        started.extend(used.filter(|segment| *empty != Some(segment.index)));
        let all = identity.segments as usize;
        let kept = retention.keep_bytes.map_or(all, |bytes| {
            usize::try_from(bytes / identity.segment_bytes).unwrap_or(all).clamp(2, all)
        });
        let choice = Choice {
            blank,
            untouched,
            started,
            taken: Vec::new(),
            when_full: identity.when_full,
            retention,
            segments_max: kept,
            to_come: kept.saturating_sub(segments.grown as usize),
            holds: Vec::new(),
            settled: retention.keep_unsettled.then(Settled::default),
            lost_unsettled: 0,
            copied: BTreeMap::new(),
            again: None,
        };
        (choice, base_ns)
    }

    /// The segment started last.
    pub(crate) fn newest(&self) -> Option<u32> {
        self.started.back().map(|segment| segment.index)
    }

    /// The next segment, which is then the newest and has the epoch of `place`, beside its session and
    /// the sequence of its first block. Segments in `busy` are passed
    /// over. `urgent`: records have waited long enough for unsettled ones to yield, if they do.
    pub(crate) fn next(
        &mut self,
        busy: &[u32],
        (epoch, session, first_block): (u64, u64, u64),
        running_ns: i64,
        urgent: bool,
    ) -> Result<Next, NoNext> {
        let recycles = self.when_full == WhenFull::Recycle;
        let room = self.started.len() < self.segments_max || !recycles;
        let next = match self.blank.front().copied().filter(|_| room) {
            Some(index) => {
                self.blank.pop_front();
                let at = self.untouched.iter().position(|other| *other == index);
                at.map(|at| self.untouched.swap_remove(at));
                Next { index, untouched: at.is_some(), end: None }
            }
            // What is there is not given up as long as the log has not its size, unless new records cannot
            // wait for that. Who waits anyway waits for this too.
            None if recycles && room && self.grows_first() && (!urgent || self.all_wait()) => {
                return Err(NoNext::Growing);
            }
            None if recycles => {
                let yields = urgent && self.retention.unsettled_yield && self.to_come == 0;
                let found = self.reusable(busy, running_ns, false).or_else(|| {
                    let found = self.reusable(busy, running_ns, true).filter(|_| yields)?;
                    self.lost_unsettled += 1;
                    Some(found)
                });
                let at = found.ok_or_else(|| self.why(running_ns))?;
                let segment = self.started.remove(at).ok_or(NoNext::Full)?;
                let before = |s: &&Started| {
                    s.epoch + 1 == segment.epoch && s.epoch > 0 && s.session == segment.session
                };
                let end = self.started.iter().find(before).map(|before| DeadTail {
                    epoch: before.epoch,
                    end: segment.first_block,
                    index: before.index,
                    end_only: true,
                });
                Next { index: segment.index, untouched: false, end }
            }
            None if self.to_come > 0 => return Err(NoNext::Growing),
            None => return Err(NoNext::Full),
        };
        if let Some(before) = self.started.back_mut()
            && before.span.ends_ns == i64::MAX
        {
            before.span.ends_ns = running_ns;
        }
        let span = Span { starts_ns: running_ns, ends_ns: i64::MAX };
        let (index, samples) = (next.index, false);
        self.started.push_back(Started { index, epoch, session, first_block, span, samples });
        Ok(next)
    }

    /// The newest segment holds samples from now on.
    pub(crate) fn note_samples(&mut self) {
        if let Some(newest) = self.started.back_mut() {
            newest.samples = true;
        }
    }

    /// Whether another segment can be started that is not reused.
    pub(crate) fn has_another(&self) -> bool {
        let room = self.started.len() < self.segments_max || self.when_full == WhenFull::Stop;
        room && !self.blank.is_empty()
    }

    /// Segments with samples that are in no run, and the first epoch of them; 0 and `None` if that
    /// does not count here.
    pub(crate) fn unsettled(&self) -> (usize, Option<u64>) {
        let unsettled = || self.started.iter().filter(|segment| !self.is_settled(segment));
        let first = unsettled().map(|segment| segment.epoch).min();
        // What can still be read of one that was taken away is not passed over.
        let taken = self.taken.iter().filter(|segment| !self.is_settled(segment));
        let taken = taken.map(|segment| segment.epoch).min();
        // Nor is what only a copy holds.
        let since = self.settled.map_or(u64::MAX, |settled| settled.epoch);
        let mut copies = self.copied.range(since..).filter(|(_, copy)| copy.samples);
        let copy = copies.next().map(|(epoch, _)| *epoch);
        (unsettled().count(), first.into_iter().chain(taken).chain(copy).min())
    }

    /// Segments recycled although their samples were in no run.
    pub(crate) fn lost_unsettled(&self) -> u32 {
        self.lost_unsettled
    }

    /// Whether the log is to have its size before anything is reused. With an age that is kept, what is
    /// older is reused first.
    fn grows_first(&self) -> bool {
        self.to_come > 0 && self.retention.keep_ns.is_none()
    }

    /// Whether all sources wait for room: nothing of theirs is lost meanwhile.
    fn all_wait(&self) -> bool {
        self.retention.keep_unsettled && !self.retention.unsettled_yield
    }

    /// From now on unsettled segments yield, or do not.
    pub(crate) fn set_unsettled_yield(&mut self, yields: bool) {
        self.retention.unsettled_yield = yields;
    }

    /// The place of the oldest segment that may be reused, be it unsettled with `unsettled`. One of
    /// which there is a copy may: settling reads that.
    fn reusable(&self, busy: &[u32], running_ns: i64, unsettled: bool) -> Option<usize> {
        self.started.iter().position(|segment| {
            !busy.contains(&segment.index)
                && self.again != Some(segment.epoch)
                && !self.holds(segment.epoch)
                && self.old_enough(segment, running_ns)
                && (unsettled || self.may_yield(segment))
        })
    }

    /// Whether nothing is lost with this segment of the log.
    fn may_yield(&self, segment: &Started) -> bool {
        self.is_settled(segment) || self.copied.contains_key(&segment.epoch)
    }

    fn old_enough(&self, segment: &Started, running_ns: i64) -> bool {
        let keep_ns = self.retention.keep_ns.unwrap_or(0);
        let age_ns = running_ns.saturating_sub(segment.span.ends_ns);
        keep_ns == 0 || u64::try_from(age_ns).is_ok_and(|age_ns| age_ns >= keep_ns)
    }

    /// Also of the segment that settling has come to, where that is at its end: the next one of its
    /// session says where that is. In a log of two no block behind it may be certain, and certain it is
    /// only by what can be written when this one is free.
    fn is_settled(&self, segment: &Started) -> bool {
        let Some(settled) = self.settled else { return true };
        let ends = |next: &Started| {
            (next.epoch, next.session) == (segment.epoch + 1, segment.session)
                && next.first_block <= settled.end
        };
        !segment.samples
            || segment.epoch < settled.epoch
            || (segment.epoch == settled.epoch && self.started.iter().any(ends))
    }

    /// Samples are in runs up to there.
    pub(crate) fn settled(&mut self, through: Settled) {
        if let Some(settled) = &mut self.settled {
            *settled = through.max(*settled);
        }
    }

    /// Why the next segment would have to be one that is not settled, or none; `None` if another is
    /// free.
    pub(crate) fn why_held(&self, busy: &[u32], running_ns: i64) -> Option<NoNext> {
        let room = self.started.len() < self.segments_max || self.when_full == WhenFull::Stop;
        let free = (room && !self.blank.is_empty())
            || (self.when_full == WhenFull::Recycle
                && self.reusable(busy, running_ns, false).is_some());
        if free || self.when_full == WhenFull::Stop { None } else { Some(self.why(running_ns)) }
    }

    /// This segment is never started again.
    pub(crate) fn forbid(&mut self, index: u32) {
        self.blank.retain(|other| *other != index);
        let gone = self.started.iter().filter(|other| other.index == index).copied();
        self.taken.extend(gone);
        self.started.retain(|other| other.index != index);
    }

    /// Whether segments are reused.
    pub(crate) fn recycles(&self) -> bool {
        self.when_full == WhenFull::Recycle
    }

    /// Whether more than half of the log is unsettled.
    pub(crate) fn is_behind(&self) -> bool {
        let (unsettled, _) = self.unsettled();
        unsettled > 1 && unsettled * 2 > self.usable()
    }

    pub(crate) fn why(&self, running_ns: i64) -> NoNext {
        if self.to_come > 0 {
            return NoNext::Growing;
        }
        let (mut pinned, mut young, mut unsettled) = (0, 0, 0);
        for segment in &self.started {
            if self.holds(segment.epoch) {
                pinned += 1;
            } else if !self.old_enough(segment, running_ns) {
                young += 1;
            } else if !self.may_yield(segment) {
                unsettled += 1;
            }
        }
        NoNext::Held { pinned, young, unsettled }
    }

    /// A segment with a failed write or sync that holds nothing durable: tried again when all
    /// others have been. In a store that recycles that is its place among the started ones anyhow;
    /// there a suspect segment keeps its turn, whatever it holds.
    pub(crate) fn give_back(&mut self, index: u32) {
        if self.when_full == WhenFull::Stop {
            self.started.retain(|other| other.index != index);
            self.blank.push_back(index);
        } else if let Some(segment) = self.started.iter_mut().find(|other| other.index == index) {
            // Nothing of it will be settled, and so nothing is to be waited for.
            segment.samples = false;
        }
    }

    /// A segment has been added to the log.
    pub(crate) fn add_blank(&mut self, index: u32) {
        self.blank.push_back(index);
        self.untouched.push(index);
        self.to_come = self.to_come.saturating_sub(1);
    }

    /// No further segment is going to be added.
    pub(crate) fn end_growth(&mut self) {
        self.to_come = 0;
    }

    /// Growth goes on: so many are to come.
    pub(crate) fn resume_growth(&mut self, to_come: usize) {
        self.to_come = to_come;
    }

    /// Segments that could be started without reusing any.
    pub(crate) fn blank(&self) -> usize {
        self.blank.len()
    }

    /// Whether the oldest segment is older than what is to be kept.
    pub(crate) fn may_reuse(&self, running_ns: i64) -> bool {
        self.when_full == WhenFull::Recycle && self.reusable(&[], running_ns, false).is_some()
    }

    /// Where a window from `from_ns` (running time) on begins; `next_epoch` is that of the segment
    /// started next.
    pub(crate) fn reach(&self, from_ns: i64, next_epoch: u64) -> Reach {
        let copies = self.copied.iter();
        let copies = copies.map(|(epoch, copy)| (*epoch, There { span: copy.span, begins: false }));
        let started = self.started.iter().filter(|segment| segment.epoch > 0);
        let started = started.map(|segment| {
            (segment.epoch, There { span: segment.span, begins: segment.first_block == 0 })
        });
        // One by one: to collect a map takes a sort of its own, and boards have little room for programs.
        let mut all = BTreeMap::new();
        all.extend(copies.chain(started));
        reach(&all, from_ns, next_epoch)
    }

    /// From now on these epochs are held for the pin `id`.
    pub(crate) fn hold(&mut self, id: u64, first: u64, last: u64) {
        self.holds.retain(|hold| hold.id != id);
        self.holds.push(Hold { id, first, last });
    }

    /// The pin `id` is released.
    pub(crate) fn release(&mut self, id: u64) {
        self.holds.retain(|hold| hold.id != id);
    }

    /// Whether this epoch must not be recycled.
    pub(crate) fn holds(&self, epoch: u64) -> bool {
        let covers = |hold: &Hold| (hold.first..=hold.last).contains(&epoch);
        epoch > 0 && self.holds.iter().any(covers) && !self.copied.contains_key(&epoch)
    }

    /// Segments of the log held by pins.
    pub(crate) fn held(&self) -> usize {
        if self.holds.is_empty() {
            return 0;
        }
        self.started.iter().filter(|segment| self.holds(segment.epoch)).count()
    }

    /// Segments that a hold from `first` on would add to those held.
    pub(crate) fn held_more(&self, first: u64) -> usize {
        let more = |s: &&Started| {
            s.epoch >= first && !self.holds(s.epoch) && !self.copied.contains_key(&s.epoch)
        };
        self.started.iter().filter(more).count()
    }

    /// The last epoch of a hold from `first` on with which pins hold at most `most` segments.
    pub(crate) fn last_to_hold(&self, first: u64, most: usize) -> u64 {
        let more = |epoch: &u64| {
            *epoch >= first && !self.holds(*epoch) && !self.copied.contains_key(epoch)
        };
        // No sort: it has five kilobytes of a board's program.
        let mut epochs = BTreeSet::new();
        epochs.extend(self.started.iter().map(|segment| segment.epoch).filter(more));
        let room = most.saturating_sub(self.held());
        room.checked_sub(1).and_then(|last| epochs.iter().nth(last)).copied().unwrap_or(first)
    }

    /// Most segments that pins may hold: half the log, so that recording always goes on. `None` in
    /// a store that never recycles, where a pin costs nothing.
    pub(crate) fn held_max(&self) -> Option<usize> {
        (self.when_full == WhenFull::Recycle).then_some(self.usable() / 2)
    }

    /// Segments that the log has or will have.
    pub(crate) fn usable(&self) -> usize {
        (self.started.len() + self.blank.len() + self.to_come).min(self.segments_max)
    }

    /// The oldest held segment, if pins hold more than a quarter of the log, so that it should be
    /// copied out; of an epoch below `complete_below`.
    pub(crate) fn to_copy(&self, complete_below: u64) -> Option<(u64, u32)> {
        if let Some(again) = self.started.iter().find(|one| Some(one.epoch) == self.again) {
            return Some((again.epoch, again.index));
        }
        self.held_max()?;
        if self.held() <= (self.usable() / 4).max(1) {
            return None;
        }
        let held = |s: &&Started| s.epoch < complete_below && self.holds(s.epoch);
        let oldest = self.started.iter().filter(held).min_by_key(|s| s.epoch)?;
        Some((oldest.epoch, oldest.index))
    }

    /// There is a durable copy of this epoch outside the log.
    pub(crate) fn copied(&mut self, epoch: u64) {
        let segment = self.started.iter().find(|segment| segment.epoch == epoch);
        // One that an earlier session copied is in the log no more: when it began is not known, but it
        // ended before what was started after it.
        let later = self.started.iter().filter(|segment| segment.epoch > epoch);
        let ended = || later.map(|segment| segment.span.starts_ns).min().unwrap_or(i64::MAX);
        let span = match segment {
            Some(segment) => segment.span,
            None => Span { starts_ns: i64::MAX, ends_ns: ended() },
        };
        let samples = segment.is_none_or(|segment| segment.samples);
        self.copied.insert(epoch, Copied { span, samples });
        self.not_again(epoch);
    }

    /// Keeps the segment of this epoch until its copy has been made again; false if it is not in the log
    /// any more. Of one at a time: pins, which hold half the log, and this leave room to record.
    pub(crate) fn copy_again(&mut self, epoch: u64) -> bool {
        let there = self.started.iter().any(|segment| segment.epoch == epoch);
        let again = there && self.copied.contains_key(&epoch);
        self.again = again.then_some(epoch);
        again
    }

    /// The one that was to be made again, if its segment has been taken away since.
    pub(crate) fn again_lost(&mut self) -> Option<u64> {
        let there = |epoch: &u64| self.started.iter().any(|segment| segment.epoch == *epoch);
        let lost = self.again.filter(|epoch| !there(epoch))?;
        self.again = None;
        Some(lost)
    }

    /// The copy of this epoch is not made again, or is made.
    pub(crate) fn not_again(&mut self, epoch: u64) {
        self.again.take_if(|again| *again == epoch);
    }

    /// There is none any more.
    pub(crate) fn forget_copy(&mut self, epoch: u64) {
        self.copied.remove(&epoch);
        self.not_again(epoch);
    }
}
