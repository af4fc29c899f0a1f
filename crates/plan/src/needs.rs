//! What does not fit, and what would: each need with the figure that would meet it.
//!
//! Invariant: inputs changed as a need says meet that need. Held by `what_is_said_to_be_enough_is`.

use crate::inputs::{DAY_S, Inputs};
use crate::machines::FILL;
use crate::numbers::{Numbers, numbers};

/// Part of a disk's rate that a recording may take for good.
const DISK_PART: f64 = 0.5;
/// As long as a recorder lets samples wait at most.
const WITHIN_S_MAX: f64 = 3_600.0;

/// Something that is too little.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Need {
    /// The disk is to write more than half of its rate.
    DiskRate {
        /// Bytes a second that are written.
        wanted: f64,
        /// Rate of a disk that would do.
        enough: f64,
    },
    /// What is to be kept does not fit.
    Disk {
        /// Size of a file system that would do, bytes.
        enough: f64,
        /// Days that this one holds.
        days: f64,
    },
    /// Rings, names and recorder take more than there is.
    Memory {
        /// Bytes that would do.
        enough: f64,
        /// A stall that this memory survives, seconds; none if not even that of names is there.
        stall_s: Option<f64>,
    },
    /// The flash is worn too early.
    Life {
        /// Years that it lasts.
        years: f64,
        /// Bytes to write in all that would do.
        enough: f64,
        /// `durable_within` with which this one would do, seconds, if there is one.
        within_s: Option<f64>,
    },
    /// More comes than one machine settles.
    Machines {
        /// So many would do.
        enough: f64,
    },
}

/// All that is too little. Nothing where the plan can be followed.
#[must_use]
pub fn needs(inputs: &Inputs, all: &Numbers) -> Vec<Need> {
    let mut found = Vec::new();
    let wanted = all.device_bytes_per_s;
    if wanted > inputs.disk_rate * DISK_PART {
        found.push(Need::DiskRate { wanted, enough: wanted / DISK_PART });
    }
    if all.kept_bytes > FILL * inputs.disk_bytes {
        // A larger disk may have a larger log.
        let mut enough = all.kept_bytes / FILL;
        for _ in 0..8 {
            let larger = Inputs { disk_bytes: enough, ..*inputs };
            enough = enough.max(numbers(&larger).kept_bytes / FILL);
        }
        found.push(Need::Disk { enough, days: all.days_of_disk });
    }
    if all.memory_bytes > inputs.memory_bytes {
        let without = numbers(&Inputs { stall_s: 0.0, ..*inputs });
        let spare = inputs.memory_bytes - without.memory_bytes;
        let per_s = (all.ring_bytes - without.ring_bytes) / inputs.stall_s;
        let stall_s = (spare >= 0.0 && per_s > 0.0).then(|| (spare / per_s).floor());
        found.push(Need::Memory { enough: all.memory_bytes, stall_s });
    }
    let years = inputs.life_s / (365.25 * DAY_S);
    if all.life_years < years {
        let lasts = |within: f64| {
            let slower = Inputs { durable_within_s: within, ..*inputs };
            numbers(&slower).life_years >= years
        };
        let doubled = std::iter::successors(Some(inputs.durable_within_s * 2.0), |s| Some(s * 2.0));
        let within_s = doubled.take_while(|s| *s <= WITHIN_S_MAX).find(|s| lasts(*s));
        let enough = inputs.endurance_bytes * years / all.life_years;
        found.push(Need::Life { years: all.life_years, enough, within_s });
    }
    if all.machines.count > 1.0 {
        found.push(Need::Machines { enough: all.machines.count });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_be_enough_is() {
        let hungry = Inputs {
            sensors: 2e6,
            rate_hz: 10.0,
            time_bits: 20.0,
            memory_bytes: 1e9,
            endurance_bytes: 60e12,
            disk_rate: 20e6,
            ..Inputs::default()
        };
        let found = needs(&hungry, &numbers(&hungry));
        assert_eq!(found.len(), 5, "{found:?}");
        for need in found {
            let mended = match need {
                Need::DiskRate { enough, .. } => Inputs { disk_rate: enough, ..hungry },
                Need::Disk { enough, .. } => Inputs { disk_bytes: enough, ..hungry },
                Need::Memory { enough, .. } => Inputs { memory_bytes: enough, ..hungry },
                Need::Life { enough, .. } => {
                    Inputs { endurance_bytes: enough * 1.000_001, ..hungry }
                }
                Need::Machines { enough } => {
                    Inputs { sensors: (hungry.sensors / enough).floor(), ..hungry }
                }
            };
            let left = needs(&mended, &numbers(&mended));
            let same =
                |other: &Need| std::mem::discriminant(other) == std::mem::discriminant(&need);
            assert!(!left.iter().any(same), "{need:?}: {left:?}");
        }
        let easy = Inputs { disk_bytes: 1e12, ..Inputs::default() };
        assert_eq!(needs(&easy, &numbers(&easy)), []);
    }
}
