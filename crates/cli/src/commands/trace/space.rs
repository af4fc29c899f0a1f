//! `baro trace space`: used, free and reserved blocks of a journal over time.

use super::analysis::{self, OfJournal};
use crate::failure::{Outcome, Result};
use baro_trace::analyze::{Analysis, Options};
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro trace space freeze.trace")]
pub(super) struct Arguments {
    #[command(flatten)]
    of: OfJournal,
    /// Size of the journal where the trace does not tell it
    ///
    /// "Total journal blocks" of dumpe2fs -h.
    #[arg(long, value_name = "BLOCKS", hide_short_help = true)]
    journal_blocks: Option<u64>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    let options = Options { journal_blocks: arguments.journal_blocks, ..Options::default() };
    analysis::run_of_journal(&arguments.of, Analysis::Space, &options)
}
