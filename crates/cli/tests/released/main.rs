//! What a released version wrote stays readable: `testdata/format/` has whole stores, a ring, journals
//! of settings, groups and traces that the program of that version left, and beside each what that
//! program said is in it. Every later version says the same, and goes on with them.
//!
//! What is compared are samples as CSV, bit for bit, and keys of JSON: others may come, none may go.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../calls/mod.rs"]
mod calls;
mod fixture;
mod left;
#[path = "../place/mod.rs"]
mod place;
mod stores;
