//! All ways out of a store at one moment: that they show the same, and what that is.

use crate::forms::{Frame, add, of_batches, of_csv, of_lines, of_mcap};
use crate::{Shown, calls, number};
use baro_export::rows::{self, Rows};
use baro_export::{Arrow, Csv, Json, Parquet, Request, to_csv, to_mcap};
use baro_ondisk::{Kind, Samples, Type};
use baro_store::{Aggregate, Every, Interval, Query, Reading, Selection, Store, Values, verify};
use baro_sys::storage::Access;
use libbaro::through;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;

/// What a store shows at a moment.
pub(crate) struct Seen {
    /// Samples, and fields of frames.
    pub(crate) samples: Shown,
    /// Frames as they are, sorted.
    pub(crate) frames: Vec<Frame>,
    /// Samples and texts in the log, settled or not, each time that one was recorded.
    pub(crate) logged: Vec<(String, i64, String)>,
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

fn same_frames(form: &str, mut found: Vec<Frame>, expected: &[Frame]) {
    found.sort();
    let short = |frame: &Frame| (frame.0.clone(), frame.1, frame.2.len());
    let missing = expected.iter().find(|frame| found.binary_search(frame).is_err()).map(short);
    let more = found.iter().find(|frame| expected.binary_search(frame).is_err()).map(short);
    assert!(found == expected, "{form}: missing {missing:?}, more {more:?}");
}

/// All ways out of the store show the same.
pub(crate) fn seen(path: &Path, memory_bytes: usize) -> Seen {
    let store = Store::open(path).unwrap();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let mut out = Vec::new();
    ask(&store, &selection, Csv::new(&mut out));
    let samples = of_csv("query csv", &out);
    queried(&store, &selection, path, &samples);
    let (logged, frames) = by_c(&store, path, &samples);
    exported(&store, selection, memory_bytes, (&samples, &frames));
    by_cat(path, (&samples, &frames));
    counted(&store, &samples, &frames);
    in_part(&store, &samples, memory_bytes);
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole() && report.damage.is_empty(), "{report:?}");
    Seen { samples, frames, logged }
}

/// The other forms of a query.
fn queried(store: &Store, selection: &Selection, path: &Path, samples: &Shown) {
    let mut out = Vec::new();
    ask(store, selection, Json::lines(&mut out));
    same("query ndjson", &of_lines("query ndjson", &out).0, samples);
    let mut out = Vec::new();
    ask(store, selection, Arrow::new(selection, None, &mut out).unwrap());
    let reader = arrow_ipc::reader::StreamReader::try_new(&out[..], None).unwrap();
    same("arrow", &of_batches("arrow", reader.map(Result::unwrap)), samples);
    let mut out = Vec::new();
    ask(store, selection, Parquet::new(selection, None, &mut out).unwrap());
    let file = path.with_extension("parquet");
    std::fs::write(&file, &out).unwrap();
    let reader = std::fs::File::open(&file).unwrap();
    let builder =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(reader).unwrap();
    let reader = builder.build().unwrap();
    same("parquet", &of_batches("parquet", reader.map(Result::unwrap)), samples);
    std::fs::remove_file(file).unwrap();
}

/// Exports in the order of time.
fn exported(
    store: &Store,
    selection: Selection,
    memory_bytes: usize,
    (samples, frames): (&Shown, &[Frame]),
) {
    let both = Selection::frames_and_fields(store.catalog()).unwrap();
    let reading = Reading { memory_bytes, ..Reading::default() };
    let request = |selection| Request { interval: Interval::ALL, selection, reading, pin: None };
    let mut out = Vec::new();
    let exported = to_csv(store, &request(selection), &mut out).unwrap();
    assert_eq!(exported.notes.damage, []);
    same("export csv", &of_csv("export csv", &out), samples);
    let mut out = Cursor::new(Vec::new());
    to_mcap(store, &request(both), &mut out).unwrap();
    let (found, as_they_are) = of_mcap(out.get_ref());
    same("mcap", &found, samples);
    same_frames("mcap", as_they_are, frames);
}

/// `baro cat`, and its frames of channels as they are.
fn by_cat(path: &Path, (samples, frames): (&Shown, &[Frame])) {
    let store = path.to_str().unwrap();
    let cat = |more: &[&str]| {
        let arguments = [&["cat", store, "--format", "json", "--data-only"], more].concat();
        of_lines("cat", calls::text(&calls::run(&arguments), 0).as_bytes())
    };
    let (found, of_raw) = cat(&[]);
    same("cat", &found, samples);
    let raw: Vec<Frame> = frames.iter().filter(|frame| frame.0 == "raw").cloned().collect();
    same_frames("cat", of_raw, &raw);
}

fn shown(values: Values<'_>, at: usize) -> String {
    match values {
        Values::F64(values) => number(values[at]),
        Values::I64(values) => values[at].to_string(),
        Values::U64(values) => values[at].to_string(),
        Values::Bool(values) => values[at].to_string(),
        Values::Text(texts) => texts.get(at).unwrap().to_owned(),
    }
}

/// Counts and ends of each series, which indexes of runs may answer.
fn counted(store: &Store, samples: &Shown, frames: &[Frame]) {
    let mut ends: BTreeMap<&str, (u64, i64, i64)> = BTreeMap::new();
    for (name, time_ns) in samples.keys() {
        let end = ends.entry(name).or_insert((0, *time_ns, *time_ns));
        *end = (end.0 + 1, end.1, *time_ns);
    }
    let frames_of = |name: &str| frames.iter().filter(|frame| frame.0 == name).count() as u64;
    for listed in store.counts().unwrap().0 {
        let name = listed.declared.unwrap().name;
        let expected = ends.get(name.as_str()).map_or((0, None), |e| (e.0, Some((e.1, e.2))));
        if listed.rows != frames_of(&name) || expected.0 > 0 {
            assert_eq!((listed.rows, listed.times_ns), expected, "list --counts: {name}");
        }
    }
    let selection = Selection::all(store.catalog(), true).unwrap();
    for (aggregate, last) in [
        (Some(Aggregate::Count), None),
        (Some(Aggregate::First), None),
        (Some(Aggregate::Last), None),
        (None, Some(1)),
    ] {
        let every = aggregate.map(|aggregate| Every { step_ns: 0, aggregate });
        let query = Query { every, last, ..Query::raw(Interval::ALL) };
        let mut found = BTreeMap::new();
        let notes = store.query(&selection, &query, |batch| {
            let name = &selection.columns()[batch.target.place].name;
            assert_eq!(batch.times_ns.len(), 1);
            found.insert(name.clone(), shown(batch.values, 0));
            ControlFlow::Continue(())
        });
        assert_eq!(notes.unwrap().read.damage, []);
        let value = |(name, (count, first_ns, last_ns)): (&&str, &(u64, i64, i64))| {
            let at = |time_ns: i64| samples[&((*name).to_owned(), time_ns)].clone();
            let value = match aggregate {
                Some(Aggregate::Count) => count.to_string(),
                Some(Aggregate::First) => at(*first_ns),
                _ => at(*last_ns),
            };
            ((*name).to_owned(), value)
        };
        let mut expected: BTreeMap<String, String> = ends.iter().map(value).collect();
        if matches!(aggregate, Some(Aggregate::First | Aggregate::Last)) {
            // A truth value is folded as a number.
            let is = |kind: &String| {
                selection.columns().iter().any(|c| c.name == *kind && c.kind_name() == "bool")
            };
            for (_, value) in expected.iter_mut().filter(|(name, _)| is(name)) {
                *value = u8::from(*value == "true").to_string();
            }
        }
        assert_eq!(found, expected, "{aggregate:?} {last:?}");
    }
}

/// An interval in the middle, and the newest samples of each series.
fn in_part(store: &Store, samples: &Shown, memory_bytes: usize) {
    let mut times: Vec<i64> = samples.keys().map(|(_, time_ns)| *time_ns).collect();
    times.sort_unstable();
    let third = times.len() / 3;
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    let interval = Interval { from_ns: at(third), to_ns: at(2 * third) };
    let inner = samples.iter().filter(|((_, time_ns), _)| interval.holds(*time_ns));
    let inner: Shown = inner.map(|(key, value)| (key.clone(), value.clone())).collect();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let asked = |query: &Query| {
        let mut out = Vec::new();
        let (notes, _) =
            rows::query(store, &selection, query, None, &mut Csv::new(&mut out)).unwrap();
        assert_eq!(notes.read.damage, []);
        of_csv("query csv", &out)
    };
    same("an interval", &asked(&Query::raw(interval)), &inner);
    let reading = Reading { memory_bytes, ..Reading::default() };
    let mut out = Vec::new();
    let request = Request { interval, selection: selection.clone(), reading, pin: None };
    to_csv(store, &request, &mut out).unwrap();
    same("export csv of an interval", &of_csv("export csv", &out), &inner);
    let mut newest = Shown::new();
    for column in selection.columns() {
        let mine = samples.iter().filter(|((name, _), _)| *name == column.name);
        newest.extend(mine.rev().take(3).map(|(key, value)| (key.clone(), value.clone())));
    }
    let last = Query { last: Some(3), ..Query::raw(Interval::ALL) };
    same("the last three", &asked(&last), &newest);
}

/// Samples series by series, and the log record by record.
fn by_c(store: &Store, path: &Path, samples: &Shown) -> (Vec<(String, i64, String)>, Vec<Frame>) {
    let mut declared = BTreeMap::new();
    store
        .catalog()
        .scan(|one| {
            declared.insert(one.id, (one.name.to_string(), one.kind));
            ControlFlow::Continue(())
        })
        .unwrap();
    let mut found = Shown::new();
    for (name, kind) in declared.values().filter(|(_, kind)| *kind != Type::Channel) {
        for (time_ns, value) in through::samples(path, name).unwrap() {
            let value = match value {
                through::Value::Float(value) => number(value),
                through::Value::Integer(value) if *kind == Type::Bool => (value != 0).to_string(),
                through::Value::Integer(value) => value.to_string(),
                through::Value::Text(text) => text,
            };
            add(&mut found, "baro_samples_next", (name.clone(), time_ns), value);
        }
    }
    let of_series = |(key, _): &(&(String, i64), &String)| !key.0.starts_with("control.");
    let expected = samples.iter().filter(of_series).map(|(k, v)| (k.clone(), v.clone()));
    same("baro_samples_next", &found, &expected.collect());
    let (mut logged, mut frames) = (Vec::new(), Vec::new());
    let damaged = through::records(path, |kind, channel, time_ns, payload| {
        let name = |id: u32| declared[&id].0.clone();
        if kind == Kind::Frame as u32 {
            frames.push((name(channel), time_ns, payload.to_vec()));
        } else if kind == Kind::Text as u32 {
            let text = std::str::from_utf8(payload).unwrap().to_owned();
            logged.push((name(channel), time_ns, text));
        } else if kind == Kind::Samples as u32 {
            for (id, time_ns, bits) in Samples::decode(payload, time_ns).unwrap().iter() {
                let value = match declared[&id].1 {
                    Type::F64 => number(f64::from_bits(bits)),
                    Type::Bool => (bits != 0).to_string(),
                    _ => bits.cast_signed().to_string(),
                };
                logged.push((name(id), time_ns, value));
            }
        }
    });
    assert_eq!(damaged, Ok(0));
    frames.sort();
    (logged, frames)
}
