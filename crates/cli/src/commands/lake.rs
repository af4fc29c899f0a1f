//! `baro lake`: done by `baro-lake`, which lies beside this program. So nothing of tables is linked here, and
//! what hands over is a process of its own.

use super::beside;
use crate::failure::{Outcome, Result};
use baro_command::lake::Lake;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro lake /data/s /lake/sensors --every 10m")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lake: Lake,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    // All that was parsed is parsed again there, by the same definition.
    let _ = &arguments.lake;
    beside::become_it("baro-lake", "lake")
}
