//! `baro serve`: done by `baro-serve`, which lies beside this program. So nothing of the network is linked
//! here, and what reads is a process of its own.

use super::beside;
use crate::failure::{Outcome, Result};
use baro_command::serve::Serve;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro serve /data/s --http 127.0.0.1:9090")]
pub(crate) struct Arguments {
    #[command(flatten)]
    serve: Serve,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    // All that was parsed is parsed again there, by the same definition.
    let _ = &arguments.serve;
    beside::become_it("baro-serve", "serve")
}
