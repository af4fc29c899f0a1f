//! Reaping: the event of a piece is swallowed and its next piece submitted; the last one is handed on
//! with the result of the whole request.
//!
//! While a context has requests that are cut, the kernel is asked for one event at a time: no piece
//! waits for the events of others, and a wait for several is as long as the program said
//! (`tests/libaio.rs`).
//!
//! A program may also read completions from the ring in its memory, without any call. It would see
//! pieces. So requests of a context are cut only once events came through here, and never again if a
//! request that is being cut is submitted anew.

use crate::aio_table::{After, Iocb, TABLE};
use crate::layout::Counter;
use crate::next;
use crate::share::count;
use core::ffi::{c_int, c_long, c_void};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use libc::timespec;

/// The kernel's and libaio's `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// Contexts known at a time; more are not cut.
const CONTEXTS_MAX: usize = 64;
/// Of 20 ms each: five seconds, longer than a disk that works takes for a piece.
const SILENCE_STEPS_MAX: u32 = 250;
/// How often a piece is offered again to a kernel that has no room for it.
const OFFERS_MAX: u32 = 1000;
/// Contexts are addresses of pages, so the lowest bit is free: set, the context reaps for itself.
const REAPS_ITSELF: usize = 1;

/// The number of `io_pgetevents`, which the C types lack; where it is not known, none.
const SYS_IO_PGETEVENTS: c_long = if cfg!(target_arch = "x86_64") {
    333
} else if cfg!(target_arch = "aarch64") {
    292
} else if cfg!(target_arch = "arm") {
    399
} else {
    -1
};

static CONTEXTS: [AtomicUsize; CONTEXTS_MAX] = [const { AtomicUsize::new(0) }; CONTEXTS_MAX];

/// True if the requests of a context may be cut.
pub(crate) fn may_cut(context: usize) -> bool {
    CONTEXTS.iter().any(|known| known.load(Relaxed) == context)
}

fn saw_events(context: usize) {
    let is_known = |known: &AtomicUsize| known.load(Relaxed) & !REAPS_ITSELF == context;
    if !CONTEXTS.iter().any(is_known) {
        let take = |free: &AtomicUsize| free.compare_exchange(0, context, Relaxed, Relaxed).is_ok();
        let _ = CONTEXTS.iter().any(take);
    }
}

/// A piece was reaped behind our back: never again on this context.
pub(crate) fn reaps_itself(context: usize) {
    for known in CONTEXTS.iter().filter(|known| known.load(Relaxed) == context) {
        known.store(context | REAPS_ITSELF, Relaxed);
    }
}

/// The context is gone; its number may come back as another.
pub(crate) fn forget_context(context: usize) {
    for known in CONTEXTS.iter().filter(|k| k.load(Relaxed) & !REAPS_ITSELF == context) {
        known.store(0, Relaxed);
    }
}

/// In a new process, which has no contexts.
#[cfg(not(test))]
pub(crate) fn forget_contexts() {
    CONTEXTS.iter().for_each(|known| known.store(0, Relaxed));
}

/// Submits as libaio does: the number of requests taken, or a negative errno. Not through libaio, which
/// would come back to our `syscall` and have its large requests counted there.
pub(crate) fn submit(context: usize, len: c_long, requests: *mut *mut Iocb) -> c_int {
    raw(libc::SYS_io_submit, [context as c_long, len, requests.addr() as c_long, 0, 0, 0])
}

/// A system call with libaio's way to tell errors; errno stays as it is.
pub(crate) fn raw(number: c_long, arguments: [c_long; 6]) -> c_int {
    let before = next::errno();
    let result = next::system_call(number, arguments);
    if result >= 0 {
        return result as c_int;
    }
    let error = next::errno();
    next::set_errno(before);
    -error
}

/// Which of the two functions the program called, with the mask of signals.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wait {
    Plain,
    Masked(*mut c_void),
}

/// Waits for events as the program asked. `limit` is how long, null for ever.
unsafe fn ask(
    context: usize,
    least: c_long,
    most: c_long,
    events: *mut Event,
    limit: *mut timespec,
    wait: Wait,
) -> c_int {
    let arguments =
        [context as c_long, least, most, events.addr() as c_long, limit.addr() as c_long, 0];
    match (wait, next::IO_GETEVENTS.get(), next::IO_PGETEVENTS.get()) {
        // SAFETY: the program's own arguments, or parts of them.
        (Wait::Plain, Some(function), _) => unsafe {
            function(context, least, most, events.cast(), limit)
        },
        (Wait::Plain, None, _) => raw(libc::SYS_io_getevents, arguments),
        // SAFETY: as above.
        (Wait::Masked(mask), _, Some(function)) => unsafe {
            function(context, least, most, events.cast(), limit, mask)
        },
        (Wait::Masked(mask), _, None) => {
            let [a, b, c, d, e, _] = arguments;
            // The kernel's pair of a mask and its size.
            let pair: [usize; 2] = [mask.addr(), 8];
            raw(SYS_IO_PGETEVENTS, [a, b, c, d, e, pair.as_ptr().addr() as c_long])
        }
    }
}

/// What `io_getevents` and `io_pgetevents` do.
///
/// # Safety
/// The arguments are those of the program: room for `most` events.
pub(crate) unsafe fn reap(
    context: usize,
    least: c_long,
    most: c_long,
    events: *mut Event,
    limit: *mut timespec,
    wait: Wait,
) -> c_int {
    let begin = if limit.is_null() { None } else { Some(now()) };
    // SAFETY: not null, so the program's limit.
    let allowed = begin.map(|_| unsafe { *limit });
    let mut delivered: c_long = 0;
    let mut left = allowed;
    loop {
        // What the program said is the kernel's to judge, until something was delivered.
        let missing = if delivered == 0 { least } else { (least - delivered).max(0) };
        let step = if missing > 1 && TABLE.has(context) { 1 } else { missing };
        let room = events.wrapping_add(delivered as usize);
        let limit_now = left.as_mut().map_or(limit, ptr::from_mut);
        // SAFETY: the room that is left of the program's.
        let found = unsafe { ask(context, step, most - delivered, room, limit_now, wait) };
        if found <= 0 {
            return if delivered > 0 { delivered as c_int } else { found };
        }
        saw_events(context);
        // SAFETY: the kernel has just filled so many.
        delivered += unsafe { keep_whole(context, room, found as usize) } as c_long;
        if delivered >= least || delivered >= most {
            return delivered as c_int;
        }
        left = allowed.zip(begin).map(|(allowed, begin)| rest(allowed, begin, now()));
    }
}

/// Goes through `found` events, submits next pieces, and moves those that are of whole requests to the
/// front. Returns how many.
///
/// # Safety
/// `events` are that many.
unsafe fn keep_whole(context: usize, events: *mut Event, found: usize) -> usize {
    if TABLE.is_empty() {
        return found;
    }
    let mut kept = 0;
    for index in 0..found {
        // SAFETY: below `found`, and `kept` is never above `index`.
        unsafe {
            let mut event = *events.add(index);
            if finish(context, &mut event) {
                *events.add(kept) = event;
                kept += 1;
            }
        }
    }
    kept
}

/// True if the event is for the program; false if the next piece is under way.
fn finish(context: usize, event: &mut Event) -> bool {
    let iocb: *mut Iocb = ptr::with_exposed_provenance_mut(event.object as usize);
    let mut after = TABLE.after(context, iocb, event.result);
    if after == After::Submit {
        // Once this returns true the request belongs to who reaps its piece.
        if offer(context, iocb) {
            return false;
        }
        after = TABLE.give_up(context, iocb);
    }
    if let After::Done { result, pieces } = after {
        event.result = result;
        count(Counter::CallsCut, 1);
        count(Counter::Pieces, pieces);
        count(Counter::BytesCut, result.max(0) as u64);
    }
    true
}

fn offer(context: usize, iocb: *mut Iocb) -> bool {
    for _ in 0..OFFERS_MAX {
        match submit(context, 1, (&raw const iocb).cast_mut()) {
            1 => return true,
            error if error != -libc::EAGAIN && error != -libc::EINTR => return false,
            // SAFETY: takes nothing. The ring has room again when others have reaped.
            _ => unsafe { libc::sched_yield() },
        };
    }
    false
}

/// Reaps until no request of the context is being cut; what else comes is lost, as it is when a
/// context is destroyed. Others may reap as well, and a program that took a piece's event from the ring has
/// left a request that never ends: so it waits in steps, and not longer than [`SILENCE_STEPS_MAX`] of them
/// without an event.
pub(crate) fn finish_all(context: usize) {
    let none = Event { data: 0, object: 0, result: 0, result2: 0 };
    let mut events = [none; 16];
    let mut silent_steps = 0;
    while silent_steps < SILENCE_STEPS_MAX && TABLE.has(context) {
        let (room, most) = (events.as_mut_ptr(), events.len() as c_long);
        let mut step = timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        // SAFETY: room for as many events as said.
        let found = unsafe { ask(context, 1, most, room, &raw mut step, Wait::Plain) };
        if found > 0 {
            silent_steps = 0;
            // SAFETY: the kernel has just filled so many.
            unsafe { keep_whole(context, room, found as usize) };
        } else if found == 0 {
            silent_steps += 1;
        } else if found != -libc::EINTR {
            break;
        }
    }
    TABLE.forget_all(context);
}

fn now() -> timespec {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel or its shared page fills it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now
}

/// What is left of `allowed` since `begin`, never below 0.
fn rest(allowed: timespec, begin: timespec, now: timespec) -> timespec {
    let mut tv_sec = allowed.tv_sec.saturating_sub(now.tv_sec - begin.tv_sec);
    let mut tv_nsec = allowed.tv_nsec - (now.tv_nsec - begin.tv_nsec);
    if tv_nsec < 0 {
        (tv_sec, tv_nsec) = (tv_sec - 1, tv_nsec + 1_000_000_000);
    } else if tv_nsec >= 1_000_000_000 {
        (tv_sec, tv_nsec) = (tv_sec + 1, tv_nsec - 1_000_000_000);
    }
    if tv_sec < 0 { timespec { tv_sec: 0, tv_nsec: 0 } } else { timespec { tv_sec, tv_nsec } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_cut_once_they_reap_here_and_never_if_they_reap_themselves() {
        let (a, b) = (0x1000, 0x2000);
        assert!(!may_cut(a));
        saw_events(a);
        saw_events(a);
        saw_events(b);
        assert!(may_cut(a) && may_cut(b));
        reaps_itself(a);
        saw_events(a);
        assert!(!may_cut(a) && may_cut(b));
        forget_context(a);
        assert!(!may_cut(a));
        saw_events(a);
        assert!(may_cut(a));
        forget_context(a);
        forget_context(b);
        assert!(CONTEXTS.iter().all(|known| known.load(Relaxed) == 0));
    }

    #[test]
    fn what_is_left_of_a_limit_is_never_below_nothing() {
        let at = |tv_sec, tv_nsec| timespec { tv_sec, tv_nsec };
        let left = rest(at(2, 500_000_000), at(10, 900_000_000), at(12, 100_000_000));
        assert_eq!((left.tv_sec, left.tv_nsec), (1, 300_000_000));
        let none = rest(at(1, 0), at(10, 0), at(20, 0));
        assert_eq!((none.tv_sec, none.tv_nsec), (0, 0));
        let long = rest(at(i64::MAX, 0), at(10, 0), at(11, 0));
        assert_eq!(long.tv_sec, i64::MAX - 1);
    }
}
