//! How much dirty data one device may have, so that nobody waits long for it to be written.
//!
//! A commit of ext4 may have to write all of it, and a writer at the limit waits for some of it:
//! both waits are as long as the limit is large and the device slow. The kernel's own file for it,
//! `max_bytes`, reads back a value worked out from the memory that happens to be free, so what was
//! found could not be put back; the share behind it (`max_ratio_fine`, millionths of the global
//! limit) can. Without `strict_limit` the share counts only while the whole machine is near its
//! limit.
//!
//! Invariant: nothing but the limit of this one device changes, and undoing restores its exact
//! share. Test: `tests/dirty_limit.rs` on a fake root and on a real device.

use crate::error::Error;
use crate::setting::Setting;
use baro_sys::files;
use std::path::{Path, PathBuf};

/// What counts as the whole in `max_ratio_fine`.
const WHOLE: u64 = 1_000_000;
/// What the kernel counts dirty data in. Other sizes exist, but not on the machines meant here; a
/// larger one makes the limit stricter.
const PAGE_BYTES: u64 = 4096;
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The limit of dirty data of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirtyLimit {
    dir: String,
    /// Share of the machine's limit, in millionths.
    pub share_ppm: u64,
    /// Whether it counts at all times.
    pub strict: bool,
    /// The machine's limit at the moment, bytes.
    pub machine_bytes: u64,
}

impl DirtyLimit {
    /// As it is now for the device `device` ("8:0"), of the machine below `root`.
    ///
    /// # Errors
    /// No such device, or a kernel before 6.2, which has no such limit.
    pub fn read(root: &Path, device: &str) -> Result<Self, Error> {
        let dir = format!("/sys/class/bdi/{device}");
        let text = |path: &str| -> Result<String, Error> {
            let path: PathBuf = root.join(path.trim_start_matches('/'));
            Ok(files::read_text(&path, TEXT_BYTES_MAX)?)
        };
        let number = |path: &str, text: &str| -> Result<u64, Error> {
            text.trim().parse().map_err(|_| Error::Unfit {
                path: path.to_owned(),
                expected: "a number",
                found: text.trim().chars().take(100).collect(),
            })
        };
        let share = format!("{dir}/max_ratio_fine");
        let share_ppm = number(&share, &text(&share)?)?;
        let strict = text(&format!("{dir}/strict_limit"))?.trim() == "1";
        let vmstat = "/proc/vmstat";
        let lines = text(vmstat)?;
        let pages =
            lines.lines().find_map(|line| line.strip_prefix("nr_dirty_threshold ")).unwrap_or("");
        let machine_bytes = number(vmstat, pages)?.saturating_mul(PAGE_BYTES);
        Ok(Self { dir, share_ppm, strict, machine_bytes })
    }

    /// Dirty data that the device may have at the moment, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = u128::from(self.machine_bytes) * u128::from(self.share_ppm) / u128::from(WHOLE);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// What is to be applied for a limit of `bytes` at all times: at least one millionth of the
    /// machine's limit, at most all of it.
    #[must_use]
    pub fn settings(&self, bytes: u64) -> Vec<Setting> {
        let share = u128::from(bytes) * u128::from(WHOLE) / u128::from(self.machine_bytes.max(1));
        let share = u64::try_from(share).unwrap_or(WHOLE).clamp(1, WHOLE);
        vec![
            Setting::new(format!("{}/max_ratio_fine", self.dir), share.to_string()),
            Setting::new(format!("{}/strict_limit", self.dir), "1"),
        ]
    }
}
