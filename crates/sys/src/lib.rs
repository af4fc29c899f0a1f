//! The only door to Linux: files, memory, clock, scheduling; and a seeded simulator of it.
#![allow(unsafe_code)]

pub mod clock;
