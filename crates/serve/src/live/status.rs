//! What is told of the recording beside the picture.

use serde_json::{Value, json};

/// Rates, losses and what waits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Status {
    /// Samples and frames a second, of the last second.
    pub(super) rate: f64,
    /// Records that were lost since somebody looks.
    pub(super) lost: u64,
    /// Blocks of the log that were gone before they were read here.
    pub(super) recycled: u64,
    /// Places of the log that were met and are damaged.
    pub(super) damaged: u64,
    /// How old the newest sample was when it was seen: from its time until it was durable and read.
    pub(super) delay_ns: Option<i64>,
    /// Who records; `Some(0)` where that is not told.
    pub(super) recorder: Option<u32>,
    /// Bytes in rings that are not durable yet, of so many.
    pub(super) waiting_bytes: u64,
    pub(super) ring_bytes: u64,
    /// Percent of the last ten seconds in which some task waited for a disk.
    pub(super) disk_pressure: Option<f64>,
    /// What keeps from following the log.
    pub(super) fault: Option<String>,
}

impl Status {
    pub(super) fn json(&self) -> Value {
        json!({
            "samples_per_s": self.rate,
            "lost": self.lost,
            "recycled_blocks": self.recycled,
            "damaged_places": self.damaged,
            "delay_ms": self.delay_ns.map(|ns| ns as f64 / 1e6),
            "recorder": self.recorder,
            "ring_used_bytes": self.waiting_bytes,
            "ring_bytes": self.ring_bytes,
            "disk_pressure_percent": self.disk_pressure,
            "fault": self.fault,
        })
    }
}
