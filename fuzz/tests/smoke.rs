//! Every target among the ordinary tests: the corpus (inputs that once failed) and some
//! mutations from a fixed seed. Longer runs: `cargo xtask fuzz`.
#![allow(clippy::disallowed_methods, reason = "test code reads its corpus")]

use baro_fuzz::{Fuzzer, TARGETS, Target, unpack};
use baro_sys::counters::MeasuringAllocator;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

const ITERATIONS: u64 = 30_000;
/// Of those that read files fewer.
const SLOW: &[(&str, u64)] = &[
    ("parquet", 1_500),
    ("store", 300),
    ("undo_journal", 1_000),
    ("registry", 1_000),
    ("calls", 20),
];

fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[test]
fn corpus_replays_and_mutations_do_not_panic() {
    for target in TARGETS {
        let paths = files(&corpus_folder().join(target.name));
        let inputs = |path: &PathBuf| unpack(path, fs::read(path).unwrap());
        let corpus = paths.iter().flat_map(inputs).collect();
        let fuzzer = Fuzzer::new(*target, corpus, 1);
        let failed = fuzzer.replay().err();
        let slow = SLOW.iter().find(|(name, _)| *name == target.name);
        let iterations = slow.map_or(ITERATIONS, |(_, iterations)| *iterations);
        let failed = failed.or_else(|| (0..iterations).find_map(|i| fuzzer.try_iteration(i).err()));
        if let Some(failure) = failed {
            panic!("{failure}\nrepeat and save: cargo xtask fuzz {}", target.name);
        }
    }
}

#[test]
fn memory_and_steps_are_counted() {
    fn greedy(bytes: &[u8]) {
        let more = usize::from(bytes.first().copied().unwrap_or(0)) << 20;
        std::hint::black_box(vec![1_u8; more]);
    }
    let target = Target {
        name: "greedy",
        fuzz_one: greedy,
        seeds: || vec![vec![10], vec![200]],
        fix_up: |_| {},
    };
    let failure = Fuzzer::new(target, Vec::new(), 1).replay().unwrap_err();
    assert_eq!(failure.input, [200]);
    assert!(failure.message.starts_with("memory: 2097152"), "{failure}");
}

#[test]
fn every_corpus_folder_has_a_target_and_names_are_unique() {
    let names: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), TARGETS.len());
    for folder in files(&corpus_folder()) {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap();
        assert!(names.contains(name), "fuzz/corpus/{name} is replayed by nobody");
    }
}
