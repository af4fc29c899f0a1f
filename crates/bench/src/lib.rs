//! Workloads and measurements.

pub mod error;
pub mod load;

pub mod methods;

pub use error::BenchError;
