//! The steps in which a journal touches the machine, as a seam.
//!
//! Each method is one step after which a process may be killed; the property test puts a
//! simulated kernel behind it that dies at any of them. Paths of settings are those the user
//! knows; the real machine puts its root before them. Invariant: no other code of this crate
//! touches a file, but for the lock. Test: `src/journal/tests.rs`.

use std::fmt;
use std::path::{Path, PathBuf};

use baro_sys::files;

use crate::text::JOURNAL_BYTES_MAX;

/// Far more than the kernel puts into a file of settings (a page).
const SETTING_BYTES_MAX: u64 = 64 * 1024;

pub(crate) trait Machine: fmt::Debug + Send {
    /// The text of a setting's file.
    fn read(&self, path: &str) -> Result<String, baro_sys::Error>;
    /// The names in a directory of settings.
    fn list(&self, path: &str) -> Result<Vec<String>, baro_sys::Error>;
    /// Writes a setting's file.
    fn write(&mut self, path: &str, text: &str) -> Result<(), baro_sys::Error>;
    /// The text of the journal.
    fn load(&self, journal: &Path) -> Result<String, baro_sys::Error>;
    /// Replaces the journal durably and at once.
    fn save(&mut self, journal: &Path, text: &str) -> Result<(), baro_sys::Error>;
    /// Removes the journal durably.
    fn remove(&mut self, journal: &Path) -> Result<(), baro_sys::Error>;
}

/// This machine, or a fake one below a directory.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) root: PathBuf,
}

impl Host {
    fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

impl Machine for Host {
    fn read(&self, path: &str) -> Result<String, baro_sys::Error> {
        files::read_text(&self.place(path), SETTING_BYTES_MAX)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, baro_sys::Error> {
        files::list(&self.place(path))
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), baro_sys::Error> {
        files::write_setting(&self.place(path), text)
    }

    fn load(&self, journal: &Path) -> Result<String, baro_sys::Error> {
        files::read_text(journal, JOURNAL_BYTES_MAX)
    }

    fn save(&mut self, journal: &Path, text: &str) -> Result<(), baro_sys::Error> {
        files::write_durable(journal, text.as_bytes())
    }

    fn remove(&mut self, journal: &Path) -> Result<(), baro_sys::Error> {
        files::remove_durable(journal)
    }
}
