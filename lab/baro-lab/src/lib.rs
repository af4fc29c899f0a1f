//! What repeats the papers and measures this project: stalls made on purpose, many files, shares of a
//! disk, many producers, the cost of recording events.
//!
//! The laboratory's half of the benches. What a user asks of a disk of his own (`baro bench push`,
//! `store`, `recorder`) is in `baro_bench`, with what all of them have in common: stands, loads,
//! experiments, plots. Invariant: no product code depends on this; held by `tidy arrows`.

pub mod bfq;
pub mod causes;
pub mod files;
pub mod keep;
pub mod overhead;
pub mod papers;
pub mod producers;
pub mod stall;
