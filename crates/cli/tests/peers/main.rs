//! What Barograph says is what its peers say: lines of the line protocol are read as InfluxDB reads them, and
//! selectors choose the series that Prometheus chooses.
//!
//! They live in `peers/` of the target folder, where `scripts/peers.sh` unpacks them (`cargo xtask full
//! peers`); without them these tests say so and are counted as skipped. InfluxDB listens on this machine
//! alone, at a port that the kernel gives it; of Prometheus only `promtool` runs.
//!
//! `BARO_PEERS_COUNT=4000` makes so many lines and selectors, `BARO_PEERS_SEED=7` others.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "../calls/mod.rs"]
mod calls;
mod influx;
#[path = "../place/mod.rs"]
mod place;
mod prometheus;

use std::path::{Path, PathBuf};

/// Lines, or selectors, where nobody says how many.
const COUNT: u64 = 300;

/// Where a peer's program is.
fn peer(name: &str) -> Option<PathBuf> {
    // target/debug/baro
    let target = Path::new(env!("CARGO_BIN_EXE_baro")).ancestors().nth(2).unwrap();
    let program = target.join("peers/usr/bin").join(name);
    if !program.exists() {
        println!("skipped: no {name} (scripts/peers.sh {}/peers)", target.display());
        return None;
    }
    Some(program)
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Numbers that come again with the same seed.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Random(number("BARO_PEERS_SEED", 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    /// Up to `most` of these, one after the other.
    fn some(&mut self, all: &[&str], most: u64) -> String {
        (0..self.below(most + 1)).map(|_| self.pick(all)).collect()
    }
}
