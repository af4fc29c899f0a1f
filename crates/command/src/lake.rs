//! Options of the hand-over to a table: of `baro-lake`, and of the verb of `baro` that starts it.

use crate::{Format, size};
use clap::Args;
use std::path::PathBuf;

/// Hand over what has settled to a Delta table.
#[derive(Clone, Debug, Args)]
pub struct Lake {
    /// The store; may be recorded into meanwhile
    pub store: PathBuf,
    /// Folder of the table, or s3://BUCKET/PREFIX; a folder is made if it is not there
    ///
    /// Keys of S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from ~/.aws/credentials. The
    /// region comes from AWS_REGION, another server from AWS_ENDPOINT_URL.
    #[arg(required_unless_present = "release", conflicts_with = "release")]
    pub table: Option<PathBuf>,
    /// Go on: look for what has settled since, so often
    ///
    /// Without it what has settled by now is handed over, and that is all. Each hand-over is one version of
    /// the table and at least one file; readers like few large files.
    #[arg(long, value_name = "TIME", value_parser = size::nanoseconds, conflicts_with = "release")]
    pub every: Option<u64>,
    /// Hand over what can be read of damaged runs, and count them as handed over
    #[arg(long, conflicts_with = "release")]
    pub skip_damaged: bool,
    /// Stop keeping runs for the table that it has not got yet
    ///
    /// From then on they are dropped by their age and size as others are. Handing over to the same table
    /// goes on where it was.
    #[arg(long)]
    pub release: bool,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    pub format: Format,
}
