//! stdin as a source. It can wait, so nothing of it is lost: when the ring is full, the pipe is
//! simply not read.

use super::frame_bytes::{LIMITS, check_frame_bytes};
use crate::failure::Result;
use baro_ingest::{Fed, Intake, Manner, Room, Row, Target, Types};
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

/// Bytes read at once: what a pipe holds, if nobody has changed it.
const READ_BYTES: usize = 64 << 10;
/// Reads that wait while the recorder is busy, with a sync for new names above all: what has come by
/// then is taken at once, so that the next sync is for all names in it.
const READS: usize = 16;

/// Reads stdin on a thread of its own, so that a stop need not wait for input.
fn reader() -> Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(READS);
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
            Ok(piece) => {
                let (mut all, mut failed) = (piece?, None);
                while all.len() < READS * READ_BYTES
                    && failed.is_none()
                    && let Ok(piece) = input.try_recv()
                {
                    match piece {
                        Ok(piece) => all.extend_from_slice(&piece),
                        Err(error) => failed = Some(error),
                    }
                }
                each(&all)?;
                if let Some(error) = failed {
                    return Err(error.into());
                }
            }
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
/// complete. All of that is pushed before more is read: nobody knows when the next line comes.
fn lines<E: Display>(
    recorder: &Recorder,
    stop: &AtomicBool,
    mut parse: impl FnMut(Option<&[u8]>, &mut dyn FnMut(Item<'_, E>)),
) -> Result<Fed> {
    let target = Target::of(recorder, Room::Until(stop))?;
    let mut intake = Intake::new("stdin", target, Manner::as_they_come(usize::MAX))?;
    let mut take = |bytes: Option<&[u8]>| {
        let mut result = Ok(());
        parse(bytes, &mut |item| match item {
            Ok(Sample { line, time_ns, series, value }) if result.is_ok() => {
                let time_ns = time_ns.unwrap_or_else(|| intake.line_time_ns(line));
                let (value, types) = (value.into(), Types::Numbers);
                let row = Row { line, series: &series, time_ns, value, types };
                result = intake.take(&row, &mut |_| {});
            }
            Ok(_) => {}
            Err(error) => intake.fed.complain(|| error.to_string()),
        });
        result.and_then(|()| intake.flush(&mut |_| {}))
    };
    pieces(stop, |piece| Ok(take(Some(piece))?))?;
    take(None)?;
    Ok(intake.fed)
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
    check_frame_bytes(frame_bytes, frames.intake.record_bytes_max())?;
    pieces(stop, |piece| {
        framer.feed(piece, |frame| frames.take(frame));
        frames.result()
    })?;
    // A last, shorter frame is data too.
    framer.finish(Remainder::Keep, |frame| frames.take(frame))?;
    frames.end()
}

pub(super) fn frames(recorder: &Recorder, channel: &str, stop: &AtomicBool) -> Result<Fed> {
    let mut frames = Frames::new(recorder, channel, stop)?;
    let limit = frames.intake.record_bytes_max();
    let mut framer = LengthFramer::new(limit);
    let mut too_large = Vec::new();
    pieces(stop, |piece| {
        framer.feed(piece, |found| match found {
            Ok(frame) => frames.take(frame),
            Err(error) => {
                frames.intake.fed.complain(|| format!("{error} (a frame may have {LIMITS})"));
                // So that the ring counts it, and the log has a gap.
                too_large.resize(limit + 1, 0);
                frames.take(&too_large);
            }
        });
        frames.result()
    })?;
    if let Err(error) = framer.finish() {
        frames.intake.fed.complain(|| error.to_string());
    }
    frames.end()
}

/// Frames on their way into a ring.
struct Frames<'a> {
    id: u32,
    intake: Intake<'a>,
    /// Why no more can be pushed.
    failed: baro_ingest::Result<()>,
}

impl<'a> Frames<'a> {
    fn new(recorder: &'a Recorder, channel: &str, stop: &'a AtomicBool) -> Result<Self> {
        let ids = recorder.declare(&[(channel, Type::Channel, "")])?;
        let target = Target::of(recorder, Room::Until(stop))?;
        let mut intake = Intake::new("stdin", target, Manner::as_they_come(0))?;
        intake.fed.series = 1;
        Ok(Frames { id: ids.first().copied().unwrap_or(1), intake, failed: Ok(()) })
    }

    fn take(&mut self, frame: &[u8]) {
        if self.failed.is_ok() {
            self.failed = self.intake.take_frame(self.id, clock::realtime_ns(), frame);
        }
    }

    fn result(&mut self) -> Result<()> {
        Ok(std::mem::replace(&mut self.failed, Ok(()))?)
    }

    fn end(mut self) -> Result<Fed> {
        self.result()?;
        Ok(self.intake.fed)
    }
}
