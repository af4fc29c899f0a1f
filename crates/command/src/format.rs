//! How results are printed: every verb takes `--format`.

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
