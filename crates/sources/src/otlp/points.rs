//! Data points as samples: one of a number, some of a histogram or summary, with the names of their series.

use super::attributes::{Label, Resource, labels};
use super::fault::Wrong;
use super::{Counts, Metric, bytes, fields};
use crate::protobuf::Value;
use crate::time::{TimeFault, Times};
use baro_ondisk::limits::NAME_BYTES_MAX;
use baro_ondisk::write_name;

/// Buckets of a histogram, and quantiles of a summary: each is a series with all labels of the point.
const BUCKETS_MAX: usize = 1024;
/// The bit of `flags` that says that there is no value.
const NO_RECORDED_VALUE: u64 = 1;
/// What Prometheus writes where a series has ended.
const STALE: Number = Number::Float(f64::from_bits(0x7ff0_0000_0000_0002));

/// How points of a metric look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Histogram,
    Exponential,
    Summary,
}

/// A value of a data point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Floating point.
    Float(f64),
    /// An integer.
    Integer(i64),
    /// A count.
    Unsigned(u64),
}

/// A sample of a data point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'p> {
    /// The canonical name of its series.
    pub name: &'p str,
    /// The unit of that, as UCUM writes it; empty: none.
    pub unit: &'p str,
    /// Its value.
    pub value: Number,
    /// It tells of the resource, and is no part of the point.
    pub is_info: bool,
}

#[derive(Clone, Copy, Debug)]
struct Made {
    /// Where its name ends among all.
    end: usize,
    value: Number,
    has_unit: bool,
    is_info: bool,
}

/// A data point.
#[derive(Clone, Debug, Default)]
pub struct Point<'m> {
    /// Nanoseconds since 1970.
    pub time_ns: i64,
    unit: &'m str,
    names: String,
    made: Vec<Made>,
}

impl Point<'_> {
    /// Its samples, all at its time.
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> + Clone {
        let mut start = 0;
        self.made.iter().map(move |made| {
            let name = self.names.get(start..made.end).unwrap_or_default();
            start = made.end;
            let unit = if made.has_unit { self.unit } else { "" };
            Sample { name, unit, value: made.value, is_info: made.is_info }
        })
    }

    fn add(&mut self, value: Number, has_unit: bool, is_info: bool) {
        self.made.push(Made { end: self.names.len(), value, has_unit, is_info });
    }
}

/// Reads points one after the other, and keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Reader<'m> {
    pub(super) counts: Counts,
    pub(super) point: Point<'m>,
    labels: Vec<Label<'m>>,
    counted: Vec<u64>,
    bounds: Vec<f64>,
}

/// The fields of a point that are not its own form's: all forms have them, with numbers of their own.
#[derive(Clone, Copy, Debug, Default)]
struct Common {
    time: u64,
    flags: u64,
}

impl<'m> Reader<'m> {
    /// Makes samples of a point.
    pub(super) fn point(
        &mut self,
        metric: &Metric<'m>,
        form: Form,
        resource: &mut Resource,
        message: &'m [u8],
    ) -> Result<(), Wrong> {
        let (attributes, flags, exemplars, extra) = match form {
            Form::Number | Form::Exponential => (7, 8, 5, ""),
            Form::Histogram => (9, 10, 8, "le"),
            Form::Summary => (7, 8, 0, "quantile"),
        };
        let mut common = Common::default();
        for (number, value) in fields(message) {
            match (number, value) {
                (3, Value::Fixed64(time)) => common.time = time,
                (number, Value::Varint(found)) if number == flags => common.flags = found,
                (number, _) if number == exemplars => self.counts.exemplars += 1,
                _ => {}
            }
        }
        let time_ns = time_ns(common.time)?;
        if let Some(wrong) = resource.wrong {
            return Err(wrong);
        }
        let found = fields(message).filter(|(number, _)| *number == attributes);
        let is_taken = |name: &str| resource.takes(name) || (!extra.is_empty() && name == extra);
        labels(found.map(|(_, value)| bytes(value)), is_taken, &mut self.labels)?;
        resource.add(&mut self.labels);
        self.labels.sort_unstable();
        // Each of its samples has all of this in its name: a thousand buckets of names that nobody may declare
        // would take more than the request.
        let label_bytes: usize = self.labels.iter().map(|(a, b)| a.len() + b.len()).sum();
        if metric.name.len() + label_bytes > NAME_BYTES_MAX {
            return Err(Wrong::LongSeries);
        }
        let Reader { point, .. } = self;
        (point.time_ns, point.unit) = (time_ns, if metric.unit == "1" { "" } else { metric.unit });
        point.names.clear();
        point.made.clear();
        let is_stale = common.flags & NO_RECORDED_VALUE != 0;
        match form {
            Form::Number => self.number(&metric.name, message, is_stale)?,
            Form::Histogram => self.histogram(&metric.name, message)?,
            Form::Summary => self.summary(&metric.name, message)?,
            Form::Exponential => return Err(Wrong::Exponential),
        }
        let Reader { point, .. } = self;
        if is_stale {
            point.made.iter_mut().for_each(|made| made.value = STALE);
        }
        if let Some(info) = resource.info.take() {
            point.names.push_str(&info);
            point.add(Number::Float(1.0), false, true);
        }
        Ok(())
    }

    fn number(&mut self, name: &str, message: &[u8], is_stale: bool) -> Result<(), Wrong> {
        let (mut float, mut integer) = (None, None);
        for (number, value) in fields(message) {
            match (number, value) {
                (4, Value::Fixed64(bits)) => float = Some(Number::Float(f64::from_bits(bits))),
                (6, Value::Fixed64(bits)) => integer = Some(Number::Integer(bits.cast_signed())),
                _ => {}
            }
        }
        // Decoders of Protocol Buffers take the later of the two; which was meant, nobody knows.
        let value = match (float, integer) {
            (Some(_), Some(_)) => return Err(Wrong::TwoValues),
            (found, other) => {
                found.or(other).or(is_stale.then_some(STALE)).ok_or(Wrong::NoValue)?
            }
        };
        self.write(name, value, true);
        Ok(())
    }

    fn histogram(&mut self, name: &str, message: &[u8]) -> Result<(), Wrong> {
        self.counted.clear();
        self.bounds.clear();
        let (mut count, mut sum) = (0, None);
        for (number, value) in fields(message) {
            match (number, value) {
                (4, Value::Fixed64(found)) => count = found,
                (5, Value::Fixed64(bits)) => sum = Some(f64::from_bits(bits)),
                (6, list) => self.counted.extend(words(list).take(BUCKETS_MAX + 2)),
                (7, list) => {
                    let bounds = words(list).take(BUCKETS_MAX + 1);
                    self.bounds.extend(bounds.map(f64::from_bits));
                }
                _ => {}
            }
            if self.counted.len() > BUCKETS_MAX + 1 || self.bounds.len() > BUCKETS_MAX {
                return Err(Wrong::ManyBuckets);
            }
        }
        let (counts, bounds) = (self.counted.len(), self.bounds.len());
        if counts != bounds + 1 && (counts, bounds) != (0, 0) {
            return Err(Wrong::Buckets { counts, bounds });
        }
        let rises = |pair: &[f64]| matches!(pair, [a, b] if a < b);
        if !self.bounds.iter().all(|bound| bound.is_finite()) || !self.bounds.windows(2).all(rises)
        {
            return Err(Wrong::Bounds);
        }
        self.count_and_sum(name, count, sum);
        let (place, bucket) = (self.open("le"), format!("{name}_bucket"));
        let mut below: u64 = 0;
        for at in 0..bounds {
            let more = self.counted.get(at).copied().unwrap_or(0);
            let bound = self.bounds.get(at).copied().unwrap_or(0.0);
            below = below.checked_add(more).ok_or(Wrong::Overflow)?;
            self.set(place, bound.to_string());
            self.write(&bucket, Number::Unsigned(below), false);
        }
        if let Some(last) = self.counted.get(bounds) {
            let buckets = below.checked_add(*last).ok_or(Wrong::Overflow)?;
            if buckets != count {
                return Err(Wrong::Count { buckets, count });
            }
        }
        self.set(place, "+Inf".to_owned());
        self.write(&bucket, Number::Unsigned(count), false);
        Ok(())
    }

    fn summary(&mut self, name: &str, message: &[u8]) -> Result<(), Wrong> {
        let (mut count, mut sum) = (0, 0.0);
        for (number, value) in fields(message) {
            match (number, value) {
                (4, Value::Fixed64(found)) => count = found,
                (5, Value::Fixed64(bits)) => sum = f64::from_bits(bits),
                _ => {}
            }
        }
        let quantiles = || fields(message).filter(|(number, _)| *number == 6);
        if quantiles().count() > BUCKETS_MAX {
            return Err(Wrong::ManyBuckets);
        }
        self.count_and_sum(name, count, Some(sum));
        let place = self.open("quantile");
        for (_, one) in quantiles() {
            let (mut quantile, mut value) = (0.0, 0.0);
            for (number, found) in fields(bytes(one)) {
                match (number, found) {
                    (1, Value::Fixed64(bits)) => quantile = f64::from_bits(bits),
                    (2, Value::Fixed64(bits)) => value = f64::from_bits(bits),
                    _ => {}
                }
            }
            self.set(place, quantile.to_string());
            self.write(name, Number::Float(value), true);
        }
        Ok(())
    }

    fn count_and_sum(&mut self, name: &str, count: u64, sum: Option<f64>) {
        self.write(&format!("{name}_count"), Number::Unsigned(count), false);
        if let Some(sum) = sum {
            self.write(&format!("{name}_sum"), Number::Float(sum), true);
        }
    }

    /// Adds a label of which the value comes later; its place.
    fn open(&mut self, name: &'static str) -> usize {
        let place = self.labels.partition_point(|(other, _)| **other < *name);
        self.labels.insert(place, (name.into(), "".into()));
        place
    }

    fn set(&mut self, place: usize, text: String) {
        if let Some((_, value)) = self.labels.get_mut(place) {
            *value = text.into();
        }
    }

    /// A sample of the series with this name and the labels.
    fn write(&mut self, name: &str, value: Number, has_unit: bool) {
        let labels = self.labels.iter().map(|(name, value)| (name, value));
        write_name(&mut self.point.names, name, labels);
        self.point.add(value, has_unit, false);
    }
}

/// Eight bytes, or a list of them.
fn words(value: Value<'_>) -> impl Iterator<Item = u64> {
    let (list, one) = match value {
        Value::Bytes(list) => (list, None),
        Value::Fixed64(bits) => (&[][..], Some(bits)),
        _ => (&[][..], None),
    };
    let (words, _) = list.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).chain(one)
}

/// A time, which the protocol has in nanoseconds.
fn time_ns(found: u64) -> Result<i64, Wrong> {
    if found == 0 {
        return Err(Wrong::NoTime);
    }
    let time_ns = i64::try_from(found).map_err(|_| Wrong::Time { found, unit: None })?;
    match Times::checked().count(time_ns) {
        Err(TimeFault::Unit { unit }) => Err(Wrong::Time { found, unit: Some(unit) }),
        // The protocol says the unit.
        _ => Ok(time_ns),
    }
}
