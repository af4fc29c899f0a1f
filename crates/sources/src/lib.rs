//! The inputs of `baro record`: this machine's kernel counters ([`proc`]).

pub mod proc;
