//! The thread that does what may wait: names a file that was taken, hands units to the disk, and finishes
//! files. In the order in which it was asked, so a file has its name before it is finished.

use crate::error::{Error, Result};
use baro_sys::files;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Something to do.
#[derive(Debug)]
pub(crate) enum Job {
    /// A file was taken and is to be found under its name.
    Name { from: PathBuf, to: PathBuf },
    /// A unit is complete.
    Flush { file: Arc<File>, offset_bytes: u64, length_bytes: u64, failed: Failed },
    /// Nothing more will be written.
    Finish {
        file: Arc<File>,
        path: PathBuf,
        length_bytes: u64,
        failed: Failed,
        done: Sender<Result<u64>>,
    },
    /// The pool closes, whoever still holds a file.
    End,
}

/// The first failure of a file's units, for whoever writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed(Arc<Mutex<Option<Error>>>);

impl Failed {
    pub(crate) fn get(&self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    fn note(&self, result: Result<()>) {
        if let Err(error) = result {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Flusher {
    jobs: Sender<Job>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Flusher {
    pub(crate) fn start() -> Result<Self> {
        let (jobs, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("plain-flusher".to_owned())
            .spawn(move || work(&receiver))
            .map_err(|error| Error::io(format!("start a thread: {error}"), &error))?;
        Ok(Self { jobs, thread: Some(thread) })
    }

    pub(crate) fn jobs(&self) -> Sender<Job> {
        self.jobs.clone()
    }

    /// Does what was asked and ends; the first failure that nobody was told of.
    pub(crate) fn end(mut self) -> Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> Result<()> {
        let _ = self.jobs.send(Job::End);
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Err(Error::Closed)))
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn work(jobs: &Receiver<Job>) -> Result<()> {
    let mut untold = Ok(());
    // A name that could not be given is told with the file's end.
    let mut unnamed: Vec<(PathBuf, Error)> = Vec::new();
    for job in jobs {
        match job {
            Job::Name { from, to } => {
                if let Err(error) = files::rename(&from, &to) {
                    unnamed.push((to, error.into()));
                }
            }
            Job::Flush { file, offset_bytes, length_bytes, failed } => {
                failed.note(
                    files::write_back(&file, offset_bytes, length_bytes).map_err(Error::from),
                );
            }
            Job::Finish { file, path, length_bytes, failed, done } => {
                let at = unnamed.iter().position(|(to, _)| *to == path);
                let named = at.map_or(Ok(()), |at| Err(unnamed.swap_remove(at).1));
                let ended = named.and_then(|()| finish(&file, &path, length_bytes));
                let told = ended.and_then(|()| failed.get()).map(|()| length_bytes);
                if let Err(unheard) = done.send(told) {
                    untold = untold.and(unheard.0.map(|_| ()));
                }
            }
            Job::End => break,
        }
    }
    untold
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
