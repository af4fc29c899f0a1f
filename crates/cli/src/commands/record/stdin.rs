//! stdin as a source. It can wait, so nothing of it is lost: when the ring is full, the pipe is
//! simply not read.

use super::feeds::{Fed, check_frame_bytes};
use super::samples::{Samples, wait_for_room};
use crate::failure::Result;
use baro_ondisk::Type;
use baro_recorder::Recorder;
use baro_sources::Sample;
use baro_sources::csv::CsvParser;
use baro_sources::frames::LengthFramer;
use baro_sources::json::JsonParser;
use baro_sources::raw::{RawFramer, Remainder};
use baro_sys::clock;
use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

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

/// What a parser makes of a line: a sample, or a complaint.
type Item<'a, E> = std::result::Result<Sample<'a>, E>;

/// Samples of lines. `parse` takes the next bytes, or `None` at their end, and hands on what they
/// complete.
fn lines<E: Display>(
    recorder: &Recorder,
    stop: &AtomicBool,
    mut parse: impl FnMut(Option<&[u8]>, &mut dyn FnMut(Item<'_, E>)),
) -> Result<Fed> {
    let mut samples = Samples::new(recorder, "stdin", Some(stop), usize::MAX)?;
    let mut take = |bytes: Option<&[u8]>| {
        let mut result = Ok(());
        parse(bytes, &mut |item| match item {
            Ok(sample) if result.is_ok() => result = samples.take_now(&sample),
            Ok(_) => {}
            Err(error) => samples.fed.complain(|| error.to_string()),
        });
        result
    };
    pieces(stop, |piece| take(Some(piece)))?;
    let result = take(None);
    samples.flush();
    result.map(|()| samples.fed)
}

pub(super) fn csv(recorder: &Recorder, stop: &AtomicBool) -> Result<Fed> {
    let mut parser = CsvParser::new();
    lines(recorder, stop, |bytes, item| match bytes {
        Some(bytes) => parser.feed(bytes, item),
        None => parser.finish(item),
    })
}

pub(super) fn json(recorder: &Recorder, stop: &AtomicBool) -> Result<Fed> {
    let mut parser = JsonParser::new();
    lines(recorder, stop, |bytes, item| match bytes {
        Some(bytes) => parser.feed(bytes, item),
        None => parser.finish(item),
    })
}

pub(super) fn raw(
    recorder: &Recorder,
    frame_bytes: usize,
    channel: &str,
    stop: &AtomicBool,
) -> Result<Fed> {
    let mut framer = RawFramer::new(frame_bytes)?;
    let mut frames = Frames::new(recorder, channel, stop)?;
    check_frame_bytes(frame_bytes, frames.producer.record_bytes_max())?;
    pieces(stop, |piece| {
        framer.feed(piece, |frame| frames.push(frame));
        Ok(())
    })?;
    // A last, shorter frame is data too.
    framer.finish(Remainder::Keep, |frame| frames.push(frame))?;
    Ok(frames.fed)
}

pub(super) fn frames(recorder: &Recorder, channel: &str, stop: &AtomicBool) -> Result<Fed> {
    let mut frames = Frames::new(recorder, channel, stop)?;
    let mut framer = LengthFramer::new(frames.producer.record_bytes_max());
    pieces(stop, |piece| {
        framer.feed(piece, |found| match found {
            Ok(frame) => frames.push(frame),
            Err(error) => frames.fed.complain(|| error.to_string()),
        });
        Ok(())
    })?;
    if let Err(error) = framer.finish() {
        frames.fed.complain(|| error.to_string());
    }
    Ok(frames.fed)
}

/// Frames on their way into a ring.
struct Frames<'a> {
    id: u32,
    producer: baro_recorder::Producer,
    stop: &'a AtomicBool,
    fed: Fed,
}

impl<'a> Frames<'a> {
    fn new(recorder: &Recorder, channel: &str, stop: &'a AtomicBool) -> Result<Self> {
        let ids = recorder.declare(&[(channel, Type::Channel, "")])?;
        let producer = recorder.producer()?;
        let mut fed = Fed::new("stdin", producer.report().producer)?;
        fed.series = 1;
        Ok(Frames { id: ids.first().copied().unwrap_or(1), producer, stop, fed })
    }

    fn push(&mut self, frame: &[u8]) {
        wait_for_room(&self.producer, frame.len(), self.stop);
        let (id, producer, time_ns) = (self.id, &mut self.producer, clock::realtime_ns());
        self.fed.push(0, frame.len(), || producer.push_frame(id, time_ns, frame));
    }
}
