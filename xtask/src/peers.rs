//! InfluxDB and Prometheus for the tests that compare with them (`crates/cli/tests/peers`): unpacked by
//! `scripts/peers.sh` into `peers/` of the target folder, and the tests run with many lines and selectors.
//!
//! Where the packages cannot be had, that is said here, and the tests are counted as skipped.

use crate::ci::{Outcome, run_tests};
use crate::shell::{Cmd, target_dir};

/// Lines, and selectors, of a run.
const COUNT: &str = "4000";

/// The full step.
pub(crate) fn step() -> Outcome {
    let fetch = Cmd::new("scripts/peers.sh").arg(&target_dir().join("peers").to_string_lossy());
    if !fetch.run().is_ok_and(|fetched| fetched) {
        println!("   no peers: `{fetch}` failed");
    }
    let tests = Cmd::new("cargo test --locked -p baro-cli --test peers -- --show-output");
    run_tests(&tests.env("BARO_PEERS_COUNT", COUNT))
}
