//! Random sequences of calls, valid ones and misuse in turn, against a model: nothing crashes, each call
//! returns what the header says (`checked`), and what was accepted is read back bit for bit, all of it and
//! nothing else.
//!
//! `BARO_CALL_SEQUENCES=1000` makes as many sequences, `BARO_CALL_SEED=17` only that one; a push makes a
//! few.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod calls;
mod checked;
mod place;
mod world;

use world::Random;

const CALLS: u64 = 400;

#[test]
fn any_sequence_of_calls_ends_with_all_that_was_accepted() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let only = number("BARO_CALL_SEED");
    let count = number("BARO_CALL_SEQUENCES").unwrap_or(4_u64);
    let mut rows = 0;
    for seed in only.map_or(1..count + 1, |seed| seed..seed + 1) {
        println!("seed {seed}");
        rows += calls::sequence(&format!("sequence-{seed}"), &mut Random::of_seed(seed), CALLS);
    }
    println!("{rows} rows");
    assert!(only.is_some() || rows as u64 > 100 * count, "{rows} rows: what was tested?");
}
