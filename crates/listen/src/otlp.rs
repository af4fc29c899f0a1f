//! Metrics of OpenTelemetry over HTTP; what a request says is read by `baro_sources::otlp`.

pub(crate) mod answer;
mod held;
mod making;
pub(crate) mod write;
