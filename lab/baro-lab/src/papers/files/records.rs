//! Measurements as tables, figures and claims ask for them: a cell by its name, or why it has no
//! numbers.
//!
//! Apart from the study, which calls all three. Invariant: a cell that was not measured has a reason
//! and no number. Held by `a_committed_measurement_gives_the_expected_text`.

use super::model::Scale;
use super::plan::USUAL;
use super::{Greedy, Rate, Reading};
use baro_bench::experiment::Measurement;
use serde::de::DeserializeOwned;

/// A measurement, by cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a>(pub(super) &'a Measurement);

impl<'a> Record<'a> {
    fn of<T: DeserializeOwned>(self, cell: &str) -> Option<T> {
        serde_json::from_value(self.0.data(cell)?.clone()).ok()
    }

    /// A greedy cell: `flat`, or `matrix` with F and B.
    pub(super) fn greedy(self, group: &str, files: u64, block_kib: u64) -> Option<Greedy> {
        self.of(&id(group, files, block_kib))
    }

    /// The one of a group that has one, at F = 100,000, B = 4 KiB.
    pub(super) fn usual(self, group: &str) -> Option<Greedy> {
        self.greedy(group, USUAL.0, USUAL.1)
    }

    pub(super) fn rate(self, group: &str) -> Option<Rate> {
        self.of(&id(group, USUAL.0, USUAL.1))
    }

    pub(super) fn reading(self, group: &str) -> Option<Reading> {
        self.of(&id(group, USUAL.0, USUAL.1))
    }

    /// Rate of a cell of the matrix, MB/s.
    pub(super) fn v(self, files: u64, block_kib: u64) -> Option<f64> {
        self.greedy("matrix", files, block_kib).map(|cell| cell.mb_per_s())
    }

    /// Why a cell has no numbers.
    pub(super) fn missing(self, group: &str, files: u64, block_kib: u64) -> Option<String> {
        let id = id(group, files, block_kib);
        if self.0.data(&id).is_some() {
            return None;
        }
        let reason = self.0.unavailable(&id).map(str::to_owned);
        Some(reason.unwrap_or_else(|| format!("not measured in this run ({id})")))
    }

    /// F and B (KiB) of the cells of a group that have numbers, by F, then B.
    pub(super) fn cells(self, group: &str) -> Vec<(u64, u64)> {
        let mut cells: Vec<(u64, u64)> = self
            .0
            .cells
            .keys()
            .filter(|id| self.0.data(id).is_some())
            .filter_map(|id| {
                let rest = id.strip_prefix(group)?.strip_prefix("/F=")?;
                let (files, block) = rest.split_once("/B=")?;
                Some((files.parse().ok()?, block.strip_suffix('K')?.parse().ok()?))
            })
            .collect();
        cells.sort_unstable();
        cells
    }

    pub(super) fn setting(self, name: &str) -> &'a str {
        self.0.head.settings.get(name).and_then(|value| value.as_str()).unwrap_or("-")
    }

    pub(super) fn scale(self) -> Scale {
        let scale = self.0.head.settings.get("scale").and_then(serde_json::Value::as_u64);
        Scale(scale.unwrap_or(1).max(1))
    }
}

fn id(group: &str, files: u64, block_kib: u64) -> String {
    format!("{group}/F={files}/B={block_kib}K")
}

/// What was measured of the paper's two devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'a> {
    /// As the HDD: a model of one, or whatever is no SSD.
    pub(super) hdd: Option<Record<'a>>,
    /// As the SSD.
    pub(super) ssd: Option<Record<'a>>,
    /// What is ours is told of the first.
    pub(super) first: Option<Record<'a>>,
}
