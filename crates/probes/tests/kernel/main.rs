//! The probes on the kernel that runs, where it lets us: what they say against what the kernel and
//! the file system's tools say of the same.
#![allow(clippy::disallowed_methods, reason = "tests stand outside of the product")]
#![allow(clippy::unwrap_used, reason = "what the tests stand on fails like a test")]

mod account;
mod calls;
mod journal;
mod losses;
mod sleeps;
mod stand;
mod waits;
