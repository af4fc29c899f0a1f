//! Samples by name, on their way into a ring: ids are looked up or declared, samples of one time
//! go into one record.
//!
//! Values keep their type: a series declared as i64 takes integers exactly; one that is new is f64
//! or bool by its first value. A value that does not fit its series is a complaint, never a guess.

use super::feeds::Fed;
use crate::failure::Result;
use baro_ondisk::Type;
use baro_recorder::{Error, Producer, Recorder};
use baro_sources::{Sample, Scalar};
use baro_sys::clock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Samples of one time that go into one record.
const BATCH_MAX: usize = 4096;

/// Waits until the ring has room, or `stop`.
pub(super) fn wait_for_room(producer: &Producer, payload_bytes: usize, stop: &AtomicBool) {
    let needed = Producer::record_bytes(payload_bytes);
    while producer.free_bytes() < needed && !stop.load(Ordering::Relaxed) {
        clock::sleep_ns(1_000_000);
    }
}

/// See the module.
pub(super) struct Samples<'a> {
    recorder: &'a Recorder,
    producer: Producer,
    /// The source can wait, so nothing is refused; until it is told to stop.
    waits: Option<&'a AtomicBool>,
    pub(super) fed: Fed,
    ids: HashMap<String, (u32, Type)>,
    /// Series that this source may still declare.
    new_left: usize,
    time_ns: i64,
    /// Line of the sample before and the time at which it came, for lines without a time.
    line: (u64, i64),
    series: Vec<u32>,
    bits: Vec<i64>,
}

impl<'a> Samples<'a> {
    /// A source that `waits` for room, or one that cannot; it may declare `new_max` series.
    pub(super) fn new(
        recorder: &'a Recorder,
        name: &str,
        waits: Option<&'a AtomicBool>,
        new_max: usize,
    ) -> Result<Self> {
        let producer = recorder.producer()?;
        let fed = Fed::new(name, producer.report().producer)?;
        Ok(Samples {
            recorder,
            producer,
            waits,
            fed,
            ids: HashMap::new(),
            new_left: new_max,
            time_ns: 0,
            line: (0, 0),
            series: Vec::new(),
            bits: Vec::new(),
        })
    }

    /// The series' id and type, declared at its first sample.
    fn id(
        &mut self,
        name: &str,
        value: Scalar,
    ) -> Result<std::result::Result<(u32, Type), String>> {
        if let Some(found) = self.ids.get(name) {
            return Ok(Ok(*found));
        }
        let found = match self.recorder.declared(name) {
            Some(declared) => (declared.id, declared.kind),
            None if self.new_left == 0 => {
                return Ok(Err(format!(
                    "series {name:?}: expected one of the series declared so far (this source may \
                     declare no more; declare it with --declare), found a new one"
                )));
            }
            None => {
                let kind = match value {
                    Scalar::Float(_) | Scalar::Integer(_) => Type::F64,
                    Scalar::Boolean(_) => Type::Bool,
                };
                // What came before must not wait for the device.
                self.flush();
                match self.recorder.declare(&[(name, kind, "")]) {
                    Ok(ids) => {
                        self.new_left -= 1;
                        (ids.first().copied().unwrap_or(0), kind)
                    }
                    Err(error @ Error::System(_)) => return Err(error.into()),
                    Err(error) => return Ok(Err(error.to_string())),
                }
            }
        };
        self.ids.insert(name.to_owned(), found);
        self.fed.series = self.ids.len();
        Ok(Ok(found))
    }

    /// Takes a sample; `now_ns` is its time if it has none of its own.
    pub(super) fn take(&mut self, sample: &Sample<'_>, now_ns: i64) -> Result<()> {
        let (id, kind) = match self.id(&sample.series, sample.value)? {
            Ok(found) => found,
            Err(reason) => {
                self.fed.complain(|| format!("line {}: {reason}", sample.line));
                return Ok(());
            }
        };
        let bits = match (kind, sample.value) {
            (Type::F64, Scalar::Float(value)) => value.to_bits(),
            (Type::F64, Scalar::Integer(value)) => (value as f64).to_bits(),
            (Type::I64, Scalar::Integer(value)) => value.cast_unsigned(),
            (Type::Bool, Scalar::Boolean(value)) => u64::from(value),
            (kind, found) => {
                let (line, name, kind) = (sample.line, &sample.series, kind.name());
                self.fed.complain(|| {
                    format!("line {line}: series {name}: expected {kind}, found {found:?}")
                });
                return Ok(());
            }
        };
        let time_ns = sample.time_ns.unwrap_or(now_ns);
        if time_ns != self.time_ns || self.series.len() >= BATCH_MAX {
            self.flush();
        }
        self.time_ns = time_ns;
        self.series.push(id);
        self.bits.push(bits as i64);
        Ok(())
    }

    /// The same for a stream of lines: all of a line without a time have the time of its first.
    pub(super) fn take_now(&mut self, sample: &Sample<'_>) -> Result<()> {
        if sample.time_ns.is_none() && self.line.0 != sample.line {
            self.line = (sample.line, clock::realtime_ns());
        }
        self.take(sample, self.line.1)
    }

    /// Pushes a frame of a declared channel.
    pub(super) fn frame(&mut self, channel: u32, time_ns: i64, bytes: &[u8]) {
        let producer = &mut self.producer;
        self.fed.push(0, bytes.len(), || producer.push_frame(channel, time_ns, bytes));
    }

    /// Pushes what has been taken.
    pub(super) fn flush(&mut self) {
        let count = self.series.len();
        if count == 0 {
            return;
        }
        let bytes = 8 + count * 12;
        if let Some(stop) = self.waits {
            wait_for_room(&self.producer, bytes, stop);
        }
        let (time_ns, series, bits) = (self.time_ns, &self.series, &self.bits);
        let producer = &mut self.producer;
        self.fed.push(count, bytes, || producer.push_integers(time_ns, series, bits));
        self.series.clear();
        self.bits.clear();
    }
}
