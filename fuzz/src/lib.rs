//! Gives hostile bytes to every decoder: whatever they are, it must return, not panic.
//!
//! A seeded mutator of our own instead of libFuzzer: it needs no nightly compiler, runs among the
//! ordinary tests (`fuzz/tests/smoke.rs`) and repeats exactly from seed and iteration. It is not
//! guided by coverage; instead each [`Target`] brings valid inputs and a fix-up that makes the
//! checksums right again, so that mutations get past the checksum to the code behind it.
//!
//! A new target is a module in `targets/` and a row in [`TARGETS`].

mod harness;
mod mutate;
mod pack;
mod rng;
mod targets;

pub use baro_export::parquet::is_panic_caught;
pub use harness::{Failure, Fuzzer};
pub use pack::unpack;
pub use targets::TARGETS;

/// A decoder under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name in the command line, of the folder in `fuzz/corpus/` and in reports.
    pub name: &'static str,
    /// Decodes any bytes; a panic is a find. It may also assert what must hold for valid input.
    pub fuzz_one: fn(&[u8]),
    /// Valid inputs from the encoder, beside those in the corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Makes checksums and the like right after a mutation, where the bytes allow it.
    pub fix_up: fn(&mut [u8]),
}
