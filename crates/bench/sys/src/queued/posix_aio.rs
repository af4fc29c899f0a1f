//! Writes through POSIX AIO: aio_write(3) of glibc, which is a thread that calls pwrite(2).
//!
//! The GNU C library only: musl's needs memory of the caller's stack for each write, and the
//! structure below is glibc's. Requests of one descriptor are carried out one after another, in
//! their order, so only the oldest needs to be looked at.
//!
//! Invariant: a control block stays where it is until its write is over. Held by
//! `what_is_handed_over_is_written`.

#[cfg(target_env = "gnu")]
pub use gnu::PosixAio;
#[cfg(not(target_env = "gnu"))]
pub use none::PosixAio;

/// Whether this program has POSIX AIO.
///
/// # Errors
/// In one sentence, why not.
pub fn available() -> Result<(), String> {
    if cfg!(target_env = "gnu") {
        Ok(())
    } else {
        Err("this program is not linked with the GNU C library, whose aio_write it would use"
            .to_owned())
    }
}

#[cfg(target_env = "gnu")]
mod gnu {
    use crate::queued::slots::Slots;
    use crate::queued::{QueueCounts, QueueSpec, QueuedWrites};
    use std::cell::UnsafeCell;
    use std::collections::VecDeque;
    use std::fmt;
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    #[link(name = "rt")]
    unsafe extern "C" {
        fn aio_write(control: *mut libc::aiocb) -> libc::c_int;
        fn aio_error(control: *const libc::aiocb) -> libc::c_int;
        fn aio_return(control: *mut libc::aiocb) -> libc::ssize_t;
        fn aio_suspend(
            list: *const *const libc::aiocb,
            length: libc::c_int,
            timeout: *const libc::timespec,
        ) -> libc::c_int;
    }

    /// A file that is written through POSIX AIO.
    pub struct PosixAio {
        file: File,
        slots: Slots,
        /// One for each slot. On the heap, since the library writes to it from its own thread.
        controls: Box<[UnsafeCell<libc::aiocb>]>,
        /// Slots under way, the oldest first.
        order: VecDeque<u32>,
    }

    // SAFETY: control blocks are used through `&mut self` alone, or by the library while under way.
    unsafe impl Send for PosixAio {}

    impl fmt::Debug for PosixAio {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("PosixAio").field("file", &self.file).finish_non_exhaustive()
        }
    }

    impl PosixAio {
        /// For `file`. Allocates and locks its memory.
        ///
        /// # Errors
        /// No memory.
        pub fn new(file: File, queue: QueueSpec) -> io::Result<Self> {
            let slots = Slots::new(queue)?;
            // SAFETY: all-zero bytes are a valid control block.
            let control = || UnsafeCell::new(unsafe { std::mem::zeroed() });
            let controls = (0..queue.slots).map(|_| control()).collect();
            Ok(Self { file, slots, controls, order: VecDeque::with_capacity(queue.slots as usize) })
        }

        fn control(&self, slot: u32) -> *mut libc::aiocb {
            self.controls[slot as usize].get()
        }

        fn reap(&mut self) {
            while let Some(&slot) = self.order.front() {
                let control = self.control(slot);
                // SAFETY: the control block was given to aio_write and has not been asked for its
                // result yet.
                let error = unsafe { aio_error(control) };
                if error == libc::EINPROGRESS {
                    return;
                }
                // SAFETY: as above, and the write is over.
                let written = unsafe { aio_return(control) } as i64;
                self.order.pop_front();
                let result = if error == 0 { written } else { -i64::from(error) };
                self.slots.complete(u64::from(slot), result);
            }
        }

        /// Waits until the oldest is over.
        fn wait(&mut self) -> io::Result<()> {
            let Some(&slot) = self.order.front() else { return Ok(()) };
            let list = [self.control(slot).cast_const()];
            loop {
                // SAFETY: the list has one control block, which is under way; no time limit.
                if unsafe { aio_suspend(list.as_ptr(), 1, std::ptr::null()) } == 0 {
                    self.reap();
                    return Ok(());
                }
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }

    impl QueuedWrites for PosixAio {
        fn write(&mut self, data: &[u8], offset_bytes: u64) -> io::Result<()> {
            self.slots.check(data)?;
            let offset = libc::off_t::try_from(offset_bytes)
                .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
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
            let control = self.control(slot);
            // SAFETY: the control block is ours while its slot is not under way.
            let rc = unsafe {
                control.write(std::mem::zeroed());
                (*control).aio_fildes = self.file.as_raw_fd();
                (*control).aio_buf = place.cast();
                (*control).aio_nbytes = data.len();
                (*control).aio_offset = offset;
                (*control).aio_sigevent.sigev_notify = libc::SIGEV_NONE;
                aio_write(control)
            };
            if rc == 0 {
                self.order.push_back(slot);
                return Ok(());
            }
            let error = io::Error::last_os_error();
            self.slots.give_back(slot);
            Err(error)
        }

        fn drain(&mut self) -> io::Result<()> {
            self.reap();
            while !self.order.is_empty() {
                self.wait()?;
            }
            Ok(())
        }

        fn counts(&self) -> QueueCounts {
            self.slots.counts
        }
    }

    impl Drop for PosixAio {
        fn drop(&mut self) {
            if self.drain().is_err() {
                self.slots.leak();
                std::mem::forget(std::mem::take(&mut self.controls));
            }
        }
    }
}

#[cfg(not(target_env = "gnu"))]
mod none {
    use crate::queued::{QueueCounts, QueueSpec, QueuedWrites};
    use std::fs::File;
    use std::io;

    /// Never made: this program has no POSIX AIO.
    #[derive(Debug)]
    pub struct PosixAio(());

    impl PosixAio {
        /// Refuses.
        ///
        /// # Errors
        /// Always `Unsupported`.
        pub fn new(_file: File, _queue: QueueSpec) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl QueuedWrites for PosixAio {
        fn write(&mut self, _data: &[u8], _offset_bytes: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn drain(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn counts(&self) -> QueueCounts {
            QueueCounts::default()
        }
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::super::tests::{SPEC, check, path};
    use super::PosixAio;
    use baro_sys::files;

    #[test]
    fn what_is_handed_over_is_written() {
        let path = path("aio");
        let mut queue = PosixAio::new(files::create(&path).unwrap(), SPEC).unwrap();
        check(&path, &mut queue);
    }
}
