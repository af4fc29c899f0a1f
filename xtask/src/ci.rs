//! `cargo xtask ci`: the steps in order of cost, so that the cheapest one that fails speaks
//! first. Stops at the first failure and prints the command that repeats it.
//!
//! Nothing is compiled twice without need: clippy, the docs and `cargo check` share the metadata
//! of the dependencies, all tests (fuzz smoke and command line included) are one `cargo test`,
//! and no step changes RUSTFLAGS, which would rebuild everything.

mod report;

use crate::deb::{self, Trial};
use crate::shell::Cmd;
use crate::{boards, lab, libbaro, probes, readers, tidy};
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
    Step { name: "test", what: "tests, fuzz smoke, command line", run: tests },
    Step { name: "preload", what: "the interposer under sanitizers", run: preload },
    Step { name: "lab", what: "power cuts on other kernels", run: lab::step },
    Step { name: "release", what: "release build of baro", run: release },
    Step { name: "libbaro", what: "library for C as installed", run: libbaro::step },
    Step { name: "boards", what: "recorder and libbaro for small boards", run: boards::step },
    Step { name: "deb", what: "the package in a clean Debian", run: deb },
];

/// Runs the steps named, or all of them.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|n| STEPS.iter().all(|s| s.name != **n)) {
        let known: Vec<_> = STEPS.iter().map(|s| s.name).collect();
        return Err(format!("no step '{unknown}'; the steps are {}", known.join(" ")));
    }
    let begin = Instant::now();
    let mut total = Report::default();
    let mut steps_done = 0;
    for step in STEPS.iter().filter(|s| names.is_empty() || names.contains(&s.name)) {
        println!("== {}: {}", step.name, step.what);
        let step_begin = Instant::now();
        let report = (step.run)().map_err(|repeat| {
            format!("step '{}' failed; to repeat it:\n    {repeat}", step.name)
        })?;
        println!("   {} ok, {:.1} s", step.name, step_begin.elapsed().as_secs_f64());
        total.add(report);
        steps_done += 1;
    }
    total.print_skips();
    println!(
        "ci: {steps_done} steps ok; {}; {:.0} s",
        total.counts(),
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Runs a command that either succeeds or has already said why not.
fn plain(cmd: &Cmd) -> Outcome {
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

fn release() -> Outcome {
    plain(&Cmd::new("cargo build --release -p barograph -p baro-preload"))
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

fn deb() -> Outcome {
    let mut report = Report::default();
    match deb::test() {
        Ok(Trial::Done(checks)) => checks.iter().for_each(|_| report.pass()),
        Ok(Trial::Skipped(why)) => report.skip("the package in a clean Debian", &why),
        Err(error) => return Err(format!("cargo xtask deb test    ({error})")),
    }
    Ok(report)
}

/// `ondisk` is pure: it must compile for a target that has no standard library at all, and for
/// the browser, and `runs` and `trace` for the latter. `trace` must compile without the crate that
/// calls the operating system, wherever it is checked. A target that is not installed is a skip, counted like
/// a test's.
fn bare_targets() -> Outcome {
    let mut report = Report::default();
    plain(&Cmd::new("cargo check -p baro-trace --no-default-features"))?;
    report.pass();
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

/// `--show-output` prints what passing tests wrote: that is where the skip lines are.
fn tests() -> Outcome {
    let report = run_tests(&Cmd::new("cargo test --workspace -- --show-output"))?;
    println!("   {}", report.counts());
    Ok(report)
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
