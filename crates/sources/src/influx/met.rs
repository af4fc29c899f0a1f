//! Points whose series have all been met before, as they were written: their names are neither taken
//! apart nor put together again.
//!
//! Measurement and tags together, and the key of a field behind them, are one [`Key`], as the bytes that
//! were written. Who has taken such a point remembers the keys. When the same bytes come again, they mean
//! the same, and no more of a line is read than its values and its time.
//!
//! Invariant: a point that is read here would be read the same by `Fields`, or is left to that. Held by
//! `super::tests::points_that_were_met_are_read_as_before`.

use super::line::{Found, skip_blanks, time, until, value_at};
use super::{InfluxError, InfluxValue};
use crate::key::{Key, KeyMaker};
use crate::time::Times;

/// Fields whose series are compared each with each other; a line with more is sorted.
const PAIRS_MAX: usize = 32;

/// Who takes points, and knows what has been met.
pub trait Points {
    /// A series.
    type Series: Copy + Ord;

    /// The series that was written so before, if it was taken then.
    fn find(&self, key: Key) -> Option<Self::Series>;

    /// A point of series that were met. Its fields follow; a line without a time has none.
    fn begin(&mut self, line: u64, time_ns: Option<i64>);

    /// A field of it. False: the series does not take the value, so the point is to be left.
    fn field(&mut self, series: Self::Series, value: InfluxValue<'_>) -> bool;

    /// Forgets the point that was begun last: it comes once more, as a whole.
    fn leave(&mut self);

    /// A point that is written well, of which something is new. [`PointReader`] reads it.
    ///
    /// [`PointReader`]: super::PointReader
    fn whole(&mut self, line: u64, text: &str);

    /// A line that is refused.
    fn fault(&mut self, error: InfluxError);
}

/// The fields of a point: which series, and what value.
#[derive(Debug)]
pub(super) struct Met<S> {
    fields: Vec<(S, Found)>,
    sorted: Vec<S>,
}

impl<S> Default for Met<S> {
    fn default() -> Self {
        Met { fields: Vec::new(), sorted: Vec::new() }
    }
}

impl<S: Copy + Ord> Met<S> {
    /// Hands a point to `points`, if all of it has been met. False: nothing was handed on.
    pub(super) fn read<P: Points<Series = S>>(
        &mut self,
        line: u64,
        text: &str,
        times: &Times,
        maker: KeyMaker,
        points: &mut P,
    ) -> bool {
        let Some(time_ns) = self.fields(text, times, maker, points) else { return false };
        points.begin(line, time_ns);
        for (series, found) in &self.fields {
            if !points.field(*series, found.value(text)) {
                points.leave();
                return false;
            }
        }
        true
    }

    fn fields<P: Points<Series = S>>(
        &mut self,
        text: &str,
        times: &Times,
        maker: KeyMaker,
        points: &P,
    ) -> Option<Option<i64>> {
        self.fields.clear();
        let bytes = text.as_bytes();
        let mut at = match memchr::memchr2(b' ', b'\\', bytes)? {
            end if bytes.get(end) == Some(&b'\\') => until(text, end, |byte| byte == b' '),
            end => end,
        };
        let maker = maker.with(bytes.get(..at)?);
        at = skip_blanks(text, at);
        loop {
            let end = until(text, at, |byte| matches!(byte, b'=' | b',' | b' '));
            if bytes.get(end) != Some(&b'=') {
                return None;
            }
            let series = points.find(maker.key(bytes.get(at..end)?))?;
            let (found, end) = value_at(text, end + 1).ok()?;
            self.fields.push((series, found));
            at = end;
            match bytes.get(at) {
                Some(b',') => at += 1,
                None | Some(b' ') => break,
                Some(_) => return None,
            }
        }
        if self.is_twice() {
            return None;
        }
        time(text, skip_blanks(text, at), times).ok()
    }

    /// Whether a series comes twice.
    fn is_twice(&mut self) -> bool {
        let Met { fields, sorted } = self;
        if fields.len() <= PAIRS_MAX {
            let mut rest = fields.as_slice();
            while let [(first, _), others @ ..] = rest {
                if others.iter().any(|(series, _)| series == first) {
                    return true;
                }
                rest = others;
            }
            return false;
        }
        sorted.clear();
        sorted.extend(fields.iter().map(|(series, _)| *series));
        sorted.sort_unstable();
        sorted.windows(2).any(|pair| pair.first() == pair.last())
    }
}
