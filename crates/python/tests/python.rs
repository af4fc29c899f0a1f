//! The Python package, as Debian's `python3` alone runs it: built, put together in a folder, and tried by
//! the programs in `tests/python`, each of which is one promise. Other packages (pandas, Polars, ...) are in
//! the full tier (`xtask/src/wheel.rs`).

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The package as it is installed.
fn package() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Beside this program: cargo builds the library of a package before its tests.
        let program = std::env::current_exe().unwrap();
        let built = program.parent().unwrap().join("libbaro_python.so");
        let site = program.parent().unwrap().parent().unwrap().join("python-package");
        let place = site.join("barograph");
        let _ = std::fs::remove_dir_all(&site);
        std::fs::create_dir_all(&place).unwrap();
        for file in std::fs::read_dir(here.join("barograph")).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), place.join(file.file_name())).unwrap();
            }
        }
        std::fs::copy(built, place.join("_barograph.abi3.so")).unwrap();
        site
    })
}

fn python() -> &'static str {
    // Not one that a developer has in front of it: the system's has nothing installed beside it.
    if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" }
}

fn run(name: &str) -> Option<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name);
    let folder = std::env::temp_dir().join(format!("baro-python-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let ran = Command::new(python())
        .args(["-X", "faulthandler", "-W", "ignore::UserWarning:barograph"])
        .arg(&script)
        .arg(&folder)
        // Not the package's own folder, which has its sources under the same name.
        .current_dir(&folder)
        .env("PYTHONPATH", package())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output();
    let _ = std::fs::remove_dir_all(&folder);
    match ran {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: no python3 here ({error})");
            None
        }
    }
}

/// Runs a program of `tests/python`, which prints `ok: WHAT` for each thing that held.
fn holds(name: &str, wanted: usize) {
    let Some(output) = run(name) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {:?}\n{said}\n{errors}", output.status);
    let held = said.lines().filter(|line| line.starts_with("ok: ")).count();
    assert_eq!(held, wanted, "{name}: {said}\n{errors}");
}

#[test]
fn every_type_comes_back_from_python() {
    holds("every_type.py", 16);
}

#[test]
fn wrong_arguments_are_named_and_push_nothing() {
    holds("arguments.py", 6);
}

#[test]
fn a_forked_child_is_refused_and_ends() {
    holds("fork.py", 4);
}

#[test]
fn a_killed_program_loses_nothing_that_was_pushed() {
    holds("killed.py", 2);
}

#[test]
fn a_thousand_opens_leak_nothing() {
    holds("leaks.py", 3);
}

#[test]
fn stores_that_cannot_be_opened_say_why() {
    holds("stores.py", 6);
}

#[test]
fn ctrl_c_ends_every_wait() {
    holds("interrupt.py", 3);
}

#[test]
fn an_event_loop_and_another_process_push() {
    holds("together.py", 4);
}
