//! stdin as a source. It can wait, so nothing of it is lost: when the ring is full, the pipe is
//! simply not read.

use super::feeds::{Fed, check_frame_bytes};
use crate::failure::Result;
use baro_ondisk::Type;
use baro_recorder::{Producer, Recorder};
use baro_sources::csv::{CsvError, CsvParser, CsvSample, CsvValue};
use baro_sources::raw::{RawFramer, Remainder};
use baro_sys::clock;
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;
/// Complaints kept; all are counted.
const COMPLAINTS_MAX: usize = 10;
/// Samples of one time that go into one record.
const BATCH_MAX: usize = 4096;

/// Reads stdin on a thread of its own, so that a stop need not wait for input.
fn reader() -> Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(2);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut piece = vec![0; READ_BYTES];
            let piece = match stdin.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => {
                    piece.truncate(count);
                    Ok(piece)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = piece.is_err();
            if sender.send(piece).is_err() || failed {
                break;
            }
        }
    });
    receiver
}

/// Hands each piece of stdin to `each`, until its end or `stop`.
fn pieces(stop: &AtomicBool, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let input = reader();
    loop {
        match input.recv_timeout(Duration::from_millis(50)) {
            Ok(piece) => each(&piece?)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

/// Waits until the ring has room, or `stop`.
fn wait_for_room(producer: &Producer, payload_bytes: usize, stop: &AtomicBool) {
    let needed = Producer::record_bytes(payload_bytes);
    while producer.free_bytes() < needed && !stop.load(Ordering::Relaxed) {
        clock::sleep_ns(1_000_000);
    }
}

struct Lines<'a> {
    recorder: &'a Recorder,
    producer: Producer,
    stop: &'a AtomicBool,
    fed: Fed,
    ids: HashMap<String, (u32, Type)>,
    time_ns: i64,
    series: Vec<u32>,
    bits: Vec<i64>,
}

impl Lines<'_> {
    fn complain(&mut self, text: String) {
        self.fed.bad += 1;
        if self.fed.complaints.len() < COMPLAINTS_MAX {
            self.fed.complaints.push(text);
        }
    }

    /// The series' id, declared at its first sample: numbers are f64, true and false bool.
    fn id(&mut self, name: &str, kind: Type) -> Result<std::result::Result<u32, String>> {
        if let Some((id, known)) = self.ids.get(name) {
            return Ok(if *known == kind {
                Ok(*id)
            } else {
                Err(format!("series {name}: expected {}, found {}", known.name(), kind.name()))
            });
        }
        // What came before must not wait for the device.
        self.flush();
        match self.recorder.declare(&[(name, kind, "")]) {
            Ok(ids) => {
                let id = ids.first().copied().unwrap_or(0);
                self.ids.insert(name.to_owned(), (id, kind));
                self.fed.series = self.ids.len();
                Ok(Ok(id))
            }
            Err(error @ baro_recorder::Error::System(_)) => Err(error.into()),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn take(&mut self, sample: &CsvSample<'_>) -> Result<()> {
        let (kind, bits) = match sample.value {
            CsvValue::Float(value) => (Type::F64, value.to_bits()),
            CsvValue::Integer(value) => (Type::F64, (value as f64).to_bits()),
            CsvValue::Boolean(value) => (Type::Bool, u64::from(value)),
        };
        let id = match self.id(&sample.series, kind)? {
            Ok(id) => id,
            Err(reason) => {
                self.complain(format!("line {}: {reason}", sample.line));
                return Ok(());
            }
        };
        let time_ns = sample.time_ns.unwrap_or_else(clock::realtime_ns);
        if time_ns != self.time_ns || self.series.len() >= BATCH_MAX {
            self.flush();
        }
        self.time_ns = time_ns;
        self.series.push(id);
        self.bits.push(bits as i64);
        Ok(())
    }

    fn flush(&mut self) {
        let count = self.series.len();
        if count == 0 {
            return;
        }
        let bytes = 8 + count * 12;
        wait_for_room(&self.producer, bytes, self.stop);
        let (time_ns, series, bits) = (self.time_ns, &self.series, &self.bits);
        let producer = &mut self.producer;
        self.fed.push(count, bytes, || producer.push_integers(time_ns, series, bits));
        self.series.clear();
        self.bits.clear();
    }
}

pub(super) fn csv(recorder: &Recorder, stop: &AtomicBool) -> Result<Fed> {
    let producer = recorder.producer()?;
    let fed = Fed::new("stdin", producer.report().producer)?;
    let mut lines = Lines {
        recorder,
        producer,
        stop,
        fed,
        ids: HashMap::new(),
        time_ns: 0,
        series: Vec::new(),
        bits: Vec::new(),
    };
    let mut parser = CsvParser::new();
    let mut result = Ok(());
    let mut each = |item: std::result::Result<CsvSample<'_>, CsvError>| match item {
        Ok(sample) if result.is_ok() => result = lines.take(&sample),
        Ok(_) => {}
        Err(error) => lines.complain(error.to_string()),
    };
    pieces(stop, |piece| {
        parser.feed(piece, &mut each);
        Ok(())
    })?;
    parser.finish(&mut each);
    result?;
    lines.flush();
    Ok(lines.fed)
}

pub(super) fn raw(
    recorder: &Recorder,
    frame_bytes: usize,
    channel: &str,
    stop: &AtomicBool,
) -> Result<Fed> {
    let mut framer = RawFramer::new(frame_bytes)?;
    let ids = recorder.declare(&[(channel, Type::Channel, "")])?;
    let id = ids.first().copied().unwrap_or(1);
    let mut producer = recorder.producer()?;
    let mut fed = Fed::new("stdin", producer.report().producer)?;
    fed.series = 1;
    check_frame_bytes(frame_bytes, producer.record_bytes_max())?;
    let mut push = |fed: &mut Fed, frame: &[u8]| {
        wait_for_room(&producer, frame.len(), stop);
        let time_ns = clock::realtime_ns();
        fed.push(0, frame.len(), || producer.push_frame(id, time_ns, frame));
    };
    pieces(stop, |piece| {
        framer.feed(piece, |frame| push(&mut fed, frame));
        Ok(())
    })?;
    // A last, shorter frame is data too.
    framer.finish(Remainder::Keep, |frame| push(&mut fed, frame))?;
    Ok(fed)
}
