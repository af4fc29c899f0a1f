//! x

pub mod generate;
