//! Workloads and measurements.

pub mod error;
pub mod load;

pub mod methods;
pub mod plot;

pub use error::BenchError;
