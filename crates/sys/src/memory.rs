//! Memory that is mapped, locked and pre-faulted, so that touching it never enters the kernel:
//! [`SharedMemory`] (the ring, shared between processes) and [`AlignedBuffer`] (what direct I/O
//! writes from); [`ForkWiped`], numbers that tell a forked child from its parent without a call;
//! [`Segment`], counters that any user may write and nobody can shorten; and [`FileMemory`], a file as
//! memory, which does enter the kernel. A [`Glimpse`] is of a file that is not mapped.

mod buffer;
mod file;
mod fork;
mod glimpse;
mod guard;
mod large;
mod map;
mod plain;
mod segment;
mod shared;

pub use buffer::AlignedBuffer;
pub use file::FileMemory;
pub use fork::ForkWiped;
pub use glimpse::Glimpse;
pub use large::prefer_large_pages;
pub use map::{Locked, lockable};
pub use plain::{Plain, as_bytes, as_bytes_mut, as_floats, as_integers};
pub use segment::Segment;
pub use shared::SharedMemory;
