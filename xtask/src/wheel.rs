//! `cargo xtask wheel`: the Python package as one file that pip installs, in `wheels/` of the target folder.
//!
//! A wheel is a zip of the package and a folder that describes it. `crates/python/wheel.py` packs it with
//! what Python has itself: nothing is installed or fetched for it, as maturin would have to be.

mod alone;

pub(crate) use alone::step;

use crate::libbaro::must;
use crate::shell::{Cmd, root, target_dir};
use std::path::PathBuf;

const BUILD: &str = "cargo build --profile wheel --locked -p baro-python";

/// `cargo xtask wheel`.
pub(crate) fn run() -> Result<(), String> {
    let wheel = build()?;
    let bytes = std::fs::metadata(&wheel).map_err(|e| format!("{}: {e}", wheel.display()))?.len();
    println!("{}: {bytes} bytes", wheel.display());
    Ok(())
}

/// Builds it; where it is.
pub(crate) fn build() -> Result<PathBuf, String> {
    must(&Cmd::new(BUILD))?;
    let library = target_dir().join("wheel/libbaro_python.so");
    let script = root().join("crates/python/wheel.py");
    let pack = Cmd::new("python3").arg(&script.to_string_lossy()).arg(&library.to_string_lossy());
    let pack = pack.arg(&target_dir().join("wheels").to_string_lossy());
    let said =
        pack.output().map_err(|error| format!("{error} (apt-get install python3 binutils)"))?;
    Ok(PathBuf::from(said.trim()))
}
