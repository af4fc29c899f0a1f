//! The mark at the end of a session that is closed in order: a block without records whose
//! `durable` is its own sequence. So whatever is missing before it later is damage, and not what a
//! crash tore. It costs one unit and one sync at the close; each segment keeps a unit free for it.
//!
//! Invariant: the mark claims only what a sync has confirmed; a close that fails, or is cut short
//! anywhere, leaves what is no damage. Held by the simulator's tests and `tests/rot.rs` of the store.

use super::Engine;
use crate::ring::RingReader;
use crate::writer::device::Device;
use crate::writer::status::Trouble;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Beside, BlockHeader, end_mark};

impl Engine {
    /// Whether the end of the session is still to be marked: all blocks are durable, and nothing
    /// further can be written, be it that nothing is left or that there is no room for it.
    pub(super) fn wants_mark(&self) -> bool {
        // A store that was taken away gets none: nothing is written there any more.
        let stopped = self.has_stopped();
        if !self.closing || self.marked || self.failing || stopped || self.durable_block == 0 {
            return false;
        }
        let nothing = self.builder.is_empty() && self.rings.iter().all(RingReader::drained);
        let full = matches!(self.status.trouble, Trouble::LogFull | Trouble::Held { .. });
        let at_rest = self.flights.is_empty() && self.writes == 0 && self.syncing.is_none();
        let room = self.segment.as_ref().is_some_and(|segment| {
            segment.ready && segment.offset + UNIT_BYTES as u64 <= self.segment_bytes
        });
        at_rest && room && (nothing || full) && !self.free.is_empty()
    }

    /// Writes the mark, once.
    pub(super) fn mark_end(&mut self, device: &mut impl Device) {
        if !self.wants_mark() {
            return;
        }
        let (Some(segment), Some(mut buffer)) = (self.segment.as_mut(), self.free.pop()) else {
            return;
        };
        let (index, epoch, offset) = (segment.index, segment.epoch, segment.offset);
        segment.offset += UNIT_BYTES as u64;
        self.marked = true;
        self.tell_end(device);
        let header = end_mark(&mut buffer, self.block_header(epoch));
        self.note_block(&header);
        // No records: no ring gets anything back for it.
        let positions = Some(self.flights.positions());
        self.launch(device, (index, offset, UNIT_BYTES), buffer, positions, self.now.monotonic_ns);
    }

    /// Hands over the unit that says what the segment holds, if the mark leaves room for it.
    fn tell_end(&mut self, device: &mut impl Device) {
        let last = self.segment_bytes - UNIT_BYTES as u64;
        self.note_highest_id();
        let Some(segment) = self.segment.as_ref().filter(|of| of.offset <= last) else { return };
        let Some(told) = self.told.filter(|told| told.epoch == segment.epoch) else { return };
        let Some(mut unit) = self.free_units.pop() else { return };
        let (mut bytes, _) = segment.header.encode_with(&[], &self.wear_now(), Some(&told));
        let Beside { highest_id, catalog, .. } = self.beside;
        Beside { highest_id, catalog, ..Beside::default() }.put(&mut bytes);
        unit.copy_from_slice(&bytes);
        let place = (segment.index, last, UNIT_BYTES);
        let positions = Some(self.flights.positions());
        self.launch(device, place, unit, positions, self.now.monotonic_ns);
    }

    /// What the header of the next block says of this writer.
    pub(super) fn block_header(&self, epoch: u64) -> BlockHeader {
        BlockHeader {
            store: self.store,
            session: self.start.session,
            epoch,
            sequence: self.next_block,
            durable: self.durable_block,
            realtime_ns: self.now.realtime_ns,
            boottime_ns: self.now.boottime_ns,
            previous_crc: self.previous_crc,
            padding_bytes: self.padding_bytes,
            ..BlockHeader::default()
        }
    }

    /// The next block is on its way.
    pub(super) fn note_block(&mut self, header: &BlockHeader) {
        self.status.blocks += 1;
        self.status.records += u64::from(header.records);
        self.status.padding_bytes += header.padding_bytes - self.padding_bytes;
        self.padding_bytes = header.padding_bytes;
        self.next_block += 1;
        self.previous_crc = header.crc;
    }
}
