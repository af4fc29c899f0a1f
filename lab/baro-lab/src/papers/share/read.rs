//! Measurements as the study reads them: all repeats of a case together, from all files.
//!
//! Several files may hold parts of one experiment, measured side by side on disks of one model; what
//! is of one case counts as its repeats. Invariant: a figure is a median of repeats and comes with its
//! smallest and largest. Held by `repeats_become_a_median_with_its_spread`.

use super::row::{Case, Direction, Figures, Load, Task};
use super::setting::Setting;
use baro_bench::experiment::Measurement;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A figure of several repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Spread {
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get((values.len() - 1) / 2)?;
        Some(Self { median: f64::midpoint(lower, upper), low, high })
    }

    /// `1.98 (1.97 to 2.01)`.
    pub(super) fn shown(&self, digits: usize) -> String {
        let Self { median, low, high } = self;
        format!("{median:.digits$} ({low:.digits$} to {high:.digits$})")
    }
}

/// All repeats of one case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeats<'a> {
    pub(super) case: &'a Case,
    all: &'a [Figures],
}

impl Repeats<'_> {
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Of the heaviest group to the lightest, in each repeat; only where both want all that they can get.
    pub(super) fn ratios(&self) -> Vec<f64> {
        let compared = matches!(self.case.task, Task::Pair | Task::Nested | Task::Change);
        let ratio = |figures: &Figures| match figures.mb_per_s[..] {
            [first, .., last] if last > 0.0 && compared => Some(first / last),
            _ => None,
        };
        self.all.iter().filter_map(ratio).collect()
    }

    /// The same as a spread.
    pub(super) fn ratio(&self) -> Option<Spread> {
        Spread::of(self.ratios().into_iter())
    }

    /// Of all groups together, in each repeat.
    pub(super) fn totals(&self) -> Vec<f64> {
        self.all.iter().map(|figures| figures.mb_per_s.iter().sum()).collect()
    }

    /// The same as a spread.
    pub(super) fn total(&self) -> Option<Spread> {
        Spread::of(self.totals().into_iter())
    }

    pub(super) fn rate(&self, group: usize) -> Option<Spread> {
        Spread::of(self.all.iter().filter_map(|figures| figures.mb_per_s.get(group).copied()))
    }

    /// fio's own figure.
    pub(super) fn fio_rate(&self, group: usize) -> Option<Spread> {
        Spread::of(self.all.iter().filter_map(|one| one.fio_mb_per_s.get(group).copied().flatten()))
    }

    /// What a group got of what its weight asks for, 1 is all, in each repeat.
    pub(super) fn parts_of_asked(&self, group: usize) -> Vec<f64> {
        let sum: f64 = self.case.weights.iter().map(|weight| f64::from(*weight)).sum();
        let Some(weight) = self.case.weights.get(group) else { return Vec::new() };
        let asked = f64::from(*weight) / sum;
        let part = |figures: &Figures| {
            let total: f64 = figures.mb_per_s.iter().sum();
            Some(figures.mb_per_s.get(group)? / total.max(f64::MIN_POSITIVE) / asked)
        };
        self.all.iter().filter_map(part).collect()
    }

    /// The most of any repeat.
    pub(super) fn late_frames(&self) -> Option<u64> {
        self.all.iter().filter_map(|figures| Some(figures.late?.late_frames)).max()
    }

    pub(super) fn frames(&self) -> Option<u64> {
        self.all.iter().filter_map(|figures| Some(figures.late?.frames)).min()
    }

    /// Bytes read of those of the video, the least of any repeat.
    pub(super) fn part_read(&self) -> Option<f64> {
        let part = |figures: &Figures| {
            let late = figures.late.filter(|late| late.file_bytes > 0)?;
            Some(late.read_bytes as f64 / late.file_bytes as f64)
        };
        Spread::of(self.all.iter().filter_map(part)).map(|spread| spread.low)
    }

    /// When the ratio was as asked; None if it never was in one of the repeats.
    pub(super) fn settled_s(
        &self,
        window: fn(&super::row::Settled) -> Option<f64>,
    ) -> Option<Spread> {
        let all: Option<Vec<f64>> =
            self.all.iter().map(|figures| window(&figures.settled?)).collect();
        Spread::of(all?.into_iter())
    }

    /// A figure of each repeat in which a change was watched.
    pub(super) fn settled_each(&self, of: fn(&super::row::Settled) -> f64) -> Vec<f64> {
        self.all.iter().filter_map(|figures| figures.settled.as_ref().map(of)).collect()
    }

    pub(super) fn settled(&self, of: fn(&super::row::Settled) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.all.iter().filter_map(|figures| of(&figures.settled?)))
    }

    pub(super) fn piece_bytes(&self) -> Option<Vec<u64>> {
        self.all.last()?.piece_bytes.clone()
    }

    /// Sum over groups and repeats.
    pub(super) fn counted(&self, name: &str) -> u64 {
        let counters = self.all.iter().flat_map(|figures| &figures.counters);
        counters.filter_map(|counters| counters.get(name)).sum()
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = &String> {
        self.all.iter().flat_map(|figures| &figures.notes)
    }

    /// The setting's name in rows; what is measured otherwise than two loads or a player has its own.
    fn setting(&self) -> String {
        match self.case.task {
            Task::Pair | Task::Player => self.case.setting.name().to_owned(),
            Task::Device => "device".to_owned(),
            other => format!("{}_{}", self.case.setting.name(), other.name().replace('-', "_")),
        }
    }

    /// For programs.
    pub(super) fn row(&self) -> Value {
        let groups = self.case.weights.len();
        let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
        let range = |spread: Option<Spread>| spread.map(|spread| [spread.low, spread.high]);
        let rates: Vec<_> = (0..groups).map(|group| median(self.rate(group))).collect();
        let fio: Vec<_> = (0..groups).map(|group| median(self.fio_rate(group))).collect();
        let load = self.case.load;
        let last = self.all.last();
        json!({
            "task": self.case.task.name(),
            "setting": self.setting(),
            "direction": load.map(|load| load.direction.name()),
            "direct": load.map(|load| load.direct),
            "engine": load.map(Load::engine),
            "block_bytes": load.map(Load::block_bytes),
            "weights": self.case.weights,
            "weights_read": last.map(|figures| &figures.weights_read),
            "mb_per_s": rates,
            "fio_mb_per_s": fio,
            "ratio": median(self.ratio()),
            "ratio_spread": range(self.ratio()),
            "total_mb_per_s": median(self.total()),
            "total_spread": range(self.total()),
            "late_frames": self.late_frames(),
            "frames": self.frames(),
            "from_device": self.part_read(),
            "piece_bytes": self.piece_bytes(),
            "counters": last.map(|figures| &figures.counters),
            "settled": last.and_then(|figures| figures.settled),
            "repeats": self.count(),
            "seconds": last.map(|figures| figures.seconds),
            "notes": self.notes().collect::<std::collections::BTreeSet<_>>(),
        })
    }
}

/// All cases that were measured.
#[derive(Debug, Default)]
pub(super) struct Record {
    cases: BTreeMap<Case, Vec<Figures>>,
    missing: BTreeMap<Case, String>,
}

impl Record {
    /// Cells that cannot be read are passed over, as those of a newer version are.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Measurement>) -> Self {
        let mut record = Self::default();
        for measurement in all {
            for name in measurement.cells.keys() {
                let Some(case) = Case::of_cell(name) else { continue };
                if let Some(reason) = measurement.unavailable(name) {
                    record.missing.insert(case, reason.to_owned());
                } else if let Some(data) = measurement.data(name)
                    && let Ok(figures) = serde_json::from_value(data.clone())
                {
                    record.cases.entry(case).or_default().push(figures);
                }
            }
        }
        record
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Repeats<'_>> {
        self.cases.iter().map(|(case, all)| Repeats { case, all })
    }

    /// Why cases were not measured, each reason with the first case.
    pub(super) fn missing(&self) -> BTreeMap<&str, String> {
        let mut reasons = BTreeMap::new();
        for (case, reason) in &self.missing {
            reasons.entry(reason.as_str()).or_insert_with(|| case.name());
        }
        reasons
    }

    pub(super) fn find(&self, case: &Case) -> Option<Repeats<'_>> {
        let (case, all) = self.cases.get_key_value(case)?;
        Some(Repeats { case, all })
    }

    /// Two or more loads past the page cache with libaio.
    pub(super) fn pair(
        &self,
        weights: &[u16],
        setting: Setting,
        direction: Direction,
        block_mb: u64,
    ) -> Option<Repeats<'_>> {
        self.task(Task::Pair, weights, setting, Load::direct(direction, block_mb))
    }

    pub(super) fn task(
        &self,
        task: Task,
        weights: &[u16],
        setting: Setting,
        load: Load,
    ) -> Option<Repeats<'_>> {
        self.find(&Case { task, weights: weights.to_vec(), setting, load: Some(load) })
    }
}
