//! Workloads and measurements: what a user asks of a disk of his own, by `baro bench`, and what the
//! laboratory's benches (`lab/baro-lab`) are built of.

pub mod error;
pub mod experiment;
pub mod ground;
pub mod load;

pub mod methods;
pub mod noise;
mod pace;
pub mod papers;
pub mod plot;
pub mod push;
pub mod stand;
pub mod store;
pub mod verb;
pub mod ways;

pub use error::BenchError;

/// Durations in nanoseconds.
pub type Histogram = hdrhistogram::Histogram<u64>;
