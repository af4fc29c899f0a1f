//! `baro-fuzz [TARGET] [--seconds N] [--seed K] [--only I]`: fuzzes one target or all, for a time.
//! Started by `cargo xtask fuzz`, which builds it with overflow checks.
//!
//! A find is a panic, or memory and steps beyond docs/limits.md. It is written to `fuzz/artifacts/`. What no panic announces leaves a trace too: before each
//! input its number goes to a file (for an abort), and a watchdog ends an input that hangs.
#![allow(clippy::disallowed_methods, reason = "a tool beside the product: reads files and a clock")]

use baro_fuzz::{Failure, Fuzzer, TARGETS, Target};
use baro_sys::counters::MeasuringAllocator;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

const USAGE: &str = "[TARGET] [--seconds N] [--seed K] [--only I] | --write-seeds [FOLDER]";
const HANG: Duration = Duration::from_secs(10);

struct Options {
    target: Option<String>,
    seconds: u64,
    seed: u64,
    only: Option<u64>,
}

fn options() -> Option<Options> {
    let mut options = Options { target: None, seconds: 20, seed: 1, only: None };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next()?.parse::<u64>().ok();
        match arg.as_str() {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--only" => options.only = Some(number()?),
            name if !name.starts_with('-') => options.target = Some(name.to_owned()),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--write-seeds") {
        let under = std::env::args().nth(2).map_or_else(|| folder("corpus"), PathBuf::from);
        return match TARGETS.iter().try_for_each(|target| write_seeds(target, &under)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("fuzz/corpus: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let Some(options) = options() else {
        eprintln!("usage: cargo xtask fuzz {USAGE}");
        return ExitCode::from(2);
    };
    let chosen = |t: &&Target| options.target.as_ref().is_none_or(|name| *name == t.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(chosen).collect();
    if targets.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|t| t.name).collect();
        eprintln!("no such target; the targets are {}", names.join(" "));
        return ExitCode::from(2);
    }
    let mut code = ExitCode::SUCCESS;
    for target in targets {
        match fuzz(*target, &options) {
            Ok(Ok(tried)) => println!("{}: {tried} inputs, no panic", target.name),
            Ok(Err(failure)) => {
                report(&failure);
                code = ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("{}: {error}", target.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Writes a target's valid inputs to the corpus, or another folder, so that other fuzzers can start
/// from them too.
fn write_seeds(target: &Target, under: &Path) -> io::Result<()> {
    let folder = under.join(target.name);
    fs::create_dir_all(&folder)?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}

fn fuzz(target: Target, options: &Options) -> io::Result<Result<u64, Failure>> {
    let fuzzer = Fuzzer::new(target, corpus(target.name)?, options.seed);
    if let Some(iteration) = options.only {
        return Ok(fuzzer.try_iteration(iteration).map(|()| 1));
    }
    if let Err(failure) = fuzzer.replay() {
        return Ok(Err(failure));
    }
    let folder = folder("artifacts");
    fs::create_dir_all(&folder)?;
    let current_path = folder.join(format!("{}.current", target.name));
    let current = fs::File::create(&current_path)?;
    let (progress, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let result = std::thread::scope(|scope| {
        scope.spawn(|| watch(&fuzzer, target.name, options.seed, &progress, &done));
        let result = run(&fuzzer, options, &current, &progress);
        done.store(1, Relaxed);
        result
    })?;
    fs::remove_file(&current_path)?;
    Ok(result)
}

fn run(
    fuzzer: &Fuzzer,
    options: &Options,
    current: &fs::File,
    progress: &AtomicU64,
) -> io::Result<Result<u64, Failure>> {
    let begin = Instant::now();
    let end = Duration::from_secs(options.seconds);
    let mut iteration = 0;
    while begin.elapsed() < end {
        progress.store(iteration, Relaxed);
        let line = format!("--seed {} --only {iteration:<20}\n", options.seed);
        current.write_all_at(line.as_bytes(), 0)?;
        if let Err(failure) = fuzzer.try_iteration(iteration) {
            return Ok(Err(failure));
        }
        iteration += 1;
    }
    Ok(Ok(iteration))
}

/// Ends the process if one input takes longer than [`HANG`]: a decoder's time must be bounded by
/// its input, and nothing inside the process could stop it.
fn watch(fuzzer: &Fuzzer, target: &'static str, seed: u64, at: &AtomicU64, done: &AtomicU64) {
    const STEP: Duration = Duration::from_millis(100);
    let (mut last, mut stuck) = (u64::MAX, Duration::ZERO);
    while done.load(Relaxed) == 0 {
        std::thread::sleep(STEP);
        let iteration = at.load(Relaxed);
        stuck = if iteration == last { stuck + STEP } else { Duration::ZERO };
        last = iteration;
        if stuck > HANG {
            let input = fuzzer.input(iteration);
            let message = format!("no end after {} s", HANG.as_secs());
            report(&Failure { target, seed, iteration, input, message });
            std::process::exit(1);
        }
    }
}

fn report(failure: &Failure) {
    let Failure { target, seed, iteration, input, .. } = failure;
    eprintln!("{failure}");
    eprintln!("repeat: cargo xtask fuzz {target} --seed {seed} --only {iteration}");
    let path = folder("artifacts").join(format!("{target}-{seed}-{iteration}"));
    match fs::create_dir_all(folder("artifacts")).and_then(|()| fs::write(&path, input)) {
        Ok(()) => {
            eprintln!("saved: {}; once fixed, move it to fuzz/corpus/{target}/", path.display())
        }
        Err(error) => eprintln!("not saved to {}: {error}", path.display()),
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The inputs of `fuzz/corpus/<target>/`, in the order of their names; no folder, no inputs.
fn corpus(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let folder = folder("corpus").join(target);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let paths: io::Result<Vec<_>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    let files: Vec<_> = paths.iter().map(fs::read).collect::<io::Result<_>>()?;
    Ok(paths.iter().zip(files).flat_map(|(path, bytes)| baro_fuzz::unpack(path, bytes)).collect())
}
