//! Columns of fields come out the same whether they fit into memory or need several passes.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use super::*;
use crate::interval::Interval;
use baro_log::{Geometry, init};
use baro_ondisk::{Layout, StoreId, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_sys::disk::Disk;

#[test]
fn fields_come_out_whole_in_several_passes() {
    let path = std::env::temp_dir().join(format!("baro-fields-{}", std::process::id()));
    let disk = Disk::create(&path).unwrap();
    let (segment_bytes, catalog_bytes) = (1 << 20, 1 << 20);
    let when_full = WhenFull::Stop;
    let geometry = Geometry { segment_bytes, segments: 4, catalog_bytes, when_full };
    init(&disk, &path, StoreId([3; 16]), 1, &geometry, |_| {}).unwrap();
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(&path, options).unwrap();
    let layout: Layout = "value:u8[6]@0".parse().unwrap();
    let channel = recorder.declare_channel_with_layout("c", &layout).unwrap();
    let mut producer = recorder.producer().unwrap();
    for at in 0..5000_u32 {
        // Every tenth time comes twice: the later frame counts.
        let time_ns = i64::from(at - u32::from(at % 10 == 9));
        let frame: Vec<u8> = (0..6).map(|field| (at * 7 + field) as u8).collect();
        producer.push_frame(channel, time_ns, &frame).unwrap();
    }
    assert_eq!(recorder.close().left, 0);
    let store = Store::open(&path).unwrap();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let answer = |held: usize| {
        let query = Query::raw(Interval::ALL);
        let (mut rows, mut batches) = (Vec::new(), 0);
        let mut each = |batch: &crate::Batch<'_>| {
            batches += 1;
            let crate::Values::I64(values) = batch.values else { panic!("{batch:?}") };
            let times = batch.times_ns.iter().zip(values);
            rows.extend(times.map(|(time, value)| (batch.target.place, *time, *value)));
            ControlFlow::Continue(())
        };
        let mut out = Emitter::new(&query, &mut each);
        let places = 0..selection.columns().len();
        columns(&store, &selection, places, &query, &mut out, Some(held)).unwrap();
        rows
    };
    let all = answer(1 << 20);
    assert_eq!(all.len(), 6 * 4500);
    assert_eq!(all[8], (0, 8, i64::from((9 * 7) as u8)));
    assert!(all.is_sorted_by_key(|row| (row.0, row.1)));
    for held in [0, 100, 9_000, 14_000] {
        assert_eq!(answer(held), all, "{held} rows held");
    }
    std::fs::remove_dir_all(&path).unwrap();
}
