//! `cargo xtask fuzz`: builds the fuzz program with checks switched on and runs it. What it does
//! is in the package `fuzz`; here it is only started, so that xtask depends on no product code.

use crate::shell::{self, Cmd};

/// Passes `[TARGET] [--seconds N] [--seed K] [--only I]` on.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    let build = Cmd::new("cargo build --profile fuzz -p baro-fuzz");
    if !build.run().map_err(|e| format!("`{build}` did not start: {e}"))? {
        return Err(format!("`{build}` failed"));
    }
    let program = shell::target_dir().join("fuzz").join("baro-fuzz");
    let run = args.iter().fold(Cmd::new(&program.to_string_lossy()), |cmd, arg| cmd.arg(arg));
    match run.run() {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(format!("`{run}` failed; after an abort fuzz/artifacts/*.current names the input"))
        }
        Err(error) => Err(format!("`{run}` did not start: {error}")),
    }
}
