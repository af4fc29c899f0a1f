//! The client of Foxglove and Lichtblick, `@foxglove/ws-protocol`, in node. It comes by npm into
//! `serve-clients-js/` of the target folder.

use crate::scene::Scene;
use barograph::{Recorder, Time};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Messages of a topic that are waited for.
const COUNT: usize = 200;

/// The folder with the modules of the list.
fn modules() -> Option<PathBuf> {
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/package.json");
    let target = Path::new(env!("CARGO_BIN_EXE_baro-serve")).ancestors().nth(2).unwrap();
    let folder = target.join("serve-clients-js");
    let installed = folder.join("installed.json");
    let wanted = std::fs::read_to_string(list).unwrap();
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Some(folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("package.json"), &wanted).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
    if !npm.current_dir(&folder).status().is_ok_and(|npm| npm.success()) {
        let _ = std::fs::remove_dir_all(&folder);
        println!("skipped: no client of Foxglove (node, npm, and a network for it)");
        return None;
    }
    std::fs::write(installed, wanted).unwrap();
    Some(folder)
}

/// Lines of a topic: the first is the topic itself, each later one a message.
fn of<'a>(all: &'a [Value], topic: &'a str) -> impl Iterator<Item = &'a Value> {
    all.iter().filter(move |one| one["topic"] == topic)
}

#[test]
fn the_client_of_foxglove_reads_what_is_recorded() {
    let Some(modules) = modules() else { return };
    let scene = Scene::new("foxglove-js");
    let recorder = Recorder::create_or_open(scene.store()).size(16 << 20).recycle().open().unwrap();
    let level = recorder.series::<i64>("level", "m").unwrap();
    let camera = recorder.channel("camera", "n:u16@0, v:f32[2]@4(V)").unwrap();
    let bytes = recorder.channel("bytes", "").unwrap();
    let mut push = recorder.producer().unwrap();
    let server = scene.serve(&[]);
    let mut client = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/foxglove.mjs"))
        .args([server.address().to_string(), COUNT.to_string()])
        .current_dir(modules)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(client.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let lines = told.lines().map_while(Result::ok);
        lines.map(|line| serde_json::from_str(&line).unwrap()).collect::<Vec<Value>>()
    });
    let mut n = 0_i64;
    while client.try_wait().unwrap().is_none() && n < 60_000 {
        let mut frame = (n as u16).to_le_bytes().to_vec();
        frame.resize(12, 0);
        push.sample(level, Time::now(), n).unwrap();
        push.frame(camera, Time::now(), &frame).unwrap();
        push.frame(bytes, Time::now(), &[n as u8, 255]).unwrap();
        n += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = client.kill();
    let all = reader.join().unwrap();
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
    assert_eq!(all[0]["capabilities"], json!(["time"]), "{all:?}");
    let schema: Value =
        serde_json::from_str(of(&all, "level").next().unwrap()["schema"].as_str().unwrap())
            .unwrap();
    assert_eq!(schema["properties"]["value"], json!({"type": "integer", "description": "m"}));
    // Each message is the next number.
    let first = of(&all, "level").nth(1).unwrap()["value"]["value"].as_i64().unwrap();
    let values: Vec<Value> = of(&all, "level").skip(1).map(|one| one["value"].clone()).collect();
    let expected: Vec<Value> = (0..COUNT as i64).map(|n| json!({"value": first + n})).collect();
    assert_eq!(values, expected);
    let frame = &of(&all, "camera").nth(1).unwrap()["value"];
    assert_eq!(frame["v"], json!([0, 0]), "{frame}");
    assert!(frame["n"].is_u64(), "{frame}");
    let frame = &of(&all, "bytes").nth(1).unwrap()["value"];
    assert_eq!((frame.as_array().unwrap().len(), &frame[1]), (2, &json!(255)));
    assert!(all.iter().all(|one| one["error"].is_null() && one["status"].is_null()), "{all:?}");
}
