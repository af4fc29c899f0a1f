//! A neighbour who makes the folder of a user's rings before that user does.
//!
//! The folder's name is known to everybody where there is no run directory, and /dev/shm is open to
//! all. Invariant: what he lays there is not taken over, and nobody pushes into it; it is said, and
//! rings are elsewhere. With two users, as root; the victim is this program once more.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Producer, Recorder, Rings, attach};
use baro_sys::disk::Disk;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Users that nobody has.
fn users() -> (u32, u32) {
    static PAIRS: AtomicU32 = AtomicU32::new(0);
    let pair = PAIRS.fetch_add(1, Ordering::Relaxed);
    let first = 1_000_000 + 16 * (std::process::id() % 10_000_000) + 2 * pair;
    (first, first + 1)
}

fn options() -> Options {
    Options { ring_bytes: 256 << 10, ..Options::default() }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

struct Scene {
    folder: PathBuf,
    store: PathBuf,
    /// Where the victim's rings would be, with the neighbour in it.
    base: PathBuf,
    victim: u32,
    neighbour: u32,
}

impl Scene {
    fn new(name: &str) -> Option<Self> {
        let (victim, neighbour) = users();
        let folder = std::env::temp_dir().join(format!("baro-squat-{name}-{}", std::process::id()));
        let base = PathBuf::from(format!("/dev/shm/barograph-{victim}"));
        if !baro_sys::schedule::is_root() || !Path::new("/dev/shm").is_dir() {
            println!("skipped: only root can be two users");
            return None;
        }
        let store = folder.join("store");
        let disk = Disk::create(&store).unwrap();
        mode(&folder, 0o755);
        let (when_full, id) = (WhenFull::Stop, StoreId([7; 16]));
        let (segment_bytes, segments, catalog_bytes) = (1 << 20, 4, 1 << 20);
        let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
        init(&disk, &store, id, 1, &geometry, |_| {}).unwrap();
        let scene = Scene { folder, store, base, victim, neighbour };
        if chown(&scene.folder, Some(victim), None).is_err() {
            println!("skipped: users of this number are not to be had here");
            return None;
        }
        scene.declare();
        Some(scene)
    }

    fn declare(&self) {
        let recorder = Recorder::open(&self.store, Options { rings: Rings::Private, ..options() });
        recorder.unwrap().declare(&[("frames", Type::Channel, "")]).unwrap();
        give(&self.folder, self.victim);
    }

    /// The best forgeries: a ring to take over with a frame in it, and one to attach to, of this very
    /// store, in a folder of the neighbour's that anybody may use.
    fn squat(&self) {
        let rings = PathBuf::from(format!("/dev/shm/baro-squat-forge-{}", self.victim));
        let forge = Options { rings: Rings::In(rings.clone()), ..options() };
        let forge = Options { durable_within_ns: 3_600_000_000_000, ..forge };
        let recorder = Recorder::open(&self.store, forge).unwrap();
        let mut producer = recorder.producer().unwrap();
        producer.push_frame(1, 1, b"forged").unwrap();
        recorder.ring_for_attach().unwrap();
        let own = self.base.join(StoreId([7; 16]).to_string());
        fs::create_dir_all(&own).unwrap();
        for ring in fs::read_dir(rings.join(StoreId([7; 16]).to_string())).unwrap() {
            let ring = ring.unwrap();
            fs::copy(ring.path(), own.join(ring.file_name())).unwrap();
            mode(&own.join(ring.file_name()), 0o666);
        }
        drop((producer, recorder));
        fs::remove_dir_all(&rings).unwrap();
        give(&self.base, self.neighbour);
        mode(&self.base, 0o777);
        mode(&own, 0o777);
        give(&self.folder, self.victim);
    }

    /// What the victim sees.
    fn as_victim(&self, role: &str) -> String {
        let output = this_program()
            .args(["--exact", "role", "--nocapture", "--test-threads=1"])
            .env("BARO_SQUAT_ROLE", role)
            .env("BARO_SQUAT_STORE", &self.store)
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("RUNTIME_DIRECTORY")
            .uid(self.victim)
            .gid(self.victim)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// This program once more. On a board's emulator the kernel does not start it by itself.
fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let Some(emulator) = std::env::var_os("BARO_RUN") else { return Command::new(program) };
    let mut command = Command::new(emulator);
    command.arg(program);
    command
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_dir_all(&self.base);
    }
}

fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path(), user));
    }
}

/// What the victim does; nothing in the test process itself.
#[test]
fn role() {
    let Some(role) = std::env::var_os("BARO_SQUAT_ROLE") else { return };
    let store = PathBuf::from(std::env::var_os("BARO_SQUAT_STORE").unwrap());
    if role == "attach" {
        match attach(&store, None) {
            Ok((producer, _)) => println!("attached to {}", producer.path().display()),
            Err(error) => println!("{error}"),
        }
        return;
    }
    if role == "leave" {
        let options = Options { durable_within_ns: 3_600_000_000_000, ..options() };
        let recorder = Recorder::open(&store, options).unwrap();
        recorder.producer().unwrap().push_frame(1, 1, b"left").unwrap();
        // Without a close, as if it were killed.
        std::process::exit(0);
    }
    let recorder = Recorder::open(&store, options()).unwrap();
    let opening = recorder.opening();
    println!("taken over {}, rings in {:?}", opening.rings_taken_over, opening.ring_folder);
    println!("{}", opening.reservations().join("\n"));
    let mut producer = recorder.producer().unwrap();
    producer.push_frame(1, 1, b"honest").unwrap();
    drop(producer);
    let closed = recorder.close();
    println!(
        "{} records, {} lost, {} left",
        closed.status.records, closed.status.lost, closed.left
    );
}

#[test]
fn a_folder_that_a_neighbour_made_is_passed_over_and_told() {
    let Some(scene) = Scene::new("made") else { return };
    scene.squat();
    let said = scene.as_victim("record");
    let passed = format!("no rings are made or taken there: {}", scene.base.display());
    assert!(
        said.contains(&passed) && said.contains(&format!("user {}'s", scene.neighbour)),
        "{said}"
    );
    assert!(
        said.contains("taken over 0, rings in None") && said.contains("private memory"),
        "{said}"
    );
    assert!(said.contains("1 records, 0 lost, 0 left"), "{said}");
    let said = scene.as_victim("attach");
    assert!(
        said.contains("none free of 0") && said.contains(scene.base.to_str().unwrap()),
        "{said}"
    );
    // What he laid there is as it was.
    let own = scene.base.join(StoreId([7; 16]).to_string());
    assert_eq!(fs::read_dir(own).unwrap().count(), 2);
}

#[test]
fn a_link_in_place_of_the_folder_is_not_followed() {
    let Some(scene) = Scene::new("link") else { return };
    scene.squat();
    let hidden = scene.base.with_extension("hidden");
    fs::rename(&scene.base, &hidden).unwrap();
    symlink(&hidden, &scene.base).unwrap();
    std::os::unix::fs::lchown(&scene.base, Some(scene.neighbour), None).unwrap();
    for owner in [scene.neighbour, scene.victim] {
        // Even to a folder of the victim's own.
        give(&hidden, owner);
        mode(&hidden, 0o700);
        let said = scene.as_victim("record");
        assert!(said.contains("taken over 0, rings in None"), "{said}");
        assert!(said.contains("1 records, 0 lost, 0 left"), "{said}");
    }
    fs::remove_file(&scene.base).unwrap();
    fs::remove_dir_all(&hidden).unwrap();
}

#[test]
fn a_folder_of_ones_own_is_closed_to_others_and_nobody_attaches_to_what_they_read() {
    let Some(scene) = Scene::new("own") else { return };
    let said = scene.as_victim("record");
    assert!(said.contains(&format!("rings in Some(\"{}", scene.base.display())), "{said}");
    let made = fs::metadata(&scene.base).unwrap();
    assert_eq!((made.uid(), made.mode() & 0o7777), (scene.victim, 0o700));
    // In a folder that cannot be squatted, a ring that others may read.
    let rings = PathBuf::from(format!("/dev/shm/baro-squat-{}", std::process::id()));
    let recorder =
        Recorder::open(&scene.store, Options { rings: Rings::In(rings.clone()), ..options() });
    let recorder = recorder.unwrap();
    let ring = recorder.ring_for_attach().unwrap();
    assert_eq!(fs::metadata(&ring).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(&rings).unwrap().mode() & 0o7777, 0o700);
    mode(&ring, 0o640);
    let why = Producer::attach(&ring).unwrap_err().to_string();
    assert!(why.contains("a file that only its owner opens, found mode 0640"), "{why}");
    mode(&ring, 0o600);
    fs::hard_link(&ring, rings.join("second")).unwrap();
    let why = Producer::attach(&ring).unwrap_err().to_string();
    assert!(why.contains("a file with one name, found one with 2"), "{why}");
    fs::remove_file(rings.join("second")).unwrap();
    chown(&ring, Some(scene.neighbour), None).unwrap();
    let why = Producer::attach(&ring).unwrap_err().to_string();
    assert!(why.contains(&format!("user {}'s", scene.neighbour)), "{why}");
    chown(&ring, Some(0), None).unwrap();
    assert!(Producer::attach(&ring).is_ok());
    drop(recorder);
    fs::remove_dir_all(&rings).unwrap();
}

#[test]
fn root_takes_over_what_the_recorder_of_the_stores_owner_left() {
    let Some(scene) = Scene::new("left") else { return };
    scene.as_victim("leave");
    let recorder = Recorder::open(&scene.store, options()).unwrap();
    let opening = recorder.opening();
    assert_eq!((opening.rings_taken_over, opening.records_taken_over), (1, 1), "{opening:?}");
    let base = scene.base.display().to_string();
    assert!(!opening.ring_folder.as_ref().unwrap().starts_with(&base), "root has rings of its own");
    assert_eq!(recorder.close().left, 0);
    assert!(!scene.base.join(StoreId([7; 16]).to_string()).exists());
}
