//! A recording into a file, from its beginning to a trace that can be read anywhere.
//!
//! The file is made beside its final name and gets that name when it is whole, so a trace that is
//! there was finished; what a killed recorder left ends in `.part` and can be read as well.
//!
//! Invariant: a recording that cannot go on (a full disk) ends with an error, leaves what was
//! written as a `.part`, and the tracer as it was. Held by `a_session_leaves_a_whole_trace`.

use super::{CollectError, Options, Recorder, Summary};
use crate::file::FOCUS;
use crate::file::TraceFile;
use crate::timeline::{Limits, Timeline};
use baro_sys::{clock, dirty, disk};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// How often the kernel's buffers are emptied. With 4 MiB for each processor they hold what comes
/// in this time at more than a million events a second.
const DRAIN_EVERY_NS: u64 = 50_000_000;
const WRITE_BYTES: usize = 256 << 10;

/// A recording under way.
#[derive(Debug)]
pub struct Session {
    recorder: Recorder<BufWriter<File>>,
    path: PathBuf,
    part: PathBuf,
    next_ns: u64,
}

impl Session {
    /// Begins to record into a new file.
    ///
    /// # Errors
    /// The file is there already or cannot be made; those of [`Recorder::start`].
    pub fn start(options: &Options, path: &Path) -> Result<Self, CollectError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let output = |source| CollectError::Output { path: part.clone(), source };
        if path.exists() {
            let exists = std::io::ErrorKind::AlreadyExists.into();
            return Err(CollectError::Output { path: path.to_owned(), source: exists });
        }
        let file = BufWriter::with_capacity(WRITE_BYTES, dirty::create(&part).map_err(output)?);
        let recorder = Recorder::start(options, file).inspect_err(|_| {
            let _ = dirty::remove(&part);
        })?;
        Ok(Self { recorder, path: path.to_owned(), part, next_ns: clock::monotonic_ns() })
    }

    /// Notes which tasks the trace is about; those they make are meant as well.
    ///
    /// # Errors
    /// Those of writing.
    pub fn focus(&mut self, pids: &[i32]) -> Result<(), CollectError> {
        let text: Vec<String> = pids.iter().map(i32::to_string).collect();
        self.recorder.note(FOCUS, &text.join("\n"))
    }

    /// Waits until the kernel's buffers are to be emptied, 50 ms from the last time, and does so.
    ///
    /// # Errors
    /// Those of reading the tracer and of writing the file.
    pub fn turn(&mut self) -> Result<(), CollectError> {
        self.next_ns = (self.next_ns + DRAIN_EVERY_NS).max(clock::monotonic_ns());
        clock::sleep_until_ns(self.next_ns);
        self.recorder.drain()?;
        Ok(())
    }

    /// Stops, names the functions of the recorded stacks, and ends the file.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub fn finish(mut self) -> Result<Summary, CollectError> {
        self.recorder.stop()?;
        let addresses = self.addresses()?;
        let (file, summary) = self.recorder.finish(addresses)?;
        drop(file);
        dirty::rename(&self.part, &self.path)
            .map_err(|source| CollectError::Output { path: self.path, source })?;
        Ok(summary)
    }

    /// The recorder, for what is to be known of it.
    #[must_use]
    pub fn recorder(&self) -> &Recorder<BufWriter<File>> {
        &self.recorder
    }

    /// Addresses in the stacks that were recorded.
    fn addresses(&self) -> Result<BTreeSet<u64>, CollectError> {
        let file = disk::open_input(&self.part).map_err(|error| CollectError::Output {
            path: self.part.clone(),
            source: std::io::Error::other(error.to_string()),
        })?;
        let mut trace = TraceFile::open(BufReader::new(file))?;
        let limits = Limits { spans_max: 0, ..Limits::default() };
        let line = Timeline::of(&mut trace, limits)?;
        Ok(line.stacks.iter().flat_map(|(_, addresses)| addresses.to_vec()).collect())
    }
}
