//! The papers on sensor files and on bandwidth by weight, one module each: what is measured, and what
//! is concluded from it. The paper on recording is in `baro_bench`, since `baro bench recorder` repeats
//! it.

pub mod files;
pub mod share;
