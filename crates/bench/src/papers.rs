//! The papers whose experiments are repeated here, one module each: what is measured, and what is
//! concluded from it.

pub mod files;
pub mod latency;
pub mod recorder;
pub mod share;
