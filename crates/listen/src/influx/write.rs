//! Line protocol from a request's body into a lane, while it comes.
//!
//! A piece of the body is parsed by the connection's own thread. Lines of series that have been met become
//! samples there. Others are checked there and kept as text, and are read again when the request has the
//! lane, which is needed to declare.
//!
//! Memory of a request: a piece of the body, its samples, what unpacks it, and the line whose end has not
//! come.

use super::dialect::Dialect;
use crate::held::{self, Ended};
use crate::lane::Names;
use crate::routes::App;
use crate::sink::{Faults, Overload, Sink};
use baro_ingest::{Batch, Intake, Key, KeyMaker, Known, Met, Row, Types};
use baro_net::{Body, BodyError, Encoding, Pass, Request, Response};
use baro_sources::influx::{
    InfluxError, InfluxProblem, InfluxSample, InfluxValue, LINE_BYTES_MAX, PointParser,
    PointReader, Points,
};
use baro_sources::{TimeFault, Times};

/// The first piece of a body, twice as much for the next one, and so on: a client that sends little, or slowly,
/// has a small one, and a thousand of these take no room from others.
const FIRST_BYTES: usize = 4 << 10;
/// A piece of a body: some thousand lines, which go into a record together.
const PIECE_BYTES: usize = 128 << 10;
/// The same while there are new names in it: all of a piece are declared with one wait for the device.
const NEW_BYTES: usize = 1 << 20;
/// Of all memory for requests a piece has this part at most: short lines take many times their bytes.
const PIECE_PART: u64 = 32;
/// What unpacks gzip takes.
const UNPACKING_BYTES: u64 = 48 << 10;
/// A body of which nothing is to be kept unless all of it is good is held whole.
const WHOLE_BYTES_MAX: usize = 4 << 20;
/// Such a body as samples.
const WHOLE_FACTOR: u64 = 6;

/// How a request wants to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) dialect: Dialect,
    pub(crate) times: Times,
    /// Good lines are kept beside bad ones.
    pub(crate) partial: bool,
    /// The answer waits until all is durable.
    pub(crate) sync: bool,
}

/// How a request of this interface wants to be written, or what is wrong with its parameters.
pub(crate) fn how(dialect: Dialect, request: &Request) -> Result<How, String> {
    let flag = |name: &str, default| match request.query.get(name) {
        None => Ok(default),
        Some("true" | "") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(format!("expected true or false for {name}, found {other:?}")),
    };
    let is_3 = dialect == Dialect::V3;
    Ok(How {
        dialect,
        times: times(dialect, request.query.get("precision"))?,
        partial: !is_3 || flag("accept_partial", true)?,
        sync: !is_3 || !flag("no_sync", false)?,
    })
}

fn times(dialect: Dialect, precision: Option<&str>) -> Result<Times, String> {
    let unit_ns = match (dialect, precision) {
        (Dialect::V3, None | Some("" | "auto")) => return Ok(Times::by_size()),
        // Nanoseconds, but nobody has said so: seconds would be in 1970.
        (_, None | Some("")) => return Ok(Times::checked()),
        (_, Some("ns" | "n" | "nanosecond")) => 1,
        (_, Some("us" | "u" | "\u{b5}" | "microsecond")) => 1_000,
        (_, Some("ms" | "millisecond")) => 1_000_000,
        (_, Some("s" | "second")) => 1_000_000_000,
        (Dialect::V1, Some("m")) => 60_000_000_000,
        (Dialect::V1, Some("h")) => 3_600_000_000_000,
        (_, Some(other)) => {
            let all = match dialect {
                Dialect::V1 => "ns, us, ms, s, m or h",
                Dialect::V2 => "ns, us, ms or s",
                Dialect::V3 => "auto, ns, us, ms, s, or their whole names",
            };
            return Err(format!("expected the precision {all}, found {other:?}"));
        }
    };
    Ok(Times::default().of_unit(unit_ns))
}

/// What the lines of a request have come to.
struct Lines<'a> {
    parser: PointParser<Met>,
    reader: PointReader,
    batch: Batch,
    pass: &'a Pass,
    /// Points and faults.
    lines: u64,
    last: u64,
    /// Bytes since something came of them: what the parser may hold at most.
    held_bytes: usize,
}

/// Makes samples of lines, with the names that are known.
struct Making<'a> {
    known: &'a Known,
    batch: &'a mut Batch,
    faults: &'a mut Faults,
    lines: &'a mut u64,
    last: &'a mut u64,
    /// Something came of the bytes.
    any: bool,
}

impl Making<'_> {
    fn count(&mut self, line: u64) {
        self.any = true;
        if *self.last != line {
            *self.last = line;
            *self.lines += 1;
        }
    }
}

impl Points for Making<'_> {
    type Series = Met;

    fn find(&self, key: Key) -> Option<Met> {
        self.known.get(key)
    }

    fn begin(&mut self, line: u64, time_ns: Option<i64>) {
        self.count(line);
        self.batch.begin(line, time_ns);
    }

    fn field(&mut self, series: Met, value: InfluxValue<'_>) -> bool {
        self.batch.add(series, (&value).into())
    }

    fn leave(&mut self) {
        self.batch.leave();
    }

    fn whole(&mut self, line: u64, text: &str) {
        self.count(line);
        self.batch.add_whole(line, text);
    }

    fn fault(&mut self, error: InfluxError) {
        self.count(error.line);
        self.faults.add(error.line, || said(&error));
    }
}

impl Lines<'_> {
    /// A key stands for what the token allows, too.
    fn maker(&self, names: &Names) -> KeyMaker {
        names.maker.with(self.pass.prefix.as_bytes())
    }

    /// Reads bytes, which may be the last, into the batch.
    fn read(&mut self, bytes: &[u8], ended: bool, names: &Names, faults: &mut Faults) {
        let maker = self.maker(names);
        let Lines { parser, batch, lines, last, held_bytes, .. } = self;
        batch.limit_texts(names.text_bytes_max);
        let known = names.known.read();
        let mut making = Making { known: &known, batch, faults, lines, last, any: false };
        parser.feed(bytes, maker, &mut making);
        if ended {
            parser.finish(maker, &mut making);
        }
        *held_bytes = if making.any { bytes.len() } else { *held_bytes + bytes.len() };
    }

    /// Pushes the batch.
    fn push(
        &mut self,
        names: &Names,
        intake: &mut Intake<'static>,
        faults: &mut Faults,
    ) -> baro_ingest::Result<()> {
        let maker = self.maker(names);
        let Lines { reader, batch, pass, .. } = self;
        intake.take_batch(batch, |intake, line, text| {
            let mut result = Ok(());
            reader.read((line, text), maker, |key, sample| {
                if result.is_ok() {
                    result = take(&sample, key, pass, intake, faults);
                }
            });
            result
        })
    }
}

/// What is wrong with a line, in the words of requests.
fn said(error: &InfluxError) -> String {
    let said = without_line(&error.to_string());
    match error.problem {
        // What a command line calls --precision is a parameter here.
        InfluxProblem::Time { fault: TimeFault::Range, .. } => {
            said.replace("--precision", "precision")
        }
        InfluxProblem::Time { .. } => said.replace("--precision ", "precision="),
        _ => said,
    }
}

/// The line is told beside it.
fn without_line(said: &str) -> String {
    let rest = said.strip_prefix("line ").and_then(|rest| rest.split_once([',', ':']));
    rest.map_or(said, |(_, rest)| rest.trim_start()).to_owned()
}

fn take(
    sample: &InfluxSample<'_>,
    key: Key,
    pass: &Pass,
    intake: &mut Intake<'static>,
    faults: &mut Faults,
) -> baro_ingest::Result<()> {
    let InfluxSample { line, time_ns, series, joint, value } = sample;
    if !pass.allows(series) {
        faults.add(*line, || {
            let found: String = series.chars().take(100).collect();
            format!(
                "expected a series that begins with {:?}, as the token says, found {found}",
                pass.prefix
            )
        });
        return Ok(());
    }
    let time_ns = time_ns.unwrap_or_else(|| intake.line_time_ns(*line));
    let (types, joint, value) = (Types::Exact, Some(*joint), value.into());
    let row = Row { line: *line, series, time_ns, value, types, joint, written: Some(key) };
    intake.take(&row, &mut |refusal| faults.refuse(refusal))
}

/// Takes the lines of a request, and answers.
pub(crate) fn answer(
    app: &App,
    pass: &Pass,
    how: How,
    request: &Request,
    body: &mut Body<'_, '_>,
) -> Response {
    if let Encoding::Other(other) = &request.encoding {
        let said = format!("expected Content-Encoding gzip or identity, found {other}");
        return how.dialect.error(415, &said);
    }
    let mut sink = app.sink(pass);
    let (parser, reader) = (PointParser::new(how.times), PointReader::new(how.times));
    let batch = Batch::default();
    let mut lines = Lines { parser, reader, batch, pass, lines: 0, last: 0, held_bytes: 0 };
    let ended = match how.partial {
        true => in_parts(app, &mut sink, &mut lines, body, request.encoding == Encoding::Gzip),
        false => whole(app, &mut sink, &mut lines, body),
    };
    let ended = ended.and_then(|()| match how.sync {
        true => Ok(sink.durable(&app.acks)?),
        false => Ok(()),
    });
    app.metrics.wrote(sink.samples, sink.faults.lines);
    match ended {
        Ok(()) if sink.faults.is_empty() => Response::empty(204),
        Ok(()) => how.dialect.refused(&sink, lines.lines, how.partial || sink.samples > 0),
        Err(Ended::Overload(overload)) => {
            app.overloaded(&overload);
            // Of what is to come again nothing counts.
            let kept = match overload.status() {
                503 => String::new(),
                _ => kept(app, &sink, how.sync),
            };
            how.dialect.error(overload.status(), &format!("{overload}{kept}"))
        }
        Err(Ended::Refused(status, said)) => how.dialect.error(status, &said),
        Err(Ended::Body(error)) => {
            let kept = kept(app, &sink, how.sync);
            how.dialect.error(error.status(), &format!("{error}{kept}"))
        }
    }
}

/// What has become of what came before a body broke off, behind the words for that.
fn kept(app: &App, sink: &Sink<'_>, sync: bool) -> String {
    let mut said = String::new();
    if sink.faults.lines > 0 {
        said.push_str(&format!("; {} lines before that were refused", sink.faults.lines));
    }
    if sink.samples == 0 {
        return said;
    }
    // What is said to be kept is durable, as in every answer.
    let become_of = match sync.then(|| sink.durable(&app.acks)) {
        Some(Ok(())) => "are durable".to_owned(),
        Some(Err(overload)) => {
            app.overloaded(&overload);
            format!("are on their way to the disk, and not durable yet ({overload})")
        }
        None => "are in the recorder's memory".to_owned(),
    };
    said.push_str(&format!("; {} samples before that {become_of}", sink.samples));
    said
}

/// As it comes.
fn in_parts(
    app: &App,
    sink: &mut Sink<'_>,
    lines: &mut Lines<'_>,
    body: &mut Body<'_, '_>,
    packed: bool,
) -> Result<(), Ended> {
    let unpacking = if packed { UNPACKING_BYTES } else { 0 };
    let mut piece = vec![0; FIRST_BYTES];
    let mut share = app.flight.take(unpacking + piece.len() as u64).map_err(Overload::from)?;
    loop {
        let (filled, ended) = fill(body, &mut piece)?;
        let bytes = piece.get(..filled).unwrap_or_default();
        // A line whose end has not come is kept by the parser, once more while it looks for its quotes.
        let held = (lines.held_bytes + filled).min(2 * LINE_BYTES_MAX);
        let own = |piece_bytes: usize| unpacking + (piece_bytes + held) as u64;
        share.grow_to(own(piece.len())).map_err(Overload::from)?;
        let names = sink.names()?;
        lines.read(bytes, ended, &names, &mut sink.faults);
        if lines.batch.is_empty() {
            sink.pass_over(bytes);
        } else {
            let made = own(piece.len()) + lines.batch.memory_bytes() as u64;
            share.grow_to(made).map_err(Overload::from)?;
            let of = (names.generation, lines.batch.new_max());
            sink.piece(bytes, of, |intake, faults| lines.push(&names, intake, faults))?;
            lines.batch.clear();
        }
        if ended {
            return Ok(());
        }
        let most = if sink.declares { NEW_BYTES } else { PIECE_BYTES };
        // With little memory in all a piece is small: else what is made of it would never have room.
        let part = usize::try_from(app.flight.max_bytes() / PIECE_PART).unwrap_or(usize::MAX);
        let most = most.min(part);
        let next = (piece.len() * 2).min(most).max(piece.len());
        // Where there is no memory for a larger one, this one does.
        if filled == piece.len() && share.grow_to(own(next)).is_ok() {
            piece.resize(next, 0);
        }
    }
}

/// All or nothing.
fn whole(
    app: &App,
    sink: &mut Sink<'_>,
    lines: &mut Lines<'_>,
    body: &mut Body<'_, '_>,
) -> Result<(), Ended> {
    let mut share = app.flight.take(0).map_err(Overload::from)?;
    let bytes = held::read(body, WHOLE_BYTES_MAX, UNPACKING_BYTES, &mut share)?;
    let all = UNPACKING_BYTES + bytes.len() as u64 * WHOLE_FACTOR;
    share.hold(all).map_err(Overload::from)?;
    let names = sink.names()?;
    lines.read(&bytes, true, &names, &mut sink.faults);
    let of = (names.generation, lines.batch.new_max());
    sink.piece(&bytes, of, |intake, faults| {
        if faults.is_empty() {
            lines.push(&names, intake, faults)?;
            // Whether all can be declared, and as what, is known before anything is pushed.
            intake.declare_held(&mut |refusal| faults.refuse(refusal))?;
        }
        if !faults.is_empty() {
            intake.give_up();
        }
        Ok(())
    })?;
    Ok(())
}

/// As much as there is room for. Whether the body has ended.
fn fill(body: &mut Body<'_, '_>, piece: &mut [u8]) -> Result<(usize, bool), BodyError> {
    let mut filled = 0;
    while let Some(room) = piece.get_mut(filled..).filter(|room| !room.is_empty()) {
        match body.read(room)? {
            0 => return Ok((filled, true)),
            count => filled += count,
        }
    }
    Ok((filled, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precisions_are_those_of_each_interface() {
        let unit = |dialect, precision| {
            let times = times(dialect, precision).ok()?;
            times.read("1").ok()
        };
        assert_eq!(unit(Dialect::V1, None), Some(1));
        assert_eq!(unit(Dialect::V1, Some("h")), Some(3_600_000_000_000));
        assert_eq!(unit(Dialect::V2, Some("h")), None);
        assert_eq!(unit(Dialect::V2, Some("ms")), Some(1_000_000));
        assert_eq!(unit(Dialect::V3, None), Some(1_000_000_000));
        assert_eq!(unit(Dialect::V3, Some("nanosecond")), Some(1));
        assert_eq!(unit(Dialect::V3, Some("fortnight")), None);
        assert_eq!(without_line("line 3, column 4: expected x"), "column 4: expected x");
        assert_eq!(without_line("line 3: expected x"), "expected x");
    }
}
