//! The header of a segment: one unit at the start of every file of the log and of the catalog.

use crate::bytes::{array_at, i64_at, put, u16_at, u32_at, u64_at};
use crate::identity::{VERSION, check_count, check_segment_bytes, check_unit, seal_unit};
use crate::limits::{SEGMENTS_MAX, UNIT_BYTES};
use crate::{Error, StoreId, Summary, What};

/// What a segment file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Part of the log.
    Log,
    /// The catalog.
    Catalog,
}

/// Header of a segment. `docs/format.md`, "Segment".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Log or catalog.
    pub kind: SegmentKind,
    /// The store the segment belongs to.
    pub store: StoreId,
    /// Session that started the segment; 0 if none ever did.
    pub session: u64,
    /// One more for each segment started in the store; 0 if never started.
    pub epoch: u64,
    /// Number of the file.
    pub index: u32,
    /// CRC field of the session's last block before this segment, 0 at the session's start.
    pub previous_crc: u32,
    /// Size of the file.
    pub segment_bytes: u64,
    /// Sequence of the segment's first block in its session.
    pub first_block: u64,
    /// Realtime clock when the segment was started.
    pub realtime_ns: i64,
    /// Boottime clock when the segment was started.
    pub boottime_ns: i64,
    /// Boot id of the kernel that was running.
    pub boot_id: [u8; 16],
}

const MAGIC: &[u8; 8] = b"BAROSEG1";

/// A segment in which blocks stay dead from one on, although they are valid: what a failed write or
/// sync left, or a crash behind a hole. Each header repeats all of them, because the header that
/// superseded such blocks may be recycled before they are. `docs/format.md`, "Dead tails".
///
/// Where an end is above the segment's first block it says too that all blocks below were durable:
/// a later look that finds fewer has found damage, and no crash's tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadTail {
    /// Epoch of the segment.
    pub epoch: u64,
    /// Blocks of this sequence and later ones are dead.
    pub end: u64,
    /// Number of its file: a durable header of a later epoch there ends the entry's use.
    pub index: u32,
    /// Nothing dead is known behind the end: the entry only tells where the segment ends. The first
    /// to be left out where there is no room.
    pub end_only: bool,
}

impl DeadTail {
    /// Entries for which a header has room.
    pub const MAX: usize = (WEAR_AT - ENTRIES_AT) / ENTRY_BYTES;

    /// Entries that leave room for a summary.
    pub const MAX_WITH_SUMMARY: usize = (SUMMARY_AT - ENTRIES_AT) / ENTRY_BYTES;

    /// Entries that leave room for counts of what was recycled too.
    pub(crate) const MAX_WITH_COUNTS: usize = (RECYCLED_AT - ENTRIES_AT) / ENTRY_BYTES;

    /// Those for which a header has room: the newest, and none that is needed goes for one that
    /// only tells an end. Those leave room for a summary, and for counts of what was recycled.
    fn kept(all: &[DeadTail]) -> impl Iterator<Item = &DeadTail> {
        let ends = all.iter().filter(|tail| tail.end_only).count();
        let dead = all.len() - ends;
        let mut skip_dead = dead.saturating_sub(Self::MAX);
        let for_ends = Self::MAX_WITH_COUNTS;
        let mut skip_ends = ends.saturating_sub(for_ends - dead.min(for_ends));
        all.iter().filter(move |tail| {
            let skip = if tail.end_only { &mut skip_ends } else { &mut skip_dead };
            let taken = *skip == 0;
            *skip = skip.saturating_sub(1);
            taken
        })
    }
}

/// What the writers of a store have handed to its device since init, up to a header. Each header
/// has it, so that it survives sessions and recycling. `docs/format.md`, "Segment".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    /// Bytes of blocks and headers, what was repeated included.
    pub log_bytes: u64,
    /// Padding in them.
    pub padding_bytes: u64,
    /// Payload of the records in them, each counted once.
    pub payload_bytes: u64,
    /// Further bytes: init, growth, segments copied out.
    pub other_bytes: u64,
}

impl Wear {
    /// And further bytes. A header may say anything, and a count that has come to its end stays there.
    #[must_use]
    pub fn with(&self, more: &Wear) -> Self {
        Wear {
            log_bytes: self.log_bytes.saturating_add(more.log_bytes),
            padding_bytes: self.padding_bytes.saturating_add(more.padding_bytes),
            payload_bytes: self.payload_bytes.saturating_add(more.payload_bytes),
            other_bytes: self.other_bytes.saturating_add(more.other_bytes),
        }
    }

    /// All bytes handed to the device.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.log_bytes.saturating_add(self.other_bytes)
    }

    /// The counters in a header's bytes, which [`SegmentHeader::decode`] has accepted.
    #[must_use]
    pub fn of(header: &[u8]) -> Self {
        Wear {
            log_bytes: u64_at(header, WEAR_AT),
            padding_bytes: u64_at(header, WEAR_AT + 8),
            payload_bytes: u64_at(header, WEAR_AT + 16),
            other_bytes: u64_at(header, WEAR_AT + 24),
        }
    }
}

pub(crate) const FLAGS_AT: usize = 108;
/// There is a summary; older writers left none.
const HAS_SUMMARY: u32 = 1;
const ENTRIES_AT: usize = 112;
const ENTRY_BYTES: usize = 24;
pub(crate) const RECYCLED_AT: usize = 3856;
const SUMMARY_AT: usize = 3976;
const WEAR_AT: usize = 4048;

impl SegmentHeader {
    /// The header's bytes and the CRC to which the segment's first block refers.
    #[must_use]
    pub fn encode(&self) -> ([u8; UNIT_BYTES], u32) {
        self.encode_with(&[], &Wear::default(), None)
    }

    /// The same with the dead tails of the log, of which the first are left out if they are more
    /// than [`DeadTail::MAX`], the store's wear, and what is told of another segment, as far as dead
    /// tails leave room for it.
    #[must_use]
    pub fn encode_with(
        &self,
        dead: &[DeadTail],
        wear: &Wear,
        summary: Option<&Summary>,
    ) -> ([u8; UNIT_BYTES], u32) {
        let mut unit = [0; UNIT_BYTES];
        put(&mut unit, 0, MAGIC);
        put(&mut unit, 8, &VERSION.to_le_bytes());
        let kind: u16 = if self.kind == SegmentKind::Log { 1 } else { 2 };
        put(&mut unit, 10, &kind.to_le_bytes());
        put(&mut unit, 16, &self.store.0);
        put(&mut unit, 32, &self.session.to_le_bytes());
        put(&mut unit, 40, &self.epoch.to_le_bytes());
        put(&mut unit, 48, &self.index.to_le_bytes());
        put(&mut unit, 52, &self.previous_crc.to_le_bytes());
        put(&mut unit, 56, &self.segment_bytes.to_le_bytes());
        put(&mut unit, 64, &self.first_block.to_le_bytes());
        put(&mut unit, 72, &self.realtime_ns.to_le_bytes());
        put(&mut unit, 80, &self.boottime_ns.to_le_bytes());
        put(&mut unit, 88, &self.boot_id);
        let mut count = 0;
        for tail in DeadTail::kept(dead) {
            let at = ENTRIES_AT + count * ENTRY_BYTES;
            put(&mut unit, at, &tail.epoch.to_le_bytes());
            put(&mut unit, at + 8, &tail.end.to_le_bytes());
            put(&mut unit, at + 16, &tail.index.to_le_bytes());
            put(&mut unit, at + 20, &u32::from(tail.end_only).to_le_bytes());
            count += 1;
        }
        put(&mut unit, 104, &(count as u32).to_le_bytes());
        if let Some(summary) = summary.filter(|_| count <= DeadTail::MAX_WITH_SUMMARY) {
            put(&mut unit, FLAGS_AT, &HAS_SUMMARY.to_le_bytes());
            summary.encode(unit.get_mut(SUMMARY_AT..WEAR_AT).unwrap_or(&mut []));
        }
        put(&mut unit, WEAR_AT, &wear.log_bytes.to_le_bytes());
        put(&mut unit, WEAR_AT + 8, &wear.padding_bytes.to_le_bytes());
        put(&mut unit, WEAR_AT + 16, &wear.payload_bytes.to_le_bytes());
        put(&mut unit, WEAR_AT + 24, &wear.other_bytes.to_le_bytes());
        seal_unit(&mut unit);
        let crc = u32_at(&unit, 12);
        (unit, crc)
    }

    /// Reads a header and the CRC to which the segment's first block refers.
    ///
    /// # Errors
    /// Truncated, foreign, of another version, damaged, or outside the limits.
    pub fn decode(bytes: &[u8]) -> Result<(Self, u32), Error> {
        let what = What::Segment;
        check_unit(what, bytes, MAGIC)?;
        let kind = match u16_at(bytes, 10) {
            1 => SegmentKind::Log,
            2 => SegmentKind::Catalog,
            other => return Err(out_of_range("kind", 10, 2, u64::from(other))),
        };
        let index = u32_at(bytes, 48);
        if index >= SEGMENTS_MAX {
            return Err(out_of_range("index", 48, u64::from(SEGMENTS_MAX - 1), u64::from(index)));
        }
        let segment_bytes = u64_at(bytes, 56);
        check_segment_bytes(what, 56, segment_bytes)?;
        let dead = u32_at(bytes, 104);
        if dead as usize > DeadTail::MAX {
            return Err(out_of_range("dead tails", 104, DeadTail::MAX as u64, u64::from(dead)));
        }
        check_count(what, "session", 32, u64_at(bytes, 32))?;
        check_count(what, "epoch", 40, u64_at(bytes, 40))?;
        check_count(what, "first block", 64, u64_at(bytes, 64))?;
        check_count(what, "generation", 4088, u64_at(bytes, 4088))?;
        if let Some(told) = Self::summary(bytes) {
            check_count(what, "epoch of the summary", SUMMARY_AT as u64, told.epoch)?;
            check_count(what, "end of the summary", SUMMARY_AT as u64 + 8, told.end)?;
        }
        let header = SegmentHeader {
            kind,
            store: StoreId(array_at(bytes, 16).unwrap_or_default()),
            session: u64_at(bytes, 32),
            epoch: u64_at(bytes, 40),
            index,
            previous_crc: u32_at(bytes, 52),
            segment_bytes,
            first_block: u64_at(bytes, 64),
            realtime_ns: i64_at(bytes, 72),
            boottime_ns: i64_at(bytes, 80),
            boot_id: array_at(bytes, 88).unwrap_or_default(),
        };
        Ok((header, u32_at(bytes, 12)))
    }

    /// The dead tails in a header's bytes, which [`SegmentHeader::decode`] has accepted.
    pub fn dead_tails(bytes: &[u8]) -> impl Iterator<Item = DeadTail> {
        let count = if bytes.len() < UNIT_BYTES { 0 } else { u32_at(bytes, 104) as usize };
        let entry = move |number: usize| {
            let at = ENTRIES_AT + number * ENTRY_BYTES;
            let (epoch, end) = (u64_at(bytes, at), u64_at(bytes, at + 8));
            let end_only = u32_at(bytes, at + 20) & 1 == 1;
            DeadTail { epoch, end, index: u32_at(bytes, at + 16), end_only }
        };
        (0..count.min(DeadTail::MAX)).map(entry)
    }

    /// What a header's bytes, which [`SegmentHeader::decode`] has accepted, tell of a segment.
    #[must_use]
    pub fn summary(bytes: &[u8]) -> Option<Summary> {
        let told = bytes.len() >= UNIT_BYTES
            && u32_at(bytes, FLAGS_AT) & HAS_SUMMARY != 0
            && u32_at(bytes, 104) as usize <= DeadTail::MAX_WITH_SUMMARY;
        told.then(|| Summary::decode(bytes.get(SUMMARY_AT..).unwrap_or(&[])))
    }

    /// Whether a writer ever started this segment.
    #[must_use]
    pub fn started(&self) -> bool {
        self.epoch != 0
    }
}

fn out_of_range(field: &'static str, offset: u64, limit: u64, found: u64) -> Error {
    Error::OutOfRange { what: What::Segment, field, offset, limit, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader = SegmentHeader {
        kind: SegmentKind::Log,
        store: StoreId(*b"0123456789abcdef"),
        session: 1 << 32 | 9,
        epoch: 4,
        index: 2,
        previous_crc: 0xdead_beef,
        segment_bytes: 4 << 20,
        first_block: 77,
        realtime_ns: 1,
        boottime_ns: 2,
        boot_id: [3; 16],
    };

    #[test]
    fn round_trips_and_sees_every_bit_flip() {
        let header = HEADER;
        let (bytes, crc) = header.encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok((header, crc)));
        for bit in 0..UNIT_BYTES * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&bad).is_err(), "flip of bit {bit} not seen");
        }
    }

    #[test]
    fn dead_tails_round_trip_and_the_newest_are_kept() {
        let (plain, _) = HEADER.encode();
        assert!(SegmentHeader::dead_tails(&plain).next().is_none());
        assert!(SegmentHeader::dead_tails(&plain[..100]).next().is_none());
        let tail = |n: u32| DeadTail {
            epoch: u64::from(n),
            end: 1 << 40 | 5,
            index: n % 7,
            end_only: false,
        };
        let tails: [DeadTail; 200] = core::array::from_fn(|n| tail(n as u32));
        let wear = Wear { log_bytes: 5, padding_bytes: 4, payload_bytes: 3, other_bytes: u64::MAX };
        for count in [1, DeadTail::MAX, 200] {
            let (bytes, crc) = HEADER.encode_with(&tails[..count], &wear, None);
            assert_eq!(Wear::of(&bytes), wear);
            assert_eq!(SegmentHeader::decode(&bytes), Ok((HEADER, crc)));
            let kept = &tails[count.saturating_sub(DeadTail::MAX)..count];
            assert!(SegmentHeader::dead_tails(&bytes).eq(kept.iter().copied()));
        }
        // Those that only tell an end make room first, the oldest of them first.
        let mixed = tails.map(|tail| DeadTail { end_only: tail.epoch % 2 == 0, ..tail });
        let (bytes, _) = HEADER.encode_with(&mixed, &wear, None);
        let left_out = 200 - DeadTail::MAX_WITH_COUNTS;
        let left_out = mixed.iter().filter(|tail| tail.end_only).nth(left_out).unwrap();
        let kept = mixed.iter().filter(|t| !t.end_only || t.epoch >= left_out.epoch).copied();
        assert!(SegmentHeader::dead_tails(&bytes).eq(kept));
        let summary = Summary { end: 9, last_samples: 3, ..Summary::new(3, 7) };
        for (count, told) in [(0, true), (161, true), (162, false)] {
            let (bytes, crc) = HEADER.encode_with(&tails[..count], &wear, Some(&summary));
            assert_eq!(SegmentHeader::decode(&bytes), Ok((HEADER, crc)));
            assert_eq!(SegmentHeader::summary(&bytes), told.then_some(summary), "{count}");
            assert!(SegmentHeader::dead_tails(&bytes).eq(tails[..count].iter().copied()));
        }
        let (mut bad, _) = HEADER.encode();
        put(&mut bad, 104, &(DeadTail::MAX as u32 + 1).to_le_bytes());
        seal_unit(&mut bad);
        assert!(matches!(SegmentHeader::decode(&bad), Err(Error::OutOfRange { offset: 104, .. })));
    }
}
