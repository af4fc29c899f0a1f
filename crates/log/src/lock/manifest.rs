//! Who may replace the manifest: who settles and who deletes take turns.
//!
//! A turn is short, but who has it may be stopped, or wait for its disk, for as long as that takes. So who
//! waits is told for whom, and decides how long: a thread until it is ended, a command until a signal.
//!
//! Invariants: nobody waits for a turn without being asked whether to go on; a turn has one holder. Held by
//! `who_waits_for_a_turn_is_told_for_whom_and_may_give_up`.

use super::{ByteLock, Role, StoreLock};
use crate::names::MANIFEST_LOCK;
use crate::{Error, IDENTITY, Result};
use baro_sys::clock;
use baro_sys::disk::{Disk, PartAttempt, PartLock};
use baro_sys::lock::LockFile;
use std::fmt;

/// Byte of the file `store` that is held while the manifest is replaced.
const MANIFEST_BYTE: u32 = 2;
/// Held as long as it settles by who looks at [`MANIFEST_BYTE`], and so does not lose deletions.
const KNOWING_BYTE: u32 = 3;
const WAIT_NS: u64 = 10_000_000;

/// Who has the turn that somebody waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The process, if known.
    pub pid: Option<u32>,
    /// What it does, as it says.
    pub doing: Option<String>,
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("another process")?,
        }
        write!(f, ", which {}", self.doing.as_deref().unwrap_or("settles or deletes"))
    }
}

/// The right to replace the manifest.
#[derive(Debug)]
pub struct ManifestLock {
    _named: LockFile,
    /// None while a reader of the store keeps it locked.
    _part: Option<PartLock>,
}

/// Says, as long as it is held, that who settles knows deletions.
#[derive(Debug)]
pub struct KnowingLock {
    _byte: ByteLock,
}

impl ManifestLock {
    /// Takes it. As long as another process has it `go_on` is asked, a hundred times a second, with who that
    /// is and for how many nanoseconds it has been waited for. Others are told what is done: "deletes". The
    /// folder of the runs must be there.
    ///
    /// # Errors
    /// [`Error::Locked`] if `go_on` says no, or the operating system's reason.
    pub fn take(
        disk: &Disk,
        doing: &str,
        go_on: &mut dyn FnMut(&Holding, u64) -> bool,
    ) -> Result<Self> {
        let since_ns = clock::monotonic_ns();
        loop {
            let holding = match Self::attempt(disk, doing)? {
                Ok(lock) => return Ok(lock),
                Err(holding) => holding,
            };
            if !go_on(&holding, clock::monotonic_ns().saturating_sub(since_ns)) {
                let Holding { pid, doing } = holding;
                return Err(Error::Locked { pid, doing });
            }
            clock::sleep_ns(WAIT_NS);
        }
    }

    fn attempt(disk: &Disk, doing: &str) -> Result<std::result::Result<Self, Holding>> {
        let named = match disk.lock(MANIFEST_LOCK)? {
            Ok(named) => named,
            Err(holder) => {
                let doing = disk.lock_said(MANIFEST_LOCK)?;
                return Ok(Err(Holding { pid: holder.pid, doing }));
            }
        };
        let part = match disk.try_part(IDENTITY, MANIFEST_BYTE)? {
            // By a version that has no lock of that name.
            PartAttempt::Held => return Ok(Err(Holding::default())),
            PartAttempt::Read => None,
            PartAttempt::Taken(part) => Some(part),
        };
        named.say(doing)?;
        Ok(Ok(ManifestLock { _named: named, _part: part }))
    }

    /// Says, as long as it is held, that who settles knows deletions. `None` if somebody says so.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn know(disk: &Disk) -> Result<Option<KnowingLock>> {
        Ok(ByteLock::take(disk, KNOWING_BYTE)?.map(|byte| KnowingLock { _byte: byte }))
    }

    /// Whether somebody settles who does not know deletions.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn is_foreign(disk: &Disk) -> Result<bool> {
        // Twice: a settler takes its lock and then says what it knows.
        for again in [true, false] {
            let settles = StoreLock::holder(disk, Role::Settling)?.is_some();
            if !settles || ByteLock::is_held(disk, KNOWING_BYTE)? {
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
    fn who_waits_for_a_turn_is_told_for_whom_and_may_give_up() {
        let path = std::env::temp_dir().join(format!("baro-turn-{}", std::process::id()));
        let disk = Disk::create(&path).unwrap();
        disk.create(IDENTITY).unwrap();
        disk.create_folder("runs").unwrap();
        let held = ManifestLock::take(&disk, "deletes", &mut |_, _| false).unwrap();
        let me = Holding { pid: Some(std::process::id()), doing: Some("deletes".to_owned()) };
        let mut asked = Vec::new();
        let gave_up = ManifestLock::take(&disk, "settles", &mut |holding, _| {
            asked.push(holding.clone());
            asked.len() < 3
        });
        assert_eq!(asked, [me.clone(), me.clone(), me]);
        let said = gave_up.unwrap_err().to_string();
        assert!(
            said.contains(&format!("process {}, which deletes;", std::process::id())),
            "{said}"
        );
        // Whoever has it gives it back while it is waited for.
        let mut held = Some(held);
        let turn = ManifestLock::take(&disk, "settles", &mut |_, _| held.take().is_some());
        drop(turn.unwrap());
        // As versions that have no lock of that name hold it.
        let part = disk.lock_part(IDENTITY, MANIFEST_BYTE).unwrap().unwrap();
        let said = ManifestLock::take(&disk, "settles", &mut |_, _| false).unwrap_err().to_string();
        assert!(said.contains("another process, which settles or deletes;"), "{said}");
        drop(part);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
