//! Which runs count, and how far the log has been settled into them: the one file that a settling
//! replaces. `docs/format.md`, "Runs".
//!
//! Invariant: what decodes encodes to the same bytes. Held by the test below and by the fuzz target
//! `manifest`.

use crate::bytes::{array_at, i64_at, put, u16_at, u32_at, u64_at};
use crate::identity::VERSION;
use crate::limits::{RUNS_MAX, UNIT_BYTES, round_up_to_unit};
use crate::{Error, StoreId, What, crc32c};
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
    /// Blocks of the log that were damaged or missing when they were to be settled: what they held
    /// is in no run.
    pub lost_blocks: u64,
    /// Number of the next run.
    pub next_run: u64,
    /// The runs, the oldest data first: of two samples of one series and time that of the later
    /// run counts.
    pub runs: Vec<RunEntry>,
}

const MAGIC: &[u8; 8] = b"BARORUNS";
const HEAD_BYTES: usize = 80;
const ENTRY_BYTES: usize = 48;

impl Manifest {
    /// Most bytes of an encoded one.
    pub const BYTES_MAX: usize = round_up_to_unit(HEAD_BYTES + RUNS_MAX * ENTRY_BYTES);

    /// The file's bytes, whole units.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; round_up_to_unit(HEAD_BYTES + self.runs.len() * ENTRY_BYTES)];
        put(&mut bytes, 0, MAGIC);
        put(&mut bytes, 8, &VERSION.to_le_bytes());
        put(&mut bytes, 16, &self.store.0);
        put(&mut bytes, 32, &self.generation.to_le_bytes());
        put(&mut bytes, 40, &self.settled.epoch.to_le_bytes());
        put(&mut bytes, 48, &self.settled.end.to_le_bytes());
        put(&mut bytes, 56, &self.next_run.to_le_bytes());
        put(&mut bytes, 64, &(self.runs.len() as u32).to_le_bytes());
        put(&mut bytes, 72, &self.lost_blocks.to_le_bytes());
        for (at, run) in self.runs.iter().enumerate() {
            let at = HEAD_BYTES + at * ENTRY_BYTES;
            put(&mut bytes, at, &run.id.to_le_bytes());
            put(&mut bytes, at + 8, &run.bytes.to_le_bytes());
            put(&mut bytes, at + 16, &run.samples.to_le_bytes());
            put(&mut bytes, at + 24, &run.time_min_ns.to_le_bytes());
            put(&mut bytes, at + 32, &run.time_max_ns.to_le_bytes());
            put(&mut bytes, at + 40, &[run.level]);
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
        if u16_at(bytes, 8) != VERSION {
            return mismatch("version", 8, u64::from(VERSION), u64::from(u16_at(bytes, 8)));
        }
        let runs = u32_at(bytes, 64) as usize;
        if runs > RUNS_MAX {
            let (limit, found) = (RUNS_MAX as u64, runs as u64);
            return Err(Error::OutOfRange { what, field: "runs", offset: 64, limit, found });
        }
        let expected = round_up_to_unit(HEAD_BYTES + runs * ENTRY_BYTES);
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
            }
        };
        let manifest = Manifest {
            store: StoreId(array_at(bytes, 16).unwrap_or_default()),
            generation: u64_at(bytes, 32),
            settled: Settled { epoch: u64_at(bytes, 40), end: u64_at(bytes, 48) },
            next_run: u64_at(bytes, 56),
            lost_blocks: u64_at(bytes, 72),
            runs: (0..runs).map(run).collect(),
        };
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
                let limit = u64::MAX - before;
                Error::OutOfRange { what, field, offset, limit, found }
            };
            let sum = bytes.checked_add(run.bytes);
            bytes = sum.ok_or(too_many("bytes of the run", offset + 8, bytes, run.bytes))?;
            let sum = samples.checked_add(run.samples);
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
        };
        Manifest {
            store: StoreId([7; 16]),
            generation: 3,
            settled: Settled { epoch: 9, end: 77 },
            lost_blocks: 5,
            next_run: 200,
            runs: (0..150).map(|id| run(id, (id % 3) as u8)).collect(),
        }
    }

    #[test]
    fn round_trips_and_every_flipped_bit_is_found() {
        for manifest in [Manifest { next_run: 1, ..Manifest::default() }, some()] {
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

    #[test]
    fn covers_lower_epochs_whole_and_its_own_up_to_the_end() {
        let settled = Settled { epoch: 5, end: 100 };
        assert!(settled.covers(4, 1_000) && settled.covers(5, 99));
        assert!(!settled.covers(5, 100) && !settled.covers(6, 0));
    }
}
