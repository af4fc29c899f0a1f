//! The parts of a recorder without threads and clocks, as the simulator of crashes drives them: the
//! engine that decides what is written, and the keeper. For tests of this repository; they may change at any time, and who embeds a recorder needs none of them.
//!
//! Behind the feature `simulate`. Driven by `tests/crash`, and by `tests/model` of the store.

pub use crate::keeper::{Keeper, Log, Moment, Tell, View, Work};
pub use crate::writer::device::{Completion, Device, Operation};
pub use crate::writer::{Engine, Event, Now, PinStart, Start};
