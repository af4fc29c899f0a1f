//! `baro trace state`: stages of transactions on a time line.

use super::analysis::{self, OfJournal};
use crate::failure::{Outcome, Result};
use baro_trace::analyze::{Analysis, Options};
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro trace state --for 5s")]
pub(super) struct Arguments {
    #[command(flatten)]
    of: OfJournal,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    analysis::run_of_journal(&arguments.of, Analysis::State, &Options::default())
}
