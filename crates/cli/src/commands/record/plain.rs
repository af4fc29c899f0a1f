//! `baro record FILE --plain --stdin raw`: what comes on stdin into ordinary files, by the method of the
//! paper "recorder" (`baro_plain`), for who may not leave a store.
//!
//! Bytes are written as they come; a file that is full is followed by the next, between two frames.
//!
//! What has one of the names before the recording is refused: files of two recordings under one name
//! and its numbers could not be told apart. What takes one during it costs a number, and no bytes.

use super::{Arguments, Format, Input, stdin};
use crate::failure::{Outcome, Result};
use crate::size::{show_bytes, show_ns};
use baro_plain::{Error, Finishing, Pool, PreallocatedFile, Sizes};
use baro_sys::{clock, files, termination};
use serde_json::json;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Digits of a number that is taken for one of ours. With more it is rather a date, and 99,999 files of
/// the usual size are 10 TB.
const DIGITS: usize = 5;

/// How a plain recording went.
#[derive(Debug, Default)]
struct Written {
    files: Vec<PathBuf>,
    bytes: u64,
    writes: u64,
    longest_ns: u64,
    finishing: Vec<Finishing>,
    /// Of the next file.
    number: u64,
    /// The first that could not be finished.
    failed: Option<baro_plain::Error>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.stdin != Some(Input::Raw) {
        let said = "--plain: expected --stdin raw: bytes are written as they come, and nothing in them \
                    is understood; for CSV, JSON and the like record into a store";
        return Err(said.into());
    }
    termination::watch()?;
    let path = &arguments.store;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let frame = arguments.frame_bytes.max(1);
    let file_bytes = arguments.plain_size / frame * frame;
    if file_bytes == 0 {
        let (size, frame) = (show_bytes(arguments.plain_size), show_bytes(frame));
        return Err(format!(
            "--plain-size: expected at least --frame-bytes ({frame}), found {size}"
        )
        .into());
    }
    refuse_leftovers(folder, path)?;
    let mut pool = Pool::open(folder, Sizes { file_bytes, ..Sizes::default() })?;
    for left in pool.left() {
        say!("note: {}: left by a recording that was killed; rename it to keep it", left.display());
    }
    let mut written = Written::default();
    let end_ns = arguments.duration.map_or(u64::MAX, |ns| clock::monotonic_ns().saturating_add(ns));
    let mut file: Option<PreallocatedFile> = None;
    let stop = || termination::requested().is_some() || clock::monotonic_ns() >= end_ns;
    let ended = stdin::until(stop, |came| {
        let stdin::Came::Bytes(mut bytes, _) = came else {
            written.listen();
            return Ok(true);
        };
        while !bytes.is_empty() {
            let mut current = match file.take().filter(|file| file.free_bytes() > 0) {
                Some(current) => current,
                None => written.next(&mut pool, path)?,
            };
            let (now, rest) = bytes.split_at(bytes.len().min(current.free_bytes() as usize));
            let before_ns = clock::monotonic_ns();
            match current.write(now) {
                // Somebody was faster with the name: what is in the file is kept, and the next goes on.
                Err(Error::Unnamed { kind: ErrorKind::AlreadyExists, .. }) => {
                    written.finishing.push(current.finish());
                    continue;
                }
                result => result?,
            }
            written.wrote(now.len(), clock::monotonic_ns() - before_ns);
            bytes = rest;
            match current.free_bytes() {
                0 => written.finishing.push(current.finish()),
                _ => file = Some(current),
            }
        }
        Ok(true)
    });
    written.finishing.extend(file.map(PreallocatedFile::finish));
    // What is written is made durable whatever has failed.
    let finished: Vec<_> = written.finishing.drain(..).map(Finishing::wait).collect();
    let failed = written.failed.take();
    let waited = pool.waited();
    let closed = pool.close();
    failed.map_or(Ok(()), Err)?;
    finished.into_iter().collect::<baro_plain::Result<Vec<u64>>>()?;
    closed?;
    ended?;
    written.tell(arguments.format, waited)?;
    Ok(Outcome::Done)
}

/// Refuses names that the recording would come to, before anything is recorded.
fn refuse_leftovers(folder: &Path, path: &Path) -> Result<()> {
    let first = path.file_name().unwrap_or_default().to_string_lossy();
    let ours = |name: &str| match name.strip_prefix(&*first) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|number| {
            let digits = number.bytes().all(|byte| byte.is_ascii_digit());
            digits && (1..=DIGITS).contains(&number.len()) && !number.starts_with('0')
        }),
        None => false,
    };
    let Some(there) = files::list(folder)?.into_iter().filter(|name| ours(name)).min() else {
        return Ok(());
    };
    Err(format!(
        "{}: is there already, and a recording into {} may come to that name: move it away, or name another file",
        folder.join(there).display(),
        path.display()
    )
    .into())
}

impl Written {
    /// The next file: FILE, FILE.1, FILE.2, .. without those that somebody has made meanwhile.
    fn next(&mut self, pool: &mut Pool, path: &Path) -> Result<PreallocatedFile> {
        self.listen();
        loop {
            let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
            if self.number > 0 {
                name.push(format!(".{}", self.number));
            }
            let Some(name) = name.to_str() else {
                return Err(format!("{}: expected a name in UTF-8", path.display()).into());
            };
            self.number += 1;
            match pool.take(name) {
                Err(Error::Taken(there)) => {
                    say!(
                        "warning: {}: made by somebody else during the recording, which goes on in the \
                         next number",
                        there.display()
                    );
                }
                taken => {
                    let file = taken?;
                    self.files.push(file.path().to_owned());
                    return Ok(file);
                }
            }
        }
    }

    /// Says what could not be finished as soon as that is known. The recording goes on, and fails at its end.
    fn listen(&mut self) {
        let Self { finishing, failed, .. } = self;
        finishing.retain_mut(|one| match one.told() {
            None => true,
            Some(Ok(_)) => false,
            Some(Err(error)) => {
                say!("warning: {error}; what follows is recorded");
                failed.get_or_insert(error);
                false
            }
        });
    }

    fn wrote(&mut self, bytes: usize, took_ns: u64) {
        self.bytes += bytes as u64;
        self.writes += 1;
        self.longest_ns = self.longest_ns.max(took_ns);
    }

    fn tell(&self, format: Format, waited: u64) -> Result<()> {
        match format {
            Format::Text => {
                let first = self.files.first().map(|path| path.display().to_string());
                let count = match self.files.len() {
                    1 => "1 file".to_owned(),
                    count => format!("{count} files"),
                };
                out!(
                    "{}: {} in {count}, {} writes, the longest {}; waited {waited} times for a file",
                    first.unwrap_or_else(|| "nothing came".to_owned()),
                    show_bytes(self.bytes),
                    self.writes,
                    show_ns(self.longest_ns)
                );
                Ok(())
            }
            Format::Json => super::super::print_json(&json!({
                "files": self.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
                "bytes": self.bytes,
                "writes": self.writes,
                "longest_write_ns": self.longest_ns,
                "waited_for_files": waited,
            })),
        }
    }
}
