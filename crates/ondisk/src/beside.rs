//! What a segment's header tells of the rest of the store, as it was when the segment was begun: which
//! segments there were beside it, and how far settling had come. A file of an earlier time that is put
//! back, whole by itself, is told by that. `docs/format.md`, "Beside".
//!
//! It stands in bytes that older versions left 0, and says nothing then.

use crate::bytes::{put, u32_at, u64_at};
use crate::identity::seal_unit;
use crate::limits::UNIT_BYTES;
use crate::segment::FLAGS_AT;
use crate::{Recycled, crc32c};
use alloc::collections::BTreeMap;

/// The rest of a store as it was when a segment was begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The other segments of the log; `None` where that is not known for certain.
    pub segments: Option<Lives>,
    /// Segments had been put back or replaced by then.
    pub changed: bool,
    /// A segment that nobody could read had been reused by then: what it held is not known.
    pub unread: bool,
    /// No id above this was declared by then; 0 if that is not told. Ids from 2^24 on are not told.
    pub highest_id: u32,
    /// Where the catalog ended by then; `None` if that is not told.
    pub catalog: Option<CatalogEnd>,
    /// Generation of the manifest that was the newest then; 0 if none was known.
    pub generation: u64,
    /// What had been recycled before it was in runs; `None` where dead tails left no room for it, and in older
    /// headers.
    pub recycled: Option<Recycled>,
}

/// Which segments of a log have been started, each by the number of its file, its epoch and its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lives {
    /// How many.
    pub count: u32,
    /// CRC over all of them, by rising number: u32 number, u64 epoch.
    pub crc: u32,
    /// CRC over u32 number and u64 session of each: a copy of a store that went on by itself has given the same
    /// epochs. `None` in older headers.
    pub sessions: Option<u32>,
}

/// The last block of a catalog. Each block has the CRC of the one before it, so this one stands for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CatalogEnd {
    /// Unit of the file in which the block begins; 0 is the catalog's header, where there is no block.
    pub unit: u32,
    /// CRC field of its header.
    pub crc: u32,
}

const HAS_LIVES: u32 = 2;
const CHANGED: u32 = 4;
// 8 tells of what was recycled.
const UNREAD: u32 = 16;
const HAS_SESSIONS: u32 = 32;
const HAS_CATALOG: u32 = 64;
const BESIDE_AT: usize = 4080;
const HIGHEST_ID_AT: usize = 4032;
const SESSIONS_AT: usize = 4036;
const CATALOG_AT: usize = 4040;

impl Lives {
    /// Of these: number of the file, then epoch and session.
    #[must_use]
    pub fn of(segments: &BTreeMap<u32, (u64, u64)>) -> Self {
        let (mut crc, mut sessions) = (0, 0);
        for (index, (epoch, session)) in segments {
            crc = crc32c(crc32c(crc, &index.to_le_bytes()), &epoch.to_le_bytes());
            sessions = crc32c(crc32c(sessions, &index.to_le_bytes()), &session.to_le_bytes());
        }
        Lives { count: segments.len() as u32, crc, sessions: Some(sessions) }
    }

    /// Whether these are what was told, as far as that goes.
    #[must_use]
    pub fn are(&self, told: &Lives) -> bool {
        let sessions = told.sessions.is_none_or(|told| self.sessions == Some(told));
        (self.count, self.crc) == (told.count, told.crc) && sessions
    }

    /// The epoch below `newest` that the segment in the file `index` had, if with it and `others` these are all;
    /// `None` if there was none. Epochs are tried from the newest down, twice as many as there are segments.
    #[must_use]
    pub fn missing(
        &self,
        others: &BTreeMap<u32, (u64, u64)>,
        index: u32,
        newest: u64,
    ) -> Option<u64> {
        if others.len() as u32 + 1 != self.count || others.contains_key(&index) {
            return None;
        }
        let mut all = others.clone();
        // Of which session it was nobody knows.
        let told = Lives { sessions: None, ..*self };
        (1..newest).rev().take(2 * self.count as usize + 2).find(|epoch| {
            all.insert(index, (*epoch, 0));
            Lives::of(&all).are(&told)
        })
    }
}

impl Beside {
    /// Puts it into an encoded header; the CRC to which the segment's first block refers.
    pub fn put(&self, unit: &mut [u8; UNIT_BYTES]) -> u32 {
        let mut flags =
            u32_at(unit, FLAGS_AT) & !(HAS_LIVES | CHANGED | UNREAD | HAS_SESSIONS | HAS_CATALOG);
        flags |= if self.segments.is_some() { HAS_LIVES } else { 0 };
        flags |= if self.changed { CHANGED } else { 0 };
        flags |= if self.unread { UNREAD } else { 0 };
        flags |= if self.catalog.is_some() { HAS_CATALOG } else { 0 };
        let Lives { count, crc, sessions } = self.segments.unwrap_or_default();
        flags |= if sessions.is_some() { HAS_SESSIONS } else { 0 };
        let catalog = self.catalog.unwrap_or_default();
        put(unit, FLAGS_AT, &flags.to_le_bytes());
        put(unit, BESIDE_AT, &count.to_le_bytes());
        put(unit, BESIDE_AT + 4, &crc.to_le_bytes());
        put(unit, BESIDE_AT + 8, &self.generation.to_le_bytes());
        put(unit, HIGHEST_ID_AT, &self.highest_id.to_le_bytes());
        put(unit, SESSIONS_AT, &sessions.unwrap_or(0).to_le_bytes());
        put(unit, CATALOG_AT, &catalog.unit.to_le_bytes());
        put(unit, CATALOG_AT + 4, &catalog.crc.to_le_bytes());
        self.recycled.iter().for_each(|recycled| recycled.put(unit));
        seal_unit(unit);
        u32_at(unit, 12)
    }

    /// Takes in what another header tells: of segments and catalog the newest counts, of all else any. Of what was recycled
    /// see [`Recycled::newest`].
    pub fn meet(&mut self, other: &Beside, newest: bool) {
        *self = Beside {
            segments: if newest { other.segments } else { self.segments },
            changed: self.changed || other.changed,
            unread: self.unread || other.unread,
            highest_id: self.highest_id.max(other.highest_id),
            catalog: if newest { other.catalog } else { self.catalog },
            generation: self.generation.max(other.generation),
            recycled: self.recycled,
        };
    }

    /// What a header's bytes tell, which [`SegmentHeader::decode`](crate::SegmentHeader::decode) has
    /// accepted.
    #[must_use]
    pub fn of(unit: &[u8]) -> Self {
        if unit.len() < UNIT_BYTES {
            return Beside::default();
        }
        let flags = u32_at(unit, FLAGS_AT);
        let sessions = (flags & HAS_SESSIONS != 0).then(|| u32_at(unit, SESSIONS_AT));
        let (count, crc) = (u32_at(unit, BESIDE_AT), u32_at(unit, BESIDE_AT + 4));
        let lives = Lives { count, crc, sessions };
        let (at, crc) = (u32_at(unit, CATALOG_AT), u32_at(unit, CATALOG_AT + 4));
        let catalog = CatalogEnd { unit: at, crc };
        Beside {
            segments: (flags & HAS_LIVES != 0).then_some(lives),
            changed: flags & CHANGED != 0,
            unread: flags & UNREAD != 0,
            highest_id: u32_at(unit, HIGHEST_ID_AT),
            catalog: (flags & HAS_CATALOG != 0).then_some(catalog),
            generation: u64_at(unit, BESIDE_AT + 8),
            recycled: Recycled::of(unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Held, SegmentHeader, SegmentKind, StoreId, Waiting, Wear};

    #[test]
    fn what_is_put_is_read_and_nothing_else_of_the_header_changes() {
        let header = SegmentHeader {
            kind: SegmentKind::Log,
            store: StoreId([7; 16]),
            session: 1 << 32,
            epoch: 3,
            index: 1,
            previous_crc: 9,
            segment_bytes: 4 << 20,
            first_block: 5,
            realtime_ns: 1,
            boottime_ns: 2,
            boot_id: [3; 16],
        };
        let wear = Wear { log_bytes: 1, padding_bytes: 2, payload_bytes: 3, other_bytes: 4 };
        let summary = crate::Summary::new(2, 5);
        let (mut unit, _) = header.encode_with(&[], &wear, Some(&summary));
        assert_eq!(Beside::of(&unit), Beside::default());
        let lives = Lives::of(&BTreeMap::from([(0, (1, 7)), (4, (2, 8))]));
        assert!(!Lives::of(&BTreeMap::from([(0, (2, 7)), (4, (1, 8))])).are(&lives));
        let sister = Lives::of(&BTreeMap::from([(0, (1, 7)), (4, (2, 9))]));
        let older = Lives { sessions: None, ..lives };
        assert!(lives.are(&lives) && !sister.are(&lives) && sister.are(&older));
        assert_eq!(lives.missing(&BTreeMap::from([(4, (2, 8))]), 0, 3), Some(1));
        assert_eq!(lives.missing(&BTreeMap::from([(4, (2, 8))]), 1, 3), None);
        assert_eq!(lives.missing(&BTreeMap::from([(0, (1, 7)), (4, (2, 8))]), 5, 3), None);
        let held = |records| Held { records, samples: u64::MAX };
        let waiting = |epoch| Waiting { epoch, held: held(7 * epoch) };
        let waiting = [waiting(1), waiting(2), waiting(3)];
        let recycled =
            Recycled { segments: 2, held: held(9), told: held(8), segments_told: 1, waiting };
        for segments in [None, Some(lives), Some(older)] {
            for (changed, unread) in [(false, false), (true, false), (false, true), (true, true)] {
                let recycled = Some(recycled);
                let (generation, highest_id) = (77, 1 << 20);
                let catalog = changed.then_some(CatalogEnd { unit: 9, crc: 1 << 31 });
                let beside =
                    Beside { segments, changed, unread, highest_id, catalog, generation, recycled };
                let crc = beside.put(&mut unit);
                assert_eq!(Beside::of(&unit), beside);
                assert_eq!(SegmentHeader::decode(&unit), Ok((header, crc)));
                assert_eq!(SegmentHeader::summary(&unit), Some(summary));
                assert_eq!(Wear::of(&unit), wear);
            }
        }
    }
}
