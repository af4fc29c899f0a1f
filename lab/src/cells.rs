//! `lab cells`: every kernel on every file system records, queries and verifies with `baro`, and says
//! what was lost, which promises hold there and what a recording's syncs made the file system do.

use crate::machine::disk::{Driver, Model};
use crate::machine::{Disks, Hardware, Machine};
use crate::run;
use crate::scratch::{Remove, tempfile};
use crate::site::Site;
use serde_json::{Value, json};
use std::time::Duration;

/// What a cell does, one after the other: a name and a line of shell that prints JSON.
const STEPS: &[(&str, &str)] = &[
    ("init", "baro init /mnt/s --size 64M --recycle --format json"),
    (
        "record",
        "i=0; while [ $i -lt 20000 ]; do echo \",a,$i\"; echo \",b,$i.5\"; i=$((i+1)); done >/run/lines; \
         baro record /mnt/s --stdin csv --declare a:i64 --declare b:f64 --generate --for 4s --format json \
         </run/lines",
    ),
    ("query", "baro query /mnt/s a --every 1000000h --agg sum --format json"),
    ("verify", "baro verify /mnt/s --format json"),
    // A recorder that is killed, and what the next one says of it.
    (
        "killed",
        "baro record /mnt/s --generate --for 60s --format json >/run/first 2>&1 & sleep 2; kill -9 $!; \
         wait 2>/dev/null; baro record /mnt/s --generate --for 1s --format json",
    ),
    ("verify-again", "baro verify /mnt/s --format json"),
    (
        "syncs",
        "baro bench push --dir /mnt --record-bytes 4096 --records 4000 --interval 1ms --greedy 0s --log 64M \
         --ring 4M --format json",
    ),
];

/// What came of a cell.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) json: Value,
    pub(crate) wrong: Vec<String>,
}

/// Runs the cell of a kernel, a disk and a file system.
pub(crate) fn run(site: Site<'_>, model: &'static Model, fs: &str) -> Result<Cell, String> {
    let kernel = site.kernel;
    let image = tempfile("cell");
    let _remove = Remove(image.clone());
    let hardware = Hardware { card: model.driver == Driver::Mmc, ..Hardware::default() };
    let mut machine = site.start(hardware, &Disks::model(model, image))?;
    site.bring_baro(&mut machine)?;
    machine.sh(&run::prepare(model, fs, "", "", None), 120)?;
    let mut done = serde_json::Map::new();
    let mut wrong = Vec::new();
    for (name, line) in STEPS {
        match step(&mut machine, line) {
            Ok(value) => {
                done.insert((*name).to_owned(), value);
            }
            Err(why) => {
                wrong.push(format!("{name}: {why}"));
                break;
            }
        }
    }
    wrong.extend(judge(&done));
    let json = json!({
        "what": "cell", "kernel": kernel.release, "version": kernel.package.version, "fs": fs,
        "disk": model.name, "steps": facts(&done), "wrong": wrong,
    });
    Ok(Cell { json, wrong })
}

fn step(machine: &mut Machine, line: &str) -> Result<Value, String> {
    let output = machine.session.sh(line, Duration::from_secs(120));
    let output = output.map_err(|why| machine.explain(&why))?;
    if output.exit.code != 0 {
        let said = format!("{}{}", output.out, output.err);
        return Err(format!("exit {}: {}", output.exit.code, crate::tool::last_lines(&said, 4)));
    }
    serde_json::from_str(&output.out).map_err(|error| format!("{error}: {}", output.out))
}

/// What must be true of every cell.
fn judge(done: &serde_json::Map<String, Value>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |step: &str, path: &str, expected: Value| {
        let found = done.get(step).and_then(|value| value.pointer(path)).cloned();
        if found.as_ref() != Some(&expected) {
            wrong.push(format!("{step}{path}: expected {expected}, found {found:?}"));
        }
    };
    for name in ["refused_ring_full", "refused_too_large"] {
        expect("record", &format!("/{name}"), json!(0));
    }
    // The sum of 0 to 19,999, and both series of it.
    expect("query", "/0/value", json!(199_990_000.0));
    expect("verify", "/samples", json!(40_000));
    for name in ["lost", "forced_commits", "block_allocations", "size_changes"] {
        expect("syncs", &format!("/{name}"), json!(0));
    }
    for step in ["verify", "verify-again"] {
        expect(step, "/whole", json!(true));
        expect(step, "/lost", json!(0));
        expect(step, "/records_unexplained", json!(0));
    }
    wrong
}

/// What of the output is kept: a cell's whole output is long.
fn facts(done: &serde_json::Map<String, Value>) -> Value {
    const KEPT: &[(&str, &[&str])] = &[
        ("init", &["/promises"]),
        ("record", &["/records", "/syncs", "/refused_ring_full", "/settled_samples", "/trouble"]),
        ("query", &[""]),
        ("verify", &["/whole", "/records", "/samples", "/lost", "/runs"]),
        ("killed", &["/records_taken_over", "/records", "/recovery", "/reservations"]),
        ("verify-again", &["/whole", "/records", "/sessions", "/torn_tails", "/lost"]),
        (
            "syncs",
            &[
                "/syncs",
                "/lost",
                "/forced_commits",
                "/node_blocks",
                "/journal_commits",
                "/block_allocations",
                "/size_changes",
            ],
        ),
    ];
    let mut kept = serde_json::Map::new();
    for (step, paths) in KEPT {
        let Some(value) = done.get(*step) else { continue };
        for path in *paths {
            if let Some(found) = value.pointer(path) {
                let mut found = found.clone();
                short(&mut found);
                kept.insert(format!("{step}{path}"), found);
            }
        }
    }
    Value::Object(kept)
}

/// Promises as name: holds; long lists are left out.
fn short(value: &mut Value) {
    if let Value::Array(list) = value {
        if list.iter().all(|one| one.get("promise").is_some()) {
            let pairs = list.iter().map(|one| {
                (one["promise"].as_str().unwrap_or("").to_owned(), one["holds"].clone())
            });
            *value = Value::Object(pairs.collect());
        } else if list.len() > 12 {
            *value = json!(format!("{} entries", list.len()));
        }
    } else if let Value::Object(map) = value {
        map.values_mut().for_each(short);
    }
}
