//! `baro trace`: records what the kernel does, and shows what journals and tasks did.

mod record;

use crate::failure::{Outcome, Result};

pub(crate) use record::Arguments;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    record::run(arguments)
}
