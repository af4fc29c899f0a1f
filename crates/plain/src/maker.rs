//! The thread that keeps files ready: each made in full, reserved and synced before it is handed out.
//!
//! A ready file has a name that says whose it is, and is held by a lock, so that the next pool knows what
//! a killed one has left from what another pool has ready.
//!
//! A spare file that cannot be made is nobody's failure: it is tried again with the next one that is
//! taken, and only when none is left is whoever takes one told why, of a try made at that moment.

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

/// A file that nobody has taken yet. Dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Ready {
    file: Arc<File>,
    path: Option<PathBuf>,
}

impl Ready {
    /// The file and the name that it has, which is the taker's to change.
    pub(crate) fn taken(mut self) -> (Arc<File>, PathBuf) {
        (Arc::clone(&self.file), self.path.take().unwrap_or_default())
    }

    fn remove(mut self) -> Result<()> {
        self.path.take().map_or(Ok(()), |path| Ok(files::remove(&path)?))
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let _ = files::remove(&path);
        }
    }
}

/// A word to the thread.
#[derive(Debug)]
enum Word {
    /// A file was taken: so there are never more than are to be kept ready.
    Taken,
    /// Somebody waits, for the time of this number.
    Needed(u64),
}

/// A file, or why there is none for who waits for the time of this number.
type Made = std::result::Result<Ready, (u64, Error)>;

#[derive(Debug)]
pub(crate) struct Maker {
    ready: Receiver<Made>,
    words: Option<Sender<Word>>,
    /// How often a file was waited for.
    needed: u64,
    thread: Option<JoinHandle<()>>,
}

impl Maker {
    /// Returns when the first files are there.
    pub(crate) fn start(folder: &Path, sizes: Sizes) -> Result<Self> {
        let folder = folder.to_owned();
        Self::start_with(sizes.ready, move || make(&folder, sizes.file_bytes))
    }

    fn start_with(
        count: usize,
        mut make: impl FnMut() -> Result<Ready> + Send + 'static,
    ) -> Result<Self> {
        let (sender, ready) = channel();
        for _ in 0..count {
            // If one fails, those before it go with the channel.
            sender.send(Ok(make()?)).map_err(|_| Error::Closed)?;
        }
        let (words, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("plain-maker".to_owned())
            .spawn(move || keep_ready(make, &receiver, &sender))
            .map_err(|error| Error::io(format!("start a thread: {error}"), &error))?;
        Ok(Self { ready, words: Some(words), needed: 0, thread: Some(thread) })
    }

    /// The next file, and whether it was waited for.
    pub(crate) fn take(&mut self) -> Result<(Ready, bool)> {
        let made = loop {
            match self.ready.try_recv() {
                Ok(Ok(made)) => break Some(made),
                // Of a time when somebody waited and got a file that was under way.
                Ok(Err(_)) => {}
                Err(TryRecvError::Empty) => break None,
                Err(TryRecvError::Disconnected) => return Err(Error::Closed),
            }
        };
        let waited = made.is_none();
        let made = match made {
            Some(made) => made,
            None => self.wait()?,
        };
        self.say(Word::Taken)?;
        Ok((made, waited))
    }

    /// All files are taken, so one is under way or is tried now: either comes, or why not.
    fn wait(&mut self) -> Result<Ready> {
        self.needed += 1;
        self.say(Word::Needed(self.needed))?;
        loop {
            match self.ready.recv() {
                Ok(Ok(made)) => return Ok(made),
                Ok(Err((number, error))) if number == self.needed => return Err(error),
                Ok(Err(_)) => {}
                Err(_) => return Err(Error::Closed),
            }
        }
    }

    fn say(&self, word: Word) -> Result<()> {
        let words = self.words.as_ref().ok_or(Error::Closed)?;
        words.send(word).map_err(|_| Error::Closed)
    }

    pub(crate) fn end(mut self) -> Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> Result<()> {
        self.words = None;
        let mut ended = Ok(());
        if let Some(thread) = self.thread.take() {
            // Until the thread has ended: it may be about to hand out one more.
            for one in self.ready.iter().flatten() {
                ended = ended.and(one.remove());
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

fn keep_ready(
    mut make: impl FnMut() -> Result<Ready>,
    words: &Receiver<Word>,
    sender: &Sender<Made>,
) {
    let mut missing = 0_u64;
    for word in words {
        let needed = match word {
            Word::Taken => {
                missing += 1;
                None
            }
            Word::Needed(number) => Some(number),
        };
        while missing > 0 {
            let made = make();
            missing -= u64::from(made.is_ok());
            let failed = made.is_err();
            let told = match (made, needed) {
                (Ok(made), _) => sender.send(Ok(made)),
                (Err(error), Some(number)) => sender.send(Err((number, error))),
                (Err(_), None) => Ok(()),
            };
            // Whoever takes no more takes what is left, too.
            if told.is_err() {
                return;
            }
            if failed {
                break;
            }
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
        Ok(()) => Ok(Ready { file: Arc::new(file), path: Some(path) }),
        Err(error) => {
            let _ = files::remove(&path);
            Err(Error::io(format!("{}: {error}", path.display()), &error.into()))
        }
    }
}

/// Removes files that were ready in a pool that has been killed. Those that were taken and have data,
/// but had no name yet, stay: they are returned. One that got its name stays under that.
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
        if files::names(&path)? < 2 && files::has_data(&files::open_regular(&path)?)? {
            with_data.push(path);
        } else {
            files::remove(&path)?;
        }
    }
    Ok(with_data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    /// Files that there is still room for, and tries that failed.
    type Disk = Arc<(AtomicU64, AtomicU64)>;

    fn disk(name: &str, room: u64) -> (Disk, PathBuf, impl FnMut() -> Result<Ready> + Send) {
        let path = std::env::temp_dir().join(format!("baro-maker-{name}-{}", std::process::id()));
        files::make_folder(&path).unwrap();
        let disk = Disk::new((room.into(), 0.into()));
        let (theirs, folder) = (Arc::clone(&disk), path.clone());
        let making = move || {
            if theirs.0.fetch_update(SeqCst, SeqCst, |room| room.checked_sub(1)).is_ok() {
                return make(&folder, 4_096);
            }
            theirs.1.fetch_add(1, SeqCst);
            Err(Error::Name("no room".to_owned()))
        };
        (disk, path, making)
    }

    #[test]
    fn what_was_begun_before_an_open_failed_is_removed() {
        let (_, folder, making) = disk("begun", 2);
        assert!(matches!(Maker::start_with(3, making), Err(Error::Name(_))));
        assert_eq!(files::list(&folder).unwrap(), Vec::<String>::new());
        files::remove_empty_folder(&folder).unwrap();
    }

    #[test]
    fn a_spare_file_that_cannot_be_made_fails_nothing_unless_it_is_needed() {
        let (disk, folder, making) = disk("needed", 2);
        let mut maker = Maker::start_with(2, making).unwrap();
        for failed in [1, 2] {
            drop(maker.take().unwrap());
            while disk.1.load(SeqCst) < failed {
                std::thread::yield_now();
            }
        }
        // The disk has room again when the next one is taken.
        disk.0.store(2, SeqCst);
        assert!(maker.take().is_ok_and(|(_, waited)| waited));
        drop(maker.take().unwrap());
        // Full when one is needed, that is told, and not after it has room.
        assert!(matches!(maker.take(), Err(Error::Name(_))));
        assert!(matches!(maker.take(), Err(Error::Name(_))));
        disk.0.store(1, SeqCst);
        drop(maker.take().unwrap());
        maker.end().unwrap();
        assert_eq!(files::list(&folder).unwrap(), Vec::<String>::new());
        files::remove_empty_folder(&folder).unwrap();
    }
}
