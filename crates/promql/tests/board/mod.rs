//! Dashboards that people use: what they ask.

pub(crate) mod ask;
pub(crate) mod expressions;
pub(crate) mod fetch;
pub(crate) mod patterns;
pub(crate) mod scan;
pub(crate) mod series;
pub(crate) mod variables;
