//! What is recorded is found: in order of writing, in time order with little memory, by interval,
//! by id, from the end, and with what was lost.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, Pushed, in_time_order, options, record};
use baro_ondisk::{Kind, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Error, Filter, Interval, Reading, Store, Value, verify};
use baro_sys::storage::Access;
use std::ops::ControlFlow;

#[test]
fn time_order_is_exact_whatever_the_memory() {
    let folder = Folder::init("order", 16, WhenFull::Stop);
    let mut expected = record(&folder.0, 3, 3, 600, 40_000);
    expected.sort();
    let store = Store::open(&folder.0).unwrap();
    assert!(store.damage().is_empty() && store.tails().unwrap().is_empty());
    assert!(in_time_order(&store, Interval::ALL, &Reading::default()) == expected);
    let tight = Reading { memory_bytes: 1, ..Reading::default() };
    let mut found = Vec::new();
    let notes = store
        .records(Interval::ALL, &Filter::all().data_only(), &tight, |record| {
            found.push(Pushed::of(record));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(found == expected);
    assert!(notes.blocks_again > 0 && notes.damage.is_empty());
    let few = Reading { overlap_blocks_max: 1, ..Reading::default() };
    let error = store.records(Interval::ALL, &Filter::all(), &few, |_| ControlFlow::Continue(()));
    assert!(matches!(error, Err(Error::Overlap { limit: 1 })));
    for (from_ns, to_ns) in [(0, 1000), (300_000, 700_000), (599_000, 601_000), (9, 9)] {
        let interval = Interval { from_ns, to_ns };
        let wanted: Vec<_> =
            expected.iter().filter(|p| interval.holds(p.time_ns)).cloned().collect();
        assert!(in_time_order(&store, interval, &Reading::default()) == wanted);
    }
    let mut seen = 0;
    let stop = |_: &baro_store::RecordRef<'_>| {
        seen += 1;
        if seen == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let notes = store.records(Interval::ALL, &Filter::all(), &Reading::default(), stop).unwrap();
    assert_eq!((seen, notes.records), (10, 10));
}

#[test]
fn a_whole_store_verifies_and_its_order_of_writing_is_that_of_each_producer() {
    let folder = Folder::init("whole", 16, WhenFull::Stop);
    let expected = record(&folder.0, 2, 2, 500, 10);
    let store = Store::open(&folder.0).unwrap();
    for access in [Access::Read, Access::ReadDirect] {
        let mut last = (0, 0);
        let report = verify(&store, access, |done, total| last = (done, total)).unwrap();
        assert!(report.is_whole() && report.damage.is_empty(), "{report:?}");
        assert_eq!((report.frames, report.sessions, report.producers), (2000, 2, 4));
        assert_eq!(last.0, last.1);
        assert_eq!(report.records_missing_with_blocks, 0);
        let times = expected.iter().map(|p| p.time_ns);
        assert_eq!(report.times_ns, Some((times.clone().min().unwrap(), times.max().unwrap())));
    }
    let mut found = Vec::new();
    let notes = store.records_as_written(|record| {
        found.push(Pushed::of(record));
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().records, 2000);
    let mut producers: Vec<u64> = expected.iter().map(|p| p.producer).collect();
    producers.sort_unstable();
    producers.dedup();
    for producer in producers {
        let of = |all: &[Pushed]| -> Vec<Pushed> {
            all.iter().filter(|p| p.producer == producer).cloned().collect()
        };
        assert!(of(&found) == of(&expected));
    }
    let info = store.info().unwrap();
    assert_eq!((info.records, info.sessions.len()), (2000, 2));
    assert_eq!((info.series, info.channels, info.damaged), (2, 1, 0));
    assert!(info.sessions.iter().all(|s| s.from_start && s.records == 1000));
    assert_eq!(info.segments_used + info.segments_blank, 16);
}

#[test]
fn samples_are_filtered_counted_and_tailed() {
    let folder = Folder::init("samples", 4, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let ids = recorder
        .declare(&[("a", Type::F64, ""), ("b", Type::F64, ""), ("c", Type::Channel, "")])
        .unwrap();
    let mut ring = recorder.producer().unwrap();
    for n in 0..300_i64 {
        ring.push_samples(n * 10, &ids[..1], &[n as f64]).unwrap();
        ring.push_samples(n * 10, &ids[..2], &[n as f64, -n as f64]).unwrap();
        if n % 100 == 0 {
            ring.push_frame(ids[2], n * 10, b"frame").unwrap();
            let next = ring.next_sequence();
            assert!(recorder.wait_durable(&ring, next, 60_000_000_000));
        }
    }
    // Beside the writer: what is durable is seen after a refresh.
    let mut store = Store::open(&folder.0).unwrap();
    let _ = recorder.close();
    store.refresh().unwrap();
    let count = |ids: &[u32]| {
        let each = |_: &baro_store::RecordRef<'_>| ControlFlow::Continue(());
        let filter = Filter::ids(ids).data_only();
        store.records(Interval::ALL, &filter, &Reading::default(), each).unwrap().records
    };
    // Samples of one time in one block are one record, whichever records they were pushed in; where the
    // writer ended a block between two pushes of one time they are two.
    assert_eq!((count(&[2]), count(&[3]), count(&[2, 3])), (300, 3, 303));
    let mut times = std::collections::BTreeSet::new();
    let each = |record: &baro_store::RecordRef<'_>| {
        times.insert(record.time_ns);
        ControlFlow::Continue(())
    };
    let filter = Filter::ids(&[1]).data_only();
    store.records(Interval::ALL, &filter, &Reading::default(), each).unwrap();
    assert_eq!(times.len(), 300);
    // Each time counts once, as every other way shows it.
    let (listed, _) = store.counts().unwrap();
    let rows: Vec<_> = listed.iter().map(|l| (l.id, l.rows, l.times_ns.unwrap())).collect();
    assert_eq!(rows, [(1, 300, (0, 2990)), (2, 300, (0, 2990)), (3, 3, (0, 2000))]);
    let (tail, notes) = store.tail(&[2, 3], 2).unwrap();
    let bits = |n: f64| Value::Bits(n.to_bits());
    let row = |time_ns, value| baro_store::Row { time_ns, value };
    assert_eq!(tail[&2], [row(2980, bits(-298.0)), row(2990, bits(-299.0))]);
    let frame = || Value::Frame(b"frame".to_vec());
    assert_eq!(tail[&3], [row(1000, frame()), row(2000, frame())]);
    assert!(notes.damage.is_empty());
}

#[test]
fn losses_are_told_by_cause() {
    let folder = Folder::init("losses", 4, WhenFull::Stop);
    let small = baro_recorder::Options { record_bytes_max: 1000, ..options() };
    let recorder = Recorder::open(&folder.0, small).unwrap();
    let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
    let mut ring = recorder.producer().unwrap();
    for n in 0..100_i64 {
        let large = n % 10 == 3;
        let frame = vec![1; if large { 2000 } else { 100 }];
        assert_eq!(ring.push_frame(id, n, &frame).is_err(), large);
    }
    let _ = recorder.close();
    let store = Store::open(&folder.0).unwrap();
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert_eq!((report.frames, report.lost.too_large), (90, 10));
    assert!(report.is_whole() && report.gaps > 0, "{report:?}");
    let mut lost = 0;
    let each = |record: &baro_store::RecordRef<'_>| {
        if record.kind == Kind::Gap {
            lost += baro_ondisk::Gap::decode(record.payload).unwrap().lost();
        }
        ControlFlow::Continue(())
    };
    store.records(Interval::ALL, &Filter::ids(&[77]), &Reading::default(), each).unwrap();
    assert_eq!(lost, 10);
}
