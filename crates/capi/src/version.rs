//! The version of the interface: one number, its parts, its text; and the clock that pushes use.
//!
//! All of it is the package's version. The header has the same as macros, which the program that writes
//! it makes of the same version, so that a program can compare what it was compiled with and what it
//! runs with. Held by `the_version_is_the_packages` (`tests/abi.rs`, `tests/native/abi.rs`).

use std::ffi::c_char;

/// A part of the version, in decimal.
const fn number(text: &str) -> u32 {
    let (bytes, mut at, mut found) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        found = found * 10 + (bytes[at] - b'0') as u32;
        at += 1;
    }
    found
}

/// cbindgen:ignore
pub const BARO_VERSION_MAJOR: u32 = number(env!("CARGO_PKG_VERSION_MAJOR"));
/// cbindgen:ignore
pub const BARO_VERSION_MINOR: u32 = number(env!("CARGO_PKG_VERSION_MINOR"));
/// cbindgen:ignore
pub const BARO_VERSION_PATCH: u32 = number(env!("CARGO_PKG_VERSION_PATCH"));
/// cbindgen:ignore
pub const BARO_VERSION: u32 =
    BARO_VERSION_MAJOR * 65536 + BARO_VERSION_MINOR * 256 + BARO_VERSION_PATCH;

const _: () = assert!(BARO_VERSION_MINOR < 256 && BARO_VERSION_PATCH < 256);

/// The version of the library that runs; compare with BARO_VERSION, which was compiled in.
#[unsafe(no_mangle)]
pub extern "C" fn baro_version() -> u32 {
    BARO_VERSION
}

/// The same as text, as BARO_VERSION_TEXT. Never null; valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn baro_version_text() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The realtime clock, nanoseconds since the Unix epoch: a time for pushes. Does not block.
#[unsafe(no_mangle)]
pub extern "C" fn baro_now_ns() -> i64 {
    baro_sys::clock::realtime_ns()
}
