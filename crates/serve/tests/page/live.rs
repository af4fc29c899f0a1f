//! The live picture: what is recorded while somebody looks, and who is slow or gone.

use crate::http::ask;
use crate::model::{Samples, columns, join, of_window};
use crate::scene::{Scene, Server};
use crate::{MINUTE, S};
use barograph::{Recorder, Time};
use serde_json::Value;
use std::collections::BTreeMap;

/// Answers until something is there; a test that waits for longer has failed anyway.
const ANSWERS_MAX: usize = 60;

fn follow(server: &Server, names: &[&str], step: &str) -> String {
    let mut pairs = vec![("step", step)];
    pairs.extend(names.iter().map(|name| ("series", *name)));
    let told = ask(server, "follow", &pairs);
    assert_eq!(told.status, 200, "{told:?}");
    told.json()["viewer"].as_str().unwrap().to_owned()
}

fn next(server: &Server, viewer: &str) -> Value {
    let told = ask(server, "next", &[("viewer", viewer)]);
    assert_eq!(told.status, 200, "{told:?}");
    told.json()
}

#[test]
fn a_live_picture_has_what_is_recorded() {
    let scene = Scene::new("live");
    let recorder = Recorder::create_or_open(scene.store()).size(16 << 20).recycle().open().unwrap();
    let level = recorder.series::<f64>("level", "m").unwrap();
    let turns = recorder.series::<i64>("turns", "").unwrap();
    let camera = recorder.channel("camera", "n:u16@0").unwrap();
    let mut push = recorder.producer().unwrap();
    let mut all = [Samples::new(), Samples::new(), Samples::new()];
    let begin_ns = Time::now().ns() / S * S;
    let mut record = |from: i64, to: i64| {
        for n in from..to {
            let time_ns = begin_ns + n * S / 1_000;
            push.sample(level, time_ns, (n % 37) as f64 / 4.0).unwrap();
            push.sample(turns, time_ns, n * n).unwrap();
            push.frame(camera, time_ns, &(n as u16).to_le_bytes()).unwrap();
            all[0].push((time_ns, (n % 37) as f64 / 4.0));
            all[1].push((time_ns, (n * n) as f64));
            all[2].push((time_ns, f64::from(n as u16)));
        }
        push.wait_durable(MINUTE).unwrap();
    };
    record(0, 500);
    let server = scene.serve(&[]);
    let names = ["turns", "camera.n", "level"];
    let order = [1, 2, 0];
    let viewer = follow(&server, &names, "0.02");
    record(500, 700);
    // The window is asked for behind the viewer: what came between is in one of both.
    let from = (begin_ns / S).to_string();
    let to = (begin_ns / S + 10).to_string();
    let mut pairs = vec![("from", from.as_str()), ("to", &to), ("columns", "500")];
    pairs.extend(names.iter().map(|name| ("series", *name)));
    let window = ask(&server, "window", &pairs).json();
    assert_eq!(window["step_ns"], 20_000_000);
    let mut shown: Vec<BTreeMap<i64, Value>> = (0..3).map(|at| of_window(&window, at)).collect();
    record(700, 2_000);
    // Then what is recorded while it is looked at; some of it on both sides of an answer.
    let last = (begin_ns + 2_499 * S / 1_000) / 20_000_000;
    let mut answers = 0;
    let is_last = |shown: &[BTreeMap<i64, Value>]| {
        shown.iter().all(|one| one.keys().next_back() == Some(&last))
    };
    record(2_000, 2_500);
    while !is_last(&shown) && answers < ANSWERS_MAX {
        let told = next(&server, &viewer);
        assert_eq!((&told["skipped"], &told["status"]["lost"]), (&0.into(), &0.into()), "{told}");
        assert_eq!(told["status"]["fault"], Value::Null);
        for (at, shown) in shown.iter_mut().enumerate() {
            join(shown, &told["series"][at]);
        }
        answers += 1;
    }
    let status = &next(&server, &viewer)["status"];
    assert!(status["recorder"].is_u64() && status["ring_bytes"].as_u64().unwrap() > 0, "{status}");
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
    for (at, place) in order.into_iter().enumerate() {
        assert_eq!(shown[at], columns(&all[place], 20_000_000), "{}", names[at]);
    }
}

#[test]
fn a_slow_viewer_keeps_the_newest_columns_and_others_wait_for_nobody() {
    let scene = Scene::new("slow");
    let recorder = Recorder::create_or_open(scene.store()).size(16 << 20).recycle().open().unwrap();
    let level = recorder.series::<f64>("level", "").unwrap();
    let server = scene.serve(&[]);
    let slow = follow(&server, &["level"], "0.001");
    let quick = follow(&server, &["level"], "1");
    // Who has one knows nothing of the next.
    let number = |viewer: &str| viewer.parse::<u64>().unwrap();
    assert!(number(&slow).abs_diff(number(&quick)) > 1 << 20, "{slow} {quick}");
    let mut push = recorder.producer().unwrap();
    let begin_ns = Time::now().ns() / S * S;
    for n in 0..20_000_i64 {
        push.sample(level, begin_ns + n * S / 1_000, n as f64).unwrap();
    }
    push.wait_durable(MINUTE).unwrap();
    // The quick one has all of it; the slow one has not asked meanwhile.
    let mut shown = BTreeMap::new();
    let last = begin_ns / S + 19;
    let mut answers = 0;
    let whole = |shown: &BTreeMap<i64, Value>| {
        shown.get(&last).is_some_and(|column: &Value| column[1] == 19_999.0)
    };
    while !whole(&shown) && answers < ANSWERS_MAX {
        join(&mut shown, &next(&server, &quick)["series"][0]);
        answers += 1;
    }
    assert_eq!((shown.len(), &shown[&last][1]), (20, &19_999.0.into()));
    let told = next(&server, &slow);
    let columns = told["series"][0].as_array().unwrap();
    assert_eq!((columns.len(), &told["skipped"]), (4_096, &(20_000 - 4_096).into()));
    assert_eq!(columns[4_095][1], 19_999);
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}
