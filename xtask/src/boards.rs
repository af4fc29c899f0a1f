//! `cargo xtask boards`: the recorder for small boards. Builds static programs for armv7 and
//! aarch64, runs the tests of ondisk, sys, recorder and libbaro under qemu-user, and reports how
//! large libbaro is.
//!
//! What an emulated processor cannot show is left out by name, with the reason, and counted as
//! skipped. Where compilers, emulator or Rust's libraries for a machine cannot be had, all of it
//! is skipped with that reason.

mod packages;
mod rust;
mod sizes;

use crate::ci::{Outcome, Report, run_tests};
use crate::libbaro::Machine;
use rust::Rust;

/// A kind of machine.
#[derive(Debug)]
struct Board {
    name: &'static str,
    /// As Rust, Debian, the compiler and the emulator call it.
    target: &'static str,
    debian: &'static str,
    prefix: &'static str,
    emulator: &'static str,
    packages: &'static [&'static str],
}

const BOARDS: &[Board] = &[
    Board {
        name: "armv7",
        target: "armv7-unknown-linux-gnueabihf",
        debian: "armhf",
        prefix: "arm-linux-gnueabihf-",
        emulator: "qemu-arm-static",
        packages: &["gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross"],
    },
    Board {
        name: "aarch64",
        target: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        prefix: "aarch64-linux-gnu-",
        emulator: "qemu-aarch64-static",
        packages: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    },
];

/// One `cargo test`, and what it leaves out: (filter, reason); and what on armv7 alone.
struct Tests {
    line: &'static str,
    without: &'static [(&'static str, &'static str)],
    on_armv7: &'static [(&'static str, &'static str)],
}

const COUNTERS: &str = "the kernel's counters are the emulator's, not the program's";

const ADDRESS: &str =
    "the emulator tells the address of a fault wrong by a page (a program of ten lines shows it)";

const MOUNTS: &str = "meets the file systems of this machine's kernel, which the native tests do";
const MINUTES: &str = "takes minutes in the emulator and meets nothing of the machine";

const TESTS: &[Tests] = &[
    Tests { line: "-p baro-ondisk --lib --tests", without: &[], on_armv7: &[] },
    Tests {
        line: "-p baro-sys --lib",
        without: &[
            ("touched_pages_do_not_fault", COUNTERS),
            ("faults_are_counted", COUNTERS),
            ("fork", "the emulator does not wipe memory on fork, as Linux before 4.14"),
            ("udp::", "the emulator does not know SO_RXQ_OVFL"),
            ("memory::segment::", "the emulator does not hand MADV_REMOVE on"),
        ],
        on_armv7: &[("memory::guard::", ADDRESS)],
    },
    Tests { line: "-p baro-log --lib", without: &[], on_armv7: &[] },
    Tests { line: "-p baro-promises --lib", without: &[], on_armv7: &[] },
    Tests {
        line: "-p baro-recorder --lib --tests",
        without: &[
            ("places::", MOUNTS),
            ("fault::", MOUNTS),
            ("push::", COUNTERS),
            ("kernel::", COUNTERS),
            ("every_crash_point_while_segments", MINUTES),
            ("every_crash_point_while_the_log", MINUTES),
            ("one_bad_segment", MINUTES),
            ("a_dead_tail_outlives", MINUTES),
        ],
        on_armv7: &[("cut::", ADDRESS)],
    },
    Tests { line: "-p baro-capi --lib --tests", without: &[("memory::", COUNTERS)], on_armv7: &[] },
];

/// `cargo xtask boards`: all of them.
pub(crate) fn run() -> Result<(), String> {
    let report = step(&["armv7", "aarch64"])?;
    report.print_skips();
    println!("boards: {}", report.counts());
    Ok(())
}

/// Runs everything for each board named; skips what is not to be had here.
pub(crate) fn step(names: &[&str]) -> Outcome {
    let mut report = Report::default();
    for board in BOARDS.iter().filter(|board| names.contains(&board.name)) {
        match ready(board) {
            Ok(machine) => report.add(tests_on(board, &machine)?),
            Err(why) => report.skip(&format!("tests on {}", board.name), &why),
        }
    }
    Ok(report)
}

/// What is needed, installed where we may; else why not.
fn ready(board: &Board) -> Result<Machine, String> {
    packages::ready(board)?;
    let Rust { rustc, libraries, target_dir } = rust::ready(board)?;
    let variable = board.target.replace('-', "_").to_uppercase();
    let cargo = |name: &str, value: &str| (format!("CARGO_TARGET_{variable}_{name}"), value.into());
    let set = |name: &str, value: String| (name.to_owned(), value);
    let env = vec![
        set("RUSTC", rustc),
        set("LD_LIBRARY_PATH", libraries),
        set("CARGO_TARGET_DIR", target_dir.to_string_lossy().into_owned()),
        cargo("LINKER", &format!("{}gcc", board.prefix)),
        cargo("RUNNER", board.emulator),
        // glibc is in the program: it runs on a board whatever its C library is.
        cargo("RUSTFLAGS", "-C target-feature=+crt-static"),
        set("BARO_CC", format!("{}gcc", board.prefix)),
        set("BARO_CXX", format!("{}g++", board.prefix)),
        set("BARO_RUN", board.emulator.to_owned()),
        // Of the simulator's seeds a few: what differs between machines is in each of them.
        set("BARO_SIM_SEED", "0".to_owned()),
        set("BARO_SIM_COUNT", "5".to_owned()),
    ];
    let (target, prefix) = (board.target.to_owned(), board.prefix.to_owned());
    Ok(Machine { target, prefix, env, target_dir })
}

fn tests_on(board: &Board, machine: &Machine) -> Outcome {
    println!("   {}: {}", board.name, sizes::measure(board.name, machine)?);
    let mut report = Report::default();
    for tests in TESTS {
        let line = format!("cargo test --locked {}", tests.line);
        let mut cmd = machine.cargo(&line).arg("--").arg("--show-output");
        let more = if board.name == "armv7" { tests.on_armv7 } else { &[] };
        for (filter, why) in tests.without.iter().chain(more) {
            cmd = cmd.arg("--skip").arg(filter);
            report.skip(&format!("{} on {}", filter.trim_end_matches(':'), board.name), why);
        }
        report.add(run_tests(&cmd)?);
    }
    println!("   {}: {}", board.name, report.counts());
    Ok(report)
}
