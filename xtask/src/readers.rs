//! pandas, Polars, pyarrow and DuckDB for the test that reads with them what `baro` writes
//! (`crates/cli/tests/readers.rs`): a virtual environment in `readers/` of the target folder.
//!
//! Made by pip from pinned versions, once for each change of the list. Where Python, its venv or the
//! packages cannot be had, that is said here, and the test is counted as skipped.

use crate::ci::{Outcome, Report};
use crate::python::{done, pip};
use crate::shell::{Cmd, root, target_dir};
use std::fs;
use std::path::Path;

const LIST: &str = "crates/cli/tests/readers/requirements.txt";

/// The step of `cargo xtask ci`.
pub(crate) fn step() -> Outcome {
    if let Err(why) = install() {
        println!("   no readers: {why}");
    }
    Ok(Report::default())
}

fn install() -> Result<(), String> {
    let folder = target_dir().join("readers");
    let list = fs::read_to_string(root().join(LIST)).map_err(|e| format!("{LIST}: {e}"))?;
    let installed = folder.join("requirements.txt");
    if fs::read_to_string(&installed).is_ok_and(|found| found == list) {
        return Ok(());
    }
    println!("   installing {}", list.split_whitespace().collect::<Vec<_>>().join(" "));
    // Half an environment from a stopped run is no environment.
    let _ = fs::remove_dir_all(&folder);
    let made = make(&folder);
    if let Err(why) = made {
        let _ = fs::remove_dir_all(&folder);
        return Err(why);
    }
    fs::write(&installed, list).map_err(|e| format!("{}: {e}", installed.display()))
}

fn make(folder: &Path) -> Result<(), String> {
    let venv = Cmd::new("python3 -m venv").arg(&folder.to_string_lossy());
    done(&venv, "apt-get install python3-venv")?;
    done(&pip(folder).arg("-r").arg(LIST), "is there a network?")
}
