//! Settling on a real folder beside a real recorder: killed at random moments, on a file system that
//! is full, and with many readers: each of them sees what was durable before it looked, once.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, Random, init_at, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::{Options, Producer, Recorder, Retention};
use baro_store::{Error, Extent, Interval, Query, SettleOptions, Settler, Store, Values};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Series 1 has the number of each push at its number as time; the others have it too, at random.
const SERIES: u32 = 40;

fn recording(path: &Path) -> (Recorder, Producer) {
    let retention = Retention { keep_unsettled: true, ..Retention::default() };
    let recorder = Recorder::open(path, Options { retention, ..options() }).unwrap();
    let names: Vec<String> = (1..=SERIES).map(|id| format!("s{id}")).collect();
    let wanted: Vec<_> = names.iter().map(|name| (name.as_str(), Type::I64, "")).collect();
    recorder.declare(&wanted).unwrap();
    let producer = recorder.producer().unwrap();
    (recorder, producer)
}

/// Pushes a batch that is taken; returns the sequence behind it.
fn push(producer: &mut Producer, random: &mut Random, number: u64) -> u64 {
    let (mut ids, mut times_ns, mut values) = (vec![1], vec![number as i64], vec![number as i64]);
    for _ in 0..200 {
        ids.push(2 + random.below(u64::from(SERIES) - 1) as u32);
        times_ns.push(number as i64);
        values.push(random.below(1 << 40) as i64);
    }
    // What is refused takes a number too.
    while producer.free_bytes() < 32 << 10 {
        std::thread::sleep(Duration::from_millis(1));
    }
    producer.push_batch(&times_ns, &ids, &values).unwrap();
    producer.next_sequence()
}

/// Pushes that are read: each once, in order.
fn numbers(store: &Store) -> Result<u64, Error> {
    let mut next = 0;
    let notes = store.query_ids(&[1], &Query::raw(Interval::ALL), |batch| {
        let Values::I64(values) = batch.values else { panic!("{batch:?}") };
        for (time_ns, value) in batch.times_ns.iter().zip(values) {
            assert_eq!((*time_ns, *value), (next, next), "each once, none is missing");
            next += 1;
        }
        ControlFlow::Continue(())
    })?;
    assert_eq!(notes.read.damage, []);
    assert_eq!(store.damage_so_far(), []);
    Ok(next as u64)
}

/// What is there for whoever looks now; a log that was recycled meanwhile is looked at again.
fn look(path: &Path) -> u64 {
    for _ in 0..1000 {
        match numbers(&Store::open(path).unwrap()) {
            Ok(found) => return found,
            Err(Error::Recycled { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the log is recycled faster than it is read");
}

fn small() -> SettleOptions {
    SettleOptions { memory_bytes: 512 << 10, least_bytes: 0, fan_in: 4, ..Default::default() }
}

fn settle(path: &Path, ended: impl Fn() -> bool) {
    let mut settler = Settler::open(path, small()).unwrap();
    while !ended() {
        let done = settler.step(Extent::All).unwrap();
        assert_eq!(done.damage, []);
    }
}

/// Played by a child of the test below: settles until it is killed.
#[test]
fn role() {
    if let Ok(path) = std::env::var("BARO_SETTLE") {
        settle(Path::new(&path), || false);
    }
}

#[test]
fn settlers_that_are_killed_leave_what_is_read_as_it_was() {
    let folder = Folder::init("settle-kill", 4, WhenFull::Recycle);
    let (recorder, mut producer) = recording(&folder.0);
    let (mut random, mut number) = (Random(0x51_7e), 0);
    for round in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "settle_real::role", "--test-threads=1"])
            .env("BARO_SETTLE", &folder.0)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let until = std::time::Instant::now() + Duration::from_millis(10 + random.below(120));
        let mut sequence = 0;
        while std::time::Instant::now() < until && producer.free_bytes() >= 32 << 10 {
            sequence = push(&mut producer, &mut random, number);
            number += 1;
        }
        assert!(child.try_wait().unwrap().is_none(), "round {round}: the settler has ended");
        child.kill().unwrap();
        child.wait().unwrap();
        let durable = producer.durable();
        let found = look(&folder.0);
        assert!((durable..=number).contains(&found), "round {round}: {durable} {found} {number}");
        // A log full of what is in no run holds the rest up.
        while !recorder.wait_durable(&producer, sequence, 100_000_000) {
            Settler::open(&folder.0, small()).unwrap().step(Extent::All).unwrap();
        }
        assert_eq!(look(&folder.0), number, "round {round}");
    }
    let store = Store::open(&folder.0).unwrap();
    assert!(store.info().unwrap().runs > 0);
    let _ = recorder.close();
    let mut settler = Settler::open(&folder.0, small()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    assert_eq!(look(&folder.0), number);
}

#[test]
fn eight_readers_see_what_was_durable_before_they_looked() {
    let folder = Folder::init("settle-readers", 4, WhenFull::Recycle);
    let (recorder, mut producer) = recording(&folder.0);
    let (durable, ended, rounds) = (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0));
    let over = || ended.load(Ordering::Acquire);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut store = Store::open(&folder.0).unwrap();
                while !over() {
                    let before = durable.load(Ordering::Acquire);
                    store.refresh().unwrap();
                    match numbers(&store) {
                        Ok(found) => {
                            assert!(found >= before, "{found} of {before}");
                            rounds.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::Recycled { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        scope.spawn(|| settle(&folder.0, over));
        let mut random = Random(5);
        for number in 0..4000 {
            let sequence = push(&mut producer, &mut random, number);
            if number % 50 == 49 {
                assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
                durable.store(number + 1, Ordering::Release);
            }
        }
        ended.store(true, Ordering::Release);
    });
    assert!(recorder.status().segments_started > 4, "{:?}", recorder.status());
    let _ = recorder.close();
    assert_eq!(look(&folder.0), 4000);
    assert!(rounds.load(Ordering::Relaxed) >= 8, "{rounds:?}");
}

/// A small file system of its own.
struct Mounted(Folder);

impl Mounted {
    fn new(name: &str, mib: u32) -> Option<Self> {
        let folder = Folder::new(name);
        std::fs::create_dir_all(&folder.0).unwrap();
        let size = format!("size={mib}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]);
        let done = mount.arg(&folder.0).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then_some(Mounted(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0.0).status();
    }
}

#[test]
fn a_full_file_system_stops_settling_and_recording_goes_on() {
    let Some(mounted) = Mounted::new("settle-full", 7) else {
        println!("skipped: no tmpfs can be mounted");
        return;
    };
    let path = mounted.0.0.join("store");
    init_at(&path, *b"store id of test", 4, WhenFull::Recycle);
    let (recorder, mut producer) = recording(&path);
    let (mut random, mut number, mut sequence) = (Random(9), 0, 0);
    for _ in 0..100 {
        sequence = push(&mut producer, &mut random, number);
        number += 1;
    }
    assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
    let mut settler = Settler::open(&path, small()).unwrap();
    // Nothing is left of it.
    let filler = mounted.0.0.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    drop(file);
    let mut refused = 0;
    for _ in 0..3 {
        // The first may find nothing that is certain yet, and a dictionary may be missing.
        match settler.step(Extent::All) {
            Ok(done) => assert_eq!(done.runs, 0),
            Err(error) => {
                assert!(error.to_string().contains("No space"), "{error}");
                refused += 1;
            }
        }
        assert_eq!(look(&path), number);
        for _ in 0..20 {
            sequence = push(&mut producer, &mut random, number);
            number += 1;
        }
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
    }
    assert!(refused > 0);
    std::fs::remove_file(&filler).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    assert!(settler.into_store().info().unwrap().runs > 0);
    assert_eq!(look(&path), number);
    let _ = recorder.close();
}
