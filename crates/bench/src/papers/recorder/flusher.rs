//! The kernel's flusher, turned off as in the paper: dirty data may fill memory and lie for 3,000
//! seconds. Settings of the whole machine, journalled and undone.

use crate::error::BenchError;
use baro_command::say;
use baro_tune::{Journal, OnConflict, Options, Setting};

/// As in section 4.2: at 100 per cent of memory, or after 3,000 seconds.
const SETTINGS: [(&str, &str); 3] = [
    ("/proc/sys/vm/dirty_ratio", "100"),
    ("/proc/sys/vm/dirty_background_ratio", "100"),
    ("/proc/sys/vm/dirty_expire_centisecs", "300000"),
];

/// The flusher is off while this lives.
#[derive(Debug)]
pub(super) struct FlusherOff(Journal);

impl FlusherOff {
    /// Turns it off; first puts back what a killed run left.
    ///
    /// # Errors
    /// No root, or another Barograph holds the machine's settings.
    pub(super) fn set() -> Result<Self, BenchError> {
        let (mut journal, report) =
            Journal::open(&Options::default()).map_err(BenchError::Settings)?;
        if !report.settings.is_empty() {
            say!("bench: {report}");
        }
        for (path, value) in SETTINGS {
            journal.apply(&Setting::new(path, value)).map_err(BenchError::Settings)?;
        }
        Ok(Self(journal))
    }
}

impl Drop for FlusherOff {
    fn drop(&mut self) {
        let report = self.0.undo_all(OnConflict::Leave);
        if !report.is_clean() {
            say!("bench: {report}");
        }
    }
}
