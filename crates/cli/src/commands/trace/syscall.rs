//! `baro trace syscall`: system calls of each task.

use super::analysis::{self, Common};
use crate::failure::{Outcome, Result};
use baro_trace::analyze::{Analysis, Options};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    analysis::run(&arguments.common, Analysis::Syscall, &Options::default())
}
