//! Why BFQ keeps a ratio of weights or does not: two groups, one device, and BFQ's own messages.
//!
//! Two processes in two control groups read or write one device as fast as they can. BFQ tells the
//! kernel's `blk` tracer each of its decisions. [`message`] reads these lines, [`account`] counts
//! for each group what was done, what BFQ charged for it, why its turns ended and how many tags it
//! held; [`model`] repeats BFQ's choice between the groups from them, and so tells the virtual times
//! of groups, which no message has. [`run()`] makes the groups and records.
//!
//! What was found: [docs/share-cause.md](../../../docs/share-cause.md).
//!
//! Invariant: reading and counting are pure. A model that is wrong shows: it counts how often BFQ
//! chose the queue that the model expected. Held by `the_model_expects_each_choice` in `bfq/tests.rs`.

pub mod account;
mod groups;
pub mod message;
pub mod model;
mod recording;
mod run;
#[cfg(test)]
mod tests;
mod worker;

pub use account::{Account, GroupAccount, Totals};
pub use run::{BfqReport, BfqSpec, Direction, run};
pub use worker::{WorkerSpec, work};
