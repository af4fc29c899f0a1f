//! What the study asks of a measurement.

use super::Outlier;
use crate::experiment::Measurement;
use crate::papers::latency::Latency;

/// A measurement of this experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read<'a>(pub(super) &'a Measurement);

impl Read<'_> {
    /// The producer's latencies in a cell.
    pub(super) fn latency(&self, cell: &str) -> Option<Latency> {
        let latency: Latency =
            serde_json::from_value(self.0.data(cell)?.get("write")?.clone()).ok()?;
        (latency.calls > 0).then_some(latency)
    }

    /// The cell of the set with the largest maximum, as the paper takes it: of `case/NONE`, of
    /// `barograph/idle`.
    pub(super) fn worst(&self, of: &str) -> Option<String> {
        let set = |cell: &&String| cell.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'));
        let sets = self.0.cells.keys().filter(set);
        let worst = sets.filter_map(|cell| Some((self.latency(cell)?.max_ns, cell)));
        worst.max().map(|(_, cell)| cell.clone())
    }

    /// That of a case of the paper.
    pub(super) fn worst_set(&self, case: &str) -> Option<String> {
        self.worst(&format!("case/{case}"))
    }

    /// That of Barograph beside a load.
    pub(super) fn worst_own(&self, load: &str) -> Option<String> {
        self.worst(&format!("barograph/{load}"))
    }

    /// The mean of each set of a case, ns.
    pub(super) fn means(&self, case: &str) -> Vec<f64> {
        let prefix = format!("case/{case}/");
        let sets = self.0.cells.keys().filter(|cell| cell.starts_with(&prefix));
        sets.filter_map(|cell| Some(self.latency(cell)?.mean_ns)).collect()
    }

    /// Whether the device is a model, which has one bucket for reads and one for writes.
    pub(super) fn is_modelled(&self) -> bool {
        !matches!(self.0.head.machine.fact("device model"), None | Some("as found"))
    }

    /// Bytes flushed in a second of flushing, in a cell of a unit of flushing.
    pub(super) fn flushed_bytes_per_s(&self, unit_bytes: u64) -> Option<f64> {
        let flush =
            |key: &str| self.0.number(&format!("unit/{unit_bytes}"), &format!("flush.{key}"));
        let mean_ns = flush("mean_ns").filter(|mean_ns| *mean_ns > 0.0)?;
        Some(unit_bytes as f64 * 1e9 / mean_ns)
    }

    /// A setting of the run as text.
    pub(super) fn setting(&self, name: &str) -> String {
        self.0.head.settings.get(name).map_or("-".to_owned(), ToString::to_string)
    }

    pub(super) fn machine_wide(&self) -> bool {
        self.0.head.settings.get("machine_wide").and_then(serde_json::Value::as_bool) == Some(true)
    }

    /// What is to be said beside a case's row.
    pub(super) fn why_not(&self, case: &str, flusher_off: bool) -> Option<String> {
        let prefix = format!("case/{case}/");
        let first = self.0.cells.keys().find(|cell| cell.starts_with(&prefix));
        if let Some(reason) = first.and_then(|cell| self.0.unavailable(cell)) {
            return Some(reason.to_owned());
        }
        let measured = first.is_some();
        (measured && flusher_off && !self.machine_wide()).then(|| "flusher as found".to_owned())
    }

    /// Device and kernel.
    pub(super) fn place(&self) -> String {
        let fact = |name| self.0.head.machine.fact(name).unwrap_or("-");
        let model = fact("device model");
        let device = if model == "as found" { fact("device") } else { model };
        format!("{device}, Linux {}", fact("kernel"))
    }

    /// The longest delay of a thread that only sleeps, in any of these cells, ns.
    pub(super) fn noise_max_ns(&self, cells: &[&str]) -> Option<f64> {
        let of = |cell: &&str| self.0.number(cell, "noise.max_ns");
        cells.iter().filter_map(of).fold(None, |most, ns| Some(most.map_or(ns, |m: f64| m.max(ns))))
    }

    /// Throughput of the reader beside a recorder, of that alone.
    pub(super) fn reader_share(&self, beside: &str) -> Option<f64> {
        let rate = |who: &str| self.0.number(&format!("reader/{who}"), "load.read_bytes_per_s");
        let alone = rate("alone").filter(|rate| *rate > 0.0)?;
        Some(rate(beside)? / alone)
    }

    /// Cells of other ways to write, with a name for each.
    pub(super) fn ways(&self) -> Vec<(String, String)> {
        let ways = self.0.cells.keys().filter_map(|cell| {
            let (way, load) = cell.strip_prefix("way/")?.split_once('/')?;
            let name = self.0.data(cell).and_then(|data| data.get("name")?.as_str());
            Some((cell.clone(), format!("{}, {load}", name.unwrap_or(way))))
        });
        ways.collect()
    }

    /// What the longest calls of each case waited for, in the order of the cells.
    pub(super) fn outliers(&self) -> Vec<(String, Outlier)> {
        let of_cell = |cell: &String| -> Vec<(String, Outlier)> {
            let found = self.0.data(cell).and_then(|data| data.get("outliers")).cloned();
            let found: Vec<Outlier> =
                found.and_then(|found| serde_json::from_value(found).ok()).unwrap_or_default();
            found.into_iter().take(1).map(|outlier| (cell.clone(), outlier)).collect()
        };
        self.0.cells.keys().flat_map(of_cell).collect()
    }

    /// Why the witness did not watch.
    pub(super) fn unwatched(&self) -> Option<String> {
        let reasons = self.0.cells.keys().filter_map(|cell| {
            Some(self.0.data(cell)?.get("outliers_missing")?.as_str()?.to_owned())
        });
        reasons.into_iter().next()
    }
}
