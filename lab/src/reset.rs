//! A server that is reset while a call hangs: `lab reset`. What the recorder kept has to be there when the
//! machine has started again, and has to tell what was waited for.
//!
//! Traces are on one file system; another one is frozen while a program writes to it, until the machine is
//! killed. The disk keeps what it was given, and nothing else: memory is gone.

use crate::cut::disk;
use crate::faults::Outcome;
use crate::machine::disk::MODELS;
use crate::machine::{Backing, Disks, Hardware, Machine};
use crate::scratch::{Remove, tempfile};
use crate::site::Site;
use crate::tool::at;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Records as the installed service does, and says READY when a trace is there, while the call hangs.
const RECORD: &str = "set -e; blockdev --rereadpt /dev/vda
mkfs.ext4 -q -F /dev/vda1; mount -t ext4 /dev/vda1 /mnt; mkdir /mnt/traces /run/other
truncate -s 32M /run/image; mkfs.ext4 -q -F /run/image; mount -t ext4 -o loop /run/image /run/other
baro trace --ring 60s --over 500ms --ring-memory 16MiB --out /mnt/traces >/run/said 2>&1 &
for i in $(seq 600); do grep -q ecord /run/said && break; sleep 0.1; done
sleep 1; (exec 3>>/run/other/log; while :; do echo line >&3; sleep 0.05; done) &
sleep 1; fsfreeze --freeze /run/other
for i in $(seq 600); do ls /mnt/traces/*.trace >/dev/null 2>&1 && break; sleep 0.1; done
ls /mnt/traces/*.trace >/dev/null || cat /run/said
echo READY; sleep 100";

/// What the next boot finds: each trace explained, in a line of its own.
const EXPLAIN: &str = "blockdev --rereadpt /dev/vda; mount -t ext4 /dev/vda1 /mnt || exit 1
for trace in /mnt/traces/*.trace; do
    baro explain \"$trace\" --over 400ms --top 3 --format json | tr -d '\\n'; echo
done";

/// Runs it; the machine is killed up to two seconds after the trace is there, as `seed` decides.
pub(crate) fn run(site: Site<'_>, seed: u64) -> Result<Outcome, String> {
    let image = tempfile("reset");
    let _remove = Remove(image.clone());
    std::fs::write(&image, disk::table()).map_err(at(&image))?;
    let after = Duration::from_millis(seed * 613 % 2000);
    start(site, &image)?.kill_while_running(RECORD, "READY", after)?;
    let mut machine = start(site, &image)?;
    let said = machine.sh(EXPLAIN, 120)?;
    let calls: Vec<Value> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|told| told["calls"].as_array().cloned())
        .flatten()
        .collect();
    let hung = calls.iter().filter(|call| call["call"] == "write");
    let hung = hung.max_by_key(|call| call["wait_ns"].as_u64()).cloned();
    let mut wrong = Vec::new();
    match &hung {
        None => wrong.push(format!("no call of the program is told after the boot: {said}")),
        Some(call) if call["root"] != "freeze" => {
            wrong.push(format!("told as {}: {}", call["root"], call["sentence"]));
        }
        Some(_) => {}
    }
    let told = hung.unwrap_or_default();
    let json = json!({
        "what": "reset", "kernel": site.kernel.release, "seed": seed, "killed_ms_after": after.as_millis() as u64,
        "judged": told["sentence"], "wait_ns": told["wait_ns"], "unexplained_ns": told["unexplained_ns"],
        "wrong": wrong,
    });
    Ok(Outcome { json, wrong })
}

fn start(site: Site<'_>, image: &Path) -> Result<Machine, String> {
    let first = Backing::File(PathBuf::from(image), &MODELS[0]);
    let mut machine = site.start(Hardware::default(), &Disks { first, ..Disks::blank() })?;
    site.bring_baro(&mut machine)?;
    Ok(machine)
}
