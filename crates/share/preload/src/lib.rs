//! The interposer, `libbaro_preload.so`: loaded into unmodified programs by `LD_PRELOAD`, it cuts
//! their large direct I/O into pieces, each submitted when the one before is done.
//!
//! Why: BFQ keeps weights only while no single I/O takes all its tags or its whole time slice. What
//! waits between its pieces cannot.
//!
//! `layout` is what it shares with the controller, `share` maps it, `next` finds what is interposed,
//! `judge` says what may be cut, `cut` does the cutting and is pure, `calls` are the read and write
//! families, `aio_table`, `aio_events` and `aio` are libaio, `uring` and `raw` only count.
//! `docs/share-preload.md` says what is cut and what is not.
//!
//! Invariants: no allocation, no panic, and no call of what it interposes itself
//! (`tests/families.rs`); a program under it reads and writes the same bytes as without
//! (`tests/families.rs`, `tests/programs.rs`).
//!
//! Every exported function has the ABI `C-unwind` and holds nothing that must be dropped, because a
//! thread may be cancelled in it, which unwinds. No Rust program may link this crate: it would
//! interpose itself. What the controller needs is in `layout.rs`, which it includes by path.
#![allow(unsafe_code)]
#![cfg_attr(test, allow(dead_code, reason = "unit tests interpose nothing"))]
#![allow(
    clippy::missing_safety_doc,
    reason = "the functions have the contracts of those that they stand in for"
)]

mod aio;
mod aio_events;
mod aio_table;
#[cfg(all(not(test), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod alone;
mod calls;
mod cut;
mod judge;
pub mod layout;
mod next;
mod raw;
mod share;
mod uring;
