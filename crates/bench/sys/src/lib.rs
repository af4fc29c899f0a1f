//! Calls to Linux that only measurements make: io_uring, POSIX AIO, SQLite, the page cache.
//!
//! Beside `baro-sys` and not in it, so that nothing of it is in what boards build: the recorder makes
//! none of these calls. It is a part of the product, because `baro bench recorder` compares the ways
//! to write on a user's own disk.
//!
//! Invariant: beside `baro-sys`, the C interface and the interposer the only place where `unsafe` and
//! calls of the operating system are allowed. Held by `tidy unsafe`.
#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this crate may, for what only measurements call")]

pub mod calls;
pub mod queued;
pub mod sqlite;
