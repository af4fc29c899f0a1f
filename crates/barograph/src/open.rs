//! How a store is made or opened for recording.

use crate::settling::Settles;
use crate::{Recorder, Result};
use baro_log::{Geometry, Role, StoreLock, init, open_folder, read_identity, switch_when_full};
use baro_ondisk::{StoreId, WhenFull};
use baro_recorder::{Options, Retention};
use baro_sys::disk::Disk;
use baro_sys::{clock, identity};
use std::path::PathBuf;
use std::time::Duration;

/// Log of a store that is made without [`Opening::size`].
const SIZE_BYTES: u64 = 256 << 20;

/// How a store is made or opened: see [`Recorder::create_or_open`]. Ends with [`Opening::open`].
///
/// ```no_run
/// use barograph::Recorder;
/// use std::time::Duration;
///
/// let recorder = Recorder::create_or_open("/data/store")
///     .size(4 << 30)
///     .recycle()
///     .priority(50)
///     .durable_within(Duration::from_millis(20))
///     .ring(64 << 20)
///     .open()?;
/// for reservation in recorder.reservations() {
///     println!("{reservation}"); // what of this cannot be had here
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before .open()"]
pub struct Opening {
    path: PathBuf,
    size_bytes: u64,
    when_full: WhenFull,
    create: bool,
    settles: bool,
    options: Options,
}

impl Opening {
    pub(crate) fn new(path: PathBuf, create: bool) -> Self {
        let retention =
            Retention { keep_unsettled: true, unsettled_yield: true, ..Retention::default() };
        Opening {
            path,
            size_bytes: SIZE_BYTES,
            when_full: WhenFull::Stop,
            create,
            settles: true,
            options: Options { retention, ..Options::default() },
        }
    }

    /// Bytes of the log of a store that is made now: written in full at once, 2 MiB at least. One that
    /// is there stays as it is. Without this 256 MiB.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size_bytes = bytes;
        self
    }

    /// The store begins again with its oldest records when it is full, also one that is there already.
    /// Without this a store that is made now refuses new records then, and one that is there stays as it is.
    pub fn recycle(mut self) -> Self {
        self.when_full = WhenFull::Recycle;
        self
    }

    /// SCHED_FIFO priority of the writing threads, 1 to 99, where the kernel grants it.
    pub fn priority(mut self, priority: u8) -> Self {
        self.options.fifo = Some(priority);
        self
    }

    /// Longest time from push to durable that is aimed at: 1 ms to 1 hour, without this 100 ms.
    pub fn durable_within(mut self, within: Duration) -> Self {
        self.options.durable_within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        self
    }

    /// Bytes of each producer's ring: what comes in while the disk answers nothing. Without this 16 MiB.
    pub fn ring(mut self, bytes: usize) -> Self {
        self.options.ring_bytes = bytes;
        self
    }

    /// Bytes of the largest frame: at most 4 MiB and a quarter of the ring. Without this 256 KiB.
    pub fn frame_max(mut self, bytes: usize) -> Self {
        self.options.record_bytes_max = bytes;
        self
    }

    /// Samples stay in the log and are not settled into runs beside the recorder.
    pub fn without_settling(mut self) -> Self {
        self.settles = false;
        self.options.retention.keep_unsettled = false;
        self
    }

    /// Makes the store if there is none, and opens it for recording. Blocks: a store that is made is
    /// written in full, one that is there is recovered.
    ///
    /// # Errors
    /// Another process records into it, it is damaged, a setting is outside its limits, the disk is full
    /// or refuses, or memory is short.
    pub fn open(self) -> Result<Recorder> {
        if self.create {
            self.make()?;
        }
        if self.when_full == WhenFull::Recycle {
            self.switch()?;
        }
        let inner = baro_recorder::Recorder::open(&self.path, self.options)?;
        Settles::start(inner, &self.path, self.settles)
    }

    fn make(&self) -> Result<()> {
        let geometry = Geometry::for_log(self.size_bytes, self.when_full)?;
        let disk = Disk::create(&self.path)?;
        let mut id = StoreId::default();
        identity::random(&mut id.0)?;
        let (now, geometry) = (clock::realtime_ns(), geometry.fitted_to(&disk));
        match init(&disk, &self.path, id, now, &geometry, |_| {}) {
            Ok(_) | Err(baro_log::Error::Exists { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A store that is there does from now on what was asked for.
    fn switch(&self) -> Result<()> {
        let disk = open_folder(&self.path)?;
        if read_identity(&disk, &self.path)?.when_full == self.when_full {
            return Ok(());
        }
        // Where another process records, the open says so.
        if let Ok(_lock) = StoreLock::take(&disk, Role::Recording)? {
            switch_when_full(&disk, &self.path, self.when_full)?;
        }
        Ok(())
    }
}
