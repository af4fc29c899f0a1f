//! `syscall()`: large reads, writes and submissions through it are counted and passed on, so that the
//! controller can say why a program is not cut. They are not cut, because who goes around the C library
//! may also expect what only the kernel does.
//!
//! In C the function takes any number of arguments, which Rust cannot define. On x86-64, aarch64 and
//! armv7 a function with seven arguments of a register's size finds them where a caller of the C
//! function has put them; what a caller did not put there is passed on and not looked at.

use crate::aio_table::{Iocb, PREAD, PWRITE};
use crate::layout::Counter;
use crate::next;
use crate::share::{Way, count, is_large};
use core::ffi::c_long;
use core::{ptr, slice};

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    match number {
        libc::SYS_read | libc::SYS_pread64 if is_large(Way::Read, c as usize) => {
            count(Counter::Raw, 1);
        }
        libc::SYS_write | libc::SYS_pwrite64 if is_large(Way::Write, c as usize) => {
            count(Counter::Raw, 1);
        }
        // SAFETY: the program's own arguments.
        libc::SYS_io_submit if unsafe { submits_large(b, c) } => count(Counter::Raw, 1),
        libc::SYS_io_uring_setup => count(Counter::IoUring, 1),
        _ => {}
    }
    next::system_call(number, [a, b, c, d, e, f])
}

/// True if one of the submitted requests is a large read or write of one buffer.
///
/// # Safety
/// The arguments are those of a submission.
unsafe fn submits_large(len: c_long, requests: c_long) -> bool {
    let start: *const *const Iocb = ptr::with_exposed_provenance(requests as usize);
    if start.is_null() || !(1..=1 << 16).contains(&len) {
        return false;
    }
    // SAFETY: by the contract of this function.
    let requests = unsafe { slice::from_raw_parts(start, len as usize) };
    requests.iter().filter(|iocb| !iocb.is_null()).any(|iocb| {
        // SAFETY: as above.
        let (opcode, bytes) = unsafe { ((**iocb).opcode, (**iocb).len as usize) };
        match opcode {
            PREAD => is_large(Way::Read, bytes),
            PWRITE => is_large(Way::Write, bytes),
            _ => false,
        }
    })
}
