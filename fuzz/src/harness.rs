//! Runs a target over mutated inputs. Input `i` is a pure function of corpus, seed and `i`: a
//! find repeats by itself, and several processes can share the work by seeds.
//!
//! A find is a panic, and what takes more memory or more allocations than docs/limits.md grants to an
//! input of its size. Both are counted where the program has the measuring allocator.

use crate::Target;
use crate::mutate::mutate;
use crate::rng::Rng;
use baro_sys::counters::{Memory, measured};
use std::cell::Cell;
use std::fmt;
use std::panic::{catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// Memory of a reader: so much, and so many bytes for each of its input.
const MEMORY_BYTES: i64 = 64 << 20;
const MEMORY_TIMES: i64 = 4;
/// Allocations, which stand for its steps: of all readers an analysis of a trace makes most, for each
/// node of a chain a few.
const ALLOCATIONS: i64 = 1 << 21;
const ALLOCATIONS_PER_BYTE: i64 = 64;

thread_local! {
    static IN_SILENCE: Cell<bool> = const { Cell::new(false) };
}

/// Runs it without a word about panics of this thread: who prints one looks its functions up, which takes
/// more memory than any input, and a reader may panic inside and make an error of it.
fn in_silence<T>(run: impl FnOnce() -> T) -> T {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = take_hook();
        set_hook(Box::new(move |info| {
            if !IN_SILENCE.get() {
                told(info);
            }
        }));
    });
    IN_SILENCE.set(true);
    let done = run();
    IN_SILENCE.set(false);
    done
}

/// What is beyond the bounds of an input of so many bytes.
fn beyond(bytes: usize, took: Memory) -> Option<String> {
    let bytes = bytes as i64;
    let (memory, allocations) =
        (MEMORY_BYTES + MEMORY_TIMES * bytes, ALLOCATIONS + ALLOCATIONS_PER_BYTE * bytes);
    if took.peak_bytes > memory {
        return Some(format!("memory: {} bytes, expected at most {memory}", took.peak_bytes));
    }
    let much = took.count > allocations;
    much.then(|| format!("steps: {} allocations, expected at most {allocations}", took.count))
}

/// A target with its inputs.
#[derive(Debug)]
pub struct Fuzzer {
    target: Target,
    inputs: Vec<Vec<u8>>,
    seed: u64,
}

/// An input at which the target panicked, or took too much.
#[derive(Debug)]
pub struct Failure {
    /// The target's name.
    pub target: &'static str,
    /// Seed and iteration make the input again; both are 0 for an unmutated one.
    pub seed: u64,
    /// Number of the mutated input.
    pub iteration: u64,
    /// The bytes.
    pub input: Vec<u8>,
    /// What the panic said, or what was beyond its bounds.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { target, seed, iteration, input, message } = self;
        write!(
            f,
            "{target}: \"{message}\" at {} input bytes, seed {seed}, iteration {iteration}",
            input.len()
        )
    }
}

impl Fuzzer {
    /// Mutates the target's own seeds and the inputs of `corpus`.
    #[must_use]
    pub fn new(target: Target, corpus: Vec<Vec<u8>>, seed: u64) -> Fuzzer {
        let mut inputs = (target.seeds)();
        inputs.extend(corpus);
        Fuzzer { target, inputs, seed }
    }

    /// The input of one iteration. Every second one is fixed up, so that both what is behind the
    /// checksums and the checksums themselves are tried.
    #[must_use]
    pub fn input(&self, iteration: u64) -> Vec<u8> {
        let mut rng = Rng::new(self.seed, iteration);
        let empty = [Vec::new()];
        let inputs = if self.inputs.is_empty() { &empty } else { self.inputs.as_slice() };
        let mut input = rng.pick(inputs).clone();
        mutate(&mut rng, &mut input, inputs);
        if rng.below(2) == 0 {
            (self.target.fix_up)(&mut input);
        }
        input
    }

    /// Tries the input of one iteration.
    ///
    /// # Errors
    /// The target panicked, or took too much.
    pub fn try_iteration(&self, iteration: u64) -> Result<(), Failure> {
        let input = self.input(iteration);
        self.attempt(&input).map_err(|message| self.failure(self.seed, iteration, input, message))
    }

    /// Tries every input as it is, unmutated. Returns how many there are.
    ///
    /// # Errors
    /// The target panicked, or took too much.
    pub fn replay(&self) -> Result<usize, Failure> {
        for input in &self.inputs {
            self.attempt(input).map_err(|message| self.failure(0, 0, input.clone(), message))?;
        }
        Ok(self.inputs.len())
    }

    fn attempt(&self, input: &[u8]) -> Result<(), String> {
        let fuzz_one = self.target.fuzz_one;
        let (done, took) = measured(|| in_silence(|| catch_unwind(|| fuzz_one(input))));
        done.map_err(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
        })?;
        beyond(input.len(), took).map_or(Ok(()), Err)
    }

    fn failure(&self, seed: u64, iteration: u64, input: Vec<u8>, message: String) -> Failure {
        Failure { target: self.target.name, seed, iteration, input, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Magic, a checksum over the rest, a length that must not be trusted: a format in short.
    fn planted_bug(bytes: &[u8]) {
        let [b'M', sum, rest @ ..] = bytes else { return };
        if *sum == checksum(rest) && rest.len() >= 8 {
            let length = usize::from(rest[2]);
            assert!(length <= rest.len(), "length {length} trusted");
        }
    }

    fn checksum(rest: &[u8]) -> u8 {
        rest.iter().fold(0x5a, |sum: u8, byte| sum.rotate_left(3) ^ byte.wrapping_mul(31))
    }

    fn fix_up(bytes: &mut [u8]) {
        if let [_, sum, rest @ ..] = bytes {
            *sum = checksum(rest);
        }
    }

    fn seeds() -> Vec<Vec<u8>> {
        let mut seed = vec![b'M', 0, 1, 2, 6, 4, 5, 6, 7, 8];
        fix_up(&mut seed);
        vec![seed]
    }

    const TARGET: Target = Target { name: "planted", fuzz_one: planted_bug, seeds, fix_up };

    #[test]
    fn finds_a_bug_behind_a_checksum_and_repeats_it() {
        let fuzzer = Fuzzer::new(TARGET, Vec::new(), 3);
        assert_eq!(fuzzer.replay().unwrap(), 1);
        let found = (0..2_000).find_map(|i| fuzzer.try_iteration(i).err()).unwrap();
        assert!(found.message.starts_with("length "), "{found}");
        let again = Fuzzer::new(TARGET, Vec::new(), 3).try_iteration(found.iteration).unwrap_err();
        assert_eq!((again.input, again.message), (found.input.clone(), found.message));
        assert!(Fuzzer::new(TARGET, vec![found.input], 3).replay().is_err());
    }

    #[test]
    fn what_is_beyond_its_bounds_is_a_find() {
        let took = |peak_bytes, count| Memory { peak_bytes, count, ..Memory::default() };
        assert_eq!(beyond(100, took((64 << 20) + 400, 1 << 21)), None);
        let memory = beyond(100, took((64 << 20) + 401, 1)).unwrap();
        assert_eq!(memory, "memory: 67109265 bytes, expected at most 67109264");
        assert!(beyond(0, took(0, (1 << 21) + 1)).unwrap().starts_with("steps: "));
    }

    #[test]
    fn without_seeds_it_starts_from_nothing() {
        let target = Target { fuzz_one: |_| {}, seeds: Vec::new, ..TARGET };
        let fuzzer = Fuzzer::new(target, Vec::new(), 1);
        (0..100).for_each(|i| fuzzer.try_iteration(i).unwrap());
    }
}
