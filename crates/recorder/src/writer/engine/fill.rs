//! Records on their way from the rings into a block.

use super::{CLOCK_STEP_NS, Engine, Event, Now};
use crate::ring::{Next, RingReader};
use crate::writer::status::Status;
use baro_ondisk::{BlockBuilder, Gap, Kind};
use baro_sys::memory::AlignedBuffer;

impl Engine {
    /// Takes records into the block being filled; true if it is full.
    pub(super) fn fill(&mut self) -> bool {
        if self.filling.is_none() {
            if self.rings.iter_mut().all(|ring| ring.next() == Next::Empty) {
                return false;
            }
            self.filling = self.free.pop();
        }
        let Some(mut buffer) = self.filling.take() else { return false };
        if self.builder.is_empty() {
            self.filling_since_ns = self.now.monotonic_ns;
        }
        let mut full = !self.note_clock(&mut buffer);
        let count = self.rings.len();
        for offset in 0..count {
            if full {
                break;
            }
            let at = (self.first_ring + offset) % count;
            if let Some(ring) = self.rings.get_mut(at) {
                let now_ns = self.now.realtime_ns;
                let mut look = |payload: &[u8], time_ns: i64| {
                    for watch in &mut self.watches {
                        let fired = watch.look(payload, time_ns);
                        self.events.extend(fired.map(|at| fired_event(watch.number, at, self.now)));
                    }
                };
                let (builder, status) = (&mut self.builder, &mut self.status);
                full = !take_all(ring, builder, &mut buffer, now_ns, status, &mut look);
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

/// Takes what a ring has into the block; false if the block is full.
fn take_all(
    ring: &mut RingReader,
    builder: &mut BlockBuilder,
    buffer: &mut AlignedBuffer,
    now_ns: i64,
    status: &mut Status,
    look: &mut impl FnMut(&[u8], i64),
) -> bool {
    let producer = ring.producer();
    loop {
        match ring.next() {
            Next::Empty => return true,
            Next::Record(head) => {
                let (stream, sequence, time_ns) = (head.stream, head.sequence, head.time_ns);
                let fill = |to: &mut [u8]| {
                    ring.copy_payload(to);
                    if head.kind == Kind::Samples {
                        look(to, time_ns);
                    }
                };
                if !builder.push(
                    buffer,
                    producer,
                    head.kind,
                    stream,
                    sequence,
                    time_ns,
                    head.length,
                    fill,
                ) {
                    return false;
                }
                ring.take_record(&head);
                status.payload_bytes += head.length as u64;
            }
            Next::Gap(gap) => {
                let fill = |to: &mut [u8]| to.copy_from_slice(&gap.encode());
                let sequence = ring.sequence();
                if !builder.push(buffer, producer, Kind::Gap, 0, sequence, now_ns, Gap::BYTES, fill)
                {
                    return false;
                }
                ring.take_gap(&gap);
                status.lost += gap.lost();
            }
        }
    }
}
