//! Damage of every kind to runs and their manifest: it is named with file and offset, nothing wrong
//! is read, everything else still is, nothing is settled or merged on top of it, and no panic.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, init_at, options, put, simulated};
use baro_log::{MANIFEST, run_name};
use baro_ondisk::{Manifest, RunEntry, StoreId, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Aggregate, Damage, Error, Every, Extent, Interval, Query, SettleOptions, Settler, Store, Values,
};
use baro_sys::sim::{Fault, Rng, SimDisk};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

const ID: [u8; 16] = *b"store id of test";
const SERIES: u32 = 12;
/// Samples of each series and session; sessions follow each other in time.
const TICKS: i64 = 300;
const SESSIONS: i64 = 4;
const SESSION_NS: i64 = TICKS * 1000;

type Model = BTreeMap<(u32, i64), String>;

fn kind(id: u32) -> Type {
    [Type::F64, Type::I64, Type::Text, Type::Bool][id as usize % 4]
}

fn settling() -> SettleOptions {
    SettleOptions { fan_in: 100, ..SettleOptions::default() }
}

/// A store of four sessions, the first three each in a run, and the last in the log.
fn store(name: &str, id: [u8; 16]) -> (SimDisk, Model, Manifest) {
    let folder = Folder::new(name);
    init_at(&folder.0, id, 8, WhenFull::Stop);
    let mut model = Model::new();
    for session in 0..SESSIONS {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let names: Vec<String> = (1..=SERIES).map(|id| format!("s{id:02}")).collect();
        let wanted: Vec<_> =
            names.iter().zip(1..).map(|(name, id)| (name.as_str(), kind(id), "")).collect();
        recorder.declare(&wanted).unwrap();
        let mut producer = recorder.producer().unwrap();
        for tick in 0..TICKS {
            let time_ns = session * SESSION_NS + tick * 1000;
            for id in 1..=SERIES {
                let word =
                    (time_ns as u64 ^ u64::from(id) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let value = match kind(id) {
                    Type::F64 => {
                        let value = (word % 100_000) as f64 / 1000.0;
                        producer.push_sample(id, time_ns, value).unwrap();
                        format!("{value:?}")
                    }
                    Type::Text => {
                        let text = format!("{word:x}");
                        producer.push_text(id, time_ns, &text).unwrap();
                        text
                    }
                    Type::Bool => {
                        producer.push_sample(id, time_ns, (word % 2) as i64).unwrap();
                        format!("{}", word % 2 == 1)
                    }
                    _ => {
                        producer.push_sample(id, time_ns, word.cast_signed()).unwrap();
                        format!("{}", word.cast_signed())
                    }
                };
                model.insert((id, time_ns), value);
            }
            while producer.free_bytes() < 1 << 15 {
                std::thread::yield_now();
            }
        }
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
        if session + 1 < SESSIONS {
            Settler::open(&folder.0, settling()).unwrap().step(Extent::All).unwrap();
        }
    }
    let disk = simulated(&folder.0);
    let manifest = Manifest::decode(&bytes(&disk, MANIFEST)).unwrap();
    assert_eq!(manifest.runs.len() as i64, SESSIONS - 1);
    (disk, model, manifest)
}

fn bytes(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; file.size_bytes().unwrap() as usize];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn opened(disk: &SimDisk) -> Store {
    Store::open_in(disk.clone(), Path::new("sim"), Access::Read).unwrap()
}

/// What was read and the damage that was met.
fn read(store: &Store, ids: &[u32], query: &Query) -> (Vec<(u32, i64, String)>, Vec<Damage>) {
    let mut rows = Vec::new();
    let notes = store.query_ids(ids, query, |batch| {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let value = match batch.values {
                Values::F64(values) => format!("{:?}", values[at]),
                Values::I64(values) => values[at].to_string(),
                Values::U64(values) => values[at].to_string(),
                Values::Bool(values) => values[at].to_string(),
                Values::Text(texts) => texts.get(at).unwrap().to_owned(),
            };
            rows.push((batch.target.id, *time_ns, value));
        }
        ControlFlow::Continue(())
    });
    let damage = notes.unwrap().read.damage;
    for (at, found) in damage.iter().enumerate() {
        assert!(!damage[..at].contains(found), "told twice: {found}");
    }
    // What was met before anything was read is told too.
    let losses = store.damage_so_far().into_iter().filter(Damage::is_loss);
    losses.for_each(|found| assert!(damage.contains(&found), "{found}"));
    (rows, damage)
}

/// Reads everything in every way; what is read is right and what is missing is of the sessions that
/// may be. Returns the damage.
fn check(disk: &SimDisk, model: &Model, may_miss: &[i64]) -> Vec<Damage> {
    let store = opened(disk);
    let all: Vec<u32> = (1..=SERIES).collect();
    let (rows, damage) = read(&store, &all, &Query::raw(Interval::ALL));
    let mut found = Model::new();
    for (id, time_ns, value) in rows {
        assert_eq!(model.get(&(id, time_ns)), Some(&value), "{id} {time_ns}: {damage:?}");
        assert_eq!(found.insert((id, time_ns), value), None, "{id} {time_ns} twice");
    }
    for key in model.keys().filter(|key| !found.contains_key(key)) {
        assert!(may_miss.contains(&(key.1 / SESSION_NS)), "{key:?} is missing: {damage:?}");
        assert!(!damage.is_empty(), "{key:?} is missing, and nothing says so");
    }
    for id in [1, 2, 7] {
        let (rows, told) = read(&store, &[id], &Query::raw(Interval::ALL));
        assert!(rows.iter().all(|(id, ns, value)| model.get(&(*id, *ns)) == Some(value)));
        assert!(rows.len() as i64 == TICKS * SESSIONS || !told.is_empty());
        let query = Query { last: Some(5), ..Query::raw(Interval::ALL) };
        let (rows, _) = read(&store, &[id], &query);
        assert!(rows.iter().all(|(id, ns, value)| model.get(&(*id, *ns)) == Some(value)));
    }
    for step_ns in [0, SESSION_NS as u64] {
        for aggregate in [Aggregate::Count, Aggregate::Max] {
            let every = Every { step_ns, aggregate };
            let (rows, told) = read(&store, &all, &Query::every(Interval::ALL, every));
            // Texts are counted, and have no greatest value.
            let takes = |id: &&u32| aggregate == Aggregate::Count || kind(**id) != Type::Text;
            let numbers = all.iter().filter(takes).count() as i64;
            let steps = if step_ns == 0 { numbers } else { numbers * SESSIONS };
            let count = |row: &(u32, i64, String)| row.2.parse::<i64>().ok();
            let counted: i64 = match aggregate {
                Aggregate::Count => rows.iter().filter_map(count).sum(),
                _ => 0,
            };
            let whole = rows.len() as i64 == steps
                && (aggregate == Aggregate::Max || counted == numbers * TICKS * SESSIONS);
            assert!(whole || !told.is_empty(), "{every:?} {rows:?}");
        }
    }
    damage
}

fn names(damage: &[Damage], file: &str) -> bool {
    damage.iter().any(|found| found.file == file && found.is_loss())
}

/// Settling goes round it: it ends, says so, and changes nothing of what is damaged.
fn merging_hides_nothing(disk: &SimDisk, model: &Model, may_miss: &[i64], file: &str) {
    let before = opened(disk).info().unwrap().runs;
    let options = SettleOptions { fan_in: 2, ..settling() };
    let mut settler = Settler::over(opened(disk), options).unwrap();
    let mut told = Vec::new();
    for round in 0.. {
        let done = settler.step_with(Extent::All, false).unwrap();
        told.extend(done.damage);
        if !done.more {
            break;
        }
        assert!(round < 10, "never ends");
    }
    drop(settler);
    assert!(disk.files().contains(file), "{file} is gone");
    let damage = check(disk, model, may_miss);
    assert!(names(&damage, file), "{before} runs, told {told:?}, found {damage:?}");
}

#[test]
fn every_flipped_byte_of_a_run_is_named_and_the_rest_is_read() {
    let (disk, model, manifest) = store("hostile-flip", ID);
    assert_eq!(check(&disk, &model, &[]), []);
    let mut rng = Rng::new(7);
    for (session, run) in manifest.runs.iter().enumerate() {
        let name = run_name(run.id);
        let mut at = 0;
        while at < run.bytes {
            let damaged = disk.fork();
            assert!(damaged.flip(&name, at, 1 << rng.below(8)));
            let damage = check(&damaged, &model, &[session as i64]);
            assert!(names(&damage, &name), "byte {at} of {}: {damage:?}", run.bytes);
            let step = if at < 128 || run.bytes - at < 300 { 7 } else { 401 };
            at += 1 + rng.below(step);
        }
    }
}

#[test]
fn merging_hides_no_damage_and_comes_to_an_end() {
    let (disk, model, manifest) = store("hostile-merge", ID);
    let mut rng = Rng::new(8);
    for (session, run) in manifest.runs.iter().enumerate() {
        for at in [10, 4096 + rng.below(run.bytes - 8192), run.bytes - 5] {
            let damaged = disk.fork();
            assert!(damaged.flip(&run_name(run.id), at, 0x10));
            merging_hides_nothing(&damaged, &model, &[session as i64], &run_name(run.id));
        }
    }
}

#[test]
fn files_truncated_swapped_foreign_and_missing_are_named() {
    let (disk, model, manifest) = store("hostile-files", ID);
    let (other, ..) = store("hostile-other", *b"store id another");
    let ids: Vec<u64> = manifest.runs.iter().map(|run| run.id).collect();
    let all = |name: &str| bytes(&disk, name);
    let one = run_name(ids[1]);
    let whole = all(&one);
    let mut lengths = vec![0, 1, 4095, 4096, 4097, whole.len() / 2, whole.len() - 1];
    lengths.extend([whole.len() - 4096, whole.len() - 64]);
    for length in lengths {
        let damaged = disk.fork();
        put(&damaged, &one, &whole[..length]);
        assert!(names(&check(&damaged, &model, &[1]), &one), "{length}");
    }
    let longer = disk.fork();
    put(&longer, &one, &[&whole[..], &[0; 4096]].concat());
    assert!(names(&check(&longer, &model, &[1]), &one), "bytes behind it");
    let swapped = disk.fork();
    put(&swapped, &run_name(ids[0]), &all(&one));
    put(&swapped, &one, &all(&run_name(ids[0])));
    let damage = check(&swapped, &model, &[0, 1]);
    assert!(names(&damage, &one) && names(&damage, &run_name(ids[0])), "{damage:?}");
    let foreign = disk.fork();
    put(&foreign, &one, &bytes(&other, &one));
    assert!(names(&check(&foreign, &model, &[1]), &one));
    let missing = disk.fork();
    missing.remove(&one).unwrap();
    assert!(names(&check(&missing, &model, &[1]), &one));
    let garbage = disk.fork();
    put(&garbage, "runs/run.new", b"garbage");
    put(&garbage, "runs/manifest.new", &[0xff; 9000]);
    put(&garbage, "runs/xyz", b"");
    put(&garbage, "runs/00000000000000ff.run", b"left over");
    assert_eq!(check(&garbage, &model, &[]), []);
    Settler::over(opened(&garbage), settling()).unwrap().step_with(Extent::All, false).unwrap();
    assert_eq!(check(&garbage, &model, &[]), []);
    assert!(!garbage.files().contains("runs/00000000000000ff.run"));
}

#[test]
fn a_part_of_a_run_that_cannot_be_read_is_named_and_the_rest_is_read() {
    let (disk, model, manifest) = store("hostile-eio", ID);
    for (session, run) in manifest.runs.iter().enumerate() {
        let name = run_name(run.id);
        for (from, to) in [(0, 1), (4096, 4097), (run.bytes - 1, run.bytes), (0, u64::MAX)] {
            let broken = disk.fork();
            broken.inject(Fault::Unreadable { name: name.clone(), from, to });
            let damage = check(&broken, &model, &[session as i64]);
            assert!(names(&damage, &name), "{from}: {damage:?}");
            merging_hides_nothing(&broken, &model, &[session as i64], &name);
        }
    }
    let broken = disk.fork();
    broken.inject(Fault::Unreadable { name: MANIFEST.to_owned(), from: 0, to: 1 });
    assert!(names(&check(&broken, &model, &[0, 1, 2]), MANIFEST));
    nothing_is_settled(&broken);
}

/// Settling is refused, and everything stays.
fn nothing_is_settled(disk: &SimDisk) {
    let before = disk.files();
    let mut settler = Settler::over(opened(disk), settling()).unwrap();
    let refused = settler.step_with(Extent::All, false);
    assert!(matches!(refused, Err(Error::Manifest { .. })), "{refused:?}");
    assert_eq!(disk.files(), before);
}

#[test]
fn a_damaged_manifest_is_named_and_nothing_is_settled_on_top_of_it() {
    let (disk, model, manifest) = store("hostile-manifest", ID);
    let whole = bytes(&disk, MANIFEST);
    for at in (0..whole.len() as u64).step_by(29) {
        let damaged = disk.fork();
        assert!(damaged.flip(MANIFEST, at, 0x80));
        let damage = check(&damaged, &model, &[0, 1, 2]);
        assert!(names(&damage, MANIFEST), "byte {at}: {damage:?}");
        nothing_is_settled(&damaged);
    }
    for length in [0, 1, 4095] {
        let damaged = disk.fork();
        put(&damaged, MANIFEST, &whole[..length]);
        assert!(names(&check(&damaged, &model, &[0, 1, 2]), MANIFEST));
        nothing_is_settled(&damaged);
    }
    let foreign = Manifest { store: StoreId([9; 16]), ..manifest.clone() };
    let first = manifest.runs[0];
    let twice = [&[first], &manifest.runs[..]].concat();
    let huge = manifest.runs.iter().map(|run| RunEntry { bytes: u64::MAX, ..*run }).collect();
    let many = manifest.runs.iter().map(|run| RunEntry { samples: u64::MAX, ..*run }).collect();
    let ends = manifest.runs.iter().map(|run| RunEntry { time_min_ns: 9, time_max_ns: -9, ..*run });
    let ends = ends.collect();
    let hostile = [foreign, Manifest { runs: twice, ..manifest.clone() }];
    let entries = [huge, many, ends].map(|runs| Manifest { runs, ..manifest.clone() });
    for hostile in hostile.into_iter().chain(entries) {
        let damaged = disk.fork();
        put(&damaged, MANIFEST, &hostile.encode());
        let damage = check(&damaged, &model, &[0, 1, 2]);
        assert!(damage.iter().any(Damage::is_loss), "{hostile:?}");
        let _ = opened(&damaged).info();
        let done =
            Settler::over(opened(&damaged), settling()).unwrap().step_with(Extent::All, false);
        assert!(done.is_err() || !done.unwrap().more);
    }
    // Without one all is in the log still, as nothing was recycled; but a header knows that there was one.
    let missing = disk.fork();
    missing.remove(MANIFEST).unwrap();
    assert!(names(&check(&missing, &model, &[]), MANIFEST));
    nothing_is_settled(&missing);
    // The order of runs is that of the data; here no two have the same times.
    let turned = disk.fork();
    let runs = manifest.runs.iter().rev().copied().collect();
    put(&turned, MANIFEST, &Manifest { runs, ..manifest }.encode());
    assert_eq!(check(&turned, &model, &[]), []);
}
