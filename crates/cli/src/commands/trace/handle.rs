//! `baro trace handle`: how long handles of a journal were waited for, and why.

use super::analysis::{self, OfJournal};
use crate::failure::{Outcome, Result};
use baro_trace::analyze::{Analysis, Options};
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro trace handle freeze.trace")]
pub(super) struct Arguments {
    #[command(flatten)]
    of: OfJournal,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    analysis::run_of_journal(&arguments.of, Analysis::Handle, &Options::default())
}
