//! The steps in which a journal touches the machine, as a seam.
//!
//! Each method is one step after which a process may be killed; the property test puts a
//! simulated kernel behind it that dies at any of them. Paths of settings are those the user
//! knows; the real machine puts its root before them. Invariant: no other code of this crate
//! touches a file, but for the lock. Test: `src/journal/tests.rs`.

use std::fmt;
use std::path::PathBuf;

use baro_sys::files;
use baro_sys::state::StateFolder;

use crate::text::JOURNAL_BYTES_MAX;

/// The journal's name in its folder.
pub(crate) const JOURNAL: &str = "journal";
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

/// A machine and the folder of its journal.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) root: Root,
    pub(crate) folder: StateFolder,
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
}
