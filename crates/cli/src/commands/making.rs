//! A file or folder that is being made: nobody finds half of it. It has another name until it is whole;
//! what fails, or is told to end, takes it away. On a terminal its size is shown while it grows.
//!
//! One thread looks for signals and shows: reading a store may take long between two writes.
//!
//! Invariant: after a failure or SIGINT, SIGTERM, SIGHUP the folder is as it was. Held by
//! `what_is_not_whole_is_not_there`.

use crate::advice::is_store;
use crate::failure::{Failure, Result};
use crate::size::show_bytes;
use baro_sys::disk::Disk;
use baro_sys::files::{self, PacedOutput};
use baro_sys::{clock, identity, termination};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// How often signals are looked for.
const LOOK_EVERY_NS: u64 = 20_000_000;
/// What shells add to the signal that has ended a program.
const SIGNALLED: i32 = 128;

/// What is being made.
static STATE: Mutex<State> =
    Mutex::new(State { parts: Vec::new(), name: String::new(), bytes: 0, since_ns: 0 });
static WATCH: Once = Once::new();

struct State {
    /// Files and folders that go if we end now.
    parts: Vec<PathBuf>,
    /// What is shown of the file that grows; empty: nothing.
    name: String,
    bytes: u64,
    since_ns: u64,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a signal takes away what is not whole, and ends us.
fn watch() -> Result<()> {
    termination::watch()?;
    WATCH.call_once(|| {
        // It ends with the process. Where no thread can be had signals wait until the file is made.
        let _ = std::thread::Builder::new().name("baro-making".to_owned()).spawn(look);
    });
    Ok(())
}

fn look() {
    let on_terminal = baro_command::status_on_terminal();
    loop {
        clock::sleep_ns(LOOK_EVERY_NS);
        let mut state = state();
        if let Some(signal) = termination::requested() {
            // Held: nothing is finished while it is taken away.
            remove(&std::mem::take(&mut state.parts));
            if on_terminal {
                baro_command::end_status();
            }
            std::process::exit(SIGNALLED + signal);
        }
        if on_terminal && !state.name.is_empty() {
            let seconds = clock::monotonic_ns().saturating_sub(state.since_ns) / 1_000_000_000;
            let (name, bytes) = (&state.name, show_bytes(state.bytes));
            status!("{name}: {bytes} written, {seconds} s");
        }
    }
}

/// Removes what was made, by name; what is in a folder was made after it.
fn remove(parts: &[PathBuf]) {
    for part in parts.iter().rev() {
        if part.is_dir() {
            files::remove_if_empty(part);
        } else {
            let _ = files::remove(part);
        }
    }
}

/// Takes a part off the list of what goes.
fn keep(part: &Path) {
    state().parts.retain(|one| one != part);
}

/// See the module.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// Gone once it is finished.
    out: Option<PacedOutput>,
    path: PathBuf,
    bytes: u64,
}

impl NewFile {
    /// Begins it; with `force` in the place of a file that is there.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self> {
        outside(path)?;
        watch()?;
        let begun = if force { PacedOutput::replace(path) } else { PacedOutput::create(path) };
        let out = begun.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::from(taken(path)),
            _ => error.into(),
        })?;
        let mut state = state();
        state.parts.push(out.temporary().to_owned());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (state.name, state.bytes, state.since_ns) = (name, 0, clock::monotonic_ns());
        Ok(NewFile { out: Some(out), path: path.to_owned(), bytes: 0 })
    }

    /// Makes it durable and gives it its name. Returns its bytes.
    pub(crate) fn finish(mut self) -> Result<u64> {
        end_status();
        // Until it has its name a signal takes it away.
        let Some(out) = self.out.take() else { return Ok(self.bytes) };
        let temporary = out.temporary().to_owned();
        let finished = out.finish();
        keep(&temporary);
        finished.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::from(taken(&self.path)),
            kind if is_full(kind) => Failure::from(format!("{error}{FULL}")),
            _ => error.into(),
        })?;
        Ok(files::size_bytes(&self.path)?)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            end_status();
            keep(out.temporary());
        }
    }
}

fn end_status() {
    state().name.clear();
    if baro_command::status_on_terminal() {
        baro_command::end_status();
    }
}

/// Refuses a device, a pipe or a socket, whatever form its name has.
pub(crate) fn ordinary(path: &Path) -> Result<()> {
    if path.exists() && !path.is_dir() && !files::is_regular(path) {
        let path = path.display();
        return Err(format!("{path}: it is no ordinary file; name another").into());
    }
    Ok(())
}

/// Refuses a file in a store's folder: it might take the place of one of the store's own.
fn outside(path: &Path) -> Result<()> {
    let at = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match at.ancestors().skip(1).find(|above| is_store(above)) {
        Some(store) => {
            let (path, store) = (path.display(), store.display());
            Err(format!("{path}: it would lie in the store {store}: name a file in another place")
                .into())
        }
        None => Ok(()),
    }
}

/// What to do where the disk is full. A file that `--force` was to replace is as it was.
const FULL: &str = "; nothing of it is kept: make room there, or name a file in another place";

fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn taken(path: &Path) -> String {
    format!("{}: is there already; name another file, or replace it: --force", path.display())
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(out) = &mut self.out else { return Ok(bytes.len()) };
        // By its name: who reads the reason knows no more of it.
        let named = |error: io::Error| {
            let next = if is_full(error.kind()) { FULL } else { "" };
            io::Error::new(error.kind(), format!("{}: write: {error}{next}", self.path.display()))
        };
        let written = out.write(bytes).map_err(named)?;
        self.bytes += written as u64;
        state().bytes = self.bytes;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.as_mut().map_or(Ok(0), |out| out.seek(to))
    }
}

/// A new folder, under another name until all in it is whole.
#[derive(Debug)]
pub(crate) struct NewFolder {
    path: PathBuf,
    /// The folder under that name, and what was made in it.
    parts: Vec<PathBuf>,
}

impl NewFolder {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        outside(path)?;
        watch()?;
        if files::exists(path) {
            let folder = path.display();
            return Err(format!("{folder}: expected a new folder, found that it exists").into());
        }
        let name = format!(".baro-{:016x}.part", identity::random_u64()?);
        let mut folder = NewFolder { path: path.to_owned(), parts: Vec::new() };
        folder.folder(&path.with_file_name(name))?;
        Ok(folder)
    }

    fn folder(&mut self, path: &Path) -> Result<()> {
        self.made(path);
        Disk::create(path)?;
        Ok(())
    }

    /// Makes a folder in it.
    pub(crate) fn below(&mut self, name: &str) -> Result<PathBuf> {
        let path = self.parts.first().unwrap_or(&self.path).join(name);
        self.folder(&path)?;
        Ok(path)
    }

    /// Takes a file that is made in it.
    pub(crate) fn made(&mut self, path: &Path) {
        state().parts.push(path.to_owned());
        self.parts.push(path.to_owned());
    }

    /// Gives it its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        if files::exists(&self.path) {
            return Err(taken(&self.path).into());
        }
        if let Some(temporary) = self.parts.first() {
            files::rename(temporary, &self.path)?;
        }
        self.parts.drain(..).for_each(|part| keep(&part));
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        remove(&self.parts);
        self.parts.drain(..).for_each(|part| keep(&part));
    }
}
