//! What the engine makes of operations that have ended: what is written, what is durable, and what
//! has to be done again after a failure.

use super::{Engine, Event, Now, RETRY_NS, Syncing};
use crate::ring::{RingReader, Waits};
use crate::writer::device::{Completion, is_foreign};
use crate::writer::flight::Logged;
use crate::writer::status::{Status, Trouble};
use baro_log::Held;
use baro_ondisk::DeadTail;

impl Engine {
    /// Takes the end of an operation.
    pub fn complete(&mut self, now: Now, completion: Completion) {
        self.now = now;
        let Completion { ticket, buffer, result } = completion;
        if let Some(buffer) = buffer {
            self.writes -= 1;
            let whole_block = buffer.len() == self.start.block_bytes;
            if whole_block { &mut self.free } else { &mut self.free_units }.push(buffer);
        }
        let syncing = self.syncing.take_if(|syncing| syncing.ticket == ticket);
        match (result, syncing) {
            (Err(error), _) => self.fail(&error),
            // After a failure nothing that was on its way counts.
            (Ok(()), _) if self.failing => {}
            (Ok(()), Some(syncing)) => self.durable(&syncing),
            (Ok(()), None) => self.written(ticket),
        }
    }

    pub(super) fn written(&mut self, ticket: u64) {
        let now = self.now.monotonic_ns;
        if let Some(flight) = self.flights.find(ticket) {
            flight.done = true;
            let took = now.saturating_sub(flight.submitted_ns);
            self.status.longest_write_ns = self.status.longest_write_ns.max(took);
        }
        if let Some(last) = self.flights.last_done() {
            for (ring, position) in self.rings.iter_mut().zip(&last.positions) {
                ring.set_written(position);
            }
        }
    }

    pub(super) fn durable(&mut self, syncing: &Syncing) {
        let now = self.now.monotonic_ns;
        let took = now.saturating_sub(syncing.since_ns);
        self.status.longest_sync_ns = self.status.longest_sync_ns.max(took);
        self.status.syncs += 1;
        let (mut oldest, mut any_block) = (now, false);
        for count in (0..syncing.flights).rev() {
            let Some(flight) = self.flights.pop() else { break };
            oldest = oldest.min(flight.since_ns);
            if flight.header {
                if let Some(segment) = self.segment.as_mut().filter(|s| s.epoch == flight.epoch) {
                    segment.ready = true;
                }
                // Of this file's earlier lives nothing is left.
                let gone = |t: &DeadTail| t.index == flight.segment && t.epoch < flight.epoch;
                self.dead.retain(|tail| !gone(tail));
                let (index, epoch) = (flight.segment, flight.epoch);
                self.events.push(Event::Started { index, epoch });
            } else {
                any_block = true;
                self.durable_block = flight.next_block;
                self.durable_crc = flight.crc;
                self.durable_segment = Some(flight.segment);
                self.durable_epoch = flight.epoch;
                let held = Held {
                    records: flight.logged.records - self.logged_durable.records,
                    samples: flight.logged.samples - self.logged_durable.samples,
                };
                self.note_stored(flight.epoch, flight.segment, held, flight.next_block);
                if self.rings.iter().any(|ring| ring.waits() != Waits::Not) {
                    let reached = flight.positions.iter().map(|position| position.sequence);
                    self.reached.insert(flight.segment, reached.collect());
                }
                self.own_durable = (flight.own_sequence, flight.own_clock_ns);
                self.logged_durable = flight.logged;
                self.status.durable_blocks = self.durable_block;
                // The counters are shared with other processes: stored as rarely as possible.
                let last = count == 0 || self.flights.front().is_some_and(|next| next.header);
                for (ring, position) in self.rings.iter_mut().zip(&flight.positions) {
                    if last {
                        ring.release(position);
                    }
                }
                // How long a block takes beyond what the engine chooses to wait: follows a rise
                // at once and a fall slowly.
                let took = now.saturating_sub(flight.submitted_ns);
                self.io_ns = took.max(self.io_ns - self.io_ns / 64);
            }
            self.flights.give_back(flight.positions);
        }
        let age = now.saturating_sub(oldest);
        self.status.longest_durable_ns = self.status.longest_durable_ns.max(age);
        // A header alone proves nothing: where blocks fail and headers do not, as in a file with holes on a
        // full disk, each segment would be tried at once, for ever.
        if any_block || !matches!(self.status.trouble, Trouble::Device { .. }) {
            self.status.trouble = Trouble::None;
        }
        if any_block {
            self.attempts = 0;
        }
    }

    pub(super) fn fail(&mut self, error: &baro_sys::Error) {
        self.status.failures += 1;
        self.status.trouble = Trouble::Device { error: error.to_string() };
        if is_foreign(error) {
            self.stop(&error.to_string());
        }
        if !self.failing {
            self.failing = true;
            self.status.segments_suspect += 1;
        }
        self.told = None;
        if let Some(current) = self.segment.take()
            && self.durable_block <= current.first_block
        {
            self.choice.give_back(current.index);
        }
    }

    /// After a failure, once nothing is on its way any more: back to what is durable.
    pub(super) fn start_again(&mut self) {
        self.failing = false;
        self.wants_segment = false;
        self.note_dead();
        self.flights.clear();
        self.builder.clear();
        self.stage.clear();
        self.loose_bytes = 0;
        self.free.extend(self.filling.take());
        self.rings.iter_mut().for_each(RingReader::rewind);
        self.next_block = self.durable_block;
        self.previous_crc = self.durable_crc;
        self.own_sequence = self.own_durable.0;
        self.set_logged(self.logged_durable);
        self.clock_ns = self.clock_ns.map(|_| self.own_durable.1);
        // The first attempt elsewhere is at once; only if that fails too is the device given time.
        self.attempts = self.attempts.saturating_add(1);
        if self.attempts > 1 {
            self.retry_at_ns = self.now.monotonic_ns + RETRY_NS;
        }
    }

    /// A ring's file was cut off while this block was filled, so that some of it may be zeros: back to
    /// where the last block that was handed to the device ends. Other rings have it all still.
    pub(super) fn abandon_filling(&mut self) {
        self.builder.clear();
        self.stage.clear();
        self.loose_bytes = 0;
        self.free.extend(self.filling.take());
        let last = self.flights.last_block();
        for (at, ring) in self.rings.iter_mut().enumerate() {
            let reached = last.and_then(|last| last.positions.get(at));
            let reached = reached.copied().unwrap_or_else(|| ring.released());
            ring.back_to(&reached);
        }
        let (own, logged) = match last {
            Some(last) => ((last.own_sequence, last.own_clock_ns), last.logged),
            None => (self.own_durable, self.logged_durable),
        };
        self.own_sequence = own.0;
        self.clock_ns = self.clock_ns.map(|_| own.1);
        self.set_logged(logged);
    }

    pub(super) fn logged(&self) -> Logged {
        let Status { records, payload_bytes, samples, lost, .. } = self.status;
        Logged { records, payload_bytes, samples, lost }
    }

    pub(super) fn set_logged(&mut self, logged: Logged) {
        let Logged { records, payload_bytes, samples, lost } = logged;
        let status = std::mem::take(&mut self.status);
        self.status = Status { records, payload_bytes, samples, lost, ..status };
    }

    /// What is on its way is superseded by the next segment started. Headers repeat it, since that
    /// segment may be recycled while one of these cannot be.
    pub(super) fn note_dead(&mut self) {
        let end = self.durable_block;
        // Headers too: without the segment that supersedes it, one that begins behind a hole would
        // tell of damage.
        for flight in self.flights.iter() {
            if self.dead.last().is_none_or(|tail| tail.epoch != flight.epoch) {
                let (epoch, index, end_only) = (flight.epoch, flight.segment, false);
                self.dead.push(DeadTail { epoch, end, index, end_only });
            }
        }
    }
}
