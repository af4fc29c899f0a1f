//! Where the tests run programs under the library: a directory that takes direct I/O, the shared file and
//! counters, the library itself, and programs in C.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests use files and programs")]
#![allow(dead_code, unreachable_pub, reason = "not every test needs all of it")]

mod counters;
#[path = "../../src/layout.rs"]
pub mod layout;

use counters::Counters;
use layout::Counter;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// As small as pieces may be, so that small files have many.
pub const PIECE_BYTES: u64 = 64 * 1024;

/// A directory for one test with the shared files in it; gone at the end.
pub struct Place {
    pub root: PathBuf,
    pub counters: Counters,
}

impl Place {
    /// Nothing, with the reason printed, where direct I/O is not to be had.
    pub fn new(name: &str) -> Option<Place> {
        let root =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("files")).unwrap();
        let place = Place { root, counters: Counters::new() };
        place.set_pieces(PIECE_BYTES, PIECE_BYTES);
        let direct = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .custom_flags(0o40000 * if cfg!(target_arch = "x86_64") { 1 } else { 4 })
            .open(place.files().join("probe"));
        if let Err(error) = direct {
            println!("skipped: {} takes no direct I/O: {error}", place.root.display());
            return None;
        }
        Some(place)
    }

    pub fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    pub fn share(&self) -> PathBuf {
        let share = self.root.join("share");
        fs::create_dir_all(&share).unwrap();
        share
    }

    /// Writes the sizes as the controller does, also while programs run.
    pub fn set_pieces(&self, read_bytes: u64, write_bytes: u64) {
        let mut bytes = layout::fresh(layout::PIECES_MAGIC);
        bytes[layout::READ_PIECE_AT..][..8].copy_from_slice(&read_bytes.to_ne_bytes());
        bytes[layout::WRITE_PIECE_AT..][..8].copy_from_slice(&write_bytes.to_ne_bytes());
        self.counters.name_in(&mut bytes);
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.share().join(layout::PIECES_FILE))
            .unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    }

    /// What was counted since the last call.
    pub fn counted(&self) -> BTreeMap<&'static str, u64> {
        let value = |c: &Counter| (c.name(), self.counters.take(*c));
        Counter::ALL.iter().map(value).filter(|(_, v)| *v > 0).collect()
    }

    /// A command that runs under the library.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("LD_PRELOAD", preloaded())
            .env(layout::DIRECTORY_VARIABLE, self.share())
            .env("LC_ALL", "C");
        command
    }

    /// Compiles a program of `tests/native`; nothing, with the reason printed, if that cannot be.
    pub fn compile(&self, name: &str, options: &[&str]) -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/native/{name}.c"));
        let program = self.root.join(name);
        let compiler = if options.contains(&"musl") { "musl-gcc" } else { "cc" };
        let output = Command::new(compiler)
            .args([
                "-O2",
                "-g",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-U_FORTIFY_SOURCE",
                "-pthread",
                "-o",
            ])
            .args([&program, &source])
            .args(options.iter().filter(|o| **o != "musl"))
            .output();
        match output {
            Ok(output) if output.status.success() => Some(program),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let is_missing = said.contains("libaio") || said.contains("cannot find");
                assert!(is_missing, "{compiler} {name}.c:\n{said}");
                println!("skipped: {}", said.lines().next().unwrap_or("the linker failed"));
                None
            }
            Err(error) => {
                println!("skipped: {compiler} does not run: {error}");
                None
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// What programs are run with; `scripts/preload-sanitize.sh` puts a sanitizer before the library.
fn preloaded() -> std::ffi::OsString {
    std::env::var_os("BARO_PRELOAD_TEST").unwrap_or_else(|| library().into())
}

/// The library that cargo has built for this test.
pub fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().join("libbaro_preload.so");
    assert!(path.exists(), "{} was not built beside this test", path.display());
    path
}

/// Runs a command to its end and demands that it succeeds.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// True if the program is there; otherwise the reason to skip is printed.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|folder| folder.join(program).exists());
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

/// True for root; otherwise the reason to skip is printed.
pub fn is_root() -> bool {
    let is_root = fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"));
    if !is_root {
        println!("skipped: only root can make and mount a loop device");
    }
    is_root
}
