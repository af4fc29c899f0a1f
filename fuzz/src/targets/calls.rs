//! The C interface: an input is drawn from until it is over, and says which functions are called and with what.
//! A call that returns what the header does not list, or a sample that is not read back, is a find.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "calls functions of C; its model is that of the interface's tests"
)]

#[path = "../../../crates/capi/tests/calls/mod.rs"]
mod sequences;

#[path = "../../../crates/capi/tests/checked/mod.rs"]
mod checked;
#[path = "../../../crates/capi/tests/place/mod.rs"]
mod place;
#[path = "../../../crates/capi/tests/world/mod.rs"]
mod world;

use crate::Target;
use world::Random;

/// Calls of an input at most.
const CALLS: u64 = 400;

pub(crate) const CALLS_OF_C: Target =
    Target { name: "calls", fuzz_one: calls, seeds, fix_up: |_| {} };

fn calls(bytes: &[u8]) {
    let thread = format!("{:?}", std::thread::current().id());
    let number: String = thread.chars().filter(char::is_ascii_digit).collect();
    let mut random = Random::Bytes(Vec::from(bytes).into_iter());
    sequences::sequence(&format!("fuzz-{number}"), &mut random, CALLS);
}

/// Some of each kind of call, in an order without sense.
fn seeds() -> Vec<Vec<u8>> {
    let of =
        |seed: u8| (0..600_u32).map(|n| (n * n * 7 + n * u32::from(seed)) as u8 % 0xf0).collect();
    (1..4).map(of).collect()
}
