//! The functions that would have been called without us: the next of their name behind this library,
//! found once.
//!
//! All are looked up when the library is loaded; a call before that looks up its own. Where there is
//! no next, as on a C library that lacks a name, or with libaio in a program's plug-in, the system call
//! itself stands in. Held by `tests/families.rs`, and for musl by `tests/musl.rs`.

use core::ffi::{CStr, c_int, c_long, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use core::{mem, ptr};
use libc::{iovec, size_t, ssize_t};

/// A function of type `F`, found by its name.
pub(crate) struct Next<F> {
    name: &'static CStr,
    /// Null: not looked up. [`Next::MISSING`]: there is none.
    at: AtomicPtr<c_void>,
    function: PhantomData<fn() -> F>,
}

impl<F: Copy> Next<F> {
    const MISSING: *mut c_void = ptr::without_provenance_mut(1);

    const fn new(name: &'static CStr) -> Next<F> {
        Next { name, at: AtomicPtr::new(ptr::null_mut()), function: PhantomData }
    }

    /// The function, if there is one.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<F> {
        let found = self.at.load(Relaxed);
        if found.addr() > 1 {
            // SAFETY: the function of this name has this type, by the table below.
            Some(unsafe { mem::transmute_copy(&found) })
        } else {
            self.find(found)
        }
    }

    #[cold]
    #[inline(never)]
    fn find(&self, before: *mut c_void) -> Option<F> {
        if before == Self::MISSING {
            return None;
        }
        // SAFETY: the name ends with 0.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.at.store(if found.is_null() { Self::MISSING } else { found }, Relaxed);
        // SAFETY: as in `get`.
        if found.is_null() { None } else { Some(unsafe { mem::transmute_copy(&found) }) }
    }
}

pub(crate) type Whole = unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t) -> ssize_t;
pub(crate) type At<O> = unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t, O) -> ssize_t;
pub(crate) type List = unsafe extern "C-unwind" fn(c_int, *const iovec, c_int) -> ssize_t;
pub(crate) type ListAt<O> = unsafe extern "C-unwind" fn(c_int, *const iovec, c_int, O) -> ssize_t;
pub(crate) type ListFlags<O> =
    unsafe extern "C-unwind" fn(c_int, *const iovec, c_int, O, c_int) -> ssize_t;
pub(crate) type Checked =
    unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t, size_t) -> ssize_t;
pub(crate) type CheckedAt<O> =
    unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t, O, size_t) -> ssize_t;
type Raw = unsafe extern "C-unwind" fn(c_long, ...) -> c_long;
pub(crate) type Events =
    unsafe extern "C-unwind" fn(usize, c_long, c_long, *mut c_void, *mut libc::timespec) -> c_int;
pub(crate) type EventsMasked = unsafe extern "C-unwind" fn(
    usize,
    c_long,
    c_long,
    *mut c_void,
    *mut libc::timespec,
    *mut c_void,
) -> c_int;
pub(crate) type Cancel = unsafe extern "C-unwind" fn(usize, *mut c_void, *mut c_void) -> c_int;
pub(crate) type Destroy = unsafe extern "C-unwind" fn(usize) -> c_int;

/// The names, each with its type; and `find_all`, which looks all of them up.
macro_rules! names {
    ($($constant:ident = $name:literal: $type:ty;)*) => {
        $(pub(crate) static $constant: Next<$type> = Next::new($name);)*

        /// Looks all names up, so that no later call has to, not even in a signal handler.
        #[cfg(not(test))]
        pub(crate) fn find_all() {
            $($constant.get();)*
        }
    };
}

names! {
    READ = c"read": Whole;
    WRITE = c"write": Whole;
    PREAD = c"pread": At<libc::off_t>;
    PWRITE = c"pwrite": At<libc::off_t>;
    PREAD64 = c"pread64": At<i64>;
    PWRITE64 = c"pwrite64": At<i64>;
    READV = c"readv": List;
    WRITEV = c"writev": List;
    PREADV = c"preadv": ListAt<libc::off_t>;
    PWRITEV = c"pwritev": ListAt<libc::off_t>;
    PREADV64 = c"preadv64": ListAt<i64>;
    PWRITEV64 = c"pwritev64": ListAt<i64>;
    PREADV2 = c"preadv2": ListFlags<libc::off_t>;
    PWRITEV2 = c"pwritev2": ListFlags<libc::off_t>;
    PREADV64V2 = c"preadv64v2": ListFlags<i64>;
    PWRITEV64V2 = c"pwritev64v2": ListFlags<i64>;
    READ_CHK = c"__read_chk": Checked;
    PREAD_CHK = c"__pread_chk": CheckedAt<libc::off_t>;
    PREAD64_CHK = c"__pread64_chk": CheckedAt<i64>;
    SYSCALL = c"syscall": Raw;
    IO_GETEVENTS = c"io_getevents": Events;
    IO_PGETEVENTS = c"io_pgetevents": EventsMasked;
    IO_CANCEL = c"io_cancel": Cancel;
    IO_DESTROY = c"io_destroy": Destroy;
}

/// The calling thread's errno.
pub(crate) fn errno() -> c_int {
    // SAFETY: the C library's own, one per thread.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = value };
}

/// A system call as `syscall()` of the C library makes it: -1 and errno if it fails.
pub(crate) fn system_call(number: c_long, arguments: [c_long; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    match SYSCALL.get() {
        // SAFETY: the caller answers for number and arguments.
        Some(call) => unsafe { call(number, a, b, c, d, e, f) },
        None => {
            set_errno(libc::ENOSYS);
            -1
        }
    }
}

/// A system call with an offset, which only 64-bit machines pass in one register. Nothing but a
/// missing name leads here, which no C library of a 32-bit machine lacks.
pub(crate) fn system_call_at(
    number: c_long,
    arguments: [c_long; 3],
    at: i64,
    flags: c_int,
) -> isize {
    if size_of::<c_long>() < 8 {
        set_errno(libc::ENOSYS);
        return -1;
    }
    let [a, b, c] = arguments;
    system_call(number, [a, b, c, at as c_long, 0, flags.into()]) as isize
}

/// What the loader runs before `main`.
#[cfg(not(test))]
unsafe extern "C-unwind" fn loaded() {
    let before = errno();
    find_all();
    crate::share::map();
    crate::aio_table::prepare_for_fork();
    set_errno(before);
}

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: unsafe extern "C-unwind" fn() = loaded;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_there_is_missing_and_stays_so() {
        let none: Next<Whole> = Next::new(c"no_function_has_this_name");
        assert!(none.get().is_none() && none.get().is_none());
        assert!(READ.get().is_some());
    }

    #[test]
    fn a_system_call_says_its_error() {
        // SAFETY: closes a descriptor that is none.
        assert_eq!(system_call(libc::SYS_close, [-1, 0, 0, 0, 0, 0]), -1);
        assert_eq!(errno(), libc::EBADF);
    }
}
