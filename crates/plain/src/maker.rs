//! The thread that keeps files ready: each made in full, reserved and synced before it is handed out.
//!
//! A ready file has a name that says whose it is, and is held by a lock, so that the next pool knows what
//! a killed one has left from what another pool has ready.

use crate::error::{Error, Result};
use crate::pool::Sizes;
use baro_sys::{files, identity};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

const BEGINS: &str = ".baro-ready-";
const ENDS: &str = ".part";

/// A file that nobody has taken yet.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Maker {
    ready: Receiver<Result<Ready>>,
    /// A word for each file that was taken: so there are never more than are to be kept ready.
    wanted: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Maker {
    /// Returns when the first files are there.
    pub(crate) fn start(folder: &Path, sizes: Sizes) -> Result<Self> {
        let first: Vec<Ready> =
            (0..sizes.ready).map(|_| make(folder, sizes.file_bytes)).collect::<Result<_>>()?;
        let (sender, ready) = channel();
        for one in first {
            if sender.send(Ok(one)).is_err() {
                return Err(Error::Closed);
            }
        }
        let (wanted, words) = channel();
        let folder = folder.to_owned();
        let thread = std::thread::Builder::new()
            .name("plain-maker".to_owned())
            .spawn(move || keep_ready(&folder, sizes, &words, &sender))
            .map_err(|error| Error::io(format!("start a thread: {error}"), &error))?;
        Ok(Self { ready, wanted: Some(wanted), thread: Some(thread) })
    }

    /// The next file, and whether it was waited for.
    pub(crate) fn take(&self) -> Result<(Ready, bool)> {
        let (made, waited) = match self.ready.try_recv() {
            Ok(made) => (made, false),
            Err(TryRecvError::Empty) => (self.ready.recv().map_err(|_| Error::Closed)?, true),
            Err(TryRecvError::Disconnected) => return Err(Error::Closed),
        };
        // One that could not be made is tried again for the next that is taken.
        if let Some(wanted) = &self.wanted {
            wanted.send(()).map_err(|_| Error::Closed)?;
        }
        Ok((made?, waited))
    }

    pub(crate) fn end(mut self) -> Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> Result<()> {
        self.wanted = None;
        let mut ended = Ok(());
        if let Some(thread) = self.thread.take() {
            // Until the thread has ended: it may be about to hand out one more.
            for one in &self.ready {
                ended = ended.and(one.and_then(|one| Ok(files::remove(&one.path)?)));
            }
            let _ = thread.join();
        }
        ended
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn keep_ready(folder: &Path, sizes: Sizes, words: &Receiver<()>, sender: &Sender<Result<Ready>>) {
    while words.recv().is_ok() {
        // Whoever takes no more takes what is left, too.
        if sender.send(make(folder, sizes.file_bytes)).is_err() {
            return;
        }
    }
}

fn make(folder: &Path, bytes: u64) -> Result<Ready> {
    let number = identity::random_u64()?;
    let path = folder.join(format!("{BEGINS}{number:016x}{ENDS}"));
    let file = files::create_new(&path)?;
    files::hold(&file);
    let reserved = files::allocate(&file, 0, bytes).and_then(|()| files::sync(&file));
    match reserved {
        Ok(()) => Ok(Ready { file: Arc::new(file), path }),
        Err(error) => {
            let _ = files::remove(&path);
            Err(Error::io(format!("{}: {error}", path.display()), &error.into()))
        }
    }
}

/// Removes files that were ready in a pool that has been killed. Those that were taken and have data,
/// but had no name yet, stay: they are returned.
pub(crate) fn remove_left(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut with_data = Vec::new();
    for name in files::list(folder)? {
        let number = name.strip_prefix(BEGINS).and_then(|rest| rest.strip_suffix(ENDS));
        let ours = number.is_some_and(|digits| {
            digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        });
        let path = folder.join(&name);
        if !ours || files::is_held(&path) {
            continue;
        }
        if files::has_data(&files::open(&path)?)? {
            with_data.push(path);
        } else {
            files::remove(&path)?;
        }
    }
    Ok(with_data)
}
