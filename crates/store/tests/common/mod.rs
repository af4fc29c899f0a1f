//! Stores made through a real recorder, and what was pushed into them.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
pub mod counted;
pub mod steps;

use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Filter, Interval, Reading, RecordRef, Store};
use baro_sys::disk::Disk;
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Storage, StorageFile};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

static NUMBER: AtomicUsize = AtomicUsize::new(0);

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        // Tests of one program run side by side, and may ask for the same name.
        let own = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("baro-store-{name}-{own}"));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    pub fn init(name: &str, segments: u32, when_full: WhenFull) -> Self {
        let folder = Folder::new(name);
        init_at(&folder.0, *b"store id of test", segments, when_full);
        folder
    }
}

pub fn init_at(path: &Path, id: [u8; 16], segments: u32, when_full: WhenFull) {
    let disk = Disk::create(path).unwrap();
    let (segment_bytes, catalog_bytes) = (1 << 20, 1 << 20);
    let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
    init(&disk, path, StoreId(id), 1, &geometry, |_| {}).unwrap();
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The same files on a simulated disk.
pub fn simulated(path: &Path) -> SimDisk {
    let disk = SimDisk::new(1);
    let real = Disk::open(path).unwrap();
    for folder in ["", "log", "runs"] {
        if !folder.is_empty() {
            disk.create_folder(folder).unwrap();
        }
        // Without a run there is no folder of them.
        for name in real.list(folder).unwrap_or_default() {
            let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if path.join(&name).is_file() {
                put(&disk, &name, &std::fs::read(path.join(&name)).unwrap());
            }
        }
    }
    disk
}

/// A file with these bytes, in place of any.
pub fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
    let _ = disk.remove(name);
    disk.create(name).unwrap().write_at(0, bytes).unwrap();
}

pub fn options() -> Options {
    Options { rings: Rings::Private, durable_within_ns: 4_000_000, ..Options::default() }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pushed {
    pub time_ns: i64,
    pub session: u64,
    pub sequence: u64,
    pub producer: u64,
    pub payload: Vec<u8>,
}

impl Pushed {
    pub fn of(record: &RecordRef<'_>) -> Self {
        Pushed {
            time_ns: record.time_ns,
            session: record.session,
            sequence: record.sequence,
            producer: record.producer,
            payload: record.payload.to_vec(),
        }
    }
}

/// A small deterministic generator.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Records `sessions` sessions of `producers` producers, `count` frames each, in blocks that
/// interleave; times of a producer rise but for a jitter of `jitter_ns`.
pub fn record(
    path: &Path,
    sessions: u64,
    producers: usize,
    count: u64,
    jitter_ns: u64,
) -> Vec<Pushed> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut pushed: Vec<Pushed> = Vec::new();
    for number in 0..sessions {
        let recorder = Recorder::open(path, options()).unwrap();
        let wanted = [("frames", Type::Channel, ""), ("t", Type::F64, "K"), ("u", Type::F64, "")];
        assert_eq!(recorder.declare(&wanted).unwrap(), [1, 2, 3]);
        let first = pushed.len();
        let mut rings: Vec<_> = (0..producers).map(|_| recorder.producer().unwrap()).collect();
        for n in 0..count {
            for (at, ring) in rings.iter_mut().enumerate() {
                let base = (number * count + n) as i64 * 1000;
                let time_ns = base - random.below(jitter_ns + 1) as i64;
                let producer = ring.report().producer;
                let payload = vec![(n as u8) ^ (at as u8); random.below(900) as usize];
                let sequence = ring.push_frame(1, time_ns, &payload).unwrap();
                pushed.push(Pushed { time_ns, session: 0, sequence, producer, payload });
            }
            if n % 50 == 49 {
                let sequence = rings[0].next_sequence();
                assert!(recorder.wait_durable(&rings[0], sequence, 60_000_000_000));
            }
        }
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
        pushed[first..].iter_mut().for_each(|p| p.session = closed.status.session);
    }
    pushed
}

pub fn in_time_order(store: &Store, interval: Interval, reading: &Reading) -> Vec<Pushed> {
    let mut found = Vec::new();
    let notes = store.records(interval, &Filter::all().data_only(), reading, |record| {
        found.push(Pushed::of(record));
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().records, found.len() as u64);
    found
}
