//! Fields of frames read back as series: by name, in time order, beside ordinary series.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::Folder;
use baro_ondisk::{Layout, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Datum, Interval, Reading, Selection, Store, recover};
use std::ops::ControlFlow;
use std::path::Path;

const LAYOUT: &str = "speed:f32@0(m/s),temp:i16@4*0.1,cell:u16be[2]@6,on:bool@10";

fn frame(number: u16) -> Vec<u8> {
    let mut frame = f32::from(number).to_le_bytes().to_vec();
    frame.extend((number as i16 * 10).to_le_bytes());
    frame.extend(number.to_be_bytes());
    frame.extend((number + 1).to_be_bytes());
    frame.push(u8::from(number.is_multiple_of(2)));
    frame
}

fn points(store: &Store, selection: &Selection, interval: Interval) -> (Vec<String>, u64) {
    let mut found = Vec::new();
    let each = |point: &baro_store::Point<'_>| {
        let name = point.column.map_or("unknown", |column| column.name.as_str());
        found.push(format!("{} {name} {:?}", point.time_ns, point.value));
        ControlFlow::Continue(())
    };
    let (notes, short) = store.points(interval, selection, &Reading::default(), each).unwrap();
    assert_eq!(notes.damage, []);
    (found, short)
}

fn recorded(path: &Path) {
    let recorder = Recorder::open(path, crate::common::options()).unwrap();
    let layout: Layout = LAYOUT.parse().unwrap();
    let channel = recorder.declare_channel_with_layout("control", &layout).unwrap();
    assert_eq!(recorder.declare_channel_with_layout("control", &layout).unwrap(), channel);
    assert_eq!(recorder.declare(&[("control", Type::Channel, "")]).unwrap(), [channel]);
    let series = recorder.declare(&[("temp", Type::F64, "K")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    for number in 0..3_u16 {
        let time_ns = i64::from(number) * 10;
        producer.push_frame(channel, time_ns, &frame(number)).unwrap();
        producer.push_samples(time_ns + 1, &[series], &[f64::from(number) + 0.5]).unwrap();
    }
    producer.push_frame(channel, 30, &frame(7)[..7]).unwrap();
    assert_eq!(recorder.close().left, 0);
}

fn check(store: &Store) {
    let named = |names: &[&str]| Selection::named(store.catalog(), names).unwrap();
    let (found, short) = points(store, &named(&["control.temp", "temp"]), Interval::ALL);
    let expected = [
        "0 control.temp Float(0.0)",
        "1 temp Float(0.5)",
        "10 control.temp Float(1.0)",
        "11 temp Float(1.5)",
        "20 control.temp Float(2.0)",
        "21 temp Float(2.5)",
        "30 control.temp Float(7.0)",
    ];
    assert_eq!((found.as_slice(), short), (expected.map(str::to_owned).as_slice(), 0));
    let interval = Interval { from_ns: 10, to_ns: 11 };
    let (found, _) = points(store, &named(&["control.*"]), interval);
    let expected = [
        "10 control.speed Float(1.0)",
        "10 control.temp Float(1.0)",
        "10 control.cell[0] Integer(1)",
        "10 control.cell[1] Integer(2)",
        "10 control.on Boolean(false)",
    ];
    assert_eq!(found, expected);
    // The last frame ends inside the array: one value less for each field behind.
    let (found, short) = points(store, &named(&["control.cell[1]", "control.on"]), Interval::ALL);
    assert_eq!((found.len(), short), (6, 2));
    let all = Selection::all(store.catalog(), true).unwrap();
    let (found, short) = points(store, &all, Interval::ALL);
    assert_eq!((found.len(), short), (3 * 6 + 2, 3));
    // Frames as they are.
    let (found, _) = points(store, &named(&["control"]), interval);
    assert_eq!(found, [format!("10 control {:?}", Datum::Frame(&frame(1)))]);
    for (name, said) in [
        ("control.none", "the channel's fields are speed:f32@0(m/s),temp"),
        ("control.cell", "the channel's fields"),
        ("temp.x", "baro list"),
        ("nothing", "nothing: no such series or channel"),
    ] {
        let error = Selection::named(store.catalog(), &[name]).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn fields_read_back_as_series_in_time_order() {
    let folder = Folder::init("points", 4, WhenFull::Stop);
    recorded(&folder.0);
    let store = Store::open(&folder.0).unwrap();
    check(&store);
    let selection = Selection::named(store.catalog(), &["control.temp"]).unwrap();
    let (tails, _) = store.tail(&selection.ids(), 2).unwrap();
    let mut last = Vec::new();
    for row in &tails[&selection.ids()[0]] {
        selection
            .unfold_row(selection.ids()[0], row, |point| last.push((point.time_ns, point.value)));
    }
    assert_eq!(last, [(20, Datum::Float(2.0)), (30, Datum::Float(7.0))]);
    // A rescued copy keeps the layouts.
    let copy = Folder::new("points-copy");
    recover(&folder.0, &copy.0, |_, _| {}).unwrap();
    check(&Store::open(&copy.0).unwrap());
}

#[test]
fn a_layout_stays_as_declared_and_clashes_with_no_series() {
    let folder = Folder::init("points-clash", 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, crate::common::options()).unwrap();
    let layout: Layout = LAYOUT.parse().unwrap();
    recorder.declare(&[("plain", Type::Channel, ""), ("motor.on", Type::Bool, "")]).unwrap();
    recorder.declare_channel_with_layout("control", &layout).unwrap();
    let other: Layout = "speed:f64@0".parse().unwrap();
    let refused = |name, layout: &Layout| {
        recorder.declare_channel_with_layout(name, layout).unwrap_err().to_string()
    };
    assert!(
        refused("control", &other).contains("found speed:f64@0"),
        "{}",
        refused("control", &other)
    );
    assert!(refused("plain", &layout).contains("expected no layout, as declared for plain"));
    assert!(refused("motor", &layout).contains("found motor.on"));
    let far: Layout = "x:u8@262144".parse().unwrap();
    assert!(refused("far", &far).contains("\"x\" at offset 262144"), "{}", refused("far", &far));
    let field = recorder.declare(&[("control.cell[1]", Type::F64, "")]).unwrap_err().to_string();
    assert!(field.contains("not a field of the channel control"), "{field}");
    // No field has this name.
    recorder.declare(&[("control.cell", Type::F64, "")]).unwrap();
    assert!(recorder.declare_channel_with_layout("control", &layout).is_ok());
}
