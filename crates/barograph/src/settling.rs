//! Settling beside the recorder: the store's thread is told how far the log is, a few times a second.
//!
//! Producers in this process cannot wait. So where settling falls behind, or stops, unsettled samples
//! yield to new ones, and are counted as lost.

use crate::{Recorder, Result};
use baro_store::{Logged, SettleOptions, Settling, SettlingOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const TELL_EVERY: Duration = Duration::from_millis(250);

/// See the module.
#[derive(Debug)]
pub(crate) struct Settles {
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
        let settling = Settling::start(path, options, SettlingOptions::default())?;
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
        Ok(Settles { thread, end })
    }

    /// Ends it. Waits for one piece of its work.
    pub(crate) fn end(self) {
        drop(self.end);
        let _ = self.thread.join();
    }
}
