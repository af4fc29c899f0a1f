//! A client that takes nothing for a while: it has the newest, and is told how many it missed. Others miss
//! nothing.

use crate::client::{Client, Told};
use crate::scene::Scene;
use crate::{START, sized, warm_up};
use std::collections::BTreeMap;
use std::time::Duration;

/// More than sockets hold, and a queue with them.
const FRAMES: u64 = 400;
const FRAME_BYTES: usize = 64 << 10;

#[test]
fn a_slow_client_has_the_newest_and_is_told_what_it_missed() {
    let scene = Scene::new("foxglove-slow");
    let recorder = sized(&scene, 96 << 20);
    let level = recorder.series::<i64>("level", "").unwrap();
    let camera = recorder.channel("camera", "").unwrap();
    let mut push = recorder.producer().unwrap();
    push.waits_for_room(true);
    let server = scene.serve(&[]);
    let mut slow = Client::connect(&server, "/");
    let mut quick = Client::connect(&server, "/");
    slow.subscribe(&["level", "camera#"]);
    quick.subscribe(&["level"]);
    warm_up(&mut slow, 0, &mut push, level);
    warm_up(&mut quick, 0, &mut push, level);
    for n in 0..FRAMES {
        let mut frame = vec![0; FRAME_BYTES];
        frame[..8].copy_from_slice(&n.to_le_bytes());
        let time_ns = START + i64::try_from(n).unwrap();
        while !push.has_room(2 * FRAME_BYTES) {
            std::thread::sleep(Duration::from_millis(1));
        }
        push.frame(camera, time_ns, &frame).unwrap();
        push.sample(level, time_ns, n as i64).unwrap();
    }
    // The quick one has all while the slow one takes nothing.
    let is_new = |time_ns: u64| (START as u64..START as u64 + FRAMES).contains(&time_ns);
    let mut times = Vec::new();
    while times.len() < FRAMES as usize {
        let (_, time_ns, _) = quick.message();
        times.extend(is_new(time_ns).then_some(time_ns));
    }
    assert_eq!(times, (START as u64..START as u64 + FRAMES).collect::<Vec<_>>());
    // Of the slow one each message came or was counted, and the last ones are there.
    let (mut came, mut dropped) = (BTreeMap::new(), 0);
    let is_whole = |came: &BTreeMap<u32, Vec<u64>>, dropped| {
        came.values().map(Vec::len).sum::<usize>() as u64 + dropped == 2 * FRAMES
    };
    while !is_whole(&came, dropped) {
        match slow.next() {
            Told::Message(id, time_ns, payload) if is_new(time_ns) => {
                let number = time_ns - START as u64;
                match id {
                    0 => assert_eq!(payload, format!("{{\"value\":{number}}}").as_bytes()),
                    _ => assert_eq!(payload[..8], number.to_le_bytes()),
                }
                came.entry(id).or_insert_with(Vec::new).push(number);
            }
            Told::Status(1, id, message) if id == "dropped" => {
                dropped = message.split(' ').find_map(|word| word.parse().ok()).unwrap();
            }
            Told::Message(..) | Told::Time(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(dropped > 0, "the sockets hold {} MB", (FRAMES * FRAME_BYTES as u64) >> 20);
    // A topic with few bytes loses nothing to one with many.
    assert_eq!(came[&0], (0..FRAMES).collect::<Vec<_>>());
    assert!(came[&1].is_sorted() && came[&1].last() == Some(&(FRAMES - 1)), "{:?}", came[&1]);
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}
