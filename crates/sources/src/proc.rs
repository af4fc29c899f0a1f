//! This machine's kernel counters, up to a thousand times a second.
//!
//! [`ProcSampler::open`] reads each selected file once and fixes the list of series; after that
//! [`ProcSampler::sample`] re-reads the open files (pread) into a buffer made at open and cuts the
//! numbers out by hand. A sampler that is to show why a machine stalls must not itself be a load,
//! so it opens nothing, looks up nothing by name and allocates nothing per sample; a text that
//! outgrew its buffer makes it grow once, which is counted. Files differ tenfold in cost, so each
//! has its own divisor of the tick ([`ProcSelection`]).
//!
//! What the numbers cannot show: processor time moves in steps of 10 ms; the kernel folds the
//! per-CPU parts of vmstat's and meminfo's levels (`nr_*`, `mem_dirty_bytes`) only once a second
//! or when they pass a threshold, while event counters (`vm_pgfault`) are exact at once.
//!
//! Invariants: series never change after open, and a device that comes later is counted and
//! ignored; one sample gives each series at most one value; an unreadable file costs its own
//! values only. Held by `tests.rs`.

mod names;
mod plan;
mod source;
mod text;

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use baro_sys::procfile::ProcFile;

use plan::Plan;
pub use source::{ProcSelection, ProcSource};

/// Most series a sampler has: a server of 1,024 CPUs and 1,000 disks stays below, a hostile root
/// does not get further.
const SERIES_MAX: usize = 65_536;
/// The longest text that is read. /proc/stat of big servers has some 100 KB.
const FILE_BYTES_MAX: usize = 4 << 20;

/// One series of a sampler. Every value is an `i64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesSpec {
    /// Name in Prometheus form, such as `disk_sectors_written{device="vda"}`; label values are
    /// escaped. Unique within the sampler.
    pub name: String,
    /// What one step of the value is: `count`, `bytes`, `KiB`, `pages`, `ticks`, `sectors` (of
    /// 512 bytes), `packets`, `requests`, `processes`, `ms`, `us` or `ns`.
    pub unit: &'static str,
    /// The file it comes from.
    pub source: ProcSource,
}

/// A selected file that this machine does not offer.
#[derive(Debug)]
pub struct MissingSource {
    /// Which file.
    pub source: ProcSource,
    /// Why it could not be opened or read.
    pub reason: io::Error,
}

/// What happened with one file since the sampler was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceReport {
    /// Which file.
    pub source: ProcSource,
    /// It is read at every `divisor`-th tick.
    pub divisor: u32,
    /// Series it feeds.
    pub series: u32,
    /// Length of its text in the last successful reading.
    pub text_bytes: usize,
    /// Readings that succeeded, the one at open not counted.
    pub readings: u64,
    /// Readings that failed; their values are missing from the samples.
    pub failed_readings: u64,
    /// How often the buffer had to grow: each time one allocation.
    pub buffer_growths: u64,
    /// Devices without series because nobody had used them at open.
    pub idle_devices: u64,
    /// Lines (devices) of the last reading that have no series because they came after open.
    pub appeared_lines: u64,
    /// Lines, over all readings, that could not be understood or came twice.
    pub malformed_lines: u64,
}

/// Why a sampler could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProcError {
    /// None of the selected files could be read, or none was selected.
    NothingToSample {
        /// The root that was given.
        root: PathBuf,
        /// The files that were tried.
        missing: Vec<MissingSource>,
    },
}

impl fmt::Display for ProcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::NothingToSample { root, missing } = self;
        let root = root.display();
        if missing.is_empty() {
            return write!(formatter, "no file of {root} was selected for sampling; select one");
        }
        write!(formatter, "{root}: none of the selected files gave a series:")?;
        for MissingSource { source, reason } in missing {
            write!(formatter, " {} ({reason});", source.path())?;
        }
        write!(formatter, " expected a mounted proc file system")
    }
}

impl std::error::Error for ProcError {}

#[derive(Debug)]
struct OpenSource {
    file: ProcFile,
    plan: Plan,
    /// Added to the tick, so that files with the same divisor take turns.
    phase: u64,
    report: SourceReport,
}

/// Reads the selected files of one proc file system at the caller's pace.
#[derive(Debug)]
pub struct ProcSampler {
    sources: Vec<OpenSource>,
    series: Vec<SeriesSpec>,
    missing: Vec<MissingSource>,
    buffer: Vec<u8>,
    ticks: u64,
}

impl ProcSampler {
    /// Opens the selected files below `root` (usually `/proc`), reads each once and fixes the
    /// series. Files this machine does not have are listed by [`Self::missing`].
    ///
    /// # Errors
    /// [`ProcError::NothingToSample`] if not one series was found.
    pub fn open(root: &Path, selection: &ProcSelection) -> Result<Self, ProcError> {
        let mut sampler = Self {
            sources: Vec::new(),
            series: Vec::new(),
            missing: Vec::new(),
            buffer: Vec::new(),
            ticks: 0,
        };
        let mut taken = HashSet::new();
        let mut text_bytes_max = 0;
        for source in ProcSource::ALL {
            let Some(divisor) = selection.divisor(source) else { continue };
            let opened = ProcFile::open(&root.join(source.path())).and_then(|file| {
                let text_bytes = file.read_into(&mut sampler.buffer, FILE_BYTES_MAX)?;
                Ok((file, text_bytes))
            });
            let (file, text_bytes) = match opened {
                Ok(opened) => opened,
                Err(reason) => {
                    sampler.missing.push(MissingSource { source, reason });
                    continue;
                }
            };
            text_bytes_max = text_bytes_max.max(text_bytes);
            let first = sampler.series.len();
            let plan = Plan::learn(
                source,
                &sampler.buffer[..text_bytes],
                selection.idle_disks(),
                &mut sampler.series,
                SERIES_MAX,
                &mut taken,
            );
            let series = u32::try_from(sampler.series.len() - first).unwrap_or(u32::MAX);
            let report = SourceReport {
                source,
                divisor,
                series,
                text_bytes,
                readings: 0,
                failed_readings: 0,
                buffer_growths: 0,
                idle_devices: plan.idle_devices,
                appeared_lines: 0,
                malformed_lines: 0,
            };
            let phase = sampler.sources.len() as u64;
            sampler.sources.push(OpenSource { file, plan, phase, report });
        }
        if sampler.series.is_empty() {
            let root = root.to_owned();
            return Err(ProcError::NothingToSample { root, missing: sampler.missing });
        }
        // Counters get longer and devices come: with twice the room growth is rare.
        let room = (text_bytes_max * 2).min(FILE_BYTES_MAX + 1);
        if sampler.buffer.len() < room {
            sampler.buffer.resize(room, 0);
        }
        Ok(sampler)
    }

    /// The series, fixed at open; [`Self::sample`] names them by their position here.
    #[must_use]
    pub fn series(&self) -> &[SeriesSpec] {
        &self.series
    }

    /// Selected files that could not be read at open.
    #[must_use]
    pub fn missing(&self) -> &[MissingSource] {
        &self.missing
    }

    /// What happened so far, file by file.
    pub fn reports(&self) -> impl Iterator<Item = &SourceReport> {
        self.sources.iter().map(|source| &source.report)
    }

    /// One tick: appends `(position in series(), value)` of each file that is due to `out`, and
    /// returns how many. The first tick reads all files; the caller keeps the pace and the time.
    ///
    /// Never more than one value per series; a device that vanished, and a file that cannot be
    /// read now, simply give none. Does not allocate if `out` has room for `series().len()` more.
    /// Waits for no disk, only as long as the kernel takes to make the texts.
    pub fn sample(&mut self, out: &mut Vec<(u32, i64)>) -> usize {
        let before = out.len();
        let tick = self.ticks;
        self.ticks += 1;
        for OpenSource { file, plan, phase, report } in &mut self.sources {
            if tick != 0 && !(tick + *phase).is_multiple_of(u64::from(report.divisor)) {
                continue;
            }
            let room = self.buffer.len();
            let text = file.read_into(&mut self.buffer, FILE_BYTES_MAX);
            report.buffer_growths += u64::from(self.buffer.len() > room);
            let Ok(text_bytes) = text else {
                report.failed_readings += 1;
                continue;
            };
            let odd = plan.read(&self.buffer[..text_bytes], out);
            report.readings += 1;
            report.text_bytes = text_bytes;
            report.appeared_lines = odd.unknown;
            report.malformed_lines += odd.malformed;
        }
        out.len() - before
    }
}

#[cfg(test)]
mod tests;
