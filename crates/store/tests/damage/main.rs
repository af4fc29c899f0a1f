//! Stores that are damaged, hostile, or changed under a reader: named, bounded, never a panic.
//!
//! One program: each links the store once more.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod catalog;
mod changed;
#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod hostile_runs;
mod sisters;
mod unread_segments;
mod unreadable;
