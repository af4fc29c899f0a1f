//! What becomes of a recording whose writer ends by a mistake of the program.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use super::Recorder;
use crate::Options;
use crate::writer::{BROKEN, Command};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_sys::disk::Disk;
use std::time::Duration;

#[test]
fn a_writer_that_ends_by_a_mistake_is_told_and_loses_nothing() {
    let path = std::env::temp_dir().join(format!("baro-broken-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let disk = Disk::create(&path).unwrap();
    let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 1 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments: 4, catalog_bytes, when_full };
    let store = StoreId(std::process::id().to_le_bytes().repeat(4).try_into().unwrap());
    init(&disk, &path, store, 1, &geometry, |_| {}).unwrap();
    let recorder = Recorder::open(&path, Options::default()).unwrap();
    let id = recorder.declare(&[("a", Type::F64, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    recorder.commands.send(Command::Break).unwrap();
    while !recorder.status().stopped {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(recorder.status().trouble.to_string().contains("writer's thread has ended"));
    // At once, however busy the machine is: a short deadline may pass before the thread is asked.
    assert!(recorder.flush(60_000_000_000).is_err());
    // Sources may push still: that stays in the ring.
    producer.push_sample(id, 7, 1.5).unwrap();
    drop(producer);
    let closed = recorder.close();
    assert_eq!(closed.left, 1);
    assert!(closed.damage.iter().any(|damage| damage == BROKEN), "{:?}", closed.damage);
    let again = Recorder::open(&path, Options::default()).unwrap();
    let closed = again.close();
    assert_eq!((closed.damage.len(), closed.left, closed.status.records), (0, 0, 1));
    std::fs::remove_dir_all(&path).unwrap();
}
