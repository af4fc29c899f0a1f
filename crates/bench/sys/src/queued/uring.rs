//! Writes through io_uring (Linux 5.6): one ring, its file and its buffers known to the kernel.
//!
//! The few structures and calls of the kernel's interface that writing needs, without liburing or a
//! crate. The caller submits each write with one system call; with a polling thread of the kernel
//! (`poll_idle_ms`) with none, at the price of a processor that this thread keeps busy for as long
//! as writes come faster than its idle time.
//!
//! Invariant: entries and indices of the rings are published and taken with the ordering that the
//! kernel's interface asks for; an index that the kernel returns is never trusted. Held by
//! `what_is_handed_over_is_written`, which runs with and without registered buffers and polling.

use super::slots::Slots;
use super::{QueueCounts, QueueSpec, QueuedWrites};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

mod abi;
mod rings;

use abi::{Entry, enter};
use rings::Rings;

/// How the ring is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UringOptions {
    /// How much may be under way.
    pub queue: QueueSpec,
    /// Make the buffers known to the kernel, so that it need not find their pages at each write.
    /// Where the limit of locked memory does not allow it, they stay unknown.
    pub registered: bool,
    /// A thread of the kernel looks for writes, and sleeps when there was none for so long. Before
    /// Linux 5.11 only root may have it.
    pub poll_idle_ms: Option<u32>,
}

/// A file that is written through io_uring.
#[derive(Debug)]
pub struct Uring {
    rings: Rings,
    slots: Slots,
    registered: bool,
    polled: bool,
    ring: OwnedFd,
    // The ring knows it by an index; it must be open as long.
    _file: File,
}

/// Whether a ring can be made here.
///
/// # Errors
/// In one sentence, why not and what to do.
pub fn available() -> Result<(), String> {
    let mut parameters = abi::Parameters::default();
    let error = match abi::setup(1, &mut parameters) {
        Ok(_ring) if parameters.features & abi::FEATURES == abi::FEATURES => return Ok(()),
        Ok(_ring) => return Err("io_uring of this kernel is too old: Linux 5.6 has it".to_owned()),
        Err(error) => error,
    };
    Err(match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring: Linux 5.6 has it".to_owned(),
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here: see the sysctl kernel.io_uring_disabled, or the seccomp \
             profile of the container"
                .to_owned()
        }
        _ => format!("io_uring cannot be set up: {error}"),
    })
}

impl Uring {
    /// A ring for `file`. Allocates and locks its memory.
    ///
    /// # Errors
    /// Those of io_uring_setup(2) and io_uring_register(2); `Unsupported` before Linux 5.6.
    pub fn new(file: File, options: UringOptions) -> io::Result<Self> {
        let slots = Slots::new(options.queue)?;
        let mut parameters = abi::Parameters::default();
        if let Some(idle_ms) = options.poll_idle_ms {
            parameters.flags |= abi::SETUP_SQPOLL;
            parameters.poll_idle_ms = idle_ms;
        }
        let ring = abi::setup(options.queue.slots, &mut parameters)?;
        if parameters.features & abi::FEATURES != abi::FEATURES {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let rings = Rings::map(&ring, &parameters)?;
        abi::register_file(&ring, &file)?;
        let registered =
            options.registered && abi::register_memory(&ring, slots.start(), slots.bytes()).is_ok();
        let polled = options.poll_idle_ms.is_some();
        Ok(Self { rings, slots, registered, polled, ring, _file: file })
    }

    /// Whether the buffers are known to the kernel.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.registered
    }

    fn reap(&mut self) {
        while let Some((slot, result)) = self.rings.next_completion() {
            self.slots.complete(slot, i64::from(result));
        }
    }

    /// Waits until something is completed.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            let wake = if self.polled { abi::ENTER_WAKEUP } else { 0 };
            match enter(&self.ring, 0, 1, abi::ENTER_GETEVENTS | wake) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    self.reap();
                    return Ok(());
                }
            }
        }
    }

    /// Tells the kernel of the entry that was just published.
    fn submit(&mut self) -> io::Result<()> {
        if self.polled {
            // The thread sets the flag, then looks at the tail once more; we the other way round.
            fence(Ordering::SeqCst);
            if self.rings.needs_wakeup() {
                let _ = enter(&self.ring, 0, 0, abi::ENTER_WAKEUP)?;
            }
            return Ok(());
        }
        loop {
            let error = match enter(&self.ring, 1, 0, 0) {
                Ok(0) => io::Error::from_raw_os_error(libc::EAGAIN),
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The kernel is short of memory for requests: one that ends gives some back.
                Some(libc::EAGAIN | libc::EBUSY) if self.slots.len() > 1 => {
                    self.slots.counts.waits += 1;
                    self.wait()?;
                }
                _ => return Err(error),
            }
        }
    }
}

impl QueuedWrites for Uring {
    fn write(&mut self, data: &[u8], offset_bytes: u64) -> io::Result<()> {
        self.slots.check(data)?;
        self.reap();
        if !self.slots.has_free() {
            self.slots.counts.waits += 1;
            while !self.slots.has_free() {
                self.wait()?;
            }
        }
        let Some((slot, place)) = self.slots.fill(data) else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let entry = Entry::write(self.registered, place, data.len(), offset_bytes, slot);
        self.rings.publish(entry);
        let submitted = self.submit();
        if submitted.is_err() && !self.polled {
            // The kernel took nothing, and nobody else looks at the tail.
            self.rings.take_back();
            self.slots.give_back(slot);
        }
        submitted
    }

    fn drain(&mut self) -> io::Result<()> {
        self.reap();
        while self.slots.len() > 0 {
            self.wait()?;
        }
        Ok(())
    }

    fn counts(&self) -> QueueCounts {
        self.slots.counts
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.drain().is_err() {
            self.slots.leak();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SPEC, check, path};
    use super::{Uring, UringOptions, available};
    use crate::queued::QueuedWrites;
    use baro_sys::files;

    #[test]
    fn what_is_handed_over_is_written() {
        if let Err(why) = available() {
            println!("skipped: {why}");
            return;
        }
        for (registered, poll_idle_ms) in [(true, None), (false, None), (true, Some(1))] {
            let path = path("uring");
            let file = files::create(&path).unwrap();
            let options = UringOptions { queue: SPEC, registered, poll_idle_ms };
            let mut ring = Uring::new(file, options).unwrap();
            assert!(registered || !ring.is_registered());
            check(&path, &mut ring);
        }
    }

    #[test]
    fn a_dropped_ring_has_written_what_it_took() {
        if let Err(why) = available() {
            println!("skipped: {why}");
            return;
        }
        let path = path("uring-drop");
        let options = UringOptions { queue: SPEC, registered: true, poll_idle_ms: None };
        let mut ring = Uring::new(files::create(&path).unwrap(), options).unwrap();
        (0..3).for_each(|block| ring.write(&[7; 4096], block * 4096).unwrap());
        drop(ring);
        assert_eq!(std::fs::read(&path).unwrap(), vec![7; 3 * 4096]);
        files::remove(&path).unwrap();
    }
}
