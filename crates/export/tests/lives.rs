//! Every way out of a store shows the same samples at every moment of its life: random lives of recording
//! (samples of all types, late ones and duplicates, texts, frames with and without a layout), settling,
//! merging, recycling, pins and reopening; after each step all forms are read back and held against what
//! was pushed and has not been recycled.
//!
//! `BARO_LIVES_COUNT=1000` runs so many, `BARO_LIVES_SEED=7` begins with that one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use baro_export::rows::{self, Rows};
use baro_export::{Arrow, Csv, Json, Parquet, Request, to_csv, to_mcap};
use baro_log::{Geometry, init};
use baro_ondisk::{Layout, StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Extent, Interval, Query, Reading, Selection, SettleOptions, Settler, Store};
use baro_sys::disk::Disk;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Lives with each push.
const LIVES: u64 = 4;
const STEPS: u64 = 7;

/// What a way out shows: of a series and time the value as text. NaN is null where there is JSON.
type Shown = BTreeMap<(String, i64), String>;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

const SERIES: [(&str, Type); 6] = [
    ("temp{room=\"1\"}", Type::F64),
    ("count", Type::I64),
    ("on", Type::Bool),
    ("said", Type::Text),
    ("plain", Type::F64),
    ("ticks", Type::I64),
];

struct Life {
    folder: Folder,
    random: Random,
    now_ns: i64,
    /// All samples that were ever pushed; those of settled ones must all be there.
    pushed: Shown,
}

fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_owned() }
}

impl Life {
    fn new(seed: u64) -> Self {
        let path = std::env::temp_dir().join(format!("baro-lives-{seed}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let disk = Disk::create(&path).unwrap();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 1 << 20, WhenFull::Recycle);
        // Enough for what one life has unsettled: each session begins a segment.
        let segments = 10 + random.below(3) as u32;
        let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
        init(&disk, &path, StoreId([7; 16]), 1, &geometry, |_| {}).unwrap();
        Life { folder: Folder(path), random, now_ns: 1_000, pushed: Shown::new() }
    }

    fn path(&self) -> &Path {
        &self.folder.0
    }

    /// One session of the recorder.
    fn record(&mut self, batches: u64, frames: u64) {
        let options =
            Options { rings: Rings::Private, durable_within_ns: 4_000_000, ..Options::default() };
        let recorder = Recorder::open(self.path(), options).unwrap();
        let layout: Layout = "speed:f64@0,big:u64@8".parse().unwrap();
        let control = recorder.declare_channel_with_layout("control", &layout).unwrap();
        let wanted = SERIES.map(|(name, kind)| (name, kind, ""));
        let ids = recorder.declare(&wanted).unwrap();
        let raw = recorder.declare(&[("raw", Type::Channel, "")]).unwrap()[0];
        let mut producer = recorder.producer().unwrap();
        let random = &mut self.random;
        for _ in 0..batches {
            for _ in 0..1 + random.below(40) {
                self.now_ns += random.below(50) as i64;
                // Mostly rising, some late, some twice.
                let late = if random.below(6) == 0 { random.below(3_000) as i64 } else { 0 };
                let (at, time_ns) = (random.below(6) as usize, (self.now_ns - late).max(1));
                while producer.free_bytes() < 1 << 16 {
                    std::thread::yield_now();
                }
                let (name, kind) = SERIES[at];
                let shown = match kind {
                    Type::Text => {
                        let text = format!("text {}, \"ä\"", random.below(20));
                        producer.push_text(ids[at], time_ns, &text).unwrap();
                        text
                    }
                    Type::F64 => {
                        let value = match random.below(20) {
                            0 => f64::NAN,
                            1 => -0.0,
                            _ => random.below(100_000) as f64 / 64.0,
                        };
                        producer.push_samples(time_ns, &[ids[at]], &[value]).unwrap();
                        number(value)
                    }
                    Type::Bool => {
                        let value = random.below(2) == 0;
                        producer.push_sample(ids[at], time_ns, i64::from(value)).unwrap();
                        value.to_string()
                    }
                    _ => {
                        let value = random.below(u64::MAX).cast_signed();
                        producer.push_sample(ids[at], time_ns, value).unwrap();
                        value.to_string()
                    }
                };
                self.pushed.insert((name.to_owned(), time_ns), shown);
            }
        }
        for _ in 0..frames {
            self.now_ns += 1 + random.below(20) as i64;
            let mut frame = (random.below(1_000) as f64).to_le_bytes().to_vec();
            frame.extend(random.below(u64::MAX).to_le_bytes());
            frame.resize(16 + random.below(30_000) as usize, 7);
            while producer.free_bytes() < 1 << 16 {
                std::thread::yield_now();
            }
            let channel = if random.below(3) == 0 { raw } else { control };
            // Some of one time: of their fields the last counts.
            let time_ns = self.now_ns - i64::from(random.below(9) == 0);
            producer.push_frame(channel, time_ns, &frame).unwrap();
        }
        let closed = recorder.close();
        assert_eq!(closed.left, 0);
    }

    fn settle(&mut self) {
        let options = SettleOptions {
            memory_bytes: 64 << 10,
            least_bytes: self.random.below(2) * 4096,
            fan_in: 2 + self.random.below(3) as usize,
            ..SettleOptions::default()
        };
        let mut settler = Settler::open(self.path(), options).unwrap();
        while settler.step(Extent::All).unwrap().more {
            if self.random.below(8) == 0 {
                break;
            }
        }
    }
}

/// Rows of a column of a record batch, shown.
fn values(batch: &RecordBatch, row: usize) -> Option<String> {
    batch.columns().iter().skip(2).find_map(|column| {
        (!column.is_null(row)).then(|| match column.data_type() {
            arrow_schema::DataType::Float64 => {
                number(column.as_primitive::<Float64Type>().value(row))
            }
            arrow_schema::DataType::Int64 => {
                column.as_primitive::<Int64Type>().value(row).to_string()
            }
            arrow_schema::DataType::UInt64 => {
                column.as_primitive::<UInt64Type>().value(row).to_string()
            }
            arrow_schema::DataType::Boolean => column.as_boolean().value(row).to_string(),
            _ => column.as_string::<i32>().value(row).to_owned(),
        })
    })
}

fn add(shown: &mut Shown, form: &str, key: (String, i64), value: String) {
    let before = shown.insert(key.clone(), value);
    assert!(before.is_none(), "{form}: {key:?} comes twice");
}

fn of_batches(form: &str, batches: impl Iterator<Item = RecordBatch>) -> Shown {
    let mut shown = Shown::new();
    for batch in batches {
        let names = batch.column(0).as_dictionary::<Int32Type>();
        let names = names.downcast_dict::<arrow_array::StringArray>().unwrap();
        let times = batch.column(1).as_primitive::<TimestampNanosecondType>();
        for row in 0..batch.num_rows() {
            let name = arrow_array::ArrayAccessor::value(&names, row).to_owned();
            add(&mut shown, form, (name, times.value(row)), values(&batch, row).unwrap());
        }
    }
    shown
}

/// Lines of CSV: a text has no line break here, and a name no comma.
fn of_csv(form: &str, bytes: &[u8]) -> Shown {
    let mut shown = Shown::new();
    let mut lines = std::str::from_utf8(bytes).unwrap().lines();
    let typed = lines.next().is_some_and(|header| header.ends_with(",value_type"));
    for line in lines {
        if line.starts_with('#') {
            continue;
        }
        let (time, rest) = line.split_once(',').unwrap();
        let (name, value) = match rest.strip_prefix('"') {
            Some(rest) => {
                let (name, value) = rest.split_once("\",").unwrap();
                (name.replace("\"\"", "\""), value)
            }
            None => {
                let (name, value) = rest.split_once(',').unwrap();
                (name.to_owned(), value)
            }
        };
        let value = if typed { value.rsplit_once(',').unwrap().0 } else { value };
        let value = match value.strip_prefix('"') {
            Some(text) => text.strip_suffix('"').unwrap().replace("\"\"", "\""),
            None if value.parse::<i128>().is_ok() || value.parse::<bool>().is_ok() => {
                value.to_owned()
            }
            None => number(value.parse().unwrap()),
        };
        add(&mut shown, form, (name, time.parse().unwrap()), value);
    }
    shown
}

fn of_json(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(found) if found.is_f64() => number(found.as_f64().unwrap()),
        other => other.to_string(),
    }
}

fn of_ndjson(bytes: &[u8]) -> Shown {
    let mut shown = Shown::new();
    for line in std::str::from_utf8(bytes).unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = row["series"].as_str().unwrap().to_owned();
        let key = (name, row["time_ns"].as_i64().unwrap());
        add(&mut shown, "ndjson", key, of_json(&row["value"]));
    }
    shown
}

/// The messages of samples and fields; and how many frames as they are.
fn of_mcap(bytes: &[u8]) -> (Shown, u64) {
    let (mut shown, mut frames) = (Shown::new(), 0);
    for message in mcap::MessageStream::new(bytes).unwrap() {
        let message = message.unwrap();
        let (topic, time_ns) = (message.channel.topic.clone(), message.log_time as i64);
        if message.channel.schema.is_none() {
            frames += 1;
            continue;
        }
        if topic == "baro/notes" {
            continue;
        }
        let object: serde_json::Value = serde_json::from_slice(&message.data).unwrap();
        for (key, value) in object.as_object().unwrap() {
            let field = key != "value";
            let name = if field { format!("{topic}.{key}") } else { topic.clone() };
            add(&mut shown, "mcap", (name, time_ns), of_json(value));
        }
    }
    (shown, frames)
}

fn ask<'a>(store: &Store, selection: &Selection, mut form: impl Rows + 'a) {
    let query = Query::raw(Interval::ALL);
    let (notes, _) = rows::query(store, selection, &query, None, &mut form).unwrap();
    assert_eq!(notes.read.damage, []);
}

fn same(form: &str, found: &Shown, expected: &Shown) {
    let missing = expected.iter().find(|(key, value)| found.get(*key) != Some(*value));
    let more = found.iter().find(|(key, value)| expected.get(*key) != Some(*value));
    assert!(missing.is_none() && more.is_none(), "{form}: missing {missing:?}, more {more:?}");
}

/// All ways out of the store show the same; returns it, and how many frames there are.
fn shown(path: &Path, memory_bytes: usize) -> (Shown, u64) {
    let store = Store::open(path).unwrap();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let both = Selection::frames_and_fields(store.catalog()).unwrap();
    let mut out = Vec::new();
    ask(&store, &selection, Csv::new(&mut out));
    let queried = of_csv("query csv", &out);
    out.clear();
    ask(&store, &selection, Json::lines(&mut out));
    same("query ndjson", &of_ndjson(&out), &queried);
    let mut out = Vec::new();
    ask(&store, &selection, Arrow::new(&selection, None, &mut out).unwrap());
    let reader = arrow_ipc::reader::StreamReader::try_new(&out[..], None).unwrap();
    same("arrow", &of_batches("arrow", reader.map(Result::unwrap)), &queried);
    let mut out = Vec::new();
    ask(&store, &selection, Parquet::new(&selection, None, &mut out).unwrap());
    let file = path.join("../").join(format!("baro-lives-{}.parquet", std::process::id()));
    std::fs::write(&file, &out).unwrap();
    let reader = std::fs::File::open(&file).unwrap();
    let builder =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(reader).unwrap();
    let reader = builder.build().unwrap();
    same("parquet", &of_batches("parquet", reader.map(Result::unwrap)), &queried);
    std::fs::remove_file(file).unwrap();
    let reading = Reading { memory_bytes, ..Reading::default() };
    let request = |selection| Request { interval: Interval::ALL, selection, reading };
    let mut out = Vec::new();
    let exported = to_csv(&store, &request(selection), &mut out).unwrap();
    assert_eq!(exported.notes.damage, []);
    same("export csv, cat", &of_csv("export csv", &out), &queried);
    let mut out = Cursor::new(Vec::new());
    to_mcap(&store, &request(both), &mut out).unwrap();
    let (found, frames) = of_mcap(out.get_ref());
    same("mcap", &found, &queried);
    (queried, frames)
}

fn live(seed: u64) -> (u64, u64) {
    let mut life = Life::new(seed);
    let (mut moments, mut frames) = (0, 0);
    for _ in 0..STEPS {
        match life.random.below(5) {
            0 => life.settle(),
            // The log goes round: what is not settled by then may be lost.
            1 => {
                life.settle();
                while Settler::open(life.path(), SettleOptions::default())
                    .unwrap()
                    .step(Extent::All)
                    .unwrap()
                    .more
                {}
                life.record(0, 900);
            }
            2 => life.record(3, 40),
            _ => life.record(10, 0),
        }
        let memory_bytes = [1 << 20, 64 << 20][life.random.below(2) as usize];
        let (shown, some) = shown(life.path(), memory_bytes);
        let samples: Shown =
            shown.into_iter().filter(|(key, _)| !key.0.starts_with("control.")).collect();
        same("what was pushed", &samples, &life.pushed);
        moments += 1;
        frames += some;
    }
    (moments, frames)
}

#[test]
fn every_way_out_shows_the_same_at_every_moment() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BARO_LIVES_SEED").unwrap_or(1);
    let lives = number("BARO_LIVES_COUNT").unwrap_or(LIVES);
    let mut frames = 0;
    for seed in first..first + lives {
        let (moments, some) = live(seed);
        assert_eq!(moments, STEPS);
        frames += some;
        if lives > LIVES {
            println!("life {seed}: {moments} moments");
        }
    }
    assert!(frames > 0);
}
