//! What series and parts take: counts and times exact, bytes as the records' payloads divide.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{SeriesUsage, Store};

#[test]
fn series_have_their_samples_bytes_and_times() {
    let folder = Folder::init("usage", 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let wanted = [("a", Type::F64, ""), ("b", Type::F64, ""), ("c", Type::Channel, "")];
    let ids = recorder.declare(&[&wanted[..], &[("never", Type::F64, "")]].concat()).unwrap();
    let mut ring = recorder.producer().unwrap();
    for n in 0..10 {
        ring.push_samples(n, &ids[..2], &[1.0, 2.0]).unwrap();
        ring.push_samples(100 - n, &ids[1..2], &[3.0]).unwrap();
        ring.push_frame(ids[2], 50 + n, &[7; 300]).unwrap();
    }
    assert_eq!(recorder.close().left, 0);
    drop(ring);
    let store = Store::open(&folder.0).unwrap();
    let of = |ids: Option<&[u32]>| {
        let mut found = Vec::new();
        let notes = store.usage(ids, |one| found.push(one)).unwrap();
        assert!(notes.damage.is_empty());
        found
    };
    let usage = |at: usize, samples, bytes, first_ns, last_ns| SeriesUsage {
        id: ids[at],
        samples,
        bytes,
        first_ns,
        last_ns,
    };
    // The thirty samples share their sections evenly, and take less than their 12 B each pushed.
    let found = of(None);
    let bytes = |at: usize| found.get(at).map_or(0, |one| one.bytes);
    assert!((10..10 * 12).contains(&bytes(0)), "{found:?}");
    assert!(bytes(1).abs_diff(2 * bytes(0)) <= 10, "{found:?}");
    let all =
        [usage(0, 10, bytes(0), 0, 9), usage(1, 20, bytes(1), 0, 100), usage(2, 10, 3000, 50, 59)];
    assert_eq!(found, all);
    assert_eq!(of(Some(&[ids[1], ids[3], 9999])), all[1..2]);
    assert_eq!(of(Some(&[])), []);
    let parts = store.parts().unwrap();
    assert_eq!((parts.log_bytes, parts.catalog_bytes), (4 << 20, 1 << 20));
    assert!(parts.log_used_bytes >= 4096 && parts.log_used_bytes.is_multiple_of(4096), "{parts:?}");
    assert_eq!((parts.runs_bytes, parts.pins_bytes, parts.kept_bytes), (0, 0, 0));
    std::fs::create_dir_all(folder.0.join("runs")).unwrap();
    std::fs::write(folder.0.join("runs/1"), [0; 777]).unwrap();
    assert_eq!(store.parts().unwrap().runs_bytes, 777);
}
