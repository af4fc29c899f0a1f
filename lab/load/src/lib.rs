//! The load and the judge of power cuts.
//!
//! [`mod@write`] records into a store and says, beside it, what has been promised so far ([`Statement`]).
//! [`verify`] is given an image of that store after a power cut and the last statement that the disk
//! had taken by then, and says whether everything promised is there. What is pushed follows from a
//! seed ([`content`]), so that the judge needs nothing but the statement.
//!
//! Without the feature `guest` there is only what a host needs to find statements among the writes
//! of a disk.
//!
//! Invariant: the judge finds what is missing, wrong or surplus, and takes any folder without a
//! panic. Held by `tests/judge.rs`.
#![allow(clippy::disallowed_methods, reason = "automation, not a part of the product")]

pub mod content;
pub mod scenario;
pub mod statement;

#[cfg(feature = "guest")]
pub mod fault;
#[cfg(feature = "guest")]
pub mod verify;
#[cfg(feature = "guest")]
pub mod write;

pub use scenario::{SCENARIOS, Scenario};
pub use statement::{STATEMENT_BYTES, Statement};
