//! The steps in which a journal touches the machine, as a seam.
//!
//! Each method is one step after which a process may be killed; the property test puts a
//! simulated kernel behind it that dies at any of them. Paths of settings are those the user
//! knows; the real machine puts its root before them. Invariant: no other code of this crate
//! touches a file. Test: `src/journal/tests.rs`.

use std::fmt;
use std::path::{Path, PathBuf};

use baro_sys::files;
use baro_sys::lock::LockFile;
use baro_sys::state::StateFolder;

use crate::claim::{Claimed, Claims, Note};
use crate::error::Error;
use crate::owner::Owner;
use crate::text::JOURNAL_BYTES_MAX;

/// The journal's name in its folder.
pub(crate) const JOURNAL: &str = "journal";
/// The name of its lock there, in which its owner says who he is.
pub(crate) const LOCK: &str = "lock";
/// Far more than the kernel puts into a file of settings (a page).
const SETTING_BYTES_MAX: u64 = 64 * 1024;

pub(crate) trait Machine: fmt::Debug + Send {
    /// The text of a setting's file.
    fn read(&self, path: &str) -> Result<String, baro_sys::Error>;
    /// The names in a directory of settings.
    fn list(&self, path: &str) -> Result<Vec<String>, baro_sys::Error>;
    /// Writes a setting's file.
    fn write(&mut self, path: &str, text: &str) -> Result<(), baro_sys::Error>;
    /// The text of the journal, if there is one.
    fn load(&self) -> Result<Option<String>, baro_sys::Error>;
    /// Replaces the journal durably and at once.
    fn save(&mut self, text: &str) -> Result<(), baro_sys::Error>;
    /// Removes the journal durably.
    fn remove(&mut self) -> Result<(), baro_sys::Error>;
    /// Takes the claim on what belongs together: `src/claim.rs`.
    fn claim(&mut self, object: &str) -> Result<Claimed, baro_sys::Error>;
    /// Notes who has a claim that was taken.
    fn note(&mut self, object: &str) -> Result<(), baro_sys::Error>;
    /// Gives a claim back; settings of it may be left in the journal.
    fn release(&mut self, object: &str, left: bool);
    /// What notes tell of owners, this journal's too.
    fn notes(&self) -> Vec<Note>;
    /// The same machine with the journal in another folder; None while somebody has that, or if it is
    /// not there any more.
    fn beside(&self, journal: &Path) -> Option<Box<dyn Machine>>;
    /// The folder of the journal.
    fn folder(&self) -> &Path;
}

/// The files of this machine, or of a fake one below a directory.
#[derive(Debug)]
pub(crate) struct Root(pub(crate) PathBuf);

impl Root {
    fn place(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The text of a file.
    pub(crate) fn read(&self, path: &str) -> Result<String, baro_sys::Error> {
        files::read_text(&self.place(path), SETTING_BYTES_MAX)
    }
}

/// A machine and the folder of its journal, which this process holds.
#[derive(Debug)]
pub(crate) struct Host {
    root: Root,
    folder: StateFolder,
    claims: Claims,
    /// Absolute.
    path: PathBuf,
    _lock: LockFile,
}

impl Host {
    /// Takes the journal in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`Error::Held`], or the operating system's reason.
    pub(crate) fn take(root: &Path, dir: &Path) -> Result<Host, Error> {
        Host::of(root, StateFolder::make_all(dir, 0o700)?)
    }

    fn of(root: &Path, folder: StateFolder) -> Result<Host, Error> {
        let lock = crate::journal::lock(&folder)?;
        // It is only told to others.
        let _ = lock.say(&Owner::own().render());
        folder.clear_temporaries(JOURNAL)?;
        let path = std::path::absolute(folder.path()).unwrap_or_else(|_| folder.path().to_owned());
        let claims = Claims::of(root, &path)?;
        Ok(Host { root: Root(root.to_owned()), folder, claims, path, _lock: lock })
    }

    /// The folder of the journal.
    pub(crate) fn state(&self) -> &StateFolder {
        &self.folder
    }
}

impl Machine for Host {
    fn read(&self, path: &str) -> Result<String, baro_sys::Error> {
        self.root.read(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, baro_sys::Error> {
        files::list(&self.root.place(path))
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), baro_sys::Error> {
        files::write_setting(&self.root.place(path), text)
    }

    fn load(&self) -> Result<Option<String>, baro_sys::Error> {
        self.folder.read_text(JOURNAL, JOURNAL_BYTES_MAX)
    }

    fn save(&mut self, text: &str) -> Result<(), baro_sys::Error> {
        self.folder.replace_durable(JOURNAL, text.as_bytes(), 0o600)
    }

    fn remove(&mut self) -> Result<(), baro_sys::Error> {
        self.folder.remove_durable(JOURNAL)
    }

    fn claim(&mut self, object: &str) -> Result<Claimed, baro_sys::Error> {
        self.claims.take(object)
    }

    fn note(&mut self, object: &str) -> Result<(), baro_sys::Error> {
        self.claims.note(object)
    }

    fn release(&mut self, object: &str, left: bool) {
        self.claims.release(object, left);
    }

    fn notes(&self) -> Vec<Note> {
        self.claims.notes()
    }

    fn beside(&self, journal: &Path) -> Option<Box<dyn Machine>> {
        let host = Host::of(&self.root.0, StateFolder::open(journal).ok()?).ok()?;
        Some(Box::new(host))
    }

    fn folder(&self) -> &Path {
        &self.path
    }
}
