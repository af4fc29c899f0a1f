//! Runs that are damaged: verification names what is wrong, recovery takes what is left, and counts
//! of series see what is in runs once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Extent, Interval, Query, SettleOptions, Settler, Store, Values, recover, verify};
use baro_sys::storage::Access;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const SERIES: u32 = 40;
const SAMPLES: i64 = 3_000;

/// A store with two runs, texts among them; some of its series share pages.
fn settled(name: &str) -> Folder {
    let folder = Folder::init(name, 24, WhenFull::Stop);
    for session in 0..2 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let names: Vec<String> = (1..=SERIES).map(|id| format!("s{id}")).collect();
        let mut wanted: Vec<_> = names.iter().map(|name| (name.as_str(), Type::F64, "")).collect();
        wanted.push(("text", Type::Text, ""));
        wanted.push(("frames", Type::Channel, ""));
        recorder.declare(&wanted).unwrap();
        let mut producer = recorder.producer().unwrap();
        for number in 0..SAMPLES {
            let time_ns = (session * SAMPLES + number) * 1_000_000;
            // The first has most.
            let ids: Vec<u32> = if number % 100 == 0 { (1..=SERIES).collect() } else { vec![1] };
            let values: Vec<f64> =
                ids.iter().map(|id| f64::from(*id) + (number as f64).sqrt()).collect();
            let times_ns = vec![time_ns; ids.len()];
            producer.push_batch(&times_ns, &ids, &values).unwrap();
        }
        producer.push_text(SERIES + 1, session * SAMPLES * 1_000_000, "hello").unwrap();
        producer.push_frame(SERIES + 2, session * SAMPLES * 1_000_000, b"frame").unwrap();
        let sequence = producer.next_sequence();
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
        assert_eq!(recorder.close().left, 0);
        let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
        while settler.step(Extent::All).unwrap().more {}
    }
    folder
}

/// Samples of all series, texts among them.
const ALL: u64 = 2 * (SAMPLES as u64 + (SERIES as u64 - 1) * (SAMPLES as u64 / 100) + 1);

fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("runs")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "run"));
    paths.sort();
    paths
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 4;
    std::fs::write(path, bytes).unwrap();
}

fn values(store: &Store) -> Vec<(u32, i64, u64)> {
    let ids: Vec<u32> = (1..=SERIES).collect();
    let mut rows = Vec::new();
    let notes = store.query_ids(&ids, &Query::raw(Interval::ALL), |batch| {
        let Values::F64(values) = batch.values else { panic!("{batch:?}") };
        let rows_of = batch.times_ns.iter().zip(values);
        rows.extend(rows_of.map(|(t, v)| (batch.target.id, *t, v.to_bits())));
        ControlFlow::Continue(())
    });
    notes.unwrap();
    rows
}

#[test]
fn what_is_wrong_with_a_run_is_named() {
    let folder = settled("runs-verify");
    let check = || {
        let store = Store::open(&folder.0).unwrap();
        verify(&store, Access::Read, |done, total| assert!(done <= total)).unwrap()
    };
    let whole = check();
    assert!(whole.is_whole() && whole.damage.is_empty(), "{:?}", whole.damage);
    assert_eq!((whole.runs, whole.runs_samples), (2, ALL));
    // What a killed settling leaves is no damage.
    std::fs::write(folder.0.join("runs/run.new"), b"half a run").unwrap();
    assert_eq!(check().runs_unnamed, ["runs/run.new"]);
    assert!(check().is_whole());
    let paths = runs(&folder.0);
    let name = |path: &Path| format!("runs/{}", path.file_name().unwrap().to_str().unwrap());
    let pristine = std::fs::read(&paths[0]).unwrap();
    // Header, pages, index and footer: wherever a bit is not as it was, it is found.
    for at in (0..pristine.len()).step_by(pristine.len() / 60) {
        let before = check().damage.len();
        flip(&paths[0], at);
        let found = check();
        std::fs::write(&paths[0], &pristine).unwrap();
        assert!(found.damage.len() > before && !found.is_whole(), "byte {at}");
        assert!(found.damage.iter().all(|damage| damage.file == name(&paths[0])), "byte {at}");
        let offset = found.damage[0].offset;
        assert!(offset <= at as u64, "byte {at}, told {offset}");
    }
    std::fs::remove_file(&paths[1]).unwrap();
    let found = check();
    assert_eq!((found.damage.len(), found.damage[0].file.clone()), (1, name(&paths[1])));
    flip(&folder.0.join("runs/manifest"), 100);
    let found = check();
    assert!(found.damage.iter().any(|damage| damage.file == "runs/manifest"), "{found:?}");
}

#[test]
fn runs_are_recovered_but_for_damaged_pages() {
    let folder = settled("runs-recover");
    let expected = values(&Store::open(&folder.0).unwrap());
    let copy = Folder::new("runs-recover-copy");
    let found = recover(&folder.0, &copy.0, |_, _| {}).unwrap();
    assert!(!found.lost() && found.copy.is_whole(), "{found:?}");
    assert_eq!((found.runs, found.runs_samples, found.copy.runs_samples), (2, ALL, ALL));
    let store = Store::open(&copy.0).unwrap();
    assert_eq!(values(&store), expected);
    assert_eq!(store.info().unwrap().segments_unsettled, 0);
    // Without the log: what only the runs hold.
    let bare = |folder: &Path| {
        for segment in std::fs::read_dir(folder.join("log")).unwrap() {
            let path = segment.unwrap().path();
            let bytes = std::fs::metadata(&path).unwrap().len() as usize;
            let mut blank = std::fs::read(&path).unwrap();
            blank[4096..].fill(0);
            std::fs::write(&path, &blank).unwrap();
            assert_eq!(blank.len(), bytes);
        }
    };
    bare(&folder.0);
    assert_eq!(values(&Store::open(&folder.0).unwrap()), expected);
    // One page is lost, and with it the manifest: the rest is there.
    flip(&runs(&folder.0)[0], 5000);
    std::fs::remove_file(folder.0.join("runs/manifest")).unwrap();
    std::fs::write(folder.0.join("runs/manifest"), [7; 4096]).unwrap();
    let copy = Folder::new("runs-recover-copy-2");
    let found = recover(&folder.0, &copy.0, |_, _| {}).unwrap();
    assert!(found.lost() && found.runs == 2, "{found:?}");
    let left = values(&Store::open(&copy.0).unwrap());
    assert!(left.len() < expected.len() && left.len() > expected.len() / 2, "{}", left.len());
    assert!(left.iter().all(|row| expected.contains(row)));
}

#[test]
fn what_is_in_log_and_runs_is_counted_once() {
    let folder = settled("runs-usage");
    let store = Store::open(&folder.0).unwrap();
    let mut used = Vec::new();
    let notes = store.usage(None, |one| used.push((one.id, one.samples))).unwrap();
    assert_eq!(notes.damage, []);
    let few = 2 * SAMPLES as u64 / 100;
    let mut expected: Vec<(u32, u64)> = (1..=SERIES).map(|id| (id, few)).collect();
    expected[0].1 = 2 * SAMPLES as u64;
    expected.extend([(SERIES + 1, 2), (SERIES + 2, 2)]);
    assert_eq!(used, expected);
    let mut one = Vec::new();
    store.usage(Some(&[7]), |found| one.push((found.id, found.samples, found.last_ns))).unwrap();
    assert_eq!(one, [(7, few, (2 * SAMPLES - 100) * 1_000_000)]);
    let (listed, _) = store.counts().unwrap();
    assert_eq!(listed.iter().map(|one| (one.id, one.rows)).collect::<Vec<_>>(), expected);
    let bytes: u64 = store.parts().unwrap().runs_bytes;
    assert!(bytes > 0 && store.info().unwrap().bytes_per_sample().is_some_and(|each| each > 0.0));
}
