//! Workloads and measurements.

pub mod bfq;
pub mod causes;
pub mod error;
pub mod experiment;
pub mod files;
pub mod keep;
pub mod load;

pub mod methods;
pub mod noise;
pub mod overhead;
mod pace;
pub mod papers;
pub mod plot;
pub mod producers;
pub mod push;
pub mod stall;
pub mod stand;
pub mod store;
pub mod ways;

pub use error::BenchError;

/// Durations in nanoseconds.
pub type Histogram = hdrhistogram::Histogram<u64>;
