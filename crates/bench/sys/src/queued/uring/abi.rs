//! The kernel's interface of io_uring, as far as writing needs it: linux/io_uring.h.
//!
//! Invariant: structures have the kernel's sizes. Held by the assertions below.

use super::{AsRawFd, File, FromRawFd, OwnedFd, io};

// The numbers are the same on all architectures that Barograph knows.
const SYS_SETUP: libc::c_long = 425;
const SYS_ENTER: libc::c_long = 426;
const SYS_REGISTER: libc::c_long = 427;

pub(super) const SETUP_SQPOLL: u32 = 1 << 1;
/// One mapping for both rings (5.4), no completion dropped (5.5), offset -1 (5.6): with the last
/// comes the plain write that is used here.
pub(super) const FEATURES: u32 = 1 | 1 << 1 | 1 << 3;
pub(super) const ENTER_GETEVENTS: u32 = 1;
pub(super) const ENTER_WAKEUP: u32 = 1 << 1;
pub(super) const SQ_NEED_WAKEUP: u32 = 1;
pub(super) const OFFSET_RINGS: libc::off_t = 0;
pub(super) const OFFSET_ENTRIES: libc::off_t = 0x1000_0000;

const REGISTER_BUFFERS: libc::c_uint = 0;
const REGISTER_FILES: libc::c_uint = 2;
const OPERATION_WRITE_FIXED: u8 = 5;
const OPERATION_WRITE: u8 = 23;
const ENTRY_FIXED_FILE: u8 = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SubmissionOffsets {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) mask: u32,
    pub(super) entries: u32,
    pub(super) flags: u32,
    dropped: u32,
    pub(super) array: u32,
    reserved: u32,
    user_address: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CompletionOffsets {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) mask: u32,
    pub(super) entries: u32,
    overflow: u32,
    pub(super) completions: u32,
    flags: u32,
    reserved: u32,
    user_address: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parameters {
    pub(super) submission_entries: u32,
    pub(super) completion_entries: u32,
    pub(super) flags: u32,
    poll_cpu: u32,
    pub(super) poll_idle_ms: u32,
    pub(super) features: u32,
    workers_of: u32,
    reserved: [u32; 3],
    pub(super) submission: SubmissionOffsets,
    pub(super) completion: CompletionOffsets,
}

/// One submission.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    operation: u8,
    flags: u8,
    priority: u16,
    file: i32,
    offset_bytes: u64,
    address: u64,
    length_bytes: u32,
    write_flags: u32,
    user_data: u64,
    buffer: u16,
    personality: u16,
    splice: i32,
    padding: [u64; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    pub(super) result: i32,
    flags: u32,
}

const _: () = assert!(size_of::<Parameters>() == 120 && size_of::<Entry>() == 64);
const _: () = assert!(size_of::<Completion>() == 16);

impl Entry {
    /// A write of the first registered file; from the first registered buffer if `registered`.
    pub(super) fn write(
        registered: bool,
        place: *mut u8,
        length: usize,
        offset_bytes: u64,
        slot: u32,
    ) -> Self {
        Self {
            operation: if registered { OPERATION_WRITE_FIXED } else { OPERATION_WRITE },
            flags: ENTRY_FIXED_FILE,
            priority: 0,
            file: 0,
            offset_bytes,
            address: place as u64,
            // A slot has at most 1 GiB.
            length_bytes: length as u32,
            write_flags: 0,
            user_data: u64::from(slot),
            buffer: 0,
            personality: 0,
            splice: 0,
            padding: [0; 2],
        }
    }
}

pub(super) fn setup(entries: u32, parameters: &mut Parameters) -> io::Result<OwnedFd> {
    let parameters: *mut Parameters = parameters;
    // SAFETY: the structure has the kernel's size and is writable.
    let fd = unsafe { libc::syscall(SYS_SETUP, entries, parameters) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us; it is an int.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Submits and waits; returns how many entries were taken.
pub(super) fn enter(ring: &OwnedFd, submit: u32, complete: u32, flags: u32) -> io::Result<u32> {
    let (fd, no_mask) = (ring.as_raw_fd(), std::ptr::null::<libc::c_void>());
    // SAFETY: no memory is passed; what the entries point to is kept by `Slots` until completed.
    let taken = unsafe { libc::syscall(SYS_ENTER, fd, submit, complete, flags, no_mask, 0_usize) };
    u32::try_from(taken).map_err(|_| io::Error::last_os_error())
}

pub(super) fn register_file(ring: &OwnedFd, file: &File) -> io::Result<()> {
    let files = [file.as_raw_fd()];
    register(ring, REGISTER_FILES, files.as_ptr().cast())
}

pub(super) fn register_memory(ring: &OwnedFd, start: *mut u8, bytes: usize) -> io::Result<()> {
    let whole = [libc::iovec { iov_base: start.cast(), iov_len: bytes }];
    register(ring, REGISTER_BUFFERS, whole.as_ptr().cast())
}

/// Registers one thing.
fn register(ring: &OwnedFd, what: libc::c_uint, one: *const libc::c_void) -> io::Result<()> {
    // SAFETY: `one` points to an array of one element of the kind that `what` asks for, which the
    // kernel reads during the call.
    match unsafe { libc::syscall(SYS_REGISTER, ring.as_raw_fd(), what, one, 1_u32) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
