//! What child processes do: a recorder, and a producer that attaches to its ring.
//!
//! They are told what to do by files on a tmpfs, so that nothing but a SIGKILL can hold them up.

use super::scene::Scene;
use super::truth::{CHANNEL, Truth, frame};
use baro_recorder::{Options, Producer, Recorder, Refused};
use baro_sys::clock::sleep_ns;
use std::os::unix::process::parent_id;
use std::path::Path;

/// Plays the role that the environment names, if any.
pub fn run() {
    let (Some(role), Some(scene)) = (std::env::var_os("BARO_REAL_ROLE"), Scene::inherited()) else {
        return;
    };
    match role.to_str() {
        Some("recorder") => recorder(&scene),
        Some("producer") => producer(&scene),
        Some("copied") => copied(&scene),
        Some("places") => super::places::count::count_in_own_namespace(&scene),
        Some("journal") => super::kernel::count_in_own_namespace(&scene),
        Some("slow") => super::slow::record(&scene),
        other => panic!("no role {other:?}"),
    }
}

/// Opens the store, makes a ring unless there is one, signals `ring` and `open`, and closes when
/// `close` is signalled; then signals `closed` with how many records are left.
fn recorder(scene: &Scene) {
    let parent = parent_id();
    let recorder = scene.open();
    if scene.signalled("ring").is_none() {
        let ring = recorder.ring_for_attach().unwrap();
        scene.signal("ring", ring.to_str().unwrap());
    }
    scene.signal("open", "");
    let mut said = Vec::new();
    while scene.signalled("close").is_none() && parent_id() == parent {
        sleep_ns(500_000);
        let complaints = recorder.complaints();
        if complaints != said {
            scene.signal("complaints", &complaints.join("\n"));
            said = complaints;
        }
    }
    scene.signal("closing", "");
    let closed = recorder.close();
    let status = &closed.status;
    scene.signal("lost", &format!("{} {}", status.rings_broken, status.lost));
    scene.signal("closed", &closed.left.to_string());
}

/// Records what stays in its ring, and waits to be killed.
fn copied(scene: &Scene) {
    let parent = parent_id();
    let options = Options { durable_within_ns: 3_600_000_000_000, ..scene.options() };
    let recorder = Recorder::open(scene.store(), options).unwrap();
    let mut producer = recorder.producer().unwrap();
    for sequence in 0..100_u8 {
        producer.push_frame(CHANNEL, 1, &[sequence; 100]).unwrap();
    }
    scene.signal("open", "");
    while parent_id() == parent {
        sleep_ns(500_000);
    }
}

/// Pushes generated frames until `stop` is signalled, noting what it is told.
fn producer(scene: &Scene) {
    let parent = parent_id();
    let ring = scene.signalled("ring").unwrap();
    let truth = Truth::open(scene.shared());
    let mut producer = Producer::attach(Path::new(&ring)).unwrap();
    let id = producer.report().producer;
    let mut payload = Vec::with_capacity(64 << 10);
    let mut closed = truth.read().closed;
    scene.signal("attached", "");
    while scene.signalled("stop").is_none() && parent_id() == parent {
        for _ in 0..32 {
            let sequence = producer.next_sequence();
            frame(id, sequence, &mut payload);
            match producer.push_frame(CHANNEL, sequence as i64, &payload) {
                Ok(given) => {
                    assert_eq!(given, sequence);
                    truth.note(sequence, true);
                }
                Err(Refused::RingFull) => truth.note(sequence, false),
                Err(Refused::Closed) => closed += 1,
                Err(other) => panic!("{other}"),
            }
            truth.note_head(id, producer.durable(), closed);
            sleep_ns(40_000);
        }
    }
}
