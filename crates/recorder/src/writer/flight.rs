//! What is on its way to the device: from being handed over to being durable, in order.

use crate::ring::Position;
use std::collections::VecDeque;

/// One write: a block, or the header of a segment.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) ticket: u64,
    pub(crate) segment: u32,
    pub(crate) epoch: u64,
    /// Sequence after this block; of a header, the segment's first block.
    pub(crate) next_block: u64,
    /// CRC that the next block names.
    pub(crate) crc: u32,
    /// A segment's header, no block.
    pub(crate) header: bool,
    /// Position in each ring after this block; empty for a header.
    pub(crate) positions: Vec<Position>,
    /// Sequence of the writer's own records after this block.
    pub(crate) own_sequence: u64,
    pub(crate) own_clock_ns: i64,
    /// What all blocks up to this one hold.
    pub(crate) logged: Logged,
    /// When the block's first record was taken.
    pub(crate) since_ns: u64,
    pub(crate) submitted_ns: u64,
    pub(crate) done: bool,
}

/// What blocks hold: counted once, however often a failing device makes them be written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Logged {
    pub(crate) records: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) samples: u64,
    pub(crate) lost: u64,
}

/// All flights, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    queue: VecDeque<Flight>,
    /// Position lists to use again, so that a steady state allocates nothing.
    spare: Vec<Vec<Position>>,
}

impl Flights {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn push(&mut self, flight: Flight) {
        self.queue.push_back(flight);
    }

    pub(crate) fn positions(&mut self) -> Vec<Position> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn front(&self) -> Option<&Flight> {
        self.queue.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.queue.iter()
    }

    /// The newest block.
    pub(crate) fn last_block(&self) -> Option<&Flight> {
        self.queue.iter().rev().find(|flight| !flight.header)
    }

    pub(crate) fn find(&mut self, ticket: u64) -> Option<&mut Flight> {
        self.queue.iter_mut().find(|flight| flight.ticket == ticket)
    }

    /// Flights from the oldest on that are done and of one segment: what one sync makes durable.
    pub(crate) fn syncable(&self) -> usize {
        let Some(first) = self.front() else { return 0 };
        self.queue.iter().take_while(|f| f.done && f.segment == first.segment).count()
    }

    /// The last of the flights from the oldest on that are done, whatever their segment.
    pub(crate) fn last_done(&self) -> Option<&Flight> {
        self.queue.iter().take_while(|flight| flight.done).last()
    }

    /// Takes the oldest.
    pub(crate) fn pop(&mut self) -> Option<Flight> {
        self.queue.pop_front()
    }

    /// Gives a list of positions back.
    pub(crate) fn give_back(&mut self, mut positions: Vec<Position>) {
        positions.clear();
        if positions.capacity() > 0 {
            self.spare.push(positions);
        }
    }

    pub(crate) fn clear(&mut self) {
        while let Some(flight) = self.queue.pop_front() {
            self.give_back(flight.positions);
        }
    }
}
