//! What a sample costs the writer's thread, and how many bytes reach the device:
//!
//!     cargo run --release -p baro-recorder --example sample_costs -- FOLDER [SAMPLES]
//!
//! Rounds over all sensors in batches of one time, ids ascending, values a random walk of
//! thousandths. Makes a store in FOLDER for each row; prints, tests nothing.
#![allow(clippy::disallowed_methods, reason = "an example that measures reads /proc")]

use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, WhenFull};
use baro_recorder::{Options, Producer, Recorder};
use baro_sys::disk::Disk;
use baro_sys::{clock, identity};
use std::path::Path;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(folder) = arguments.get(1).map(Path::new) else {
        eprintln!("usage: sample_costs FOLDER [SAMPLES]");
        std::process::exit(2);
    };
    let samples: usize = arguments.get(2).map_or(Ok(20_000_000), |text| text.parse())?;
    println!(
        "{:>9} {:>7} {:>12} {:>11} {:>9}",
        "sensors", "batch", "M samples/s", "writer ns", "device B"
    );
    for (sensors, batch) in [
        (1_000, 1_000),
        (100_000, 1_000),
        (100_000, 10_000),
        (1_000_000, 1_000),
        (1_000_000, 10_000),
    ] {
        let store = folder.join(format!("s{sensors}-{batch}"));
        row(&store, sensors, batch, samples)?;
        std::fs::remove_dir_all(&store)?;
    }
    Ok(())
}

fn row(store: &Path, sensors: usize, batch: usize, samples: usize) -> Outcome<()> {
    let geometry = Geometry::for_log(256 << 20, WhenFull::Recycle)?;
    let mut id = StoreId::default();
    identity::random(&mut id.0)?;
    init(&Disk::create(store)?, store, id, clock::realtime_ns(), &geometry, |_| {})?;
    let options = Options { ring_bytes: 64 << 20, ..Options::default() };
    let recorder = Recorder::open(store, options)?;
    let mut producer = recorder.producer()?;
    // Made before, so that the processors have nothing else to do; a walk that repeats is one too.
    let ids: Vec<u32> = (1..=sensors as u32).collect();
    let rounds: Vec<Vec<f64>> = walks(sensors, (4_000_000 / sensors).max(2));
    let start_ns = clock::monotonic_ns();
    let (mut pushed, mut round) = (0, 0);
    while pushed < samples {
        let values = rounds.get(round % rounds.len()).ok_or("no rounds")?;
        for (ids, values) in ids.chunks(batch).zip(values.chunks(batch)) {
            let time_ns = 1_700_000_000_000_000_000 + pushed as i64 * 1_000;
            wait_for_room(&producer, ids.len());
            producer.push_samples(time_ns, ids, values)?;
            pushed += ids.len();
        }
        round += 1;
    }
    let next = producer.next_sequence() - 1;
    recorder.wait_durable(&producer, next, 60_000_000_000);
    let took_ns = clock::monotonic_ns() - start_ns;
    let writer_ns = writer_ns();
    drop(producer);
    let closed = recorder.close();
    let each = |of: u64| of as f64 / pushed as f64;
    println!(
        "{sensors:>9} {batch:>7} {:>12.1} {:>11.2} {:>9.3}",
        1e3 / each(took_ns),
        each(writer_ns),
        each(closed.status.device_bytes),
    );
    Ok(())
}

fn wait_for_room(producer: &Producer, samples: usize) {
    while producer.free_bytes() < Producer::record_bytes(8 + samples * 12) {
        clock::sleep_ns(200_000);
    }
}

fn walks(sensors: usize, rounds: usize) -> Vec<Vec<f64>> {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as i64
    };
    let mut now: Vec<i64> = (0..sensors).map(|_| random() % 100_000).collect();
    let mut one = || {
        now.iter_mut().for_each(|value| *value += random() % 11 - 5);
        now.iter().map(|value| *value as f64 / 1000.0).collect()
    };
    (0..rounds).map(|_| one()).collect()
}

/// Processor time of the writer's thread.
fn writer_ns() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| {
        let text = |name: &str| std::fs::read_to_string(task.path().join(name)).ok();
        let name = text("comm")?;
        let times = text("schedstat")?;
        (name.trim() == "baro-writer").then(|| times.split(' ').next()?.parse::<u64>().ok())?
    };
    tasks.filter_map(of).sum()
}
