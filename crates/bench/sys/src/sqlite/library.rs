//! The functions of `libsqlite3.so.0`, found at run time.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;

const NAME: &CStr = c"libsqlite3.so.0";

type Place = *mut c_void;
type Handle = *mut c_void;
type Open = unsafe extern "C" fn(*const c_char, *mut Handle, c_int, *const c_char) -> c_int;
type Execute = unsafe extern "C" fn(
    Handle,
    *const c_char,
    *mut c_void,
    *mut c_void,
    *mut *mut c_char,
) -> c_int;
type Prepare =
    unsafe extern "C" fn(Handle, *const c_char, c_int, *mut Handle, *mut *const c_char) -> c_int;
type Bind = unsafe extern "C" fn(Handle, c_int, *const c_void, c_int, *mut c_void) -> c_int;
type OfHandle = unsafe extern "C" fn(Handle) -> c_int;
type Message = unsafe extern "C" fn(Handle) -> *const c_char;
type ColumnBlob = unsafe extern "C" fn(Handle, c_int) -> *const c_void;
type ColumnBytes = unsafe extern "C" fn(Handle, c_int) -> c_int;

/// What is used of the library; it stays loaded, so these are valid for the life of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    pub(super) open: Open,
    pub(super) close: OfHandle,
    pub(super) execute: Execute,
    pub(super) prepare: Prepare,
    pub(super) bind: Bind,
    pub(super) step: OfHandle,
    pub(super) reset: OfHandle,
    pub(super) finalize: OfHandle,
    pub(super) autocommit: OfHandle,
    pub(super) message: Message,
    pub(super) column_blob: ColumnBlob,
    pub(super) column_bytes: ColumnBytes,
}

impl Library {
    /// Loads the library. A static program cannot, and says so.
    pub(super) fn load() -> Result<Self, String> {
        // SAFETY: loads a library of the system, whose constructors are trusted as any other's.
        let library = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err("libsqlite3.so.0 cannot be loaded: install the package libsqlite3-0 (a \
                        static program cannot load it at all)"
                .to_owned());
        }
        let find = |name: &CStr| {
            // SAFETY: the library is loaded and never closed; the name is a C string.
            let place = unsafe { libc::dlsym(library, name.as_ptr()) };
            let missing = || format!("libsqlite3.so.0 has no {}", name.to_string_lossy());
            if place.is_null() { Err(missing()) } else { Ok(place) }
        };
        // SAFETY: each is a function of SQLite's documented C interface, of the type it has there
        // since 3.5; a pointer to data and one to a function are the same on Linux.
        unsafe {
            Ok(Self {
                open: transmute::<Place, Open>(find(c"sqlite3_open_v2")?),
                close: transmute::<Place, OfHandle>(find(c"sqlite3_close")?),
                execute: transmute::<Place, Execute>(find(c"sqlite3_exec")?),
                prepare: transmute::<Place, Prepare>(find(c"sqlite3_prepare_v2")?),
                bind: transmute::<Place, Bind>(find(c"sqlite3_bind_blob")?),
                step: transmute::<Place, OfHandle>(find(c"sqlite3_step")?),
                reset: transmute::<Place, OfHandle>(find(c"sqlite3_reset")?),
                finalize: transmute::<Place, OfHandle>(find(c"sqlite3_finalize")?),
                autocommit: transmute::<Place, OfHandle>(find(c"sqlite3_get_autocommit")?),
                message: transmute::<Place, Message>(find(c"sqlite3_errmsg")?),
                column_blob: transmute::<Place, ColumnBlob>(find(c"sqlite3_column_blob")?),
                column_bytes: transmute::<Place, ColumnBytes>(find(c"sqlite3_column_bytes")?),
            })
        }
    }
}
