//! Settling beside the recorder: the store's thread is told how far the log is, a few times a second.
//!
//! Producers in this process cannot wait. So where settling falls behind, or stops, unsettled samples
//! yield to new ones, and are counted as lost. A program that records for a second, again and again, would
//! never be settled beside: so what is left is settled at the end, where it is more than half of the log.

use crate::{Recorder, Result};
use baro_store::{Extent, Logged, SettleOptions, Settler, Settling, SettlingOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const TELL_EVERY: Duration = Duration::from_millis(250);

/// See the module.
#[derive(Debug)]
pub(crate) struct Settles {
    path: PathBuf,
    thread: JoinHandle<()>,
    end: Sender<()>,
}

impl Settles {
    /// The recorder, with settling beside it if it is wanted.
    pub(crate) fn start(
        inner: baro_recorder::Recorder,
        path: &Path,
        wanted: bool,
    ) -> Result<Recorder> {
        let inner = Arc::new(inner);
        let settles = match wanted {
            true => Some(Settles::run(Arc::clone(&inner), path)?),
            false => None,
        };
        Ok(Recorder { inner: Some(inner), settles })
    }

    fn run(recorder: Arc<baro_recorder::Recorder>, path: &Path) -> Result<Self> {
        let options = SettleOptions::default();
        let settling =
            Settling::beside(path, options, SettlingOptions::default(), recorder.taken())?;
        let (end, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("baro-tell".to_owned())
            .spawn(move || {
                while ended.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
                    settling.logged(Logged::from(&recorder.status()));
                }
                drop(settling.end());
            })
            .map_err(|error| baro_sys::Error::new("start thread", "", error))?;
        Ok(Settles { path: path.to_owned(), thread, end })
    }

    /// Ends it. Waits for one piece of its work. Where the store is.
    pub(crate) fn end(self) -> PathBuf {
        drop(self.end);
        let _ = self.thread.join();
        self.path
    }
}

/// Settles what is left if that is more than half of the log, of which `status` is the last. Nobody records
/// any more.
pub(crate) fn settle_the_rest(path: &Path, status: &baro_recorder::Status) {
    if !Logged::from(status).is_behind() {
        return;
    }
    // What goes wrong here costs nothing: the next recorder settles, and counts what it cannot keep.
    let Ok(mut settler) = Settler::open(path, SettleOptions::default()) else { return };
    while settler.step(Extent::All).is_ok_and(|done| done.more) {}
}
