//! From how many sensors on one machine is not enough, and what it is that is not enough.

use crate::files::Files;
use crate::inputs::Inputs;

/// Part of a disk's rate that a recording may take for good.
const DISK_PART: f64 = 0.5;
/// Part of the file system that is filled.
pub(crate) const FILL: f64 = 0.9;
/// Samples a second that two processors settle while others work: a third of the 9 M/s that were
/// measured with a million sensors (results, `store-1m`).
pub(crate) const SETTLED_PER_S: f64 = 3e6;
/// What a recorder needs beside its ring and its names: nine blocks, and what settling takes.
pub(crate) const RECORDER_BYTES: f64 = 45e6;
/// Of each sensor's name and id: 305 MB of 4 million (results, `store`).
pub(crate) const NAME_BYTES: f64 = 65.0;

/// What one machine runs out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The rate at which the disk writes.
    DiskRate,
    /// Room for what is to be kept.
    Disk,
    /// Memory for rings and names.
    Memory,
    /// Processors that settle.
    Processors,
}

impl Bound {
    /// As a subject.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Bound::DiskRate => "the disk's rate",
            Bound::Disk => "room on the disk",
            Bound::Memory => "memory",
            Bound::Processors => "processors",
        }
    }
}

/// How many machines, and what decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machines {
    /// Sensors that one machine records into a store.
    pub sensors_of_one: f64,
    /// What ends first there.
    pub bound: Bound,
    /// Machines for all sensors.
    pub count: f64,
    /// The same with a file for each sensor: S <= N x F.
    pub count_with_files: f64,
}

/// What all sensors need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) device_bytes_per_s: f64,
    pub(crate) kept_bytes: f64,
    pub(crate) memory_bytes: f64,
}

impl Machines {
    pub(crate) fn of(inputs: &Inputs, demand: &Demand) -> Self {
        // Of what one machine has, how many times all sensors fit.
        let times = [
            (Bound::DiskRate, inputs.disk_rate * DISK_PART / demand.device_bytes_per_s),
            (Bound::Disk, FILL * inputs.disk_bytes / demand.kept_bytes),
            (Bound::Memory, inputs.memory_bytes / demand.memory_bytes),
            (
                Bound::Processors,
                if inputs.has_frames() {
                    f64::INFINITY
                } else {
                    SETTLED_PER_S / inputs.arrivals_per_s()
                },
            ),
        ];
        let least = |a: (Bound, f64), b: (Bound, f64)| if b.1 < a.1 { b } else { a };
        let (bound, times) = times.into_iter().fold((Bound::DiskRate, f64::INFINITY), least);
        let sensors_of_one = (inputs.sensors * times).floor().max(1.0);
        let with_files = Files::sensors_of_one(inputs).max(1.0);
        Self {
            sensors_of_one,
            bound,
            count: (inputs.sensors / sensors_of_one).ceil(),
            count_with_files: (inputs.sensors / with_files).ceil(),
        }
    }
}
