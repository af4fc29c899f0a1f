//! One file for each sensor, or one for several: what the paper "sensor-files" found of it.
//!
//! F files of at most L bytes, R of each kept, on a file system of C bytes that is filled to U: then
//! L <= U x C / (F x R). Each has a buffer of B bytes, which half of the memory is for; the other half is
//! the page cache (its section 4.2.2). Rates and write amplification are those that it printed, between
//! them by straight lines of logarithms: its tables 3 (disk) and 4 (SSD), ext4.

use crate::inputs::{Inputs, SAMPLE_BYTES};

/// U, and R.
const FILL: f64 = 0.9;
const ROTATED: f64 = 2.0;
/// Half of the memory is for buffers.
const BUFFERS: f64 = 0.5;
/// The B of the cells below.
const CELL_BUFFER_BYTES: f64 = 4_096.0;
/// The largest that the paper tried.
const BUFFER_BYTES_MAX: f64 = 131_072.0;
/// With B eight times as large a disk took 23 instead of 3.5 MB/s at F = 100,000; with a quarter of it,
/// half (48 instead of 96 at 10,000; 2 instead of 3.5 at 100,000).
const GAIN_ABOVE: f64 = 0.9;
const GAIN_BELOW: f64 = 0.45;
/// Write amplification above 1 falls so with B: 1.56 to 1.34 with B eight times as large.
const WEAR_FALL: f64 = 0.24;

/// A cell of the paper with B = 4 KiB: files, MB/s, bytes to the device for each of the program.
type Cell = (f64, f64, f64);
const HDD: [Cell; 4] =
    [(1.0, 124.0, 1.001), (1e4, 96.0, 1.04), (1e5, 3.5, 1.56), (1e6, 0.572, 2.54)];
const SSD: [Cell; 3] = [(1.0, 197.0, 1.0), (1e5, 47.0, 1.6), (1e6, 16.0, 2.6)];

/// How a disk takes many files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A disk that turns.
    #[default]
    Hdd,
    /// A solid-state disk.
    Ssd,
    /// eMMC and SD cards. The paper has none: they fall as its SSD does.
    Card,
}

impl Kind {
    fn cells(self) -> &'static [Cell] {
        match self {
            Kind::Hdd => &HDD,
            Kind::Ssd | Kind::Card => &SSD,
        }
    }

    /// Bytes a second of one file if nothing else is known: the paper's, and of cards the 12 MB/s of
    /// the eMMC in the paper "recorder".
    #[must_use]
    pub fn rate(self) -> f64 {
        match self {
            Kind::Card => 12e6,
            other => other.cells().first().map_or(1e6, |cell| cell.1 * 1e6),
        }
    }
}

/// What files would take and carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Files {
    /// F: files that are written.
    pub count: f64,
    /// L: how large each may grow, bytes.
    pub file_bytes: f64,
    /// B, bytes.
    pub buffer_bytes: f64,
    /// What a power cut takes of a sensor: what its buffer holds, seconds.
    pub at_risk_s: f64,
    /// Bytes a second that they carry.
    pub rate: f64,
    /// Bytes to the device for each byte of the program.
    pub wear: f64,
}

impl Files {
    /// Of `count` files that share the disk.
    #[must_use]
    pub fn of(inputs: &Inputs, count: f64) -> Self {
        let count = count.max(1.0);
        let file_bytes = FILL * inputs.disk_bytes / (count * ROTATED);
        let buffer_bytes =
            (inputs.memory_bytes * BUFFERS / count).min(BUFFER_BYTES_MAX).min(file_bytes);
        let per_file = inputs.raw_bytes_per_s() / count;
        let one = inputs.kind.cells().first().map_or(1.0, |cell| cell.1);
        let (cell_rate, cell_wear) = between(inputs.kind.cells(), count);
        let larger = buffer_bytes / CELL_BUFFER_BYTES;
        let gain = larger.powf(if larger > 1.0 { GAIN_ABOVE } else { GAIN_BELOW });
        Self {
            count,
            file_bytes,
            buffer_bytes,
            at_risk_s: buffer_bytes / per_file,
            rate: inputs.disk_rate * (cell_rate * gain / one).min(1.0),
            wear: 1.0 + (cell_wear - 1.0) * larger.powf(-WEAR_FALL),
        }
    }

    /// Whether the paper leaves this out: buffers alone would fill the disk.
    #[must_use]
    pub fn is_skipped(&self, inputs: &Inputs) -> bool {
        ROTATED * self.buffer_bytes * self.count >= FILL * inputs.disk_bytes
    }

    /// Sensors that one machine holds in a file each.
    #[must_use]
    pub fn sensors_of_one(inputs: &Inputs) -> f64 {
        let per_sensor = inputs.raw_bytes_per_s() / inputs.sensors;
        largest(inputs.sensors, |count| {
            let files = Self::of(inputs, count);
            files.rate >= per_sensor * count && files.buffer_bytes >= SAMPLE_BYTES
        })
    }
}

/// The largest number up to `most` of which it is so; what is so of one is so of all below.
fn largest(most: f64, is: impl Fn(f64) -> bool) -> f64 {
    if is(most) {
        return most;
    }
    let (mut least, mut beyond) = (0_u64, most.ceil() as u64);
    while beyond - least > 1 {
        let middle = least.midpoint(beyond);
        if is(middle as f64) { least = middle } else { beyond = middle }
    }
    least as f64
}

/// Rate and wear at so many files.
fn between(cells: &[Cell], files: f64) -> (f64, f64) {
    let pair = cells.windows(2).find(|pair| matches!(pair, [_, high] if files <= high.0));
    let pair = pair.or_else(|| cells.windows(2).last());
    let Some([low, high]) = pair else { return (1.0, 1.0) };
    let part = (files / low.0).ln() / (high.0 / low.0).ln();
    let line = |low: f64, high: f64| low * (high / low).powf(part);
    (line(low.1, high.1), line(low.2, high.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_cells_are_met_and_the_rule_for_sizes_is_its() {
        for (kind, cells) in [(Kind::Hdd, &HDD[..]), (Kind::Ssd, &SSD[..])] {
            for (count, rate, wear) in cells {
                // Memory for buffers of 4 KiB.
                let memory_bytes = 2.0 * CELL_BUFFER_BYTES * count;
                let inputs =
                    Inputs { memory_bytes, kind, disk_rate: kind.rate(), ..Inputs::default() };
                let files = Files::of(&inputs, *count);
                assert!((files.rate / 1e6 - rate).abs() < 1e-6 * rate, "{files:?} {rate}");
                assert!((files.wear - wear).abs() < 1e-9, "{files:?} {wear}");
                assert!(!files.is_skipped(&inputs));
                let all = files.file_bytes * count * 2.0;
                assert!((all - 0.9 * inputs.disk_bytes).abs() < 1.0, "{files:?}");
            }
        }
        let large = Inputs { memory_bytes: 2.0 * 48e3 * 1e6, ..Inputs::default() };
        assert!(Files::of(&large, 1e6).is_skipped(&large));
    }
}
