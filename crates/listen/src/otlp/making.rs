//! Samples of data points, made by the connection's own thread: those of a point whose series have all been met
//! go into a batch. All of another point are kept beside it with their names, until the request has the lane:
//! a point is taken or refused whole.

use crate::lane::Names;
use crate::sink::{Overload, Sink};
use baro_ingest::{Batch, Intake, Key, Met, Refusal, Row, Types, Value};
use baro_net::Pass;
use baro_ondisk::Type;
use baro_sources::otlp::{Fault, Number, Point, Sample};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Between two looks at how much that is.
const LOOK_BYTES: usize = 64 << 10;

/// Points that are refused between two pushes.
const REFUSED_MAX: usize = 65_536;

/// Marks lines of what tells of a resource: it is no part of the point that it comes with, and stays if that is
/// refused.
const INFO: u64 = 1 << 63;

/// Samples of a request of which it is known what they were: some megabyte.
const TAKEN_MAX: usize = 16_384;

/// A sample of a point with anything new; its unit and name are text beside it.
#[derive(Clone, Copy, Debug)]
struct New {
    time_ns: i64,
    value: Number,
    unit_bytes: usize,
}

/// Samples on their way into the lane.
pub(super) struct Making<'a, 's> {
    sink: &'a mut Sink<'s>,
    pass: &'a Pass,
    names: Names,
    batch: Batch,
    new: Vec<New>,
    /// Series of a point that have been met.
    met: Vec<(Met, Number)>,
    text: String,
    /// What was taken of this request: two values of one series and time would be one sample.
    taken: HashMap<(Key, i64), u128>,
    /// What of it is of the point that is looked at.
    of_point: Vec<(Key, i64)>,
    /// Bytes of names and samples since it was looked how much there is.
    unseen: usize,
    /// Points that were refused since the last push.
    refused: usize,
    /// What is made before it is pushed.
    made_bytes: usize,
}

/// Equal for equal numbers of all kinds: an integer that no float is, is itself.
fn bits(number: Number) -> u128 {
    let integer = match number {
        Number::Float(value) => return value.to_bits().into(),
        Number::Integer(value) => i128::from(value),
        Number::Unsigned(value) => i128::from(value),
    };
    let nearest = integer as f64;
    match nearest as i128 == integer {
        true => nearest.to_bits().into(),
        // Beyond all that floats have here.
        false => 1 << 127 ^ integer.cast_unsigned(),
    }
}

fn value(number: Number) -> Value<'static> {
    match number {
        Number::Float(value) => Value::Float(value),
        Number::Integer(value) => Value::Exact(value.into()),
        Number::Unsigned(value) => Value::Exact(value.into()),
    }
}

impl<'a, 's> Making<'a, 's> {
    pub(super) fn new(
        sink: &'a mut Sink<'s>,
        pass: &'a Pass,
        made_bytes: usize,
    ) -> Result<Self, Overload> {
        let names = sink.names()?;
        let (new, met, text) = (Vec::new(), Vec::new(), String::new());
        let (batch, taken, of_point) = (Batch::default(), HashMap::new(), Vec::new());
        Ok(Making {
            sink,
            pass,
            names,
            batch,
            new,
            met,
            text,
            taken,
            of_point,
            unseen: 0,
            refused: 0,
            made_bytes,
        })
    }

    /// Takes a data point of the request, or what is wrong with it.
    pub(super) fn take(
        &mut self,
        number: u64,
        point: Result<&Point<'_>, Fault<'_>>,
    ) -> Result<(), Overload> {
        let point = match point {
            Ok(point) => point,
            Err(fault) => {
                self.sink.faults.add(number, || fault.to_string());
                return self.refused();
            }
        };
        // What tells of the resource is beyond most prefixes, and nobody has asked for it.
        let pass = self.pass;
        for info in point.samples().filter(|sample| sample.is_info && pass.allows(sample.name)) {
            self.add(number | INFO, point.time_ns, std::iter::once(info));
        }
        let samples = || point.samples().filter(|sample| !sample.is_info);
        if let Some(sample) = samples().find(|sample| !pass.allows(sample.name)) {
            let found: String = sample.name.chars().take(100).collect();
            let prefix = &pass.prefix;
            self.sink.faults.add(number, || {
                format!(
                    "expected a series that begins with {prefix:?}, as the token says, found {found}"
                )
            });
            return self.refused();
        }
        if let Some(found) = self.other_value(point.time_ns, samples()) {
            self.sink.faults.add(number, || {
                format!(
                    "expected one value of each series and time, found another of {found} in this \
                     request: points of two resources or scopes need something that tells them apart, \
                     such as service.name"
                )
            });
            return self.refused();
        }
        self.add(number, point.time_ns, samples());
        if self.unseen >= LOOK_BYTES.min(self.made_bytes) {
            self.unseen = 0;
            let made = self.batch.used_bytes() + self.new.len() * size_of::<New>();
            if made >= self.made_bytes {
                self.push()?;
            }
        }
        Ok(())
    }

    /// Adds samples that are taken or refused together.
    fn add<'p>(
        &mut self,
        line: u64,
        time_ns: i64,
        samples: impl Iterator<Item = Sample<'p>> + Clone,
    ) {
        if self.as_met(line, time_ns, samples.clone()) {
            return;
        }
        for Sample { name, unit, value, .. } in samples {
            self.text.clear();
            self.text.push_str(unit);
            self.text.push_str(name);
            self.batch.add_whole(line, &self.text);
            self.new.push(New { time_ns, value, unit_bytes: unit.len() });
            self.unseen += self.text.len() + size_of::<New>();
        }
    }

    /// Which points were refused is remembered until what is made is pushed.
    fn refused(&mut self) -> Result<(), Overload> {
        self.refused += 1;
        match self.refused < REFUSED_MAX {
            true => Ok(()),
            false => self.push(),
        }
    }

    /// The series of a sample that was there with another value; else all of them are taken. Of more samples
    /// than [`TAKEN_MAX`] nobody looks.
    fn other_value<'p>(
        &mut self,
        time_ns: i64,
        samples: impl Iterator<Item = Sample<'p>>,
    ) -> Option<String> {
        self.of_point.clear();
        for Sample { name, value, .. } in samples {
            if self.taken.len() >= TAKEN_MAX {
                return None;
            }
            let (place, bits) = ((key(&self.names, name), time_ns), bits(value));
            match self.taken.entry(place) {
                Entry::Vacant(entry) => {
                    entry.insert(bits);
                    self.of_point.push(place);
                }
                Entry::Occupied(entry) if *entry.get() == bits => {}
                Entry::Occupied(_) => {
                    for place in self.of_point.drain(..) {
                        self.taken.remove(&place);
                    }
                    return Some(name.chars().take(100).collect());
                }
            }
        }
        None
    }

    /// Adds a point to the batch if all of its series have been met and take its values.
    fn as_met<'p>(
        &mut self,
        number: u64,
        time_ns: i64,
        samples: impl Iterator<Item = Sample<'p>>,
    ) -> bool {
        self.met.clear();
        let known = self.names.known.read();
        for Sample { name, value, .. } in samples {
            match known.get(key(&self.names, name)) {
                Some(met) => self.met.push((met, value)),
                None => return false,
            }
        }
        drop(known);
        self.batch.begin(number, Some(time_ns));
        let taken = self.met.iter().all(|(met, number)| self.batch.add(*met, value(*number)));
        if !taken {
            // The intake says why.
            self.batch.leave();
        }
        self.unseen += self.met.len() * size_of::<New>();
        taken
    }

    /// Pushes what is made.
    pub(super) fn push(&mut self) -> Result<(), Overload> {
        self.refused = 0;
        if self.batch.is_empty() {
            self.sink.pass_over(&[]);
            return Ok(());
        }
        let Making { sink, names, batch, new, .. } = self;
        let mut news = new.iter();
        sink.piece(&[], (names.generation, batch.new_max()), |intake, faults| {
            intake.take_batch(batch, |intake: &mut Intake<'static>, line, text| {
                let Some(new) = news.next() else { return Ok(()) };
                let (unit, series) = text.split_at_checked(new.unit_bytes).unwrap_or(("", text));
                let row = Row {
                    line,
                    series,
                    time_ns: new.time_ns,
                    value: value(new.value),
                    types: Types::As(Type::F64),
                    joint: None,
                    written: Some(key(names, series)),
                };
                if !unit.is_empty() {
                    intake.set_unit(series, unit);
                }
                intake.take(&row, &mut |refusal| {
                    let line = refusal.line & !INFO;
                    faults.refuse(&Refusal { line, ..refusal.clone() });
                })
            })
        })?;
        batch.clear();
        new.clear();
        Ok(())
    }
}

fn key(names: &Names, name: &str) -> Key {
    names.maker.with(b"").key(name.as_bytes())
}
