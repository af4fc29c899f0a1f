//! stdin as a source. It can wait, so nothing of it is lost: when the ring is full, the pipe is
//! simply not read.

use super::frame_bytes::{LIMITS, check_frame_bytes};
use super::held::HeldLines;
use crate::failure::Result;
use baro_ingest::{Fed, Intake, Manner, Room, Row, Target, Types};
use baro_ondisk::Type;
use baro_recorder::Recorder;
use baro_show::plural;
use baro_sources::csv::CsvParser;
use baro_sources::frames::LengthFramer;
use baro_sources::influx::{InfluxParser, InfluxSample};
use baro_sources::json::{JsonParser, JsonSample};
use baro_sources::prometheus::PrometheusParser;
use baro_sources::raw::{RawFramer, Remainder};
use baro_sources::{Held, Refused, Sample, TextForm};
use baro_sys::{clock, input};
use std::io::{ErrorKind, IsTerminal as _, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Bytes read at once: what a pipe holds, if nobody has changed it.
const READ_BYTES: usize = 64 << 10;
/// Reads that wait while the recorder is busy, with a sync for new names above all: what has come by
/// then is taken at once, so that the next sync is for all names in it.
const READS: usize = 16;
/// Bytes of a line without its end that are kept back: more than those of any that is understood.
const UNENDED_BYTES_MAX: usize = 2 << 20;

/// So long it is waited for input before it is asked whether more is wanted.
const WAIT_MS: u16 = 50;
/// So long that is waited for at a stop: where others read the same pipe a read may block all the same.
const LAST_WAIT: Duration = Duration::from_secs(1);

type Piece = std::io::Result<(Vec<u8>, i64)>;

/// What has been read on a thread of its own, so that a stop need not wait for input.
struct Reader {
    pieces: Receiver<Piece>,
    /// Nothing more is to be read. Whatever is read before somebody looks is handed on, since the pipe does not
    /// have it any more.
    enough: Arc<AtomicBool>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
    }
}

/// Begins to read stdin.
fn reader() -> Reader {
    if std::io::stdin().is_terminal() {
        say!("note: reads what is typed here; Ctrl-D at the beginning of a line ends it");
    }
    let (sender, pieces) = sync_channel(READS);
    let enough = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&enough);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        while !ended.load(Ordering::Relaxed) {
            // What cannot be waited for is read, which says why.
            if matches!(input::is_ready(&stdin, WAIT_MS), Ok(false)) {
                continue;
            }
            let mut piece = vec![0; READ_BYTES];
            let piece = match stdin.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => {
                    piece.truncate(count);
                    // What has no time of its own has this one, however long its turn takes.
                    Ok((piece, clock::realtime_ns()))
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
    Reader { pieces, enough }
}

/// What has come on stdin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Came<'a> {
    /// Bytes, and when they were read.
    Bytes(&'a [u8], i64),
    /// Nothing more is there at the moment, or as much as is taken at once: what is new in it is declared
    /// together.
    All,
    /// Nothing has come for a while.
    Nothing,
}

/// Hands what comes on stdin to `each`, until its end, `stop`, or that says no; whether it was its end. What has
/// been read before a stop is handed on too.
pub(crate) fn until(
    stop: impl Fn() -> bool,
    mut each: impl FnMut(Came<'_>) -> Result<bool>,
) -> Result<bool> {
    let input = reader();
    loop {
        match input.pieces.recv_timeout(Duration::from_millis(50)) {
            Ok(first) => {
                let (mut next, mut left) = (Some(first), READS * READ_BYTES);
                let mut failed = None;
                while let Some(piece) = next.take() {
                    match piece {
                        Ok((bytes, came_ns)) => {
                            if !each(Came::Bytes(&bytes, came_ns))? {
                                return Ok(false);
                            }
                            left = left.saturating_sub(bytes.len());
                            next = if left > 0 { input.pieces.try_recv().ok() } else { None };
                        }
                        Err(error) => failed = Some(error),
                    }
                }
                if !each(Came::All)? {
                    return Ok(false);
                }
                if let Some(error) = failed {
                    let expected = match error.kind() {
                        ErrorKind::IsADirectory => ": expected a file or a pipe, found a folder",
                        _ => "",
                    };
                    return Err(format!("stdin: read: {error}{expected}").into());
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) => {
                if !each(Came::Nothing)? {
                    return Ok(false);
                }
            }
        }
        if stop() {
            input.enough.store(true, Ordering::Relaxed);
            // Its thread ends soon. An error of the input was not asked for any more.
            while let Ok(Ok((bytes, came_ns))) = input.pieces.recv_timeout(LAST_WAIT) {
                if !each(Came::Bytes(&bytes, came_ns))? {
                    break;
                }
            }
            each(Came::All)?;
            return Ok(false);
        }
    }
}

fn pieces(stop: &AtomicBool, mut each: impl FnMut(Came<'_>) -> Result<()>) -> Result<bool> {
    until(|| stop.load(Ordering::Relaxed), |came| each(came).map(|()| true))
}

/// Says that recording was ended within a line or a frame, of which so many bytes had come: no fault of
/// the input, so it changes no exit code.
fn not_taken(what: &str, bytes: usize) {
    if bytes > 0 {
        let bytes = plural(bytes as u64, "byte");
        say!("stdin: note: recording was stopped within a {what}: {bytes} of it are not taken");
    }
}

/// What has come of a line whose end has not: no parser gets it before, as it may never come. Of `100.4`
/// a recording that is stopped may have read `10`, which is another value.
#[derive(Debug, Default)]
struct Unended(Vec<u8>);

impl Unended {
    /// Hands on the lines that have ended. A line longer than any that is understood is handed on in
    /// pieces, so that memory is bounded.
    fn feed<T>(&mut self, bytes: &[u8], each: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.0.len() + bytes.len() > UNENDED_BYTES_MAX => bytes.len(),
            None => 0,
        };
        let (now, later) = bytes.split_at(whole);
        let handed = match (now.is_empty(), self.0.is_empty()) {
            (true, _) => None,
            (false, true) => Some(each(now)),
            (false, false) => {
                self.0.extend_from_slice(now);
                let handed = each(&self.0);
                self.0.clear();
                Some(handed)
            }
        };
        self.0.extend_from_slice(later);
        handed
    }
}

/// Forms of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    Csv,
    Json,
    Influx,
    Prometheus,
}

/// Samples of lines. All that a read has brought is pushed before more is read: nobody knows when the
/// next line comes.
pub(super) fn lines(
    recorder: &Recorder,
    lines: Lines,
    form: TextForm,
    stop: &AtomicBool,
) -> Result<Fed> {
    let target = Target::of(recorder, Room::Until(stop))?;
    let intake = Intake::new("stdin", target, Manner::as_they_come(usize::MAX))?;
    let mut taking = Taking { intake, lines: HeldLines::of_stdin(), result: Ok(()) };
    let live = taking.lines.live;
    match lines {
        Lines::Csv => {
            let mut parser = if live { CsvParser::live(form) } else { CsvParser::of(form) };
            taking.all(stop, |turn, taking| {
                match turn {
                    Turn::Bytes(bytes) => parser.feed(bytes, |item| taking.sample(item)),
                    Turn::Judge => parser.judge(|item| taking.sample(item)),
                    Turn::End => parser.finish(|item| taking.sample(item)),
                }
                parser.held()
            })?;
        }
        Lines::Json => {
            let mut parser = JsonParser::of(form);
            taking.all(stop, |turn, taking| {
                match turn {
                    Turn::Bytes(bytes) => parser.feed(bytes, |item| taking.json(item)),
                    Turn::Judge => {}
                    // An array goes on behind a stop.
                    Turn::End if stop.load(Ordering::Relaxed) => {
                        parser.stop(|item| taking.json(item));
                    }
                    Turn::End => parser.finish(|item| taking.json(item)),
                }
                Held::default()
            })?;
        }
        Lines::Influx => {
            let times = form.times;
            let mut parser = if live { InfluxParser::live(times) } else { InfluxParser::of(times) };
            taking.all(stop, |turn, taking| {
                match turn {
                    Turn::Bytes(bytes) => parser.feed(bytes, |item| taking.field(item)),
                    Turn::Judge => parser.judge(|item| taking.field(item)),
                    Turn::End => parser.finish(|item| taking.field(item)),
                }
                parser.held()
            })?;
        }
        Lines::Prometheus => {
            let mut parser = PrometheusParser::of(form.times);
            taking.all(stop, |turn, taking| {
                match turn {
                    Turn::Bytes(bytes) => parser.feed(bytes, |item| taking.sample(item)),
                    Turn::Judge => {}
                    Turn::End => parser.finish(|item| taking.sample(item)),
                }
                taking.intake.fed.exemplars = parser.exemplars();
                Held::default()
            })?;
        }
    }
    Ok(taking.intake.fed)
}

/// What a parser is asked for.
enum Turn<'a> {
    /// It takes these bytes.
    Bytes(&'a [u8]),
    /// Its lines have waited long enough for a quote that closes a text.
    Judge,
    /// Nothing more comes.
    End,
}

/// Samples on their way from a parser into the intake.
struct Taking<'a> {
    intake: Intake<'a>,
    lines: HeldLines,
    /// Why no more can be taken.
    result: baro_ingest::Result<()>,
}

impl Taking<'_> {
    /// `parse` takes each turn, hands on what that completes, and says what it holds back.
    fn all(
        &mut self,
        stop: &AtomicBool,
        mut parse: impl FnMut(Turn<'_>, &mut Self) -> Held,
    ) -> Result<()> {
        let mut unended = Unended::default();
        let at_end = pieces(stop, |came| match came {
            Came::Bytes(bytes, came_ns) => {
                self.lines.came_at(came_ns);
                if let Some(held) = unended.feed(bytes, |bytes| parse(Turn::Bytes(bytes), self)) {
                    self.lines.parsed(held);
                }
                self.taken()
            }
            Came::All | Came::Nothing => {
                if self.lines.is_due() {
                    let held = parse(Turn::Judge, self);
                    self.lines.judged(held);
                    return self.flush();
                }
                match came {
                    Came::All => self.flush(),
                    _ => Ok(()),
                }
            }
        })?;
        let Unended(rest) = unended;
        if at_end && !rest.is_empty() {
            parse(Turn::Bytes(&rest), self);
        }
        parse(Turn::End, self);
        if !at_end {
            not_taken("line", rest.len());
        }
        self.flush()
    }

    fn taken(&mut self) -> Result<()> {
        Ok(std::mem::replace(&mut self.result, Ok(()))?)
    }

    fn flush(&mut self) -> Result<()> {
        self.taken()?;
        Ok(self.intake.flush(&mut |_| {})?)
    }

    /// Takes a row whose time may be that at which it came.
    fn take(&mut self, time_ns: Option<i64>, row: Row<'_>) {
        if self.result.is_ok() {
            let time_ns = time_ns.unwrap_or_else(|| {
                if let Some(came_ns) = self.lines.came_ns(row.line) {
                    self.intake.came_at(came_ns);
                }
                self.intake.line_time_ns(row.line)
            });
            self.result = self.intake.take(&Row { time_ns, ..row }, &mut |_| {});
        }
    }

    fn sample(&mut self, item: std::result::Result<Sample<'_>, impl Refused>) {
        match item {
            Ok(Sample { line, time_ns, series, joint, value, mark }) => {
                let (value, types) = ((&value).into(), mark.into());
                let row =
                    Row { line, series: &series, time_ns: 0, value, types, joint, written: None };
                self.take(time_ns, row);
            }
            Err(error) => self.intake.fed.complain_of(error.lines(), || error.to_string()),
        }
    }

    fn json(&mut self, item: std::result::Result<JsonSample<'_>, impl Refused>) {
        let item = item.map(|JsonSample { object, sample }| {
            self.intake.point(object);
            sample
        });
        self.sample(item);
    }

    fn field(&mut self, item: std::result::Result<InfluxSample<'_>, impl Refused>) {
        match item {
            Ok(InfluxSample { line, time_ns, series, joint, value }) => {
                let (value, types, joint) = ((&value).into(), Types::Exact, Some(joint));
                self.take(
                    time_ns,
                    Row { line, series, time_ns: 0, value, types, joint, written: None },
                );
            }
            Err(error) => self.intake.fed.complain_of(error.lines(), || error.to_string()),
        }
    }
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
    let at_end = pieces(stop, |came| {
        if let Came::Bytes(bytes, came_ns) = came {
            frames.intake.came_at(came_ns);
            framer.feed(bytes, |frame| frames.take(frame));
        }
        frames.result()
    })?;
    if at_end {
        // A last, shorter frame is data too.
        if framer.pending_bytes() > 0 {
            say!(
                "stdin: note: the input ended with {} of {frame_bytes} bytes of a frame: recorded as a shorter frame",
                framer.pending_bytes()
            );
        }
        framer.finish(Remainder::Keep, |frame| frames.take(frame))?;
    } else {
        not_taken("frame", framer.pending_bytes());
    }
    frames.end()
}

pub(super) fn frames(recorder: &Recorder, channel: &str, stop: &AtomicBool) -> Result<Fed> {
    let mut frames = Frames::new(recorder, channel, stop)?;
    let limit = frames.intake.record_bytes_max();
    let mut framer = LengthFramer::new(limit);
    let mut too_large = Vec::new();
    let at_end = pieces(stop, |came| {
        let Came::Bytes(bytes, came_ns) = came else { return frames.result() };
        frames.intake.came_at(came_ns);
        framer.feed(bytes, |found| match found {
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
    match framer.finish() {
        Err(error) if at_end => frames.intake.fed.complain(|| error.to_string()),
        Err(error) => say!("stdin: note: recording was stopped: {error}"),
        Ok(()) => {}
    }
    frames.end()
}

/// Frames on their way into a ring.
struct Frames<'a> {
    id: u32,
    intake: Intake<'a>,
    /// Frames so far: as lines, each has a time of its own.
    number: u64,
    /// Why no more can be pushed.
    failed: baro_ingest::Result<()>,
}

impl<'a> Frames<'a> {
    fn new(recorder: &'a Recorder, channel: &str, stop: &'a AtomicBool) -> Result<Self> {
        let ids = recorder.declare(&[(channel, Type::Channel, "")])?;
        let target = Target::of(recorder, Room::Until(stop))?;
        let mut intake = Intake::new("stdin", target, Manner::as_they_come(0))?;
        intake.fed.series = 1;
        let id = ids.first().copied().unwrap_or(1);
        Ok(Frames { id, intake, number: 0, failed: Ok(()) })
    }

    fn take(&mut self, frame: &[u8]) {
        if self.failed.is_ok() {
            self.number += 1;
            let time_ns = self.intake.line_time_ns(self.number);
            self.failed = self.intake.take_frame(self.id, time_ns, frame);
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
