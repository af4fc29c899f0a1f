//! Exports read back: CSV line by line, MCAP with its own crate and with Python's package.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_export::{Error, Exported, Request, to_csv, to_mcap};
use baro_log::{Geometry, init};
use baro_ondisk::{Layout, StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Interval, Reading, Selection, Store};
use baro_sys::disk::Disk;
use baro_sys::files::PacedOutput;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufWriter, Cursor};
use std::path::PathBuf;
use std::process::Command;

const LAYOUT: &str = "speed:f32@0(m/s),cell:u16[2]@4(V),on:bool@8";

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two series, a channel with a layout, one without, at 5 times; one frame that is too short, and
/// one record from before 1970.
fn recorded(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("baro-export-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let disk = Disk::create(&path).unwrap();
    let folder = Folder(path);
    let geometry = Geometry {
        segment_bytes: 1 << 20,
        segments: 8,
        catalog_bytes: 1 << 20,
        when_full: WhenFull::Stop,
    };
    init(&disk, &folder.0, StoreId([3; 16]), 1, &geometry, |_| {}).unwrap();
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    let layout: Layout = LAYOUT.parse().unwrap();
    let control = recorder.declare_channel_with_layout("control", &layout).unwrap();
    let wanted = [("temp", Type::F64, "K"), ("a,\"b\"", Type::I64, ""), ("raw", Type::Channel, "")];
    let ids = recorder.declare(&wanted).unwrap();
    let mut producer = recorder.producer().unwrap();
    producer.push_samples(-5, &[ids[0]], &[1.0]).unwrap();
    for number in 0..5_u16 {
        let time_ns = 1000 + i64::from(number) * 10;
        let mut frame = f32::from(number).to_le_bytes().to_vec();
        frame.extend(number.to_le_bytes());
        frame.extend((number * 2).to_le_bytes());
        frame.push(1);
        frame.truncate(if number == 4 { 6 } else { 9 });
        producer.push_frame(control, time_ns, &frame).unwrap();
        let value = if number == 3 { f64::NAN } else { 0.5 + f64::from(number) };
        producer.push_samples(time_ns + 1, &[ids[0]], &[value]).unwrap();
        producer.push_samples(time_ns + 2, &[ids[1]], &[i64::MAX - i64::from(number)]).unwrap();
        producer.push_frame(ids[2], time_ns + 3, &[number as u8; 3]).unwrap();
    }
    assert_eq!(recorder.close().left, 0);
    folder
}

fn request(store: &Store, names: &[&str], from_ns: i64, to_ns: i64) -> Request {
    let selection = match names {
        [] => Selection::all(store.catalog(), true).unwrap(),
        names => Selection::named(store.catalog(), names).unwrap(),
    };
    let interval = Interval { from_ns, to_ns };
    Request { interval, selection, reading: Reading::default(), pin: Some("fault".to_owned()) }
}

fn csv(store: &Store, request: &Request) -> (String, Exported) {
    let mut out = Vec::new();
    let exported = to_csv(store, request, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), exported)
}

#[test]
fn csv_has_samples_and_fields_of_the_range_and_counts_the_rest() {
    let folder = recorded("csv");
    let store = Store::open(&folder.0).unwrap();
    let (text, exported) = csv(&store, &request(&store, &[], 1030, i64::MAX));
    let expected = "time,series,value,value_type\n\
        1030,control.speed,3,f64\n1030,control.cell[0],3,i64\n1030,control.cell[1],6,i64\n\
        1030,control.on,true,bool\n1031,temp,NaN,f64\n\
        1032,\"a,\"\"b\"\"\",9223372036854775804,i64\n\
        1040,control.speed,4,f64\n1040,control.cell[0],4,i64\n1041,temp,4.5,f64\n\
        1042,\"a,\"\"b\"\"\",9223372036854775803,i64\n";
    assert_eq!(text, expected);
    assert_eq!((exported.rows, exported.frames_left_out), (10, 2));
    assert_eq!((exported.fields_missing, exported.lost), (2, 0));
    // At a pace the same comes out.
    let all = request(&store, &[], i64::MIN, i64::MAX);
    let reading = Reading { bytes_per_s: Some(64 << 20), ..Reading::default() };
    assert_eq!(csv(&store, &Request { reading, ..all.clone() }), csv(&store, &all));
    let (text, _) = csv(&store, &request(&store, &["control.cell[1]", "temp"], 1000, 1011));
    assert_eq!(
        text,
        "time,series,value,value_type\n1000,control.cell[1],0,i64\n1001,temp,0.5,f64\n\
         1010,control.cell[1],2,i64\n"
    );
}

#[test]
fn texts_are_exported_in_quotes_and_as_strings() {
    let folder = recorded("text");
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    let id = recorder.declare(&[("said", Type::Text, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    let texts = ["a \"quoted\" one, ä", "12", "", "two\nlines"];
    for (time_ns, text) in (5_000..).zip(texts) {
        producer.push_text(id, time_ns, text).unwrap();
    }
    assert!(producer.push_text(id, 6_000, &"x".repeat((64 << 10) + 1)).is_err());
    assert_eq!(recorder.close().left, 0);
    let store = Store::open(&folder.0).unwrap();
    let request = request(&store, &["said"], i64::MIN, i64::MAX);
    let (text, exported) = csv(&store, &request);
    let expected = "time,series,value,value_type\n5000,said,\"a \"\"quoted\"\" one, ä\",text\n\
                    5001,said,\"12\",text\n5002,said,\"\",text\n5003,said,\"two\nlines\",text\n";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!((exported.rows, exported.lost), (4, 1));
    let mut out = Cursor::new(Vec::new());
    assert_eq!(to_mcap(&store, &request, &mut out).unwrap().rows, 4);
    let (found, schemas) = messages(out.get_ref());
    let said: Vec<Value> =
        found["said"].iter().map(|(_, data)| serde_json::from_slice(data).unwrap()).collect();
    assert_eq!(said, texts.map(|text| json!({"value": text})));
    assert_eq!(schemas["said"]["properties"]["value"], json!({"type": "string"}));
}

type Messages = BTreeMap<String, Vec<(u64, Vec<u8>)>>;

fn messages(bytes: &[u8]) -> (Messages, BTreeMap<String, Value>) {
    let (mut found, mut schemas) = (Messages::new(), BTreeMap::new());
    let mut last = 0;
    for message in mcap::MessageStream::new(bytes).unwrap() {
        let message = message.unwrap();
        assert!(message.log_time >= last, "in time order");
        last = message.log_time;
        let topic = &message.channel.topic;
        if let Some(schema) = &message.channel.schema {
            assert_eq!(schema.encoding, "jsonschema");
            schemas.insert(topic.clone(), serde_json::from_slice(&schema.data).unwrap());
        }
        found.entry(topic.clone()).or_default().push((message.log_time, message.data.into_owned()));
    }
    (found, schemas)
}

#[test]
fn mcap_reads_back_with_its_own_crate() {
    let folder = recorded("mcap");
    let store = Store::open(&folder.0).unwrap();
    let mut out = Cursor::new(Vec::new());
    let exported = to_mcap(&store, &request(&store, &[], i64::MIN, i64::MAX), &mut out).unwrap();
    assert_eq!((exported.rows, exported.before_1970, exported.fields_missing), (20, 1, 2));
    let (found, schemas) = messages(out.get_ref());
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["a,\"b\"", "control", "raw", "temp"]);
    let json = |topic: &str| -> Vec<(u64, Value)> {
        let of = |(time, data): &(u64, Vec<u8>)| (*time, serde_json::from_slice(data).unwrap());
        found[topic].iter().map(of).collect()
    };
    assert_eq!(json("temp")[1], (1011, json!({"value": 1.5})));
    assert_eq!(json("temp")[3], (1031, json!({"value": null})));
    assert_eq!(json("a,\"b\"")[0], (1002, json!({"value": i64::MAX})));
    assert_eq!(json("control")[2], (1020, json!({"speed": 2.0, "cell": [2, 4], "on": true})));
    assert_eq!(json("control")[4], (1040, json!({"speed": 4.0, "cell": [4, null], "on": null})));
    assert_eq!(found["raw"][4], (1043, vec![4; 3]));
    assert_eq!(schemas["temp"]["properties"]["value"]["description"], "K");
    assert_eq!(
        schemas["control"]["properties"]["cell"]["items"]["type"],
        json!(["integer", "null"])
    );
    assert!(!schemas.contains_key("raw"));
    let summary = mcap::Summary::read(out.get_ref()).unwrap().unwrap();
    let [of] = &summary.metadata_indexes[..] else { panic!("{:?}", summary.metadata_indexes) };
    let of = mcap::read::metadata(out.get_ref(), of).unwrap();
    assert_eq!((of.name.as_str(), of.metadata["pin"].as_str()), ("barograph", "fault"));
    assert_eq!(of.metadata["store"], store.identity().store.to_string());
    assert_eq!(summary.stats.unwrap().message_count, 20);
    // A part of an array, and a channel as fields and as frames at once.
    let mut out = Cursor::new(Vec::new());
    let names = ["control.cell[1]", "control", "control.on"];
    let exported = to_mcap(&store, &request(&store, &names, 1000, 1010), &mut out).unwrap();
    let (found, _) = messages(out.get_ref());
    assert_eq!((exported.rows, found["control"].len()), (2, 2));
    assert_eq!(found["control"][0].1, br#"{"cell[1]":0,"on":true}"#);
    assert_eq!(found["control"][1].1.len(), 9);
}

/// The head of a chunk is written last: nearer than what is handed over to the device meanwhile.
#[test]
fn a_chunk_ends_before_the_message_that_would_make_it_too_large() {
    let folder = recorded("chunks");
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    let id = recorder.declare(&[("pictures", Type::Channel, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    for number in 0..40 {
        producer.push_frame(id, 5_000 + i64::from(number), &[number; 150_000]).unwrap();
        assert!(recorder.wait_durable(&producer, producer.next_sequence(), 60_000_000_000));
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    let store = Store::open(&folder.0).unwrap();
    let mut out = Cursor::new(Vec::new());
    to_mcap(&store, &request(&store, &["pictures"], i64::MIN, i64::MAX), &mut out).unwrap();
    let bytes = out.into_inner();
    let found = mcap::Summary::read(&bytes).unwrap().unwrap();
    let chunks = found.chunk_indexes.iter().map(|chunk| chunk.uncompressed_size / 150_000);
    assert_eq!(chunks.collect::<Vec<_>>(), [27, 13]);
    let (found, _) = messages(&bytes);
    assert_eq!(found["pictures"].len(), 40);
}

#[test]
fn mcap_reads_back_with_pythons_package() {
    let usable = Command::new("python3").args(["-c", "import mcap"]).output();
    if !usable.is_ok_and(|output| output.status.success()) {
        println!("skipped: no Python package mcap (pip install mcap)");
        return;
    }
    let folder = recorded("python");
    let store = Store::open(&folder.0).unwrap();
    let path = folder.0.join("out.mcap");
    let mut file = PacedOutput::create(&path).unwrap();
    let all = request(&store, &[], 0, i64::MAX);
    to_mcap(&store, &all, BufWriter::new(&mut file)).unwrap();
    file.finish().unwrap();
    let script = "import sys, json\nfrom mcap.reader import make_reader\n\
        for s, c, m in make_reader(open(sys.argv[1], 'rb')).iter_messages():\n \
        print(m.log_time, c.topic, m.data.hex() if s is None else json.dumps(json.loads(m.data)))\n";
    let output = Command::new("python3").args(["-c", script]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[0], "1000 control {\"speed\": 0.0, \"cell\": [0, 0], \"on\": true}");
    assert_eq!(lines[3], "1003 raw 000000");
    assert_eq!(lines[17], "1041 temp {\"value\": 4.5}");
}

#[test]
fn an_output_that_refuses_and_a_file_that_exists_are_errors() {
    let folder = recorded("refused");
    let store = Store::open(&folder.0).unwrap();
    let all = request(&store, &[], 0, i64::MAX);
    let mut small = [0_u8; 20];
    let error = to_csv(&store, &all, &mut small[..]).unwrap_err();
    assert!(matches!(error, Error::Output(_)), "{error}");
    let path = folder.0.join("there");
    PacedOutput::create(&path).unwrap().finish().unwrap();
    assert!(PacedOutput::create(&path).unwrap_err().to_string().contains("/there: create"));
}
