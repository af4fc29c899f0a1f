//! What settling holds while it merges runs: the promise of docs/settling.md, whatever the store has.
//! A program of its own, since the kernel counts the memory of a process.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Extent, Interval, Query, SettleOptions, Settler, Store, Values};
use common::{Folder, options};
use std::ops::ControlFlow;

/// What docs/settling.md promises.
const PROMISED_BYTES: u64 = 32 << 20;
const RUNS: i64 = 8;
/// Texts of each run: in all they are more than three times what is promised.
const TEXTS: i64 = 50_000;

/// One of 1,000 lines of 200 bytes.
fn line(time_ns: i64) -> String {
    format!("{:0>200}", time_ns * 7919 % 1000)
}

fn settling(fan_in: usize) -> SettleOptions {
    SettleOptions { least_bytes: 0, fan_in, ..SettleOptions::default() }
}

/// Of /proc/self/status, in bytes.
fn status(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// What `work` returns, and how much more memory the process had meanwhile than before.
fn risen<T>(work: impl FnOnce() -> T) -> Option<(T, u64)> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = status("VmRSS:")?;
    let done = work();
    Some((done, status("VmHWM:")?.saturating_sub(before)))
}

/// Runs of as many texts and numbers, one behind the other or all at the same times.
fn store(name: &str, apart: bool) -> Folder {
    let folder = Folder::init(name, 24, WhenFull::Recycle);
    for run in 0..RUNS {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let wanted = [("lines", Type::Text, ""), ("numbers", Type::I64, "")];
        recorder.declare(&wanted).unwrap();
        let mut producer = recorder.producer().unwrap();
        for n in 0..TEXTS {
            let time_ns = if apart { run * TEXTS + n } else { n * RUNS + run };
            while producer.free_bytes() < 1 << 15 {
                std::thread::yield_now();
            }
            producer.push_text(1, time_ns, &line(time_ns)).unwrap();
            producer.push_sample(2, time_ns, time_ns).unwrap();
        }
        drop(producer);
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
        let mut settler = Settler::open(&folder.0, settling(100)).unwrap();
        while settler.step(Extent::All).unwrap().more {}
    }
    folder
}

fn texts(folder: &Folder) -> i64 {
    let (store, mut next) = (Store::open(&folder.0).unwrap(), 0);
    let notes = store.query_ids(&[1], &Query::raw(Interval::ALL), |batch| {
        let Values::Text(texts) = batch.values else { panic!("{batch:?}") };
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            assert_eq!((*time_ns, texts.get(at).unwrap()), (next, line(next).as_str()));
            next += 1;
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    next
}

#[test]
fn runs_of_texts_are_merged_within_the_memory_that_is_promised() {
    for (name, apart) in [("settle-memory-apart", true), ("settle-memory-at-once", false)] {
        let folder = store(name, apart);
        let mut settler = Settler::open(&folder.0, settling(RUNS as usize)).unwrap();
        let Some((done, bytes)) = risen(|| settler.step(Extent::All).unwrap()) else {
            println!(
                "skipped: /proc/self/clear_refs, by which memory is measured, cannot be written"
            );
            return;
        };
        assert_eq!((done.merged, done.samples), (1, (2 * RUNS * TEXTS) as u64), "{done:?}");
        println!("{name}: {} samples merged with {} KiB more", done.samples, bytes >> 10);
        assert!(bytes < PROMISED_BYTES, "{bytes} bytes to merge, promised {PROMISED_BYTES}");
        assert_eq!(texts(&folder), RUNS * TEXTS);
    }
}
