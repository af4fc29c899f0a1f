//! liburing: only rings that are set up are counted. What goes through a ring is never seen, so it is
//! passed by and told (`io_uring` among the counters).
//!
//! A plug-in may bring liburing where `RTLD_NEXT` does not look; then it is looked up by its file name.

use crate::layout::Counter;
use crate::share::count;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::{mem, ptr};

const FILES: [&CStr; 3] = [c"liburing.so.2", c"liburing.so.1", c"liburing.so"];

/// The function of this name behind us; null if there is none. Setting up a ring is rare, so it is
/// looked up each time.
fn next(name: &CStr) -> *mut c_void {
    // SAFETY: names end with 0; a library is only asked for if it is loaded already.
    unsafe {
        let found = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        if !found.is_null() {
            return found;
        }
        for file in FILES {
            let library = libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if !library.is_null() {
                let found = libc::dlsym(library, name.as_ptr());
                libc::dlclose(library);
                return found;
            }
        }
        ptr::null_mut()
    }
}

/// Counts a ring that was set up. `io_uring_queue_init` of liburing sets up through the next of these
/// names in some versions; then a ring counts twice, which says no less that rings are used.
fn counted(result: c_int) -> c_int {
    if result >= 0 {
        count(Counter::IoUring, 1);
    }
    result
}

macro_rules! interposed {
    ($name:ident($($arg:ident: $type:ty),*)) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            const NAME: &CStr = match CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            };
            let found = next(NAME);
            if found.is_null() {
                return -libc::ENOSYS;
            }
            // SAFETY: the function of this name has this type, and the arguments are the program's.
            unsafe {
                let function: unsafe extern "C-unwind" fn($($type),*) -> c_int =
                    mem::transmute(found);
                counted(function($($arg),*))
            }
        }
    };
}

interposed!(io_uring_queue_init(entries: c_uint, ring: *mut c_void, flags: c_uint));
interposed!(io_uring_queue_init_params(entries: c_uint, ring: *mut c_void, params: *mut c_void));
interposed!(io_uring_queue_init_mem(
    entries: c_uint,
    ring: *mut c_void,
    params: *mut c_void,
    memory: *mut c_void,
    bytes: usize
));
