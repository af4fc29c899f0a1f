//! A parser for who remembers names as they were written, and a reader of the points that it leaves.

use super::line::{Field, Fields};
use super::met::{Met, Points};
use super::{InfluxError, InfluxSample, LINE_BYTES_MAX, Reader, closes};
use crate::key::{Key, KeyMaker};
use crate::records::{Attempt, Records, Verdict};
use crate::time::Times;

/// Turns bytes into points; what [`super::InfluxParser`] makes samples of.
#[derive(Debug)]
pub struct PointParser<S> {
    records: Records,
    lines: Lines<S>,
}

#[derive(Debug)]
struct Lines<S> {
    reader: Reader,
    met: Met<S>,
}

impl<S: Copy + Ord> Lines<S> {
    fn line<P: Points<Series = S>>(
        &mut self,
        line: u64,
        bytes: Option<&[u8]>,
        attempt: Attempt,
        (maker, points): (KeyMaker, &mut P),
    ) -> Verdict {
        let Lines { reader, met } = self;
        if attempt == Attempt::Behind {
            return reader.behind(bytes.unwrap_or_default());
        }
        let (text, mark_bytes) = match reader.text(line, bytes, attempt) {
            Ok(Some(text)) => text,
            Ok(None) => return Verdict::Done,
            Err(None) => return Verdict::Open,
            Err(Some((column, problem))) => {
                points.fault(InfluxError { line, column, problem });
                return Verdict::Done;
            }
        };
        if met.read(line, text, &reader.times, maker, points) {
            return Verdict::Done;
        }
        match reader.read((text, mark_bytes), attempt) {
            Ok(_) => points.whole(line, text),
            Err(None) => return Verdict::Open,
            Err(Some((column, problem))) => points.fault(InfluxError { line, column, problem }),
        }
        Verdict::Done
    }
}

impl<S: Copy + Ord> PointParser<S> {
    /// A parser at line 1 that reads times so.
    #[must_use]
    pub fn new(times: Times) -> Self {
        let lines = Lines { reader: Reader::new(times), met: Met::default() };
        PointParser { records: Records::new(LINE_BYTES_MAX, closes), lines }
    }

    /// Takes the next bytes and hands what they complete to `points`, in the order of the lines; `maker`
    /// makes the keys that these know.
    pub fn feed<P: Points<Series = S>>(&mut self, bytes: &[u8], maker: KeyMaker, points: &mut P) {
        let PointParser { records, lines } = self;
        records.feed(bytes, |number, line, attempt| {
            lines.line(number, line, attempt, (maker, points))
        });
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish<P: Points<Series = S>>(&mut self, maker: KeyMaker, points: &mut P) {
        let PointParser { records, lines } = self;
        records.finish(|number, line, attempt| lines.line(number, line, attempt, (maker, points)));
        lines.reader.ended = false;
    }
}

/// Reads points that [`Points::whole`] was given.
#[derive(Debug)]
pub struct PointReader {
    fields: Fields,
    times: Times,
}

impl PointReader {
    /// A reader like the parser that was made with these.
    #[must_use]
    pub fn new(times: Times) -> Self {
        PointReader { fields: Fields::default(), times }
    }

    /// Hands each field of a point to `each`, with the key of how it was written.
    pub fn read(
        &mut self,
        (line, text): (u64, &str),
        maker: KeyMaker,
        mut each: impl FnMut(Key, InfluxSample<'_>),
    ) {
        let PointReader { fields, times } = self;
        let Ok(time_ns) = fields.read(text, times) else { return };
        let maker = maker.with(fields.head(text).as_bytes());
        fields.each(text, |field| {
            let Field { written, series, joint, value } = field;
            let key = maker.key(written.as_bytes());
            each(key, InfluxSample { line, time_ns, series, joint, value });
        });
    }
}
