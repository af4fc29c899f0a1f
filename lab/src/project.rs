//! Programs of this project, built by cargo for a guest.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().unwrap_or(lab)
}

fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// How programs are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As users have them.
    Release,
    /// As `cargo test` has built them already.
    Test,
}

/// Packages with a program of the same or the given name.
const PROGRAMS: &[(&str, &str)] = &[
    ("lab-agent", "lab-agent"),
    ("lab-load", "lab-load"),
    ("baro", "baro-cli"),
    ("baro-lab", "baro-lab"),
];

/// Builds a program; `None` if this project has none of that name.
pub(crate) fn build(program: &str, profile: Profile) -> Result<Option<PathBuf>, String> {
    let Some((_, package)) = PROGRAMS.iter().find(|(name, _)| *name == program) else {
        return Ok(None);
    };
    Ok(Some(without_debug(cargo(package, &["--bin", program], profile)?.join(program))))
}

/// A copy without what debuggers need, beside the program: a quarter of its size, and all of it goes
/// into the memory of a guest. The program itself where this machine has no `strip`.
fn without_debug(program: PathBuf) -> PathBuf {
    let made = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let small = program.with_extension("guest");
    if made(&small) < made(&program) {
        let part = program.with_extension(format!("guest-{}", std::process::id()));
        let mut strip = Command::new("strip");
        let strip = strip.arg("--strip-debug").arg("-o").arg(&part).arg(&program);
        if !strip.status().is_ok_and(|status| status.success())
            || std::fs::rename(&part, &small).is_err()
        {
            return program;
        }
    }
    small
}

/// Builds the shared library `file` of a package; `None` if this project has no such package.
pub(crate) fn build_library(
    package: &str,
    file: &str,
    profile: Profile,
) -> Result<Option<PathBuf>, String> {
    let lock = root().join("Cargo.lock");
    let packages = std::fs::read_to_string(&lock).map_err(crate::tool::at(&lock))?;
    if !packages.lines().any(|line| line == format!("name = \"{package}\"")) {
        return Ok(None);
    }
    Ok(Some(cargo(package, &["--lib"], profile)?.join(file)))
}

/// Builds and returns the folder in which it is.
fn cargo(package: &str, what: &[&str], profile: Profile) -> Result<PathBuf, String> {
    let (profile, folder) = match profile {
        Profile::Release => ("release", "release"),
        Profile::Test => ("test", "debug"),
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--profile", profile, "-p", package]);
    let done = cargo.args(what).current_dir(root()).status();
    if !done.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err(format!("{cargo:?} failed"));
    }
    Ok(target_dir().join(folder))
}
