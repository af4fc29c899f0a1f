//! `baro blk`: recordings of other tools, and a real disk beside the kernel's own statistics.
#![allow(clippy::disallowed_methods, reason = "test code reads its fixtures")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

mod calls;
mod place;

use calls::{feed, json, run, stderr, text};
use place::Folder;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    path.to_str().unwrap().to_owned()
}

/// The class of a device, and its number under a key.
fn class(device: &Value, name: &str, key: &str) -> f64 {
    let classes = device["classes"].as_array().unwrap();
    let class = classes.iter().find(|class| class["class"] == name).unwrap();
    class[key].as_f64().unwrap_or_else(|| panic!("{class}"))
}

#[test]
fn files_of_blktrace_and_text_of_blkparse_say_the_same() {
    let (zero, one) = (fixture("blk/sdb.blktrace.0"), fixture("blk/sdb.blktrace.1"));
    let shared = ["--by", "process", "--raw", "--tbw", "290", "--format", "json"];
    let call = [&["blk", "--blktrace", &zero, &one][..], &shared].concat();
    // Two records are missing in the middle, and that is said.
    let binary = json(&run(&call), 3);
    assert_eq!((&binary["lost_events"], &binary["complete"]), (&2.into(), &false.into()));
    let device = &binary["devices"][0];
    assert_eq!((&device["device"], &device["number"]), (&"sdb".into(), &"8:16".into()));
    assert_eq!(device["written_bytes"], 872_448);
    assert_eq!(class(device, "W", "mean_bytes"), 851_968.0 / 3.0);
    let share = class(device, "W", "share");
    assert!((share - 851_968.0 / 1_044_480.0).abs() < 1e-12, "{share}");
    assert_eq!(device["kwa"], Value::Null);
    assert_eq!(device["processes"].as_array().unwrap().len(), 3);

    let input = std::fs::read(fixture("blk/sdb.blkparse")).unwrap();
    let call = [&["blk", "--blkparse", "-", "--application-bytes", "800K"][..], &shared].concat();
    let parsed = json(&feed(&call, &input), 0);
    for key in ["classes", "raw_classes", "processes", "lifetime_days", "read_bytes"] {
        assert_eq!(parsed["devices"][0][key], device[key], "{key}");
    }
    assert_eq!(parsed["devices"][0]["kwa"], 1.065);
    assert_eq!(parsed["application_bytes"], 819_200);

    let table = text(&feed(&["blk", "--blkparse", "-", "--application-bytes", "800K"], &input), 0);
    assert!(table.contains("RSM") && table.contains("1.065"), "{table}");
}

#[test]
fn text_of_events_is_known_by_its_lines_and_refused_by_them() {
    let shared = ["--format", "json"];
    for name in ["ftrace", "perf"] {
        let path = fixture(&format!("blk/printed/{name}.txt"));
        let found = json(&run(&[&["blk", "--text", &path][..], &shared].concat()), 0);
        assert_eq!(found["source"], "events", "{name}");
        assert_eq!(found["devices"][0]["read_bytes"], 2_128 * 512, "{name}");
        assert_eq!(found["devices"][0]["written_bytes"], 864 * 512, "{name}");
    }
    let cut = fixture("blk/printed/trace-cmd.txt");
    let found = json(&run(&[&["blk", "--text", &cut][..], &shared].concat()), 3);
    assert_eq!(found["lost_events"], 3);
    let call = ["blk", "--text", "-"];
    let refused = feed(&call, b"cpus=2\na-9 [0] 1.000002: block_rq_issue: dev=8388608\n");
    assert!(text(&refused, 1).is_empty() && stderr(&refused).contains("line 2: \"a-9"));
    // Without completions there are no bytes, and that is said.
    let issues = b"a-9 [0] 1.000002: block_rq_issue: 8,0 W 512 () 8 + 1 [a]\n";
    let said = feed(&call, issues);
    text(&said, 3);
    assert!(stderr(&said).contains("record block_rq_complete too"), "{}", stderr(&said));
}

#[test]
fn a_wrong_time_makes_no_interval_of_years_and_no_file_counts_twice() {
    let mut input = std::fs::read(fixture("blk/sdb.blkparse")).unwrap();
    let call = ["blk", "--blkparse", "-", "--format", "json"];
    let before = json(&feed(&call, &input), 0);
    input.extend(b"  8,16   1   99 1266874889.709551615   697  D   W 0 + 8 [x]\n");
    let after = json(&feed(&call, &input), 0);
    assert_eq!(after["interval_ns"], before["interval_ns"]);
    assert!(after["notes"].to_string().contains("1 event has a time more than a day"), "{after}");
    let folder = Folder::new("blk-twice");
    let link = folder.path("link");
    let file = fixture("blk/sdb.blktrace.0");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let refused = run(&["blk", "--blktrace", &file, &link]);
    assert!(text(&refused, 1).is_empty() && stderr(&refused).contains("which are one file"));
}

#[test]
fn a_trace_of_each_kernel_has_what_the_load_wrote() {
    // Five writes of 16 KiB with a sync each; kernels differ in the class of the journal's.
    for (kernel, journal) in [("5.10", "WS"), ("6.1", "WSM"), ("6.12", "WSM"), ("6.18", "WSM")] {
        let trace = fixture(&format!("trace/{kernel}.trace"));
        let found =
            json(&run(&["blk", "--file", &trace, "--by", "process", "--format", "json"]), 0);
        let processes = found["devices"][0]["processes"].as_array().unwrap();
        let of = |name: &str| {
            let is = |one: &&Value| one["comm"].as_str().unwrap().starts_with(name);
            processes.iter().find(is).unwrap()
        };
        assert_eq!(of("load")["written_bytes"], 5 << 14, "{kernel}");
        let jbd2 = of("jbd2");
        assert!(class(jbd2, journal, "done_bytes") > 0.0, "{kernel}");
        assert_eq!(class(jbd2, journal, "done_bytes"), jbd2["written_bytes"].as_f64().unwrap());
        assert_eq!(found["unmatched_requests"], 0, "{kernel}");
    }
}

#[test]
fn what_is_no_recording_is_named_and_a_cut_one_is_read_as_far_as_it_goes() {
    let folder = Folder::new("blk");
    let (binary, parsed) = (fixture("blk/sdb.blktrace.0"), fixture("blk/sdb.blkparse"));
    let wrong = run(&["blk", "--blktrace", &parsed]);
    assert!(stderr(&wrong).contains("--blkparse") && text(&wrong, 1).is_empty());
    let wrong = run(&["blk", "--blkparse", &binary]);
    assert!(stderr(&wrong).contains("--blktrace") && text(&wrong, 1).is_empty());
    assert!(stderr(&run(&["blk", "--file", &parsed])).contains("magic"));
    let bytes = std::fs::read(&binary).unwrap();
    let cut = folder.path("sdb.blktrace.0");
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let output = run(&["blk", "--blktrace", &cut, "--format", "json"]);
    let found = json(&output, 3);
    assert_eq!(found["pending_requests"], 1);
    assert!(found["notes"][0].as_str().unwrap().contains("cut off"), "{found}");
    let mut lines = std::fs::read(&parsed).unwrap();
    lines.extend(b"  8,16 0 99 0.000040000 1 D W 8 + many [x]\n");
    let found = json(&feed(&["blk", "--blkparse", "-", "--format", "json"], &lines), 3);
    assert!(found["notes"][0].as_str().unwrap().contains("8 + many"), "{found}");
    assert!(stderr(&run(&["blk", "--device", "no-such-disk"])).contains("/proc/partitions"));
    for usage in [
        &["blk", "--tbw", "0"][..],
        &["blk", "--sync"],
        &["blk", "--file", "x", "--blkparse", "y"],
        &["blk", "--for", "1s", "--", "true"],
    ] {
        assert_eq!(run(usage).status.code(), Some(2), "{usage:?}");
    }
}

/// A new ext4 on a loop device; taken down on drop.
struct Disk {
    folder: Folder,
    device: String,
}

fn tool(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Disk {
    fn new() -> Result<Self, String> {
        let mut disk = Disk { folder: Folder::new("blk-disk"), device: String::new() };
        let (image, mount) = (disk.folder.path("image"), disk.mount());
        let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(256 << 20).map_err(|error| error.to_string())?;
        std::fs::create_dir(&mount).map_err(|error| error.to_string())?;
        let lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        tool("mkfs.ext4", &["-q", "-F", "-E", lazy, &image])?;
        disk.device = tool("losetup", &["--find", "--show", "--direct-io=on", &image])?;
        tool("mount", &[&disk.device, &mount])?;
        Ok(disk)
    }

    fn mount(&self) -> String {
        self.folder.path("mount")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = tool("umount", &[&self.mount()]);
        if !self.device.is_empty() {
            let _ = tool("losetup", &["--detach", &self.device]);
        }
    }
}

/// 5,000 writes are 10,000 events; a buffer of 8 KiB holds a hundred. The collector is stopped while
/// they happen: how fast it empties a buffer must not decide what this test sees.
fn lost_events_are_told(disk: &Disk) {
    let direct = format!("{}/direct", disk.mount());
    let load = "kill -STOP $PPID && dd if=/dev/zero of=\"$0\" bs=4k count=5000 oflag=direct; \
                code=$?; kill -CONT $PPID; exit $code";
    let call = ["blk", "--device", &disk.device, "--buffer", "8K", "--format", "json", "--"];
    let output = run(&[&call[..], &["sh", "-c", load, &direct]].concat());
    // It ends with the command's own code; the loss is said.
    let found = json(&output, 0);
    assert!(stderr(&output).contains("events were lost"), "{}", stderr(&output));
    let (seen, lost) = (found["events"].as_u64().unwrap(), found["lost_events"].as_u64().unwrap());
    assert!(lost > 0 && seen + lost >= 10_000, "{seen} {lost}");
    assert_eq!(found["complete"], false);
    assert!(found["notes"][0].as_str().unwrap().contains("--buffer"), "{found}");
}

#[test]
fn a_disk_is_accounted_for_as_the_kernel_counts_it() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, for a loop device and the kernel's tracer");
        return;
    }
    let disk = match Disk::new() {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: no loop device: {reason}");
            return;
        }
    };
    let writer = Path::new(env!("CARGO_BIN_EXE_baro")).with_file_name("baro-lab");
    if !writer.is_file() {
        println!("skipped: needs {} (cargo build -p baro-lab)", writer.display());
        return;
    }
    let writer = writer.to_str().unwrap();
    for files in ["1", "500"] {
        let dir = disk.mount();
        let output = run(&[
            "blk",
            "--device",
            &disk.device,
            "--sync",
            "--by",
            "process",
            "--format",
            "json",
            "--",
            writer,
            "portions",
            "--files",
            files,
            "--bytes",
            "16M",
            "--dir",
            &dir,
            "--keep",
        ]);
        if output.status.code() == Some(1) && stderr(&output).contains("tracefs") {
            println!("skipped: no trace instance: {}", stderr(&output));
            return;
        }
        let found = json(&output, 0);
        assert_eq!((&found["lost_events"], &found["pending_requests"]), (&0.into(), &0.into()));
        let [device] = &found["devices"].as_array().unwrap()[..] else { panic!("{found}") };
        let stat = &device["diskstats"];
        // To the byte: nobody else has this disk.
        assert_eq!(device["read_bytes"], stat["read_bytes"]);
        assert_eq!(device["written_bytes"], stat["written_bytes"]);
        assert_eq!(class(device, "flush", "done_requests"), stat["flushes"].as_f64().unwrap());
        let requests: f64 =
            ["W", "WM", "WS", "WSM"].map(|c| class(device, c, "done_requests")).iter().sum();
        // The kernel counts a flush without data as a write too.
        let more = stat["written_requests"].as_f64().unwrap() - requests;
        assert!((0.0..=stat["flushes"].as_f64().unwrap()).contains(&more), "{device}");
        // Beside the files the command writes its one line of output.
        let application = found["application_bytes"].as_u64().unwrap();
        assert!((16 << 20..(16 << 20) + 200).contains(&application), "{application}");
        let written = device["written_bytes"].as_f64().unwrap();
        let kwa = device["kwa"].as_f64().unwrap();
        assert!((kwa - written / application as f64).abs() < 1e-9, "{kwa}");
        assert!(class(device, "W", "done_bytes") >= f64::from(16 << 20), "{device}");
        let processes = device["processes"].as_array().unwrap();
        assert!(processes.iter().any(|one| one["comm"].as_str().unwrap().starts_with("jbd2/")));
        let sum: u64 = processes.iter().map(|one| one["written_bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum as f64, written);
    }
    lost_events_are_told(&disk);
    let failed = run(&["blk", "--device", &disk.device, "--", "sh", "-c", "exit 7"]);
    assert!(stderr(&failed).contains("exit status: 7"), "{}", stderr(&failed));
    assert_eq!(failed.status.code(), Some(7));
    let missing = run(&["blk", "--device", &disk.device, "--", "/no/such/command"]);
    assert!(stderr(&missing).contains("/no/such/command"));
    assert_eq!(missing.status.code(), Some(127));
    let no_program = run(&["blk", "--device", &disk.device, "--", "/etc/passwd"]);
    assert_eq!(no_program.status.code(), Some(126), "{}", stderr(&no_program));
    let no_disk = run(&["blk", "--device", "/nowhere", "--", "true"]);
    assert_eq!(no_disk.status.code(), Some(125), "{}", stderr(&no_disk));
    let idle =
        json(&run(&["blk", "--device", &disk.device, "--for", "50ms", "--format", "json"]), 0);
    assert!(idle["interval_ns"].as_u64().unwrap() >= 50_000_000);
    for instances in ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"] {
        let left = std::fs::read_dir(instances).into_iter().flatten().flatten();
        let names: Vec<String> =
            left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        // Whoever else runs `baro blk` now has an instance too; ours are of processes that ended.
        let of_the_dead = |name: &&String| {
            let pid = name.strip_prefix("baro-blk-");
            pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
        };
        assert_eq!(names.iter().filter(of_the_dead).count(), 0, "{names:?}");
    }
}
