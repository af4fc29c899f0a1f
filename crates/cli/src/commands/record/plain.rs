//! `baro record FILE --plain --stdin raw`: what comes on stdin into ordinary files, by the method of the
//! paper "recorder" (`baro_plain`), for who may not leave a store.
//!
//! Bytes are written as they come; a file that is full is followed by the next, between two frames.

use super::{Arguments, Format, Input, stdin};
use crate::failure::{Outcome, Result};
use crate::size::{show_bytes, show_ns};
use baro_plain::{Finishing, Pool, PreallocatedFile, Sizes};
use baro_sys::{clock, termination};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How a plain recording went.
#[derive(Debug, Default)]
struct Written {
    files: Vec<PathBuf>,
    bytes: u64,
    writes: u64,
    longest_ns: u64,
    finishing: Vec<Finishing>,
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
    let mut pool = Pool::open(folder, Sizes { file_bytes, ..Sizes::default() })?;
    for left in pool.left() {
        say!("note: {}: left by a recording that was killed; rename it to keep it", left.display());
    }
    let mut written = Written::default();
    let end_ns = arguments.duration.map_or(u64::MAX, |ns| clock::monotonic_ns().saturating_add(ns));
    let mut file: Option<PreallocatedFile> = None;
    let stop = || termination::requested().is_some() || clock::monotonic_ns() >= end_ns;
    let ended = stdin::until(stop, |came| {
        let stdin::Came::Bytes(mut bytes, _) = came else { return Ok(true) };
        while !bytes.is_empty() {
            let mut current = match file.take().filter(|file| file.free_bytes() > 0) {
                Some(current) => current,
                None => written.next(&mut pool, path)?,
            };
            let (now, rest) = bytes.split_at(bytes.len().min(current.free_bytes() as usize));
            let before_ns = clock::monotonic_ns();
            current.write(now)?;
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
    let waited = pool.waited();
    let closed = pool.close();
    finished.into_iter().collect::<baro_plain::Result<Vec<u64>>>()?;
    closed?;
    ended?;
    written.tell(arguments.format, waited)?;
    Ok(Outcome::Done)
}

impl Written {
    /// The next file: FILE, FILE.1, FILE.2, ..
    fn next(&mut self, pool: &mut Pool, path: &Path) -> Result<PreallocatedFile> {
        let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
        if !self.files.is_empty() {
            name.push(format!(".{}", self.files.len()));
        }
        let Some(name) = name.to_str() else {
            return Err(format!("{}: expected a name in UTF-8", path.display()).into());
        };
        let file = pool.take(name)?;
        self.files.push(file.path().to_owned());
        Ok(file)
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
