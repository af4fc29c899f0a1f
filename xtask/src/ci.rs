//! `cargo xtask ci`: the steps of each push, in order of cost, so that the cheapest one that fails
//! speaks first. Stops at the first failure and prints the command that repeats it. What is too long
//! for each push is in `full`.
//!
//! Nothing is compiled twice without need: clippy, the docs and `cargo check` share the metadata
//! of the dependencies, all tests (fuzz smoke and command line included) are one build, and no step
//! changes RUSTFLAGS, which would rebuild everything. Each step's seconds are printed and compared
//! with those that `.ci/seconds.tsv` keeps (`seconds`), so that growth is seen.

mod lanes;
mod programs;
mod report;
mod rings;
mod seconds;
mod space;

use crate::shell::Cmd;
use crate::tiers::{Moved, Tier};
use crate::{libbaro, probes, readers, tidy};
use seconds::Seconds;
use std::time::Instant;

pub(crate) use report::Report;

/// What a step has to say when it succeeded.
pub(crate) type Outcome = Result<Report, String>;

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Outcome,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", what: "format", run: || plain(&Cmd::new("cargo fmt --all --check")) },
    Step { name: "tidy", what: "rules of this repository", run: tidy_step },
    Step { name: "clippy", what: "compiler and clippy warnings", run: clippy },
    Step { name: "bare", what: "format crates without an operating system", run: bare_targets },
    Step {
        name: "probes",
        what: "programs for the kernel are those of their source",
        run: probes::step,
    },
    Step { name: "doc", what: "documentation builds", run: doc },
    Step {
        name: "readers",
        what: "pandas, Polars, pyarrow, DuckDB for the tests",
        run: readers::step,
    },
    Step { name: "build", what: "the test programs", run: build },
    Step { name: "test", what: "tests, fuzz smoke, command line", run: tests },
    Step { name: "doctest", what: "examples in the documentation", run: doc_tests },
    Step { name: "preload", what: "the interposer under sanitizers", run: preload },
    Step { name: "libbaro", what: "library for C as installed", run: libbaro::step },
];

/// Runs the steps named, or all of them.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|n| STEPS.iter().all(|s| s.name != **n)) {
        let known: Vec<_> = STEPS.iter().map(|s| s.name).collect();
        return Err(format!("no step '{unknown}'; the steps are {}", known.join(" ")));
    }
    if names.is_empty() {
        space::check()?;
    }
    let begin = Instant::now();
    let mut total = Report::default();
    let mut seconds = Seconds::default();
    let mut steps_done = 0;
    for step in STEPS.iter().filter(|s| names.is_empty() || names.contains(&s.name)) {
        println!("== {}: {}", step.name, step.what);
        let step_begin = Instant::now();
        let report = (step.run)().map_err(|repeat| {
            format!("step '{}' failed; to repeat it:\n    {repeat}", step.name)
        })?;
        let took_s = step_begin.elapsed().as_secs_f64();
        println!("   {} ok, {took_s:.1} s", step.name);
        seconds.step(step.name, took_s);
        total.add(report);
        steps_done += 1;
    }
    total.print_skips();
    seconds.tell()?;
    println!("{steps_done} steps in {:.0} s", begin.elapsed().as_secs_f64());
    println!("ci: {}", total.counts());
    Ok(())
}

/// Runs a command that either succeeds or has already said why not.
pub(crate) fn plain(cmd: &Cmd) -> Outcome {
    match cmd.run() {
        Ok(true) => Ok(Report::default()),
        Ok(false) => Err(cmd.to_string()),
        Err(error) => Err(format!("{cmd}    (did not start: {error})")),
    }
}

fn tidy_step() -> Outcome {
    tidy::run(tidy::Generated::Check).map_err(|error| {
        println!("{error}");
        "cargo xtask tidy    (tidy --bless rewrites generated files)".to_owned()
    })?;
    Ok(Report::default())
}

fn clippy() -> Outcome {
    plain(&Cmd::new("cargo clippy --workspace --all-targets -- -D warnings"))
}

fn doc() -> Outcome {
    let doc = Cmd::new("cargo doc --workspace --no-deps --document-private-items --quiet");
    plain(&doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Each line of the script is a part that is done or skipped.
fn preload() -> Outcome {
    let repeat = "scripts/preload-sanitize.sh";
    let said = Cmd::new(repeat).output().map_err(|error| {
        println!("{error}");
        repeat.to_owned()
    })?;
    let mut report = Report::default();
    for line in said.lines() {
        match line.split_once(": ") {
            Some(("ok", _)) => report.pass(),
            Some(("skipped", why)) => report.skip("the interposer under sanitizers", why),
            _ => {}
        }
    }
    Ok(report)
}

/// Packages by themselves: with the features that they ask for, and the pure ones elsewhere.
/// `ondisk` is pure: it must compile for a target that has no standard library at all, and for
/// the browser, and `runs` and `trace` for the latter. `trace` must compile without the crate that
/// calls the operating system, wherever it is checked. A target that is not installed is a skip, counted like
/// a test's.
fn bare_targets() -> Outcome {
    let mut report = Report::default();
    plain(&Cmd::new("cargo check -p baro-trace --no-default-features"))?;
    report.pass();
    // Built together with tests, packages have features that they do not ask for.
    for package in ["baro-recorder", "baro-cli", "baro-lab"] {
        plain(&Cmd::new("cargo check --quiet -p").arg(package))?;
        report.pass();
    }
    for target in ["thumbv7em-none-eabihf", "wasm32-unknown-unknown"] {
        let libdir = Cmd::new("rustc --print target-libdir --target").arg(target).output();
        let installed = libdir.is_ok_and(|dir| std::path::Path::new(dir.trim()).exists());
        if installed {
            let check = Cmd::new("cargo check -p baro-ondisk --no-default-features --target");
            plain(&check.arg(target))?;
            report.pass();
            if target.starts_with("wasm32") {
                plain(&Cmd::new("cargo check -p baro-runs --target").arg(target))?;
                report.pass();
                let check = Cmd::new("cargo check -p baro-trace --no-default-features --target");
                plain(&check.arg(target))?;
                report.pass();
            }
        } else {
            report.skip(
                &format!("check of baro-ondisk for {target}"),
                &format!("target not installed (rustup target add {target})"),
            );
        }
    }
    Ok(report)
}

/// A step of its own, so that its seconds are seen.
fn build() -> Outcome {
    programs::build().map(|_| Report::default())
}

/// `--show-output` prints what passing tests wrote: that is where the skip lines are.
fn tests() -> Outcome {
    tests_of(Tier::Push)
}

/// Those that moved to the full tier.
pub(crate) fn moved_tests() -> Outcome {
    tests_of(Tier::Full)
}

fn tests_of(tier: Tier) -> Outcome {
    let programs = programs::build()?;
    let moved = Moved::read()?;
    let known = |name: &str| programs.iter().any(|program| program.name() == name);
    if let Some(unknown) = moved.programs().find(|name| !known(name)) {
        return Err(format!("{}: there is no test program {unknown}", Moved::FILE));
    }
    let done = lanes::run(&programs, &moved, tier);
    rings::clear();
    let done = done?;
    println!("   {}", done.report.counts());
    if tier == Tier::Push {
        seconds::keep_programs(&done.seconds)?;
    }
    Ok(done.report)
}

fn doc_tests() -> Outcome {
    run_tests(&Cmd::new("cargo test --locked --workspace --doc -- --show-output"))
}

/// Runs a `cargo test` that shows output.
pub(crate) fn run_tests(cmd: &Cmd) -> Outcome {
    let mut parser = report::Parser::default();
    let mut rerun = None;
    let ok = cmd.lines(
        |line| parser.line(line),
        |line| {
            eprintln!("{line}");
            if let Some(args) = line.split("to rerun pass `").nth(1) {
                rerun = args.split('`').next().map(str::to_owned);
            }
        },
    );
    let ok = ok.map_err(|error| format!("{cmd}    (did not start: {error})"))?;
    if !ok {
        print!("{}", parser.output_of_last_binary());
        let name = parser.first_failed().unwrap_or_default();
        if !cmd.is_plain() {
            // Another machine's compiler and emulator belong to it.
            return Err(format!("{cmd} {name}"));
        }
        return Err(match rerun {
            // The name of a documentation test is no argument that selects it.
            Some(args) if args.contains("--doc") => format!("cargo test {args}"),
            Some(args) => format!("cargo test {args} {name}").trim_end().to_owned(),
            None => cmd.to_string(),
        });
    }
    Ok(parser.finish())
}
