//! What the log takes: the bytes of its blocks, from the format (docs/format.md) and from how often the
//! writer seals one.
//!
//! The writer looks at the rings each quarter of `durable_within`, at least each 25 ms, and holds what
//! it finds for another quarter. A block is padded to whole units, so few samples in a short time cost
//! a whole unit: that is what makes flash wear, not the samples.

use crate::inputs::Inputs;
use baro_ondisk::limits::{SECTION_SAMPLES_MAX, STRIP_SAMPLES, UNIT_BYTES};

/// Header of a block, its entry of one chunk, and the least of a section.
const BLOCK_BYTES: f64 = 128.0 + 32.0;
const SECTION_BYTES: f64 = 8.0;
/// Entry of a strip in the section's directory.
const STRIP_ENTRY_BYTES: f64 = 40.0;
/// Columns of a strip that are constant on a steady input: gaps, counts, scales, with their heads.
const STRIP_CONSTANT_BYTES: f64 = 12.0;
/// Values of a mini-block, and its width and least value.
const MINI_BLOCK: f64 = 128.0;
const MINI_BLOCK_HEAD_BYTES: f64 = 3.0;
/// Packed numbers have the width of the widest of 128, above what their information needs.
const WIDTH_BITS: f64 = 0.5;
/// The largest block unless `--block` says so.
const BLOCK_BYTES_MAX: f64 = 1_048_576.0;
/// The longest time from one look at the rings to the next, in seconds.
const POLL_S_MAX: f64 = 0.025;
const POLL_S_MIN: f64 = 0.000_2;

/// What the log takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logged {
    /// Blocks a second.
    pub blocks_per_s: f64,
    /// Bytes of a block, padded.
    pub block_bytes: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Of them those that are no padding.
    pub filled_bytes_per_s: f64,
}

impl Logged {
    /// What is logged of these inputs.
    #[must_use]
    pub fn of(inputs: &Inputs) -> Self {
        let per_s = inputs.arrivals_per_s();
        let within = inputs.durable_within_s;
        let cycle_s = (within / 4.0).clamp(POLL_S_MIN, POLL_S_MAX) + within / 4.0;
        // Of what comes less often than that each has a block of its own.
        let pushes_per_s =
            per_s / if inputs.has_frames() { 1.0 } else { inputs.per_push.min(per_s.max(1.0)) };
        let cycle_s = cycle_s.max(1.0 / pushes_per_s);
        let (mut each, mut blocks_per_s) = (per_s * cycle_s, 1.0 / cycle_s);
        let filled = |each: f64| BLOCK_BYTES + payload_bytes(inputs, each, pushes_per_s);
        let too_many = if inputs.has_frames() { f64::INFINITY } else { SECTION_SAMPLES_MAX as f64 };
        let split = (filled(each) / BLOCK_BYTES_MAX).max(each / too_many);
        if split > 1.0 {
            // Full blocks one after another: what is left over waits for the next.
            each /= split;
            blocks_per_s *= split;
        }
        let bytes = filled(each);
        let unit = UNIT_BYTES as f64;
        // A last unit is padded. Of full blocks half a unit is; of small ones what their size leaves.
        let block_bytes =
            if split > 1.0 { bytes + unit / 2.0 } else { (bytes / unit).ceil() * unit };
        Self {
            blocks_per_s,
            block_bytes,
            bytes_per_s: blocks_per_s * block_bytes,
            filled_bytes_per_s: blocks_per_s * bytes,
        }
    }
}

/// Heads, and frames or the section of samples, of a block with `each` of them.
fn payload_bytes(inputs: &Inputs, each: f64, pushes_per_s: f64) -> f64 {
    // Times of neighbours differ by what lies between pushes, or by how far they are off the clock.
    let between_ns = (1e9 / pushes_per_s).max(inputs.time_bits.exp2());
    // A zigzag varint of the time since the record before, and the head byte.
    let head = 1.0 + ((between_ns * 2.0).log2().max(1.0) / 7.0).ceil();
    if inputs.has_frames() {
        // Which channel, where they change.
        let stream =
            if inputs.sensors > 1.0 { 1.0 + f64::from(inputs.sensors > 127.0) } else { 0.0 };
        return each * (head + stream + inputs.frame_bytes);
    }
    // How many samples it had.
    let count = 1.0 + f64::from(inputs.per_push > 127.0);
    let records = (each / inputs.per_push).max(1.0) * (head + count);
    records + section_bytes(inputs, each)
}

/// The section of so many samples.
fn section_bytes(inputs: &Inputs, samples: f64) -> f64 {
    // Those of one scan after another: each sensor once before any comes twice.
    let series = samples.min(inputs.sensors);
    let strips = (samples / STRIP_SAMPLES as f64).ceil().max(1.0);
    let column = |values: f64, bits: f64| match bits {
        _ if values <= 0.0 => 0.0,
        0.0 => 2.0 * strips,
        bits => {
            let width = (bits + WIDTH_BITS).ceil().min(64.0);
            let heads = (values / MINI_BLOCK).max(strips) * MINI_BLOCK_HEAD_BYTES;
            heads + values * width / 8.0
        }
    };
    SECTION_BYTES
        + strips * (STRIP_ENTRY_BYTES + STRIP_CONSTANT_BYTES)
        + column(series, inputs.time_bits)
        + column(samples - series, inputs.time_bits)
        + column(series, inputs.spread_bits.max(inputs.value_bits))
        + column(samples - series, inputs.value_bits)
}
