//! Metrics of OpenTelemetry, as a request of OTLP has them: data points with their attributes become samples of
//! series, the way Prometheus translates them.
//!
//! A request is protobuf, of which the bytes are read in place; one in JSON is made protobuf before
//! ([`from_json`]). All of it is checked before anything is told (`check`), by tables of the protocol's
//! messages (`schema`).
//!
//! A data point is taken or refused whole: a number is one sample, a histogram one for each bucket, and its
//! count and sum. What a store has no place for is refused by name: sums of differences, exponential
//! histograms. Exemplars are counted. A resource's `service.name` and `service.instance.id` become the labels
//! `job` and `instance`, and what else is known of it the labels of `target_info`, with the first of its
//! points.
//!
//! Invariant: any bytes give points or an error, a point is refused by itself, and memory is that of one point.
//! Held by `tests`, the fuzz target `otlp`, and `what_comes_over_the_network_is_read_in_proportion`.

mod attributes;
mod check;
mod fault;
mod json;
mod names;
mod points;
mod schema;
#[cfg(test)]
mod tests;

use crate::protobuf::{Fields, Value};
use attributes::Resource;
pub use check::Unreadable;
pub use fault::{Fault, Wrong};
pub use json::{JSON_FACTOR, from_json};
use names::Role;
use points::{Form, Reader};
pub use points::{Number, Point, Sample};

/// Bytes of a metric's name: what a series may have.
const NAME_BYTES_MAX: usize = baro_ondisk::limits::NAME_BYTES_MAX;
/// Bytes of a unit: what a series may have.
const UNIT_BYTES_MAX: usize = 64;

/// What a request has beside data points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data points, with those that were refused.
    pub points: u64,
    /// Exemplars, which are passed over.
    pub exemplars: u64,
    /// Metrics without data of a kind that is known here.
    pub empty_metrics: u64,
    /// Resources whose attributes are too long for the name of a `target_info`.
    pub long_resources: u64,
}

/// The fields of a message that has been checked.
fn fields(message: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> + Clone {
    Fields::of(message).filter_map(Result::ok)
}

fn bytes(value: Value<'_>) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

fn text(value: Value<'_>) -> &str {
    str::from_utf8(bytes(value)).unwrap_or_default()
}

/// Reads a request; `each` is told each data point with its number, from 1, or what is wrong with it, and may
/// end it all. Whether all of the request can be read is checked before anything is told.
///
/// # Errors
/// It is no request; within it what `each` said.
pub fn read<E>(
    request: &[u8],
    mut each: impl FnMut(u64, Result<&Point<'_>, Fault<'_>>) -> Result<(), E>,
) -> Result<Result<Counts, E>, Unreadable> {
    check::check(&schema::REQUEST, request, 0)?;
    let mut reader = Reader::default();
    for (number, value) in fields(request) {
        if number == 1
            && let Err(ended) = resource_metrics(bytes(value), &mut reader, &mut each)
        {
            return Ok(Err(ended));
        }
    }
    Ok(Ok(reader.counts))
}

fn resource_metrics<'m, E>(
    message: &'m [u8],
    reader: &mut Reader<'m>,
    each: &mut impl FnMut(u64, Result<&Point<'_>, Fault<'_>>) -> Result<(), E>,
) -> Result<(), E> {
    let resources = || fields(message).filter(|(number, _)| *number == 1);
    let mut resource = Resource::of(resources().map(|(_, value)| bytes(value)));
    reader.counts.long_resources += u64::from(resource.is_long);
    for (_, scope) in fields(message).filter(|(number, _)| *number == 2) {
        for (_, metric) in fields(bytes(scope)).filter(|(number, _)| *number == 2) {
            one_metric(bytes(metric), &mut resource, reader, each)?;
        }
    }
    Ok(())
}

/// What all points of a metric have in common.
#[derive(Debug)]
struct Metric<'m> {
    /// As it was sent.
    shown: &'m str,
    unit: &'m str,
    name: String,
    /// For what role the name is.
    role: Option<Role>,
    /// Why none of its points is taken.
    wrong: Option<Wrong>,
}

fn one_metric<'m, E>(
    message: &'m [u8],
    resource: &mut Resource,
    reader: &mut Reader<'m>,
    each: &mut impl FnMut(u64, Result<&Point<'_>, Fault<'_>>) -> Result<(), E>,
) -> Result<(), E> {
    let mut metric = Metric { shown: "", unit: "", name: String::new(), role: None, wrong: None };
    for (number, value) in fields(message) {
        match number {
            1 => metric.shown = text(value),
            3 => metric.unit = text(value),
            _ => {}
        }
    }
    let mut is_empty = true;
    for (number, value) in fields(message) {
        let form = match number {
            5 | 7 => Form::Number,
            9 => Form::Histogram,
            10 => Form::Exponential,
            11 => Form::Summary,
            _ => continue,
        };
        is_empty = false;
        let data = bytes(value);
        metric.judge(form, number == 7, data);
        for (_, point) in fields(data).filter(|(number, _)| *number == 1) {
            reader.counts.points += 1;
            let read = match metric.wrong {
                Some(wrong) => Err(wrong),
                None => reader.point(&metric, form, resource, bytes(point)),
            };
            let told = match read {
                Ok(()) => Ok(&reader.point),
                Err(wrong) => Err(Fault { metric: metric.shown, wrong }),
            };
            each(reader.counts.points, told)?;
        }
    }
    reader.counts.empty_metrics += u64::from(is_empty);
    Ok(())
}

impl Metric<'_> {
    /// The name of its series, or why there are none.
    fn judge(&mut self, form: Form, is_sum: bool, data: &[u8]) {
        let (mut temporality, mut rises) = (0, false);
        for (number, value) in fields(data) {
            match (number, value) {
                (2, Value::Varint(found)) => temporality = found,
                (3, Value::Varint(found)) => rises = found != 0,
                _ => {}
            }
        }
        let adds_up = is_sum || form == Form::Histogram;
        let role = match form {
            Form::Number if !is_sum => Role::Gauge,
            Form::Number if rises => Role::Counter,
            _ => Role::Other,
        };
        self.wrong = match () {
            () if form == Form::Exponential => Some(Wrong::Exponential),
            () if adds_up && temporality != schema::CUMULATIVE => Some(Wrong::Delta),
            () if self.shown.len() > NAME_BYTES_MAX => Some(Wrong::LongName),
            () if self.unit.len() > UNIT_BYTES_MAX => Some(Wrong::LongUnit),
            () => None,
        };
        // A request may have as much data of a metric as it has bytes.
        if self.wrong.is_none() && self.role != Some(role) {
            self.name = names::metric(self.shown, self.unit, role).unwrap_or_default();
            self.role = Some(role);
        }
        if self.wrong.is_none() && self.name.is_empty() {
            self.wrong = Some(Wrong::NoName);
        }
    }
}
