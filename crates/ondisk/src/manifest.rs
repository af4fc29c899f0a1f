//! Which runs count, and how far the log has been settled into them: the one file that a settling
//! replaces. `docs/format.md`, "Runs".
//!
//! Invariant: what decodes encodes to the same bytes. Held by the test below and by the fuzz target
//! `manifest`.

use crate::bytes::{array_at, i64_at, put, u16_at, u32_at, u64_at};
use crate::identity::{VERSION, check_count};
use crate::limits::{
    COUNT_MAX, DELETED_RANGES_MAX, DELETIONS_MAX, RUNS_MAX, UNIT_BYTES, round_up_to_unit,
};
use crate::{Deletion, Error, IdRange, LogPlace, SegmentHeader, StoreId, What, crc32c};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// How far the log is settled: every live block of lower epochs, and those of `epoch` below `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Settled {
    /// Epoch of the segment that settling has come to.
    pub epoch: u64,
    /// First block sequence in it that is not settled.
    pub end: u64,
}

impl Settled {
    /// The newest epoch of which something is settled.
    #[must_use]
    pub fn last_epoch(&self) -> u64 {
        if self.end == 0 { self.epoch.saturating_sub(1) } else { self.epoch }
    }

    /// What tells the segment that is settled last from that of another history of the store, which has the same
    /// epoch: `session` is that of the segment of [`Settled::last_epoch`].
    #[must_use]
    pub fn session_crc(&self, session: u64) -> u32 {
        let epoch = crc32c(0, &self.last_epoch().to_le_bytes());
        crc32c(epoch, &session.to_le_bytes()).max(1)
    }

    /// Whether the block with this sequence in the segment of `epoch` is in a run.
    #[must_use]
    pub fn covers(&self, epoch: u64, sequence: u64) -> bool {
        (epoch, sequence) < (self.epoch, self.end)
    }
}

/// One run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunEntry {
    /// Its number, which names its file; rising, never used twice.
    pub id: u64,
    /// 0 for one settled from the log, one more for each merging.
    pub level: u8,
    /// Bytes of the file.
    pub bytes: u64,
    /// Samples in it.
    pub samples: u64,
    /// Earliest time.
    pub time_min_ns: i64,
    /// Latest time.
    pub time_max_ns: i64,
    /// CRC of its footer, by which another file of this size and number is told from it; `None` where
    /// an older version has made the run.
    pub footer_crc: Option<u32>,
}

/// Which runs count, and how far the log has been settled into them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The store that it belongs to.
    pub store: StoreId,
    /// One more with each that was written.
    pub generation: u64,
    /// How far the log is settled.
    pub settled: Settled,
    /// [`Settled::session_crc`]; 0 if that is not told.
    pub settled_crc: u32,
    /// Blocks of the log that were damaged or missing when they were to be settled: what they held
    /// is in no run. More than 2^32 - 1 are as many.
    pub lost_blocks: u64,
    /// Number of the next run.
    pub next_run: u64,
    /// The runs, the oldest data first: of two samples of one series and time that of the later
    /// run counts.
    pub runs: Vec<RunEntry>,
    /// What has been deleted, in the order in which it was.
    pub deletions: Vec<Deletion>,
}

const MAGIC: &[u8; 8] = b"BARORUNS";
const HEAD_BYTES: usize = 80;
const ENTRY_BYTES: usize = 48;
const DELETION_BYTES: usize = 48;
const RANGE_BYTES: usize = 8;
/// Of a manifest with deletions: who does not know them must not show what is deleted.
const VERSION_DELETIONS: u16 = 2;
const WHOLE: u8 = 1;

/// Where deletions begin, where their ranges do, and where these end.
fn places(runs: usize, deletions: usize, ranges: usize) -> (usize, usize, usize) {
    let deletions_at = HEAD_BYTES + runs * ENTRY_BYTES;
    let ranges_at = deletions_at + deletions * DELETION_BYTES;
    (deletions_at, ranges_at, ranges_at + ranges * RANGE_BYTES)
}

impl Manifest {
    /// What [`Manifest::settled_crc`] would have to be, if it is another: the log whose `headers` these are has
    /// the segment that is settled last of another session. So the manifest is of a copy of the store that went
    /// on by itself. `None` also where it tells nothing, or the log has that segment no more.
    #[must_use]
    pub fn other_session<'a>(
        &self,
        mut headers: impl Iterator<Item = &'a SegmentHeader>,
    ) -> Option<u32> {
        let last = headers.find(|header| header.epoch == self.settled.last_epoch())?;
        let expected = self.settled.session_crc(last.session);
        (self.settled_crc != 0 && self.settled_crc != expected).then_some(expected)
    }

    /// Most bytes of an encoded one.
    pub const BYTES_MAX: usize = round_up_to_unit(
        HEAD_BYTES
            + RUNS_MAX * ENTRY_BYTES
            + DELETIONS_MAX * DELETION_BYTES
            + DELETED_RANGES_MAX * RANGE_BYTES,
    );

    /// The file's bytes, whole units.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let ranges = self.deletions.iter().map(|deletion| deletion.ids.len()).sum();
        let (deletions_at, ranges_at, end) = places(self.runs.len(), self.deletions.len(), ranges);
        let mut bytes = vec![0; round_up_to_unit(end)];
        put(&mut bytes, 0, MAGIC);
        let version = if self.deletions.is_empty() { VERSION } else { VERSION_DELETIONS };
        put(&mut bytes, 8, &version.to_le_bytes());
        put(&mut bytes, 68, &(self.deletions.len() as u32).to_le_bytes());
        put(&mut bytes, 16, &self.store.0);
        put(&mut bytes, 32, &self.generation.to_le_bytes());
        put(&mut bytes, 40, &self.settled.epoch.to_le_bytes());
        put(&mut bytes, 48, &self.settled.end.to_le_bytes());
        put(&mut bytes, 56, &self.next_run.to_le_bytes());
        put(&mut bytes, 64, &(self.runs.len() as u32).to_le_bytes());
        let lost_blocks = u32::try_from(self.lost_blocks).unwrap_or(u32::MAX);
        put(&mut bytes, 72, &lost_blocks.to_le_bytes());
        put(&mut bytes, 76, &self.settled_crc.to_le_bytes());
        for (at, run) in self.runs.iter().enumerate() {
            let at = HEAD_BYTES + at * ENTRY_BYTES;
            put(&mut bytes, at, &run.id.to_le_bytes());
            put(&mut bytes, at + 8, &run.bytes.to_le_bytes());
            put(&mut bytes, at + 16, &run.samples.to_le_bytes());
            put(&mut bytes, at + 24, &run.time_min_ns.to_le_bytes());
            put(&mut bytes, at + 32, &run.time_max_ns.to_le_bytes());
            put(&mut bytes, at + 40, &[run.level, u8::from(run.footer_crc.is_some())]);
            put(&mut bytes, at + 44, &run.footer_crc.unwrap_or(0).to_le_bytes());
        }
        let mut range_at = ranges_at;
        for (at, deletion) in self.deletions.iter().enumerate() {
            let at = deletions_at + at * DELETION_BYTES;
            put(&mut bytes, at, &deletion.before.session.to_le_bytes());
            put(&mut bytes, at + 8, &deletion.before.sequence.to_le_bytes());
            put(&mut bytes, at + 16, &deletion.runs_below.to_le_bytes());
            put(&mut bytes, at + 24, &deletion.from_ns.to_le_bytes());
            put(&mut bytes, at + 32, &deletion.to_ns.to_le_bytes());
            put(&mut bytes, at + 40, &(deletion.ids.len() as u32).to_le_bytes());
            put(&mut bytes, at + 44, &[if deletion.whole { WHOLE } else { 0 }]);
            for range in &deletion.ids {
                put(&mut bytes, range_at, &range.first.to_le_bytes());
                put(&mut bytes, range_at + 4, &range.last.to_le_bytes());
                range_at += RANGE_BYTES;
            }
        }
        let crc = crc32c(0, &bytes);
        put(&mut bytes, 12, &crc.to_le_bytes());
        bytes
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Truncated, foreign, of another version, damaged, or outside the limits.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let what = What::Manifest;
        let found = bytes.len() as u64;
        if bytes.len() < UNIT_BYTES {
            let expected = UNIT_BYTES as u64;
            return Err(Error::Truncated { what, offset: found, expected, found });
        }
        let mismatch = |field, offset, expected, found| {
            Err(Error::Mismatch { what, field, offset, expected, found })
        };
        if bytes.get(..8) != Some(MAGIC.as_slice()) {
            return mismatch("magic", 0, u64::from_le_bytes(*MAGIC), u64_at(bytes, 0));
        }
        let version = u16_at(bytes, 8);
        if version != VERSION && version != VERSION_DELETIONS {
            return mismatch("version", 8, u64::from(VERSION), u64::from(version));
        }
        let runs = u32_at(bytes, 64) as usize;
        if runs > RUNS_MAX {
            let (limit, found) = (RUNS_MAX as u64, runs as u64);
            return Err(Error::OutOfRange { what, field: "runs", offset: 64, limit, found });
        }
        let deletions = if version == VERSION { 0 } else { u32_at(bytes, 68) as usize };
        if deletions > DELETIONS_MAX {
            let (limit, found) = (DELETIONS_MAX as u64, deletions as u64);
            return Err(Error::OutOfRange { what, field: "deletions", offset: 68, limit, found });
        }
        let ranges = range_counts(bytes, runs, deletions)?;
        let (_, _, end) = places(runs, deletions, ranges);
        let expected = round_up_to_unit(end);
        if bytes.len() != expected {
            return mismatch("length", 64, expected as u64, found);
        }
        let mut crc = crc32c(0, bytes.get(..12).unwrap_or(&[]));
        crc = crc32c(crc, &[0; 4]);
        crc = crc32c(crc, bytes.get(16..).unwrap_or(&[]));
        if crc != u32_at(bytes, 12) {
            return mismatch("CRC", 12, u64::from(crc), u64::from(u32_at(bytes, 12)));
        }
        let run = |at: usize| {
            let at = HEAD_BYTES + at * ENTRY_BYTES;
            RunEntry {
                id: u64_at(bytes, at),
                bytes: u64_at(bytes, at + 8),
                samples: u64_at(bytes, at + 16),
                time_min_ns: i64_at(bytes, at + 24),
                time_max_ns: i64_at(bytes, at + 32),
                level: bytes.get(at + 40).copied().unwrap_or(0),
                footer_crc: (bytes.get(at + 41) == Some(&1)).then(|| u32_at(bytes, at + 44)),
            }
        };
        let manifest = Manifest {
            store: StoreId(array_at(bytes, 16).unwrap_or_default()),
            generation: u64_at(bytes, 32),
            settled: Settled { epoch: u64_at(bytes, 40), end: u64_at(bytes, 48) },
            next_run: u64_at(bytes, 56),
            lost_blocks: u64::from(u32_at(bytes, 72)),
            settled_crc: u32_at(bytes, 76),
            runs: (0..runs).map(run).collect(),
            deletions: decode_deletions(bytes, runs, deletions)?,
        };
        for (field, offset, found) in [
            ("generation", 32, manifest.generation),
            ("settled epoch", 40, manifest.settled.epoch),
            ("settled end", 48, manifest.settled.end),
            ("next run", 56, manifest.next_run),
        ] {
            check_count(what, field, offset, found)?;
        }
        if let Some(last) = manifest.runs.iter().map(|run| run.id).max()
            && last >= manifest.next_run
        {
            let (limit, found) = (manifest.next_run, last);
            return Err(Error::OutOfRange { what, field: "run id", offset: 56, limit, found });
        }
        manifest.check_runs()?;
        Ok(manifest)
    }

    /// Each run is named once, its times are in order, and sums over all of them have room.
    fn check_runs(&self) -> Result<(), Error> {
        let what = What::Manifest;
        let mut ids = BTreeMap::new();
        let (mut bytes, mut samples) = (0_u64, 0_u64);
        for (at, run) in self.runs.iter().enumerate() {
            let offset = (HEAD_BYTES + at * ENTRY_BYTES) as u64;
            if let Some(before) = ids.insert(run.id, at) {
                let (field, expected, found) = ("place of the run", before as u64, at as u64);
                return Err(Error::Mismatch { what, field, offset, expected, found });
            }
            let too_many = |field, offset, before, found| {
                let limit = COUNT_MAX - before;
                Error::OutOfRange { what, field, offset, limit, found }
            };
            let sum = sum_of(bytes, run.bytes);
            bytes = sum.ok_or(too_many("bytes of the run", offset + 8, bytes, run.bytes))?;
            let sum = sum_of(samples, run.samples);
            samples =
                sum.ok_or(too_many("samples of the run", offset + 16, samples, run.samples))?;
            if run.time_min_ns > run.time_max_ns {
                let (field, offset) = ("latest time of the run", offset + 32);
                let (expected, found) = (run.time_min_ns as u64, run.time_max_ns as u64);
                return Err(Error::Mismatch { what, field, offset, expected, found });
            }
        }
        Ok(())
    }
}

/// Of what a store can have.
fn sum_of(before: u64, more: u64) -> Option<u64> {
    before.checked_add(more).filter(|sum| *sum <= COUNT_MAX)
}

/// Ranges of all deletions.
fn range_counts(bytes: &[u8], runs: usize, deletions: usize) -> Result<usize, Error> {
    let what = What::Manifest;
    let (start, end, _) = places(runs, deletions, 0);
    if bytes.len() < end {
        let (offset, expected, found) = (start as u64, end as u64, bytes.len() as u64);
        return Err(Error::Truncated { what, offset, expected, found });
    }
    let counts = (0..deletions).map(|at| u32_at(bytes, start + at * DELETION_BYTES + 40) as usize);
    let ranges = counts.fold(0_usize, usize::saturating_add);
    if ranges > DELETED_RANGES_MAX {
        let (limit, found, offset) = (DELETED_RANGES_MAX as u64, ranges as u64, start as u64 + 40);
        let field = "ranges of deleted ids";
        return Err(Error::OutOfRange { what, field, offset, limit, found });
    }
    Ok(ranges)
}

/// The deletions of a manifest whose length is right.
fn decode_deletions(bytes: &[u8], runs: usize, deletions: usize) -> Result<Vec<Deletion>, Error> {
    let what = What::Manifest;
    let mut found: Vec<Deletion> = Vec::with_capacity(deletions);
    let (start, mut range_at, _) = places(runs, deletions, 0);
    for at in 0..deletions {
        let at = start + at * DELETION_BYTES;
        let wrong = |field, offset: usize, expected, found| {
            Err(Error::Mismatch { what, field, offset: offset as u64, expected, found })
        };
        let flags = u32_at(bytes, at + 44);
        if flags > u32::from(WHOLE) {
            return wrong("flags of a deletion", at + 44, u64::from(WHOLE), u64::from(flags));
        }
        let mut ids: Vec<IdRange> = Vec::with_capacity(u32_at(bytes, at + 40) as usize);
        for _ in 0..u32_at(bytes, at + 40) {
            let (first, last) = (u32_at(bytes, range_at), u32_at(bytes, range_at + 4));
            let behind = ids.last().is_none_or(|b| u64::from(b.last) + 1 < u64::from(first));
            if !behind || first > last {
                let (expected, found) = (u64::from(last), u64::from(first));
                return wrong("order of deleted ids", range_at, expected, found);
            }
            ids.push(IdRange { first, last });
            range_at += RANGE_BYTES;
        }
        let (session, sequence) = (u64_at(bytes, at), u64_at(bytes, at + 8));
        let deletion = Deletion {
            before: LogPlace { session, sequence },
            runs_below: u64_at(bytes, at + 16),
            from_ns: i64_at(bytes, at + 24),
            to_ns: i64_at(bytes, at + 32),
            whole: flags == u32::from(WHOLE),
            ids,
        };
        let risen = found.last().is_none_or(|last| {
            last.before <= deletion.before && last.runs_below <= deletion.runs_below
        });
        if !risen {
            return wrong("order of deletions", at, session, sequence);
        }
        found.push(deletion);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Manifest {
        let run = |id, level| RunEntry {
            id,
            level,
            bytes: 4096 + id,
            samples: 10 * id,
            time_min_ns: -(id as i64),
            time_max_ns: i64::MAX,
            footer_crc: (id % 2 == 1).then_some(id as u32),
        };
        Manifest {
            store: StoreId([7; 16]),
            generation: 3,
            settled: Settled { epoch: 9, end: 77 },
            settled_crc: 1 << 31,
            lost_blocks: 5,
            next_run: 200,
            runs: (0..150).map(|id| run(id, (id % 3) as u8)).collect(),
            deletions: Vec::new(),
        }
    }

    fn deleted() -> Manifest {
        let deletion = |at: u64| Deletion {
            before: LogPlace { session: at / 2, sequence: 10 * at },
            runs_below: 150 + at,
            from_ns: -1000,
            to_ns: i64::MAX - at as i64,
            whole: at.is_multiple_of(2),
            ids: Deletion::ranges([1, 2, 5, 9, 10].into_iter().skip(at as usize % 4)),
        };
        Manifest { deletions: (0..7).map(deletion).collect(), ..some() }
    }

    #[test]
    fn round_trips_and_every_flipped_bit_is_found() {
        for manifest in [Manifest { next_run: 1, ..Manifest::default() }, some(), deleted()] {
            let bytes = manifest.encode();
            assert_eq!(Manifest::decode(&bytes), Ok(manifest));
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                assert!(Manifest::decode(&flipped).is_err(), "byte {at}");
            }
            for length in [0, 1, 80, 4095, bytes.len() - 1, bytes.len() + 1] {
                let mut other = bytes.clone();
                other.resize(length, 0);
                assert!(Manifest::decode(&other).is_err(), "{length} bytes");
            }
        }
    }

    /// Without deletions it is what it was before there were any; with some, who does not know them
    /// takes it for another version.
    #[test]
    fn only_a_manifest_with_deletions_has_another_version() {
        let version = |manifest: &Manifest| u16_at(&manifest.encode(), 8);
        assert_eq!((version(&some()), version(&deleted())), (1, 2));
        let mut falling = deleted();
        falling.deletions.reverse();
        assert!(Manifest::decode(&falling.encode()).is_err());
        let mut touching = deleted();
        touching.deletions[0].ids = [3, 4].map(|id| IdRange { first: id, last: id }).to_vec();
        assert!(Manifest::decode(&touching.encode()).is_err());
    }

    #[test]
    fn covers_lower_epochs_whole_and_its_own_up_to_the_end() {
        let settled = Settled { epoch: 5, end: 100 };
        assert!(settled.covers(4, 1_000) && settled.covers(5, 99));
        assert!(!settled.covers(5, 100) && !settled.covers(6, 0));
    }
}
