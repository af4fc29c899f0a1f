//! A query of PromQL from the command line: what `baro query --promql` hands to `baro-serve`, which has the engine.

use crate::size;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Time, series and value, for people
    #[default]
    Text,
    /// time,series,value with times in nanoseconds
    Csv,
    /// What Prometheus answers over HTTP
    Json,
}

/// Answer one query of PromQL.
#[derive(Clone, Debug, Args)]
pub struct Promql {
    /// The store; may be recorded into meanwhile
    pub store: PathBuf,
    /// The query
    #[arg(allow_hyphen_values = true)]
    pub query: String,
    /// The first time, in nanoseconds since 1970
    #[arg(long, allow_hyphen_values = true)]
    pub from_ns: i64,
    /// The last time
    #[arg(long, allow_hyphen_values = true)]
    pub to_ns: i64,
    /// From one time to the next; 0 for the last one alone
    #[arg(long, default_value_t = 0)]
    pub step_ns: u64,
    /// How long a sample counts where none follows
    #[arg(long, default_value = "5m", value_parser = size::nanoseconds)]
    pub lookback: u64,
    /// Memory of the query
    #[arg(long, default_value = "128M", value_parser = size::bytes)]
    pub memory: u64,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub form: Form,
}
