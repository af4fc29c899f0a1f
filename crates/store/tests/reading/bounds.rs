//! What a query may take: memory that does not grow with the number of series or the span of time,
//! and a clear error where it would. Its own test program, since it counts all memory of the
//! process.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, options};
use baro_log::{Geometry, init};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Aggregate, Error, Every, Extent, Interval, Query, SettleOptions, Settler, Store};
use baro_sys::disk::Disk;
use std::ops::ControlFlow;

const MIB: u64 = 1 << 20;

/// Bytes of memory that the process has had at most since the last reset.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Memory that `work` takes beside what there is before; `None` where it cannot be told.
fn taken_bytes(work: impl FnOnce()) -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = resident_bytes();
    if peak_bytes() > before + 4 * MIB {
        return None;
    }
    work();
    Some(peak_bytes().saturating_sub(before))
}

fn store(folder: &Folder, segments: u32) {
    let disk = Disk::create(&folder.0).unwrap();
    let geometry = Geometry {
        segment_bytes: 8 << 20,
        segments,
        catalog_bytes: 1 << 20,
        when_full: WhenFull::Stop,
    };
    let id = baro_ondisk::StoreId(*b"store id of test");
    init(&disk, &folder.0, id, 1, &geometry, |_| {}).unwrap();
}

fn settle(folder: &Folder) {
    let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

fn rows(store: &Store, ids: &[u32], query: &Query) -> u64 {
    let mut rows = 0;
    let notes = store.query_ids(ids, query, |batch| {
        rows += batch.times_ns.len() as u64;
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().rows, rows);
    rows
}

fn within(what: &str, limit: u64, taken: Option<u64>) {
    match taken {
        Some(taken) => {
            println!("{what}: {:.1} MiB", taken as f64 / MIB as f64);
            assert!(taken < limit, "{what}: {taken} bytes, expected at most {limit}");
        }
        None => println!("skipped: the peak of memory cannot be reset here"),
    }
}

fn push(recorder: &Recorder, batches: impl Iterator<Item = (Vec<i64>, Vec<u32>, Vec<f64>)>) {
    let mut producer = recorder.producer().unwrap();
    for (times_ns, ids, values) in batches {
        while producer.free_bytes() < 256 << 10 {
            std::thread::yield_now();
        }
        producer.push_batch(&times_ns, &ids, &values).unwrap();
    }
}

#[test]
fn questions_about_everything_take_bounded_memory() {
    many_series();
    a_century();
}

/// Everything of 200,000 series, 20 samples each.
fn many_series() {
    const SERIES: u32 = 200_000;
    let folder = Folder::new("bounds-series");
    store(&folder, 8);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let batches = (0..20_i64).flat_map(|tick| {
        (0..SERIES / 4000).map(move |part| {
            let ids: Vec<u32> = (1..=4000).map(|id| part * 4000 + id).collect();
            let values = ids.iter().map(|id| f64::from(*id) + tick as f64 / 8.0).collect();
            (vec![tick * 1_000_000_000; 4000], ids, values)
        })
    });
    push(&recorder, batches);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    let ids: Vec<u32> = (1..=SERIES).collect();
    for place in ["log", "runs"] {
        let store = Store::open(&folder.0).unwrap();
        let raw = Query::raw(Interval::ALL);
        let taken = taken_bytes(|| assert_eq!(rows(&store, &ids, &raw), 20 * u64::from(SERIES)));
        within(&format!("all of {SERIES} series in the {place}"), 96 * MIB, taken);
        let every = Every { step_ns: 5_000_000_000, aggregate: Aggregate::Mean };
        let steps = Query::every(Interval::ALL, every);
        let taken = taken_bytes(|| assert_eq!(rows(&store, &ids, &steps), 4 * u64::from(SERIES)));
        within(&format!("steps of {SERIES} series in the {place}"), 96 * MIB, taken);
        let total = Query::every(Interval::ALL, Every { step_ns: 0, ..every });
        let taken = taken_bytes(|| assert_eq!(rows(&store, &ids, &total), u64::from(SERIES)));
        within(&format!("totals of {SERIES} series in the {place}"), 96 * MIB, taken);
        settle(&folder);
    }
}

/// A century of one series: 4.4 million samples, as many as a percentile may be of and more.
fn a_century() {
    const SAMPLES: i64 = 4_400_000;
    const CENTURY_NS: i64 = 100 * 365 * 86_400 * 1_000_000_000;
    let folder = Folder::new("bounds-century");
    store(&folder, 16);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    recorder.declare(&[("t", Type::F64, "")]).unwrap();
    let batches = (0..SAMPLES / 4000).map(|part| {
        let ticks = part * 4000..(part + 1) * 4000;
        let times_ns: Vec<i64> = ticks.clone().map(|n| n * (CENTURY_NS / SAMPLES)).collect();
        (times_ns, vec![1; 4000], ticks.map(|n| (n * n % 1000) as f64 / 10.0).collect())
    });
    push(&recorder, batches);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    settle(&folder);
    let store = Store::open(&folder.0).unwrap();
    let raw = Query::raw(Interval::ALL);
    let taken = taken_bytes(|| assert_eq!(rows(&store, &[1], &raw), SAMPLES as u64));
    within("a century, raw", 48 * MIB, taken);
    let every = Every { step_ns: 3_600_000_000_000, aggregate: Aggregate::Max };
    let hours = Query::every(Interval::ALL, every);
    let taken = taken_bytes(|| assert!(rows(&store, &[1], &hours) > 870_000));
    within("a century by hours", 48 * MIB, taken);
    let every = Every { step_ns: 0, aggregate: Aggregate::P99 };
    let asked = store.query_ids(&[1], &Query::every(Interval::ALL, every), |_| {
        panic!("a percentile of more samples than are held")
    });
    assert!(matches!(asked, Err(Error::Percentile { .. })), "{asked:?}");
    let every = Every { step_ns: (CENTURY_NS / 2) as u64, ..every };
    let halves = Query::every(Interval::ALL, every);
    let taken = taken_bytes(|| assert_eq!(rows(&store, &[1], &halves), 2));
    within("percentiles of half a century", 96 * MIB, taken);
}
