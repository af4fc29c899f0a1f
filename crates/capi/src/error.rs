//! Codes and texts of errors, and the wall that no panic passes.
//!
//! The text lives in a fixed buffer of the thread, so that saying why something failed allocates
//! nothing that could fail too. Held by `tests/bad_input.rs`.

use ::baro_recorder::{Error, PinRefusal, Refused};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A forked child may not do this: the handle belongs to its parent.
pub const BARO_EPERM: i32 = -1;
/// There is no such file, folder or name; for a folder: it holds no store.
pub const BARO_ENOENT: i32 = -2;
/// The device or the library failed; the text says where.
pub const BARO_EIO: i32 = -5;
/// A structure is larger than this library knows, and sets something in the part that it does not.
pub const BARO_E2BIG: i32 = -7;
/// The ring is full: the record is lost, counted, and will be a gap in the log.
pub const BARO_EAGAIN: i32 = -11;
/// There is no memory.
pub const BARO_ENOMEM: i32 = -12;
/// A pin is refused, or the operating system does not permit it; the text says why.
pub const BARO_EACCES: i32 = -13;
/// Another process uses the store or the ring.
pub const BARO_EBUSY: i32 = -16;
/// There is a store, or a file of this name, already.
pub const BARO_EEXIST: i32 = -17;
/// A path leads to a file, and a store is a folder.
pub const BARO_ENOTDIR: i32 = -20;
/// An argument is null, of a wrong size, or outside its limits; the text says which.
pub const BARO_EINVAL: i32 = -22;
/// The device, the catalog, or a file that was reserved, is full.
pub const BARO_ENOSPC: i32 = -28;
/// The text does not fit into the buffer given.
pub const BARO_ERANGE: i32 = -34;
/// What was read is not what the format says: foreign, of another version, or damaged.
pub const BARO_EBADMSG: i32 = -74;
/// The record is larger than the ring takes: it is lost, counted, and will be a gap in the log.
pub const BARO_EMSGSIZE: i32 = -90;
/// Not in this version of the library.
pub const BARO_ENOTSUP: i32 = -95;
/// The recorder, or the pool of a file, is closed.
pub const BARO_ESHUTDOWN: i32 = -108;
/// The time is over, or another process has not answered in time.
pub const BARO_ETIMEDOUT: i32 = -110;
/// The library met a bug of its own and stopped what it was doing; close the handle.
pub const BARO_ENOTRECOVERABLE: i32 = -131;

/// What is told about a call that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    text: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: i32, text: impl Into<String>) -> Self {
        Failure { code, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Failure::new(BARO_EINVAL, text)
    }
}

pub(crate) fn system_code(error: &baro_sys::Error) -> i32 {
    error.errno().map_or(BARO_EIO, |errno| -errno)
}

pub(crate) fn log_code(error: &baro_log::Error) -> i32 {
    match error {
        baro_log::Error::System(error) => system_code(error),
        baro_log::Error::Format { .. } => BARO_EBADMSG,
        baro_log::Error::NotAStore { .. } => BARO_ENOENT,
        baro_log::Error::NoRoom { source, .. } => system_code(source),
        baro_log::Error::NotAFolder { .. } => BARO_ENOTDIR,
        baro_log::Error::Exists { .. } => BARO_EEXIST,
        baro_log::Error::Making { .. } | baro_log::Error::Locked { .. } => BARO_EBUSY,
        baro_log::Error::Setting { .. } => BARO_EINVAL,
        baro_log::Error::CatalogFull { .. } => BARO_ENOSPC,
        _ => BARO_EIO,
    }
}

impl From<baro_log::Error> for Failure {
    fn from(error: baro_log::Error) -> Self {
        Failure::new(log_code(&error), log_text(&error))
    }
}

/// The same in words: who called a function is told of a function.
fn log_text(error: &baro_log::Error) -> String {
    match error {
        baro_log::Error::NotAStore { .. } => format!("{error}, or with baro_init()"),
        error => error.to_string(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::System(error) => system_code(error),
            Error::ForeignRing { .. } | Error::StrayRing { .. } => BARO_EBADMSG,
            Error::RingBusy { .. } | Error::Busy { .. } => BARO_EBUSY,
            Error::Log(error) => log_code(error),
            Error::Setting { .. } | Error::Layout(_) => BARO_EINVAL,
            Error::Pin(PinRefusal::Invalid { .. }) => BARO_EINVAL,
            Error::Pin(_) | Error::PinDenied { .. } => BARO_EACCES,
            Error::NoPin { .. } => BARO_ENOENT,
            Error::NoAnswer { .. } | Error::Unanswered { .. } => BARO_ETIMEDOUT,
            Error::NobodyRecords { .. } => BARO_ESHUTDOWN,
            Error::DeclaredOtherwise { .. } => BARO_EINVAL,
            Error::Undeclared { .. } => BARO_EACCES,
            Error::WriterGone => BARO_ESHUTDOWN,
            _ => BARO_EIO,
        };
        match &error {
            Error::Log(error) => Failure::new(code, log_text(error)),
            error => Failure::new(code, error.to_string()),
        }
    }
}

impl From<baro_plain::Error> for Failure {
    fn from(error: baro_plain::Error) -> Self {
        use baro_plain::Error::{Closed, Full, Io, Name, Size, Taken, Unnamed};
        let code = match &error {
            Size { .. } | Name(_) => BARO_EINVAL,
            Full { .. } => BARO_ENOSPC,
            Taken(_) => BARO_EEXIST,
            // Also where the file system says it without a number.
            Unnamed { kind: std::io::ErrorKind::AlreadyExists, .. } => BARO_EEXIST,
            Io { errno, .. } | Unnamed { errno, .. } => errno.map_or(BARO_EIO, |errno| -errno),
            Closed => BARO_ESHUTDOWN,
            _ => BARO_EIO,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<baro_sys::Error> for Failure {
    fn from(error: baro_sys::Error) -> Self {
        Failure::new(system_code(&error), error.to_string())
    }
}

/// The code of a push that was refused; its text is that of [`baro_strerror`], but for columns that are
/// a mistake of the caller's and no state of the ring.
pub(crate) fn refused(refused: Refused) -> i32 {
    match refused {
        Refused::RingFull => BARO_EAGAIN,
        Refused::TooLarge { .. } => BARO_EMSGSIZE,
        Refused::Uneven => invalid(
            "count: expected at least one sample in a batch with times, found 0; push none then",
        ),
        Refused::Closed => BARO_ESHUTDOWN,
        Refused::Forked => BARO_EPERM,
    }
}

/// An argument of a push that is of no use: the text is put down without allocating.
#[cold]
pub(crate) fn invalid(text: &'static str) -> i32 {
    set_text(text);
    BARO_EINVAL
}

const TEXT_BYTES: usize = 1024;

thread_local! {
    static TEXT: UnsafeCell<[u8; TEXT_BYTES]> = const { UnsafeCell::new([0; TEXT_BYTES]) };
}

fn set_text(text: &str) {
    let mut end = text.len().min(TEXT_BYTES - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    TEXT.with(|place| {
        // SAFETY: the buffer is this thread's, and no reference to it outlives this closure.
        let place = unsafe { &mut *place.get() };
        let shown = text.bytes().take(end).map(|byte| if byte == 0 { b'?' } else { byte });
        place.iter_mut().zip(shown.chain([0])).for_each(|(to, from)| *to = from);
    });
}

/// Runs the body of a function of the interface: an error becomes its code and text, and so does
/// a panic, where the library was built to unwind (the profile `board` aborts instead).
#[inline]
pub(crate) fn guard(body: impl FnOnce() -> Result<i32>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => told(&failure),
        Err(panic) => panicked(&*panic),
    }
}

#[cold]
fn told(failure: &Failure) -> i32 {
    set_text(&failure.text);
    failure.code
}

#[cold]
fn panicked(panic: &(dyn std::any::Any + Send)) -> i32 {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    set_text(&format!(
        "a bug of the library: {}; close the handle and report it",
        said.unwrap_or("panic without a text")
    ));
    BARO_ENOTRECOVERABLE
}

/// What went wrong in the last call of this thread that failed: what, where, the next step. Empty
/// if none did. Valid until the next call of this thread that fails. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn baro_last_error() -> *const c_char {
    TEXT.with(|place| place.get().cast::<c_char>().cast_const())
}

/// What a code means, in general. Never null; valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn baro_strerror(code: i32) -> *const c_char {
    let text: &'static CStr = match code {
        BARO_EPERM => c"the handle belongs to the parent process",
        BARO_ENOENT => c"no such file, folder, name, or store",
        BARO_EIO => c"the device or the library failed",
        BARO_E2BIG => c"the structure sets something that this library does not know",
        BARO_EAGAIN => c"the ring is full: the record is lost and counted",
        BARO_ENOMEM => c"no memory",
        BARO_EACCES => c"the pin is refused, or the operating system does not permit it",
        BARO_EBUSY => c"another process uses the store or the ring",
        BARO_EEXIST => c"there is a store, or a file of this name, already",
        BARO_ENOTDIR => c"the path leads to a file, and a store is a folder",
        BARO_EINVAL => c"an argument is null, of a wrong size, or outside its limits",
        BARO_ENOSPC => c"the device, the catalog, or the reserved file is full",
        BARO_ERANGE => c"the text does not fit into the buffer",
        BARO_EBADMSG => c"what was read is not what the format says",
        BARO_EMSGSIZE => c"the record is larger than the ring takes: it is lost and counted",
        BARO_ENOTSUP => c"not in this version of the library",
        BARO_ESHUTDOWN => c"the recorder, or the pool of the file, is closed",
        BARO_ETIMEDOUT => c"the time is over",
        BARO_ENOTRECOVERABLE => c"a bug of the library",
        0.. => c"no error",
        _ => c"an error of the operating system, by its errno",
    };
    text.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        // SAFETY: this thread's text.
        unsafe { CStr::from_ptr(baro_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(guard(|| panic!("seven")), BARO_ENOTRECOVERABLE);
        assert_eq!(text(), "a bug of the library: seven; close the handle and report it");
        assert_eq!(guard(|| Ok(3)), 3);
    }

    #[test]
    fn texts_are_cut_between_characters_and_have_no_zero_inside() {
        assert_eq!(guard(|| Err(Failure::invalid("a\0b"))), BARO_EINVAL);
        assert_eq!(text(), "a?b");
        guard(|| Err(Failure::invalid(format!("x{}", "ä".repeat(600)))));
        assert_eq!(text(), format!("x{}", "ä".repeat(511)));
    }
}
