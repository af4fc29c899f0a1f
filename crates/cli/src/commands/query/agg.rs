//! Names of aggregates on the command line.

use baro_store::Aggregate;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use std::borrow::Cow;
use std::ffi::OsStr;

/// Each with what it is.
const NAMES: [(Aggregate, &str); 14] = [
    (Aggregate::Mean, "Arithmetic mean"),
    (Aggregate::Min, "Least value"),
    (Aggregate::Max, "Greatest value"),
    (Aggregate::Sum, "Sum"),
    (Aggregate::Count, "Number of samples"),
    (Aggregate::First, "Value of the earliest sample"),
    (Aggregate::Last, "Value of the latest sample"),
    (Aggregate::Median, "Middle one of the values by size"),
    (Aggregate::P99, "99th percentile; any from p0 to p100, such as p99.9"),
    (Aggregate::Stddev, "Standard deviation"),
    (Aggregate::Increase, "How much a counter has risen; what falls was set back to zero"),
    (Aggregate::Rate, "The same by second"),
    (Aggregate::Delta, "Difference to the sample before the step"),
    (Aggregate::TimeMean, "Mean over time: a value holds until the next one"),
];

/// Other names that people know.
const ALIASES: [(&str, Aggregate); 4] = [
    ("avg", Aggregate::Mean),
    ("average", Aggregate::Mean),
    ("twa", Aggregate::TimeMean),
    ("std", Aggregate::Stddev),
];

/// Reads them, and lists them for help and completions.
#[derive(Clone, Debug)]
pub(super) struct Parser;

impl TypedValueParser for Parser {
    type Value = Aggregate;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Aggregate, Error> {
        let name = StringValueParser::new().parse_ref(command, argument, value)?;
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let found = alias.map(|(_, aggregate)| *aggregate).or_else(|| Aggregate::of_name(&name));
        found.ok_or_else(|| {
            let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
            if let Some(argument) = argument {
                let argument = ContextValue::String(argument.to_string());
                error.insert(ContextKind::InvalidArg, argument);
            }
            error.insert(ContextKind::InvalidValue, ContextValue::String(name));
            let names = NAMES.iter().map(|(aggregate, _)| match aggregate.name() {
                Cow::Borrowed(name) => name.to_owned(),
                Cow::Owned(_) => "p0 to p100".to_owned(),
            });
            error.insert(ContextKind::ValidValue, ContextValue::Strings(names.collect()));
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |(aggregate, help): &(Aggregate, &'static str)| {
            let name = match aggregate.name() {
                Cow::Borrowed(name) => name,
                Cow::Owned(_) => "p99",
            };
            PossibleValue::new(name).help(*help)
        };
        Some(Box::new(NAMES.iter().map(value)))
    }
}
