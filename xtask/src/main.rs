//! All automation: `cargo xtask <command>`. The Makefile and `.ci/run` only call this, so that a
//! developer and CI run the same thing.
//!
//! Automation is no part of the product: it reads files, starts programs and takes times by
//! itself, where product code must go through `baro-sys`.
#![allow(clippy::disallowed_methods, reason = "build automation, not product code")]

mod boards;
mod ci;
mod deb;
mod dist;
mod full;
mod fuzz;
mod lab;
mod lake;
mod libbaro;
mod peers;
mod probes;
mod python;
mod readers;
mod results;
mod shell;
mod sim;
mod tidy;
mod tiers;
mod wheel;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask ci [STEP...]      all checks and tests of each push, or the named steps
cargo xtask full [STEP... | --all | --list | --due [--until SECONDS_SINCE_1970]]
                              the steps too long for each push: those that are due, the named ones,
                              all; what passed is recorded in .ci/full, to be committed
cargo xtask tidy [--bless]    rules that no compiler checks; --bless rewrites generated files
cargo xtask fuzz [TARGET] [--seconds N] [--seed K] [--only I]
cargo xtask fuzz --guided [TARGET...] [--seconds N]
                              mutate inputs of a decoder (of all) and report what panics
cargo xtask boards            tests of what runs on small boards, under qemu-user; sizes of libbaro
cargo xtask lab help           other kernels, modelled disks and power cuts, in QEMU
cargo xtask libbaro FOLDER    header, libraries and pkg-config file for programs in C
cargo xtask probes            the programs that trace in the kernel, anew from their C (clang)
cargo xtask sim --seed N [--count M]
                              repeat seeds of the crash tests, one of them with a log
cargo xtask dist              baro, baro-lab and the interposer as they are handed out: stripped,
                              with their debug information beside them
cargo xtask wheel             the Python package, in wheels/ of the target folder
cargo xtask deb [--version V] [--out FOLDER]
                              the Debian package
cargo xtask deb test          the package in a clean Debian: installed, used, upgraded, removed
                              (root)
cargo xtask deb readme [FILE] README's first lines typed in a clean Debian, and counted (root)
cargo xtask results [ROW...] [--runs 5] [--quick] [--out FOLDER] [--dir FOLDER]
                              measure what the README claims (root; 80 minutes for all rows);
                              disks are made in --dir; --quick shows only that rows can run
cargo xtask results --summary FOLDER
                              write a README.md anew from its runs.jsonl";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["ci", steps @ ..] => ci::run(steps),
        ["tidy"] => tidy::run(tidy::Generated::Check),
        ["tidy", "--bless"] => tidy::run(tidy::Generated::Rewrite),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["boards"] => boards::run(),
        ["full", rest @ ..] => full::run(rest),
        ["lab", rest @ ..] => return lab::run(rest),
        ["libbaro", rest @ ..] => libbaro::run(rest),
        ["probes"] => probes::run(),
        ["sim", rest @ ..] => sim::run(rest),
        ["dist"] => dist::run(),
        ["wheel"] => wheel::run(),
        ["deb", rest @ ..] => deb::run(rest),
        ["results", rest @ ..] => results::run(rest),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
