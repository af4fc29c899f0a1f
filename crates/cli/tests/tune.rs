//! `baro tune` from outside: applied for a command, until a signal, or kept; put back after each, and
//! after a kill. Settings of the whole machine only on a machine made of files, those of a device on
//! a loop device of the test's own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod loop_device;
mod place;

use loop_device::LoopDevice;
use place::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn baro(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baro"));
    command.arg("tune").args(arguments);
    if matches!(arguments[0], "apply" | "undo") {
        // Before the command's own arguments.
        let mut words = arguments.to_vec();
        let state = folder.path("state");
        words.splice(1..1, ["--state-dir", &state]);
        command = Command::new(env!("CARGO_BIN_EXE_baro"));
        command.arg("tune").args(words);
    }
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = baro(folder, arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Holds settings until it is told to end; killed at the latest when dropped.
struct Holder(Child);

impl Holder {
    fn start(folder: &Folder, arguments: &[&str]) -> Holder {
        let mut child =
            baro(folder, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines.by_ref().map(Result::unwrap).any(|line| line.contains("Ctrl-C ends it"));
        assert!(said, "it ended before it held");
        // Read to the end, so that what it says at its end finds a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Holder(child)
    }

    fn end(mut self, signal: i32) -> Option<i32> {
        baro_sys::termination::send(self.0.id(), signal).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A loop device with a file system, and settings of its own.
fn device(folder: &Folder) -> Option<LoopDevice> {
    match LoopDevice::mounted(&folder.0, "noatime") {
        Ok(device) => {
            device.set("nr_requests", "77");
            Some(device)
        }
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

#[test]
fn settings_last_as_long_as_the_command_however_it_ends() {
    let folder = Folder::new("tune-command");
    let Some(device) = device(&folder) else { return };
    let found = device.queue();
    let (at, requests) = (device.mount_dir(), device.file("nr_requests"));
    let apply = |command: &[&str]| {
        let mut words = vec!["apply", &at, "--only", "queue", "--"];
        words.extend(command);
        run(&folder, &words)
    };
    let (code, said, _) = apply(&["cat", &requests]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("nr_requests: 77 -> 32") && said.contains("price: "), "{said}");
    assert!(said.contains("\n32\n"), "the command saw something else: {said}");
    assert!(said.contains("nr_requests: restored to \"77\""), "{said}");
    assert_eq!(device.queue(), found);
    let (code, _, said) = apply(&["sh", "-c", "exit 5"]);
    assert_eq!(code, Some(5));
    assert!(said.contains("the command ended with exit status: 5"), "{said}");
    assert_eq!(device.queue(), found);
    let (code, _, said) = apply(&["/no such program"]);
    assert_eq!(code, Some(127));
    assert!(said.contains("cannot start /no such program"), "{said}");
    assert_eq!(device.queue(), found);
    let words = ["apply", &at, "--only", "queue", "--format", "json", "--", "echo", "in the way"];
    let (code, said, error) = run(&folder, &words);
    assert_eq!(code, Some(0), "{error}");
    let report: Value = serde_json::from_str(&said).unwrap();
    let setting = &report["rows"][0]["settings"][1];
    assert_eq!((&setting["before"], &setting["now"]), (&"77".into(), &"32".into()));
    assert_eq!((&report["clean"], &report["command_status"]), (&true.into(), &0.into()));
    assert_eq!(report["undone"].as_array().unwrap().len(), 2);
    assert_eq!(device.queue(), found);
}

#[test]
fn a_signal_puts_back_and_after_a_kill_undo_does() {
    let folder = Folder::new("tune-signal");
    let Some(device) = device(&folder) else { return };
    let found = device.queue();
    let at = device.mount_dir();
    let words = ["apply", &at, "--only", "queue"];
    for signal in [2, 15, 1] {
        let holder = Holder::start(&folder, &words);
        assert_eq!(device.get("nr_requests"), "32");
        assert_eq!(holder.end(signal), Some(0), "signal {signal}");
        assert_eq!(device.queue(), found);
    }
    // A second one is refused; killed, the first one's settings stay until somebody looks.
    let holder = Holder::start(&folder, &words);
    let (code, _, said) = run(&folder, &["apply", &at, "--only", "dirty-limit"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("settings are held by process"), "{said}");
    assert_eq!(holder.end(9), None);
    assert_eq!(device.get("nr_requests"), "32");
    let (code, said, _) = run(&folder, &["undo"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("nr_requests: restored to \"77\""), "{said}");
    assert_eq!(device.queue(), found);
}

#[test]
fn what_a_killed_one_left_is_not_taken_for_good_by_the_next() {
    let folder = Folder::new("tune-next");
    let Some(device) = device(&folder) else { return };
    let found = device.queue();
    let at = device.mount_dir();
    let holder = Holder::start(&folder, &["apply", &at, "--only", "queue"]);
    let pid = holder.0.id();
    assert_eq!(holder.end(9), None);
    // A check takes it as it is, and says so.
    let (_, said, error) = run(&folder, &["apply", &at, "--only", "queue", "--dry-run"]);
    assert!(said.contains("good      queue"), "{said}");
    assert!(error.contains("left; `baro tune undo`") && error.contains("was \"77\""), "{error}");
    assert!(error.contains(&format!("baro tune apply (process {pid}, since 20")), "{error}");
    let (code, said, error) = run(&folder, &["apply", &at, "--only", "queue", "--", "true"]);
    assert_eq!(code, Some(0), "{said}{error}");
    assert!(error.contains("nr_requests: restored to \"77\""), "{error}");
    assert!(said.contains("nr_requests: 77 -> 32"), "{said}");
    assert_eq!(device.queue(), found);
}

#[test]
fn killed_at_any_moment_it_leaves_what_undo_puts_back() {
    let folder = Folder::new("tune-kill");
    let Some(device) = device(&folder) else { return };
    let found = device.queue();
    let at = device.mount_dir();
    let mut left = 0;
    // So many moments at least, and until one of them was late enough for a slow machine.
    let mut moment = 0_u64;
    while moment < 24 || (left == 0 && moment < 1_000) {
        let keep: &[&str] = if moment.is_multiple_of(2) { &["--keep"] } else { &[] };
        let words = [&["apply", &at, "--only", "queue"], keep].concat();
        let mut child =
            baro(&folder, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        baro_sys::clock::sleep_ns(moment * 2_000_000);
        child.kill().unwrap();
        child.wait().unwrap();
        left += usize::from(device.queue() != found);
        let (code, said, error) = run(&folder, &["undo"]);
        assert_eq!(code, Some(0), "{said}{error}");
        assert_eq!(device.queue(), found, "moment {moment}: {said}");
        assert!(!Path::new(&folder.path("state/journal")).exists());
        assert!(!Path::new(&folder.path("state/kept/journal")).exists());
        moment += 1;
    }
    assert!(left > 0, "it was never killed with settings in effect");
}

#[test]
fn what_is_kept_stays_until_undo_also_below_another_that_is_killed() {
    let folder = Folder::new("tune-keep");
    let Some(device) = device(&folder) else { return };
    let found = device.queue();
    let at = device.mount_dir();
    let keep = ["apply", &at, "--only", "queue", "--keep"];
    let (code, said, _) = run(&folder, &keep);
    assert_eq!(code, Some(0));
    assert!(said.contains("kept until `baro tune undo` or a reboot"), "{said}");
    let kept = device.queue();
    assert_eq!(device.get("nr_requests"), "32");
    let (code, said, _) = run(&folder, &keep);
    assert_eq!((code, said.contains("good      queue")), (Some(0), true), "{said}");
    assert_eq!(device.queue(), kept);
    // On top of it one that is killed.
    let limit = ["apply", &at, "--only", "dirty-limit"];
    let holder = Holder::start(&folder, &limit);
    assert_eq!(holder.end(9), None);
    assert_ne!(device.limit(), device.limit_found());
    let (code, said, _) = run(&folder, &["undo"]);
    assert_eq!(code, Some(0), "{said}");
    let (first, last) = (said.find("strict_limit").unwrap(), said.find("nr_requests").unwrap());
    assert!(first < last, "what a crash left goes before what is kept: {said}");
    assert_eq!(device.limit(), device.limit_found());
    assert_eq!(device.queue(), found, "{said}");
    assert!(run(&folder, &["undo"]).1.contains("nothing to undo"));
}

/// A machine made of files.
fn machine(folder: &Folder) -> String {
    for (path, text) in [
        ("proc/sys/kernel/random/boot_id", "boot-1"),
        ("proc/sys/kernel/numa_balancing", "1"),
        ("proc/sys/vm/compact_unevictable_allowed", "1"),
        ("proc/swaps", "Filename"),
        ("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 1048576 kB"),
        ("proc/sys/vm/min_free_kbytes", "4096"),
    ] {
        let path = folder.0.join("root").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
    folder.path("root")
}

#[test]
fn the_whole_machine_is_changed_only_when_that_is_said() {
    let folder = Folder::new("tune-wide");
    let root = machine(&folder);
    let numa = folder.path("root/proc/sys/kernel/numa_balancing");
    let reserve = folder.path("root/proc/sys/vm/min_free_kbytes");
    let get = |path: &str| std::fs::read_to_string(path).unwrap().trim().to_owned();
    let base = ["apply", "--root", &root, "--only", "numa", "--only", "reserve"];
    let words = |more: &[&str]| run(&folder, &[&base[..], more].concat());
    // With a command the code is the command's, and what was left out is told.
    let (code, said, error) = words(&["--", "true"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("skipped   numa: for the whole machine: add --machine-wide"), "{said}");
    assert!(error.contains("not all was set"), "{error}");
    let (code, said, _) = words(&["--machine-wide", "--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("numa_balancing = 0") && said.contains("min_free_kbytes = 20971"));
    assert_eq!((get(&numa), get(&reserve)), ("1".into(), "4096".into()));
    assert!(!Path::new(&folder.path("state")).join("journal").exists());
    let (code, said, _) = words(&["--machine-wide", "--", "cat", &numa]);
    assert_eq!(code, Some(0));
    assert!(said.contains("\n0\n") && said.contains("min_free_kbytes: 4096 -> 20971"), "{said}");
    assert_eq!((get(&numa), get(&reserve)), ("1".into(), "4096".into()));
    // Kept, and put back.
    assert_eq!(words(&["--machine-wide", "--keep"]).0, Some(0));
    assert_eq!((get(&numa), get(&reserve)), ("0".into(), "20971".into()));
    let (code, said, _) = run(&folder, &["undo", "--root", &root, "--format", "json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, report["settings"].as_array().unwrap().len()), (Some(0), 2));
    assert_eq!((get(&numa), get(&reserve)), ("1".into(), "4096".into()));
}

#[test]
fn a_setting_that_cannot_be_made_ends_it_with_the_rest_put_back() {
    let folder = Folder::new("tune-refused");
    let root = machine(&folder);
    let numa = folder.path("root/proc/sys/kernel/numa_balancing");
    let words = ["apply", "--root", &root, "--only", "numa", "--only", "nothing-like-it"];
    let (code, _, said) = run(&folder, &words);
    assert_eq!(code, Some(2));
    assert!(said.contains("--only nothing-like-it: no such row here; there are "), "{said}");
    assert!(said.contains("numa") && said.contains("reserve"), "{said}");
    assert!(said.contains("need its folder as an argument"), "{said}");
    // A number that the kernel lets nobody write.
    let reserve = folder.path("root/proc/sys/vm/min_free_kbytes");
    std::fs::remove_file(&reserve).unwrap();
    std::os::unix::fs::symlink("/proc/sys/fs/aio-nr", &reserve).unwrap();
    let words = ["apply", "--root", &root, "--machine-wide", "--only", "numa", "--only", "reserve"];
    let (code, said, error) = run(&folder, &[&words[..], &["--", "echo", "started"]].concat());
    assert_eq!((code, said.contains("started")), (Some(125), false), "{said}");
    assert!(error.contains("min_free_kbytes: the kernel refused"), "{error}");
    assert!(error.contains("numa_balancing: restored to \"1\""), "{error}");
    assert_eq!(std::fs::read_to_string(&numa).unwrap(), "1\n");
    // What was kept until then stays, and is said.
    let (code, _, error) = run(&folder, &[&words[..], &["--keep"]].concat());
    assert_eq!(code, Some(1));
    assert!(error.contains("what is set already is kept"), "{error}");
    assert_eq!(std::fs::read_to_string(&numa).unwrap(), "0\n");
    assert_eq!(run(&folder, &["undo", "--root", &root]).0, Some(0));
    assert_eq!(std::fs::read_to_string(&numa).unwrap(), "1\n");
}

#[test]
fn what_lasts_is_shown_in_the_form_that_is_asked_for_and_nothing_is_written() {
    let folder = Folder::new("tune-show");
    let root = machine(&folder);
    let (code, said, _) = run(&folder, &["show", "--root", &root]);
    assert_eq!(code, Some(0));
    assert!(said.contains("# ==== /etc/sysctl.d/60-barograph.conf (sysctl)\n"), "{said}");
    assert!(said.contains("\nkernel.numa_balancing = 0\n"), "{said}");
    assert!(said.contains("\nvm.compact_unevictable_allowed = 0\n"), "{said}");
    assert!(said.contains("\n#vm.min_free_kbytes = 20971\n"), "{said}");
    let (code, said, _) = run(&folder, &["show", "--root", &root, "--as", "udev,fstab"]);
    assert_eq!((code, said.as_str()), (Some(0), "# nothing to write down for udev, fstab\n"));
    let words = ["show", "--root", &root, "--as", "sysctl", "--format", "json"];
    let report: Value = serde_json::from_str(&run(&folder, &words).1).unwrap();
    let snippets = report["snippets"].as_array().unwrap();
    assert_eq!((snippets.len(), &snippets[0]["as"]), (1, &"sysctl".into()));
    assert_eq!(snippets[0]["statements"], 2);
    assert_eq!(run(&folder, &["show", "--as", "cron"]).0, Some(2));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "only the root is there");
}

#[test]
fn a_probe_says_what_it_counted_or_what_is_missing() {
    let folder = Folder::new("tune-probe");
    let Some(device) = device(&folder) else { return };
    let at = device.mount_dir();
    let (code, said, error) = run(&folder, &["check", &at, "--probe", "--format", "json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    let probe = &report["probe"];
    let said = probe["said"].as_str().unwrap();
    // The journal of 64 MiB is small, which is to be changed.
    assert_eq!(code, Some(3), "{error}");
    if probe["calls"].is_null() {
        assert!(said.contains("nothing was counted: "), "{said}");
        println!("skipped: {said}");
    } else {
        assert_eq!((&probe["calls"], &probe["lost_events"]), (&2000.into(), &0.into()));
        let handles = probe["handles_of_writes"].as_u64().unwrap();
        assert!(handles > 0 && probe["handles_of_reads"] == 0, "{probe:#}");
        assert_eq!(probe["lazytime"], false);
        assert!(said.starts_with(&format!("{handles} handles in 2000 writes of 16 KiB")), "{said}");
        assert!(said.ends_with("write() goes through the journal here; lazytime is not set"));
    }
    let left = std::fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.eq(["lost+found"]));
    // Without a store there is no place to probe; on a tmpfs there are no handles.
    assert_eq!(run(&folder, &["check", "--probe"]).0, Some(2));
    if Path::new("/dev/shm").is_dir() {
        let (code, said, _) = run(&folder, &["check", "/dev/shm", "--probe"]);
        assert_eq!(code, Some(3));
        assert!(said.contains("nothing was counted: /dev/shm: expected ext4"), "{said}");
    }
}
