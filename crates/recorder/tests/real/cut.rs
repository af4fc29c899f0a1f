//! A ring's file that somebody shortens while recorder and producer have it mapped, and rings of a
//! store of which there is a copy.
//!
//! Invariants: neither process ends; what is recorded is right, what was in the ring is counted, the
//! producer is told at its next push. A ring goes to the store that it was made for, wherever that is
//! moved, and to no copy of it.

use super::process::{Role, sleep_ms, wait_for};
use super::reading::read;
use super::scene::{Owned, Scene};
use super::truth::{CHANNEL, Told, Truth, frame};
use baro_ondisk::{Gap, Kind, Type};
use baro_recorder::inspect::rings_at;
use baro_recorder::{Recorder, Trouble, attach};
use baro_sys::sim::Rng;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

fn rounds() -> u64 {
    match std::env::var("BARO_TEST_TIER").as_deref() {
        Ok("push") | Err(_) => 6,
        Ok(_) => 40,
    }
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_ring_that_is_cut_off_ends_nobody_and_is_counted() {
    let mut rng = Rng::new(26);
    for round in 0..rounds() {
        let Some(scene) = Scene::new("cut", 40).map(Owned) else { return };
        println!("round {round}");
        let mut recorder = Role::start("recorder", &scene);
        wait_for("a recorder", || scene.signalled("open").is_some());
        let mut producer = Role::start("producer", &scene);
        wait_for("a producer", || scene.signalled("attached").is_some());
        sleep_ms(30 + rng.below(60));
        let ring = PathBuf::from(scene.signalled("ring").unwrap());
        let bytes = fs::metadata(&ring).unwrap().len();
        let left = match round % 3 {
            0 => 0,
            1 => rng.below(bytes),
            _ => 4096 * (1 + rng.below(bytes / 4096 - 1)),
        };
        let before = Truth::open(scene.shared()).read().known();
        cut(&ring, left);
        let again = round % 2 == 1;
        if again {
            // As a stray `>` and a program that writes on: there are pages again, but others.
            cut(&ring, bytes);
        }
        // If the header is there and there are pages again before anybody looked, the ring goes on;
        // what was in it is damaged.
        let may_go_on = left >= 128 && again;
        let seen = |told: &Told| told.closed > 0 || may_go_on && told.known() > before + 300;
        wait_for("what becomes of pushes", || {
            assert!(
                !producer.ended() && !recorder.ended(),
                "round {round}: {left} of {bytes} left"
            );
            seen(&Truth::open(scene.shared()).read())
        });
        if !may_go_on {
            wait_for("that the recorder says it", || {
                scene
                    .signalled("complaints")
                    .is_some_and(|said| said.contains("rings are given up"))
            });
        }
        scene.signal("stop", "");
        producer.join();
        scene.signal("close", "");
        recorder.join();
        let lost = scene.signalled("lost").unwrap();
        let mut numbers = lost.split_whitespace().map(|number| number.parse().unwrap_or(0_u64));
        let (broken, lost_records) = (numbers.next().unwrap(), numbers.next().unwrap());
        if broken == 0 {
            assert!(may_go_on, "round {round}: {left} of {bytes} left: {lost}");
        } else {
            assert!(lost_records > 0, "round {round}: {left} of {bytes} left: {lost}");
        }
        check(&scene, lost_records, may_go_on);
    }
}

/// No gap finds room any more: what the ring held is lost all the same, and counted.
#[test]
fn what_a_cut_ring_held_is_lost_also_when_the_log_is_full() {
    let Some(scene) = Scene::new("cut-full", 2).map(Owned) else { return };
    let recorder = scene.open();
    let id = recorder.declare(&[("frames", Type::Channel, "")]).unwrap()[0];
    let ring = recorder.ring_for_attach().unwrap();
    let (mut producer, _) = attach(scene.store(), Some(&scene.rings())).unwrap();
    let mut offered = 0;
    wait_for("a full log", || {
        let _ = producer.push_frame(id, 1, &[7; 8000]);
        offered += 1;
        recorder.status().trouble == Trouble::LogFull
    });
    let _ = producer.push_frame(id, 1, &[7; 8000]);
    offered += 1;
    // What was pushed since the writer's last look nobody knows of any more.
    sleep_ms(200);
    let waits = offered - producer.durable();
    cut(&ring, 0);
    wait_for("that the ring is given up", || recorder.status().rings_broken == 1);
    assert!(recorder.lost() >= waits, "{waits}: {:?}", recorder.status());
    drop(producer);
    let closed = recorder.close();
    assert!(closed.refused >= waits, "{closed:?}");
}

/// What is in the log is what was pushed, up to a gap that has all the rest. If the file was as long as
/// before again when anybody looked, what had been cut off may be zeros: a ring has no checksums.
fn check(scene: &Scene, lost: u64, zeros: bool) {
    let told = Truth::open(scene.shared()).read();
    let (mut next, mut missing, mut expected) = (0, 0, Vec::new());
    for entry in read(scene.store()).iter().filter(|entry| entry.producer == told.producer) {
        assert_eq!(entry.sequence, next);
        if entry.kind == Kind::Gap {
            let gap = Gap::decode(&entry.payload).unwrap();
            (next, missing) = (next + gap.lost(), missing + gap.lost());
            continue;
        }
        frame(told.producer, next, &mut expected);
        assert_eq!((entry.kind, entry.stream), (Kind::Frame, CHANNEL));
        assert_eq!(entry.payload.len(), expected.len());
        let mut both = entry.payload.iter().zip(&expected);
        let same = both.all(|(found, expected)| found == expected || zeros && *found == 0);
        assert!(same, "record {next} has other contents");
        next += 1;
    }
    assert_eq!(missing, lost);
}

fn killed(name: &str) -> Option<Owned> {
    let scene = Owned(Scene::new(name, 8)?);
    let recorder = Role::start("copied", &scene);
    wait_for("a recorder", || scene.signalled("open").is_some());
    recorder.kill();
    assert_eq!(scene.ring_files().len(), 1);
    Some(scene)
}

fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(done.success());
}

#[test]
fn a_copy_does_not_take_the_rings_of_its_original() {
    let Some(scene) = killed("copied") else { return };
    let copied = scene.shared().join("copy");
    copy(scene.store(), &copied);
    let recorder = Recorder::open(&copied, scene.options()).unwrap();
    let refused = &recorder.opening().rings_refused;
    assert!(refused.len() == 1 && refused[0].contains("one of them is a copy"), "{refused:?}");
    assert!(refused[0].contains(scene.store().to_str().unwrap()), "{refused:?}");
    assert_eq!(recorder.opening().rings_taken_over, 0);
    // Both at once, of one id: each with its own.
    let original = scene.open();
    assert_eq!(
        (original.opening().rings_taken_over, original.opening().records_taken_over),
        (1, 100)
    );
    let ring = recorder.ring_for_attach().unwrap();
    let why = attach(scene.store(), Some(&scene.rings())).unwrap_err().to_string();
    assert!(why.contains("none free of 0; 1 belong to the store"), "{why}");
    let (attached, _) = attach(&copied, Some(&scene.rings())).unwrap();
    assert_eq!(attached.path(), ring);
    drop(attached);
    assert_eq!((recorder.close().left, original.close().left), (0, 0));
    let frames = |store: &Path| read(store).iter().filter(|e| e.kind == Kind::Frame).count();
    assert_eq!((frames(scene.store()), frames(&copied)), (100, 0));
    assert_eq!(scene.ring_files(), Vec::<PathBuf>::new());
}

#[test]
fn a_store_that_is_moved_finds_its_rings_and_one_that_is_restored_is_given_them() {
    let Some(scene) = killed("moved") else { return };
    let moved = scene.store().with_extension("moved");
    fs::rename(scene.store(), &moved).unwrap();
    let id = baro_log::read_identity(&baro_sys::disk::Disk::open(&moved).unwrap(), &moved).unwrap();
    let rings = |store: &Path| rings_at(store, id.store, Some(&scene.rings())).rings;
    let found = rings(&moved);
    assert!(found.len() == 1 && found[0].is_of(&moved) && found[0].has_store().is_none());
    assert!(found[0].clear(false).unwrap_err().to_string().contains("100 records are not"));
    // Restored from a backup: another file, of which only its owner can know what it is.
    copy(&moved, scene.store());
    let found = rings(scene.store());
    assert!(!found[0].is_of(scene.store()));
    found[0].adopt(scene.store(), id.store).unwrap();
    let found = rings(scene.store());
    assert!(found[0].is_of(scene.store()) && !found[0].is_of(&moved));
    assert_eq!(found[0].has_store(), Some(true));
    let recorder = scene.open();
    assert_eq!(recorder.opening().records_taken_over, 100);
    assert!(
        rings(scene.store())[0].clear(true).unwrap_err().to_string().contains("uses this ring")
    );
    assert_eq!(recorder.close().left, 0);
    let _ = fs::remove_dir_all(&moved);
}
