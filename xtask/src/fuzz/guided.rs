//! `cargo xtask fuzz --guided [TARGET...] [--seconds N]`: the targets under libFuzzer, which keeps inputs
//! that reach new code.
//!
//! Each target starts from its seeds, the corpus, and what the run before has kept below the build
//! folder; so pieces of any length add up. At its end the inputs that still reach something of their own
//! go into `fuzz/corpus/TARGET/guided.pack`, the smallest first, and a line with seconds of the
//! processor and inputs into `fuzz/totals.tsv`. An input that panics, takes longer than ten seconds, or needs more memory
//! than the limits below is a find. The C++ library is built in a workspace of its own.

use crate::shell::{self, Cmd};
use std::fs;
use std::path::Path;

const HOST: &str = "x86_64-unknown-linux-gnu";
/// A reader's bound is 64 MiB and four times its input; the rest is libFuzzer's own and the corpus.
const RSS_MIB: u32 = 320;
const ALLOCATION_MIB: u32 = 66;
const INPUT_BYTES_MAX: usize = 65_536;
/// Of one target, kept in the repository: so much, or so many times its largest input of other origin.
const PACK_BYTES_MAX: usize = 40 << 10;
const PACK_INPUTS: usize = 4;

/// What tells libFuzzer where an input has been; of the compiler's LLVM, on the stable channel too.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

pub(super) fn run(args: &[&str]) -> Result<(), String> {
    let (mut only, mut seconds) = (Vec::new(), 60_u64);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match *arg {
            "--seconds" => {
                let number = rest.next().and_then(|text| text.parse().ok());
                seconds = number.ok_or("--seconds: expected a number")?;
            }
            name if !name.starts_with('-') => only.push(name),
            other => return Err(format!("{other}: expected [TARGET...] [--seconds N]")),
        }
    }
    let program = build()?;
    let work = shell::target_dir().join("fuzz-guided");
    let seeds = work.join("seeds");
    super::program()?.arg("--write-seeds").arg(&text(&seeds)).output()?;
    let mut names = listed(&seeds)?;
    if let Some(unknown) = only.iter().find(|only| !names.iter().any(|name| name == *only)) {
        return Err(format!("no such target: {unknown}"));
    }
    names.retain(|name| only.is_empty() || only.contains(&name.as_str()));
    let mut finds = 0;
    for name in &names {
        finds += u32::from(!piece(&program, &work, name, seconds)?);
    }
    if finds == 0 { Ok(()) } else { Err(format!("{finds} targets have finds: fuzz/artifacts/")) }
}

fn build() -> Result<Cmd, String> {
    let folder = shell::root().join("fuzz/guided");
    let target = shell::target_dir().join("guided");
    let build = Cmd::new("cargo build --locked --release --target")
        .arg(HOST)
        .env("RUSTFLAGS", COVERAGE)
        .env("CARGO_TARGET_DIR", &text(&target))
        .within(&folder);
    if !build.run().map_err(|e| format!("`{build}` did not start: {e}"))? {
        return Err(format!("`{build}` failed"));
    }
    Ok(Cmd::new(&text(&target.join(HOST).join("release/baro-fuzz-guided"))))
}

/// One target for a time; false if there was a find.
fn piece(program: &Cmd, work: &Path, name: &str, seconds: u64) -> Result<bool, String> {
    let (kept, seeds) = (work.join("kept").join(name), work.join("seeds").join(name));
    let corpus = shell::root().join("fuzz/corpus").join(name);
    make(&kept)?;
    unpack(&corpus.join("guided.pack"), &kept)?;
    let artifacts = shell::root().join("fuzz/artifacts");
    make(&artifacts)?;
    let mut run = program
        .clone()
        .env("BARO_FUZZ_TARGET", name)
        .arg(&format!("-max_total_time={seconds}"))
        .arg(&format!("-rss_limit_mb={RSS_MIB}"))
        .arg(&format!("-malloc_limit_mb={ALLOCATION_MIB}"))
        .arg(&format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(&format!("-artifact_prefix={}/{name}-", artifacts.display()))
        .arg("-timeout=10")
        .arg("-print_final_stats=1")
        .arg(&text(&kept));
    for more in [&seeds, &corpus].into_iter().filter(|folder| folder.is_dir()) {
        run = run.arg(&text(more));
    }
    let (mut inputs, mut edges) = (0, String::new());
    let before = children_cpu_seconds();
    let good = run
        .lines(
            |_| {},
            |line| {
                if let Some(number) = line.strip_prefix("stat::number_of_executed_units:") {
                    inputs = number.trim().parse().unwrap_or(0);
                } else if let Some((_, rest)) = line.split_once(" cov: ") {
                    rest.split(' ').next().unwrap_or_default().clone_into(&mut edges);
                } else if line.contains("ERROR: libFuzzer") || line.contains("panicked at") {
                    eprintln!("{name}: {line}");
                }
            },
        )
        .map_err(|e| format!("`{run}` did not start: {e}"))?;
    let cpu_seconds = children_cpu_seconds() - before;
    let smallest = work.join("merged").join(name);
    if smallest.is_dir() {
        fs::remove_dir_all(&smallest).map_err(|e| format!("{}: {e}", smallest.display()))?;
    }
    make(&smallest)?;
    let merge = program.clone().env("BARO_FUZZ_TARGET", name).arg("-merge=1");
    let merge = merge.arg(&format!("-rss_limit_mb={}", 2 * RSS_MIB));
    merge
        .arg(&text(&smallest))
        .arg(&text(&kept))
        .lines(|_| {}, |_| {})
        .map_err(|e| e.to_string())?;
    let bytes_max = PACK_BYTES_MAX.max(PACK_INPUTS * largest(&[&seeds, &corpus])?);
    let packed = pack(&smallest, &corpus, bytes_max)?;
    println!(
        "{name}: {inputs} inputs, {edges} edges, {packed} kept{}",
        if good { "" } else { ", A FIND" }
    );
    total(name, cpu_seconds, inputs, &edges, packed, good)?;
    Ok(good)
}

/// Bytes of the largest input in these folders that is no pack.
fn largest(folders: &[&Path]) -> Result<usize, String> {
    let mut largest = 0;
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for name in listed(folder)?.iter().filter(|name| !name.ends_with(".pack")) {
            let file = fs::metadata(folder.join(name)).map_err(|e| format!("{name}: {e}"))?;
            largest = largest.max(file.len() as usize);
        }
    }
    Ok(largest)
}

/// Writes the inputs in `from`, the smallest first, into the pack of a corpus.
fn pack(from: &Path, corpus: &Path, bytes_max: usize) -> Result<usize, String> {
    let read = |name: &String| fs::read(from.join(name)).map_err(|e| format!("{name}: {e}"));
    let mut inputs: Vec<_> = listed(from)?.iter().map(read).collect::<Result<_, _>>()?;
    inputs.sort_by_key(Vec::len);
    let (mut pack, mut count) = (Vec::new(), 0);
    for input in inputs.iter().filter(|input| !input.is_empty()) {
        if pack.len() + input.len() + 4 > bytes_max {
            break;
        }
        pack.extend((input.len() as u32).to_le_bytes());
        pack.extend(input);
        count += 1;
    }
    make(corpus)?;
    let path = corpus.join("guided.pack");
    fs::write(&path, pack).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(count)
}

fn unpack(pack: &Path, to: &Path) -> Result<(), String> {
    let Ok(bytes) = fs::read(pack) else { return Ok(()) };
    let (mut rest, mut number) = (bytes.as_slice(), 0);
    while let Some((length, behind)) = rest.split_first_chunk() {
        let Some((input, behind)) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)
        else {
            return Err(format!("{}: expected {length:?} bytes more", pack.display()));
        };
        let path = to.join(format!("pack-{number}"));
        fs::write(&path, input).map_err(|e| format!("{}: {e}", path.display()))?;
        (rest, number) = (behind, number + 1);
    }
    Ok(())
}

/// Adds a line to the totals.
fn total(
    name: &str,
    cpu_seconds: f64,
    inputs: u64,
    edges: &str,
    kept: usize,
    good: bool,
) -> Result<(), String> {
    let path = shell::root().join("fuzz/totals.tsv");
    let head = "date\ttarget\tcpu_seconds\tinputs\tedges\tkept\tfinds\n".to_owned();
    let mut lines = fs::read_to_string(&path).unwrap_or(head);
    let date = Cmd::new("date -u +%F").output()?;
    let finds = u32::from(!good);
    lines +=
        &format!("{}\t{name}\t{cpu_seconds:.1}\t{inputs}\t{edges}\t{kept}\t{finds}\n", date.trim());
    fs::write(&path, lines).map_err(|e| format!("{}: {e}", path.display()))
}

/// Of the programs that have been waited for: what a run had of the processor, not of the clock.
fn children_cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse().ok());
    ticks.fold(0.0, |sum, ticks: f64| sum + ticks / 100.0)
}

fn listed(folder: &Path) -> Result<Vec<String>, String> {
    let failed = |e| format!("{}: {e}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
