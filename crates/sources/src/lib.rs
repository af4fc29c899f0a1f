//! The inputs of `baro record`: this machine's kernel counters ([`proc`]), lines of CSV
//! ([`csv`]), raw frames ([`raw`]) and generated data that proves itself ([`generate`]).
//!
//! Every module but [`proc`] is pure: bytes go in, samples or frames come out, and the caller owns
//! files, clocks and threads. So each can be tested on any bytes cut anywhere, and none can make
//! the writer wait. No module panics on what it is fed; each says so in its own tests.

pub mod csv;
pub mod generate;
pub mod proc;
pub mod raw;
