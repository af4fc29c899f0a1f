//! Records on their way from the rings into a block, and samples into the stage from which the
//! block's section is made when it is sealed.
//!
//! Invariant: the samples on the stage are those of the block's moved records, in their order; room
//! for the section that they may become is kept in the block.

use super::{CLOCK_STEP_NS, Engine, Event, Now};
use crate::ring::{Head, Next, RingReader};
use crate::types::{Fit, KnownTypes};
use crate::writer::status::Status;
use crate::writer::watch::Watch;
use baro_ondisk::{BlockBuilder, Gap, Kind, SampleStage, Samples, section_bytes_max};
use baro_sys::memory::{AlignedBuffer, as_bytes_mut};

impl Engine {
    /// Takes records into the block being filled; true if it is full.
    pub(super) fn fill(&mut self) -> bool {
        if self.filling.is_none() {
            if !self.has_more() {
                return false;
            }
            self.filling = self.free.pop();
        }
        let Some(mut buffer) = self.filling.take() else { return false };
        if self.builder.is_empty() {
            self.filling_since_ns = self.now.monotonic_ns;
            self.filling_live = false;
        }
        let mut full = !self.note_clock(&mut buffer);
        let count = self.rings.len();
        for offset in 0..count {
            if full {
                break;
            }
            let at = (self.first_ring + offset) % count;
            if self.waits(at) {
                continue;
            }
            let live = !self.can_wait(at);
            let Engine {
                rings,
                builder,
                stage,
                loose_bytes,
                status,
                watches,
                events,
                now,
                types,
                ..
            } = self;
            if let Some(ring) = rings.get_mut(at) {
                let mut look = Looking { watches, events, now: *now };
                types.look();
                let mut target = Target { builder, stage, loose_bytes, buffer: &mut buffer, types };
                let before = ring.sequence();
                full = !target.take_all(ring, now.realtime_ns, status, &mut look);
                self.filling_live |= live && ring.sequence() != before;
                if full {
                    // The others come first next time.
                    self.first_ring = (at + 1) % count;
                }
            }
        }
        self.filling = Some(buffer);
        full
    }

    /// Records a step of the realtime clock. False if the block is full.
    pub(super) fn note_clock(&mut self, buffer: &mut AlignedBuffer) -> bool {
        let offset_ns = self.now.realtime_ns - self.now.boottime_ns;
        let before_ns = *self.clock_ns.get_or_insert(offset_ns);
        if (offset_ns - before_ns).abs() < CLOCK_STEP_NS {
            return true;
        }
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&before_ns.to_le_bytes());
        payload[8..].copy_from_slice(&offset_ns.to_le_bytes());
        let (sequence, time_ns) = (self.own_sequence, self.now.realtime_ns);
        let fill = |to: &mut [u8]| to.copy_from_slice(&payload);
        let taken =
            self.builder.push(buffer, 0, Kind::Clock, 0, sequence, time_ns, payload.len(), fill);
        if taken {
            self.own_sequence += 1;
            self.clock_ns = Some(offset_ns);
        }
        taken
    }
}

/// A sample's own time counts if it is of the last ten seconds; its clock may be anybody's.
fn fired_event(trigger: usize, time_ns: i64, now: Now) -> Event {
    let ago_ns = now.realtime_ns.saturating_sub(time_ns);
    let ago_ns = if (0..10_000_000_000).contains(&ago_ns) { ago_ns } else { 0 };
    let (realtime_ns, boottime_ns) = (now.realtime_ns - ago_ns, now.boottime_ns - ago_ns);
    Event::Fired { trigger, realtime_ns, boottime_ns }
}

/// Where records go.
struct Target<'a> {
    builder: &'a mut BlockBuilder,
    stage: &'a mut SampleStage,
    /// Bytes of samples and texts in the bodies.
    loose_bytes: &'a mut u64,
    buffer: &'a mut [u8],
    types: &'a KnownTypes,
}

impl Target<'_> {
    /// Takes what a ring has into the block; false if the block is full.
    fn take_all(
        &mut self,
        ring: &mut RingReader,
        now_ns: i64,
        status: &mut Status,
        look: &mut Looking<'_>,
    ) -> bool {
        let producer = ring.producer();
        loop {
            match ring.next() {
                Next::Empty => return true,
                Next::Record(head) => {
                    let fit = self.types.fit(ring, &head);
                    if fit == Fit::No {
                        if !self.take_misfit(ring, now_ns) {
                            return false;
                        }
                        ring.take_record(&head);
                        status.lost += 1;
                        status.records_misfit += 1;
                        continue;
                    }
                    let samples = ring.samples_of(&head);
                    let taken = match self.movable(ring, &head) {
                        Some((count, times)) => self.take_samples(ring, &head, count, times, look),
                        None => self.take_record(ring, &head, look),
                    };
                    if !taken {
                        return false;
                    }
                    ring.take_record(&head);
                    status.records_undeclared += u64::from(fit == Fit::Undeclared);
                    status.payload_bytes += head.length as u64;
                    status.samples += samples;
                }
                Next::Gap(gap) => {
                    let fill = |to: &mut [u8]| to.copy_from_slice(&gap.encode());
                    let (kind, sequence, bytes) = (Kind::Gap, ring.sequence(), Gap::BYTES);
                    let builder = &mut self.builder;
                    if !builder.push(self.buffer, producer, kind, 0, sequence, now_ns, bytes, fill)
                    {
                        return false;
                    }
                    ring.take_gap(&gap);
                    status.lost += gap.lost();
                }
            }
        }
    }

    /// A record of another type than its series has: a gap in its place.
    #[cold]
    fn take_misfit(&mut self, ring: &RingReader, now_ns: i64) -> bool {
        let gap = Gap { damaged: 1, ..Gap::default() };
        let fill = |to: &mut [u8]| to.copy_from_slice(&gap.encode());
        let (producer, sequence) = (ring.producer(), ring.sequence());
        self.builder.push(self.buffer, producer, Kind::Gap, 0, sequence, now_ns, Gap::BYTES, fill)
    }

    /// Whether a record's samples go to the section: how many, and whether each has a time. Not
    /// if it is no valid samples record, or holds more than any block's section takes.
    fn movable(&self, ring: &RingReader, head: &Head) -> Option<(usize, bool)> {
        if head.kind != Kind::Samples || head.length <= Samples::HEAD_BYTES {
            return None;
        }
        let mut first = [0; Samples::HEAD_BYTES];
        ring.copy_payload(&mut first);
        let shape = Samples::shape(first, head.length);
        shape.filter(|(count, _)| *count <= self.stage.samples_max())
    }

    fn take_samples(
        &mut self,
        ring: &RingReader,
        head: &Head,
        count: usize,
        times: bool,
        look: &mut Looking<'_>,
    ) -> bool {
        let (producer, sequence, time_ns) = (ring.producer(), head.sequence, head.time_ns);
        let all = self.stage.len() + count;
        let reserve = section_bytes_max(all);
        if all > self.stage.samples_max()
            || !self.builder.push_moved(
                self.buffer,
                producer,
                sequence,
                time_ns,
                count as u32,
                reserve,
            )
        {
            return false;
        }
        let Some((series, times_ns, bits)) = self.stage.add(count) else { return false };
        let mut at = Samples::HEAD_BYTES;
        ring.copy_part(at, as_bytes_mut(series));
        at += count * 4;
        if times {
            ring.copy_part(at, as_bytes_mut(times_ns));
            at += count * 8;
        } else {
            times_ns.fill(time_ns);
        }
        ring.copy_part(at, as_bytes_mut(bits));
        if !look.watches.is_empty() {
            let values = times_ns.iter().zip(bits.iter());
            let samples = series.iter().zip(values).map(|(s, (t, b))| (*s, *t, *b));
            look.each(|watch| watch.look_at(samples.clone()));
        }
        true
    }

    fn take_record(&mut self, ring: &RingReader, head: &Head, look: &mut Looking<'_>) -> bool {
        let Head { kind, stream, sequence, time_ns, length } = *head;
        // In a ring that of samples is their type.
        let stream = if kind == Kind::Samples { 0 } else { stream };
        let fill = |to: &mut [u8]| {
            ring.copy_payload(to);
            if kind == Kind::Samples {
                look.each(|watch| watch.look(to, time_ns));
            }
        };
        let producer = ring.producer();
        let (builder, buffer) = (&mut self.builder, &mut *self.buffer);
        let taken = builder.push(buffer, producer, kind, stream, sequence, time_ns, length, fill);
        if taken && matches!(kind, Kind::Samples | Kind::Text) {
            *self.loose_bytes += length.max(1) as u64;
        }
        taken
    }
}

/// What looks at samples while they are taken.
struct Looking<'a> {
    watches: &'a mut Vec<Watch>,
    events: &'a mut Vec<Event>,
    now: Now,
}

impl Looking<'_> {
    fn each(&mut self, mut look: impl FnMut(&mut Watch) -> Option<i64>) {
        for watch in self.watches.iter_mut() {
            let fired = look(watch);
            let number = watch.number;
            self.events.extend(fired.map(|at| fired_event(number, at, self.now)));
        }
    }
}
