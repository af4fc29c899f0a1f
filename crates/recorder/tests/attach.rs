//! Producers that look for a free ring: many at once, each gets one of its own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::inspect::rings_of;
use baro_recorder::{Options, Recorder, Rings, attach};
use baro_sys::disk::Disk;
use baro_sys::identity::FileSystem;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

struct Folders(PathBuf, PathBuf);

impl Folders {
    /// A store, and a tmpfs for its rings; `None` without one.
    fn new(name: &str) -> Option<Self> {
        let own = format!("baro-{name}-{}", std::process::id());
        let shared = Path::new("/dev/shm");
        if !FileSystem::of(shared).is_ok_and(|found| found.name() == "tmpfs") {
            println!("skipped: no tmpfs at /dev/shm");
            return None;
        }
        let folders = Folders(std::env::temp_dir().join(&own), shared.join(own));
        let disk = Disk::create(&folders.0).unwrap();
        let geometry = Geometry {
            segment_bytes: 1 << 20,
            segments: 8,
            catalog_bytes: 1 << 20,
            when_full: WhenFull::Stop,
        };
        init(&disk, &folders.0, StoreId([9; 16]), 1, &geometry, |_| {}).unwrap();
        Some(folders)
    }

    fn open(&self) -> Recorder {
        let rings = Rings::In(self.1.clone());
        let options = Options { rings, ring_bytes: 256 << 10, ..Options::default() };
        Recorder::open(&self.0, options).unwrap()
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_dir_all(&self.1);
    }
}

#[test]
fn each_of_sixteen_gets_a_ring_of_its_own_and_no_other() {
    let Some(folders) = Folders::new("attach") else { return };
    let recorder = folders.open();
    let channel = recorder.declare(&[("frames", Type::Channel, "")]).unwrap()[0];
    // Of this process: not for others, locked or not.
    let own = recorder.producer().unwrap();
    let none = attach(&folders.0, Some(&folders.1)).unwrap_err().to_string();
    assert!(none.contains("found none free of 0"), "{none}");
    for _ in 0..16 {
        recorder.ring_for_attach().unwrap();
    }
    let go = std::sync::Barrier::new(16);
    let attached: Vec<_> = std::thread::scope(|scope| {
        let look = || {
            go.wait();
            attach(&folders.0, Some(&folders.1)).unwrap()
        };
        let all: Vec<_> = (0..16).map(|_| scope.spawn(look)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let paths: BTreeSet<_> =
        attached.iter().map(|(producer, _)| producer.path().to_owned()).collect();
    assert_eq!(paths.len(), 16);
    assert!(!paths.contains(own.path()));
    let full = attach(&folders.0, Some(&folders.1)).unwrap_err().to_string();
    assert!(full.contains("found none free of 16"), "{full}");
    let rings = rings_of(StoreId([9; 16]), Some(&folders.1));
    assert_eq!(rings.len(), 17);
    assert!(rings.iter().all(|ring| ring.has_producer && ring.has_writer));
    assert_eq!(rings.iter().filter(|ring| ring.to_attach).count(), 16);
    for (mut producer, catalog) in attached {
        assert_eq!(catalog.get("frames").unwrap().id, channel);
        producer.push_frame(channel, 1, b"x").unwrap();
    }
    // A ring given back is free again, and goes on where the other stopped.
    let (mut again, _) = attach(&folders.0, Some(&folders.1)).unwrap();
    assert_eq!(again.push_frame(channel, 2, b"y").unwrap(), 1);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost, closed.status.records), (0, 0, 17));
}

#[test]
fn a_folder_that_is_no_store_is_told() {
    let none = attach(Path::new("/nonexistent"), None).unwrap_err().to_string();
    assert!(none.contains("no store here"), "{none}");
}
