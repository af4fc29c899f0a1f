//! The scenarios: how a store is made and recorded into, so that load and judge mean the same.
//!
//! Everything of a store must fit into a file system of 96 MiB, f2fs with its own share included, and
//! what is recorded in some seconds of an emulated machine must fill the small log, or go round it.

/// How much of what is settled is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    /// Between two steps, nanoseconds.
    pub every_ns: u64,
    /// Runs are dropped whose newest sample is older than this by the samples' times, nanoseconds.
    pub keep_ns: Option<u64>,
}

/// A scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Segments of the log.
    pub segments: u32,
    /// Segments that init writes, the others grow while it is recorded; 0 is all of them.
    pub init_segments: u32,
    /// Old segments are used again; else recording stops when the log is full.
    pub recycle: bool,
    /// As the recorder's option, nanoseconds.
    pub durable_within_ns: u64,
    /// Through the page cache.
    pub buffered: bool,
    /// Rings are files that another process could find; else private memory.
    pub rings_found: bool,
    /// Bytes of each ring.
    pub ring_bytes: usize,
    /// Bytes that both producers together push in a second, at most.
    pub bytes_per_s: u64,
    /// Of 16 records so many are frames, the others samples.
    pub frames_of_16: u64,
    /// Samples of a record, at most.
    pub batch: usize,
    /// Portions of declarations of each producer, at most.
    pub portions: usize,
    /// A portion is declared each time so many records have been pushed.
    pub portion_every: u64,
    /// Samples are settled while it is recorded, and none goes before it is settled.
    pub settle: Option<Settle>,
    /// Pins are asked for, copied out of the log, and released.
    pub pins: bool,
    /// Pushes go on while the ring is full, so that records are refused.
    pub refuses: bool,
}

/// Largest record that is taken, bytes; a little more is refused.
pub const RECORD_BYTES_MAX: usize = 48 << 10;
/// Largest block, bytes.
pub const BLOCK_BYTES: usize = 128 << 10;
/// Bytes of the catalog.
pub const CATALOG_BYTES: u64 = 1 << 20;

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

const DIRECT: Scenario = Scenario {
    name: "direct",
    about: "past the page cache, durable within 20 ms, stops when the log is full",
    segment_bytes: MIB,
    segments: 16,
    init_segments: 0,
    recycle: false,
    durable_within_ns: 20 * MS,
    buffered: false,
    rings_found: false,
    ring_bytes: 512 << 10,
    bytes_per_s: 1_200_000,
    frames_of_16: 9,
    batch: 40,
    portions: 8,
    portion_every: 400,
    settle: None,
    pins: false,
    refuses: true,
};

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    DIRECT,
    Scenario {
        name: "direct-5ms",
        about: "as direct, durable within 5 ms",
        durable_within_ns: 5 * MS,
        rings_found: true,
        ..DIRECT
    },
    Scenario {
        name: "direct-100ms",
        about: "as direct, durable within 100 ms, more at once",
        durable_within_ns: 100 * MS,
        bytes_per_s: 2_400_000,
        ..DIRECT
    },
    Scenario { name: "buffered", about: "through the page cache", buffered: true, ..DIRECT },
    Scenario {
        name: "settle",
        about: "a small log of samples mostly, settled beside and recycled many times",
        segments: 4,
        recycle: true,
        bytes_per_s: 1_600_000,
        frames_of_16: 3,
        batch: 60,
        settle: Some(Settle { every_ns: 150 * MS, keep_ns: None }),
        ..DIRECT
    },
    Scenario {
        name: "retention",
        about: "as settle, and old runs are dropped",
        segments: 4,
        recycle: true,
        bytes_per_s: 1_600_000,
        frames_of_16: 3,
        batch: 60,
        settle: Some(Settle { every_ns: 100 * MS, keep_ns: Some(400 * MS) }),
        ..DIRECT
    },
    Scenario {
        name: "pins",
        about: "a recycling log with windows that are pinned, copied out and released",
        segments: 8,
        recycle: true,
        bytes_per_s: 2_000_000,
        frames_of_16: 14,
        batch: 20,
        pins: true,
        refuses: false,
        ..DIRECT
    },
    Scenario {
        name: "catalog",
        about: "hundreds of series declared in portions while recording, with a dictionary",
        segments: 6,
        recycle: true,
        bytes_per_s: 900_000,
        frames_of_16: 4,
        batch: 30,
        portions: 60,
        portion_every: 25,
        settle: Some(Settle { every_ns: 120 * MS, keep_ns: None }),
        ..DIRECT
    },
    Scenario {
        name: "grow",
        about: "two segments at first, the others are made while recording",
        init_segments: 2,
        bytes_per_s: 2_000_000,
        ..DIRECT
    },
    Scenario {
        name: "fault",
        about: "what `lab-load fault` records: a log that recycles, and all it can refuse",
        recycle: true,
        bytes_per_s: 1_500_000,
        frames_of_16: 12,
        ..DIRECT
    },
];

/// The scenario of this name.
#[must_use]
pub fn scenario(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::PORTIONS_MAX;

    #[test]
    fn every_store_fits_and_every_statement_can_say_it() {
        for (at, one) in SCENARIOS.iter().enumerate() {
            let log = one.segment_bytes * u64::from(one.segments);
            assert!((4 * MIB..=16 * MIB).contains(&log), "{}", one.name);
            assert!(one.portions <= PORTIONS_MAX && one.portions > 0, "{}", one.name);
            assert_eq!(SCENARIOS.iter().position(|s| s.name == one.name), Some(at));
        }
    }
}
