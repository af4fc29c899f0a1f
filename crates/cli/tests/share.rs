//! `baro share` from outside, on loop devices and control groups of the test's own: weights are those
//! that the kernel has, programs run in their groups, direct I/O is cut, and the machine is as it was
//! found afterwards, also after a kill.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod loop_device;
mod place;

use loop_device::LoopDevice;
use place::Folder;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// What every test needs: a disk with BFQ, groups, and folders of its own.
struct Stage {
    device: LoopDevice,
    folder: Folder,
    groups: PathBuf,
    /// Names of groups are the machine's.
    prefix: String,
}

impl Stage {
    /// None where this machine has not what it takes, having said why.
    fn new(name: &str) -> Option<Stage> {
        let folder = Folder::new(name);
        let groups = [Path::new("/sys/fs/cgroup/blkio"), Path::new("/sys/fs/cgroup")]
            .into_iter()
            .find(|dir| {
                dir.join("blkio.throttle.read_bps_device").exists()
                    || fs::read_to_string(dir.join("cgroup.controllers"))
                        .is_ok_and(|all| all.split_whitespace().any(|one| one == "io"))
            });
        let device = LoopDevice::mounted(&folder.0, "defaults");
        let (groups, device) = match (groups, device) {
            (Some(groups), Ok(device)) => (groups.to_owned(), device),
            (None, _) => return skip("no control groups of block devices"),
            (_, Err(why)) => return skip(&why),
        };
        if !device.get("scheduler").contains("bfq") {
            return skip("no BFQ for loop devices");
        }
        // A loop device keeps its settings when it is detached.
        device.set("scheduler", "none");
        let prefix = format!("t{}-{name}", std::process::id());
        Some(Stage { device, folder, groups, prefix })
    }

    fn baro(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baro"));
        let (run, state) = (self.folder.path("run"), self.folder.path("state/share"));
        command.args(["share", verb, "--run-dir", &run, "--state-dir", &state]).args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// `baro tune` with the journal beside that of shares.
    fn tune(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baro"));
        command.args(["tune", verb, "--state-dir", &self.folder.path("state")]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `run` in the group `name` on the stage's disk.
    fn run(&self, name: &str, arguments: &[&str]) -> Command {
        let name = self.name(name);
        let mount = self.device.mount_dir();
        let mut all = vec!["--name", &name, "--on", &mount];
        all.extend(arguments);
        self.baro("run", &all)
    }

    fn name(&self, name: &str) -> String {
        name.split('/').map(|part| format!("{}-{part}", self.prefix)).collect::<Vec<_>>().join("/")
    }

    fn group(&self, name: &str) -> PathBuf {
        let parts = self.name(name);
        self.groups.join(parts.split('/').map(|part| format!("baro-{part}")).collect::<PathBuf>())
    }

    /// Nothing of any group is left.
    fn is_clean(&self) {
        let ours =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().contains(&self.prefix);
        let left: Vec<_> = fs::read_dir(&self.groups).unwrap().flatten().filter(ours).collect();
        assert!(left.is_empty(), "{left:?}");
        let entered = fs::read_dir(self.folder.path("run")).map_or(0, Iterator::count);
        assert_eq!(entered, 0);
        assert!(self.device.get("scheduler").contains("[none]"));
    }
}

fn skip<T>(why: &str) -> Option<T> {
    println!("skipped: {why}");
    None
}

fn text(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A child that is ended at the latest when dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks until it is so; a test that hangs here fails.
fn until(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is() {
            return;
        }
        baro_sys::clock::sleep_ns(20_000_000);
    }
    panic!("never: {what}");
}

fn processes(group: &Path) -> Vec<String> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_command_runs_in_its_group_and_the_machine_is_as_before() {
    let Some(stage) = Stage::new("run") else { return };
    // Off as BFQ would have it, whatever somebody did to this device's number before.
    let write_back = stage.device.file("wbt_lat_usec");
    let found = fs::read_to_string(&write_back).ok();
    if found.is_some() {
        fs::write(&write_back, "0").unwrap();
    }
    let before = stage.device.queue();
    let group = stage.group("a");
    let weight = ["blkio.bfq.weight", "io.bfq.weight"];
    let script = format!(
        "cat {0}/{1} {0}/{2} 2>/dev/null; cat {3} {4}; grep -c $$ {0}/cgroup.procs; cat {5}; exit 7",
        group.display(),
        weight[0],
        weight[1],
        stage.device.file("scheduler"),
        stage.device.file("iosched/low_latency"),
        write_back,
    );
    let output = stage.run("a", &["--weight", "300", "--", "sh", "-c", &script]).output().unwrap();
    let (code, out, err) = text(&output);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0].split(' ').next_back(), Some("300"), "{out}{err}");
    assert!(lines[1].contains("[bfq]"), "{out}");
    assert_eq!(lines[2..4], ["0", "1"], "{out}");
    let in_no_group = group.components().any(|part| part.as_os_str() == "blkio");
    let held_back = lines.get(4).is_some_and(|us| *us != "0");
    assert_eq!(held_back, found.is_some() && in_no_group, "{out}{err}");
    assert_eq!(code, Some(7));
    assert!(err.contains("low-latency") && err.contains("the command ended with"), "{err}");
    assert!(err.contains("goes first at the disk"), "{err}");
    stage.is_clean();
    assert!(before[Path::new("journal")].starts_with("Some"), "{before:?}");
    assert_eq!(stage.device.queue(), before);
    if let Some(found) = found {
        fs::write(&write_back, found.trim()).unwrap();
    }
}

#[test]
fn what_cannot_be_is_said_and_changes_nothing() {
    let Some(stage) = Stage::new("errors") else { return };
    let before = stage.device.queue();
    let cases: [(&[&str], Option<i32>, &str); 7] = [
        (&["--weight", "0", "--", "true"], Some(2), "from 1 to 1000"),
        (&["--weight", "1001", "--", "true"], Some(2), "from 1 to 1000"),
        (&["--piece", "1", "--", "true"], Some(2), "at least"),
        (&["--", "/nowhere/player"], Some(127), "cannot start /nowhere/player"),
        (&["--", "/etc/passwd"], Some(126), "cannot start /etc/passwd"),
        (&["--pid", "4294967295", "--", "true"], Some(125), "process 4294967295"),
        (&["--on", "/nowhere", "--", "true"], Some(125), "/nowhere"),
    ];
    for (arguments, code, said) in cases {
        let (found, _, err) = text(&stage.run("a", arguments).output().unwrap());
        assert_eq!(found, code, "{arguments:?}: {err}");
        assert!(err.contains(said), "{arguments:?}: {err}");
        assert_eq!(stage.device.queue(), before, "{arguments:?}");
    }
    // Devices that nothing schedules, and nobody's rights.
    let zram = Path::new("/sys/block/zram0").exists();
    if zram {
        let (code, _, err) =
            text(&stage.run("a", &["--on", "zram0", "--", "true"]).output().unwrap());
        assert!(code == Some(125) && err.contains("no queue of requests"), "{err}");
    }
    let baro = env!("CARGO_BIN_EXE_baro");
    let nobody = ["--reuid=65534", "--clear-groups", baro, "share", "run", "--", "true"];
    if let Ok(output) = Command::new("setpriv").args(nobody).output() {
        let (code, _, err) = text(&output);
        // It may not even be allowed to reach the program.
        assert!(code != Some(0) && (err.contains("sudo") || err.contains("setpriv")), "{err}");
    }
    let (code, _, err) = text(&stage.run("x/y", &["--", "true"]).output().unwrap());
    assert!(code == Some(125) && err.contains("its parent is not there"), "{err}");
    let (code, _, err) = text(&stage.run("a b", &["--", "true"]).output().unwrap());
    assert!(code == Some(125) && err.contains("letters, digits"), "{err}");
    stage.is_clean();
}

#[test]
fn killed_it_is_cleaned_up_by_the_next_and_the_program_goes_on() {
    let Some(stage) = Stage::new("killed") else { return };
    let priority = stage.device.journal_priority();
    let pid_file = stage.folder.path("pid");
    let script = format!("echo $$ > {pid_file}; exec sleep 600");
    let mut first = Guard(stage.run("a", &["--", "sh", "-c", &script]).spawn().unwrap());
    until("the program runs", || fs::read_to_string(&pid_file).is_ok_and(|text| !text.is_empty()));
    let pid = fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    let (code, _, err) = text(&stage.run("a", &["--", "true"]).output().unwrap());
    assert!(code == Some(125) && err.contains("is held by process"), "{err}");
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    // Nothing of it is undone yet, and the program is in its group.
    assert_eq!(processes(&stage.group("a")), [pid.as_str()]);
    assert!(stage.device.get("scheduler").contains("[bfq]"));
    assert_ne!(stage.device.journal_priority(), priority);
    let (code, _, err) = text(&stage.run("b", &["--", "true"]).output().unwrap());
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("put back"), "{err}");
    assert_eq!(stage.device.journal_priority(), priority);
    assert!(Path::new("/proc").join(&pid).exists(), "the program was ended");
    baro_sys::termination::send(pid.parse().unwrap(), 9).unwrap();
    stage.is_clean();
}

/// A service's processes are its own again, so that its limits hold and its manager can end them.
#[test]
fn what_was_moved_comes_back_to_where_it_was_with_its_children_though_the_holder_is_killed() {
    let Some(stage) = Stage::new("origin") else { return };
    let home = stage.groups.join(format!("{}-home", stage.prefix));
    fs::create_dir(&home).unwrap();
    let child_file = stage.folder.path("child");
    let script = format!("read _; sleep 600 & echo $! > {child_file}; wait");
    let mut shell = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
    let pid = shell.id().to_string();
    fs::write(home.join("cgroup.procs"), &pid).unwrap();
    for killed in [true, false] {
        let mut held = Guard(stage.run("o", &["--pid", &pid]).spawn().unwrap());
        until("it is moved", || processes(&stage.group("o")).contains(&pid));
        if killed {
            use std::io::Write as _;
            shell.stdin.take().unwrap().write_all(b"\n").unwrap();
            until("it has a child", || {
                fs::read_to_string(&child_file).is_ok_and(|s| !s.is_empty())
            });
            held.0.kill().unwrap();
            held.0.wait().unwrap();
            let (code, _, err) = text(&stage.run("b", &["--", "true"]).output().unwrap());
            assert_eq!(code, Some(0), "{err}");
        } else {
            baro_sys::termination::send(held.0.id(), 2).unwrap();
            held.0.wait().unwrap();
        }
        let mut wanted = vec![pid.clone(), fs::read_to_string(&child_file).unwrap()];
        wanted.iter_mut().for_each(|pid| *pid = pid.trim().to_owned());
        let mut there = processes(&home);
        wanted.sort_unstable();
        there.sort_unstable();
        // In the second round the child was there before, and nobody asked for it.
        assert_eq!(there, wanted, "killed: {killed}");
    }
    let child = fs::read_to_string(&child_file).unwrap();
    baro_sys::termination::send(child.trim().parse().unwrap(), 9).unwrap();
    shell.wait().unwrap();
    until("the group is empty", || fs::remove_dir(&home).is_ok());
    stage.is_clean();
}

#[test]
fn a_disk_has_one_owner_and_each_order_ends_with_it_as_found() {
    let Some(stage) = Stage::new("owners") else { return };
    let before = stage.device.queue();
    let mount = stage.device.mount_dir();
    let requests = stage.device.file("nr_requests");
    let apply = [mount.as_str(), "--only", "queue"];
    // Tuned first: a share is refused at once, and told by whom.
    let mut tuned = Guard(stage.tune("apply", &apply).spawn().unwrap());
    until("it is tuned", || {
        if let Some(status) = tuned.0.try_wait().unwrap() {
            let mut said = String::new();
            tuned.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
            tuned.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("{status}: {said}");
        }
        fs::read_to_string(&requests).is_ok_and(|text| text.trim() == "32")
    });
    let (code, _, err) = text(&stage.run("a", &["--", "true"]).output().unwrap());
    let by = format!("its settings are held by baro tune apply (process {}", tuned.0.id());
    assert!(code == Some(125) && err.contains(&by), "{err}");
    assert_eq!(fs::read_to_string(&requests).unwrap().trim(), "32");
    baro_sys::termination::send(tuned.0.id(), 15).unwrap();
    tuned.0.wait().unwrap();
    stage.is_clean();
    assert_eq!(stage.device.queue(), before);
    // Shared first, and ended first.
    let mut shared = Guard(stage.run("a", &["--", "sleep", "600"]).spawn().unwrap());
    until("it is shared", || !processes(&stage.group("a")).is_empty());
    let command = [apply.as_slice(), &["--", "true"]].concat();
    let (code, _, err) = text(&stage.tune("apply", &command).output().unwrap());
    let by = format!("its settings are held by baro share run (process {}", shared.0.id());
    assert!(code == Some(125) && err.contains(&by), "{err}");
    // What is kept beneath a share waits until that has ended, also when it is forced.
    let (code, out, _) = text(&stage.tune("undo", &["--force"]).output().unwrap());
    assert!(code == Some(0) && out.contains("held by baro share run"), "{out}");
    assert!(stage.device.get("scheduler").contains("[bfq]"));
    baro_sys::termination::send(shared.0.id(), 15).unwrap();
    shared.0.wait().unwrap();
    stage.is_clean();
    assert_eq!(stage.device.queue(), before);
}

#[test]
fn what_a_killed_share_left_is_told_by_status_and_put_back_by_undo_or_the_next_to_tune() {
    let Some(stage) = Stage::new("left") else { return };
    let before = stage.device.queue();
    let mount = stage.device.mount_dir();
    for verb in ["undo", "apply"] {
        let mut shared = Guard(stage.run("a", &["--", "sleep", "600"]).spawn().unwrap());
        until("it is shared", || !processes(&stage.group("a")).is_empty());
        shared.0.kill().unwrap();
        shared.0.wait().unwrap();
        // The command goes on. What was seen in the group first may have been its parent, which makes
        // it there.
        until("the command is ended", || {
            let left = processes(&stage.group("a"));
            for pid in &left {
                let _ = baro_sys::termination::send(pid.parse().unwrap(), 9);
            }
            left.is_empty()
        });
        let status = stage.baro("status", &["--for", "1ms"]).output().unwrap();
        let (_, out, _) = text(&status);
        let scheduler = stage.device.file("scheduler");
        assert!(out.contains(&format!("{scheduler}: still \"bfq\", was \"none\"")), "{out}");
        assert!(out.contains(&format!("(process {}", shared.0.id())), "{out}");
        let arguments: &[&str] =
            if verb == "undo" { &[] } else { &[&mount, "--only", "queue", "--", "true"] };
        let (code, out, err) = text(&stage.tune(verb, arguments).output().unwrap());
        assert_eq!(code, Some(0), "{out}{err}");
        let told = format!("{scheduler}: restored to \"none\"");
        assert!(out.contains(&told) || err.contains(&told), "{out}{err}");
        // Its group and the priority of the file system's journal are the next share's to put back.
        let (code, _, err) = text(&stage.run("b", &["--", "true"]).output().unwrap());
        assert_eq!(code, Some(0), "{err}");
        stage.is_clean();
        assert_eq!(stage.device.queue(), before);
    }
}

#[test]
fn who_is_left_takes_control_over() {
    let Some(stage) = Stage::new("over") else { return };
    let mut first = Guard(stage.run("a", &["--", "sleep", "600"]).spawn().unwrap());
    until("a is there", || !processes(&stage.group("a")).is_empty());
    let mut second = Guard(stage.run("b", &["--", "sleep", "600"]).spawn().unwrap());
    until("b is there", || !processes(&stage.group("b")).is_empty());
    let status = |stage: &Stage| -> Value {
        let output =
            stage.baro("status", &["--for", "100ms", "--format", "json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let seen = status(&stage);
    assert_eq!(seen["controller_pid"], first.0.id(), "{seen}");
    let groups = seen["disks"][0]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    assert_eq!(
        (groups[0]["weight"].as_u64(), groups[0]["weight_read"].as_u64()),
        (Some(100), Some(100))
    );
    assert_eq!(groups[0]["asked_share"], Value::Null, "nobody waits: {seen}");
    assert!(groups[0]["reasons"][0].as_str().unwrap().contains("no I/O"), "{seen}");
    baro_sys::termination::send(first.0.id(), 15).unwrap();
    first.0.wait().unwrap();
    until("b controls", || status(&stage)["controller_pid"] == second.0.id());
    assert!(stage.device.get("scheduler").contains("[bfq]"));
    assert!(!stage.group("a").exists());
    baro_sys::termination::send(second.0.id(), 15).unwrap();
    second.0.wait().unwrap();
    stage.is_clean();
    let output = stage.baro("status", &["--for", "50ms"]).output().unwrap();
    assert!(text(&output).1.contains("no group is held"));
}

#[test]
fn nested_groups_and_running_processes() {
    let Some(stage) = Stage::new("nested") else { return };
    let mut outer =
        Guard(stage.run("plant", &["--weight", "500", "--", "sleep", "600"]).spawn().unwrap());
    until("plant is there", || !processes(&stage.group("plant")).is_empty());
    let mut other = Guard(Command::new("sleep").arg("600").spawn().unwrap());
    let pid = other.0.id().to_string();
    let place = || fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let found = place();
    if stage.groups.ends_with("blkio") {
        let mut inner =
            Guard(stage.run("plant/b", &["--weight", "7", "--pid", &pid]).spawn().unwrap());
        until("it is moved", || processes(&stage.group("plant/b")) == [pid.as_str()]);
        let weight = stage.group("plant/b").join("blkio.bfq.weight");
        assert_eq!(fs::read_to_string(weight).unwrap().trim(), "7");
        baro_sys::termination::send(inner.0.id(), 2).unwrap();
        assert!(inner.0.wait().unwrap().success());
    }
    assert_eq!(place(), found);
    baro_sys::termination::send(outer.0.id(), 15).unwrap();
    outer.0.wait().unwrap();
    other.0.kill().unwrap();
    stage.is_clean();
}

#[test]
fn direct_reads_are_cut_and_read_the_same() {
    let Some(stage) = Stage::new("cut") else { return };
    let interposer = Path::new(env!("CARGO_BIN_EXE_baro")).with_file_name("libbaro_preload.so");
    if !interposer.exists() {
        println!("skipped: {} is not built", interposer.display());
        return;
    }
    let file = format!("{}/data", stage.device.mount_dir());
    let data: Vec<u8> =
        (0..16 << 20_u32).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&file, &data).unwrap();
    let copy = stage.folder.path("copy");
    let (input, output) = (format!("if={file}"), format!("of={copy}"));
    let dd = ["dd", &input, &output, "bs=8M", "iflag=direct"];
    let arguments = [&["--piece", "1M", "--format", "json", "--"], &dd[..]].concat();
    let output = stage.run("a", &arguments).output().unwrap();
    let (code, out, err) = text(&output);
    if err.contains("Invalid argument") {
        println!("skipped: this file system takes no direct reads");
        return;
    }
    assert_eq!(code, Some(0), "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    // The third call is at the end of the file; what dd writes goes through the page cache.
    let counters = &told["groups"][0]["counters"];
    let expected =
        [("calls_cut", 3), ("pieces", 17), ("bytes_cut", 16 << 20), ("buffered", 2), ("raw", 0)];
    for (name, count) in expected {
        assert_eq!(counters[name].as_u64(), Some(count), "{name}: {told}");
    }
    assert!(fs::read(&copy).unwrap() == data, "it read something else");
    // The same without: nothing is loaded.
    let arguments = [&["--piece", "off", "--format", "json", "--"], &dd[..]].concat();
    let (_, out, _) = text(&stage.run("a", &arguments).output().unwrap());
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["groups"][0]["counters"]["processes"].as_u64(), Some(0), "{told}");
    stage.is_clean();
}

/// A command as a user who is nobody's friend.
fn as_other(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", program]);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn other_users_are_reached_and_end_nobody() {
    let Some(stage) = Stage::new("users") else { return };
    let interposer = Path::new(env!("CARGO_BIN_EXE_baro")).with_file_name("libbaro_preload.so");
    let file = format!("{}/data", stage.device.mount_dir());
    fs::write(&file, vec![7; 16 << 20]).unwrap();
    // Groups where other users come by.
    let run = std::env::temp_dir().join(format!("baro-groups-of-{}", std::process::id()));
    let run_dir = run.to_string_lossy().into_owned();
    let readable =
        |path: &str| as_other("test", &["-r", path]).status().is_ok_and(|status| status.success());
    if !readable(&interposer.to_string_lossy()) || !readable(&file) {
        println!(
            "skipped: no setpriv, no interposer, or other users may not come to the target folder"
        );
        return;
    }
    let go = format!("{run_dir}.go");
    let _ = fs::remove_file(&go);
    let script = format!(
        "dd if={file} of=/dev/null bs=8M iflag=direct; while ! test -e {go}; do sleep 0.1; done"
    );
    let name = stage.name("a");
    let state = stage.folder.path("state");
    let mount = stage.device.mount_dir();
    let folders = ["--run-dir", &run_dir, "--state-dir", &state];
    let share = |verb: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baro"));
        command.args(["share", verb]).args(folders).args(arguments).stdin(Stdio::null());
        command
    };
    let as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let held = ["--name", &name, "--on", &mount, "--piece", "1M", "--format", "json", "--"];
    let arguments = [&held[..], &as_user, &["sh", "-c", &script]].concat();
    let mut command = share("run", &arguments);
    let mut held = Guard(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let status = || -> Value {
        let output = share("status", &["--for", "100ms", "--format", "json"]).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        told["disks"][0]["groups"][0].clone()
    };
    let mut seen = Value::Null;
    until("the user's programs were cut", || {
        seen = status();
        seen["counters"]["calls_cut"].as_u64() == Some(3)
    });
    let processes = seen["processes"].as_array().unwrap();
    assert!(processes.iter().any(|one| one["name"] == "sh" && one["reached"] == true), "{seen}");
    // One that has the interposer, and no counters of this group, is not reached.
    let folder = format!("{run_dir}/{name}");
    assert!(!Path::new(&format!("{folder}/counters")).exists());
    let pieces = fs::read(format!("{folder}/pieces")).unwrap();
    let segment = u64::from_ne_bytes(pieces[88..96].try_into().unwrap()) - 1;
    let (sizes, group) = (format!("{folder}/pieces"), format!("{folder}/group"));
    for (program, arguments) in [
        ("truncate", &["-s", "0", &sizes][..]),
        ("truncate", &["-s", "0", &group]),
        ("rm", &["-f", &sizes]),
        ("touch", &[&format!("{folder}/more")]),
        ("mv", &[&folder, &format!("{run_dir}/other")]),
        ("ln", &["-s", "/etc", &format!("{run_dir}/etc")]),
        ("cat", &[&format!("{folder}/alive")]),
        ("ipcrm", &["-m", &segment.to_string()]),
    ] {
        let done = as_other(program, arguments).stdout(Stdio::null()).status().unwrap();
        assert!(!done.success(), "{program} {arguments:?}");
    }
    assert_eq!(fs::read(&sizes).unwrap().len(), 4096);
    assert!(held.0.try_wait().unwrap().is_none(), "the share has ended");
    fs::write(&go, "").unwrap();
    assert_eq!(held.0.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    std::io::Read::read_to_string(held.0.stdout.as_mut().unwrap(), &mut told).unwrap();
    let told: Value = serde_json::from_str(&told[told.find('{').unwrap()..]).unwrap();
    let counters = &told["groups"][0]["counters"];
    assert_eq!(
        (counters["calls_cut"].as_u64(), counters["bytes_cut"].as_u64()),
        (Some(3), Some(16 << 20))
    );
    assert!(counters["processes"].as_u64() >= Some(3), "{told}");
    assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
    fs::remove_dir(&run).unwrap();
    fs::remove_file(&go).unwrap();
    stage.is_clean();
}

#[test]
fn a_profile_is_held_until_told_to_end() {
    let Some(stage) = Stage::new("hold") else { return };
    let profile = stage.folder.path("profile.toml");
    let mount = stage.device.mount_dir();
    let (a, b) = (stage.name("a"), stage.name("b"));
    let group = |name: &str, weight: u32| {
        format!("[[group]]\nname = \"{name}\"\nweight = {weight}\non = [\"{mount}\"]\n")
    };
    fs::write(&profile, group(&a, 200) + &group(&b, 50) + "command = [\"sleep\", \"600\"]\n")
        .unwrap();
    let mut held = Guard(stage.baro("hold", &[&profile]).spawn().unwrap());
    until("both are there", || !processes(&stage.group("b")).is_empty());
    assert!(stage.group("a").exists());
    baro_sys::termination::send(held.0.id(), 15).unwrap();
    held.0.wait().unwrap();
    stage.is_clean();
    fs::write(&profile, group(&a, 2000)).unwrap();
    let (code, _, err) = text(&stage.baro("hold", &[&profile]).output().unwrap());
    assert!(code == Some(1) && err.contains("found 2000"), "{err}");
    // A service would start what goes on once more, and again.
    let time = format!("600.{}", std::process::id());
    let first = format!("command = [\"sleep\", \"{time}\"]\n");
    for (none, expected) in [("/etc/passwd", 126), ("baro-has-no-such-program", 127)] {
        let second = format!("command = [\"{none}\"]\n");
        fs::write(&profile, group(&a, 200) + &first + &group(&b, 50) + &second).unwrap();
        let (code, _, err) = text(&stage.baro("hold", &[&profile]).output().unwrap());
        assert!(code == Some(expected) && err.contains(none), "{code:?} {err}");
    }
    // It was there: a program that is started has its arguments before the next one is.
    let found = Command::new("pgrep").args(["-f", &format!("^sleep {time}$")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    stage.is_clean();
}

/// Adds or removes a loop device of this number: LOOP_CTL_ADD, LOOP_CTL_REMOVE.
fn loop_control(request: u32, number: u32) -> bool {
    let script =
        format!("import fcntl; fcntl.ioctl(open('/dev/loop-control', 'r+b'), {request}, {number})");
    let ended = Command::new("python3").args(["-c", &script]).stderr(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

#[test]
fn a_disk_that_vanishes_costs_nothing_but_its_control() {
    let Some(stage) = Stage::new("gone") else { return };
    // None that anybody else would be given.
    let number = 100 + std::process::id() % 100_000;
    if !loop_control(0x4c80, number) {
        println!("skipped: no python3, or /dev/loop-control adds no device");
        return;
    }
    let disk = format!("loop{number}");
    assert!(Path::new("/sys/block").join(&disk).exists());
    let name = stage.name("a");
    let run = ["--name", &name, "--on", &disk, "--", "sleep", "600"];
    let mut held = Guard(stage.baro("run", &run).stderr(Stdio::piped()).spawn().unwrap());
    until("a is there", || !processes(&stage.group("a")).is_empty());
    assert!(loop_control(0x4c81, number), "it is not in use");
    assert!(!Path::new("/sys/block").join(&disk).exists());
    let status = || stage.baro("status", &["--for", "100ms", "--format", "json"]).output().unwrap();
    let seen: Value = serde_json::from_slice(&status().stdout).unwrap();
    assert_eq!(seen["disks"].as_array().unwrap().len(), 0, "{seen}");
    // It goes on controlling others.
    let (code, _, err) = text(&stage.run("b", &["--", "true"]).output().unwrap());
    assert_eq!(code, Some(0), "{err}");
    assert!(held.0.try_wait().unwrap().is_none(), "it ended with its disk");
    baro_sys::termination::send(held.0.id(), 15).unwrap();
    held.0.wait().unwrap();
    stage.is_clean();
}

#[test]
fn our_own_background_work_runs_inside_a_share() {
    let Some(stage) = Stage::new("own") else { return };
    let store = format!("{}/store", stage.device.mount_dir());
    let baro = env!("CARGO_BIN_EXE_baro");
    let must = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    must(Command::new(baro).args(["init", &store, "--size", "32M"]));
    let input = stage.folder.path("samples");
    let lines: String = (0..5_000)
        .map(|at| format!("{},temp,{at}.5\n", 1_700_000_000_000_000_000_i64 + at * 1_000_000))
        .collect();
    fs::write(&input, lines).unwrap();
    must(
        Command::new(baro)
            .args(["record", &store, "--declare", "temp:f64:C", "--stdin", "csv"])
            .stdin(fs::File::open(&input).unwrap()),
    );
    let query = || must(Command::new(baro).args(["query", &store, "temp", "--format", "csv"]));
    let before = query();
    assert_eq!(before.iter().filter(|byte| **byte == b'\n').count(), 5_001);
    must(&mut stage.run("settle", &["--weight", "20", "--", baro, "settle", &store]));
    assert!(query() == before, "settled in a share, it reads something else");
    let out = stage.folder.path("export.csv");
    let export = ["--weight", "20", "--", baro, "export", &store, &out];
    must(&mut stage.run("export", &export));
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 5_001);
    stage.is_clean();
}
