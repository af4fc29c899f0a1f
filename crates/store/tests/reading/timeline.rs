//! Points come in time order whether they lie in the log or in runs; fields of frames come out
//! whole.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Layout, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Extent, Interval, Query, Reading, Selection, SettleOptions, Settler, Store, Values,
};
use std::ops::ControlFlow;

const FRAMES: i64 = 3_000;

fn recorded(folder: &Folder) {
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let layout: Layout = "speed:f32@0,big:u64@8,small:i16[2]@4".parse().unwrap();
    let channel = recorder.declare_channel_with_layout("control", &layout).unwrap();
    let wanted = [("temp", Type::F64, "K"), ("note", Type::Text, ""), ("count", Type::I64, "")];
    let ids = recorder.declare(&wanted).unwrap();
    let mut producer = recorder.producer().unwrap();
    for at in 0..FRAMES {
        let mut frame = (at as f32).to_le_bytes().to_vec();
        frame.extend((at as i16).to_le_bytes());
        frame.extend((-at as i16).to_le_bytes());
        frame.extend((u64::MAX - at as u64).to_le_bytes());
        while producer.free_bytes() < 1 << 15 {
            std::thread::yield_now();
        }
        producer.push_frame(channel, at * 10, &frame).unwrap();
        producer.push_samples(at * 10 + 3, &[ids[0]], &[at as f64 / 8.0]).unwrap();
        producer.push_sample(ids[2], at * 10 + 5, i64::MAX - at).unwrap();
        if at % 100 == 0 {
            producer.push_text(ids[1], at * 10 + 7, &format!("at {at}")).unwrap();
        }
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
}

fn points(store: &Store, interval: Interval) -> Vec<String> {
    let selection = Selection::all(store.catalog(), true).unwrap();
    let mut found = Vec::new();
    let each = |point: &baro_store::Point<'_>| {
        let name = point.column.map_or("unknown", |column| column.name.as_str());
        found.push(format!("{} {name} {:?}", point.time_ns, point.value));
        ControlFlow::Continue(())
    };
    let (notes, short) = store.points(interval, &selection, &Reading::default(), each).unwrap();
    assert_eq!((notes.damage, short), (vec![], 0));
    found
}

#[test]
fn points_are_the_same_in_the_log_and_in_runs() {
    let folder = Folder::init("timeline", 8, WhenFull::Stop);
    recorded(&folder);
    let some = Interval { from_ns: 1_005, to_ns: 20_003 };
    let store = Store::open(&folder.0).unwrap();
    let before = [points(&store, Interval::ALL), points(&store, some)];
    assert_eq!(before[0].len(), (FRAMES * 6 + FRAMES / 100) as usize);
    let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    let done = settler.step(Extent::All).unwrap();
    assert_eq!((done.samples, done.runs), ((FRAMES * 2 + FRAMES / 100) as u64, 1));
    let store = Store::open(&folder.0).unwrap();
    assert_eq!([points(&store, Interval::ALL), points(&store, some)], before);
}

#[test]
fn integers_of_fields_keep_all_their_bits() {
    let folder = Folder::init("timeline-fields", 8, WhenFull::Stop);
    recorded(&folder);
    let store = Store::open(&folder.0).unwrap();
    let names = ["control.big", "control.small[1]", "count"];
    let selection = Selection::named(store.catalog(), &names).unwrap();
    let mut rows: Vec<(String, i64, String)> = Vec::new();
    let notes = store.query(&selection, &Query::raw(Interval::ALL), |batch| {
        let column = store.column(&selection, batch.target).unwrap();
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let value = match batch.values {
                Values::U64(values) => format!("u{}", values[at]),
                Values::I64(values) => format!("i{}", values[at]),
                other => panic!("{other:?}"),
            };
            rows.push((column.name.clone(), *time_ns, value));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().rows, 3 * FRAMES as u64);
    let mut expected = Vec::new();
    for at in 0..FRAMES {
        expected.push(("control.big".to_owned(), at * 10, format!("u{}", u64::MAX - at as u64)));
    }
    for at in 0..FRAMES {
        expected.push(("control.small[1]".to_owned(), at * 10, format!("i{}", -at)));
    }
    for at in 0..FRAMES {
        expected.push(("count".to_owned(), at * 10 + 5, format!("i{}", i64::MAX - at)));
    }
    assert_eq!(rows, expected);
}

#[test]
fn a_log_larger_than_the_memory_given_is_read_in_windows() {
    const ROUNDS: i64 = 60;
    const SERIES: i64 = 500;
    let folder = Folder::init("timeline-windows", 24, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let names: Vec<String> = (0..SERIES).map(|at| format!("s{at:03}")).collect();
    let wanted: Vec<_> = names.iter().map(|name| (name.as_str(), Type::F64, "")).collect();
    let ids = recorder.declare(&wanted).unwrap();
    let text = recorder.declare(&[("text", Type::Text, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    let noise = |at: i64| f64::from_bits((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2);
    for at in 0..ROUNDS {
        while producer.free_bytes() < 1 << 18 {
            std::thread::yield_now();
        }
        let values: Vec<f64> = (0..SERIES).map(|of| noise(at * SERIES + of)).collect();
        producer.push_samples(at * 10, &ids, &values).unwrap();
        // Texts of three megabytes in all, of which a window holds a part.
        producer.push_text(text, at * 10, &format!("{at} {}", "x".repeat(50_000))).unwrap();
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    let read = |memory_bytes: usize| {
        let store = Store::open(&folder.0).unwrap();
        let selection = Selection::all(store.catalog(), true).unwrap();
        let reading = Reading { memory_bytes, ..Reading::default() };
        let mut found = Vec::new();
        let each = |point: &baro_store::Point<'_>| {
            found.push((point.time_ns, point.id, format!("{:?}", point.value)));
            ControlFlow::Continue(())
        };
        let (notes, _) = store.points(Interval::ALL, &selection, &reading, each).unwrap();
        assert_eq!(notes.damage, []);
        found
    };
    let whole = read(64 << 20);
    assert_eq!(whole.len(), (ROUNDS * (SERIES + 1)) as usize);
    assert!(whole.is_sorted_by_key(|row| (row.0, row.1)));
    assert!(read(1 << 20) == whole);
    // The same once a part of it is in runs.
    let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
    settler.step(Extent::All).unwrap();
    assert!(read(1 << 20) == whole);
}
