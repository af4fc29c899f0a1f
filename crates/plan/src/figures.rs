//! The figures of a plan as rows: name, value, where the number is from, and which inputs move it most.
//!
//! Invariant: what moves a figure is found by making the plan again, so a figure and its reasons cannot
//! differ. Held by `what_moves_a_figure_is_found`.

use crate::inputs::{Inputs, Knob};
use crate::numbers::{Numbers, numbers};

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerS,
    /// Samples or frames a second.
    PerS,
    /// Seconds.
    Seconds,
    /// Days.
    Days,
    /// Years.
    Years,
    /// A number of things.
    Count,
    /// One number to another.
    Ratio,
}

/// Where a number is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is counted from the inputs alone.
    Inputs,
    /// The format of a store, and the writer's rhythm.
    Format,
    /// This project measured it.
    Measured(&'static str),
    /// A rule of this project.
    Rule(&'static str),
    /// A paper's formula or table.
    Paper(&'static str),
}

impl Source {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Source::Inputs => "counted from the inputs",
            Source::Format => "docs/format.md, and how often the writer seals a block",
            Source::Measured(what) | Source::Rule(what) | Source::Paper(what) => what,
        }
    }

    /// As a word, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Source::Inputs => "inputs",
            Source::Format => "format",
            Source::Measured(_) => "measured",
            Source::Rule(_) => "rule",
            Source::Paper(_) => "paper",
        }
    }
}

/// One figure of a plan.
#[derive(Clone, Copy)]
pub struct Figure {
    /// As a key of JSON; its unit is last.
    pub key: &'static str,
    /// In words.
    pub label: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Where it is from.
    pub source: Source,
    /// Its number.
    pub of: fn(&Numbers) -> f64,
}

impl std::fmt::Debug for Figure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Figure").field("key", &self.key).finish_non_exhaustive()
    }
}

/// An input, and by how much a figure changes when it is doubled or halved: the larger of both, as a
/// factor above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// The option.
    pub input: &'static str,
    /// The factor.
    pub factor: f64,
}

/// What moves a figure by less is not told.
const FACTOR_MIN: f64 = 1.01;
/// So many are told.
const MOVED_MAX: usize = 2;

/// The inputs that move a figure most, the strongest first.
#[must_use]
pub fn moved_most(inputs: &Inputs, figure: &Figure) -> Vec<Moved> {
    let now = (figure.of)(&numbers(inputs));
    if !now.is_finite() || now <= 0.0 {
        return Vec::new();
    }
    let factor = |knob: &Knob, times: f64| {
        let mut other = *inputs;
        let place = (knob.place)(&mut other);
        *place = (*place * times).clamp(knob.limits.least, knob.limits.most);
        let then = (figure.of)(&numbers(&other));
        let ratio = then / now;
        if ratio.is_finite() && ratio > 0.0 { ratio.max(1.0 / ratio) } else { 1.0 }
    };
    let mut all: Vec<Moved> = Knob::ALL
        .iter()
        .map(|knob| Moved { input: knob.name, factor: factor(knob, 2.0).max(factor(knob, 0.5)) })
        .filter(|moved| moved.factor >= FACTOR_MIN)
        .collect();
    all.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    all.truncate(MOVED_MAX);
    all
}

const STORE_1M: Source = Source::Measured("results/2026-11-22-amd-epyc-2cpu/store.jsonl");
const RUN_COSTS: Source =
    Source::Measured("docs/format-runs.md: information of values and times, and 3 to 5 %");
const SETTLING: Source =
    Source::Rule("docs/settling.md: 8 MiB or ten minutes a run, eight become one");
const MODEL: Source = Source::Paper("sensor-files, 4.1: L <= U C / (F R), U 0.9, R 2");
const TABLES: Source = Source::Paper("sensor-files, tables 3 and 4, between their cells");

/// All figures, in the order in which they are told.
pub const FIGURES: [Figure; 25] = [
    Figure {
        key: "arrivals_per_s",
        label: "arrives",
        unit: Unit::PerS,
        source: Source::Inputs,
        of: |n| n.arrivals_per_s,
    },
    Figure {
        key: "raw_bytes_per_s",
        label: "as bytes",
        unit: Unit::BytesPerS,
        source: Source::Inputs,
        of: |n| n.raw_bytes_per_s,
    },
    Figure {
        key: "block_bytes",
        label: "a block of the log",
        unit: Unit::Bytes,
        source: Source::Format,
        of: |n| n.logged.block_bytes,
    },
    Figure {
        key: "blocks_per_s",
        label: "blocks",
        unit: Unit::PerS,
        source: Source::Format,
        of: |n| n.logged.blocks_per_s,
    },
    Figure {
        key: "log_bytes_per_s",
        label: "into the log",
        unit: Unit::BytesPerS,
        source: Source::Format,
        of: |n| n.logged.bytes_per_s,
    },
    Figure {
        key: "log_bytes",
        label: "size of the log",
        unit: Unit::Bytes,
        source: Source::Rule("an hour of samples, or all frames that are kept"),
        of: |n| n.log_bytes,
    },
    Figure {
        key: "rest_bytes_per_sample",
        label: "a sample in runs",
        unit: Unit::Bytes,
        source: RUN_COSTS,
        of: |n| n.rested.bytes_per_sample,
    },
    Figure {
        key: "times_written",
        label: "times written by settling",
        unit: Unit::Count,
        source: SETTLING,
        of: |n| n.rested.times_written,
    },
    Figure {
        key: "device_bytes_per_s",
        label: "to the device",
        unit: Unit::BytesPerS,
        source: Source::Format,
        of: |n| n.device_bytes_per_s,
    },
    Figure {
        key: "device_bytes_per_day",
        label: "to the device in a day",
        unit: Unit::Bytes,
        source: Source::Format,
        of: |n| n.device_bytes_per_s * crate::inputs::DAY_S,
    },
    Figure {
        key: "kwa",
        label: "of each byte that arrives (Kwa)",
        unit: Unit::Ratio,
        source: Source::Format,
        of: |n| n.wear,
    },
    Figure {
        key: "kept_bytes_per_day",
        label: "stays of a day",
        unit: Unit::Bytes,
        source: RUN_COSTS,
        of: |n| n.kept_bytes_per_day,
    },
    Figure {
        key: "kept_bytes",
        label: "on disk for what is kept",
        unit: Unit::Bytes,
        source: RUN_COSTS,
        of: |n| n.kept_bytes,
    },
    Figure {
        key: "disk_days",
        label: "the disk holds",
        unit: Unit::Days,
        source: RUN_COSTS,
        of: |n| n.days_of_disk,
    },
    Figure {
        key: "life_years",
        label: "the flash lasts",
        unit: Unit::Years,
        source: Source::Format,
        of: |n| n.life_years,
    },
    Figure {
        key: "ring_bytes",
        label: "rings",
        unit: Unit::Bytes,
        source: Source::Rule("what comes while the disk stands, and a quarter"),
        of: |n| n.ring_bytes,
    },
    Figure {
        key: "memory_bytes",
        label: "memory in all",
        unit: Unit::Bytes,
        source: STORE_1M,
        of: |n| n.memory_bytes,
    },
    Figure {
        key: "files_file_bytes",
        label: "a file may grow to (L)",
        unit: Unit::Bytes,
        source: MODEL,
        of: |n| n.files.file_bytes,
    },
    Figure {
        key: "files_buffer_bytes",
        label: "its buffer (B)",
        unit: Unit::Bytes,
        source: Source::Paper("sensor-files, 4.2.2: half of the memory, at most 128 KiB each"),
        of: |n| n.files.buffer_bytes,
    },
    Figure {
        key: "files_at_risk_s",
        label: "a power cut takes of each",
        unit: Unit::Seconds,
        source: Source::Inputs,
        of: |n| n.files.at_risk_s,
    },
    Figure {
        key: "files_bytes_per_s",
        label: "they carry",
        unit: Unit::BytesPerS,
        source: TABLES,
        of: |n| n.files.rate,
    },
    Figure {
        key: "files_kwa",
        label: "of each byte (Kwa)",
        unit: Unit::Ratio,
        source: TABLES,
        of: |n| n.files.wear,
    },
    Figure {
        key: "files_life_years",
        label: "the flash lasts with them",
        unit: Unit::Years,
        source: TABLES,
        of: |n| n.files_life_years,
    },
    Figure {
        key: "sensors_of_one_machine",
        label: "sensors of one machine",
        unit: Unit::Count,
        source: STORE_1M,
        of: |n| n.machines.sensors_of_one,
    },
    Figure {
        key: "machines_with_files",
        label: "machines with files (S <= N F)",
        unit: Unit::Count,
        source: TABLES,
        of: |n| n.machines.count_with_files,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(key: &str) -> &'static Figure {
        FIGURES.iter().find(|figure| figure.key == key).unwrap()
    }

    #[test]
    fn what_moves_a_figure_is_found() {
        let inputs = Inputs::default();
        let raw = moved_most(&inputs, figure("raw_bytes_per_s"));
        let names: Vec<&str> = raw.iter().map(|moved| moved.input).collect();
        assert_eq!(names, ["sensors", "rate"]);
        assert!(raw.iter().all(|moved| (moved.factor - 2.0).abs() < 1e-9), "{raw:?}");
        // A single slow sensor: each sample has a block of its own, however soon it must be durable.
        let slow = Inputs { sensors: 1.0, per_push: 1.0, rate_hz: 1.0, ..inputs };
        let names: Vec<&str> =
            moved_most(&slow, figure("log_bytes_per_s")).iter().map(|moved| moved.input).collect();
        assert_eq!(names, ["sensors", "rate"]);
        let file = moved_most(&inputs, figure("files_file_bytes"));
        let mut names: Vec<&str> = file.iter().map(|moved| moved.input).collect();
        names.sort_unstable();
        assert_eq!(names, ["disk", "sensors"]);
    }

    #[test]
    fn any_inputs_give_finite_figures() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for _ in 0..2_000 {
            let mut inputs = Inputs::default();
            for knob in Knob::ALL {
                let (least, most) = (knob.limits.least, knob.limits.most.min(1e18));
                let low = least.max(1e-6);
                *(knob.place)(&mut inputs) = match draw() {
                    part if part < 0.1 => least,
                    part if part > 0.9 => most,
                    _ => (low * (most / low).powf(draw())).clamp(least, most),
                };
            }
            inputs.check().unwrap();
            let all = numbers(&inputs);
            for figure in FIGURES {
                let value = (figure.of)(&all);
                assert!(value.is_finite() && value >= 0.0, "{} {value} {inputs:?}", figure.key);
            }
        }
    }
}
