//! What is read of a store, by each way to ask.
//!
//! One program: each links the store once more.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod bounds;
#[path = "../common/mod.rs"]
mod common;
mod each;
mod extremes;
mod newest;
mod order;
mod overlap;
mod points;
mod rule;
mod runs;
mod samples;
mod selector;
mod several;
mod sparse;
mod summary;
mod texts;
mod timeline;
mod types;
mod usage;
