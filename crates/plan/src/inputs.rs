//! What is known before: sensors, how long a stall must be survived, memory, disk.
//!
//! Invariant: a figure outside of its limits is refused by the name of its option. Held by
//! `what_is_outside_is_refused_by_name`.

use crate::files::Kind;
use std::fmt;

/// What a plan is made from. All are numbers, so that a plan can be asked what moves it most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inputs {
    /// Sensors, or channels of frames.
    pub sensors: f64,
    /// Samples, or frames, of each, a second.
    pub rate_hz: f64,
    /// Bytes of a frame; 0 where samples are recorded.
    pub frame_bytes: f64,
    /// Bits of information in a value once the one before is known: 3.5 of a walk in eleven steps, 52
    /// of any float.
    pub value_bits: f64,
    /// Bits in which the sensors' values differ from one another.
    pub spread_bits: f64,
    /// Bits of information in a time once the one before is known: 0 on a common clock, 20 where each
    /// comes up to a millisecond early or late.
    pub time_bits: f64,
    /// Samples that one push brings.
    pub per_push: f64,
    /// From push to durable, seconds.
    pub durable_within_s: f64,
    /// The longest stall of the disk that must lose nothing, seconds.
    pub stall_s: f64,
    /// How long everything is kept, seconds.
    pub keep_s: f64,
    /// Memory for recording, and for the files' buffers and page cache, bytes.
    pub memory_bytes: f64,
    /// Size of the file system, bytes.
    pub disk_bytes: f64,
    /// What the disk writes a second, in order and in large pieces, bytes.
    pub disk_rate: f64,
    /// What the flash may be written in all, bytes; infinite for a disk that does not wear.
    pub endurance_bytes: f64,
    /// For how long the flash has to last, seconds.
    pub life_s: f64,
    /// How a disk of this kind takes many files.
    pub kind: Kind,
}

/// Seconds of a day and of a year.
pub(crate) const DAY_S: f64 = 86_400.0;
pub(crate) const YEAR_S: f64 = 365.25 * DAY_S;

impl Default for Inputs {
    /// 1,000 sensors, ten times a second, on a disk as the paper had it.
    fn default() -> Self {
        Self {
            sensors: 1_000.0,
            rate_hz: 10.0,
            frame_bytes: 0.0,
            value_bits: 8.0,
            spread_bits: 14.0,
            time_bits: 0.0,
            per_push: 100.0,
            durable_within_s: 0.1,
            stall_s: 10.0,
            keep_s: 30.0 * DAY_S,
            memory_bytes: 8e9,
            disk_bytes: 100e9,
            disk_rate: Kind::Hdd.rate(),
            endurance_bytes: f64::INFINITY,
            life_s: 5.0 * YEAR_S,
            kind: Kind::Hdd,
        }
    }
}

/// An input by its option, for limits and for what moves a figure.
#[derive(Clone, Copy)]
pub struct Knob {
    /// The option, without its dashes.
    pub name: &'static str,
    /// Where it is.
    pub place: fn(&mut Inputs) -> &mut f64,
    /// What it may be.
    pub limits: Limits,
}

impl fmt::Debug for Knob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Knob")
            .field("name", &self.name)
            .field("limits", &self.limits)
            .finish()
    }
}

/// The least and the most that an input may be, and the unit both are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Least.
    pub least: f64,
    /// Most.
    pub most: f64,
    /// Of both.
    pub unit: &'static str,
}

const fn limits(least: f64, most: f64, unit: &'static str) -> Limits {
    Limits { least, most, unit }
}

impl Knob {
    /// All inputs that are numbers.
    pub const ALL: [Knob; 15] = [
        Knob { name: "sensors", place: |i| &mut i.sensors, limits: limits(1.0, 1e9, "sensors") },
        Knob { name: "rate", place: |i| &mut i.rate_hz, limits: limits(1e-6, 1e6, "a second") },
        Knob { name: "frame", place: |i| &mut i.frame_bytes, limits: limits(0.0, 7e6, "bytes") },
        Knob {
            name: "value-bits",
            place: |i| &mut i.value_bits,
            limits: limits(0.0, 64.0, "bits"),
        },
        Knob {
            name: "spread-bits",
            place: |i| &mut i.spread_bits,
            limits: limits(0.0, 64.0, "bits"),
        },
        Knob { name: "time-bits", place: |i| &mut i.time_bits, limits: limits(0.0, 64.0, "bits") },
        Knob {
            name: "per-push",
            place: |i| &mut i.per_push,
            limits: limits(1.0, 65_536.0, "samples"),
        },
        Knob {
            name: "durable-within",
            place: |i| &mut i.durable_within_s,
            limits: limits(1e-3, 3_600.0, "seconds"),
        },
        Knob { name: "stall", place: |i| &mut i.stall_s, limits: limits(0.0, 3_600.0, "seconds") },
        Knob { name: "keep", place: |i| &mut i.keep_s, limits: limits(1.0, 1e10, "seconds") },
        Knob { name: "memory", place: |i| &mut i.memory_bytes, limits: limits(1e6, 1e15, "bytes") },
        Knob { name: "disk", place: |i| &mut i.disk_bytes, limits: limits(4e6, 1e18, "bytes") },
        Knob {
            name: "disk-rate",
            place: |i| &mut i.disk_rate,
            limits: limits(1e3, 1e12, "bytes a second"),
        },
        Knob {
            name: "tbw",
            place: |i| &mut i.endurance_bytes,
            limits: limits(1e9, f64::INFINITY, "bytes"),
        },
        Knob { name: "years", place: |i| &mut i.life_s, limits: limits(DAY_S, 1e10, "seconds") },
    ];
}

/// An input that no recording can have.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// The option, without its dashes.
    pub name: &'static str,
    /// What it may be.
    pub limits: Limits,
    /// What it was.
    pub found: f64,
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits { least, most, unit } = self.limits;
        write!(
            formatter,
            "--{}: expected {least} to {most} {unit}, found {}",
            self.name, self.found
        )
    }
}

impl std::error::Error for Invalid {}

impl Inputs {
    /// # Errors
    /// The first input outside of its limits.
    pub fn check(&self) -> Result<(), Invalid> {
        let mut inputs = *self;
        for Knob { name, place, limits } in Knob::ALL {
            let found = *place(&mut inputs);
            // Written so that NaN is outside.
            if !(limits.least..=limits.most).contains(&found) {
                return Err(Invalid { name, limits, found });
            }
        }
        Ok(())
    }

    /// Samples, or frames, that arrive in a second.
    #[must_use]
    pub fn arrivals_per_s(&self) -> f64 {
        self.sensors * self.rate_hz
    }

    /// Bytes that arrive in a second: a time and a value of a sample, 16 bytes, or a frame's.
    #[must_use]
    pub fn raw_bytes_per_s(&self) -> f64 {
        self.arrivals_per_s() * if self.has_frames() { self.frame_bytes } else { SAMPLE_BYTES }
    }

    /// Whether frames are recorded and not samples.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        self.frame_bytes > 0.0
    }
}

/// A time and a value.
pub(crate) const SAMPLE_BYTES: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_refused_by_name() {
        assert_eq!(Inputs::default().check(), Ok(()));
        for Knob { name, place, limits } in Knob::ALL {
            let past = [limits.least - 1.0, limits.most * 2.0 + 1.0, f64::NAN, f64::NEG_INFINITY];
            for value in past
                .into_iter()
                .filter(|value| value.is_nan() || *value > limits.most || *value < limits.least)
            {
                let mut inputs = Inputs::default();
                *place(&mut inputs) = value;
                let refused = inputs.check().map_err(|error| error.name);
                assert_eq!(refused, Err(name), "{value}");
            }
        }
        let refused = Inputs { sensors: 0.0, ..Inputs::default() }.check().unwrap_err();
        assert_eq!(refused.to_string(), "--sensors: expected 1 to 1000000000 sensors, found 0");
    }
}
