//! What a run of the store's bench says, key by key.
//!
//! Invariant: the keys that results are judged by come first, in their order, and a figure that
//! was not measured is [`Field::Missing`], never zero. Held by `tests.rs`.

use super::queries::{Cost, Timing};

/// One value of the report.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A count, or bytes.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// Words.
    Text(String),
    /// Not measured; the reason stands in the field `missing`.
    Missing,
}

impl From<Option<u64>> for Field {
    fn from(found: Option<u64>) -> Self {
        found.map_or(Field::Missing, Field::Count)
    }
}

impl From<Option<f64>> for Field {
    // JSON has no infinities.
    fn from(found: Option<f64>) -> Self {
        found.filter(|number| number.is_finite()).map_or(Field::Missing, Field::Number)
    }
}

/// Bytes that a block device was given in the parts of a run; `None` where that is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceBytes {
    /// The one-time writing of segments and catalog.
    pub init: Option<u64>,
    /// Declaring the series.
    pub registration: Option<u64>,
    /// From the first push until all was durable and synced.
    pub durable: Option<u64>,
    /// From the first push until all was settled and synced.
    pub settled: Option<u64>,
}

/// A finished run. Rates are samples per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreReport {
    /// Number of series.
    pub series: u32,
    /// Samples pushed.
    pub samples: u64,
    /// `walk`, `proc` or the name of a file.
    pub data: String,
    /// Order of arrival.
    pub order: &'static str,
    /// When samples were taken.
    pub times: &'static str,
    /// What its values were.
    pub values: &'static str,
    /// Samples of 100 that came late.
    pub late_percent: u32,
    /// In which state the store was asked.
    pub state: &'static str,
    /// Seed.
    pub seed: u64,
    /// The yardstick's runs.
    pub log_append_per_s: Vec<f64>,
    /// Making samples and nothing else.
    pub generate_per_s: f64,
    /// First push to the last.
    pub pushed_ns: u64,
    /// First push to all durable.
    pub durable_ns: u64,
    /// First push to all settled in runs.
    pub settled_ns: Option<u64>,
    /// Pauses of the producer because the ring was full.
    pub waits: u64,
    /// Declaring the series.
    pub registration_ns: u64,
    /// Runs in the end.
    pub runs: u64,
    /// Runs made of runs.
    pub runs_merged: u64,
    /// Runs dropped because of their age.
    pub runs_dropped: u64,
    /// Allocated bytes of runs and their indexes.
    pub runs_bytes: Option<u64>,
    /// Allocated bytes of the catalog.
    pub catalog_bytes: u64,
    /// Bytes that the recorder handed to the device.
    pub log_bytes: u64,
    /// What the device saw.
    pub device: DeviceBytes,
    /// The device has other writers, whose bytes are counted too.
    pub device_shared: Option<bool>,
    /// Most memory resident so far, after ingest and after queries.
    pub peak_rss_ingest_bytes: Option<u64>,
    /// See above.
    pub peak_rss_bytes: Option<u64>,
    /// The ring's part of it.
    pub ring_bytes: u64,
    /// Opening and looking up one sample, files not in memory, and in memory.
    pub open_cold: Option<Timing>,
    /// See above.
    pub open_warm: Option<Timing>,
    /// q1 to q4.
    pub queries: [Option<Timing>; 4],
    /// What one of them read, in the mean.
    pub costs: [Option<Cost>; 4],
    /// The same put to one file per sensor; q4 is not.
    pub files: [Option<Timing>; 4],
    /// Number of those files.
    pub files_made: u64,
    /// Rows that were compared with what was pushed.
    pub rows_checked: u64,
    /// Why figures are missing.
    pub missing: Vec<String>,
}

impl StoreReport {
    /// Median of the yardstick.
    #[must_use]
    pub fn log_append(&self) -> Option<f64> {
        let mut rates = self.log_append_per_s.clone();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }

    fn per_s(&self, ns: u64) -> f64 {
        self.samples as f64 / (ns.max(1) as f64 / 1e9)
    }

    /// Of all bytes, for each of the 16 of a sample.
    fn ratio(&self, bytes: Option<u64>) -> Option<f64> {
        bytes.map(|bytes| bytes as f64 / (16.0 * self.samples.max(1) as f64))
    }

    /// All fields, in the order of the output.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        let mut fields = self.judged();
        fields.extend(self.beside());
        fields.extend(self.counted());
        fields
    }

    /// What results are judged by.
    fn judged(&self) -> Vec<(&'static str, Field)> {
        let samples = self.samples.max(1) as f64;
        let median = |timing: Option<Timing>| Field::from(timing.map(|timing| timing.median_ms));
        let [q1, q2, q3, q4] = self.queries.map(median);
        vec![
            ("series", Field::Count(u64::from(self.series))),
            ("samples", Field::Count(self.samples)),
            ("log_append_per_s", self.log_append().into()),
            ("ingest_durable_per_s", Some(self.per_s(self.durable_ns)).into()),
            ("ingest_settled_per_s", self.settled_ns.map(|ns| self.per_s(ns)).into()),
            ("bytes_per_sample", self.runs_bytes.map(|bytes| bytes as f64 / samples).into()),
            (
                "catalog_bytes_per_series",
                Some(self.catalog_bytes as f64 / f64::from(self.series.max(1))).into(),
            ),
            ("device_bytes_ratio", self.ratio(self.device.settled).into()),
            ("peak_rss_bytes", self.peak_rss_bytes.into()),
            ("open_cold_ms", median(self.open_cold)),
            ("open_warm_ms", median(self.open_warm)),
            ("q1_ms", q1),
            ("q2_ms", q2),
            ("q3_ms", q3),
            ("q4_ms", q4),
        ]
    }

    /// What explains it.
    fn beside(&self) -> Vec<(&'static str, Field)> {
        let p99 = |timing: Option<Timing>| Field::from(timing.map(|timing| timing.p99_ms));
        let median = |timing: Option<Timing>| Field::from(timing.map(|timing| timing.median_ms));
        let runs = |timing: Option<Timing>| Field::from(timing.map(|timing| timing.runs as u64));
        let [q1, q2, q3, q4] = self.queries;
        let [f1, f2, f3, _] = self.files;
        let samples = self.samples.max(1) as f64;
        let lowest = self.log_append_per_s.iter().copied().reduce(f64::min);
        let highest = self.log_append_per_s.iter().copied().reduce(f64::max);
        let durable = self.per_s(self.durable_ns);
        vec![
            ("data", Field::Text(self.data.clone())),
            ("order", Field::Text(self.order.to_owned())),
            ("times", Field::Text(self.times.to_owned())),
            ("seed", Field::Count(self.seed)),
            ("ingest_to_log_append", self.log_append().map(|append| durable / append).into()),
            ("log_append_min_per_s", lowest.into()),
            ("log_append_max_per_s", highest.into()),
            ("generate_per_s", Some(self.generate_per_s).into()),
            ("pushed_per_s", Some(self.per_s(self.pushed_ns)).into()),
            ("ring_full_waits", Field::Count(self.waits)),
            ("ring_bytes", Field::Count(self.ring_bytes)),
            ("registration_ms", Some(self.registration_ns as f64 / 1e6).into()),
            ("log_bytes_per_sample", Some(self.log_bytes as f64 / samples).into()),
            ("device_bytes_to_durable_ratio", self.ratio(self.device.durable).into()),
            ("device_init_bytes", self.device.init.into()),
            ("device_registration_bytes", self.device.registration.into()),
            (
                "device_shared",
                match self.device_shared {
                    Some(true) => Field::Text("yes".to_owned()),
                    Some(false) => Field::Text("no".to_owned()),
                    None => Field::Missing,
                },
            ),
            ("peak_rss_ingest_bytes", self.peak_rss_ingest_bytes.into()),
            ("open_cold_p99_ms", p99(self.open_cold)),
            ("open_warm_p99_ms", p99(self.open_warm)),
            ("q1_p99_ms", p99(q1)),
            ("q2_p99_ms", p99(q2)),
            ("q3_p99_ms", p99(q3)),
            ("q4_p99_ms", p99(q4)),
            ("q1_runs", runs(q1)),
            ("q2_runs", runs(q2)),
            ("q3_runs", runs(q3)),
            ("q4_runs", runs(q4)),
            ("files", Field::Count(self.files_made)),
            ("files_q1_ms", median(f1)),
            ("files_q2_ms", median(f2)),
            ("files_q3_ms", median(f3)),
            ("rows_checked", Field::Count(self.rows_checked)),
            ("missing", Field::Text(self.missing.join("; "))),
        ]
    }
}

impl StoreReport {
    /// State and counts: they do not depend on how busy the machine is.
    fn counted(&self) -> Vec<(&'static str, Field)> {
        const KEYS: [[&str; 3]; 4] = [
            ["q1_pages", "q1_page_bytes", "q1_runs_read"],
            ["q2_pages", "q2_page_bytes", "q2_runs_read"],
            ["q3_pages", "q3_page_bytes", "q3_runs_read"],
            ["q4_pages", "q4_page_bytes", "q4_runs_read"],
        ];
        let mut fields = vec![
            ("values", Field::Text(self.values.to_owned())),
            ("late_percent", Field::Count(u64::from(self.late_percent))),
            ("state", Field::Text(self.state.to_owned())),
            ("runs", Field::Count(self.runs)),
            ("runs_merged", Field::Count(self.runs_merged)),
            ("runs_dropped", Field::Count(self.runs_dropped)),
        ];
        for (keys, cost) in KEYS.into_iter().zip(self.costs) {
            let [pages, bytes, runs] = keys;
            fields.push((pages, cost.map(|cost| cost.pages).into()));
            fields.push((bytes, cost.map(|cost| cost.page_bytes).into()));
            fields.push((runs, cost.map(|cost| cost.runs).into()));
        }
        fields
    }
}

/// Fields for people, one a line.
#[must_use]
pub fn text(fields: &[(&'static str, Field)]) -> String {
    let lines = fields.iter().map(|(key, field)| match field {
        Field::Count(count) => format!("{key:30} {count}\n"),
        Field::Number(number) if number.abs() >= 1000.0 => format!("{key:30} {number:.0}\n"),
        Field::Number(number) => format!("{key:30} {number:.4}\n"),
        Field::Text(text) => format!("{key:30} {text}\n"),
        Field::Missing => format!("{key:30} not measured\n"),
    });
    lines.collect()
}
