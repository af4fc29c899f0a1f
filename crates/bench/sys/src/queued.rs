//! Writes that are handed over and completed later: io_uring and POSIX AIO behind one trait.
//!
//! For the bench, which compares them with write(): the caller's time is a copy into a free slot and
//! the handing over; what the device does with it is learned at a later call. The number of slots
//! is how much may be under way; with none free the caller waits, and that is counted.
//!
//! Invariant: memory of a write that is under way is neither reused nor given back; each write
//! handed over is completed or counted as failed. Held by the tests of [`uring`] and [`posix_aio`].

pub mod posix_aio;
mod slots;
pub mod uring;

pub use posix_aio::PosixAio;
pub use uring::Uring;

use std::fmt::Debug;
use std::io;

/// How much may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// Writes under way, from 1 to 4,096.
    pub slots: u32,
    /// The largest write, in whole pages.
    pub slot_bytes: usize,
}

impl QueueSpec {
    fn check(&self) -> io::Result<()> {
        let fits = (1..=4096).contains(&self.slots)
            && self.slot_bytes > 0
            && self.slot_bytes.is_multiple_of(4096)
            && self.slot_bytes <= 1 << 30;
        if fits {
            return Ok(());
        }
        let found = format!("{} slots of {} bytes", self.slots, self.slot_bytes);
        let expected = "expected 1 to 4096 slots of whole 4096 bytes, at most 1 GiB";
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{found}; {expected}")))
    }
}

/// What became of the writes handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Completed whole.
    pub completed: u64,
    /// Calls that had to wait, because no slot was free.
    pub waits: u64,
    /// Refused or written in part.
    pub failed: u64,
    /// The first failure.
    pub first_error: Option<io::ErrorKind>,
}

/// A file to which writes are handed over.
pub trait QueuedWrites: Debug + Send {
    /// Copies `data` and hands it over, to be written at `offset_bytes`. Blocks only while no slot
    /// is free. Looks at completions, waits for none.
    ///
    /// # Errors
    /// `data` is larger than a slot, or the kernel does not take it. That it could not be written
    /// is learned later: see [`Self::counts`].
    fn write(&mut self, data: &[u8], offset_bytes: u64) -> io::Result<()>;

    /// Waits until nothing is under way. Nothing is durable by that.
    ///
    /// # Errors
    /// The kernel does not let this process wait.
    fn drain(&mut self) -> io::Result<()>;

    /// What became of the writes so far; those under way are not in it.
    fn counts(&self) -> QueueCounts;
}

#[cfg(test)]
mod tests {
    use super::{QueueSpec, QueuedWrites};
    use baro_sys::files;
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};

    pub(super) const SPEC: QueueSpec = QueueSpec { slots: 4, slot_bytes: 8192 };

    pub(super) fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("baro-queued-{name}-{}", std::process::id()))
    }

    /// More writes than slots, each with its own bytes; then one that cannot be written.
    pub(super) fn check(path: &Path, queue: &mut dyn QueuedWrites) {
        let blocks = 50_u64;
        for block in 0..blocks {
            let bytes = vec![block as u8 + 1; 8192];
            queue.write(&bytes, block * 8192).unwrap();
        }
        queue.drain().unwrap();
        let counts = queue.counts();
        assert_eq!((counts.completed, counts.failed), (blocks, 0), "{counts:?}");
        let file = File::open(path).unwrap();
        for block in 0..blocks {
            let mut bytes = [0; 8192];
            files::read_at(&file, &mut bytes, block * 8192).unwrap();
            assert!(bytes.iter().all(|byte| *byte == block as u8 + 1), "block {block}");
        }
        let refused = queue.write(&[0; 8193], 0).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::InvalidInput));
        // No file is that long: refused at once or at its completion.
        let refused = queue.write(&[0; 4096], i64::MAX as u64 - 4095);
        queue.drain().unwrap();
        let counts = queue.counts();
        assert_eq!((counts.completed, counts.failed), (blocks, u64::from(refused.is_ok())));
        assert_eq!(counts.first_error.is_some(), refused.is_ok());
        // And the queue goes on.
        queue.write(&[9; 4096], 0).unwrap();
        queue.drain().unwrap();
        assert_eq!(queue.counts().completed, blocks + 1);
        files::remove(path).unwrap();
    }

    #[test]
    fn useless_queues_are_refused() {
        for (slots, slot_bytes) in [(0, 4096), (4097, 4096), (1, 0), (1, 4095), (1, 2 << 30)] {
            let refused = QueueSpec { slots, slot_bytes }.check().unwrap_err().to_string();
            assert!(refused.contains(&format!("{slots} slots of {slot_bytes} bytes")), "{refused}");
        }
        SPEC.check().unwrap();
    }
}
