//! What runs take: bytes of a sample at rest, and how often it is written again by merging.
//!
//! A run holds what has come since the one before: 8 MiB of the log, or ten minutes. Eight of one size
//! become one of the next, up to a gibibyte, so a sample is written once for each size.

use crate::inputs::{DAY_S, Inputs};
use crate::log::Logged;

/// What the log holds when settling starts, and how long samples wait at most (docs/settling.md).
const SETTLED_BYTES: f64 = 8_388_608.0;
const SETTLED_S: f64 = 600.0;
/// So many runs become one, up to this size.
const FAN_IN: f64 = 8.0;
const RUN_BYTES_MAX: f64 = 1_073_741_824.0;
/// Bytes of values and times in a run, to their information: 0.4538 B for 0.43 B of 1,000 sensors, 3.07
/// for 2.92 where each has times of its own (docs/format-runs.md, `run_costs`).
const VALUES_OVER: f64 = 1.03;
const TIMES_OVER: f64 = 1.05;
/// Heads of pages, index and bases of columns, of each sample.
const OVERHEAD_BYTES: f64 = 0.03;
/// Header, index and footer of a run.
const RUN_OVERHEAD_BYTES: f64 = 8_192.0;

/// What runs take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rested {
    /// Bytes of a sample in runs that are merged no more.
    pub bytes_per_sample: f64,
    /// Bytes written into runs for each sample, all merging counted.
    pub written_per_sample: f64,
    /// How often a sample is written.
    pub times_written: f64,
}

impl Rested {
    /// Of samples that are logged so; nothing of frames, which stay in the log.
    #[must_use]
    pub fn of(inputs: &Inputs, logged: &Logged) -> Self {
        let per_s = inputs.arrivals_per_s();
        if inputs.has_frames() {
            return Self { bytes_per_sample: 0.0, written_per_sample: 0.0, times_written: 0.0 };
        }
        let mut covers_s = (SETTLED_BYTES / logged.filled_bytes_per_s).min(SETTLED_S);
        let (mut written, mut times) = (0.0, 0.0);
        loop {
            let samples = (per_s * covers_s).max(1.0);
            let bytes = sample_bytes(inputs, samples);
            written += bytes;
            times += 1.0;
            let next_s = covers_s * FAN_IN;
            if samples * FAN_IN * bytes > RUN_BYTES_MAX || next_s > inputs.keep_s.max(DAY_S) {
                return Self {
                    bytes_per_sample: bytes,
                    written_per_sample: written,
                    times_written: times,
                };
            }
            covers_s = next_s;
        }
    }
}

/// Bytes of a sample in a run with so many.
fn sample_bytes(inputs: &Inputs, samples: f64) -> f64 {
    let of_each = (samples / inputs.sensors).max(1.0);
    // The first value of each sensor tells it from the others; further ones differ from the one before.
    let first = 1.0 / of_each;
    let spread = inputs.spread_bits.max(inputs.value_bits);
    let value_bits = spread * first + inputs.value_bits * VALUES_OVER * (1.0 - first);
    (value_bits + inputs.time_bits * TIMES_OVER) / 8.0
        + OVERHEAD_BYTES
        + RUN_OVERHEAD_BYTES / samples
}
