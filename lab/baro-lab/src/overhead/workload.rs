//! The work: files with data, or without.
//!
//! Invariant: what is reported was done whole: each file has its bytes, and all of it is on the
//! device at the end. Held by `files_are_made_and_pairs_alternate` in `tests/overhead.rs`.

use baro_bench::error::BenchError;
use baro_sys::{files, footprint};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const MIB: u64 = 1 << 20;
/// Files of a folder: what a person might have there.
const IN_FOLDER: u64 = 10_000;

/// Which, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// So many files of 1 MiB, written at once, then a sync of the file system.
    Files1m(u64),
    /// So many files without a byte.
    FilesEmpty(u64),
}

impl Workload {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Files1m(_) => "files-1m",
            Self::FilesEmpty(_) => "files-empty",
        }
    }

    /// Files that are made.
    #[must_use]
    pub fn files(self) -> u64 {
        match self {
            Self::Files1m(files) | Self::FilesEmpty(files) => files,
        }
    }

    /// Size of a file system with room for it: 400,000 inodes, a journal of 64 MiB, the data.
    pub(super) fn image_bytes(self) -> u64 {
        400 * MIB
            + match self {
                Self::Files1m(files) => files * MIB,
                Self::FilesEmpty(_) => 0,
            }
    }

    pub(super) fn run(self, dir: &Path, stop: &AtomicBool) -> Result<(), BenchError> {
        let data = match self {
            Self::Files1m(_) => vec![7; MIB as usize],
            Self::FilesEmpty(_) => Vec::new(),
        };
        let mut folder = dir.to_path_buf();
        for number in 0..self.files() {
            if stop.load(Relaxed) {
                return Err(BenchError::Refused("told to end".to_owned()));
            }
            if number.is_multiple_of(IN_FOLDER) {
                folder = dir.join(format!("folder-{}", number / IN_FOLDER));
                files::make_folder(&folder)
                    .map_err(BenchError::file("make the folder", &folder))?;
            }
            let path = folder.join(number.to_string());
            let file = files::create(&path).map_err(BenchError::file("make", &path))?;
            if !data.is_empty() {
                files::write_at(&file, &data, 0).map_err(BenchError::file("write", &path))?;
            }
        }
        Ok(footprint::sync_file_system(dir)?)
    }
}
