//! The segments of the log: whether each is still the file that was written, whole, under this
//! session's or an earlier header.
//!
//! Invariant: a header is judged by two reads: one alone may meet the write of the next. Held by the
//! tests named in [`super`].

use super::NAMES_MAX;
use crate::keeper::holding::readable_in;
use crate::writer::Stored;
use baro_log::{Blocks, FoundHeader, Held, Recovery, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{SegmentHeader, StoreId};
use baro_sys::disk::{Disk, Found};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeMap;

/// A segment that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) epoch: u64,
    pub(crate) index: u32,
    /// Sequence of each block that can still be read of it, and what it holds; also of those that were
    /// not durable when they were found, and count for nothing then.
    pub(crate) readable: Vec<(u64, Held)>,
}

impl Gone {
    /// What can be read in blocks below `end`.
    pub(crate) fn readable_below(&self, end: u64) -> Held {
        let below = self.readable.iter().filter(|(sequence, _)| *sequence < end);
        below.fold(Held::default(), |sum, (_, held)| sum.plus(*held))
    }
}

/// What was found of a segment.
#[derive(Clone, Debug)]
pub(super) enum Finding {
    Gone(Gone),
    /// Another recorder writes the log.
    Foreign,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    was: Found,
    /// 0 of one that was never started.
    epoch: u64,
    /// Its header was not what it should be at the last look.
    doubted: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Segments {
    store: StoreId,
    session: u64,
    bytes: u64,
    /// Highest epoch at the open.
    last_epoch: u64,
    known: BTreeMap<u32, Segment>,
    /// Those that were found to be something else.
    lost: Vec<u32>,
    /// How many there were when they were counted last.
    count: u32,
    /// Where the next look begins in a log of more than [`NAMES_MAX`].
    from: u32,
}

impl Segments {
    pub(super) fn new(disk: &Disk, recovery: &Recovery, session: u64) -> Self {
        let mut segments = Segments {
            store: recovery.identity.store,
            session,
            bytes: recovery.identity.segment_bytes,
            last_epoch: recovery.last_epoch,
            known: BTreeMap::new(),
            lost: Vec::new(),
            count: 0,
            from: 0,
        };
        segments.grown(disk, recovery.segments.grown);
        for (header, _) in &recovery.segments.started {
            segments.started(header.index, header.epoch);
        }
        // A segment whose header was damaged before is not said to be damaged now.
        let found = &recovery.segments;
        for (index, _) in found.damaged.iter().chain(&found.rebuilt) {
            segments.started(*index, 0);
        }
        segments
    }

    pub(super) fn started(&mut self, index: u32, epoch: u64) {
        if let Some(segment) = self.known.get_mut(&index) {
            (segment.epoch, segment.doubted) = (epoch, false);
        }
    }

    pub(super) fn grown(&mut self, disk: &Disk, count: u32) {
        for index in self.count..count {
            if let Ok(was) = disk.found(&segment_name(index)) {
                self.known.insert(index, Segment { was, epoch: 0, doubted: false });
            }
        }
        self.count = self.count.max(count);
    }

    /// What is wrong, with why; each segment once.
    pub(super) fn look(&mut self, disk: &Disk, all: bool) -> Vec<(Finding, String)> {
        let newest = self.known.values().map(|segment| segment.epoch).max().unwrap_or(0);
        let most = if all { usize::MAX } else { NAMES_MAX };
        let (before, behind): (Vec<u32>, Vec<u32>) =
            self.known.keys().copied().partition(|index| *index < self.from);
        let mut indexes: Vec<u32> = behind.into_iter().chain(before).take(most).collect();
        self.from = indexes.last().map_or(0, |last| last + 1);
        // The one that is written and the one before it are in every turn.
        let written = |segment: &Segment| newest > 0 && segment.epoch + 1 >= newest;
        let written = self.known.iter().filter(|(_, segment)| written(segment));
        indexes.extend(written.map(|(index, _)| *index));
        indexes.sort_unstable();
        indexes.dedup();
        let mut found = Vec::new();
        for index in indexes {
            let Some((finding, why)) = self.look_at(disk, index, all) else { continue };
            self.known.remove(&index);
            if let Finding::Gone(gone) = &finding {
                self.lost.push(gone.index);
            }
            found.push((finding, why));
        }
        found
    }

    fn look_at(&mut self, disk: &Disk, index: u32, last: bool) -> Option<(Finding, String)> {
        let name = segment_name(index);
        let segment = self.known.get_mut(&index)?;
        let (was, epoch) = (segment.was, segment.epoch);
        let now = match disk.found(&name) {
            Err(error) if !error.is_missing() => return None,
            now => now.ok(),
        };
        let what = match now {
            None => "was removed".to_owned(),
            Some(now) if now.identity != was.identity => "was replaced by another file".to_owned(),
            Some(now) if now.bytes < self.bytes => {
                format!("was cut from {} to {} bytes", self.bytes, now.bytes)
            }
            Some(now) => {
                // What is written has another time at each look; a segment that is not, the same.
                let touched = now.modified_ns != was.modified_ns;
                segment.was = now;
                if !(last || touched || segment.doubted) || epoch == 0 {
                    return None;
                }
                let header = self.header(disk, index, epoch);
                let segment = self.known.get_mut(&index)?;
                match header {
                    Header::Ours => {
                        segment.doubted = false;
                        return None;
                    }
                    Header::Foreign(session) => {
                        let why = format!(
                            "{name} was written by another recorder (session {session:016x}): \
                             nothing more is written; stop one of the two, then look with: baro \
                             verify"
                        );
                        return Some((Finding::Foreign, why));
                    }
                    // Once may be the write of the next header, under way.
                    Header::Damaged if !segment.doubted && !last => {
                        segment.doubted = true;
                        return None;
                    }
                    Header::Damaged => "was written over".to_owned(),
                }
            }
        };
        let readable = self.readable(disk, index, epoch);
        let why = format!("{name} {what} while recording: nothing more goes to it");
        Some((Finding::Gone(Gone { epoch, index, readable }), why))
    }

    fn header(&self, disk: &Disk, index: u32, epoch: u64) -> Header {
        let Some((found, _)) = read_header(disk, index) else {
            // As it may be read beside the write of the next one.
            let again = read_header(disk, index).map(|(found, _)| self.judge(&found, index, epoch));
            return again.unwrap_or(Header::Damaged);
        };
        self.judge(&found, index, epoch)
    }

    fn judge(&self, found: &SegmentHeader, index: u32, epoch: u64) -> Header {
        match () {
            () if found.store != self.store || found.index != index => Header::Damaged,
            // The next life of this segment may have begun, which is told once it is durable.
            () if found.session == self.session || found.epoch == epoch => Header::Ours,
            () if found.epoch > self.last_epoch => Header::Foreign(found.session),
            () => Header::Damaged,
        }
    }

    /// What counts of the segments that were written since another recorder has got in: no more than it found
    /// in them when it began, as its headers tell.
    pub(super) fn superseded(&self, disk: &Disk, stored: &[Stored]) -> Vec<Gone> {
        let mut found: Vec<Gone> = Vec::new();
        for index in 0..self.count {
            let Some(unit) = read_unit(disk, index) else { continue };
            let Ok((header, _)) = SegmentHeader::decode(&unit) else { continue };
            let is_other = header.store == self.store && header.session != self.session;
            if !is_other || header.epoch <= self.last_epoch {
                continue;
            }
            for tail in SegmentHeader::dead_tails(&unit) {
                let of_tail = |stored: &&Stored| stored.epoch == tail.epoch;
                let Some(Stored { epoch, index, .. }) = stored.iter().find(of_tail).copied() else {
                    continue;
                };
                if !found.iter().any(|gone| gone.epoch == epoch) {
                    let mut readable = self.readable(disk, index, epoch);
                    readable.retain(|(sequence, _)| *sequence < tail.end);
                    found.push(Gone { epoch, index, readable });
                }
            }
        }
        found
    }

    /// What is left of segments that were found lost under an earlier header than the one they were written
    /// under last: what the writer tells waits in a queue, while the names are looked at.
    pub(super) fn started_since(
        &self,
        disk: &Disk,
        known: &[Gone],
        stored: &[Stored],
    ) -> Vec<Gone> {
        let is_known = |stored: &&Stored| known.iter().any(|gone| gone.epoch == stored.epoch);
        let lost = stored.iter().filter(|stored| self.lost.contains(&stored.index));
        lost.filter(|stored| !is_known(stored))
            .map(|&Stored { epoch, index, .. }| Gone {
                epoch,
                index,
                readable: self.readable(disk, index, epoch),
            })
            .collect()
    }

    /// What is left of a segment of which not all blocks are there that were durable, by their headers; `None`
    /// if all are, or nobody can tell.
    pub(super) fn blocks_gone(&self, disk: &Disk, stored: &Stored) -> Option<Gone> {
        let Stored { epoch, index, end, .. } = *stored;
        // Of an earlier session's nothing is known that was not found at the open.
        let is_own =
            |header: &SegmentHeader| header.epoch == epoch && header.session == self.session;
        let (header, crc) = read_header(disk, index).filter(|(header, _)| is_own(header))?;
        let file = disk.open(&segment_name(index), Access::ReadDirect).ok()?;
        let mut blocks = Blocks::new().ok()?;
        let mut walk = blocks.walk(&file, header, crc);
        while walk.scan().sequence() < end {
            match walk.next_header() {
                Ok(FoundHeader::Block(_)) => {}
                Ok(_) => {
                    let readable = self.readable(disk, index, epoch);
                    return Some(Gone { epoch, index, readable });
                }
                Err(_) => return None,
            }
        }
        None
    }

    /// Blocks that are still there of the epoch that was written, and what they hold.
    fn readable(&self, disk: &Disk, index: u32, epoch: u64) -> Vec<(u64, Held)> {
        match read_header(disk, index) {
            Some((header, crc)) if header.store == self.store && header.epoch == epoch => {
                readable_in(disk, header, crc)
            }
            _ => Vec::new(),
        }
    }
}

enum Header {
    Ours,
    Foreign(u64),
    Damaged,
}

fn read_unit(disk: &Disk, index: u32) -> Option<AlignedBuffer> {
    let file = disk.open(&segment_name(index), Access::ReadDirect).ok()?;
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES).ok()?;
    (file.read_at(0, &mut unit).ok()? == UNIT_BYTES).then_some(unit)
}

fn read_header(disk: &Disk, index: u32) -> Option<(SegmentHeader, u32)> {
    SegmentHeader::decode(&read_unit(disk, index)?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

    use super::*;

    #[test]
    fn a_segment_that_was_started_while_it_was_taken_away_counts() {
        let path = std::env::temp_dir().join(format!("baro-segments-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let disk = Disk::create(&path).unwrap();
        std::fs::create_dir(path.join("log")).unwrap();
        for index in 0..2 {
            std::fs::write(path.join(segment_name(index)), [0; 8192]).unwrap();
        }
        let mut segments = Segments {
            store: StoreId([1; 16]),
            session: 1,
            bytes: 8192,
            last_epoch: 0,
            known: BTreeMap::new(),
            lost: Vec::new(),
            count: 0,
            from: 0,
        };
        segments.grown(&disk, 2);
        segments.started(0, 5);
        std::fs::remove_file(path.join(segment_name(0))).unwrap();
        let found = segments.look(&disk, false);
        assert!(matches!(&found[..], [(Finding::Gone(Gone { epoch: 5, index: 0, .. }), _)]));
        // It comes when the look is over.
        segments.started(0, 9);
        let held = Held { records: 3, samples: 30 };
        let of = |epoch, index| Stored { epoch, index, held, end: 7 };
        let known = [Gone { epoch: 5, index: 0, readable: Vec::new() }];
        let since = segments.started_since(&disk, &known, &[of(5, 0), of(8, 1), of(9, 0)]);
        assert_eq!(since, [Gone { epoch: 9, index: 0, readable: Vec::new() }]);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
