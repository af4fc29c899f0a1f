//! `cargo xtask sim`: repeats seeds of the recorder's crash tests, one with a log of everything
//! that happened. What it does is in `crates/recorder/tests/crash`; here it is only started.

use crate::shell::Cmd;

const HELP: &str = "expected --seed N [--count M]";

/// Takes `--seed N [--count M]`.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{text}: {e}; {HELP}"));
    let (seed, count) = match args {
        ["--seed", seed] => (number(seed)?, 1),
        ["--seed", seed, "--count", count] => (number(seed)?, number(count)?),
        _ => return Err(HELP.to_owned()),
    };
    let test = Cmd::new("cargo test -p baro-recorder --test crash many_lives -- --nocapture")
        .env("BARO_SIM_SEED", &seed.to_string())
        .env("BARO_SIM_COUNT", &count.to_string());
    match test.run() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("`{test}` failed")),
        Err(error) => Err(format!("`{test}` did not start: {error}")),
    }
}
