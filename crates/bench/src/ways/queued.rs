//! io_uring and POSIX AIO: the producer copies a block and hands it over, the device takes its time.
//!
//! Both write past the page cache into a file that was written before, so that they differ from
//! O_DIRECT in the handing over alone. (Through the page cache ext4 lets a worker thread of io_uring
//! call write().) As many blocks may be under way as a flush unit has; then the producer waits.

use super::{Later, Recording, WaySpec, plain};
use baro_bench_sys::queued::uring::UringOptions;
use baro_bench_sys::queued::{PosixAio, QueueSpec, QueuedWrites, Uring};
use std::fs::File;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Queued {
    queue: Box<dyn QueuedWrites>,
    /// For the sync at the end.
    file: File,
    position_bytes: u64,
    end_bytes: u64,
}

impl Queued {
    pub(super) fn uring(path: &Path, spec: &WaySpec, polled: bool) -> io::Result<Self> {
        // Longer than a period, or it would sleep between the blocks and each had to wake it.
        let poll_idle_ms = polled.then(|| u32::try_from(spec.period_ns / 500_000).unwrap_or(1000));
        let poll_idle_ms = poll_idle_ms.map(|idle_ms| idle_ms.clamp(1, 1000));
        let options = UringOptions { queue: queue_of(spec), registered: true, poll_idle_ms };
        Self::begin(path, spec, |file| Ok(Box::new(Uring::new(file, options)?)))
    }

    pub(super) fn posix_aio(path: &Path, spec: &WaySpec) -> io::Result<Self> {
        Self::begin(path, spec, |file| Ok(Box::new(PosixAio::new(file, queue_of(spec))?)))
    }

    fn begin(
        path: &Path,
        spec: &WaySpec,
        queue: impl FnOnce(File) -> io::Result<Box<dyn QueuedWrites>>,
    ) -> io::Result<Self> {
        let end_bytes = spec.whole_bytes();
        let file = plain::prepare_direct(path, end_bytes, true)?;
        let queue = queue(file.try_clone()?)?;
        Ok(Self { queue, file, position_bytes: 0, end_bytes })
    }
}

/// A flush unit under way, but no more than there is room for in the file: two writes to one place
/// have no order.
fn queue_of(spec: &WaySpec) -> QueueSpec {
    let slots = spec.flush_bytes.min(spec.whole_bytes()) / spec.block_bytes;
    let slots = u32::try_from(slots).unwrap_or(u32::MAX).clamp(1, 4096);
    QueueSpec { slots, slot_bytes: spec.block_bytes as usize }
}

impl Recording for Queued {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        if self.position_bytes >= self.end_bytes {
            self.position_bytes = 0;
        }
        let offset_bytes = self.position_bytes;
        self.position_bytes += block.len() as u64;
        self.queue.write(block, offset_bytes)
    }

    fn is_full(&self) -> bool {
        false
    }

    fn settle(&mut self) -> io::Result<()> {
        self.queue.drain()?;
        self.file.sync_all()
    }

    fn later(&self) -> Later {
        let counts = self.queue.counts();
        Later { failed: counts.failed, first_error: counts.first_error, waits: counts.waits }
    }
}
