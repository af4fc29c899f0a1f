//! The C ABI of the recorder: `libbaro` and `barograph.h`, for programs on boards too.
//!
//! Each function is a thin shell: it checks what C gave, calls the recorder, and turns errors into
//! a negative errno and a text. `barograph.h` is written from this crate by `cargo xtask tidy
//! --bless`; `libbaro.map` says what is exported.
//!
//! Invariants: structures have no padding, no pointer and the same layout everywhere
//! (`tests/abi.rs`, `tests/c/abi.c`); no null pointer or wrong size reaches further than an error
//! code (`tests/bad_input.rs`), and no panic unwinds into C: it becomes an error code where the library
//! was built to unwind, and ends the process in one that was not (the profile `board`).
#![allow(unsafe_code)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the head of barograph.h says it once: handles are alive, pointers valid, threads as \
              described; null and wrong sizes are checked"
)]
#![allow(non_camel_case_types, reason = "names as C has them")]

mod arguments;
mod error;
mod init;
mod log;
mod pins;
mod producer;
mod reader;
mod recorder;
mod records;
mod samples;
mod structs;

pub use error::*;
pub use init::*;
pub use pins::*;
pub use producer::*;
pub use reader::*;
pub use recorder::*;
pub use records::*;
pub use samples::*;
pub use structs::*;

/// The version of this interface: major * 65536 + minor * 256 + patch. Before 1.0 a change of
/// minor may break, later only one of major.
pub const BARO_VERSION: u32 = 0x0000_0100;

/// The version of the library that runs; compare with BARO_VERSION, which was compiled in.
#[unsafe(no_mangle)]
pub extern "C" fn baro_version() -> u32 {
    BARO_VERSION
}

/// The realtime clock, nanoseconds since the Unix epoch: a time for pushes. Does not block.
#[unsafe(no_mangle)]
pub extern "C" fn baro_now_ns() -> i64 {
    baro_sys::clock::realtime_ns()
}
