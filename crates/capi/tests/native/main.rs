//! libbaro as C and C++ see it: the header compiles, layouts agree, the examples run, and nothing
//! but the interface is exported. Compiles with `BARO_CC` (and starts programs with `BARO_RUN`)
//! where another machine is emulated.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../layout/mod.rs"]
mod layout;

mod abi;
mod examples;
mod exports;
mod memory;
mod standards;
mod toolchain;
