//! For tests: a store that is recorded into and settled, a table beside it, and what that table says read
//! as other programs read it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "for tests")]

use crate::handover::Lake;
use crate::place::{LOG, Local, Place};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int16Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Extent, RunRetention, SettleOptions, Settled, Settler, Store};
use baro_sys::disk::Disk;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values as text, by series and time.
pub(crate) type Samples = BTreeMap<(String, i64), String>;

/// Series of a scene.
const SERIES: [(&str, Type, &str); 5] = [
    ("temp{line=\"3\",site=\"a\"}", Type::F64, "C"),
    ("count", Type::I64, ""),
    ("is_on{site=\"b\"}", Type::Bool, ""),
    ("note", Type::Text, ""),
    ("a_last_one_by_id", Type::F64, "V"),
];

/// A folder with a store and a place for a table, removed at the end.
pub(crate) struct Scene {
    pub(crate) folder: PathBuf,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) series: String,
    pub(crate) metric: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) time_ns: i64,
    pub(crate) value: String,
    pub(crate) unit: String,
    pub(crate) sequence: i64,
    pub(crate) store: String,
}

/// What a table's log says.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) files: Vec<String>,
    pub(crate) rows: u64,
    pub(crate) versions: u64,
}

impl Scene {
    /// A new store without samples.
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = format!("baro-lake-{name}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let scene = Scene { folder };
        scene.init("store", *b"a store of tests");
        scene
    }

    pub(crate) fn init(&self, store: &str, id: [u8; 16]) {
        let path = self.folder.join(store);
        let (segment_bytes, catalog_bytes) = (1 << 20, 1 << 20);
        let when_full = WhenFull::Recycle;
        let geometry = Geometry { segment_bytes, segments: 3, catalog_bytes, when_full };
        init(&Disk::create(&path).unwrap(), &path, StoreId(id), 1, &geometry, |_| {}).unwrap();
    }

    /// The same store in another folder.
    pub(crate) fn copy(&self, name: &str) -> Self {
        let scene = Scene::new(name);
        std::fs::remove_dir_all(scene.store()).unwrap();
        copy_folder(&self.store(), &scene.store());
        scene
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    pub(crate) fn table(&self) -> PathBuf {
        self.folder.join("table")
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.store()).unwrap()
    }

    /// Records `count` times of all series from a time on, and settles them into a run.
    pub(crate) fn record(&self, store: &str, from: i64, count: i64, samples: &mut Samples) {
        let path = self.folder.join(store);
        let options =
            Options { rings: Rings::Private, durable_within_ns: 4_000_000, ..Options::default() };
        let recorder = Recorder::open(&path, options).unwrap();
        assert_eq!(recorder.declare(&SERIES).unwrap(), [1, 2, 3, 4, 5]);
        let mut producer = recorder.producer().unwrap();
        for number in 0..count {
            // Neither whole microseconds nor after 1970 alone.
            let time_ns = (from + number) * 1_000_001 - 5_000_000;
            let value = (from * 31 + number) as f64 / 8.0;
            let bits = [
                value.to_bits().cast_signed(),
                number - from,
                number % 2,
                (-value).to_bits().cast_signed(),
            ];
            producer.push_words(&[time_ns; 4], &[1, 2, 3, 5], &bits).unwrap();
            producer.push_text(4, time_ns, &format!("text {from} {number}")).unwrap();
            let texts = [
                value.to_string(),
                (number - from).to_string(),
                (number % 2 == 1).to_string(),
                format!("text {from} {number}"),
                (-value).to_string(),
            ];
            for ((name, ..), text) in SERIES.iter().zip(texts) {
                samples.insert(((*name).to_owned(), time_ns), text);
            }
        }
        let sequence = producer.next_sequence();
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
        assert_eq!(recorder.close().left, 0);
        let mut settler = Settler::open(&path, settle_options(100)).unwrap();
        while settler.step(Extent::All).unwrap().more {}
    }

    /// Merges and drops what may be; so many runs become one.
    pub(crate) fn settle(&self, fan_in: usize, retention: RunRetention) -> Settled {
        let options = SettleOptions { retention, ..settle_options(fan_in) };
        let mut settler = Settler::open(&self.store(), options).unwrap();
        let mut sum = Settled::default();
        loop {
            let done = settler.step(Extent::All).unwrap();
            sum.merged += done.merged;
            sum.cleaned += done.cleaned;
            sum.dropped.runs += done.dropped.runs;
            sum.damage.extend(done.damage);
            if !done.more {
                return sum;
            }
        }
    }

    /// A hand-over to the table; the samples that went.
    pub(crate) fn hand_over(&self) -> u64 {
        self.lake().round().unwrap().samples
    }

    pub(crate) fn lake(&self) -> Lake<Local> {
        lake_over(self.open(), local(&self.table()))
    }

    pub(crate) fn told(&self) -> Told {
        told(&self.table())
    }

    /// All rows of the table.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let files = self.told().files;
        files.iter().flat_map(|file| rows_of(&self.table().join(file))).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The type of a series.
pub(crate) fn kind_of(name: &str) -> &'static str {
    match SERIES.iter().find(|series| series.0 == name).map(|series| series.1) {
        Some(Type::I64) => "i64",
        Some(Type::Bool) => "bool",
        Some(Type::Text) => "text",
        _ => "f64",
    }
}

/// The folder of a table, made if it is not there.
pub(crate) fn local(path: &Path) -> Local {
    Local::open(path).unwrap().unwrap_or_else(|| Local::make(path).unwrap())
}

pub(crate) fn lake_over<P: Place>(store: Store, place: P) -> Lake<P> {
    Lake::new(store, place, false)
}

fn settle_options(fan_in: usize) -> SettleOptions {
    SettleOptions { least_bytes: 0, fan_in, ..SettleOptions::default() }
}

/// Of several rows of one series and time that with the highest sequence.
pub(crate) fn newest(rows: &[Row]) -> Samples {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.sequence);
    rows.into_iter().map(|row| ((row.series, row.time_ns), row.value)).collect()
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

pub(crate) fn told(table: &Path) -> Told {
    let mut told = Told::default();
    while let Ok(text) =
        std::fs::read_to_string(table.join(format!("{LOG}/{:020}.json", told.versions)))
    {
        told.versions += 1;
        for line in text.lines() {
            let action: Value = serde_json::from_str(line).unwrap();
            let Some(path) = action["add"]["path"].as_str() else { continue };
            let stats: Value =
                serde_json::from_str(action["add"]["stats"].as_str().unwrap()).unwrap();
            told.rows += stats["numRecords"].as_u64().unwrap();
            let bytes = std::fs::metadata(table.join(path)).unwrap().len();
            assert_eq!(action["add"]["size"].as_u64(), Some(bytes));
            told.files.push(path.to_owned());
        }
    }
    told
}

fn rows_of(file: &Path) -> Vec<Row> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let mut rows = Vec::new();
    for group in 0..reader.metadata().num_row_groups() {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
        let before = rows.len();
        for batch in reader.with_row_groups(vec![group]).build().unwrap() {
            take(&batch.unwrap(), &mut rows);
        }
        let key = |row: &Row| (row.series.clone(), row.time_ns);
        assert!(rows[before..].is_sorted_by_key(key), "a row group is sorted");
    }
    rows
}

fn take(batch: &RecordBatch, rows: &mut Vec<Row>) {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let text = |name: &str, at: usize| column(name).as_string::<i32>().value(at).to_owned();
    for at in 0..batch.num_rows() {
        let labels = column("labels").as_map().value(at);
        let label =
            |part: usize, at: usize| labels.column(part).as_string::<i32>().value(at).to_owned();
        let value = [
            ("value", column("value").as_primitive::<Float64Type>().value(at).to_string()),
            ("value_i64", column("value_i64").as_primitive::<Int64Type>().value(at).to_string()),
            ("value_bool", column("value_bool").as_boolean().value(at).to_string()),
            ("value_text", column("value_text").as_string::<i32>().value(at).to_owned()),
        ];
        let mut set = value.into_iter().filter(|(name, _)| column(name).is_valid(at));
        let (_, value) = set.next().unwrap();
        assert!(set.next().is_none(), "one value is set");
        let time_us = column("time").as_primitive::<TimestampMicrosecondType>().value(at);
        let ns = column("ns").as_primitive::<Int16Type>().value(at);
        rows.push(Row {
            series: text("series", at),
            metric: text("metric", at),
            labels: (0..labels.len()).map(|at| (label(0, at), label(1, at))).collect(),
            time_ns: time_us * 1000 + i64::from(ns),
            value,
            unit: text("unit", at),
            sequence: column("sequence").as_primitive::<Int64Type>().value(at),
            store: text("store", at),
        });
    }
}
