//! Clients that send what is nearly the protocol: random changes of frames and texts that are right, each from its
//! seed. The server ends each of them in whole frames, another client misses nothing, and memory stays where it is.

use crate::client::{Channel, Client, Told};
use crate::scene::{Scene, Server};
use crate::{START, recorder, warm_up};
use baro_sys::sim::Rng;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Clients, one after the other, and messages of each.
const LIVES: u64 = 48;
const MESSAGES: u64 = 40;
/// What the later ones may add to the peak: one text of the longest kind, read as JSON, and rests of threads.
const GROWN_KIB_MAX: u64 = 8 << 10;

/// Texts and bytes that mean something in JSON.
const PIECES: [&[u8]; 14] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b":",
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\xF0\x9F",
];

/// A text that a client may send.
fn text(rng: &mut Rng, topics: &BTreeMap<String, Channel>) -> Vec<u8> {
    let channels: Vec<u32> = topics.values().map(|topic| topic.id).collect();
    let many = if rng.chance(1, 60) { 1_000 } else { 2 };
    let op = match rng.below(6) {
        0 | 1 => {
            let one = |_| json!({"id": rng.below(6), "channelId": rng.pick(&channels)});
            json!({"op": "subscribe", "subscriptions": (0..many).map(one).collect::<Vec<_>>()})
        }
        2 => json!({"op": "unsubscribe", "subscriptionIds": (0..many).collect::<Vec<_>>()}),
        3 => json!({"op": "advertise", "channels": [{"id": 1, "topic": "a", "encoding": "json"}]}),
        4 => json!({"op": "getParameters", "parameterNames": ["a"], "id": "b"}),
        _ => json!({"op": "fetchAsset", "uri": "package://a", "requestId": 7}),
    };
    op.to_string().into_bytes()
}

/// Changes some bytes, in number and place too.
fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let end = bytes.len().min(at + rng.below(24) as usize);
        match rng.below(6) {
            // Text stays text: what is no UTF-8 ends a client, and comes often enough.
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(7),
            1 => drop(bytes.splice(at..end, PIECES[rng.below(14) as usize].iter().copied())),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let again = bytes[at..end].repeat(1 + rng.below(200) as usize);
                bytes.splice(at..at, again);
            }
            4 if rng.chance(1, 4) => bytes.truncate(at),
            _ => drop(bytes.splice(at..at, rng.below(1 << 40).to_string().into_bytes())),
        }
    }
}

/// A frame with its mask and its length in the shortest form.
fn frame(rng: &mut Rng, first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ ..126 => bytes.push(0x80 | length as u8),
        length @ ..0x1_0000 => {
            bytes.push(0x80 | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(0x80 | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    let mask = (rng.next() as u32).to_be_bytes();
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// A message in one frame or in pieces, most with a changed payload, some with changed frames.
fn message(rng: &mut Rng, topics: &BTreeMap<String, Channel>) -> Vec<u8> {
    let mut payload = text(rng, topics);
    if rng.chance(3, 4) {
        change(rng, &mut payload);
    }
    let short = &payload[..payload.len().min(125)];
    let mut frames = match rng.below(24) {
        0 => frame(rng, 0x82, &payload),
        1 => frame(rng, 0x89, short),
        2 => frame(rng, 0x8A, short),
        3 if rng.chance(1, 4) => frame(rng, 0x88, short),
        3..8 => {
            let (begin, end) = payload.split_at(rng.below(payload.len() as u64 + 1) as usize);
            let ping = frame(rng, 0x89, b"between");
            [frame(rng, 0x01, begin), ping, frame(rng, 0x00, b""), frame(rng, 0x80, end)].concat()
        }
        _ => frame(rng, 0x81, &payload),
    };
    if rng.chance(1, 60) {
        change(rng, &mut frames);
    }
    frames
}

/// One client's life: statuses that it was told, and the code with which the server closed.
fn live(server: &Server, seed: u64) -> (usize, Option<u16>) {
    let mut rng = Rng::new(seed);
    let mut client = Client::connect(server, "/");
    let mut bytes: Vec<u8> =
        (0..MESSAGES).flat_map(|_| message(&mut rng, &client.topics)).collect();
    bytes.extend(frame(&mut rng, 0x88, &1_000_u16.to_be_bytes()));
    client.raw(&bytes);
    client.end().unwrap_or_else(|said| panic!("seed {seed}: {said}"))
}

#[test]
fn what_is_nearly_the_protocol_ends_its_own_client_alone() {
    let scene = Scene::new("foxglove-mutated");
    let recorder = recorder(&scene);
    let level = recorder.series::<i64>("level", "").unwrap();
    let mut push = recorder.producer().unwrap();
    let server = scene.serve(&[]);
    let mut other = Client::connect(&server, "/");
    other.subscribe(&["level"]);
    warm_up(&mut other, 0, &mut push, level);
    let (mut codes, mut statuses, mut times) = (BTreeSet::new(), 0, Vec::new());
    let is_new = |time_ns: u64| (START as u64..START as u64 + LIVES).contains(&time_ns);
    let mut peak_kib = 0;
    for seed in 0..LIVES {
        push.sample(level, START + seed as i64, seed as i64).unwrap();
        let (told, code) = live(&server, seed);
        statuses += told;
        codes.insert(code);
        while let Some(told) = other.poll(Duration::from_millis(1)) {
            if let Told::Message(0, time_ns, _) = told {
                times.extend(is_new(time_ns).then_some(time_ns));
            }
        }
        if seed == LIVES / 4 {
            peak_kib = server.peak_kib();
        }
    }
    let grown_kib = server.peak_kib() - peak_kib;
    assert!(grown_kib < GROWN_KIB_MAX, "{peak_kib} KiB, and {grown_kib} KiB more");
    while times.len() < LIVES as usize {
        let (_, time_ns, _) = other.message();
        times.extend(is_new(time_ns).then_some(time_ns));
    }
    assert_eq!(times, (START as u64..START as u64 + LIVES).collect::<Vec<_>>());
    // The changes have met the checks of frames, those of UTF-8, those of texts, and what is right.
    let met = [Some(1_000), Some(1_002), Some(1_007)];
    assert!(met.iter().all(|code| codes.contains(code)), "{codes:?}");
    assert!(statuses > 400, "{statuses}");
    server.stop();
    assert_eq!(other.closed(), (1_001, "the server stops".to_owned()));
    while !server.said().contains("stopped answering") {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!server.said().contains("panicked"), "{}", server.said());
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}
