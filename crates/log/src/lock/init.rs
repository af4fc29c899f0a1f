//! Who makes a store: one process at a time looks what is in a folder, removes what a killed one left, and
//! writes. Without that the second one takes the first one's files for such rests.
//!
//! The lock is the file `lock`, which a recorder takes too. So nobody records into a store before it is
//! whole and whoever made it is done. The file stays where making fails: if it were removed, who waits for
//! it and who makes it anew would both have it.
//!
//! Invariant: what a process has made in a folder, no other one that makes a store removes. Held by
//! `of_several_who_make_a_store_one_does` and, through real processes, the command line's `tests/turns.rs`.

use crate::names::LOCK;
use crate::{Error, Result};
use baro_sys::lock::LockFile;
use baro_sys::storage::Storage;
use std::path::Path;

/// The right to make a store in a folder, held until it is dropped.
#[derive(Debug)]
pub struct InitLock {
    /// None where no other process can be.
    _named: Option<LockFile>,
}

impl InitLock {
    /// Takes it, at once or not at all. `path` names the folder in errors.
    ///
    /// # Errors
    /// [`Error::Making`] if another process has it, or the operating system's reason.
    pub fn take<S: Storage>(storage: &S, path: &Path) -> Result<Self> {
        let named = storage.lock_file(LOCK)?.transpose();
        let named =
            named.map_err(|holder| Error::Making { path: path.to_owned(), pid: holder.pid })?;
        Ok(InitLock { _named: named })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Geometry, IDENTITY, init, init_held};
    use baro_ondisk::{StoreId, WhenFull};
    use baro_sys::disk::Disk;

    #[test]
    fn of_several_who_make_a_store_one_does() {
        let path = std::env::temp_dir().join(format!("baro-init-{}", std::process::id()));
        let disk = Disk::create(&path).unwrap();
        let geometry = Geometry::for_log(2 << 20, WhenFull::Stop).unwrap();
        let make = || init(&disk, &path, StoreId([1; 16]), 1, &geometry, |_| {});
        // What a killed one left; and the one who is at it.
        disk.create_folder("log").unwrap();
        disk.create("log/00000007.seg").unwrap();
        let lock = InitLock::take(&disk, &path).unwrap();
        let said = make().unwrap_err().to_string();
        assert!(said.contains(&format!("process {}, which does", std::process::id())), "{said}");
        assert_eq!(disk.list("log").unwrap(), ["00000007.seg"]);
        assert!(disk.found(IDENTITY).is_err());
        let made = init_held(&lock, &disk, &path, StoreId([2; 16]), 1, &geometry, (0, |_| {}));
        assert_eq!(made.unwrap().store, StoreId([2; 16]));
        // Whole, and its maker is not done yet: as when he records.
        assert!(matches!(make(), Err(Error::Exists { .. })));
        drop(lock);
        assert!(matches!(make(), Err(Error::Exists { .. })));
        assert_eq!(disk.list("log").unwrap(), ["00000000.seg", "00000001.seg"]);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
