//! Every way out of a store shows the same samples at every moment of its life: random lives of recording
//! (samples of all types, late ones and duplicates, texts, frames with and without a layout), imports,
//! settling, recycling, pins, deletions, backups at rest and beside a recorder, programs that are killed
//! while they record, import, settle or delete, and reopening. After each step all ways are read back, `cat`
//! and the C interface too, and held against each other and against what was pushed. Of four stores one is on
//! a device, the others in memory.
//!
//! `BARO_LIVES_COUNT=1000` runs so many, `BARO_LIVES_SEED=7` begins with that one. A life that fails says
//! its seed and what was done to it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../calls/mod.rs"]
mod calls;
mod forms;
mod life;
#[path = "../place/mod.rs"]
mod place;
mod ways;

use life::Life;
use std::collections::BTreeMap;

/// Lives with each push.
const LIVES: u64 = 4;
const STEPS: u64 = 9;

/// A series or field, and a time.
type Key = (String, i64);
/// What a way out shows: of a series and time the value as text. NaN is null where there is JSON.
type Shown = BTreeMap<Key, String>;

/// As JSON has it.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_owned() }
}

/// What has happened.
#[derive(Default)]
struct Counts {
    moments: u64,
    samples: u64,
    frames: u64,
    done: BTreeMap<&'static str, u64>,
}

fn step(life: &mut Life, counts: &mut Counts) {
    let done = match life.random.below(20) {
        0..2 => life.settle(),
        2..4 => life.go_round(),
        4..6 => life.delete(),
        6 => life.killed_delete(),
        7..9 => life.killed_record(),
        9 => life.killed_import(),
        10 => life.killed_settle(),
        11..13 => life.import(),
        13 => life.pin(),
        14 => life.release(),
        15 => life.record(3, 40),
        _ => life.record(10, 0),
    };
    *counts.done.entry(done).or_default() += 1;
}

fn live(seed: u64, counts: &mut Counts) {
    let mut life = Life::new(seed);
    life.record(6, 10);
    for number in 1..=STEPS {
        step(&mut life, counts);
        let memory_bytes = [1 << 20, 64 << 20][life.random.below(2) as usize];
        let seen = ways::seen(life.path(), memory_bytes);
        life.check(&seen);
        counts.moments += 1;
        counts.samples += seen.samples.len() as u64;
        counts.frames += seen.frames.len() as u64;
        // The second brings what is new since the first.
        if number == STEPS / 2 || number == STEPS {
            let copy = ways::seen(&life.back_up(), memory_bytes);
            assert!(copy.samples == seen.samples, "samples of the copy: {}", life.did);
            assert!(copy.frames == seen.frames, "frames of the copy: {}", life.did);
        }
    }
}

/// Says which life it was, if it fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("BARO_LIVES_SEED={} BARO_LIVES_COUNT=1", self.0);
        }
    }
}

#[test]
fn every_way_out_shows_the_same_at_every_moment() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BARO_LIVES_SEED").unwrap_or(1);
    let lives = number("BARO_LIVES_COUNT").unwrap_or(LIVES);
    let mut counts = Counts::default();
    for seed in first..first + lives {
        let _told = Told(seed);
        live(seed, &mut counts);
        if lives > LIVES && (seed + 1 - first).is_multiple_of(10) {
            let Counts { moments, samples, frames, done } = &counts;
            println!("to {seed}: {moments} moments, {samples} samples, {frames} frames, {done:?}");
        }
    }
    assert_eq!(counts.moments, lives * STEPS);
    assert!(counts.samples > 0 && (lives < LIVES || counts.frames > 0));
}
