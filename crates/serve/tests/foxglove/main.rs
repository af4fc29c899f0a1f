//! The socket of Foxglove from outside: topics and messages against those of an export, series that come later,
//! clients that are slow, and who may open one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod client;
mod hostile;
mod mutated;
#[path = "../api/scene.rs"]
#[allow(dead_code, reason = "the others use more of it")]
mod scene;
mod secured;
mod slow;
#[path = "../../../net/tests/tls/client.rs"]
mod tls;

use baro_messages::{Messages, Topic};
use baro_net::tokens::{Access, Tokens};
use baro_store::{Column, Interval, Moment, Reading, Selection, Store};
use barograph::{Producer, Recorder, Series, Time};
use client::{Client, Link, SDK, Told, ask, body, headers};
use scene::Scene;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::time::Duration;

pub(crate) const S: i64 = 1_000_000_000;
pub(crate) const START: i64 = 1_700_000_000 * S;

pub(crate) fn recorder(scene: &Scene) -> Recorder {
    sized(scene, 16 << 20)
}

pub(crate) fn sized(scene: &Scene, bytes: u64) -> Recorder {
    let opening = Recorder::create_or_open(scene.store()).size(bytes).recycle();
    opening.durable_within(Duration::from_millis(20)).open().unwrap()
}

/// Records a series, whose subscription has this id, until a message of it comes: what was recorded before the
/// subscription was seen never does.
pub(crate) fn warm_up<L: Link>(
    client: &mut Client<L>,
    id: u32,
    push: &mut Producer,
    series: Series<i64>,
) {
    for n in 0..i64::MAX {
        push.sample(series, Time::now(), n).unwrap();
        while let Some(told) = client.poll(Duration::from_millis(20)) {
            if matches!(told, Told::Message(found, ..) if found == id) {
                return;
            }
        }
    }
}

/// Topics of a store, with their schemas, and their messages in an interval, as an export has them.
type Exported = (BTreeMap<String, String>, BTreeMap<String, Vec<(u64, Vec<u8>)>>);

fn exported(scene: &Scene, interval: Interval) -> Exported {
    let store = Store::open(&scene.store()).unwrap();
    let selection = Selection::frames_and_fields(store.catalog()).unwrap();
    let name = |topic: &Topic| {
        let mark = if topic.schema.is_some() { "" } else { "#" };
        format!("{}{mark}", topic.name)
    };
    let mut topics = BTreeMap::new();
    for id in selection.ids() {
        let columns = selection.columns_of(id);
        let frames = columns.iter().any(Column::is_frames);
        let others = columns.iter().any(|column| !column.is_frames());
        for as_frame in [false, true] {
            let has = if as_frame { frames } else { others };
            if has {
                let topic = Topic::of(id, columns, as_frame);
                topics.insert(name(&topic), topic.schema.unwrap_or_default());
            }
        }
    }
    let notes = Topic::notes();
    topics.insert(notes.name, notes.schema.unwrap());
    let (mut messages, mut found) = (Messages::new(&selection), BTreeMap::new());
    let mut each = |message: &baro_messages::Message<'_>| -> Result<(), Infallible> {
        let one = (message.time_ns, message.payload.to_vec());
        found.entry(name(message.topic)).or_insert_with(Vec::new).push(one);
        Ok(())
    };
    let reading = Reading::default();
    store
        .timeline(interval, &selection, &reading, |moment| {
            if let Moment::Point(point) = moment {
                let Ok(()) = messages.point(point, &mut each);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let Ok(()) = messages.end(&mut each);
    (topics, found)
}

#[test]
fn messages_are_those_of_an_mcap_export() {
    let scene = Scene::new("foxglove");
    let recorder = recorder(&scene);
    let level = recorder.series::<f64>("level{site=\"a\"}", "m").unwrap();
    let turns = recorder.series::<i64>("turns", "").unwrap();
    let open = recorder.series::<bool>("open", "").unwrap();
    let state = recorder.series::<String>("living room", "").unwrap();
    let camera = recorder.channel("camera", "n:u16@0, v:f32[2]@4(V), big:u64@12").unwrap();
    let bytes = recorder.channel("bytes", "").unwrap();
    let mut push = recorder.producer().unwrap();
    let server = scene.serve(&[]);
    let mut client = Client::connect(&server, "/?frames=true");
    assert_eq!(client.info["capabilities"], serde_json::json!(["time"]));
    let names: Vec<String> = client.topics.keys().cloned().collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    client.subscribe(&names);
    let place = |name: &str| names.iter().position(|one| *one == name).unwrap() as u32;
    warm_up(&mut client, place("turns"), &mut push, turns);
    let odd = [f64::NAN, f64::INFINITY, -0.0, 1e300, 5e-324, 0.1];
    for n in 0..300_i64 {
        let time_ns = START + n * S / 1_000;
        push.sample(level, time_ns, *odd.get(n as usize).unwrap_or(&(n as f64 / 4.0))).unwrap();
        push.sample(turns, time_ns, n * (i64::MAX / 300)).unwrap();
        push.sample(open, time_ns, n % 3 == 0).unwrap();
        push.sample(state, time_ns, if n % 2 == 0 { "a \"b\"\u{e9}" } else { "" }).unwrap();
        let mut frame = (n as u16).to_le_bytes().to_vec();
        frame.resize(20, n as u8);
        // One that is too short for its last fields.
        frame.truncate(if n == 7 { 9 } else { 20 });
        push.frame(camera, time_ns, &frame).unwrap();
        push.frame(bytes, time_ns, &[n as u8; 5]).unwrap();
    }
    let mut found: BTreeMap<String, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
    let mut time = 0;
    while found.values().map(Vec::len).sum::<usize>() < 7 * 300 {
        match client.next() {
            Told::Message(id, time_ns, payload) if time_ns < (START + 1_000 * S) as u64 => {
                let name = names[id as usize].to_owned();
                found.entry(name).or_default().push((time_ns, payload));
            }
            Told::Message(..) | Told::Topics => {}
            Told::Time(time_ns) => {
                assert!(time_ns > time, "the time goes back: {time_ns} behind {time}");
                time = time_ns;
            }
            other @ Told::Status(..) => panic!("{other:?}"),
        }
    }
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
    let interval = Interval { from_ns: START, to_ns: START + 1_000 * S };
    let (topics, expected) = exported(&scene, interval);
    let told: BTreeMap<String, String> =
        client.topics.iter().map(|(name, one)| (name.clone(), one.schema.clone())).collect();
    assert_eq!(told, topics);
    // Samples and frames of a block come apart: within each topic the order is that of time.
    for (name, messages) in &expected {
        assert_eq!(messages.len(), 300, "{name}");
        assert!(found.get(name) == Some(messages), "{name}: {:?}", &found[name][..10]);
    }
    assert_eq!(found.len(), 7);
    let camera = String::from_utf8(found["camera"][7].1.clone()).unwrap();
    assert!(camera.starts_with("{\"n\":7,\"v\":[1.01"), "{camera}");
    assert!(camera.ends_with(",null],\"big\":null}"), "{camera}");
}

#[test]
fn series_that_come_later_are_advertised() {
    let scene = Scene::new("foxglove-new");
    let recorder = recorder(&scene);
    let server = scene.serve(&[]);
    // The older name of the protocol; a page of this machine.
    let old = format!("{}Origin: http://localhost:8080\r\n", headers("foxglove.websocket.v1"));
    let mut client = Client::with(&server, "/", &old);
    let mut chosen = Client::connect(&server, "/?series=temp{site=%22a%22}&series=camera");
    assert_eq!(client.topics.keys().collect::<Vec<_>>(), ["baro/notes"]);
    let camera = recorder.channel("camera", "n:u16@0").unwrap();
    let series = recorder.series::<i64>("temp{site=\"b\"}", "").unwrap();
    let mut push = recorder.producer().unwrap();
    while client.topics.len() < 3 {
        assert!(matches!(client.next(), Told::Topics | Told::Time(_)));
    }
    client.subscribe(&["temp{site=\"b\"}", "camera"]);
    warm_up(&mut client, 0, &mut push, series);
    // It answers pings meanwhile, also on a machine that is busy.
    let _ = chosen.poll(Duration::from_millis(1));
    push.frame(camera, START, &[7, 0]).unwrap();
    loop {
        match client.message() {
            (1, time_ns, payload) => {
                assert_eq!((time_ns, payload.as_slice()), (START as u64, &b"{\"n\":7}"[..]));
                break;
            }
            (id, ..) => assert_eq!(id, 0),
        }
    }
    // Who ends a subscription hears no more of it, and may use its id again.
    client.say(&serde_json::json!({"op": "unsubscribe", "subscriptionIds": [0]}));
    client.subscribe(&["baro/notes"]);
    recorder.series::<f64>("temp{site=\"a\"}", "").unwrap();
    let _ = chosen.poll(Duration::from_millis(1));
    while client.topics.len() < 4 {
        assert!(!matches!(client.next(), Told::Status(..)));
    }
    // The other one wants some alone.
    while chosen.topics.len() < 3 {
        assert!(matches!(chosen.next(), Told::Topics | Told::Time(_)));
    }
    let names: Vec<&String> = chosen.topics.keys().collect();
    assert_eq!(names, ["baro/notes", "camera", "temp{site=\"a\"}"]);
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn more_topics_than_there_may_be_are_left_out_and_told() {
    let scene = Scene::new("foxglove-many");
    let recorder = recorder(&scene);
    let names: Vec<String> = (0..10_050).map(|n| format!("s{{n=\"{n}\"}}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    recorder.group::<f64>(&names, "").unwrap();
    let server = scene.serve(&["--viewers", "2"]);
    let mut client = Client::connect(&server, "/");
    let (level, id, message) = client.status();
    assert_eq!((level, id.as_str(), client.topics.len()), (1, "left-out", 10_000), "{message}");
    assert!(message.contains("found 51 more") && message.contains("?series="), "{message}");
    // One that comes later has no place either.
    recorder.series::<f64>("later", "").unwrap();
    let (_, _, message) = client.status();
    assert!(message.contains("found 52 more"), "{message}");
    let mut chosen = Client::connect(&server, "/?series=later");
    assert_eq!(chosen.topics.keys().collect::<Vec<_>>(), ["baro/notes", "later"]);
    // Nor has a third client.
    let (status, head, stream) = ask(&server, "/", &headers(SDK));
    assert_eq!(status, 503, "{head}");
    assert!(body(&head, stream).contains("at most 2 sockets"));
    chosen.send(tungstenite::Message::Close(None));
    while !matches!(ask(&server, "/", &headers(SDK)).0, 101) {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(server);
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn a_socket_is_opened_from_this_machine_or_with_a_token() {
    let scene = Scene::new("foxglove-doors");
    assert_eq!(recorder(&scene).close().lost(), 0);
    let server = scene.serve(&["--origin", "https://app.example"]);
    let from = |origin: &str| ask(&server, "/", &format!("{}Origin: {origin}\r\n", headers(SDK))).0;
    for origin in ["http://127.0.0.1:9090", "http://localhost", "https://app.example", "file://"] {
        assert_eq!(from(origin), 101, "{origin}");
    }
    for origin in ["https://evil.example", "null", "http://app.example", "http://localhost.example"]
    {
        assert_eq!(from(origin), 403, "{origin}");
    }
    // A foreign page under a name that means this machine.
    let rebound = format!("{}Host: evil.example\r\nOrigin: http://evil.example\r\n", headers(SDK));
    let (status, head, stream) = ask(&server, "/", &rebound);
    assert_eq!(status, 403, "{head}");
    assert!(body(&head, stream).contains("evil.example"));
    drop(server);
    let file = scene.file("tokens");
    let mut tokens = Tokens::default();
    let secret = tokens.add([7; 32], Access::Read, ("", ""), 0).unwrap().0;
    let few = tokens.add([8; 32], Access::Read, ("pump", ""), 0).unwrap().0;
    std::fs::write(&file, tokens.text()).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = scene.serve(&["--require-token", "--tokens", file.to_str().unwrap()]);
    let origin = format!("{}Origin: https://any.example\r\n", headers(SDK));
    for (target, expected) in [
        ("/".to_owned(), 401),
        ("/?p=baro_1".to_owned(), 401),
        (format!("/?p={few}"), 403),
        (format!("/?p={secret}"), 101),
    ] {
        assert_eq!(ask(&server, &target, &origin).0, expected, "{target}");
    }
    // Two that have one place behind the question mark; a program has a header.
    let bearer = format!("{origin}Authorization: Bearer {secret}\r\n");
    Client::with(&server, "/?series=any", &bearer);
}
