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
mod asking;
mod durable;
mod error;
mod events;
mod frames;
mod init;
mod log;
mod pins;
mod plain;
mod producer;
mod push;
mod reader;
mod recorder;
mod records;
mod samples;
mod structs;
#[cfg(feature = "through")]
pub mod through;
mod version;

pub use asking::*;
pub use durable::*;
pub use error::*;
pub use events::*;
pub use frames::*;
pub use init::*;
pub use pins::*;
pub use plain::*;
pub use producer::*;
pub use push::*;
pub use reader::*;
pub use recorder::*;
pub use records::*;
pub use samples::*;
pub use structs::*;
pub use version::*;
