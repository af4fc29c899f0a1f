//! Who may write: one process records into a store, one settles it.
//!
//! Two locks for each. The files `lock` and `runs/lock` name the process, and are what versions before
//! 0.2 take; but they can be removed while they are held. So a byte of the file `store` is locked too,
//! without which there is no store.
//!
//! Invariant: whatever is removed beside the file `store`, a store has one recorder and one settler.
//! Held by `a_removed_lock_lets_nobody_else_in` (the recorder's `tests/record.rs`) and
//! `the_file_store_is_locked_with_the_named_lock`.

use super::{IDENTITY, LOCK, RUNS_LOCK, open_folder};
use crate::Result;
use baro_sys::clock;
use baro_sys::disk::{Disk, PartLock};
use baro_sys::lock::{Holder, LockFile};
use std::path::Path;

/// What a process does that only one may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writing the log.
    Recording,
    /// Writing runs.
    Settling,
}

impl Role {
    /// The file that names the process.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Role::Recording => LOCK,
            Role::Settling => RUNS_LOCK,
        }
    }

    /// The byte of the file `store`.
    fn byte(self) -> u32 {
        match self {
            Role::Recording => 0,
            Role::Settling => 1,
        }
    }
}

/// A role in a store, held until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    named: LockFile,
    _part: PartLock,
}

impl StoreLock {
    /// Takes a role in the store in `disk`; the inner error names the process that has it.
    ///
    /// # Errors
    /// The file `store` is not there, or the operating system's reason.
    pub fn take(disk: &Disk, role: Role) -> Result<std::result::Result<Self, Holder>> {
        let Some(part) = disk.lock_part(IDENTITY, role.byte())? else {
            let named = disk.lock_holder(role.file())?;
            return Ok(Err(named.unwrap_or(Holder { pid: None })));
        };
        let named = disk.lock(role.file())?;
        Ok(named.map(|named| StoreLock { named, _part: part }))
    }

    /// Who has a role; `None` if nobody has.
    ///
    /// # Errors
    /// A lock is no file, or the operating system's reason.
    pub fn holder(disk: &Disk, role: Role) -> Result<Option<Holder>> {
        if let Some(named) = disk.lock_holder(role.file())? {
            return Ok(Some(named));
        }
        let held = disk.is_part_locked(IDENTITY, role.byte())?;
        Ok(held.then_some(Holder { pid: None }))
    }

    /// The same of the store at `path`.
    ///
    /// # Errors
    /// As [`StoreLock::holder`], or it is no folder.
    pub fn holder_at(path: &Path, role: Role) -> Result<Option<Holder>> {
        StoreLock::holder(&open_folder(path)?, role)
    }

    /// What the holder of a role in the store at `path` has said last.
    ///
    /// # Errors
    /// As [`StoreLock::holder_at`].
    pub fn said_at(path: &Path, role: Role) -> Result<Option<String>> {
        Ok(open_folder(path)?.lock_said(role.file())?)
    }

    /// Lets others know something: see [`LockFile::say`].
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn say(&self, line: &str) -> Result<()> {
        Ok(self.named.say(line)?)
    }
}

/// Byte of the file `store` that is held while the manifest is replaced.
const MANIFEST_BYTE: u32 = 2;
/// Held as long as it settles by who looks at [`MANIFEST_BYTE`], and so does not lose deletions.
const KNOWING_BYTE: u32 = 3;
/// Somebody who counts what is deleted holds the lock a while.
const WAITS: u32 = 3_000;
const WAIT_NS: u64 = 10_000_000;

/// The right to replace the manifest: who settles and who deletes take turns.
#[derive(Debug)]
pub struct ManifestLock {
    _part: PartLock,
}

impl ManifestLock {
    /// Takes it, and waits for half a minute if another process has it.
    ///
    /// # Errors
    /// Another process keeps it, or the operating system's reason.
    pub fn take(disk: &Disk) -> Result<Self> {
        for _ in 0..WAITS {
            if let Some(part) = disk.lock_part(IDENTITY, MANIFEST_BYTE)? {
                return Ok(ManifestLock { _part: part });
            }
            clock::sleep_ns(WAIT_NS);
        }
        let held = std::io::Error::new(
            std::io::ErrorKind::WouldBlock,
            "another process that settles or deletes keeps it locked",
        );
        Err(baro_sys::Error::new("replace", super::MANIFEST, held).into())
    }

    /// Says, as long as it is held, that who settles knows deletions. `None` if somebody says so.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn know(disk: &Disk) -> Result<Option<PartLock>> {
        Ok(disk.lock_part(IDENTITY, KNOWING_BYTE)?)
    }

    /// Whether somebody settles who does not know deletions.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn is_foreign(disk: &Disk) -> Result<bool> {
        // Twice: a settler takes its lock and then says what it knows.
        for again in [true, false] {
            let settles = StoreLock::holder(disk, Role::Settling)?.is_some();
            if !settles || disk.is_part_locked(IDENTITY, KNOWING_BYTE)? {
                return Ok(false);
            }
            if again {
                clock::sleep_ns(10 * WAIT_NS);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_sys::storage::Storage as _;

    #[test]
    fn the_file_store_is_locked_with_the_named_lock() {
        let path = std::env::temp_dir().join(format!("baro-store-lock-{}", std::process::id()));
        let disk = Disk::create(&path).unwrap();
        assert!(StoreLock::take(&disk, Role::Recording).is_err(), "no store");
        disk.create(IDENTITY).unwrap();
        disk.create_folder("runs").unwrap();
        for role in [Role::Recording, Role::Settling] {
            let me = Some(Holder { pid: Some(std::process::id()) });
            let nobody = Some(Holder { pid: None });
            assert_eq!(StoreLock::holder(&disk, role).unwrap(), None);
            let held = StoreLock::take(&disk, role).unwrap().unwrap();
            assert_eq!(StoreLock::take(&disk, role).unwrap().err(), me);
            assert_eq!(StoreLock::holder_at(&path, role).unwrap(), me);
            held.say("full").unwrap();
            assert_eq!(StoreLock::said_at(&path, role).unwrap().as_deref(), Some("full"));
            disk.remove(role.file()).unwrap();
            assert_eq!(StoreLock::holder(&disk, role).unwrap(), nobody);
            assert_eq!(StoreLock::take(&disk, role).unwrap().err(), nobody);
            drop(held);
            // As versions before 0.2 hold it.
            let old = LockFile::take(&path.join(role.file())).unwrap().unwrap();
            assert_eq!(StoreLock::take(&disk, role).unwrap().err(), me);
            drop(old);
            assert!(StoreLock::take(&disk, role).unwrap().is_ok());
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
}
