//! A recording into a file, from its beginning to a trace that can be read anywhere.
//!
//! The file is made beside its final name and gets that name when it is whole, so a trace that is
//! there was finished; what a killed recorder left ends in `.part` and can be read as well.
//!
//! Two recordings never write one file: who comes second to a name is refused it. What was written is read
//! again through the open file, never by its name, which is the folder's owner's to exchange.
//!
//! Invariant: a recording that cannot go on (a full disk) ends with an error, leaves what was
//! written as a `.part`, and the tracer as it was. Held by
//! `a_full_disk_ends_a_recording_and_nothing_else`, `two_recordings_at_once_are_both_whole` and
//! `what_takes_the_place_of_a_trace_is_neither_waited_for_nor_read`.

use super::ring::{Ring, Shortfall};
use super::{CollectError, Options, Recorder, Summary};
use crate::file::{CpuLosses, FOCUS, TraceFile};
use crate::format::{EventHeader, PageHeader};
use crate::timeline::{Limits, Timeline};
use crate::watch::{Only, Seen, Watch};
use baro_sys::{clock, files, task};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How often the kernel's buffers are emptied. With 4 MiB for each processor they hold what comes
/// in this time at more than a million events a second.
const DRAIN_EVERY_NS: u64 = 50_000_000;
/// The same beside probes, which leave the tracer what is rare: each time costs half a millisecond.
const DRAIN_RARE_EVERY_NS: u64 = 200_000_000;
const WRITE_BYTES: usize = 256 << 10;

/// Another collector, whose events are recorded beside those of the tracer.
pub trait Beside: std::fmt::Debug + Send {
    /// System and `format` text of each of its events.
    fn formats(&self) -> Vec<(String, Vec<u8>)>;

    /// Says how pages and entries begin in this trace; before the first [`drain`](Self::drain).
    fn lay_out(&mut self, page: PageHeader, entry: EventHeader);

    /// The processor that its pages are of: one that this machine does not have.
    fn cpu(&self) -> u32;

    /// Hands out the pages that it has. Does not wait.
    ///
    /// # Errors
    /// Those of `sink`, and its own.
    fn drain(
        &mut self,
        sink: &mut dyn FnMut(&[u8]) -> crate::Result<()>,
    ) -> Result<(), CollectError>;

    /// Since when a task that sleeps now does so, in the tracer's clock, if it knows.
    fn sleeps_since_ns(&mut self, _pid: i32) -> Option<u64> {
        None
    }

    /// Hands out the rest and ends; gives what was lost.
    ///
    /// # Errors
    /// As [`drain`](Self::drain).
    fn finish(
        self: Box<Self>,
        sink: &mut dyn FnMut(&[u8]) -> crate::Result<()>,
    ) -> Result<CpuLosses, CollectError>;
}

/// A recording under way.
#[derive(Debug)]
pub struct Session {
    recorder: Recorder<BufWriter<File>>,
    written: Written,
    path: PathBuf,
    part: PathBuf,
    next_ns: u64,
    ring: Option<Ring>,
    beside: Option<Box<dyn Beside>>,
}

impl Session {
    /// Begins to record into a new file.
    ///
    /// # Errors
    /// The file, or one of its name with `.part` appended, is there already ([`CollectError::Output`])
    /// or cannot be made; those of [`Recorder::start`].
    pub fn start(
        options: &Options,
        mut beside: Option<Box<dyn Beside>>,
        path: &Path,
    ) -> Result<Self, CollectError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        if path.exists() {
            let exists = std::io::ErrorKind::AlreadyExists.into();
            return Err(CollectError::Output { path: path.to_owned(), source: exists });
        }
        let file = files::create_new(&part).map_err(|error| output(&part, error))?;
        // By this a `.part` that is written is told from one that was left.
        files::hold(&file);
        let written = Written::of(&file)
            .map_err(|source| CollectError::Output { path: part.clone(), source })?;
        let file = BufWriter::with_capacity(WRITE_BYTES, file);
        let formats = beside.as_ref().map_or_else(Vec::new, |beside| beside.formats());
        let recorder = Recorder::start_beside(options, &formats, file).inspect_err(|_| {
            let _ = files::remove(&part);
        })?;
        if let Some(beside) = &mut beside {
            let (page, entry) = recorder.headers();
            beside.lay_out(page, entry);
        }
        let next_ns = clock::monotonic_ns();
        let path = path.to_owned();
        Ok(Self { recorder, written, path, part, next_ns, ring: None, beside })
    }

    /// From now on keeps only what is not older than `keep_ns`, in memory, up to `bytes_max`, and
    /// watches for calls that wait `over_ns`. What is kept is written when the session ends.
    ///
    /// # Errors
    /// An event of this kernel lacks a field that all kernels had.
    pub fn ring(&mut self, keep_ns: u64, bytes_max: u64, over_ns: u64) -> Result<(), CollectError> {
        let arch = Some(std::env::consts::ARCH.to_owned());
        let watch = Watch::new(self.recorder.events().clone(), arch, over_ns)?;
        let (header, _) = self.recorder.headers();
        self.ring = Some(Ring::new(watch, header, keep_ns, bytes_max));
        Ok(())
    }

    /// Notes which tasks the trace is about; those they make are meant as well. A [`ring`](Self::ring)
    /// tells of their calls only.
    ///
    /// # Errors
    /// Those of writing.
    pub fn focus(&mut self, pids: &[i32]) -> Result<(), CollectError> {
        if let Some(ring) = self.ring.as_mut().filter(|_| !pids.is_empty()) {
            ring.only(Only { pids: pids.to_vec(), comes_from: task::comes_from });
        }
        let text: Vec<String> = pids.iter().map(i32::to_string).collect();
        self.recorder.note(FOCUS, &text.join("\n"))
    }

    /// Waits until the kernel's buffers are to be emptied, 50 ms from the last time (200 ms beside probes), and does so. With
    /// a [`ring`](Self::ring), tells of a call that was slow, or is.
    ///
    /// # Errors
    /// Those of reading the tracer and of writing the file.
    pub fn turn(&mut self) -> Result<Option<Seen>, CollectError> {
        let every_ns = if self.beside.is_some() { DRAIN_RARE_EVERY_NS } else { DRAIN_EVERY_NS };
        self.next_ns = (self.next_ns + every_ns).max(clock::monotonic_ns());
        clock::sleep_until_ns(self.next_ns);
        self.recorder.note_limits()?;
        let Some(ring) = &mut self.ring else {
            self.recorder.drain()?;
            if let Some(beside) = &mut self.beside {
                let cpu = beside.cpu();
                beside.drain(&mut |page| self.recorder.write_page(cpu, page))?;
            }
            return Ok(None);
        };
        let (mut slowest, now_ns) = (None, clock::monotonic_ns());
        if let Some(beside) = &mut self.beside {
            let cpu = beside.cpu();
            beside.drain(&mut |page| {
                slowest = ring.add(now_ns, cpu, page).or(slowest);
                Ok(())
            })?;
        }
        self.recorder.take(|cpu, page| {
            let seen = ring.add(now_ns, cpu, page);
            slowest = [slowest, seen].into_iter().flatten().max_by_key(|one: &Seen| one.wait_ns);
        })?;
        Ok(slowest.or_else(|| ring.waiting(now_ns)))
    }

    /// The call that has waited longest of those that wait now, if one has for so long; of a [`ring`](Self::ring).
    #[must_use]
    pub fn waiting_over(&self, over_ns: u64) -> Option<Seen> {
        self.ring.as_ref()?.waiting_over(clock::monotonic_ns(), over_ns)
    }

    /// Tells if a [`ring`](Self::ring)'s memory holds less than was asked for, at the rate at which events come
    /// now; again when that has doubled.
    pub fn shortfall(&mut self) -> Option<Shortfall> {
        self.ring.as_mut()?.shortfall(clock::monotonic_ns())
    }

    /// Notes where all tasks sleep that wait for storage now, as somebody was seen to wait: when the recording
    /// ends they may be elsewhere.
    ///
    /// # Errors
    /// Those of writing.
    pub fn note_trigger(&mut self) -> Result<(), CollectError> {
        let beside = &mut self.beside;
        self.recorder.note_trigger(&mut |pid| beside.as_mut()?.sleeps_since_ns(pid))
    }

    /// Stops, names the functions of the recorded stacks, and ends the file.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub fn finish(mut self) -> Result<Summary, CollectError> {
        // Each page is given back as it is written: the file may be in memory too.
        for (cpu, page) in self.ring.take().into_iter().flat_map(Ring::into_pages) {
            self.recorder.write_page(cpu, &page)?;
        }
        if let Some(mut beside) = self.beside.take() {
            self.recorder.note_ending(&mut |pid| beside.sleeps_since_ns(pid))?;
            let cpu = beside.cpu();
            let losses = beside.finish(&mut |page| self.recorder.write_page(cpu, page))?;
            self.recorder.extra_losses(losses);
        } else {
            self.recorder.note_ending(&mut |_| None)?;
        }
        self.recorder.stop()?;
        let addresses = addresses(&mut self.written)?;
        let (file, summary) = self.recorder.finish(addresses)?;
        if !files::is_at(file.get_ref(), &self.part) {
            let found = "expected the file that was recorded into, found that its name was taken away or \
                         given to another while recording; record into a folder that is yours alone";
            let source = std::io::Error::other(found);
            return Err(CollectError::Output { path: self.part, source });
        }
        drop((file, self.written));
        files::rename(&self.part, &self.path).map_err(|error| output(&self.path, error))?;
        Ok(summary)
    }

    /// Ends without a trace: removes what was written.
    ///
    /// # Errors
    /// Those of removing the file.
    pub fn discard(self) -> Result<(), CollectError> {
        let Self { recorder, written, part, .. } = self;
        drop((recorder, written));
        files::remove(&part).map_err(|error| output(&part, error))
    }

    /// The recorder, for what is to be known of it.
    #[must_use]
    pub fn recorder(&self) -> &Recorder<BufWriter<File>> {
        &self.recorder
    }
}

/// What was written, read at positions of its own: those of the writer are left alone.
#[derive(Debug)]
struct Written {
    file: File,
    at: u64,
}

impl Written {
    fn of(file: &File) -> std::io::Result<Self> {
        Ok(Self { file: file.try_clone()?, at: 0 })
    }
}

impl Read for &mut Written {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for &mut Written {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let from = |base: u64, by: i64| base.checked_add_signed(by);
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => from(self.at, by),
            SeekFrom::End(by) => from(self.file.metadata()?.len(), by),
        };
        self.at = at.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

/// Addresses in the stacks that were recorded.
fn addresses(written: &mut Written) -> Result<BTreeSet<u64>, CollectError> {
    let mut trace = TraceFile::open(BufReader::new(written))?;
    let limits = Limits { spans_max: 0, ..Limits::default() };
    let line = Timeline::of(&mut trace, limits)?;
    Ok(line.stacks.iter().flat_map(|(_, addresses)| addresses.to_vec()).collect())
}

fn output(path: &Path, error: baro_sys::Error) -> CollectError {
    CollectError::Output { path: path.to_owned(), source: error.source }
}
