//! A process that is killed leaves settings behind; the next owner undoes them. On a fake root at
//! many moments, and, with root's rights, on the queue of a loop device of its own.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use baro_tune::{Error, Journal, OnConflict, Options, Setting};

const PLACE: &str = "BARO_TUNE_TEST_PLACE";
const ROOT: &str = "BARO_TUNE_TEST_ROOT";
const SETTINGS: &str = "BARO_TUNE_TEST_SETTINGS";

fn options(place: &Path, root: &Path) -> Options {
    Options { state_dir: place.join("state"), root: root.into(), ..Options::default() }
}

/// Not a test but the process to be killed: applies and undoes until then, a line for each step.
#[test]
fn owner_to_be_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let root = std::env::var_os(ROOT).unwrap();
    let settings = std::env::var(SETTINGS).unwrap();
    let (mut journal, _) = Journal::open(&options(place.as_ref(), root.as_ref())).unwrap();
    // Bounded, so that it ends even where its parent dies first.
    for _ in 0..500 {
        for setting in settings.lines() {
            let (path, value) = setting.split_once(' ').unwrap();
            journal.apply(&Setting::new(path, value)).unwrap();
            println!("step applied");
        }
        println!("step all");
        journal.undo_all(OnConflict::Leave);
        println!("step undone");
    }
}

/// The owner, running; killed at the latest when dropped.
struct Owner {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Owner {
    fn start(place: &Path, root: &Path, settings: &[(String, &str)]) -> Owner {
        let settings: Vec<_> =
            settings.iter().map(|(path, text)| format!("{path} {text}")).collect();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["owner_to_be_killed", "--exact", "--nocapture"])
            .env(PLACE, place)
            .env(ROOT, root)
            .env(SETTINGS, settings.join("\n"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Owner { child, lines }
    }

    fn wait_for(&mut self, step: &str) {
        let found = self.lines.by_ref().map(Result::unwrap).any(|line| line.ends_with(step));
        assert!(found, "the owner ended before {step}");
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SIGKILL: nothing of the owner runs after it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tune-kill-{name}"));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

#[test]
fn the_next_owner_undoes_what_a_killed_one_left() {
    let place = place("fake");
    let root = place.join("root");
    let files = [
        ("/proc/sys/kernel/random/boot_id", "boot\n"),
        ("/proc/sys/vm/swappiness", "60\n"),
        ("/sys/block/sda/queue/read_ahead_kb", "1024\n"),
    ];
    let at = |path: &str| root.join(path.trim_start_matches('/'));
    for (path, text) in files {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        fs::write(at(path), text).unwrap();
    }
    let settings = [(files[1].0.to_owned(), "5"), (files[2].0.to_owned(), "64")];
    let mut left = 0;
    for steps in 0..40 {
        let mut owner = Owner::start(&place, &root, &settings);
        owner.wait_for("step applied");
        let refused = Journal::open(&options(&place, &root)).unwrap_err();
        let pid = owner.child.id();
        assert!(matches!(refused, Error::Held { pid: Some(p), .. } if p == pid));
        for _ in 0..steps % 8 {
            owner.wait_for("");
        }
        drop(owner);
        left += usize::from(place.join("state/journal").exists());
        let (_journal, report) = Journal::open(&options(&place, &root)).unwrap();
        assert!(report.is_clean(), "{report}");
        for (path, text) in files {
            assert_eq!(fs::read_to_string(at(path)).unwrap(), text, "{path}: {report}");
        }
        assert!(!place.join("state/journal").exists());
    }
    assert!(left > 0, "no owner was killed with settings applied");
    fs::remove_dir_all(&place).unwrap();
}

/// A loop device of its own; dropped, it is detached and its queue, which outlives that, as found.
struct Loop {
    name: String,
    defaults: Vec<(String, String)>,
}

impl Loop {
    fn attach(image: &Path) -> Result<Loop, String> {
        fs::File::create(image).and_then(|file| file.set_len(1 << 20)).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output();
        let output = output.map_err(|error| format!("losetup: {error}"))?;
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let Some(name) = device.strip_prefix("/dev/").filter(|_| output.status.success()) else {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        };
        let mut device = Loop { name: name.to_owned(), defaults: Vec::new() };
        for name in ["nr_requests", "read_ahead_kb"] {
            let path = device.file(name);
            device.defaults.push((path.clone(), fs::read_to_string(path).unwrap()));
        }
        Ok(device)
    }

    fn file(&self, name: &str) -> String {
        format!("/sys/block/{}/queue/{name}", self.name)
    }

    /// Every file of the queue that can be read.
    fn queue(&self) -> BTreeMap<PathBuf, String> {
        let folders = ["", "iosched"].map(|name| self.file(name));
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
        let texts = entries.filter_map(|entry| {
            let path = entry.unwrap().path();
            Some((path.clone(), fs::read_to_string(path).ok()?))
        });
        texts.collect()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for (path, text) in &self.defaults {
            let _ = fs::write(path, text.trim());
        }
        let _ = Command::new("losetup").args(["--detach", &format!("/dev/{}", self.name)]).status();
    }
}

#[test]
fn the_queue_of_a_real_device_is_left_as_found() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: setting a queue needs root");
        return;
    }
    let place = place("real");
    let device = match Loop::attach(&place.join("image")) {
        Ok(device) => device,
        Err(reason) => {
            println!("skipped: no loop device: {reason}");
            return;
        }
    };
    // Settings of its own before, so that the kernel's defaults would not pass for restored.
    fs::write(device.file("read_ahead_kb"), "76").unwrap();
    let schedulers = fs::read_to_string(device.file("scheduler")).unwrap();
    let others: Vec<&str> = schedulers
        .split(' ')
        .map(str::trim)
        .filter(|word| !word.is_empty() && !word.starts_with('['))
        .collect();
    let mut settings = vec![(device.file("read_ahead_kb"), "64")];
    match others.first() {
        Some(other) => {
            if fs::write(device.file("nr_requests"), "77").is_err() {
                println!("nr_requests of this device cannot be set before");
            }
            settings.insert(0, (device.file("scheduler"), other));
            settings.push((device.file("nr_requests"), "99"));
        }
        None => println!("no second I/O scheduler here: only read_ahead_kb is set"),
    }
    let found = device.queue();
    for step in ["step applied", "step all", "step undone"] {
        let mut owner = Owner::start(&place, Path::new("/"), &settings);
        owner.wait_for(step);
        drop(owner);
        let (_journal, report) = Journal::open(&options(&place, Path::new("/"))).unwrap();
        assert!(report.is_clean(), "{report}");
        assert_eq!(device.queue(), found, "{report}");
    }
    // And that the settings do take: the same by this process.
    let (mut journal, _) = Journal::open(&options(&place, Path::new("/"))).unwrap();
    for (path, value) in &settings {
        journal.apply(&Setting::new(path, *value)).unwrap();
    }
    assert_ne!(device.queue(), found);
    let report = journal.undo_all(OnConflict::Leave);
    assert!(report.is_clean(), "{report}");
    assert_eq!(device.queue(), found, "{report}");
    drop(device);
    fs::remove_dir_all(&place).unwrap();
}
