//! How results are printed: every verb takes `--format`.

use crate::failure::Result;
use clap::ValueEnum;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document; keys carry units.
    Json,
}

/// Prints a JSON document.
///
/// # Errors
/// Nobody reads stdout.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}
