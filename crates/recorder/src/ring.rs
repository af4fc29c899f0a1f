//! The ring: one producer, one writer, in shared memory. `docs/format.md`, "Ring".
//!
//! The producer's side is wait-free: a push is two bounds checks, copies, and two stores. It never
//! enters the kernel, wakes nobody and waits for nobody. The writer's side trusts nothing that it
//! finds: a producer may be half dead, buggy or hostile.

mod consumer;
mod folder;
mod found;
mod gone;
mod header;
#[cfg(feature = "inspect")]
mod inspect;
mod layout;
#[cfg(test)]
mod model;
mod number;
mod producer;
mod rehearsal;
mod view;
mod waits;

pub(crate) use consumer::{Head, Next, Position, RingReader};
pub(crate) use folder::RingFolder;
#[cfg(feature = "inspect")]
pub use found::{FoundRing, Search as RingSearch};
pub(crate) use header::Home;
#[cfg(feature = "inspect")]
pub use inspect::{RingContents, inspect};
pub(crate) use layout::Ring;
pub use number::Number;
pub(crate) use number::{FLOATS, INTEGERS};
pub use producer::{Producer, Refused, RingReport};
pub use view::RingView;
pub(crate) use waits::Told;
pub use waits::Waits;
#[cfg(test)]
mod tests;
