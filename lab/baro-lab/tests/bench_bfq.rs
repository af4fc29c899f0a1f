//! `baro-lab bfq` from outside: its keys, and that the machine is as before, also after a kill.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../../../crates/cli/tests/loop_device/mod.rs"]
mod loop_device;
#[path = "../../../crates/cli/tests/place/mod.rs"]
mod place;

use loop_device::LoopDevice;
use place::Folder;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TRACER: &str = "/sys/kernel/tracing/current_tracer";
const GROUPS: [&str; 2] = ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup"];

fn lab(folder: &Folder, device: &LoopDevice, length: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baro-lab"));
    command.args(["bfq", "--format", "json", "--write", "--block", "1M"]);
    command.args(["--file-size", "8M", "--for", length, "--set", "nr_requests=64"]);
    command.args(["--set", "low_latency=0", "--dir", &device.mount_dir()]);
    command.args(["--state-dir", &folder.path("state")]);
    command
}

/// What a run changes: the queue, the tracer, groups.
fn machine(device: &LoopDevice) -> (Vec<(PathBuf, String)>, String, Vec<String>) {
    let groups = GROUPS.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten();
    let names = groups.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let ours = names.filter(|name| name.starts_with("baro-bfq-")).collect();
    (device.queue().into_iter().collect(), fs::read_to_string(TRACER).unwrap(), ours)
}

/// A device to measure, or why there is none.
fn device(folder: &Folder) -> Result<LoopDevice, String> {
    let device = LoopDevice::mounted(Path::new(&folder.path("")), "noatime")?;
    let tracers = fs::read_to_string("/sys/kernel/tracing/available_tracers").unwrap_or_default();
    if !tracers.split_whitespace().any(|tracer| tracer == "blk") {
        return Err("no tracer blk: scripts/with-tracefs.sh mounts tracefs".to_owned());
    }
    if fs::read_to_string(TRACER).unwrap().trim() != "nop" {
        return Err("somebody uses the tracer".to_owned());
    }
    if !device.get("scheduler").contains("bfq") {
        return Err("no BFQ: modprobe bfq".to_owned());
    }
    Ok(device)
}

#[test]
fn bench_bfq_leaves_nothing() {
    let folder = Folder::new("bench-bfq");
    let device = match device(&folder) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let before = machine(&device);
    assert_eq!(before.2, Vec::<String>::new());
    // Killed while it records: all of it is left.
    let mut killed = lab(&folder, &device, "60s").stdout(Stdio::null()).spawn().unwrap();
    let enabled = format!("/sys/block/{}/trace/enable", device.file("").split('/').nth(3).unwrap());
    let begin = Instant::now();
    while fs::read_to_string(&enabled).unwrap().trim() != "1" {
        assert!(begin.elapsed() < Duration::from_secs(60) && killed.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_ne!(machine(&device), before, "the kill came too late to be one");
    let output = lab(&folder, &device, "3s").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).expect(&said);
    for group in report["groups"].as_array().unwrap() {
        let number = |key: &str| group[key].as_u64().unwrap();
        assert!(number("done_bytes") > 0 && number("calls") > 0, "{report}");
        assert!(number("charged_bytes") >= number("charged_for_time_bytes"), "{report}");
        let expired = group["expired"].as_object().unwrap();
        let turns: u64 = expired.values().map(|times| times.as_u64().unwrap()).sum();
        assert_eq!(turns, number("turns"));
    }
    assert_eq!(report["settings"]["nr_requests"], "64");
    assert_eq!(report["settings"]["scheduler"], "bfq");
    assert!(report["choices"].as_u64() >= report["choices_expected"].as_u64());
    assert_eq!(machine(&device), before);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let said = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baro-lab"));
        let output = command.args(["bfq"]).args(arguments).output().unwrap();
        assert_ne!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["--weights", "1,2,3"]).contains("two weights"));
    assert!(said(&["--set", "nr_requests"]).contains("NAME=VALUE"));
}
