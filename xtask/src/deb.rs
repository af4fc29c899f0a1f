//! `cargo xtask deb`: the Debian package, made with dpkg-deb alone; `cargo xtask deb test`: the
//! package in a clean Debian, installed, used, upgraded, removed.
//!
//! Invariant: the package owns no data. What is in /var/lib/barograph survives upgrade, removal
//! and purge; held by the trial.

mod notices;
mod package;
mod readme;
mod trial;

use trial::Trial;

use crate::ci::{Outcome, Report};
use crate::shell;
use crate::{dist, full};
use std::path::{Path, PathBuf};

/// Version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The package in a clean Debian, as a full step.
pub(crate) fn step() -> Outcome {
    let mut report = Report::default();
    match trial::run() {
        Ok(Trial::Done(checks)) => checks.iter().for_each(|_| report.pass()),
        Ok(Trial::Skipped(why)) => report.skip("the package in a clean Debian", &why),
        Err(error) => return Err(format!("cargo xtask deb test    ({error})")),
    }
    Ok(report)
}

/// `cargo xtask deb [test | readme [FILE]] [--version V] [--out FOLDER]`.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    match args {
        ["test"] => match trial::run()? {
            Trial::Done(checks) => {
                println!("deb: {} checks ok", checks.len());
                Ok(())
            }
            Trial::Skipped(why) => {
                println!("skipped: {why}");
                Ok(())
            }
        },
        ["readme"] => readme::run(None),
        ["readme", file] => readme::run(Some(Path::new(file))),
        _ => {
            let (mut version, mut out) = (VERSION.to_owned(), folder());
            let mut rest = args.iter();
            while let Some(arg) = rest.next() {
                let value = rest.next().ok_or_else(|| format!("{arg} needs a value"));
                match *arg {
                    "--version" => version = (*value?).to_owned(),
                    "--out" => out = PathBuf::from(*value?),
                    other => {
                        return Err(format!("deb: expected --version or --out, found {other}"));
                    }
                }
            }
            full::nothing_due("a package")?;
            println!("{}", package::build(&program()?, &version, &out)?.display());
            Ok(())
        }
    }
}

/// Where packages are put and tried.
fn folder() -> PathBuf {
    shell::target_dir().join("deb")
}

/// `baro` as it is handed out, with the interposer beside it.
fn program() -> Result<PathBuf, String> {
    dist::build()?;
    Ok(dist::folder().join("baro"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, bytes))
        .map_err(|error| format!("{}: {error}", path.display()))
}
