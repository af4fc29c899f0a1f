//! Records in time order, across producers and sessions, in bounded memory.
//!
//! A sweep over time: a segment's block headers are read when the sweep reaches the segment's
//! earliest record, a block when it reaches the block's earliest record; a record is handed out
//! once nothing unread can come before it. So only blocks that overlap in time are held together.
//! If these do not fit into the memory given, the ones needed last are dropped and read again
//! when their turn comes: the order stays exact, the price is reading, told in
//! [`Notes::blocks_again`]. What cannot be bounded that way is one small index entry for each
//! overlapping block; beyond [`Reading::overlap_blocks_max`] of them the call ends with an error.
//!
//! Invariant: the order is (time, session, sequence, producer). Held by `tests/order.rs`.

use crate::index::{BlockPlace, Index, Patience, SegmentIndex};
use crate::interval::{Filter, Interval, Reading};
use crate::mask::Mask;
use crate::read::{LiveBlock, Notes, RecordRef};
use crate::read_pace::ReadPace;
use crate::store::{Store, for_each_stored, unfold};
use crate::{Damage, Error, Loss, Result, Source};
use baro_log::{Blocks, FoundHeader};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{End, Kind, UnfoldedSamples};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{AnyFile, StorageFile};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// (time, session, sequence, producer)
type Key = (i64, u64, u64, u64);

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    start: u32,
    length: u32,
    stream: u32,
    kind: Kind,
}

#[derive(Debug)]
struct Loaded {
    buffer: AlignedBuffer,
    /// The samples of the block's section: entries behind the end of `buffer`.
    unfolded: UnfoldedSamples,
    entries: Vec<Entry>,
    next: usize,
}

impl Loaded {
    /// The payload of an entry.
    fn payload(&self, entry: &Entry) -> &[u8] {
        let (start, length) = (entry.start as usize, entry.length as usize);
        match start.checked_sub(self.buffer.len()) {
            Some(start) => self.unfolded.bytes().get(start..start + length),
            None => self.buffer.get(start..start + length),
        }
        .unwrap_or(&[])
    }

    fn bytes(&self) -> usize {
        self.buffer.len()
            + self.unfolded.bytes().len()
            + self.entries.capacity() * size_of::<Entry>()
    }
}

/// A block in the sweep: not read yet, or being handed out.
#[derive(Debug)]
struct Slot {
    segment: u32,
    place: BlockPlace,
    /// Handed out so far: where to go on after the block was dropped and read again.
    next: u32,
    again: bool,
    loaded: Option<Box<Loaded>>,
}

struct Sweep<'a> {
    store: &'a Store,
    index: &'a Index,
    interval: Interval,
    filter: &'a Filter,
    reading: Reading,
    headers: Blocks,
    patience: Patience,
    /// Segments not reached yet, by their earliest time.
    segments: BinaryHeap<Reverse<(i64, usize)>>,
    /// Blocks not read yet, by their earliest time.
    unread: BinaryHeap<Reverse<(i64, usize)>>,
    /// Blocks being handed out, by their next record.
    open: BinaryHeap<Reverse<(Key, usize)>>,
    slots: Vec<Slot>,
    free_slots: Vec<usize>,
    held: Vec<usize>,
    held_bytes: usize,
    spare: Vec<AlignedBuffer>,
    spare_entries: Vec<Vec<Entry>>,
    spare_unfolded: Vec<UnfoldedSamples>,
    /// The segment file opened last.
    file: Option<(usize, AnyFile)>,
    notes: Notes,
    pace: ReadPace,
}

impl Store {
    /// Calls `each` with every record of `interval` that `filter` takes, in order of (time,
    /// session, sequence), until it breaks. Allocates per block, not per record.
    ///
    /// # Errors
    /// More blocks overlap in time than `reading` allows, or the operating system refuses.
    /// Damage is no error but in the notes.
    pub fn records(
        &self,
        interval: Interval,
        filter: &Filter,
        reading: &Reading,
        each: impl FnMut(&RecordRef<'_>) -> ControlFlow<()>,
    ) -> Result<Notes> {
        let notes = self.records_of(self.index()?, interval, filter, reading, each)?;
        Ok(self.with_log(notes))
    }

    /// The same of the blocks that an index has.
    pub(crate) fn records_of(
        &self,
        index: &Index,
        interval: Interval,
        filter: &Filter,
        reading: &Reading,
        each: impl FnMut(&RecordRef<'_>) -> ControlFlow<()>,
    ) -> Result<Notes> {
        let segments = index.segments.iter().enumerate();
        let mut sweep = Sweep {
            store: self,
            index,
            interval,
            filter,
            reading: *reading,
            headers: Blocks::new()?,
            patience: Patience::new(self.identity.when_full),
            segments: segments
                .filter(|(_, segment)| interval.meets(segment.times))
                .map(|(at, segment)| Reverse((segment.times.0, at)))
                .collect(),
            unread: BinaryHeap::new(),
            open: BinaryHeap::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            held: Vec::new(),
            held_bytes: 0,
            spare: Vec::new(),
            spare_entries: Vec::new(),
            spare_unfolded: Vec::new(),
            file: None,
            notes: Notes::default(),
            pace: ReadPace::new(reading.bytes_per_s),
        };
        sweep.run(each)?;
        Ok(sweep.notes)
    }
}

impl Sweep<'_> {
    fn run(&mut self, mut each: impl FnMut(&RecordRef<'_>) -> ControlFlow<()>) -> Result<()> {
        loop {
            let segment = self.segments.peek().map(|Reverse((time, _))| *time);
            let block = self.unread.peek().map(|Reverse((time, _))| *time);
            let frontier = [segment, block].into_iter().flatten().min();
            let open = self.open.peek().map(|Reverse((key, _))| key.0);
            match (open, frontier) {
                (None, None) => return Ok(()),
                (Some(time), frontier) if frontier.is_none_or(|frontier| time < frontier) => {
                    if self.hand_out(frontier, &mut each)?.is_break() {
                        return Ok(());
                    }
                }
                _ if segment == frontier => {
                    if let Some(Reverse((_, at))) = self.segments.pop() {
                        self.list(at)?;
                    }
                }
                _ => {
                    if let Some(Reverse((_, slot))) = self.unread.pop() {
                        self.open_block(slot)?;
                    }
                }
            }
        }
    }

    /// Lists the blocks of a segment.
    fn list(&mut self, at: usize) -> Result<()> {
        let Some(SegmentIndex { segment, live, .. }) = self.index.segments.get(at) else {
            return Ok(());
        };
        let Some(file) = segment.file.open(&self.store.storage, self.store.access)? else {
            self.notes.blocks_recycled += live.end.saturating_sub(live.start);
            return Ok(());
        };
        let mut walk = self.headers.walk(&file, segment.header, segment.crc);
        walk.set_durable(live.end);
        walk.pass_unreadable();
        while walk.scan().sequence() < live.end {
            let (offset, sequence) = (walk.scan().offset(), walk.scan().sequence());
            let source = match walk.next_header() {
                Ok(FoundHeader::Block(header)) => {
                    if !self.interval.meets((header.time_min_ns, header.time_max_ns)) {
                        continue;
                    }
                    let (segment, next, again, loaded) = (at as u32, 0, false, None);
                    let place = BlockPlace::new(offset, &header);
                    let slot = Slot { segment, place, next, again, loaded };
                    let number = if let Some(number) = self.free_slots.pop() {
                        if let Some(place) = self.slots.get_mut(number) {
                            *place = slot;
                        }
                        number
                    } else {
                        self.slots.push(slot);
                        self.slots.len() - 1
                    };
                    self.unread.push(Reverse((header.time_min_ns, number)));
                    let limit = self.reading.overlap_blocks_max;
                    if self.slots.len() > limit {
                        return Err(Error::Overlap { limit });
                    }
                    continue;
                }
                Ok(FoundHeader::End(End::Full)) => break,
                Ok(FoundHeader::End(End::Tail(source))) => Source::Format(source),
                Err(error) => Source::Unreadable(error.to_string()),
            };
            // The index may not have looked: of a segment with a summary that tells enough for it.
            let proof = walk.find_proof().ok().flatten();
            let missing = proof.map_or(live.end, |(_, header)| header.sequence) - sequence;
            if self.patience.recycled(&file, segment, true)? {
                self.notes.blocks_recycled += missing;
            } else {
                let (name, loss) = (segment.file.name(), Loss::Blocks(missing));
                self.notes.take_damage(Damage::at(&name, offset, source, loss));
            }
            if let Some((at, header)) = proof {
                walk.resume(at, &header);
                continue;
            }
            break;
        }
        Ok(())
    }

    fn open_block(&mut self, number: usize) -> Result<()> {
        match self.load(number)? {
            Some(key) => self.open.push(Reverse((key, number))),
            None => self.drop_block(number, true),
        }
        Ok(())
    }

    /// Reads a block; the key of the record to hand out next, if there is one.
    fn load(&mut self, number: usize) -> Result<Option<Key>> {
        let Some(slot) = self.slots.get(number) else { return Ok(None) };
        let (segment_at, block_place) = (slot.segment as usize, slot.place);
        let (next, again) = (slot.next as usize, slot.again);
        let Some(entry) = self.index.segments.get(segment_at) else { return Ok(None) };
        let (offset, bytes) = (block_place.offset, block_place.bytes as usize);
        self.make_room(bytes)?;
        let mut buffer =
            match self.spare.iter().position(|b| (bytes..=2 * bytes).contains(&b.len())) {
                Some(at) => self.spare.swap_remove(at),
                None => AlignedBuffer::unlocked(bytes.next_multiple_of(UNIT_BYTES))?,
            };
        let name = entry.segment.file.name();
        if self.file.as_ref().is_none_or(|(at, _)| *at != segment_at) {
            let opened = entry.segment.file.open(&self.store.storage, self.store.access)?;
            let Some(file) = opened else {
                self.notes.blocks_recycled += 1;
                self.spare.push(buffer);
                return Ok(None);
            };
            self.file = Some((segment_at, file));
        }
        let Some((_, file)) = &self.file else { return Ok(None) };
        self.pace.wait(bytes as u64);
        let read = file.read_at(offset, buffer.get_mut(..bytes).unwrap_or(&mut []));
        self.notes.blocks += u64::from(!again);
        self.notes.blocks_again += u64::from(again);
        let block = match block_place.of_read(read, &buffer) {
            Ok(block) => block,
            Err(source) => {
                if self.patience.recycled(file, &entry.segment, true)? {
                    self.notes.blocks_recycled += 1;
                } else {
                    self.notes.take_damage(Damage::at(&name, offset, source, Loss::Blocks(1)));
                }
                self.spare.push(buffer);
                return Ok(None);
            }
        };
        let mask = Mask::of_block(&self.store.runs.deletions, &block.header);
        let live = LiveBlock { block, file: entry.segment.file, offset, mask: mask.as_ref() };
        let mut entries = self.spare_entries.pop().unwrap_or_default();
        entries.clear();
        let mut unfolded = self.spare_unfolded.pop().unwrap_or_default();
        self.collect(&live, &buffer, again, &mut unfolded, &mut entries);
        entries.sort_unstable_by_key(|entry| entry.key);
        let first = entries.get(next).map(|entry| entry.key);
        let loaded = Loaded { buffer, unfolded, entries, next };
        self.held_bytes += loaded.bytes();
        self.held.push(number);
        if let Some(slot) = self.slots.get_mut(number) {
            slot.loaded = Some(Box::new(loaded));
            slot.again = true;
        }
        Ok(first)
    }

    /// The wanted records of a block, as places in its buffer and behind it.
    fn collect(
        &mut self,
        live: &LiveBlock<'_>,
        buffer: &AlignedBuffer,
        again: bool,
        unfolded: &mut UnfoldedSamples,
        to: &mut Vec<Entry>,
    ) {
        let mut notes = Notes::default();
        let (interval, filter) = (self.interval, self.filter);
        let mut take = |record: &RecordRef<'_>, start: usize| {
            let RecordRef { session, producer, sequence, time_ns, kind, stream, payload } = *record;
            if interval.holds(time_ns) && filter.takes(kind, stream, payload) {
                let key = (time_ns, session, sequence, producer);
                let (start, length) = (start as u32, payload.len() as u32);
                to.push(Entry { key, start, length, stream, kind });
            }
        };
        let (base, mut moved) = (buffer.as_ptr() as usize, 0);
        // Records of which a part was deleted are made anew, and lie behind the others.
        let mut anew: Vec<(RecordRef<'static>, Vec<u8>)> = Vec::new();
        let _ = for_each_stored(live, &mut notes, |record, _| {
            moved += u64::from(record.kind == Kind::Moved);
            let start = (record.payload.as_ptr() as usize).wrapping_sub(base);
            if start.saturating_add(record.payload.len()) <= buffer.len() {
                take(record, start);
            } else {
                anew.push((RecordRef { payload: &[], ..*record }, record.payload.to_vec()));
            }
            ControlFlow::Continue(())
        });
        unfolded.clear();
        if filter.samples() {
            unfold(live, &mut notes, unfolded, moved);
        }
        for (record, payload) in &anew {
            let start = buffer.len() + unfolded.keep(payload).start;
            take(&RecordRef { payload, ..*record }, start);
        }
        for (time_ns, at) in unfolded.records() {
            let start = buffer.len() + at.start;
            let payload = unfolded.bytes().get(at).unwrap_or(&[]);
            take(&RecordRef::unfolded(&live.block.header, time_ns, payload), start);
        }
        if !again {
            self.notes.damage.append(&mut notes.damage);
        }
    }

    /// Drops blocks, those needed last first, until `bytes` more fit.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        self.spare.truncate(4);
        self.spare_entries.truncate(4);
        self.spare_unfolded.truncate(4);
        while self.held_bytes + bytes > self.reading.memory_bytes && !self.held.is_empty() {
            let key = |number: &usize| {
                let loaded = self.slots.get(*number).and_then(|slot| slot.loaded.as_ref());
                loaded.and_then(|l| l.entries.get(l.next)).map(|entry| entry.key)
            };
            let last = (0..self.held.len()).max_by_key(|at| self.held.get(*at).and_then(key));
            let Some(number) = last.and_then(|at| self.held.get(at).copied()) else { break };
            self.drop_block(number, false);
        }
        Ok(())
    }

    /// Forgets a block's bytes, and the block itself if it is `done`.
    fn drop_block(&mut self, number: usize, done: bool) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        if let Some(loaded) = slot.loaded.take() {
            self.held_bytes -= loaded.bytes();
            slot.next = loaded.next as u32;
            self.spare.push(loaded.buffer);
            self.spare_entries.push(loaded.entries);
            self.spare_unfolded.push(loaded.unfolded);
            self.held.retain(|other| *other != number);
        }
        if done {
            self.free_slots.push(number);
        }
    }

    /// Hands out records of the block that comes first, as long as it does.
    fn hand_out(
        &mut self,
        frontier: Option<i64>,
        each: &mut impl FnMut(&RecordRef<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let Some(Reverse((_, number))) = self.open.pop() else {
            return Ok(ControlFlow::Continue(()));
        };
        let dropped = self.slots.get(number).is_some_and(|slot| slot.loaded.is_none());
        if dropped && self.load(number)?.is_none() {
            self.drop_block(number, true);
            return Ok(ControlFlow::Continue(()));
        }
        let rival = self.open.peek().map(|Reverse((key, _))| *key);
        let Some(loaded) = self.slots.get_mut(number).and_then(|slot| slot.loaded.as_mut()) else {
            return Ok(ControlFlow::Continue(()));
        };
        let (mut count, mut next) = (0, loaded.next);
        let flow = loop {
            let Some(entry) = loaded.entries.get(next) else {
                break ControlFlow::Continue(());
            };
            let after = frontier.is_some_and(|frontier| entry.key.0 >= frontier)
                || rival.is_some_and(|rival| entry.key > rival);
            if after {
                break ControlFlow::Continue(());
            }
            let payload = loaded.payload(entry);
            let (time_ns, session, sequence, producer) = entry.key;
            let (kind, stream) = (entry.kind, entry.stream);
            next += 1;
            count += 1;
            let record = RecordRef { session, producer, sequence, time_ns, kind, stream, payload };
            if each(&record).is_break() {
                break ControlFlow::Break(());
            }
        };
        loaded.next = next;
        let next = loaded.entries.get(next).map(|entry| entry.key);
        self.notes.records += count;
        match next {
            Some(key) => self.open.push(Reverse((key, number))),
            None => self.drop_block(number, true),
        }
        Ok(flow)
    }
}
