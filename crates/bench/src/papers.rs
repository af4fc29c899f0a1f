//! The paper on real-time recording: what is measured, and what is concluded from it. The other papers
//! are in `lab/baro-lab`.

pub mod latency;
pub mod recorder;
