//! Prometheus remote write, 1.0 and 2.0: the bytes of its messages `wire`, what they say `message`, and
//! the way into a lane `write`.

pub(crate) mod message;
mod wire;
pub(crate) mod write;
