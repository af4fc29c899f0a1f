//! `cargo xtask fuzz`: builds the fuzz program with checks switched on and runs it. What it does
//! is in the package `fuzz`; here it is only started, so that xtask depends on no product code.

mod guided;

use crate::shell::{self, Cmd};

/// Passes `[TARGET] [--seconds N] [--seed K] [--only I]` on; with `--guided` first, see there.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    if let ["--guided", rest @ ..] = args {
        return guided::run(rest);
    }
    let run = args.iter().fold(program()?, |cmd, arg| cmd.arg(arg));
    match run.run() {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(format!("`{run}` failed; after an abort fuzz/artifacts/*.current names the input"))
        }
        Err(error) => Err(format!("`{run}` did not start: {error}")),
    }
}

/// Builds the program.
fn program() -> Result<Cmd, String> {
    let build = Cmd::new("cargo build --profile fuzz -p baro-fuzz");
    if !build.run().map_err(|e| format!("`{build}` did not start: {e}"))? {
        return Err(format!("`{build}` failed"));
    }
    let program = shell::target_dir().join("fuzz").join("baro-fuzz");
    Ok(Cmd::new(&program.to_string_lossy()))
}
