//! `cargo xtask dist`: the programs as they are handed out, built slowly and once: `baro`,
//! `baro-lake`, `baro-listen`, `baro-serve`, `baro-lab` and the interposer, stripped, each with its debug information
//! beside it in `NAME.debug`, where debuggers and `addr2line` find it by the link in the program.

use crate::ci::{Outcome, plain};
use crate::libbaro::must;
use crate::shell::{Cmd, target_dir};
use std::path::PathBuf;

/// The second by itself: its parser asks for all of `regex`, which would be in `baro` too.
const BUILDS: [&str; 2] = [
    "cargo build --profile dist --locked -p baro-cli -p baro-lake -p baro-listen -p baro-lab -p baro-preload",
    "cargo build --profile dist --locked -p baro-serve",
];

const FILES: &[&str] =
    &["baro", "baro-lake", "baro-listen", "baro-serve", "baro-lab", "libbaro_preload.so"];

/// What `baro` may weigh, stripped.
const BARO_BYTES_MAX: u64 = 19_000_000;

/// Where they are.
pub(crate) fn folder() -> PathBuf {
    target_dir().join("dist")
}

/// `cargo xtask dist`.
pub(crate) fn run() -> Result<(), String> {
    build()?;
    for name in FILES {
        println!("{}: {} bytes", folder().join(name).display(), bytes(name)?);
    }
    Ok(())
}

/// As a full step: builds them and weighs `baro`.
pub(crate) fn step() -> Outcome {
    build()?;
    let bytes = bytes("baro")?;
    println!("   baro: {bytes} bytes, at most {BARO_BYTES_MAX}");
    if bytes > BARO_BYTES_MAX {
        return Err(format!(
            "cargo xtask dist    (baro: {bytes} bytes, more than {BARO_BYTES_MAX})"
        ));
    }
    let mut report = plain(&Cmd::new(&folder().join("baro").to_string_lossy()).arg("--version"))?;
    report.pass();
    Ok(report)
}

/// Builds all of them; what is stripped already is left as it is.
pub(crate) fn build() -> Result<(), String> {
    BUILDS.iter().try_for_each(|build| must(&Cmd::new(build)))?;
    for name in FILES {
        let file = folder().join(name);
        let (file, debug) = (file.to_string_lossy(), format!("{name}.debug"));
        let sections = Cmd::new("objdump -h").arg(&file).output()?;
        if !sections.contains(".debug_info") {
            continue;
        }
        let tool = |line: &str| Cmd::new(line).within(&folder());
        must(&tool("objcopy --only-keep-debug").arg(name).arg(&debug))?;
        // Into a file of its own: one that is stripped has its link.
        let stripped = format!("{name}.stripped");
        let link = format!("--add-gnu-debuglink={debug}");
        must(&tool("objcopy --strip-unneeded").arg(&link).arg(name).arg(&stripped))?;
        let [from, to] = [&stripped, *name].map(|name| folder().join(name));
        std::fs::rename(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    Ok(())
}

fn bytes(name: &str) -> Result<u64, String> {
    let file = folder().join(name);
    std::fs::metadata(&file)
        .map(|found| found.len())
        .map_err(|e| format!("{}: {e}", file.display()))
}
