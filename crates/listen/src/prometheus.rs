//! Prometheus remote write, 1.0 and 2.0; what a message says is read by `baro_sources::remote_write`.

mod making;
mod unpack;
pub(crate) mod write;
