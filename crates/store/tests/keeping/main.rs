//! What moves data of a store: settling, deleting, retention, copies, and a writer beside all of them.
//!
//! One program: each links the store once more.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod backup;
#[path = "../common/mod.rs"]
mod common;
mod delete;
mod live;
mod pins;
mod retention;
mod settle;
mod settle_real;
mod settling;
mod settling_loses;
