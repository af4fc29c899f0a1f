//! Damaged and foreign files: a clear error that names the file, or passed over and said; never a
//! panic, and never somebody else's records.

use super::process::{Role, wait_for};
use super::reading::read;
use super::scene::{Owned, Scene};
use baro_log::{read_identity, segment_name};
use baro_ondisk::{Kind, WhenFull};
use baro_recorder::{Error, Recorder};
use baro_sys::disk::Disk;
use std::os::unix::fs::{FileExt, symlink};

fn flip(scene: &Scene, name: &str, offset: u64) {
    let path = scene.store().join(name);
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
}

fn refusal(scene: &Scene) -> String {
    Recorder::open(scene.store(), scene.options()).unwrap_err().to_string()
}

/// Records `count` frames of one byte, `tag`.
fn record(scene: &Scene, tag: u8, count: u64) {
    let recorder = scene.open();
    let mut producer = recorder.producer().unwrap();
    for n in 0..count {
        producer.push_frame(1, n as i64, &[tag; 100]).unwrap();
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
}

fn frames(scene: &Scene, tag: u8) -> usize {
    let log = read(scene.store());
    let own = |payload: &[u8]| payload.iter().all(|byte| *byte == tag);
    assert!(log.iter().all(|entry| entry.kind == Kind::Frame && own(&entry.payload)));
    log.len()
}

#[test]
fn a_second_process_is_refused_by_the_first_ones_name() {
    let Some(scene) = Scene::new("twice", 4).map(Owned) else { return };
    let mut first = Role::start("recorder", &scene);
    wait_for("a recorder", || {
        assert!(!first.ended());
        scene.signalled("open").is_some()
    });
    let error = Recorder::open(scene.store(), scene.options()).unwrap_err();
    assert!(matches!(error, Error::Busy { pid: Some(pid), .. } if pid == first.id()), "{error}");
    first.kill();
    record(&scene, 1, 10);
    assert_eq!(frames(&scene, 1), 10);
}

#[test]
fn a_damaged_identity_or_catalog_is_named() {
    let Some(scene) = Scene::new("identity", 4).map(Owned) else { return };
    for (name, offset) in [("store", 20), ("store", 0), ("store", 3000), ("catalog", 40)] {
        flip(&scene, name, offset);
        let error = refusal(&scene);
        assert!(error.starts_with(name) && error.contains("expected"), "{error}");
        flip(&scene, name, offset);
    }
    std::fs::write(scene.store().join("store"), "short").unwrap();
    assert!(refusal(&scene).starts_with("store: "));
}

#[test]
fn a_missing_segment_is_named() {
    let Some(scene) = Scene::new("missing", 4).map(Owned) else { return };
    record(&scene, 1, 10);
    std::fs::remove_file(scene.store().join(segment_name(2))).unwrap();
    let error = refusal(&scene);
    assert!(error.contains("00000002.seg: open: No such file"), "{error}");
}

#[test]
fn a_segment_of_another_store_is_passed_over() {
    for when_full in [WhenFull::Stop, WhenFull::Recycle] {
        let Some(scene) = Scene::without_store("mine", &std::env::temp_dir()).map(Owned) else {
            return;
        };
        scene.init(6, when_full);
        let Some(other) = Scene::new("other", 6).map(Owned) else { return };
        record(&scene, 1, 50);
        record(&other, 2, 50);
        let theirs = other.store().join(segment_name(0));
        std::fs::copy(theirs, scene.store().join(segment_name(3))).unwrap();
        let recorder = scene.open();
        assert_eq!(recorder.opening().segments_damaged, 1);
        let said = recorder.opening().reservations().join("\n");
        assert!(said.contains("00000003.seg") && said.contains("store id"), "{said}");
        drop(recorder);
        record(&scene, 1, 50);
        assert_eq!(frames(&scene, 1), 100);
    }
}

#[test]
fn an_init_over_segments_with_records_is_refused() {
    let Some(scene) = Scene::new("over", 4).map(Owned) else { return };
    record(&scene, 1, 10);
    let identity = std::fs::read(scene.store().join("store")).unwrap();
    std::fs::remove_file(scene.store().join("store")).unwrap();
    let error = scene.try_init(4, WhenFull::Stop).unwrap_err();
    assert!(matches!(error, baro_log::Error::Exists { .. }), "{error}");
    std::fs::write(scene.store().join("store"), identity).unwrap();
    assert_eq!(frames(&scene, 1), 10);
}

#[test]
fn garbage_among_the_rings_is_passed_over_and_said() {
    let Some(scene) = Scene::new("garbage", 4).map(Owned) else { return };
    let Some(other) = Scene::new("others", 4).map(Owned) else { return };
    let disk = Disk::open(scene.store()).unwrap();
    let store = read_identity(&disk, scene.store()).unwrap().store;
    let rings = scene.rings().join(store.to_string());
    std::fs::create_dir_all(&rings).unwrap();
    let noise: Vec<u8> = (0..80_000_u64).map(|n| ((n * n) >> 7) as u8).collect();
    std::fs::write(rings.join("a.ring"), &noise).unwrap();
    std::fs::write(rings.join("b.ring"), "").unwrap();
    std::fs::File::create(rings.join("c.ring")).unwrap().set_len(1 << 20).unwrap();
    std::fs::create_dir(rings.join("d.ring")).unwrap();
    symlink("/etc/passwd", rings.join("e.ring")).unwrap();
    std::fs::write(rings.join("f.ring"), vec![0; 128 << 10]).unwrap();
    // A whole ring, of another store.
    let theirs = other.open();
    let path = theirs.ring_for_attach().unwrap();
    std::fs::copy(path, rings.join("g.ring")).unwrap();
    let recorder = scene.open();
    let refused = &recorder.opening().rings_refused;
    assert_eq!(refused.len(), 7, "{refused:#?}");
    for (reason, name) in refused.iter().zip('a'..='g') {
        assert!(reason.contains(&format!("/{name}.ring: ")), "{reason}");
    }
    let said = recorder.opening().reservations().join("\n");
    assert!(said.contains("a ring was not taken over: "), "{said}");
    let mut producer = recorder.producer().unwrap();
    producer.push_frame(1, 0, &[1; 100]).unwrap();
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    assert_eq!(frames(&scene, 1), 1);
    assert_eq!(scene.ring_files().len(), 7, "what is not ours stays");
}

#[test]
fn a_ring_that_two_producers_want_is_given_to_one() {
    let Some(scene) = Scene::new("attach", 4).map(Owned) else { return };
    let recorder = scene.open();
    let path = recorder.ring_for_attach().unwrap();
    let first = baro_recorder::Producer::attach(&path).unwrap();
    let error = baro_recorder::Producer::attach(&path).unwrap_err().to_string();
    assert!(error.contains("another process uses this ring"), "{error}");
    drop(first);
    assert!(baro_recorder::Producer::attach(&path).is_ok());
}
