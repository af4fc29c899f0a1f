//! Who may write: one process records into a store, one settles it.
//!
//! Two locks for each. The files `lock` and `runs/lock` name the process, and are what versions before
//! 0.2 take; but they can be removed while they are held. So a byte of the file `store` is locked too,
//! without which there is no store.
//!
//! Whoever may read a file may hold a *read* lock on it, and so keep out a write lock, which is what
//! Barograph takes. The file `store` is readable by all who may read the store. The named files are not:
//! whoever may not write them may not read them (`LockFile`). So a read lock on a byte of `store` is passed
//! over by who has the named lock. It costs two things. Such a reader does not see which process records.
//! And while he holds that lock, and only then, a named file that is removed lets a second process in; the
//! recorder finds the other's blocks before it starts a segment, and stops.
//!
//! Invariant: whatever is removed beside the file `store`, a store has one recorder and one settler,
//! and nobody who may only read it holds them up. Held by `a_removed_lock_lets_nobody_else_in` (the
//! recorder's `tests/record.rs`), `the_file_store_is_locked_with_the_named_lock` and
//! `a_reader_who_locks_the_store_holds_nobody_up`.

mod init;
mod manifest;

pub use init::InitLock;
pub use manifest::{Holding, KnowingLock, ManifestLock};

use super::names::MANIFEST_LOCK;
use super::{IDENTITY, LOCK, RUNS_LOCK, open_folder};
use crate::Result;
use baro_sys::disk::{Disk, PartAttempt, PartLock};
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
    #[must_use]
    pub fn byte(self) -> u32 {
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
    /// None while a reader of the store keeps it locked.
    _part: Option<PartLock>,
}

impl StoreLock {
    /// Takes a role in the store in `disk`; the inner error names the process that has it.
    ///
    /// # Errors
    /// The file `store` is not there, or the operating system's reason.
    pub fn take(disk: &Disk, role: Role) -> Result<std::result::Result<Self, Holder>> {
        let part = match disk.try_part(IDENTITY, role.byte())? {
            PartAttempt::Taken(part) => Some(part),
            PartAttempt::Read => None,
            PartAttempt::Held => {
                let named = disk.lock_holder(role.file())?;
                return Ok(Err(named.unwrap_or(Holder { pid: None })));
            }
        };
        let named = disk.lock(role.file())?;
        Ok(named.map(|named| StoreLock { named, _part: part }))
    }

    /// The same for one who has time: who has it may have it for a moment only, to make a pin. Waits up to a
    /// third of a second.
    ///
    /// # Errors
    /// As [`StoreLock::take`].
    pub fn take_soon(disk: &Disk, role: Role) -> Result<std::result::Result<Self, Holder>> {
        for _ in 0..8 {
            if let Ok(lock) = StoreLock::take(disk, role)? {
                return Ok(Ok(lock));
            }
            baro_sys::clock::sleep_ns(40_000_000);
        }
        StoreLock::take(disk, role)
    }

    /// Who has a role; `None` if nobody has.
    ///
    /// # Errors
    /// A lock is no file, or the operating system's reason.
    pub fn holder(disk: &Disk, role: Role) -> Result<Option<Holder>> {
        match disk.lock_holder(role.file()) {
            // Who may only read the store sees that somebody has it, and not who.
            Err(error) if error.is_refused() => {}
            named => {
                if let Some(named) = named? {
                    return Ok(Some(named));
                }
            }
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

    /// What the holder of a role in the store at `path` has said last; `None` too for who may not read that.
    ///
    /// # Errors
    /// As [`StoreLock::holder_at`].
    pub fn said_at(path: &Path, role: Role) -> Result<Option<String>> {
        match open_folder(path)?.lock_said(role.file()) {
            Err(error) if error.is_refused() => Ok(None),
            said => Ok(said?),
        }
    }

    /// Lets others know something: see [`LockFile::say`].
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn say(&self, line: &str) -> Result<()> {
        Ok(self.named.say(line)?)
    }
}

/// A right for which there is no file of its own: a byte of the file `store`, and the same one of a file
/// that nobody may read who may not write it.
#[derive(Debug)]
pub struct ByteLock {
    _private: PartLock,
    _part: Option<PartLock>,
}

impl ByteLock {
    /// Takes byte `byte`; `None` if another process has it. The folder of the runs must be there.
    ///
    /// # Errors
    /// The operating system's reason; somebody has a read lock on the private file.
    pub fn take(disk: &Disk, byte: u32) -> Result<Option<Self>> {
        let Some(private) = disk.lock_private_part(MANIFEST_LOCK, byte)? else { return Ok(None) };
        Ok(match disk.try_part(IDENTITY, byte)? {
            PartAttempt::Held => None,
            PartAttempt::Read => Some(ByteLock { _private: private, _part: None }),
            PartAttempt::Taken(part) => Some(ByteLock { _private: private, _part: Some(part) }),
        })
    }

    /// Whether somebody, this process too, has byte `byte`.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn is_held(disk: &Disk, byte: u32) -> Result<bool> {
        Ok(disk.is_part_locked(IDENTITY, byte)? || disk.is_part_locked(MANIFEST_LOCK, byte)?)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test, of files as others meet them")]
mod tests {
    use super::*;
    use baro_sys::storage::Storage as _;
    use std::os::unix::fs::PermissionsExt as _;

    /// A read lock on all of a file, which asks for no more than the right to read it.
    fn read_lock(path: &Path) -> std::fs::File {
        let file = std::fs::File::open(path).unwrap();
        baro_sys::lock::lock_as_reader(&file).unwrap();
        file
    }

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

    /// Bytes of `store` locked by who may only read it: a recorder, a settler and who deletes go on, and are
    /// seen by each other. The named files are not for such readers.
    #[test]
    fn a_reader_who_locks_the_store_holds_nobody_up() {
        let path = std::env::temp_dir().join(format!("baro-read-store-{}", std::process::id()));
        let disk = Disk::create(&path).unwrap();
        disk.create(IDENTITY).unwrap();
        disk.create_folder("runs").unwrap();
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(path.join(IDENTITY), open.clone()).unwrap();
        let reader = read_lock(&path.join(IDENTITY));
        let me = Some(Holder { pid: Some(std::process::id()) });
        for role in [Role::Recording, Role::Settling] {
            assert_eq!(StoreLock::holder(&disk, role).unwrap(), None);
            let held = StoreLock::take(&disk, role).unwrap().unwrap();
            assert_eq!(StoreLock::holder(&disk, role).unwrap(), me);
            assert_eq!(StoreLock::take(&disk, role).unwrap().err(), me);
            let mode = std::fs::metadata(path.join(role.file())).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            drop(held);
            // Opened to all since, and locked by one of them.
            std::fs::set_permissions(path.join(role.file()), open.clone()).unwrap();
            let named = read_lock(&path.join(role.file()));
            let refused = StoreLock::take(&disk, role).unwrap_err().to_string();
            assert!(refused.contains("found a read lock"), "{refused}");
            drop(named);
        }
        let settler = StoreLock::take(&disk, Role::Settling).unwrap().unwrap();
        assert!(ManifestLock::is_foreign(&disk).unwrap());
        let knowing = ManifestLock::know(&disk).unwrap().unwrap();
        assert!(!ManifestLock::is_foreign(&disk).unwrap());
        assert!(ManifestLock::know(&disk).unwrap().is_none());
        let turn = ManifestLock::take(&disk, "settles", &mut |_, _| false).unwrap();
        assert!(ManifestLock::take(&disk, "deletes", &mut |_, _| false).is_err());
        drop((turn, knowing, settler, reader));
        std::fs::remove_dir_all(&path).unwrap();
    }
}
