//! Deleting, held against a model in memory: random records, deletions, settlings and opens, numbers
//! and texts and frames, and every way to read says the same. `BARO_DELETE_LIVES` is how many lives.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, Random, options};
use baro_log::{IDENTITY, MANIFEST};
use baro_ondisk::{Identity, Kind, Manifest, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Aggregate, Every, Extent, Filter, Interval, Query, Reading, SettleOptions, Settler, Store,
    Values, recover, recover_in, verify,
};
use baro_sys::sim::{Fault, Rng, SimDisk, Survival};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

const NUMBERS: u32 = 6;
const TEXT: u32 = 7;
const CHANNEL: u32 = 8;
const END_NS: i64 = 3000;

/// Values of numbers and texts by series and time, and frames by time (all of them).
#[derive(Clone, Default)]
struct Model {
    rows: BTreeMap<(u32, i64), u64>,
    frames: Vec<i64>,
}

impl Model {
    fn delete(&mut self, ids: &[u32], interval: Interval) -> BTreeMap<u32, u64> {
        let mut gone: BTreeMap<u32, u64> = ids.iter().map(|id| (*id, 0)).collect();
        self.rows.retain(|(id, time_ns), _| {
            let goes = ids.contains(id) && interval.holds(*time_ns);
            *gone.entry(*id).or_default() += u64::from(goes);
            !goes
        });
        gone.retain(|id, _| ids.contains(id));
        if ids.contains(&CHANNEL) {
            let before = self.frames.len();
            self.frames.retain(|time_ns| !interval.holds(*time_ns));
            gone.insert(CHANNEL, (before - self.frames.len()) as u64);
        }
        gone
    }
}

fn record(folder: &Folder, random: &mut Random, model: &mut Model) {
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let names: Vec<String> = (1..=CHANNEL).map(|id| format!("s{id}")).collect();
    let kind = |id| match id {
        TEXT => Type::Text,
        CHANNEL => Type::Channel,
        _ => Type::F64,
    };
    let wanted: Vec<_> =
        names.iter().zip(1..).map(|(name, id)| (name.as_str(), kind(id), "")).collect();
    assert_eq!(recorder.declare(&wanted).unwrap(), (1..=CHANNEL).collect::<Vec<_>>());
    let mut producer = recorder.producer().unwrap();
    for _ in 0..1 + random.below(4) {
        let (mut ids, mut times_ns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        // One series long enough for pages of its own.
        for _ in 0..random.below(800) {
            let id = 1 + (random.below(u64::from(NUMBERS)) * random.below(2)) as u32;
            let time_ns = random.below(END_NS as u64) as i64;
            let value = random.below(1000) as f64 / 10.0;
            model.rows.insert((id, time_ns), value.to_bits());
            ids.push(id);
            times_ns.push(time_ns);
            values.push(value);
        }
        if !ids.is_empty() {
            producer.push_batch(&times_ns, &ids, &values).unwrap();
        }
        let (time_ns, number) = (random.below(END_NS as u64) as i64, random.below(1000));
        producer.push_text(TEXT, time_ns, &number.to_string()).unwrap();
        model.rows.insert((TEXT, time_ns), number);
        let time_ns = random.below(END_NS as u64) as i64;
        producer.push_frame(CHANNEL, time_ns, &[7; 40]).unwrap();
        model.frames.push(time_ns);
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
}

/// All rows by a query of all ids at once, or one by one.
fn rows(store: &Store, ids: &[u32], last: Option<usize>) -> BTreeMap<(u32, i64), u64> {
    let mut found = BTreeMap::new();
    let query = Query { last, ..Query::raw(Interval::ALL) };
    let notes = store.query_ids(ids, &query, |batch| {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let value = match batch.values {
                Values::F64(values) => values[at].to_bits(),
                Values::Text(texts) => texts.get(at).unwrap().parse().unwrap(),
                _ => panic!("{batch:?}"),
            };
            assert_eq!(found.insert((batch.target.id, *time_ns), value), None);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    found
}

/// Every way to read says what the model says.
fn check(store: &Store, model: &Model) {
    let all: Vec<u32> = (1..=TEXT).collect();
    assert_eq!(rows(store, &all, None), model.rows);
    for id in &all {
        let of: BTreeMap<_, _> =
            model.rows.iter().filter(|row| row.0.0 == *id).map(|(key, v)| (*key, *v)).collect();
        assert_eq!(rows(store, &[*id], None), of);
        let last: BTreeMap<_, _> = of.iter().rev().take(3).map(|(key, v)| (*key, *v)).collect();
        assert_eq!(rows(store, &[*id], Some(3)), last);
    }
    let numbers: Vec<u32> = (1..=NUMBERS).collect();
    for step_ns in [0, 700] {
        for aggregate in [Aggregate::Count, Aggregate::Max, Aggregate::First] {
            let mut expected: BTreeMap<(u32, i64), Vec<f64>> = BTreeMap::new();
            for ((id, time_ns), bits) in model.rows.iter().filter(|row| row.0.0 <= NUMBERS) {
                let start = if step_ns == 0 { i64::MIN } else { time_ns - time_ns % step_ns };
                expected.entry((*id, start)).or_default().push(f64::from_bits(*bits));
            }
            let every = Every { step_ns: step_ns as u64, aggregate };
            let fold = |values: &Vec<f64>| match aggregate {
                Aggregate::Count => values.len() as f64,
                Aggregate::Max => values.iter().copied().fold(f64::MIN, f64::max),
                _ => values[0],
            };
            let expected: Vec<_> =
                expected.iter().map(|(key, values)| (*key, fold(values))).collect();
            for ids in [numbers.clone(), vec![1], vec![3]] {
                let mut found = Vec::new();
                let query = Query::every(Interval::ALL, every);
                store
                    .query_ids(&ids, &query, |batch| {
                        for (at, start) in batch.times_ns.iter().enumerate() {
                            let value = match batch.values {
                                Values::F64(values) => values[at],
                                Values::I64(values) => values[at] as f64,
                                _ => panic!("{batch:?}"),
                            };
                            found.push(((batch.target.id, *start), value));
                        }
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                let of: Vec<_> =
                    expected.iter().copied().filter(|row| ids.contains(&row.0.0)).collect();
                assert_eq!(found, of, "{every:?}");
            }
        }
    }
    // Records of the log: nothing that is deleted, whatever was settled.
    let mut frames = Vec::new();
    store
        .records(Interval::ALL, &Filter::all(), &Reading::default(), |record| {
            if record.kind == Kind::Frame {
                frames.push(record.time_ns);
            }
            for (id, time_ns, _) in record.samples().iter().flat_map(|samples| samples.iter()) {
                assert!(model.rows.contains_key(&(id, time_ns)), "{id} {time_ns}");
            }
            if record.kind == Kind::Text {
                assert!(model.rows.contains_key(&(TEXT, record.time_ns)));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let mut expected = model.frames.clone();
    expected.sort_unstable();
    assert_eq!(frames, expected);
    let (tail, _) = store.tail(&[CHANNEL, 2], 10_000).unwrap();
    assert_eq!(tail[&CHANNEL].len(), model.frames.len());
    assert!(tail[&2].iter().all(|row| model.rows.contains_key(&(2, row.time_ns))));
    let (listed, _) = store.counts().unwrap();
    for one in &listed {
        let has = model.rows.keys().any(|key| key.0 == one.id);
        assert_eq!(one.rows > 0, has || (one.id == CHANNEL && !model.frames.is_empty()));
    }
    let report = verify(store, Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole() && report.damage.is_empty(), "{report:?}");
}

fn settle(folder: &Folder, extent: Extent) {
    let options = SettleOptions {
        memory_bytes: 8 << 10,
        least_bytes: 1 << 10,
        fan_in: 3,
        ..Default::default()
    };
    let mut settler = Settler::open(&folder.0, options).unwrap();
    while settler.step(extent).unwrap().more {}
}

fn life(seed: u64, steps: u64) {
    let mut random = Random(seed);
    let folder = Folder::init(&format!("delete-{seed}"), 16, WhenFull::Stop);
    let mut model = Model::default();
    for step in 0..steps {
        match random.below(if step == 0 { 1 } else { 8 }) {
            0..3 => record(&folder, &mut random, &mut model),
            3 => settle(&folder, Extent::Enough),
            4 => settle(&folder, Extent::All),
            _ => {
                let mut ids: Vec<u32> = (1..=CHANNEL).filter(|_| random.below(3) == 0).collect();
                if ids.is_empty() {
                    ids.push(1);
                }
                let from_ns = random.below(END_NS as u64) as i64;
                let interval = match random.below(4) {
                    0 => Interval::ALL,
                    1 => Interval { from_ns, to_ns: i64::MAX },
                    _ => Interval { from_ns, to_ns: from_ns + 1 + random.below(900) as i64 },
                };
                let mut store = Store::open(&folder.0).unwrap();
                let counted = store.count_rows(&ids, interval).unwrap();
                let deleted = store.delete(&ids, interval).unwrap();
                assert_eq!(counted, deleted);
                assert_eq!(deleted.rows, model.delete(&ids, interval));
                check(&store, &model);
            }
        }
        check(&Store::open(&folder.0).unwrap(), &model);
    }
    let copy = Folder::new(&format!("delete-copy-{seed}"));
    let recovered = recover(&folder.0, &copy.0, |_, _| {}).unwrap();
    assert!(!recovered.lost());
    check(&Store::open(&copy.0).unwrap(), &model);
}

#[test]
fn lives_with_deletions_are_those_of_a_model() {
    let lives = std::env::var("BARO_DELETE_LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    for seed in 0..lives {
        life(1 + seed * 7919, 12);
    }
}

fn open(disk: &SimDisk) -> baro_store::Result<Store> {
    Store::open_in(disk.clone(), Path::new("simulated"), Access::ReadDirect)
}

fn settle_all(disk: &SimDisk) -> baro_store::Result<()> {
    let mut settler = Settler::over(open(disk)?, SettleOptions::default())?;
    while settler.step_with(Extent::All, false)?.more {}
    Ok(())
}

/// Whether who knows no deletions refuses the store, if any is in force.
fn older_are_told(disk: &SimDisk) -> bool {
    let read = |name: &str| {
        let file = disk.open(name, Access::Read).ok()?;
        let mut bytes = vec![0; file.size_bytes().ok()? as usize];
        file.read_at(0, &mut bytes).ok()?;
        Some(bytes)
    };
    let manifest = read(MANIFEST).map(|bytes| Manifest::decode(&bytes).unwrap());
    manifest.is_none_or(|manifest| manifest.deletions.is_empty())
        || Identity::tells_deletions(&read(IDENTITY).unwrap())
}

/// The power goes at each operation of a deletion and of the settling behind it.
#[test]
fn a_crash_while_deleting_or_settling_leaves_it_undone_or_done() {
    let (mut random, mut before) = (Random(77), Model::default());
    let folder = Folder::init("delete-crash", 6, WhenFull::Stop);
    record(&folder, &mut random, &mut before);
    settle(&folder, Extent::All);
    record(&folder, &mut random, &mut before);
    let whole = SimDisk::new(5);
    let store = Store::open(&folder.0).unwrap();
    recover_in(&store, whole.clone(), Path::new("simulated"), |_, _| {}).unwrap();
    let (all, ids, interval) = ((1..=TEXT).collect::<Vec<_>>(), [1, 3, TEXT], Interval::ALL);
    let mut after = before.clone();
    after.delete(&ids, interval);
    assert_eq!(rows(&open(&whole).unwrap(), &all, None), before.rows);
    let modes = [Survival::None, Survival::All, Survival::Some, Survival::Torn];
    let (mut undone, mut done) = (0, 0);
    for at in 0.. {
        let disk = whole.fork();
        disk.inject(Fault::PowerOff(disk.operations() + at));
        let deleted = open(&disk).and_then(|mut store| store.delete_in(&ids, interval));
        let settled = deleted.as_ref().ok().map(|_| settle_all(&disk));
        for (seed, mode) in modes.into_iter().enumerate() {
            let cut = disk.crash(&mut Rng::new(seed as u64 + at), mode);
            let mut store = open(&cut).unwrap();
            assert!(older_are_told(&cut), "{at} {mode:?}");
            let found = rows(&store, &all, None);
            let gone = found == after.rows;
            assert!(gone || (found == before.rows && deleted.is_err()), "{at} {mode:?}");
            undone += u32::from(!gone);
            done += u32::from(gone);
            store.delete_in(&ids, interval).unwrap();
            settle_all(&cut).unwrap();
            let store = open(&cut).unwrap();
            assert_eq!(rows(&store, &all, None), after.rows, "{at} {mode:?}");
            assert!(verify(&store, Access::Read, |_, _| {}).unwrap().is_whole());
        }
        if settled.is_some_and(|settled| settled.is_ok()) {
            break;
        }
    }
    assert!(undone > 0 && done > 0, "{undone} {done}");
}
