//! The families of read and write: what is small goes on to the next function at once, what is large
//! and may be cut is cut.
//!
//! Calls without an offset take their range from the descriptor's position before the first piece, and
//! give back what was not done, so that readers of one descriptor never share bytes
//! (`test threads_share_a_descriptor`). errno is untouched on success.

use crate::layout::Counter;
use crate::share::{self, Way, count, is_large};
use crate::{cut, judge, next};
use core::ffi::{c_int, c_long, c_void};
use core::slice;
use libc::{iovec, off_t, size_t, ssize_t};

/// Where a call begins.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// The descriptor's position, which the call moves.
    Position,
    Offset(i64),
}

/// The kernel's limit of buffers in one call.
const LIST_LEN_MAX: c_int = 1024;

/// What a call of one buffer returns if it was cut; nothing if it is to be passed on whole.
#[cold]
#[inline(never)]
fn cut_buffer(way: Way, fd: c_int, start: *mut c_void, len: size_t, at: Start) -> Option<ssize_t> {
    cut_list(way, fd, &[iovec { iov_base: start, iov_len: len }], at, 0)
}

/// The same for a call with a list of buffers, which is only looked at if anything is cut at all.
#[inline]
unsafe fn cut_vector(
    way: Way,
    fd: c_int,
    list: *const iovec,
    len: c_int,
    at: Start,
    flags: c_int,
) -> Option<ssize_t> {
    if share::piece_bytes(way) == 0 || list.is_null() || !(1..=LIST_LEN_MAX).contains(&len) {
        return None;
    }
    // SAFETY: the caller says that there are so many.
    let list = unsafe { slice::from_raw_parts(list, len as usize) };
    let total = judge::total_bytes(list)?;
    if is_large(way, total) { cut_list(way, fd, list, at, flags) } else { None }
}

#[cold]
#[inline(never)]
fn cut_list(way: Way, fd: c_int, list: &[iovec], at: Start, flags: c_int) -> Option<ssize_t> {
    let before = next::errno();
    let answer = try_cut(way, fd, list, at, flags);
    if !matches!(answer, Ok(result) if result < 0) {
        next::set_errno(before);
    }
    match answer {
        Ok(result) => Some(result),
        Err(left_alone) => {
            if let Some(why) = left_alone {
                count(why, 1);
            }
            None
        }
    }
}

fn try_cut(
    way: Way,
    fd: c_int,
    list: &[iovec],
    at: Start,
    flags: c_int,
) -> Result<ssize_t, judge::LeftAlone> {
    let mut plan = judge::plan(fd, way, flags, list, share::piece_bytes(way))?;
    let start = match at {
        Start::Offset(start) => {
            judge::judge_start(start, way, &plan)?;
            start
        }
        Start::Position => {
            if plan.is_block_device {
                end_with_device(fd, &mut plan)?;
            }
            reserve(fd, way, &plan)?
        }
    };
    let outcome = cut::run(list, plan.total_bytes, plan.piece_bytes, |part, done| {
        submit(way, fd, part, start + done as i64, flags)
    });
    if let Start::Position = at {
        let error = next::errno();
        let missing = plan.total_bytes - outcome.result.max(0) as usize;
        give_back(fd, way, start + plan.total_bytes as i64, missing);
        next::set_errno(error);
    }
    count(Counter::CallsCut, 1);
    count(Counter::Pieces, outcome.pieces);
    count(Counter::BytesCut, outcome.result.max(0) as u64);
    Ok(outcome.result)
}

/// Submits one piece.
fn submit(way: Way, fd: c_int, part: &[iovec], at: i64, flags: c_int) -> isize {
    let (list, len) = (part.as_ptr(), part.len() as c_int);
    // SAFETY: the buffers are parts of the caller's; the types are 64-bit whatever the machine.
    unsafe {
        match (part, flags, way) {
            ([one], 0, Way::Read) => pass::pread64(fd, one.iov_base, one.iov_len, at),
            ([one], 0, Way::Write) => pass::pwrite64(fd, one.iov_base, one.iov_len, at),
            (_, 0, Way::Read) => pass::preadv64(fd, list, len, at),
            (_, 0, Way::Write) => pass::pwritev64(fd, list, len, at),
            (_, _, Way::Read) => pass::preadv64v2(fd, list, len, at, flags),
            (_, _, Way::Write) => pass::pwritev64v2(fd, list, len, at, flags),
        }
    }
}

/// A position cannot be moved behind the end of a device, where the call would be short anyway.
fn end_with_device(fd: c_int, plan: &mut judge::Plan) -> Result<(), judge::LeftAlone> {
    const BLKGETSIZE64: u32 = 0x8000_1272 | (size_of::<usize>() as u32) << 16;
    let mut size_bytes = 0u64;
    // SAFETY: the kernel fills one number of 64 bits.
    let asked = unsafe { libc::ioctl(fd, BLKGETSIZE64 as _, &raw mut size_bytes) };
    // SAFETY: asks for the position only.
    let position = unsafe { libc::lseek64(fd, 0, libc::SEEK_CUR) };
    if asked != 0 || position < 0 {
        return Err(Some(Counter::Other));
    }
    let left = size_bytes.saturating_sub(position as u64);
    plan.total_bytes = plan.total_bytes.min(usize::try_from(left).unwrap_or(usize::MAX));
    if plan.total_bytes <= plan.piece_bytes { Err(None) } else { Ok(()) }
}

/// Moves the position behind the call and returns where the call begins.
fn reserve(fd: c_int, way: Way, plan: &judge::Plan) -> Result<i64, judge::LeftAlone> {
    let total = plan.total_bytes as i64;
    // SAFETY: moves the position of a descriptor that is the caller's.
    let end = unsafe { libc::lseek64(fd, total, libc::SEEK_CUR) };
    if end < 0 {
        return Err(Some(Counter::Other));
    }
    judge::judge_start(end - total, way, plan).inspect_err(|_| {
        give_back(fd, way, end, plan.total_bytes);
    })?;
    Ok(end - total)
}

/// Moves the position back by what was reserved and not done.
///
/// At the end of a file all readers give back, in any order, and end where the file does. A writer that
/// failed while others already write behind its range leaves a hole: going back, the next would write
/// over what these have written.
fn give_back(fd: c_int, way: Way, end: i64, missing_bytes: usize) {
    // SAFETY: as in `reserve`.
    unsafe {
        let is_ours = way == Way::Read || libc::lseek64(fd, 0, libc::SEEK_CUR) == end;
        if missing_bytes > 0 && is_ours {
            libc::lseek64(fd, -(missing_bytes as i64), libc::SEEK_CUR);
        }
    }
}

/// Each function as it would have been called without us.
mod pass {
    use super::*;

    macro_rules! pass {
        ($name:ident = $next:ident($($arg:ident: $type:ty),*) else $fallback:expr) => {
            #[inline(always)]
            pub(super) unsafe fn $name($($arg: $type),*) -> ssize_t {
                match next::$next.get() {
                    // SAFETY: the caller's own arguments.
                    Some(function) => unsafe { function($($arg),*) },
                    None => $fallback,
                }
            }
        };
    }

    macro_rules! pass_at {
        ($name:ident, $next:ident, $off:ty, $kind:ty, $len:ty, $number:ident) => {
            pass!($name = $next(fd: c_int, data: $kind, len: $len, at: $off) else
                next::system_call_at(libc::$number,
                    [fd.into(), data.addr() as c_long, len as c_long], at as i64, 0));
        };
    }

    macro_rules! pass_flags {
        ($name:ident, $next:ident, $off:ty, $number:ident) => {
            pass!($name = $next(fd: c_int, list: *const iovec, len: c_int, at: $off, flags: c_int)
                else next::system_call_at(libc::$number,
                    [fd.into(), list.addr() as c_long, len.into()], at as i64, flags));
        };
    }

    type Buffer = *mut c_void;
    type List = *const iovec;

    pass!(read = READ(fd: c_int, data: Buffer, len: size_t) else
        next::system_call(libc::SYS_read,
            [fd.into(), data.addr() as c_long, len as c_long, 0, 0, 0]) as ssize_t);
    pass!(write = WRITE(fd: c_int, data: Buffer, len: size_t) else
        next::system_call(libc::SYS_write,
            [fd.into(), data.addr() as c_long, len as c_long, 0, 0, 0]) as ssize_t);
    pass!(readv = READV(fd: c_int, list: List, len: c_int) else
        next::system_call(libc::SYS_readv,
            [fd.into(), list.addr() as c_long, len.into(), 0, 0, 0]) as ssize_t);
    pass!(writev = WRITEV(fd: c_int, list: List, len: c_int) else
        next::system_call(libc::SYS_writev,
            [fd.into(), list.addr() as c_long, len.into(), 0, 0, 0]) as ssize_t);
    pass_at!(pread, PREAD, off_t, Buffer, size_t, SYS_pread64);
    pass_at!(pwrite, PWRITE, off_t, Buffer, size_t, SYS_pwrite64);
    pass_at!(pread64, PREAD64, i64, Buffer, size_t, SYS_pread64);
    pass_at!(pwrite64, PWRITE64, i64, Buffer, size_t, SYS_pwrite64);
    pass_at!(preadv, PREADV, off_t, List, c_int, SYS_preadv);
    pass_at!(pwritev, PWRITEV, off_t, List, c_int, SYS_pwritev);
    pass_at!(preadv64, PREADV64, i64, List, c_int, SYS_preadv);
    pass_at!(pwritev64, PWRITEV64, i64, List, c_int, SYS_pwritev);
    pass_flags!(preadv2, PREADV2, off_t, SYS_preadv2);
    pass_flags!(pwritev2, PWRITEV2, off_t, SYS_pwritev2);
    pass_flags!(preadv64v2, PREADV64V2, i64, SYS_preadv2);
    pass_flags!(pwritev64v2, PWRITEV64V2, i64, SYS_pwritev2);
}

macro_rules! whole {
    ($name:ident, $way:ident, $data:ty) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C-unwind" fn $name(fd: c_int, data: $data, len: size_t) -> ssize_t {
            let data = data as *mut c_void;
            if is_large(Way::$way, len)
                && let Some(result) = cut_buffer(Way::$way, fd, data, len, Start::Position)
            {
                return result;
            }
            // SAFETY: the caller's own arguments.
            unsafe { pass::$name(fd, data, len) }
        }
    };
}

macro_rules! at {
    ($name:ident, $way:ident, $data:ty, $off:ty) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            data: $data,
            len: size_t,
            at: $off,
        ) -> ssize_t {
            let data = data as *mut c_void;
            if is_large(Way::$way, len)
                && let Some(result) = cut_buffer(Way::$way, fd, data, len, Start::Offset(at as i64))
            {
                return result;
            }
            // SAFETY: the caller's own arguments.
            unsafe { pass::$name(fd, data, len, at) }
        }
    };
}

macro_rules! list {
    ($name:ident, $way:ident) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C-unwind" fn $name(fd: c_int, list: *const iovec, len: c_int) -> ssize_t {
            // SAFETY: the caller's own arguments.
            unsafe {
                match cut_vector(Way::$way, fd, list, len, Start::Position, 0) {
                    Some(result) => result,
                    None => pass::$name(fd, list, len),
                }
            }
        }
    };
}

macro_rules! list_at {
    ($name:ident, $way:ident, $off:ty) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            list: *const iovec,
            len: c_int,
            at: $off,
        ) -> ssize_t {
            // SAFETY: the caller's own arguments.
            unsafe {
                match cut_vector(Way::$way, fd, list, len, Start::Offset(at as i64), 0) {
                    Some(result) => result,
                    None => pass::$name(fd, list, len, at),
                }
            }
        }
    };
}

macro_rules! list_flags {
    ($name:ident, $way:ident, $off:ty) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            list: *const iovec,
            len: c_int,
            at: $off,
            flags: c_int,
        ) -> ssize_t {
            let start = if at == -1 { Start::Position } else { Start::Offset(at as i64) };
            // SAFETY: the caller's own arguments.
            unsafe {
                match cut_vector(Way::$way, fd, list, len, start, flags) {
                    Some(result) => result,
                    None => pass::$name(fd, list, len, at, flags),
                }
            }
        }
    };
}

whole!(read, Read, *mut c_void);
whole!(write, Write, *const c_void);
at!(pread, Read, *mut c_void, off_t);
at!(pwrite, Write, *const c_void, off_t);
at!(pread64, Read, *mut c_void, i64);
at!(pwrite64, Write, *const c_void, i64);
list!(readv, Read);
list!(writev, Write);
list_at!(preadv, Read, off_t);
list_at!(pwritev, Write, off_t);
list_at!(preadv64, Read, i64);
list_at!(pwritev64, Write, i64);
list_flags!(preadv2, Read, off_t);
list_flags!(pwritev2, Write, off_t);
list_flags!(preadv64v2, Read, i64);
list_flags!(pwritev64v2, Write, i64);

/// What glibc's headers make of `read` where they know how large the buffer is. What is too large for
/// it goes to glibc's own check, which ends the program.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    room: size_t,
) -> ssize_t {
    if len <= room
        && is_large(Way::Read, len)
        && let Some(result) = cut_buffer(Way::Read, fd, data, len, Start::Position)
    {
        return result;
    }
    // SAFETY: the caller's own arguments.
    unsafe {
        match next::READ_CHK.get() {
            Some(function) => function(fd, data, len, room),
            None if len > room => libc::abort(),
            None => pass::read(fd, data, len),
        }
    }
}

macro_rules! checked_at {
    ($name:ident, $next:ident, $plain:ident, $off:ty) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            data: *mut c_void,
            len: size_t,
            at: $off,
            room: size_t,
        ) -> ssize_t {
            if len <= room
                && is_large(Way::Read, len)
                && let Some(result) = cut_buffer(Way::Read, fd, data, len, Start::Offset(at as i64))
            {
                return result;
            }
            // SAFETY: the caller's own arguments.
            unsafe {
                match next::$next.get() {
                    Some(function) => function(fd, data, len, at, room),
                    None if len > room => libc::abort(),
                    None => pass::$plain(fd, data, len, at),
                }
            }
        }
    };
}

checked_at!(__pread_chk, PREAD_CHK, pread, off_t);
checked_at!(__pread64_chk, PREAD64_CHK, pread64, i64);
