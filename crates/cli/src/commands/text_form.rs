//! What is said on the command line about an input of text, the same for files, stdin and datagrams.

use baro_export::parquet::TimeUnit;
use baro_sources::{Role, TextForm, Times, zone_s};
use clap::{Args, ValueEnum};

/// Unit of times that are integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// Nanoseconds
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl Precision {
    pub(super) fn unit(self) -> TimeUnit {
        match self {
            Precision::Ns => TimeUnit::Nanoseconds,
            Precision::Us => TimeUnit::Microseconds,
            Precision::Ms => TimeUnit::Milliseconds,
            Precision::S => TimeUnit::Seconds,
        }
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct TextArguments {
    /// Unit of times that are integers; without it nanoseconds, and what is hardly meant so is refused
    #[arg(long, value_enum)]
    pub(super) precision: Option<Precision>,
    /// Zone of times that have none: UTC, or an offset such as +01:00
    #[arg(long, value_parser = zone, allow_hyphen_values = true)]
    zone: Option<i64>,
    /// Numbers in CSV have a comma for their decimals
    #[arg(long)]
    decimal_comma: bool,
    /// What columns of CSV are, by their names in its header: time, series, value, label, skip, or of
    /// values values, f64, i64, u64, bool or text
    #[arg(long, value_parser = column, value_delimiter = ',', value_name = "NAME=ROLE")]
    columns: Vec<(String, Role)>,
}

impl TextArguments {
    /// What the parsers need of it.
    pub(crate) fn form(&self) -> TextForm {
        let times = match self.precision {
            Some(precision) => Times::default().of_unit(precision.unit().ns()),
            None => Times::checked(),
        };
        TextForm {
            times: self.zone.map_or(times, |zone_s| times.in_zone(zone_s)),
            decimal_comma: self.decimal_comma,
            columns: self.columns.clone(),
        }
    }
}

fn zone(text: &str) -> Result<i64, String> {
    zone_s(text).ok_or_else(|| {
        format!(
            "expected UTC or an offset such as +01:00, found {text:?}; a zone whose offset changes in \
             the year must be converted before"
        )
    })
}

fn column(text: &str) -> Result<(String, Role), String> {
    let found = text.rsplit_once('=').and_then(|(name, role)| Some((name, Role::of_name(role)?)));
    found.map(|(name, role)| (name.to_owned(), role)).ok_or_else(|| {
        format!(
            "expected NAME=ROLE with the role time, series, value, label, skip, values, f64, i64, u64, \
             bool or text, found {text:?}"
        )
    })
}
