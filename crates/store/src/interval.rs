//! What is asked of a read: times, which records, and how much memory it may take. Pure; apart from
//! how records are read (`records`), so that queries need not know it.
//!
//! Invariant: a filter takes a record of samples if one of them is wanted, whatever else is in it.
//! Held by `tests/order.rs`.

use baro_ondisk::{Kind, Samples};

/// A span of record times: `from_ns` is in it, `to_ns` is not.
///
/// The time of a record is meant, which for samples of a section is theirs. Samples with times of
/// their own in a record that was not moved to a section may lie outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Earliest time.
    pub from_ns: i64,
    /// First time behind it; `i64::MAX` for no end.
    pub to_ns: i64,
}

impl Interval {
    /// All times.
    pub const ALL: Interval = Interval { from_ns: i64::MIN, to_ns: i64::MAX };

    /// Whether it holds `time_ns`.
    #[must_use]
    pub fn holds(&self, time_ns: i64) -> bool {
        time_ns >= self.from_ns && (time_ns < self.to_ns || self.to_ns == i64::MAX)
    }

    /// Whether anything between the two times is in it, both included.
    pub(crate) fn meets(&self, (min, max): (i64, i64)) -> bool {
        min <= max && max >= self.from_ns && (min < self.to_ns || self.to_ns == i64::MAX)
    }
}

/// Which records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    ids: Option<Vec<u32>>,
    /// Leave out gaps and clock steps.
    data_only: bool,
    /// Leave out samples and texts.
    no_samples: bool,
}

impl Filter {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Filter::default()
    }

    /// Frames of these channels and samples records with at least one of these series; gaps and
    /// clock steps too.
    #[must_use]
    pub fn ids(ids: &[u32]) -> Self {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        Filter { ids: Some(ids), ..Filter::default() }
    }

    /// Without gaps and clock steps.
    #[must_use]
    pub fn data_only(self) -> Self {
        Filter { data_only: true, ..self }
    }

    /// Without samples and texts: who reads these from runs and log together has them from there.
    #[must_use]
    pub fn without_samples(self) -> Self {
        Filter { no_samples: true, ..self }
    }

    /// Whether it takes samples.
    pub(crate) fn samples(&self) -> bool {
        !self.no_samples
    }

    /// Whether it takes a record, given by its kind, stream and payload.
    pub(crate) fn takes(&self, kind: Kind, stream: u32, payload: &[u8]) -> bool {
        let wanted = |id: u32| self.ids.as_ref().is_none_or(|ids| ids.binary_search(&id).is_ok());
        match kind {
            Kind::Samples | Kind::Text if self.no_samples => false,
            Kind::Frame | Kind::Text => wanted(stream),
            Kind::Samples if self.ids.is_some() => Samples::decode(payload, 0)
                .is_ok_and(|samples| samples.iter().any(|(id, _, _)| wanted(id))),
            Kind::Samples => true,
            Kind::Gap | Kind::Clock | Kind::Declare => !self.data_only,
            // Its samples are records of their own.
            Kind::Moved => false,
        }
    }
}

/// Bounds of a read in time order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Bytes of blocks and their records held at once; at least one block is.
    pub memory_bytes: usize,
    /// Blocks that may overlap in time; each takes about 100 bytes.
    pub overlap_blocks_max: usize,
    /// Bytes of blocks read a second at most; sleeps to keep it. `None`: as fast as it goes.
    pub bytes_per_s: Option<u64>,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { memory_bytes: 64 << 20, overlap_blocks_max: 1 << 20, bytes_per_s: None }
    }
}
