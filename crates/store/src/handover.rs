//! Handing over: what has settled goes to a table of another program, each sample once. Here is what the
//! store knows of that: the file `runs/lake`, and which runs have been handed over.
//!
//! What is handed over is whole runs. A run counts as handed over if its number is below that in the file,
//! or if its own note says that it was made of such runs alone. Settling merges runs that were handed over
//! only with each other, and the others only with each other. It drops none that was not handed over.
//!
//! Runs that are being handed over are offered first: the file says up to which number. Until they are
//! handed over settling does not replace them by others. After a crash nobody but the table knows whether it
//! has got them, so they stay as they are until it has been asked.
//!
//! The file is written under the lock of the manifest, and settling looks at it under that lock before each
//! manifest. So no merging that began before an offer comes in after it.
//!
//! Invariants: the file is there whole or not at all; a run that was offered is in the manifest under its
//! number until it was handed over, or dropped after a release. Held by
//! `a_crash_leaves_the_handover_before_or_the_one_after` and
//! `what_is_offered_from_now_on_is_not_merged_by_who_began_before` (`settle/tests.rs`).

mod read;

pub use read::{RunRows, RunValues, Waiting};

use crate::damage::{Damage, Loss, Source};
use crate::delete::PATIENCE_NS;
use crate::{Error, Result, Store};
use baro_log::{ByteLock, Holding, ManifestLock, RUNS};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{RunEntry, StoreId, crc32c};
use baro_sys::storage::{Access, AnyStorage, Storage, StorageFile};
use std::path::Path;

/// The file; beside the manifest, and no run.
pub(crate) const LAKE: &str = "runs/lake";
/// Its name until it is whole. Not one of those that settling removes when it begins.
const LAKE_NEXT: &str = "runs/lake.next";

const MAGIC: &[u8; 8] = b"BAROLAKE";
const VERSION: u16 = 1;
/// Where the CRC is, and what it is of.
const CRC_AT: usize = 12;
const HOLDS: u8 = 1;
/// How a note begins that says this of its run.
const NOTE_MAGIC: &[u8; 4] = b"LAKE";

/// Which table has which runs of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The table, as it names itself.
    pub table: [u8; 16],
    /// All runs below this number have been handed over.
    pub below: u64,
    /// Those below this one may have been: they stay as they are.
    pub offered: u64,
    /// Runs that have not been handed over are not dropped.
    pub holds: bool,
}

impl Handover {
    /// The bytes of the file, one unit.
    #[must_use]
    pub fn encode(&self, store: StoreId) -> Vec<u8> {
        let mut unit = Vec::with_capacity(UNIT_BYTES);
        unit.extend_from_slice(MAGIC);
        unit.extend_from_slice(&VERSION.to_le_bytes());
        unit.extend_from_slice(&[if self.holds { HOLDS } else { 0 }, 0]);
        unit.extend_from_slice(&[0; 4]);
        unit.extend_from_slice(&store.0);
        unit.extend_from_slice(&self.table);
        unit.extend_from_slice(&self.below.to_le_bytes());
        unit.extend_from_slice(&self.offered.to_le_bytes());
        unit.resize(UNIT_BYTES, 0);
        let crc = crc_of(&unit);
        if let Some(place) = unit.get_mut(CRC_AT..CRC_AT + 4) {
            place.copy_from_slice(&crc.to_le_bytes());
        }
        unit
    }

    /// Reads the file; the error says in words what is wrong with it.
    ///
    /// # Errors
    /// Truncated, foreign, of another version or store, or damaged.
    pub fn decode(bytes: &[u8], store: StoreId) -> std::result::Result<Self, String> {
        let expected =
            |what: &str, expected: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
                format!("{what}: expected {expected}, found {found}")
            };
        if bytes.len() != UNIT_BYTES {
            return Err(expected("bytes", &UNIT_BYTES, &bytes.len()));
        }
        if bytes.get(..8) != Some(MAGIC) {
            return Err("expected it to begin with BAROLAKE, found something else".to_owned());
        }
        let version = u16::from_le_bytes(array(bytes, 8));
        if version != VERSION {
            return Err(expected("version", &VERSION, &version));
        }
        let (crc, found) = (u32::from_le_bytes(array(bytes, CRC_AT)), crc_of(bytes));
        if crc != found {
            return Err(expected("CRC", &format_args!("{crc:08x}"), &format_args!("{found:08x}")));
        }
        let of = StoreId(array(bytes, 16));
        if of != store {
            return Err(expected("store", &store, &of));
        }
        let [holds] = array(bytes, 10);
        let number = |at| u64::from_le_bytes(array(bytes, at));
        let (below, offered) = (number(48), number(56));
        Ok(Handover { table: array(bytes, 32), below, offered, holds: holds == HOLDS })
    }

    /// What a run says of itself that was made of runs which this table has. With the store, because a
    /// copy of a store keeps the notes of its runs and is another store.
    pub(crate) fn note(&self, store: StoreId) -> Vec<u8> {
        [&NOTE_MAGIC[..], &store.0, &self.table].concat()
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let part = bytes.get(at..at + N).and_then(|part| part.try_into().ok());
    part.unwrap_or([0; N])
}

/// CRC of the unit with its CRC field 0.
fn crc_of(unit: &[u8]) -> u32 {
    let crc = crc32c(0, unit.get(..CRC_AT).unwrap_or(&[]));
    crc32c(crc32c(crc, &[0; 4]), unit.get(CRC_AT + 4..).unwrap_or(&[]))
}

fn damaged(why: String) -> Damage {
    let (file, source) = (LAKE.to_owned(), Source::Unreadable(why));
    Damage { file, offset: 0, source, loss: Loss::Handover }
}

/// What the file says; the inner error is damage.
///
/// # Errors
/// The operating system refuses.
pub(crate) fn read_handover(
    storage: &AnyStorage,
    store: StoreId,
) -> baro_sys::Result<std::result::Result<Option<Handover>, Damage>> {
    let file = match storage.open(LAKE, Access::Read) {
        Err(error) if error.is_missing() => return Ok(Ok(None)),
        other => other?,
    };
    // One byte more tells that it is too long.
    let mut bytes = vec![0; UNIT_BYTES + 1];
    let read = match file.read_at(0, &mut bytes) {
        Ok(read) => read,
        Err(error) => return Ok(Err(damaged(error.to_string()))),
    };
    let bytes = bytes.get(..read).unwrap_or(&[]);
    Ok(Handover::decode(bytes, store).map(Some).map_err(damaged))
}

/// What settling has to keep to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Nothing is handed over.
    #[default]
    None,
    /// This is.
    Known(Handover),
    /// The file is damaged or cannot be read: what was handed over is not known.
    Unreadable(Box<Damage>),
}

impl Hold {
    /// Where the file cannot even be opened nothing is dropped or merged; settling the log goes on, which
    /// has no need of it.
    pub(crate) fn read(storage: &AnyStorage, store: StoreId) -> Self {
        match read_handover(storage, store) {
            Ok(Ok(None)) => Hold::None,
            Ok(Ok(Some(handover))) => Hold::Known(handover),
            Ok(Err(damage)) => Hold::Unreadable(Box::new(damage)),
            Err(error) => Hold::Unreadable(Box::new(damaged(error.to_string()))),
        }
    }

    /// Whether a table has the samples of a run with this note.
    pub(crate) fn has(&self, store: StoreId, run: &RunEntry, note: &[u8]) -> bool {
        match self {
            Hold::Known(found) => run.id < found.below || note == found.note(store),
            Hold::None | Hold::Unreadable(_) => false,
        }
    }

    /// Whether a run that no table has is to be kept.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Hold::None => false,
            Hold::Known(found) => found.holds,
            Hold::Unreadable(_) => true,
        }
    }

    /// Whether a run that no table has is not to be replaced by another.
    pub(crate) fn offers(&self, run: &RunEntry) -> bool {
        match self {
            Hold::None => false,
            Hold::Known(found) => run.id < found.offered,
            Hold::Unreadable(_) => true,
        }
    }

    /// Whose notes the runs have that are written by it.
    pub(crate) fn table(&self) -> Option<&[u8; 16]> {
        match self {
            Hold::Known(found) => Some(&found.table),
            Hold::None | Hold::Unreadable(_) => None,
        }
    }
}

/// What is wrong with the file of the store at `path`, without a look at anything else of it.
pub(crate) fn damage_at(path: &Path) -> Option<Damage> {
    let disk = baro_log::open_folder(path).ok()?;
    let identity = baro_log::read_identity(&disk, path).ok()?;
    match Hold::read(&AnyStorage::new(disk), identity.store) {
        Hold::Unreadable(damage) => Some(*damage),
        Hold::None | Hold::Known(_) => None,
    }
}

/// The right to hand a store over, as long as it is held.
#[derive(Debug)]
pub struct HandoverLock {
    _byte: ByteLock,
}

/// Byte of the file `store` that is locked meanwhile.
const HANDOVER_BYTE: u32 = 4;

impl Store {
    /// Takes the right to hand this store over; `None` if another process has it.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn lock_handover(&self) -> Result<Option<HandoverLock>> {
        self.storage.create_folder(RUNS)?;
        let byte = ByteLock::take(self.disk()?, HANDOVER_BYTE)?;
        Ok(byte.map(|byte| HandoverLock { _byte: byte }))
    }

    /// Offers all runs that there are now, and sees the store anew: what is seen stays as it is.
    ///
    /// # Errors
    /// As [`Store::put_handover`].
    pub fn offer(&mut self, handover: &Handover) -> Result<Handover> {
        self.check_settler()?;
        let _lock = self.turn()?;
        self.refresh()?;
        let offered = self.runs.manifest.next_run.max(handover.below);
        let handover = Handover { offered, ..*handover };
        self.put_handover_in(Some(&handover))?;
        Ok(handover)
    }

    fn turn(&self) -> Result<ManifestLock> {
        let mut go_on = |_: &Holding, waited_ns| waited_ns < PATIENCE_NS;
        Ok(ManifestLock::take(self.disk()?, "hands the store over", &mut go_on)?)
    }

    fn check_settler(&self) -> Result<()> {
        self.storage.create_folder(RUNS)?;
        self.storage.sync_folder("")?;
        match ManifestLock::is_foreign(self.disk()?)? {
            true => Err(Error::OldSettler { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    /// Puts down which table has what of this store; `None`: none has, which only a damaged file is worth.
    ///
    /// # Errors
    /// A settler of an earlier version is at work, or the operating system refuses: what was there is there
    /// still.
    pub fn put_handover(&self, handover: Option<&Handover>) -> Result<()> {
        self.check_settler()?;
        let _lock = self.turn()?;
        self.put_handover_in(handover)
    }
}

impl Store {
    /// Which table has what of this store.
    ///
    /// # Errors
    /// The file that says so is damaged, or the operating system refuses.
    pub fn handover(&self) -> Result<Option<Handover>> {
        read_handover(&self.storage, self.identity.store)?
            .map_err(|damage| Error::Handover { damage: Box::new(damage) })
    }

    /// As [`Store::put_handover`], in any storage; the caller sees to it that nobody settles.
    ///
    /// # Errors
    /// As there.
    pub fn put_handover_in(&self, handover: Option<&Handover>) -> Result<()> {
        let storage = &self.storage;
        let remove = |name: &str| match storage.remove(name) {
            Err(error) if !error.is_missing() => Err(error),
            _ => Ok(()),
        };
        let Some(handover) = handover else {
            remove(LAKE)?;
            return Ok(storage.sync_folder(RUNS)?);
        };
        storage.create_folder(RUNS)?;
        storage.sync_folder("")?;
        remove(LAKE_NEXT)?;
        let file = storage.create(LAKE_NEXT)?;
        file.write_at(0, &handover.encode(self.identity.store))?;
        file.sync_data()?;
        storage.rename(LAKE_NEXT, LAKE)?;
        Ok(storage.sync_folder(RUNS)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handover_reads_back_and_every_flipped_bit_is_found() {
        let store = StoreId([7; 16]);
        let handover = Handover { table: [9; 16], below: 1 << 40, offered: 1 << 41, holds: true };
        let bytes = handover.encode(store);
        assert_eq!(Handover::decode(&bytes, store), Ok(handover));
        assert!(Handover::decode(&bytes, StoreId([8; 16])).is_err());
        for at in (0..bytes.len()).filter(|at| *at < 72 || at % 97 == 0) {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                assert!(Handover::decode(&bytes, store).is_err(), "byte {at}, bit {bit}");
            }
        }
        for length in [0, 7, 63, UNIT_BYTES - 1] {
            assert!(Handover::decode(&bytes[..length], store).is_err());
        }
    }
}
