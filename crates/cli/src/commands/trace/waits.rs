//! `baro trace waits`: where tasks waited, and who woke them.

use super::analysis::{self, OfTasks};
use crate::failure::{Outcome, Result};
use baro_trace::analyze::Analysis;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro trace waits --for 5s")]
pub(super) struct Arguments {
    #[command(flatten)]
    of: OfTasks,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    analysis::run_of_tasks(&arguments.of, Analysis::Waits)
}
