//! Samples that another thread makes of names that were met come into the store as those that an intake
//! looks up itself.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_ingest::{Batch, Intake, Key, Manner, Room, Row, Target, Types, Value};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_sys::disk::Disk;

/// `name value` with the key of the name.
fn take(intake: &mut Intake<'_>, line: u64, text: &str) -> baro_ingest::Result<()> {
    let (series, value) = text.split_once(' ').unwrap();
    let written = Some(intake.maker().key(series.as_bytes()));
    let value = value.parse().map_or(Value::Text(value), Value::Float);
    let time_ns = intake.line_time_ns(line);
    let row = Row { line, series, time_ns, value, types: Types::Exact, joint: None, written };
    intake.take(&row, &mut |_| {})
}

#[test]
fn a_batch_is_pushed_in_its_order_and_what_is_new_is_known_after_it() {
    let path = std::env::temp_dir().join(format!("baro-batches-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let disk = Disk::create(&path).unwrap();
    let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 1 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments: 16, catalog_bytes, when_full };
    init(&disk, &path, StoreId(*b"store id of test"), 1, &geometry, |_| {}).unwrap();
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(&path, options).unwrap();
    recorder.declare(&[("old", Type::F64, ""), ("text", Type::Text, "")]).unwrap();
    let target = Target::of(&recorder, Room::AtMost(60_000_000_000)).unwrap();
    let mut intake = Intake::new("test", target, Manner::together()).unwrap();
    let (known, maker) = (intake.share(), intake.maker());
    let key = |name: &str| -> Key { maker.key(name.as_bytes()) };
    assert!(known.read().get(key("old")).is_none());

    let mut batch = Batch::default();
    for (line, text) in [(1, "old 1"), (2, "text x"), (3, "new 1")] {
        batch.add_whole(line, text);
    }
    intake.came_at(100);
    intake.take_batch(&mut batch, take).unwrap();
    assert_eq!(intake.fed.samples, 0);
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.samples, intake.fed.declared, intake.fed.series), (3, 1, 3));
    batch.clear();
    let met = ["old", "text", "new"].map(|name| known.read().get(key(name)).unwrap());
    let [old, text, new] = met;
    assert_eq!(met.map(|met| met.kind), [Type::F64, Type::Text, Type::F64]);
    assert_eq!(known.read().len(), 3);

    // All are known: a value that does not fit takes nothing with it when its point is left.
    batch.begin(1, Some(7));
    assert!(batch.add(old, Value::Float(2.0)) && batch.add(text, Value::Text("y")));
    assert!(!batch.add(new, Value::Text("no number")));
    batch.leave();
    assert!(batch.is_empty());
    batch.begin(2, None);
    assert!(batch.add(new, Value::Float(3.0)) && batch.add(text, Value::Text("z")));
    batch.begin(3, Some(8));
    assert!(batch.add(new, Value::Integer(4)));
    assert!(!batch.add(new, Value::Integer((1 << 53) + 1)));
    intake.begin();
    intake.came_at(200);
    let records = intake.fed.records;
    intake.take_batch(&mut batch, |_, _, _| unreachable!()).unwrap();
    // A text is a record of its own.
    assert_eq!((intake.fed.samples, intake.fed.records - records), (6, 2));
    batch.clear();

    // Of a series and time the last one counts, whether it was known or not.
    batch.add_whole(1, "late 1");
    batch.begin(2, Some(9));
    assert!(batch.add(old, Value::Float(5.0)));
    batch.add_whole(3, "old 6");
    intake.begin();
    intake.take_batch(&mut batch, take).unwrap();
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.samples, intake.fed.declared, known.read().len()), (9, 2, 4));
    drop(intake);
    let _ = recorder.close();
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_text_that_the_ring_never_takes_is_refused_and_costs_no_other_line() {
    let path = std::env::temp_dir().join(format!("baro-batches-text-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let disk = Disk::create(&path).unwrap();
    let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 1 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments: 16, catalog_bytes, when_full };
    init(&disk, &path, StoreId(*b"store id of test"), 1, &geometry, |_| {}).unwrap();
    let options = Options { rings: Rings::Private, ring_bytes: 64 << 10, ..Options::default() };
    let recorder = Recorder::open(&path, options).unwrap();
    let target = Target::of(&recorder, Room::AtMost(60_000_000_000)).unwrap();
    let mut intake = Intake::new("test", target, Manner::together()).unwrap();
    let (known, maker) = (intake.share(), intake.maker());
    let most = intake.record_bytes_max();
    assert!(most < 16 << 10);
    let (fits, long) = ("x".repeat(most), "x".repeat(most + 1));

    let mut batch = Batch::default();
    for (line, text) in [(1, "n 1"), (2, &format!("text {long}")), (3, &format!("text {fits}"))] {
        batch.add_whole(line, text);
    }
    let mut said = Vec::new();
    intake.begin();
    let taken = intake.take_batch(&mut batch, |intake, line, text| {
        let (series, value) = text.split_once(' ').unwrap();
        let written = Some(intake.maker().key(series.as_bytes()));
        let value = value.parse().map_or(Value::Text(value), Value::Float);
        let row =
            Row { line, series, time_ns: 1, value, types: Types::Exact, joint: None, written };
        intake.take(&row, &mut |refusal| said.push(refusal.to_string()))
    });
    taken.unwrap();
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.samples, said.len()), (2, 1));
    let expected = format!("line 2: series text: expected a text of at most {most} bytes");
    assert!(said[0].starts_with(&expected) && said[0].contains("--ring"), "{said:?}");

    // Once it has been met, the batch leaves it to the intake.
    batch.clear();
    batch.limit_texts(most);
    let text = known.read().get(maker.key(b"text")).unwrap();
    batch.begin(1, Some(2));
    assert!(!batch.add(text, Value::Text(&long)) && batch.add(text, Value::Text(&fits)));
    drop(intake);
    let _ = recorder.close();
    std::fs::remove_dir_all(&path).unwrap();
}
