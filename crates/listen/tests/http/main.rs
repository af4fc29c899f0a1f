//! The listener as a process, beside a recorder as another one, over a real store: with clients that write
//! their requests byte by byte.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod attacks;
mod client;
mod endpoints;
mod kept;
mod lanes;
mod otlp;
mod remote;
mod scene;
mod tokens;
