//! Paper C's writer: portions of sensor data into many files, as fast as it goes.
//!
//! Round robin over F files: open for appending, write one buffer, close; at L bytes the file is
//! renamed over its predecessor, so that R = 2 are kept. A thousand buffers of pseudo-random bytes
//! in turn, since some SSDs compress. Each file is alone in a folder of a tree, as in the paper, or
//! all lie in one folder, which it found to be 75 % faster.
//!
//! Nothing is synced: what is written is in the page cache until the kernel writes it, so whoever
//! counts what reaches the device keeps the files ([`Files::keep`]) and syncs before counting ends.
//! Beside the paper's greedy load: a sync after each append, a buffer for each file (its full buffer
//! layer), and a given rate ([`Files::run`]).
//!
//! Invariant: the files hold what was reported as written, all of it; everything made is removed
//! unless it is kept. Held by `files_hold_what_was_written_and_are_rotated`.

mod bisection;
mod pace;
mod steady;
#[cfg(test)]
mod tests;

pub use bisection::{Bisection, Trial, bisect};
pub use pace::{Pace, Point, Progress, kept_up};
pub use steady::{Steady, SteadyRule, steady};

use baro_bench::error::BenchError;
use baro_bench::ground;
use baro_sys::{clock, files, identity};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// As many as the paper has: enough that an SSD does not compress them.
const BUFFERS: u64 = 1_000;
/// Fewer than that if they are large.
const BUFFERS_BYTES_MAX: u64 = 256 << 20;
/// The paper's largest number of files.
const FILES_MAX: u64 = 1_000_000;
const BLOCK_BYTES_MAX: u64 = 16 << 20;
/// Longest sleep of a writer with a rate.
const NAP_NS: u64 = 10_000_000;
/// Entries of a folder of the tree.
const FAN_OUT: u64 = 100;

/// What is written. `Default` is the paper's usual cell, F = 10,000 and B = 4 KiB, until stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesSpec {
    /// Number of files (F).
    pub files: u64,
    /// Bytes of a write (B).
    pub block_bytes: u64,
    /// A file of this size or more is renamed before the next write to it (L), in bytes.
    pub file_bytes_max: u64,
    /// All files in one folder.
    pub flat: bool,
    /// Each append is synced before the next begins.
    pub sync: bool,
    /// A buffer of `block_bytes` for each file, filled before each write: what a program needs whose
    /// sensors' data come in small pieces.
    pub layer: bool,
    /// Bytes of pseudo-random data that is written in turn, at least 16 portions of it.
    pub pool_bytes: u64,
    /// Stop after so many nanoseconds.
    pub duration_ns: Option<u64>,
    /// Stop when so many bytes or more are written.
    pub bytes: Option<u64>,
}

impl Default for FilesSpec {
    fn default() -> Self {
        Self {
            files: 10_000,
            block_bytes: 4_096,
            file_bytes_max: u64::MAX,
            flat: false,
            sync: false,
            layer: false,
            pool_bytes: BUFFERS_BYTES_MAX,
            duration_ns: None,
            bytes: None,
        }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesReport {
    /// Bytes that write() took.
    pub written_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Files renamed.
    pub rotations: u64,
    /// From the first open to the last close, in nanoseconds.
    pub duration_ns: u64,
}

/// The writer's folder; removed on drop with all that is in it, unless it is kept.
#[derive(Debug)]
pub struct Files {
    spec: FilesSpec,
    folder: PathBuf,
    buffers: Vec<Vec<u8>>,
    /// One for each file, or none.
    layer: Vec<Vec<u8>>,
    /// Writes so far, over all runs.
    position: u64,
    kept: bool,
}

impl Files {
    /// Makes the folder `baro-files-PID` below `dir`, the tree in it, and the buffers.
    ///
    /// # Errors
    /// A number is of no use, or the folders cannot be made.
    pub fn prepare(spec: FilesSpec, dir: &Path) -> Result<Self, BenchError> {
        Self::prepare_in(
            spec,
            ground::place(dir)?.join(format!("baro-files-{}", std::process::id())),
        )
    }

    /// The same in a folder of this name, which is made.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_in(spec: FilesSpec, folder: PathBuf) -> Result<Self, BenchError> {
        for (field, found, max, expected) in [
            ("files", spec.files, FILES_MAX, "1 to 1,000,000"),
            ("block_bytes", spec.block_bytes, BLOCK_BYTES_MAX, "1 byte to 16 MiB"),
            ("file_bytes_max", spec.file_bytes_max, u64::MAX, "at least 1 byte"),
        ] {
            if found == 0 || found > max {
                return Err(BenchError::Specification { field, found, expected });
            }
        }
        let make = |path: &Path| {
            files::make_folder(path).map_err(BenchError::file("make the directory", path))
        };
        make(&folder)?;
        // From here on it is removed if something fails.
        let seed = identity::random_u64().map_err(BenchError::System)?;
        let count = (spec.pool_bytes / spec.block_bytes).clamp(16, BUFFERS) as usize;
        let length = spec.block_bytes as usize;
        let buffers = (0..count).map(|index| buffer(length, seed ^ index as u64)).collect();
        // Not zeroes, which would have no memory before they are written to.
        let layered = if spec.layer { spec.files } else { 0 };
        let layer = (0..layered).map(|_| vec![0xa5; length]).collect();
        let files = Self { spec, folder, buffers, layer, position: 0, kept: false };
        if !spec.flat {
            for file in 0..spec.files {
                for parent in files.parents(file) {
                    make(&parent)?;
                }
            }
        }
        Ok(files)
    }

    /// The folders that are to be made before that of this file, and that: only the first file below
    /// a folder makes it.
    fn parents(&self, file: u64) -> Vec<PathBuf> {
        let leaf = self.leaf(file);
        let mut parents = vec![leaf.clone()];
        if file.is_multiple_of(FAN_OUT) {
            parents.extend(leaf.parent().map(Path::to_path_buf));
        }
        if file.is_multiple_of(FAN_OUT * FAN_OUT) {
            parents.extend(leaf.parent().and_then(Path::parent).map(Path::to_path_buf));
        }
        parents.reverse();
        parents
    }

    /// The folder of a file.
    fn leaf(&self, file: u64) -> PathBuf {
        if self.spec.flat {
            return self.folder.clone();
        }
        let part = |divisor: u64| format!("{:02}", file / divisor % FAN_OUT);
        self.folder.join(part(FAN_OUT * FAN_OUT)).join(part(FAN_OUT)).join(part(1))
    }

    /// The file that is written, and what it becomes.
    fn paths(&self, file: u64) -> (PathBuf, PathBuf) {
        let leaf = self.leaf(file);
        if self.spec.flat {
            (leaf.join(format!("{file:06}")), leaf.join(format!("{file:06}.old")))
        } else {
            (leaf.join("current"), leaf.join("current.old"))
        }
    }

    /// Writes until `stop`, the time or the bytes of the specification. Blocks as the file system
    /// does, in single calls of any length.
    ///
    /// # Errors
    /// Those of the files: a full disk too.
    pub fn write(&mut self, stop: &AtomicBool) -> Result<FilesReport, BenchError> {
        self.run(Pace::GREEDY, &Progress::default(), stop)
    }

    /// The same, no faster than `pace`, going on with the file behind the last one; `progress` says
    /// at any time how far it is.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn run(
        &mut self,
        pace: Pace,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> Result<FilesReport, BenchError> {
        let begin_ns = clock::monotonic_ns();
        let mut report = FilesReport::default();
        let end_ns = self.spec.duration_ns.map(|duration_ns| begin_ns.saturating_add(duration_ns));
        loop {
            let now_ns = clock::monotonic_ns();
            report.duration_ns = now_ns.saturating_sub(begin_ns);
            let enough = self.spec.bytes.is_some_and(|bytes| report.written_bytes >= bytes);
            if enough || stop.load(Relaxed) || end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
                break;
            }
            let portion_ns = pace.due_ns(report.written_bytes + self.spec.block_bytes);
            if portion_ns > report.duration_ns {
                // In short naps, to be stopped soon.
                clock::sleep_ns((portion_ns - report.duration_ns).min(NAP_NS));
                continue;
            }
            self.append(&mut report)?;
            progress.set(&report);
        }
        Ok(report)
    }

    fn append(&mut self, report: &mut FilesReport) -> Result<(), BenchError> {
        let number = self.position;
        self.position += 1;
        let file = number % self.spec.files;
        let (current, old) = self.paths(file);
        let (current, old) = (current.as_path(), old.as_path());
        let data = self.buffers.get((number % self.buffers.len() as u64) as usize);
        let mut data: &[u8] = data.map_or(&[], Vec::as_slice);
        if let Some(buffer) = self.layer.get_mut(file as usize) {
            buffer.copy_from_slice(data);
            data = buffer;
        }
        let open = || files::open_append(current).map_err(BenchError::file("open", current));
        let mut file = open()?;
        let length = file.metadata().map_err(BenchError::file("look at", current))?.len();
        if length >= self.spec.file_bytes_max {
            drop(file);
            files::rename(current, old).map_err(BenchError::file("rename", current))?;
            report.rotations += 1;
            file = open()?;
        }
        file.write_all(data).map_err(BenchError::file("write to", current))?;
        if self.spec.sync {
            file.sync_all().map_err(BenchError::file("sync", current))?;
        }
        report.written_bytes += data.len() as u64;
        report.writes += 1;
        Ok(())
    }

    /// The folder with the files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Leaves the files where they are.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if !self.kept {
            let _ = baro_sys::files::remove_tree(&self.folder);
        }
    }
}

/// Pseudo-random bytes (splitmix64).
fn buffer(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((mixed ^ mixed >> 31).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
