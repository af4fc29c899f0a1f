//! Blocks, segment headers and syncs on their way to the device.

use super::{Engine, FLIGHTS_MAX, Segment, Syncing};
use crate::ring::{Position, RingReader};
use crate::writer::choose::{Next as NextSegment, NoNext};
use crate::writer::device::{Device, Operation};
use crate::writer::flight::Flight;
use crate::writer::status::Trouble;
use baro_log::dead_from;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Beside, Lives, SegmentHeader, SegmentKind, Summary, Wear};
use baro_sys::memory::AlignedBuffer;

impl Engine {
    /// Hands the block being filled to the device. False if that has to wait.
    pub(super) fn seal(&mut self, device: &mut impl Device) -> bool {
        if self.flights.len() >= FLIGHTS_MAX || self.builder.is_empty() {
            return false;
        }
        if !self.stage.is_empty() && !self.builder.has_section() {
            let Some(buffer) = &mut self.filling else { return false };
            let stage = &mut self.stage;
            let made = self.builder.put_section(buffer, |room| stage.encode(room));
            debug_assert!(made, "room was kept for {} samples", self.stage.len());
        }
        let bytes = baro_ondisk::limits::round_up_to_unit(self.builder.used_bytes()) as u64;
        // A unit is left for the mark of the session's end.
        let room =
            |segment: &Segment| segment.offset + bytes + UNIT_BYTES as u64 <= self.segment_bytes;
        if !self.segment.as_ref().is_some_and(room) && !self.start_segment(device) {
            return false;
        }
        let Some(segment) = self.segment.as_mut().filter(|segment| segment.ready) else {
            return false;
        };
        let Some(mut buffer) = self.filling.take() else { return false };
        let (index, offset, epoch) = (segment.index, segment.offset, segment.epoch);
        segment.offset += bytes;
        let mut header = self.block_header(epoch);
        header.link = self.told.and_then(|told| told.link(offset, self.builder.time_min_ns()));
        let header = self.builder.finish(&mut buffer, header);
        self.told.iter_mut().for_each(|told| told.add(offset, &header));
        debug_assert_eq!(header.block_bytes() as u64, bytes);
        self.stage.clear();
        let samples_bytes = u64::from(header.section_bytes) + std::mem::take(&mut self.loose_bytes);
        if samples_bytes > 0 {
            self.choice.note_samples();
            self.status.sample_bytes += samples_bytes;
        }
        let bytes = header.block_bytes();
        self.note_block(&header);
        let mut positions = self.flights.positions();
        positions.extend(self.rings.iter().map(RingReader::position));
        let since_ns = self.filling_since_ns;
        self.launch(device, (index, offset, bytes), buffer, Some(positions), since_ns);
        true
    }

    /// Starts the next segment. False if there is none, or what must be durable first is not:
    /// everything before the current segment, so that recovery finds the tail in two, and the
    /// current one's header, so that a segment without a predecessor is one whose predecessor has
    /// been recycled, and never one whose predecessor a crash has lost.
    pub(super) fn start_segment(&mut self, device: &mut impl Device) -> bool {
        let current = self.segment.as_ref().map(|segment| segment.index);
        let waits = |f: &Flight| f.header || Some(f.segment) != current;
        self.wants_segment = current.is_some() && self.flights.front().is_some_and(waits);
        if self.wants_segment || self.free_units.is_empty() {
            return false;
        }
        // What is not durable may only be in the current segment now.
        let busy: Vec<u32> = current.into_iter().chain(self.durable_segment).collect();
        self.limit_pins();
        let running_ns = self.running_base_ns.saturating_add(self.now.boottime_ns);
        let patience_ns = self.start.durable_within_ns / 2;
        let urgent = self.pressed(patience_ns);
        let lost = self.choice.lost_unsettled();
        let place = (self.epoch + 1, self.start.session, self.next_block);
        let NextSegment { index, untouched, end } =
            match self.choice.next(&busy, place, running_ns, urgent) {
                Ok(next) => next,
                Err(why) => {
                    if why == NoNext::Growing {
                        // What was free to be reused has been pinned since: growth rests no longer.
                        self.status.may_reuse = false;
                    }
                    self.note_unsettled();
                    let device = matches!(self.status.trouble, Trouble::Device { .. });
                    if self.flights.is_empty() && !device {
                        self.status.trouble = match why {
                            NoNext::Full => Trouble::LogFull,
                            NoNext::Growing => Trouble::Growing,
                            NoNext::Held { pinned, young, unsettled } => {
                                Trouble::Held { pinned, young, unsettled }
                            }
                        };
                    }
                    return false;
                }
            };
        // What a damaged one held nobody knows, and it is told from now on: it leaves no other trace.
        let is_unread = !untouched && self.unread.remove(&index);
        self.beside.unread |= is_unread;
        self.forget_stored(index, is_unread || self.choice.lost_unsettled() > lost);
        let Some(mut unit) = self.free_units.pop() else { return false };
        self.epoch += 1;
        let header = SegmentHeader {
            kind: SegmentKind::Log,
            store: self.store,
            session: self.start.session,
            epoch: self.epoch,
            index,
            previous_crc: self.previous_crc,
            segment_bytes: self.segment_bytes,
            first_block: self.next_block,
            realtime_ns: self.now.realtime_ns,
            boottime_ns: self.now.boottime_ns,
            boot_id: self.start.boot_id,
        };
        // Unless its end is told already: of blocks that a crash or a failure took.
        self.dead.extend(end.filter(|end| {
            let known = |epoch| dead_from(&self.dead, epoch);
            known(end.epoch) == u64::MAX && known(end.epoch + 1) > end.end
        }));
        let (mut bytes, _) = header.encode_with(&self.dead, &self.wear_now(), self.told.as_ref());
        let crc = self.beside(index).put(&mut bytes);
        self.lives.insert(index, (self.epoch, self.start.session));
        unit.copy_from_slice(&bytes);
        self.previous_crc = crc;
        let (epoch, first_block, offset) = (self.epoch, self.next_block, UNIT_BYTES as u64);
        // Behind the last that need not be reused none is started before this one's predecessor is settled,
        // and what is durable of that only this one's blocks can prove. So it has none that were filled
        // before that was durable.
        let ready = untouched && self.choice.has_another();
        self.segment = Some(Segment { index, epoch, first_block, header, offset, ready });
        self.told = Some(Summary::new(epoch, first_block));
        self.status.segments_started += 1;
        self.note_choice();
        self.offer_copy();
        self.launch(device, (index, 0, UNIT_BYTES), unit, None, self.now.monotonic_ns);
        true
    }

    /// What the header of the segment in this file tells of the rest of the store. All others are durable
    /// by now; but after a failure nobody knows which header the device has taken.
    fn beside(&mut self, index: u32) -> Beside {
        self.unsure.remove(&index);
        self.lives.remove(&index);
        let known = self.unsure.is_empty() && self.status.failures == 0;
        let segments = known.then(|| Lives::of(&self.lives));
        self.note_highest_id();
        Beside { segments, recycled: Some(self.recycled()), ..self.beside }
    }

    /// Which ids are declared by now, and where the catalog ends: headers tell it, so that one that lost its end
    /// gives none anew, and another one is not taken for it.
    pub(super) fn note_highest_id(&mut self) {
        self.types.look();
        self.beside.highest_id = self.beside.highest_id.max(self.types.highest());
        self.beside.catalog = self.types.catalog_end();
    }

    /// What the store's writers have handed to the device up to now.
    pub(super) fn wear_now(&self) -> Wear {
        self.wear.with(&Wear {
            log_bytes: self.status.device_bytes,
            padding_bytes: self.status.padding_bytes,
            payload_bytes: self.status.payload_bytes,
            other_bytes: self.status.other_bytes,
        })
    }

    /// Hands a write to the device; a header has no positions.
    pub(super) fn launch(
        &mut self,
        device: &mut impl Device,
        (segment, offset, bytes): (u32, u64, usize),
        buffer: AlignedBuffer,
        positions: Option<Vec<Position>>,
        since_ns: u64,
    ) {
        self.ticket += 1;
        let (ticket, logged) = (self.ticket, self.logged());
        self.flights.push(Flight {
            ticket,
            segment,
            // Nothing goes to a segment but the newest.
            epoch: self.epoch,
            next_block: self.next_block,
            crc: self.previous_crc,
            header: positions.is_none(),
            positions: positions.unwrap_or_default(),
            own_sequence: self.own_sequence,
            own_clock_ns: self.clock_ns.unwrap_or(0),
            logged,
            since_ns,
            submitted_ns: self.now.monotonic_ns,
            done: false,
        });
        self.writes += 1;
        self.status.device_bytes += bytes as u64;
        device.submit(Operation::Write { ticket, segment, offset, bytes, buffer });
    }

    /// Starts a sync if one is due and none is under way.
    pub(super) fn sync(&mut self, device: &mut impl Device) {
        let flights = self.flights.syncable();
        let Some(first) = self.flights.front().filter(|_| flights > 0) else { return };
        let (segment, since_ns) = (first.segment, first.since_ns);
        let full = self.wants_segment
            || self.segment.as_ref().is_some_and(|current| !current.ready)
            || self.segment.as_ref().is_none_or(|current| current.index != segment);
        // While more is on its way and the oldest has time, one sync later serves for more.
        let waits = self.writes > 0 || !self.builder.is_empty();
        let due = self.now.monotonic_ns >= since_ns + self.hold_ns();
        if self.syncing.is_some() || self.failing || (waits && !due && !full && !self.hurry()) {
            return;
        }
        self.ticket += 1;
        let ticket = self.ticket;
        let since_ns = self.now.monotonic_ns;
        self.syncing = Some(Syncing { ticket, flights, since_ns });
        device.submit(Operation::Sync { ticket, segment });
    }
}
