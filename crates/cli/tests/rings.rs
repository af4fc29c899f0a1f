//! `baro rings`: what killed recorders left is listed, cleared when nothing would be lost, and given to
//! a store that was restored; a copy is told that it is one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Frames are pushed as they come.
const RAW: [&str; 6] = ["--stdin", "raw", "--frame-bytes", "16", "--channel", "frames"];
const BARO: &str = env!("CARGO_BIN_EXE_baro");

fn baro(arguments: &[&str]) -> String {
    let output = Command::new(BARO).args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

struct Scene {
    folder: Folder,
    rings: PathBuf,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.rings);
    }
}

impl Scene {
    /// A store whose recorder was killed with two records in its ring.
    fn new(name: &str) -> Option<Self> {
        if !fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            println!("skipped: no tmpfs at /dev/shm");
            return None;
        }
        let rings = PathBuf::from(format!("/dev/shm/baro-rings-{name}-{}", std::process::id()));
        let scene = Scene { folder: Folder::new(&format!("rings-{name}")), rings };
        let store = scene.folder.path("store");
        baro(&["init", &store, "--size", "8M"]);
        let at = scene.rings.to_str().unwrap();
        let mut recorder = Command::new(BARO)
            .args(["record", &store, "--rings", at, "--no-settle", "--durable-within", "1h"])
            .args(RAW)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = recorder.stdin.take().unwrap();
        input.write_all(&[7; 32]).unwrap();
        let mut seen = false;
        for _ in 0..2_000 {
            let found = scene.rings(&["--rings", at]);
            seen = found["rings"].as_array().unwrap().iter().any(|ring| ring["waiting"] == 2);
            if seen {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        assert!(seen, "no records came into a ring: {:#}", scene.rings(&["--rings", at]));
        Some(scene)
    }

    fn rings(&self, arguments: &[&str]) -> Value {
        let output =
            Command::new(BARO).args(["rings", "--format", "json"]).args(arguments).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The one ring that there is.
    fn one(&self, arguments: &[&str]) -> Value {
        let at = self.rings.to_str().unwrap();
        let found = self.rings(&[arguments, &["--rings", at]].concat());
        let rings = found["rings"].as_array().unwrap();
        assert_eq!((rings.len(), &found["passed_over"]), (1, &Value::Array(vec![])), "{found:#}");
        rings[0].clone()
    }

    fn copy(&self) -> String {
        let (from, to) = (self.folder.path("store"), self.folder.path("copy"));
        assert!(Command::new("cp").args(["-a", &from, &to]).status().unwrap().success());
        to
    }

    fn record(&self, store: &str) -> String {
        let at = self.rings.to_str().unwrap();
        baro(&[&["record", store, "--rings", at, "--no-settle"][..], &RAW].concat())
    }
}

#[test]
fn rings_of_a_store_that_is_gone_are_listed_and_cleared_only_as_was_said() {
    let Some(scene) = Scene::new("gone") else { return };
    let store = scene.folder.path("store");
    let ring = scene.one(&[]);
    let file = ring["path"].as_str().unwrap().to_owned();
    assert_eq!((&ring["state"], &ring["store_path"]), (&"waits".into(), &store.as_str().into()));
    assert_eq!(scene.one(&["--clear"])["cleared"], false);
    // Records are given up of a store that is named, and of no other.
    let unnamed = ["rings", "--clear", "--with-records"];
    assert_eq!(Command::new(BARO).args(unnamed).output().unwrap().status.code(), Some(2));
    let strange = ["rings", "/no/such/store", "--clear", "--with-records"];
    let output = Command::new(BARO).args(strange).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no store here, and none that was here has left rings"), "{said}");
    fs::remove_dir_all(&store).unwrap();
    let ring = scene.one(&["--clear"]);
    assert_eq!((&ring["state"], &ring["cleared"]), (&"orphan".into(), &false.into()));
    assert!(Path::new(&file).exists());
    let text = baro(&["rings", "--rings", scene.rings.to_str().unwrap()]);
    assert!(text.contains("2 records not in its store; its store is not there"), "{text}");
    assert_eq!(scene.one(&[&store, "--clear", "--with-records"])["cleared"], true);
    assert!(!Path::new(&file).exists());
}

/// One that was renamed, whose folder is away as on a disk that is not mounted, that is on another device
/// then, that was restored, and one of which a ring of 0.1 does not say where it is.
#[test]
fn records_of_a_store_that_may_be_there_are_never_given_up() {
    let Some(scene) = Scene::new("elsewhere") else { return };
    let all = ["--clear", "--with-records"];
    let kept = |why: &str| {
        let ring = scene.one(&["--clear"]);
        assert_eq!((&ring["state"], &ring["cleared"]), (&"unknown".into(), &false.into()), "{why}");
    };
    let (above, store) = (scene.folder.0.clone(), scene.folder.0.join("store"));
    let renamed = scene.folder.0.join("renamed");
    fs::rename(&store, &renamed).unwrap();
    kept("renamed");
    let text = baro(&["rings", "--rings", scene.rings.to_str().unwrap()]);
    assert!(text.contains("was not found where it was"), "{text}");
    fs::rename(&renamed, &store).unwrap();
    let away = above.with_extension("away");
    fs::rename(&above, &away).unwrap();
    kept("not mounted");
    std::os::unix::fs::symlink(&scene.rings, &above).unwrap();
    kept("another device in its place");
    fs::remove_file(&above).unwrap();
    fs::rename(&away, &above).unwrap();
    let copy = scene.copy();
    fs::rename(&store, above.with_extension("away")).unwrap();
    fs::rename(&copy, &store).unwrap();
    kept("restored");
    // As a ring of 0.1: neither device and inode nor a path.
    let path = scene.one(&[])["path"].as_str().unwrap().to_owned();
    let mut bytes = fs::read(&path).unwrap();
    bytes[12..16].fill(0);
    bytes[52..64].fill(0);
    bytes[512..520].fill(0);
    let crc = baro_ondisk::crc32c(0, &bytes[..64]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    fs::OpenOptions::new().write(true).open(&path).unwrap().write_all(&bytes).unwrap();
    kept("of 0.1");
    // By the store's name they go.
    let named = scene.one(&[&[store.to_str().unwrap()][..], &all].concat());
    assert_eq!(named["cleared"], true);
    fs::remove_dir_all(above.with_extension("away")).unwrap();
}

#[test]
fn a_copy_is_told_whose_the_ring_is_and_what_to_do() {
    let Some(scene) = Scene::new("copy") else { return };
    let (store, copy) = (scene.folder.path("store"), scene.copy());
    let said = scene.record(&copy);
    assert!(said.contains("a ring was not taken over: ") && said.contains("one of them is a copy"));
    assert!(said.contains(&store) && !said.contains("took over"), "{said}");
    // Not by way of the copy either.
    assert_eq!(scene.one(&[&copy, "--clear", "--with-records"])["cleared"], false);
    let said = scene.record(&store);
    assert!(said.contains("took over 1 ring of an earlier recorder, 2 records"), "{said}");
    let info: Value = serde_json::from_str(&baro(&["info", &store, "--format", "json"])).unwrap();
    assert_eq!(info["records"], 2);
}

#[test]
fn a_restored_store_is_given_its_rings() {
    let Some(scene) = Scene::new("restored") else { return };
    let copy = scene.copy();
    fs::remove_dir_all(scene.folder.path("store")).unwrap();
    let ring = scene.one(&[&copy, "--adopt"]);
    assert_eq!((&ring["state"], &ring["adopted"]), (&"orphan".into(), &true.into()));
    let ring = scene.one(&[]);
    assert_eq!((&ring["state"], &ring["store_path"]), (&"waits".into(), &copy.as_str().into()));
    let said = scene.record(&copy);
    assert!(said.contains("took over 1 ring of an earlier recorder, 2 records"), "{said}");
    // Its folder has gone with it.
    assert_eq!(fs::read_dir(&scene.rings).unwrap().count(), 0);
}

/// The log takes some frames, the ring some more, and the rest is refused: that waits nowhere.
#[test]
fn what_was_refused_does_not_wait_in_a_ring() {
    if !fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
        println!("skipped: no tmpfs at /dev/shm");
        return;
    }
    let rings = PathBuf::from(format!("/dev/shm/baro-rings-refused-{}", std::process::id()));
    let scene = Scene { folder: Folder::new("rings-refused"), rings };
    let (store, at) = (scene.folder.path("store"), scene.rings.to_str().unwrap());
    baro(&["init", &store, "--size", "2M"]);
    let record = ["record", &store, "--rings", at, "--ring", "256K", "--format", "json"];
    let source = ["--generate", "--frame-bytes", "4K", "--interval", "100us", "--for", "1s"];
    let output = Command::new(BARO).args([&record[..], &source].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let waits = report["left_in_rings"].as_u64().unwrap();
    assert!(waits > 0 && report["lost"].as_u64() > Some(0), "{report:#}");
    assert_eq!(scene.one(&[])["waiting"], waits, "{report:#}");
    let mut again = Command::new(BARO);
    let again = again.args([&record[..], &["--stdin", "csv"]].concat()).stdin(Stdio::null());
    let again = again.output().unwrap();
    let report: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(report["records_taken_over"], waits, "{report:#}");
}
