//! The thread that does what may wait: names a file that was taken, hands units to the disk, and finishes
//! files. In the order in which it was asked, so a file has its name before it is finished.

use crate::error::{Error, Failed, Result};
use baro_sys::files;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Something to do.
#[derive(Debug)]
pub(crate) enum Job {
    /// A file was taken and is to be found under its name.
    Name { file: Arc<File>, from: PathBuf, to: PathBuf, failed: Failed },
    /// A unit is complete.
    Flush { file: Arc<File>, offset_bytes: u64, length_bytes: u64, failed: Failed },
    /// Nothing more will be written. Without `done` nobody waits.
    Finish {
        file: Arc<File>,
        path: PathBuf,
        length_bytes: u64,
        failed: Failed,
        done: Option<Sender<Result<u64>>>,
    },
    /// Who could have waited for a file does not.
    Unheard(Receiver<Result<u64>>),
    /// The pool closes, whoever still holds a file.
    End,
}

/// What the pool, its files and the flusher know together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    /// Whether the pool is closed.
    closed: Arc<AtomicBool>,
    /// The first failure of files that nobody waits for.
    pub(crate) untold: Failed,
    /// Names that were handed out and that no file has yet.
    handed_out: Arc<Mutex<Vec<PathBuf>>>,
}

impl Common {
    pub(crate) fn check(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Whether somebody has the name or is about to.
    pub(crate) fn is_taken(&self, path: &Path) -> bool {
        // In this order: a name leaves the list when a file has it.
        self.names(|names| names.iter().any(|name| name == path)) || files::exists(path)
    }

    pub(crate) fn hand_out(&self, path: &Path) {
        self.names(|names| names.push(path.to_owned()));
    }

    fn given(&self, path: &Path) {
        self.names(|names| names.retain(|name| name != path));
    }

    fn names<T>(&self, work: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
        work(&mut self.handed_out.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
pub(crate) struct Flusher {
    jobs: Sender<Job>,
    common: Common,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    pub(crate) fn start() -> Result<Self> {
        let (jobs, receiver) = channel();
        let common = Common::default();
        let theirs = common.clone();
        let thread = std::thread::Builder::new()
            .name("plain-flusher".to_owned())
            .spawn(move || work(&receiver, &theirs))
            .map_err(|error| Error::io(format!("start a thread: {error}"), &error))?;
        Ok(Self { jobs, common, thread: Some(thread) })
    }

    pub(crate) fn jobs(&self) -> Sender<Job> {
        self.jobs.clone()
    }

    pub(crate) fn common(&self) -> &Common {
        &self.common
    }

    /// Does what was asked and ends; the first failure that nobody was told of.
    pub(crate) fn end(mut self) -> Result<()> {
        self.stop()?;
        self.common.untold.take()
    }

    fn stop(&mut self) -> Result<()> {
        self.common.closed.store(true, Ordering::Release);
        let _ = self.jobs.send(Job::End);
        self.thread.take().map_or(Ok(()), |thread| thread.join().map_err(|_| Error::Closed))
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn work(jobs: &Receiver<Job>, common: &Common) {
    for job in jobs {
        match job {
            Job::Name { file, from, to, failed } => {
                // Whoever writes it is told with the next write, or at its end.
                failed.note(name(&file, &from, &to));
                common.given(&to);
            }
            Job::Flush { file, offset_bytes, length_bytes, failed } => {
                failed.note(
                    files::write_back(&file, offset_bytes, length_bytes).map_err(Error::from),
                );
            }
            Job::Finish { file, path, length_bytes, failed, done } => {
                // Without a name, too: what was recorded is kept.
                let ended = finish(&file, &path, length_bytes);
                let told = failed.get().and(ended).map(|()| length_bytes);
                match done {
                    Some(done) => {
                        // If it is not wanted any more, a job says so, which has the other end.
                        let _ = done.send(told);
                    }
                    None => common.untold.note(told),
                }
            }
            Job::Unheard(ended) => common.untold.note(ended.try_recv().unwrap_or(Ok(0))),
            Job::End => break,
        }
    }
}

fn name(file: &File, from: &Path, to: &Path) -> Result<()> {
    let named = files::rename_to_new(file, from, to);
    named.map_err(|error| {
        let (kind, errno) = (error.kind(), error.errno());
        let (path, left) = (to.to_owned(), from.to_owned());
        Error::Unnamed { path, left, said: error.source.to_string(), kind, errno }
    })
}

/// Cuts off what was not written, and makes data, length and name durable.
fn finish(file: &File, path: &Path, length_bytes: u64) -> Result<()> {
    let told =
        |error: baro_sys::Error| Error::io(format!("{}: {error}", path.display()), &error.into());
    files::set_length(file, length_bytes).map_err(told)?;
    files::sync(file).map_err(told)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = files::open(folder.unwrap_or(Path::new(".")))?;
    Ok(files::sync(&folder)?)
}
