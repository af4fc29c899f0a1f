//! The only door to Linux: files, memory, clock, scheduling; and a seeded simulator of it.
//!
//! Everything that calls the operating system or reads a clock is here, but for what only measurements
//! call, in `baro-bench-sys`; and all `unsafe` but theirs, that of the C interface and of the interposer.
//! The lints of the other crates forbid both. [`storage`] is the seam at which the simulator takes the
//! place of the disk.
#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this is the crate that may")]

pub mod block_device;
pub mod clock;
pub mod counters;
pub mod disk;
mod error;
pub mod files;
pub mod footprint;
pub mod fork;
pub mod grace;
pub mod identity;
pub mod inotify;
pub mod input;
pub mod kernel_log;
pub mod lock;
pub mod memory;
pub mod notify;
pub mod place;
pub mod procfile;
pub mod queue;
pub mod schedule;
pub mod signals;
pub mod sim;
pub mod state;
pub mod storage;
pub mod task;
pub mod task_io;
pub mod tcp;
pub mod terminal;
pub mod termination;
pub mod tracefs;
pub mod udp;

pub use error::{Error, Result};
