//! The interfaces of InfluxDB for writing: one parser, three faces.
//!
//! Invariant: the answer is in the form of the interface that was asked. Held by `tests/http/endpoints.rs`.

pub(crate) mod dialect;
pub(crate) mod query;
pub(crate) mod write;
