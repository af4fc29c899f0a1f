//! The ring: one producer, one writer, in shared memory. `docs/format.md`, "Ring".
//!
//! The producer's side is wait-free: a push is two bounds checks, copies, and two stores. It never
//! enters the kernel, wakes nobody and waits for nobody. The writer's side trusts nothing that it
//! finds: a producer may be half dead, buggy or hostile.

mod consumer;
mod folder;
#[cfg(feature = "inspect")]
mod inspect;
mod layout;
mod number;
mod producer;
mod rehearsal;

pub(crate) use consumer::{Head, Next, Position, RingReader};
#[cfg(feature = "inspect")]
pub use folder::FoundRing;
pub(crate) use folder::RingFolder;
#[cfg(feature = "inspect")]
pub use inspect::{RingContents, inspect};
pub(crate) use layout::Ring;
pub use number::Number;
pub use producer::{Producer, Refused, RingReport};
#[cfg(test)]
mod tests;
