//! What others do to a store: they make it hostile before it is read, take parts of it away while it
//! is recorded into, and kill its recorder. Nothing waits for ever, nothing outside the store is
//! touched, and what is lost is told.
//!
//! Random ones run a few times with each push; `BARO_ABUSE_COUNT` says how often instead, and
//! `BARO_ABUSE_SEED` where to begin.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../calls/mod.rs"]
mod calls;
mod feeder;
mod hostile;
mod killed;
#[path = "../place/mod.rs"]
mod place;
mod taken_away;

use std::process::{Child, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest that any call may take: only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a child printed; it is killed, and the test fails, if it does not end.
fn ended(child: Child, what: &str) -> Output {
    let id = child.id().to_string();
    let (done, waits) = std::sync::mpsc::channel();
    let what = what.to_owned();
    let killer = std::thread::spawn(move || {
        let hangs = waits.recv_timeout(PATIENCE).is_err();
        if hangs {
            std::process::Command::new("kill").args(["-KILL", &id]).status().unwrap();
        }
        assert!(!hangs, "{what} did not end");
    });
    let output = child.wait_with_output().unwrap();
    let _ = done.send(());
    killer.join().unwrap();
    output
}

/// How often a random test runs, and with which seeds.
fn seeds(some: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("BARO_ABUSE_SEED").unwrap_or(1);
    first..first + number("BARO_ABUSE_COUNT").unwrap_or(some)
}

/// Runs `each` for all seeds, a few at once.
fn for_each_seed(seeds: std::ops::Range<u64>, at_once: usize, each: impl Fn(u64) + Sync) {
    let (next, end, started) = (AtomicU64::new(seeds.start), seeds.end, Instant::now());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= end {
                            return;
                        }
                        each(seed);
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
    });
    println!("{} seeds in {} s", end - seeds.start, started.elapsed().as_secs());
}

/// A small generator: what a seed says does not depend on a library's version.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn below(&mut self, end: u64) -> u64 {
        for shift in [13_i32, -7, 17] {
            self.0 ^= if shift > 0 { self.0 << shift } else { self.0 >> -shift };
        }
        self.0 % end.max(1)
    }
}
