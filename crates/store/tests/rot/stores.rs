//! Stores of every kind, each closed in order: one block, several segments, pinned and recycled,
//! settled, killed and recorded into again.

use crate::common::{Folder, Random, options};
use crate::memory::Memory;
use baro_ondisk::{Type, WhenFull};
use baro_recorder::{PinRequest, Producer, Recorder};
use baro_store::{Extent, SettleOptions, Settler};
use std::path::Path;

const NAMES: [(&str, Type, &str); 5] = [
    ("temp", Type::F64, "degC"),
    ("count", Type::I64, ""),
    ("valve{n=\"1\"}", Type::Bool, ""),
    ("message", Type::Text, ""),
    ("camera", Type::Channel, ""),
];

fn open(path: &Path) -> (Recorder, Producer) {
    let recorder = Recorder::open(path, options()).unwrap();
    recorder.declare(&NAMES).unwrap();
    let producer = recorder.producer().unwrap();
    (recorder, producer)
}

fn durable(recorder: &Recorder, producer: &Producer) {
    let sequence = producer.next_sequence();
    assert!(recorder.wait_durable(producer, sequence, 60_000_000_000));
}

/// Pushes of every type; `frame_bytes` of frames fill segments.
fn push(
    recorder: &Recorder,
    producer: &mut Producer,
    random: &mut Random,
    (from, to): (i64, i64),
    frame_bytes: usize,
) {
    for n in from..to {
        let noise = random.below(1 << 40) as f64;
        producer.push_sample(1, n * 1000, (n as f64 / 50.0).sin() * 20.0 + noise).unwrap();
        producer.push_sample(2, n * 1000, random.below(1 << 50) as i64).unwrap();
        producer.push_sample(3, n * 1000, i64::from(n % 3 == 0)).unwrap();
        if n % 5 == 0 {
            producer.push_text(4, n * 1000, &format!("state {n}")).unwrap();
        }
        if n % 7 == 0 {
            let frame: Vec<u8> = (0..frame_bytes).map(|at| (at as i64 * n) as u8).collect();
            producer.push_frame(5, n * 1000, &frame).unwrap();
        }
        if n % 40 == 39 {
            durable(recorder, producer);
        }
    }
    durable(recorder, producer);
}

fn close(recorder: Recorder, producer: Producer) {
    drop(producer);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
}

fn settle(path: &Path) {
    let options = SettleOptions { memory_bytes: 32 << 10, least_bytes: 0, ..Default::default() };
    let mut settler = Settler::open(path, options).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

/// Names of the kinds.
pub const KINDS: [&str; 8] = [
    "one block",
    "several segments",
    "sessions",
    "pinned",
    "settled",
    "partly settled",
    "killed",
    "killed and settled",
];

/// A store of the kind of this number.
pub fn make(kind: usize) -> Memory {
    let mut random = Random(0x517c_c1b7_2722_0a95 + kind as u64);
    let recycles = matches!(kind, 3..6);
    let when_full = if recycles { WhenFull::Recycle } else { WhenFull::Stop };
    let folder = Folder::init(&format!("rot-{kind}"), 5, when_full);
    let path = folder.0.as_path();
    match kind {
        0 => {
            let (recorder, mut producer) = open(path);
            for n in 0..30 {
                producer.push_sample(1, n * 1000, n as f64 * 0.37).unwrap();
            }
            durable(&recorder, &producer);
            close(recorder, producer);
        }
        1 => {
            let (recorder, mut producer) = open(path);
            push(&recorder, &mut producer, &mut random, (0, 700), 20 << 10);
            close(recorder, producer);
        }
        2 => {
            for session in 0..3 {
                let (recorder, mut producer) = open(path);
                let times = (session * 100, session * 100 + 60);
                push(&recorder, &mut producer, &mut random, times, 3000);
                close(recorder, producer);
            }
        }
        3 => {
            // The pin is copied out once it holds more than a quarter, and what follows goes round.
            let (recorder, mut producer) = open(path);
            push(&recorder, &mut producer, &mut random, (0, 480), 20 << 10);
            let (name, before_ns) = ("kept".to_owned(), 60_000_000_000);
            let request = PinRequest { name, before_ns, after_ns: 0 };
            recorder.pin(&request).unwrap();
            push(&recorder, &mut producer, &mut random, (480, 2600), 20 << 10);
            close(recorder, producer);
            assert!(path.join("kept").read_dir().unwrap().next().is_some(), "nothing copied out");
        }
        4 | 5 => {
            let (recorder, mut producer) = open(path);
            push(&recorder, &mut producer, &mut random, (0, 600), 500);
            close(recorder, producer);
            settle(path);
            let (recorder, mut producer) = open(path);
            push(&recorder, &mut producer, &mut random, (600, 900), 500);
            close(recorder, producer);
            if kind == 4 {
                settle(path);
            }
        }
        _ => {
            // A copy of what a running recorder has written is what its death leaves.
            let (recorder, mut producer) = open(path);
            push(&recorder, &mut producer, &mut random, (0, 130), 9000);
            let left = Folder::new(&format!("rot-left-{kind}"));
            copy(path, &left.0);
            close(recorder, producer);
            let (recorder, mut producer) = open(&left.0);
            push(&recorder, &mut producer, &mut random, (130, 150), 500);
            close(recorder, producer);
            if kind == 7 {
                settle(&left.0);
            }
            return Memory::load(&left.0);
        }
    }
    Memory::load(path)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
