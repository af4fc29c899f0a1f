//! What ext4 does for a recording, by the kernel's own tracepoints: no commit of the journal, no
//! block allocated, no size changed. The file system is the test's own and its timer is set aside
//! (`commit=`), so that every commit would be one that the recording forced.

use super::machine::{Mount, alone, folder};
use super::process::{play_with_own_tracefs, sleep_ms};
use super::reading::read;
use super::scene::{Owned, Scene};
use baro_ondisk::WhenFull;
use baro_recorder::{Options, Recorder};
use baro_sys::tracefs::{TraceInstance, device_filter};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const FRAMES: u64 = 1000;
const COMMIT: &str = "jbd2_end_commit";
const ALLOCATION: &str = "ext4_allocate_blocks";
const CHANGES: [&str; 4] = [
    "ext4_truncate_enter",
    "ext4_fallocate_enter",
    "ext4_ext_convert_to_initialized_enter",
    ALLOCATION,
];

#[test]
fn a_recording_forces_no_commit_and_allocates_nothing() {
    let _alone = alone();
    let options = "noatime,commit=600";
    let Some(mount) = folder("commit").and_then(|at| Mount::new(at, 96, options)) else { return };
    let Some(scene) = Scene::without_store("commit", &mount.path()).map(Owned) else { return };
    play_with_own_tracefs("journal", &scene);
}

/// Sizes and allocated blocks of the store's files.
fn sizes(store: &Path) -> BTreeMap<String, (u64, u64)> {
    let folders = [store.to_owned(), store.join("log")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    files
        .map(|file| {
            let file = file.unwrap();
            let found = file.metadata().unwrap();
            (file.file_name().into_string().unwrap(), (found.len(), found.blocks()))
        })
        .collect()
}

/// The role `journal`.
pub fn count_in_own_namespace(scene: &Scene) {
    scene.init(24, WhenFull::Stop);
    let options =
        Options { durable_within_ns: 50_000_000, ring_bytes: 32 << 20, ..scene.options() };
    let recorder = Recorder::open(scene.store(), options).unwrap();
    let mut producer = recorder.producer().unwrap();
    let mut trace = match TraceInstance::new("baro-real", 1024) {
        Ok(trace) => trace,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let device = device_filter(scene.store()).unwrap();
    trace.enable(&format!("jbd2/{COMMIT}"), Some(&device)).unwrap();
    for event in CHANGES {
        trace.enable(&format!("ext4/{event}"), Some(&device)).unwrap();
    }
    trace.enable("ext4/ext4_sync_file_enter", Some(&device)).unwrap();
    // What the opening itself left to be committed.
    let file = std::fs::File::create(scene.store().with_extension("settled")).unwrap();
    file.sync_all().unwrap();
    trace.read(&mut Vec::new()).unwrap();
    let (before, old) = (trace.counts().clone(), sizes(scene.store()));
    let frame = vec![3; 16 << 10];
    for n in 0..FRAMES {
        assert_eq!(producer.push_frame(1, n as i64, &frame), Ok(n));
        sleep_ms(5);
        // However slow the disk is, it is asked so often at least.
        if n % 16 == 15 {
            assert!(recorder.wait_durable(&producer, n + 1, 60_000_000_000));
        }
    }
    assert!(recorder.wait_durable(&producer, FRAMES, 60_000_000_000));
    let count = |trace: &mut TraceInstance, before: &BTreeMap<String, u64>| {
        trace.read(&mut Vec::new()).unwrap();
        assert_eq!(trace.lost().unwrap().total(), 0);
        trace.counts().iter().map(|(name, n)| (name.clone(), n - before[name])).collect()
    };
    let found: BTreeMap<String, u64> = count(&mut trace, &before);
    let syncs = recorder.status().syncs;
    println!("recording of {FRAMES} frames, {syncs} syncs: {found:?}");
    assert!(syncs > 50 && found["ext4_sync_file_enter"] >= syncs, "{syncs}: {found:?}");
    for event in CHANGES.iter().chain(&[COMMIT]) {
        assert_eq!(found[*event], 0, "{event}");
    }
    assert_eq!(sizes(scene.store()), old);
    // The counters can count: a file that grows, and its sync.
    let before = trace.counts().clone();
    std::io::Write::write_all(&mut &file, &[1; 100_000]).unwrap();
    file.sync_data().unwrap();
    let found: BTreeMap<String, u64> = count(&mut trace, &before);
    assert!(found[COMMIT] >= 1 && found[ALLOCATION] >= 1, "{found:?}");
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    assert_eq!(read(scene.store()).len() as u64, FRAMES);
}
