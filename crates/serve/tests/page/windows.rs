//! Windows of time against a model of all samples, from the log and from runs, sample by sample and from
//! aggregates.

use crate::http::ask;
use crate::model::{Random, Samples, columns, of_window};
use crate::scene::{Scene, Server};
use crate::{MINUTE, S, START};
use baro_store::{Extent, SettleOptions, Settler};
use barograph::Recorder;
use serde_json::Value;
use std::collections::BTreeMap;

/// Of each series its name and samples: a level with gaps and NaN, a counter, a switch, a field of frames, and
/// one that has many samples.
fn record(scene: &Scene, random: &mut Random) -> (Recorder, Vec<(&'static str, Samples)>) {
    let opening = Recorder::create_or_open(scene.store()).size(64 << 20).recycle();
    let recorder = opening.without_settling().open().unwrap();
    let level = recorder.series::<f64>("level", "m").unwrap();
    let turns = recorder.series::<i64>("turns", "").unwrap();
    let on = recorder.series::<bool>("on", "").unwrap();
    let fast = recorder.series::<f64>("fast", "A").unwrap();
    let camera = recorder.channel("camera", "n:u16@0").unwrap();
    let mut push = recorder.producer().unwrap();
    let mut all = ["level", "turns", "on", "camera.n", "fast"].map(|name| (name, Samples::new()));
    for n in 0..3_000_i64 {
        let time_ns = START + n * S / 50 + random.below(1_000) as i64;
        if n % 1_000 < 800 {
            let value = match random.below(50) {
                0 => f64::NAN,
                other => other as f64 / 8.0 - n as f64,
            };
            push.sample(level, time_ns, value).unwrap();
            all[0].1.push((time_ns, value));
        }
        let value = random.below(100_000) as i64 - 50_000;
        push.sample(turns, time_ns, value).unwrap();
        all[1].1.push((time_ns, value as f64));
        let value = random.below(9) == 0;
        push.sample(on, time_ns, value).unwrap();
        all[2].1.push((time_ns, f64::from(u8::from(value))));
        if n % 10 == 0 {
            let value = random.below(65_536) as u16;
            push.frame(camera, time_ns, &value.to_le_bytes()).unwrap();
            all[3].1.push((time_ns, f64::from(value)));
        }
    }
    for n in 0..60_000_i64 {
        let (time_ns, value) = (START + n * S / 1_000, random.below(1_000) as f64 / 4.0);
        push.sample(fast, time_ns, value).unwrap();
        all[4].1.push((time_ns, value));
    }
    push.wait_durable(MINUTE).unwrap();
    (recorder, all.into())
}

fn window(server: &Server, names: &[&str], from: &str, to: &str, count: &str) -> Value {
    let mut pairs = vec![("from", from), ("to", to), ("columns", count)];
    pairs.extend(names.iter().map(|name| ("series", *name)));
    let told = ask(server, "window", &pairs);
    assert_eq!(told.status, 200, "{told:?}");
    told.json()
}

/// All windows, each against the model.
fn compare(server: &Server, all: &[(&str, Samples)]) {
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    for (from, to, count) in [
        // All of it in few columns, in many, and a part within.
        ("1700000000", "1700000060", "7"),
        ("1700000000", "1700000060", "4096"),
        ("1700000013.37", "1700000031.7777", "333"),
        ("1700000030.001", "1700000030.004", "100"),
        // More than there is, and nothing.
        ("1600000000", "1800000000", "10"),
        ("1500000000", "1500000060", "50"),
    ] {
        let told = window(server, &names, from, to, count);
        let step_ns = told["step_ns"].as_i64().unwrap();
        let first = told["first"].as_i64().unwrap();
        let range = first..first + told["columns"].as_i64().unwrap();
        assert!(range.end - range.start <= count.parse::<i64>().unwrap() + 1);
        assert_eq!(told["notes"], serde_json::json!([]));
        for (at, (name, samples)) in all.iter().enumerate() {
            assert_eq!(told["series"][at]["name"], *name);
            let model: BTreeMap<i64, Value> = columns(samples, step_ns)
                .into_iter()
                .filter(|(number, _)| range.contains(number))
                .collect();
            assert_eq!(of_window(&told, at), model, "{name} from {from} to {to} in {count}");
        }
    }
}

#[test]
fn a_window_is_a_fold_over_all_its_samples() {
    let scene = Scene::new("windows");
    let (recorder, all) = record(&scene, &mut Random(1));
    let server = scene.serve(&[]);
    compare(&server, &all);
    assert_eq!(recorder.close().lost(), 0);
    let settle = SettleOptions { least_bytes: 0, ..SettleOptions::default() };
    let mut settler = Settler::open(&scene.store(), settle).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    compare(&server, &all);
    // The unit stands beside the name, and order is that of the request.
    let told = window(&server, &["fast", "level"], "1700000000", "1700000060", "10");
    assert_eq!(
        (&told["series"][0]["unit"], &told["series"][1]["unit"]),
        (&"A".into(), &"m".into())
    );
}

#[test]
fn damage_and_pins_stand_beside_a_window() {
    let scene = Scene::new("page-damage");
    let recorder = Recorder::create_or_open(scene.store()).size(8 << 20).recycle().open().unwrap();
    let level = recorder.series::<f64>("level", "").unwrap();
    let mut push = recorder.producer().unwrap();
    for n in 0..6_i64 {
        push.sample(level, START + n * S, n as f64).unwrap();
        push.wait_durable(MINUTE).unwrap();
    }
    drop(push);
    assert_eq!(recorder.close().lost(), 0);
    let segment = scene.store().join("log/00000000.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let is_block = |at: &usize| bytes[*at..].starts_with(b"BBLK");
    let third = (0..bytes.len()).step_by(4096).filter(is_block).nth(2).unwrap();
    bytes[third] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let server = scene.serve(&[]);
    let told = window(&server, &["level"], "1700000000", "1700000010", "10");
    let note = told["notes"][0].as_str().unwrap();
    assert!(note.contains("samples are missing") && note.contains("00000000.seg"), "{told}");
    assert!(of_window(&told, 0).len() < 6, "{told}");
    assert_eq!(told["pins"], serde_json::json!([]));
}
