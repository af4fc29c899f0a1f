//! libaio's functions: large requests are entered into the table and submitted as their first piece.
//! What then happens with their events is in `aio_events`.
//!
//! The functions have no version of libaio's, so they also stand in for `io_getevents` and `io_cancel`
//! of version 0.1, whose arguments differ; no program since 2003 is linked to these. Held by
//! `tests/libaio.rs`.

use crate::aio_events::{self, Event, Wait};
use crate::aio_table::{Iocb, PREAD, PREADV, PWRITE, PWRITEV, TABLE};
use crate::layout::Counter;
use crate::share::{self, Way, count, is_large};
use crate::{cut, judge, next};
use core::ffi::{c_int, c_long, c_void};
use core::{ptr, slice};
use libc::{iovec, timespec};

const FLAG_EVENT_FD: u32 = 1;

/// More at once are passed on as they are; the kernel takes no ring of so many.
const SUBMIT_MAX: c_long = 1 << 16;

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn io_submit(
    context: usize,
    len: c_long,
    requests: *mut *mut Iocb,
) -> c_int {
    let idle = share::piece_bytes(Way::Read) == 0 && share::piece_bytes(Way::Write) == 0;
    if idle && TABLE.is_empty() || requests.is_null() || !(1..=SUBMIT_MAX).contains(&len) {
        return aio_events::submit(context, len, requests);
    }
    // SAFETY: the program says that there are so many.
    let requests = unsafe { slice::from_raw_parts_mut(requests, len as usize) };
    let mut cut = 0;
    for iocb in requests.iter().copied().filter(|iocb| !iocb.is_null()) {
        if TABLE.forget(context, iocb) {
            aio_events::reaps_itself(context);
        }
        // SAFETY: the program submits it, so it is one.
        cut += usize::from(unsafe { begin(context, iocb) });
    }
    let taken = aio_events::submit(context, len, requests.as_mut_ptr());
    if cut > 0 {
        // What the kernel did not take has no event, and goes back to the program as it was.
        for iocb in requests.iter().skip(taken.max(0) as usize) {
            TABLE.withdraw(context, *iocb);
        }
    }
    taken
}

/// Enters a request if it is large and may be cut. True if it was.
///
/// # Safety
/// `iocb` is one.
unsafe fn begin(context: usize, iocb: *mut Iocb) -> bool {
    // SAFETY: by the contract of this function.
    let request = unsafe { *iocb };
    let way = match request.opcode {
        PREAD | PREADV => Way::Read,
        PWRITE | PWRITEV => Way::Write,
        _ => return false,
    };
    if share::piece_bytes(way) == 0 {
        return false;
    }
    let before = next::errno();
    // SAFETY: the request's own buffers.
    let answer = unsafe { enter(context, iocb, &request, way) };
    next::set_errno(before);
    match answer {
        Ok(()) => true,
        Err(left_alone) => {
            if let Some(why) = left_alone {
                count(why, 1);
            }
            false
        }
    }
}

/// # Safety
/// `request` is what is at `iocb`.
unsafe fn enter(
    context: usize,
    iocb: *mut Iocb,
    request: &Iocb,
    way: Way,
) -> Result<(), judge::LeftAlone> {
    let start: *mut c_void = ptr::with_exposed_provenance_mut(request.buffer as usize);
    let one = [iovec { iov_base: start, iov_len: request.len as usize }];
    let list: &[iovec] = match request.opcode {
        PREADV | PWRITEV if start.is_null() || !(1..=1024).contains(&request.len) => &[],
        // SAFETY: the program says that there are so many.
        PREADV | PWRITEV => unsafe { slice::from_raw_parts(start.cast(), request.len as usize) },
        _ => &one,
    };
    if !judge::total_bytes(list).is_some_and(|total| is_large(way, total)) {
        return Err(None);
    }
    let (fd, flags) = (request.fd as c_int, request.rw_flags as c_int);
    let plan = judge::plan(fd, way, flags, list, share::piece_bytes(way))?;
    judge::judge_start(request.offset, way, &plan)?;
    // An eventfd counts pieces, and a program then waits for as many requests.
    if request.flags & FLAG_EVENT_FD != 0 {
        return Err(Some(Counter::AioEventfd));
    }
    if !aio_events::may_cut(context) {
        return Err(Some(Counter::AioNotReaped));
    }
    if !TABLE.begin(context, iocb, list, plan.total_bytes, plan.piece_bytes) {
        return Err(Some(Counter::AioFull));
    }
    Ok(())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn io_getevents(
    context: usize,
    least: c_long,
    most: c_long,
    events: *mut Event,
    limit: *mut timespec,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { aio_events::reap(context, least, most, events, limit, Wait::Plain) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn io_pgetevents(
    context: usize,
    least: c_long,
    most: c_long,
    events: *mut Event,
    limit: *mut timespec,
    mask: *mut c_void,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { aio_events::reap(context, least, most, events, limit, Wait::Masked(mask)) }
}

/// A request that was cancelled at once has no event; any other goes on through its event.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn io_cancel(
    context: usize,
    iocb: *mut Iocb,
    event: *mut c_void,
) -> c_int {
    let result = match next::IO_CANCEL.get() {
        // SAFETY: the program's own arguments.
        Some(function) => unsafe { function(context, iocb.cast(), event) },
        None => aio_events::raw(
            libc::SYS_io_cancel,
            [context as c_long, iocb.addr() as c_long, event.addr() as c_long, 0, 0, 0],
        ),
    };
    if result == 0 {
        TABLE.withdraw(context, iocb);
    }
    result
}

/// The kernel waits for what is under way, and that is whole requests: all pieces are done first.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn io_destroy(context: usize) -> c_int {
    aio_events::finish_all(context);
    aio_events::forget_context(context);
    match next::IO_DESTROY.get() {
        // SAFETY: the program's own argument.
        Some(function) => unsafe { function(context) },
        None => aio_events::raw(libc::SYS_io_destroy, [context as c_long, 0, 0, 0, 0, 0]),
    }
}

/// The most buffers that a request can keep while it is cut; more are left alone.
const _: () = assert!(cut::LIST_MAX >= 16);
