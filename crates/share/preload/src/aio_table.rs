//! The requests of libaio that are being cut, in a fixed table: what each was, and how far it is.
//!
//! A request is submitted piece by piece under its own address, by changing the program's `iocb` while
//! pieces are under way. So an event always names a request that the program knows, and one that reaps
//! behind our back sees a short result at worst. At the end the `iocb` is as it was.
//!
//! Invariants: each request here has exactly one piece under way, and who holds that piece's event
//! alone goes on with it; the lock is held for memory only, never across a system call
//! (`test a_request_comes_back_as_it_was_whatever_its_pieces_return`).

use crate::cut::{Cursor, LIST_MAX, NO_LIST};
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use libc::iovec;

/// Requests cut at one time in a process. Each is large, so this many keep any disk busy.
pub(crate) const REQUESTS_MAX: usize = 256;

pub(crate) const PREAD: u16 = 0;
pub(crate) const PWRITE: u16 = 1;
pub(crate) const PREADV: u16 = 7;
pub(crate) const PWRITEV: u16 = 8;

/// The kernel's `struct iocb`, which is libaio's too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Iocb {
    pub(crate) data: u64,
    #[cfg(target_endian = "little")]
    pub(crate) key: u32,
    pub(crate) rw_flags: u32,
    #[cfg(target_endian = "big")]
    pub(crate) key: u32,
    pub(crate) opcode: u16,
    pub(crate) priority: i16,
    pub(crate) fd: u32,
    pub(crate) buffer: u64,
    pub(crate) len: u64,
    pub(crate) offset: i64,
    pub(crate) reserved: u64,
    pub(crate) flags: u32,
    pub(crate) event_fd: u32,
}

impl Iocb {
    const NONE: Iocb = Iocb {
        data: 0,
        key: 0,
        rw_flags: 0,
        opcode: 0,
        priority: 0,
        fd: 0,
        buffer: 0,
        len: 0,
        offset: 0,
        reserved: 0,
        flags: 0,
        event_fd: 0,
    };

    fn is_vector(&self) -> bool {
        matches!(self.opcode, PREADV | PWRITEV)
    }
}

/// What follows after a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The event is not of a request that is being cut.
    NotOurs,
    /// The request is set to its next piece, to be submitted by who asked.
    Submit,
    /// The request is done and as it was; its result, and how many pieces it was.
    Done { result: i64, pieces: u64 },
}

#[derive(Clone, Copy)]
struct Request {
    context: usize,
    iocb: *mut Iocb,
    was: Iocb,
    total_bytes: usize,
    piece_bytes: usize,
    done_bytes: usize,
    asked_bytes: usize,
    pieces: u64,
    cursor: Cursor,
    /// The program may free its list once a request is submitted.
    list: [iovec; LIST_MAX],
    list_len: usize,
    part: [iovec; LIST_MAX],
}

impl Request {
    const NONE: Request = Request {
        context: 0,
        iocb: core::ptr::null_mut(),
        was: Iocb::NONE,
        total_bytes: 0,
        piece_bytes: 0,
        done_bytes: 0,
        asked_bytes: 0,
        pieces: 0,
        cursor: Cursor::START,
        list: NO_LIST,
        list_len: 0,
        part: NO_LIST,
    };

    /// Sets the program's `iocb` to the next piece.
    fn set_next(&mut self) {
        let wanted = self.piece_bytes.min(self.total_bytes - self.done_bytes);
        let list = self.list.get(..self.list_len).unwrap_or(&[]);
        let (used, asked) = self.cursor.take(list, wanted, &mut self.part);
        self.asked_bytes = asked;
        self.pieces += 1;
        let (buffer, len) = if self.was.is_vector() {
            (self.part.as_ptr().addr(), used)
        } else {
            let first = self.part.first().map_or(0, |b| b.iov_base.addr());
            (first, asked)
        };
        // SAFETY: the program keeps an iocb until its event has come.
        unsafe {
            (*self.iocb).buffer = buffer as u64;
            (*self.iocb).len = len as u64;
            (*self.iocb).offset = self.was.offset + self.done_bytes as i64;
        }
    }

    fn restore(&self) {
        // SAFETY: as in `set_next`.
        unsafe {
            (*self.iocb).buffer = self.was.buffer;
            (*self.iocb).len = self.was.len;
            (*self.iocb).offset = self.was.offset;
        }
    }
}

/// All requests of a process that are being cut.
pub(crate) struct Table {
    is_locked: AtomicBool,
    /// Requests in the table; read without the lock, so that programs without any pay nothing.
    active: AtomicUsize,
    requests: UnsafeCell<[Request; REQUESTS_MAX]>,
}

// SAFETY: `requests` is touched only under the lock, or by the one thread of a new process.
unsafe impl Sync for Table {}

/// The process's own.
pub(crate) static TABLE: Table = Table::new();

impl Table {
    const fn new() -> Table {
        Table {
            is_locked: AtomicBool::new(false),
            active: AtomicUsize::new(0),
            requests: UnsafeCell::new([Request::NONE; REQUESTS_MAX]),
        }
    }

    /// True if no request is being cut.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.load(Ordering::Acquire) == 0
    }

    /// True if a request of `context` is being cut.
    pub(crate) fn has(&self, context: usize) -> bool {
        !self.is_empty()
            && self.with(|all| all.iter().any(|r| !r.iocb.is_null() && r.context == context))
    }

    /// Enters a request and sets it to its first piece. False if there is no room.
    pub(crate) fn begin(
        &self,
        context: usize,
        iocb: *mut Iocb,
        list: &[iovec],
        total_bytes: usize,
        piece_bytes: usize,
    ) -> bool {
        if list.len() > LIST_MAX {
            return false;
        }
        self.with(|all| {
            let Some(request) = all.iter_mut().find(|r| r.iocb.is_null()) else { return false };
            // SAFETY: the program submits this iocb, so it is one.
            request.was = unsafe { *iocb };
            (request.context, request.iocb) = (context, iocb);
            (request.total_bytes, request.piece_bytes) = (total_bytes, piece_bytes);
            (request.done_bytes, request.pieces) = (0, 0);
            request.cursor = Cursor::START;
            request.list.iter_mut().zip(list).for_each(|(own, given)| *own = *given);
            request.list_len = list.len();
            request.set_next();
            self.active.fetch_add(1, Ordering::Release);
            true
        })
    }

    /// What follows after a piece of `iocb` has ended with `result`.
    pub(crate) fn after(&self, context: usize, iocb: *mut Iocb, result: i64) -> After {
        if self.is_empty() {
            return After::NotOurs;
        }
        self.with(|all| {
            let Some(request) = find(all, context, iocb) else { return After::NotOurs };
            let moved = result.max(0) as usize;
            request.done_bytes += moved.min(request.asked_bytes);
            let is_whole = result >= 0 && moved >= request.asked_bytes;
            if is_whole && request.done_bytes < request.total_bytes {
                request.set_next();
                return After::Submit;
            }
            let nothing = request.done_bytes == 0;
            self.end(request, if nothing { result } else { request.done_bytes as i64 })
        })
    }

    /// Ends a request whose next piece could not be submitted, with what is done.
    pub(crate) fn give_up(&self, context: usize, iocb: *mut Iocb) -> After {
        self.with(|all| match find(all, context, iocb) {
            Some(request) => {
                request.pieces -= 1;
                self.end(request, request.done_bytes as i64)
            }
            None => After::NotOurs,
        })
    }

    /// Takes a request out and leaves its `iocb` as it was, if it is here. True if it was.
    pub(crate) fn withdraw(&self, context: usize, iocb: *mut Iocb) -> bool {
        !self.is_empty()
            && self.with(|all| {
                find(all, context, iocb).is_some_and(|request| {
                    self.end(request, 0);
                    true
                })
            })
    }

    /// Takes a request out without touching its `iocb`, which the program has filled anew: it has
    /// seen the event of a piece itself. True if there was one.
    pub(crate) fn forget(&self, context: usize, iocb: *mut Iocb) -> bool {
        !self.is_empty()
            && self.with(|all| {
                find(all, context, iocb).is_some_and(|request| {
                    request.iocb = core::ptr::null_mut();
                    self.active.fetch_sub(1, Ordering::Release);
                    true
                })
            })
    }

    /// Forgets what is left of a context that is gone.
    pub(crate) fn forget_all(&self, context: usize) {
        if self.is_empty() {
            return;
        }
        self.with(|all| {
            let left = all.iter_mut().filter(|r| !r.iocb.is_null() && r.context == context);
            for request in left {
                request.iocb = core::ptr::null_mut();
                self.active.fetch_sub(1, Ordering::Release);
            }
        });
    }

    fn end(&self, request: &mut Request, result: i64) -> After {
        request.restore();
        request.iocb = core::ptr::null_mut();
        self.active.fetch_sub(1, Ordering::Release);
        After::Done { result, pieces: request.pieces }
    }

    /// In a new process, which has no context: every copied `iocb` as it was, and nothing to do.
    /// Another thread of the parent may have held the lock.
    #[cfg(not(test))]
    fn start_anew(&self) {
        if !self.is_empty() {
            // SAFETY: a new process has one thread.
            let all = unsafe { &mut *self.requests.get() };
            for request in all.iter_mut().filter(|r| !r.iocb.is_null()) {
                request.restore();
                request.iocb = core::ptr::null_mut();
            }
            self.active.store(0, Ordering::Release);
        }
        self.is_locked.store(false, Ordering::Release);
    }

    fn with<T>(&self, work: impl FnOnce(&mut [Request; REQUESTS_MAX]) -> T) -> T {
        let mut tries = 0u32;
        while self.is_locked.swap(true, Ordering::Acquire) {
            tries = tries.wrapping_add(1);
            if tries.is_multiple_of(64) {
                // SAFETY: takes nothing. Who holds the lock may wait for this processor.
                unsafe { libc::sched_yield() };
            }
            spin_loop();
        }
        // SAFETY: under the lock.
        let result = work(unsafe { &mut *self.requests.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }
}

fn find(all: &mut [Request], context: usize, iocb: *mut Iocb) -> Option<&mut Request> {
    all.iter_mut().find(|r| r.iocb == iocb && !iocb.is_null() && r.context == context)
}

/// Has [`Table::start_anew`] called in every forked child. The function's name differs between C
/// libraries, and glibc has none that a library can simply link.
#[cfg(not(test))]
pub(crate) fn prepare_for_fork() {
    use core::ffi::{c_int, c_void};
    type Handler = Option<unsafe extern "C-unwind" fn()>;
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;

    unsafe extern "C-unwind" fn in_child() {
        TABLE.start_anew();
        crate::aio_events::forget_contexts();
    }
    for name in [c"__register_atfork", c"pthread_atfork"] {
        // SAFETY: the name ends with 0; musl's function takes the first three of the arguments of
        // glibc's, whose last names the library: none, as this one is never unloaded.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            if !found.is_null() {
                let register: Register = core::mem::transmute(found);
                register(None, None, Some(in_child), core::ptr::null_mut());
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(opcode: u16, buffer: u64, len: u64) -> Iocb {
        Iocb { data: 77, opcode, buffer, len, offset: 1 << 30, fd: 3, ..Iocb::NONE }
    }

    fn one_buffer(iocb: &Iocb) -> [iovec; 1] {
        let start = core::ptr::without_provenance_mut(iocb.buffer as usize);
        [iovec { iov_base: start, iov_len: iocb.len as usize }]
    }

    #[test]
    fn a_request_comes_back_as_it_was_whatever_its_pieces_return() {
        let table = Box::new(Table::new());
        for (last, answer, expected) in [
            (2, 4096, After::Done { result: 8192 + 4096, pieces: 3 }),
            (1, 100, After::Done { result: 4096 + 100, pieces: 2 }),
            (1, -5, After::Done { result: 4096, pieces: 2 }),
            (0, -5, After::Done { result: -5, pieces: 1 }),
            (0, 0, After::Done { result: 0, pieces: 1 }),
        ] {
            let mut iocb = request(PWRITE, 1 << 20, 3 * 4096);
            let (was, at) = (iocb, &raw mut iocb);
            assert!(table.begin(9, at, &one_buffer(&was), 3 * 4096, 4096));
            for piece in 0..=last {
                // SAFETY: of this test.
                let now = unsafe { *at };
                assert_eq!((now.buffer, now.len), ((1 << 20) + piece * 4096, 4096));
                assert_eq!((now.offset, now.data), ((1 << 30) + piece as i64 * 4096, 77));
                assert_eq!(table.after(8, at, 4096), After::NotOurs);
                let is_last = piece == last;
                let after = table.after(9, at, if is_last { answer } else { 4096 });
                assert_eq!(after, if is_last { expected } else { After::Submit });
            }
            // SAFETY: of this test.
            assert_eq!(unsafe { *at }, was);
            assert!(table.is_empty() && table.after(9, at, 1) == After::NotOurs);
        }
    }

    #[test]
    fn a_vector_is_kept_and_cut() {
        let table = Box::new(Table::new());
        let list: Vec<iovec> = (1..=10)
            .map(|i| iovec {
                iov_base: core::ptr::without_provenance_mut(i << 20),
                iov_len: 4096 * 2,
            })
            .collect();
        let mut iocb = request(PREADV, list.as_ptr().addr() as u64, list.len() as u64);
        let (was, at) = (iocb, &raw mut iocb);
        assert!(table.begin(1, at, &list, 20 * 4096, 3 * 4096));
        drop(list);
        let mut seen = Vec::new();
        loop {
            // SAFETY: the table's own list of the piece.
            let part: &[iovec] = unsafe {
                let now = *at;
                let start = core::ptr::with_exposed_provenance(now.buffer as usize);
                core::slice::from_raw_parts(start, now.len as usize)
            };
            seen.extend(part.iter().map(|b| (b.iov_base.addr(), b.iov_len)));
            let asked: usize = part.iter().map(|b| b.iov_len).sum();
            match table.after(1, at, asked as i64) {
                After::Submit => assert_eq!(asked, 3 * 4096),
                after => break assert_eq!(after, After::Done { result: 20 * 4096, pieces: 7 }),
            }
        }
        // SAFETY: of this test.
        assert_eq!(unsafe { *at }, was);
        assert_eq!(seen.iter().map(|b| b.1).sum::<usize>(), 20 * 4096);
        assert_eq!(seen[..3], [(1 << 20, 8192), (2 << 20, 4096), ((2 << 20) + 4096, 4096)]);
    }

    #[test]
    fn a_full_table_and_a_long_vector_are_refused() {
        let table = Box::new(Table::new());
        let mut iocbs = vec![request(PREAD, 1 << 20, 8192); REQUESTS_MAX + 1];
        let begin = |iocb: &mut Iocb| table.begin(1, iocb, &one_buffer(&iocb.clone()), 8192, 4096);
        assert_eq!(iocbs.iter_mut().filter_map(|i| begin(i).then_some(())).count(), REQUESTS_MAX);
        let long = [one_buffer(&iocbs[0])[0]; LIST_MAX + 1];
        assert!(table.withdraw(1, &mut iocbs[5]) && !table.withdraw(1, &mut iocbs[5]));
        assert!(!table.begin(1, &mut iocbs[REQUESTS_MAX], &long, 8192, 4096));
        assert_eq!(iocbs[5].len, 8192);
        assert!(begin(&mut iocbs[REQUESTS_MAX]));
        iocbs[7].len = 5;
        assert!(table.forget(1, &mut iocbs[7]) && iocbs[7].len == 5);
        assert_eq!(
            table.give_up(1, &mut iocbs[8]),
            After::Done { result: 0, pieces: 0 },
            "nothing was submitted"
        );
        assert!(table.has(1) && !table.has(2));
        table.forget_all(2);
        assert!(table.has(1));
        table.forget_all(1);
        assert!(table.is_empty() && !table.has(1));
    }
}
