//! What is said on the command line about an input of text, the same for files, stdin and datagrams.

use crate::failure::{Mistake, Result};
use baro_export::parquet::{self, TimeUnit};
use baro_sources::{Role, Rules, TextForm, Times, Zone, zone_s};
use baro_sys::files;
use clap::{Args, ValueEnum};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

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
    /// Unit of times that are integers: s, ms, us or ns
    ///
    /// Without it nanoseconds, and what is hardly meant so is refused.
    #[arg(long, value_enum, value_name = "UNIT", hide_possible_values = true)]
    pub(super) precision: Option<Precision>,
    /// Zone of times that have none: UTC, +01:00, Europe/Berlin
    #[arg(long, value_parser = zone, allow_hyphen_values = true, hide_short_help = true)]
    zone: Option<Zone>,
    /// Numbers in CSV have a comma for their decimals
    #[arg(long, hide_short_help = true)]
    decimal_comma: bool,
    /// What columns of CSV or Parquet, or keys of JSON, are, by their names
    ///
    /// time, series, value, label or skip; of values in CSV and JSON values, f64, i64, u64, bool or text; in
    /// Parquet field (a series beside that of the row).
    #[arg(long, value_parser = column, value_delimiter = ',', value_name = "NAME=ROLE", hide_short_help = true)]
    columns: Vec<(String, ColumnRole)>,
}

/// What a column is said to be, in a form that has columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ColumnRole {
    text: Option<Role>,
    parquet: Option<parquet::Role>,
}

impl TextArguments {
    /// An option of them that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            ("precision", self.precision.is_some()),
            ("zone", self.zone.is_some()),
            ("decimal-comma", self.decimal_comma),
            ("columns", !self.columns.is_empty()),
        ];
        given.iter().find(|(_, given)| *given).map(|(name, _)| *name)
    }

    /// An option that none of these forms uses, and what it is for. Of those that are not named here text
    /// has a time with a zone, and columns, none.
    pub(super) fn unused(
        &self,
        csv: bool,
        json: bool,
        parquet: bool,
    ) -> Option<(&'static str, &'static str)> {
        let dated = csv || json || parquet;
        let unused = [
            (self.zone.is_some() && !dated, "zone", "dates: CSV, JSON or Parquet"),
            (self.decimal_comma && !csv, "decimal-comma", "CSV"),
            (
                !self.columns.is_empty() && !dated,
                "columns",
                "columns or keys: CSV, JSON or Parquet",
            ),
        ];
        unused.into_iter().find(|(unused, ..)| *unused).map(|(_, name, wanted)| (name, wanted))
    }

    /// What the parsers need of it.
    ///
    /// # Errors
    /// A column is said to be what columns of text are not.
    pub(crate) fn form(&self) -> Result<TextForm> {
        Ok(TextForm {
            times: self.times(),
            decimal_comma: self.decimal_comma,
            columns: self.roles("CSV", |role| role.text)?,
        })
    }

    fn times(&self) -> Times {
        let times = match self.precision {
            Some(precision) => Times::default().of_unit(precision.unit().ns()),
            None => Times::checked(),
        };
        self.zone.map_or(times, |zone| times.in_zone(zone))
    }

    /// What is said of a Parquet file, and how texts in it are times.
    ///
    /// # Errors
    /// A column is said to be what columns of Parquet are not.
    pub(crate) fn choice(&self) -> Result<parquet::Choice> {
        let unit = self.precision.map(Precision::unit);
        let clock = self.zone.map(|zone| {
            let moment = move |ns| zone.moment_ns(ns).map_err(|fault| fault.to_string());
            parquet::Clock(Arc::new(moment))
        });
        let times = self.times();
        let read = move |text: &str| times.read(text).map_err(|fault| fault.to_string());
        let texts = Some(parquet::Texts(Arc::new(read)));
        let columns = self.roles("Parquet", |role| role.parquet)?;
        Ok(parquet::Choice { unit, columns, clock, texts })
    }

    fn roles<R>(&self, form: &str, of: fn(&ColumnRole) -> Option<R>) -> Result<Vec<(String, R)>> {
        let names = || self.columns.iter().map(|(name, _)| name);
        let again =
            names().enumerate().find(|(at, name)| names().take(*at).any(|one| one == *name));
        if let Some((_, name)) = again {
            return Err(
                Mistake::new(format!("--columns {name}: expected one role, found two")).into()
            );
        }
        let role = |(name, role): &(String, ColumnRole)| {
            let role = of(role).ok_or_else(|| {
                Mistake::new(format!("--columns {name}: no column of {form} is that"))
            })?;
            Ok((name.clone(), role))
        };
        self.columns.iter().map(role).collect()
    }
}

/// Where the system has the rules of places (package tzdata).
const PLACES: &str = "/usr/share/zoneinfo";
/// More than any of its files has.
const PLACE_BYTES_MAX: u64 = 1 << 20;

pub(super) fn zone(text: &str) -> std::result::Result<Zone, String> {
    if let Some(zone_s) = zone_s(text) {
        return Ok(Zone::Ahead(zone_s));
    }
    // A name, and no way out of the folder.
    let part = |part: &str| {
        let plain =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+');
        part.starts_with(|first: char| first.is_ascii_uppercase()) && part.chars().all(plain)
    };
    let expected = "expected UTC, an offset such as +01:00, or a place such as Europe/Berlin";
    if !text.split('/').all(part) {
        return Err(format!("{expected}, found {text:?}"));
    }
    let path = Path::new(PLACES).join(text);
    let no_place = |error: &dyn std::fmt::Display| {
        format!("{expected}, found {text:?}: {error} (places are in the package tzdata)")
    };
    let file = files::open(&path).map_err(|error| no_place(&error))?;
    let mut bytes = Vec::new();
    file.take(PLACE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| no_place(&error))?;
    match Rules::parse(&bytes) {
        // There is one zone in a program's life.
        Some(rules) => Ok(Zone::Of(Box::leak(Box::new(rules)))),
        None => Err(format!("{}: expected rules of a zone, found something else", path.display())),
    }
}

fn column(text: &str) -> std::result::Result<(String, ColumnRole), String> {
    let role = |role: &str| {
        let role = ColumnRole { text: Role::of_name(role), parquet: role.parse().ok() };
        (role.text.is_some() || role.parquet.is_some()).then_some(role)
    };
    let found = text.rsplit_once('=').and_then(|(name, word)| Some((name, role(word)?)));
    found.map(|(name, role)| (name.to_owned(), role)).ok_or_else(|| {
        format!(
            "expected NAME=ROLE with the role time, series, value, label, skip, values, f64, i64, u64, \
             bool, text or field, found {text:?}"
        )
    })
}
