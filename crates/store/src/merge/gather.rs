//! Chooses how far the next portion reaches and collects what belongs to it.

use super::part::{Key, Part, Piece};
use super::portion::Portion;
use crate::Result;
use crate::columns::Columns;
use crate::interval::Interval;
use baro_ondisk::SampleColumns;

/// What of the parts is wanted; the rest is passed over, pieces without anything wanted are not
/// decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Sorted ids; `None`: all.
    pub(crate) series: Option<&'a [u32]>,
    pub(crate) interval: Interval,
}

impl Wanted<'_> {
    /// Everything.
    pub(crate) const ALL: Wanted<'static> =
        Wanted { series: None, interval: Interval { from_ns: i64::MIN, to_ns: i64::MAX } };

    fn piece(&self, piece: &Piece) -> bool {
        let Interval { from_ns, to_ns } = self.interval;
        // The end of the interval of everything is the last time there is.
        let before_end = piece.time_min_ns < to_ns || to_ns == i64::MAX;
        piece.samples > 0 && piece.time_max_ns >= from_ns && before_end && self.any(piece)
    }

    fn any(&self, piece: &Piece) -> bool {
        let Some(series) = self.series else { return true };
        let at = series.partition_point(|id| *id < piece.first_series);
        series.get(at).is_some_and(|id| *id <= piece.last_series)
    }
}

/// A part and how far it has been taken.
#[derive(Debug)]
struct Cursor<P> {
    part: P,
    /// Next piece to decode.
    next: usize,
    /// Decoded and not taken.
    held: Columns,
    at: usize,
}

/// Series at which portions end between two places where pieces begin.
#[derive(Clone, Copy, Debug, Default)]
struct Within {
    next: u32,
    step: u32,
    end: u32,
}

impl Within {
    fn next(&mut self) -> Option<u32> {
        let next = (self.next < self.end).then_some(self.next)?;
        self.next = next.saturating_add(self.step);
        Some(next)
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Gather<'a, P> {
    cursors: Vec<Cursor<P>>,
    wanted: Wanted<'a>,
    /// Starts of the wanted pieces of all parts, with their samples, sorted.
    starts: Vec<(Key, u32)>,
    next_start: usize,
    portion_samples: usize,
    within: Within,
    /// Where the portion behind those of `within` ends.
    after: Option<Option<Key>>,
    /// Most samples of a portion, where that can be; and where the portion would have ended that had more.
    most_samples: usize,
    rest: Option<Option<Key>>,
    scratch: SampleColumns,
    /// What belongs to the next portion, part behind part.
    gathered: Columns,
}

impl<'a, P: Part> Gather<'a, P> {
    /// Merges `parts`, the oldest first, in portions of about `portion_samples` (more where that
    /// many begin at one place, and up to a piece of each part beside).
    pub(crate) fn new(parts: Vec<P>, wanted: Wanted<'a>, portion_samples: usize) -> Self {
        let mut starts = Vec::new();
        for part in &parts {
            let pieces = (0..part.pieces()).map(|at| part.piece(at));
            starts
                .extend(pieces.filter(|piece| wanted.piece(piece)).map(|p| (p.start(), p.samples)));
        }
        starts.sort_unstable();
        let cursor = |part| Cursor { part, next: 0, held: Columns::default(), at: 0 };
        let cursors = parts.into_iter().map(cursor).collect();
        let (scratch, gathered) = (SampleColumns::default(), Columns::default());
        Gather {
            cursors,
            wanted,
            starts,
            next_start: 0,
            portion_samples,
            within: Within::default(),
            after: None,
            most_samples: usize::MAX,
            rest: None,
            scratch,
            gathered,
        }
    }

    /// Portions are cut at `samples`, also where that many begin at one place or a piece of each part
    /// meets the same times: for few parts, whose pieces are large.
    pub(crate) fn cut_at(mut self, samples: usize) -> Self {
        self.most_samples = samples;
        self
    }

    /// Fills `portion` with what comes next, sorted, each series and time once. False if there is
    /// nothing more; a portion may be empty although more follows.
    ///
    /// # Errors
    /// A part cannot be read.
    pub(crate) fn next(&mut self, portion: &mut Portion) -> Result<bool> {
        portion.clear();
        self.gathered.clear();
        let held = |c: &Cursor<P>| c.at < c.held.len();
        let begun = self.next_start >= self.starts.len() && self.after.is_none();
        let begun = begun && self.rest.is_none();
        if begun && !self.cursors.iter().any(held) {
            return Ok(false);
        }
        let before = match self.rest.take() {
            Some(before) => before,
            None => self.reach(),
        };
        let before = self.cut(before)?;
        for cursor in &mut self.cursors {
            cursor.take(before, &self.wanted, &mut self.scratch, &mut self.gathered)?;
        }
        portion.sort(&self.gathered);
        Ok(true)
    }

    /// Where the next portion ends instead if it would have too many samples: then each part gives no
    /// more than its share of what it holds.
    fn cut(&mut self, before: Option<Key>) -> Result<Option<Key>> {
        if self.most_samples == usize::MAX {
            return Ok(before);
        }
        let (mut samples, mut parts) = (0, 0);
        for cursor in &mut self.cursors {
            cursor.load(before, &self.wanted, &mut self.scratch)?;
            let below = before.map_or(cursor.held.len(), |key| cursor.end(key)) - cursor.at;
            samples += below;
            parts += usize::from(below > 0);
        }
        if samples <= self.most_samples {
            return Ok(before);
        }
        let share = (self.most_samples / parts.max(1)).max(1);
        let ends = self.cursors.iter().filter_map(|cursor| cursor.key_behind(share));
        let end = ends.min().filter(|end| before.is_none_or(|before| *end < before));
        if end.is_some() {
            self.rest = Some(before);
        }
        Ok(end.or(before))
    }

    /// Keys below this belong to the next portion; `None`: all that is left.
    fn reach(&mut self) -> Option<Key> {
        let series = |series| Key { series, time_ns: i64::MIN };
        if let Some(before) = self.within.next() {
            return Some(series(before));
        }
        if let Some(before) = self.after.take() {
            return before;
        }
        // Where hundreds of pieces begin at one place, what they have up to the next place is
        // handed out by some series at a time.
        let held = self.cursors.iter().map(|c| c.held.len() - c.at).sum::<usize>();
        let first = |c: &Cursor<P>| c.held.series.get(c.at).copied();
        let from = self.cursors.iter().filter_map(first).min();
        let start = self.starts.get(self.next_start).map(|start| start.0.series);
        let from = from.into_iter().chain(start).min().unwrap_or(0);
        let (before, begun) = self.next_reach();
        let to = before.map_or_else(|| self.last_series(), |key| key.series).max(from) - from;
        let parts = ((held + begun) / self.portion_samples.max(1)).min(to as usize);
        if parts < 2 {
            return before;
        }
        let step = (to as usize).div_ceil(parts) as u32;
        self.within = Within { next: from + step, step, end: from + to };
        self.after = Some(before);
        self.within.next().map(series)
    }

    /// The last series that is left.
    fn last_series(&self) -> u32 {
        let last = |c: &Cursor<P>| {
            let pieces = (c.next..c.part.pieces()).map(|at| c.part.piece(at).last_series);
            pieces.chain(c.held.series.last().copied()).max()
        };
        self.cursors.iter().filter_map(last).max().unwrap_or(0)
    }

    /// The next place behind which enough has begun, and how much that is.
    fn next_reach(&mut self) -> (Option<Key>, usize) {
        let mut samples = 0;
        while let Some((start, count)) = self.starts.get(self.next_start).copied() {
            let new = self.next_start == 0
                || self.starts.get(self.next_start - 1).is_none_or(|before| before.0 < start);
            if samples >= self.portion_samples && new {
                return (Some(start), samples);
            }
            samples += count as usize;
            self.next_start += 1;
        }
        (None, samples)
    }

    /// The parts, once everything is taken.
    pub(crate) fn into_parts(self) -> impl Iterator<Item = P> {
        self.cursors.into_iter().map(|cursor| cursor.part)
    }
}

impl<P: Part> Cursor<P> {
    /// Appends what comes before the key.
    fn take(
        &mut self,
        before: Option<Key>,
        wanted: &Wanted<'_>,
        scratch: &mut SampleColumns,
        to: &mut Columns,
    ) -> Result<()> {
        loop {
            let end = match before {
                None => self.held.len(),
                Some(key) => self.end(key),
            };
            append(&self.held, self.at..end, wanted, to);
            self.at = end;
            if self.at < self.held.len() {
                return Ok(());
            }
            if !self.load(before, wanted, scratch)? {
                return Ok(());
            }
        }
    }

    /// If nothing is held, decodes the next piece that is wanted; false if there is none that begins before
    /// the key.
    fn load(
        &mut self,
        before: Option<Key>,
        wanted: &Wanted<'_>,
        scratch: &mut SampleColumns,
    ) -> Result<bool> {
        if self.at < self.held.len() {
            return Ok(true);
        }
        self.held.clear();
        self.at = 0;
        loop {
            if self.next >= self.part.pieces() {
                // Of a part that has come to its end nothing is held.
                self.held = Columns::default();
                return Ok(false);
            }
            let piece = self.part.piece(self.next);
            if wanted.piece(&piece) {
                if before.is_some_and(|key| piece.start() >= key) {
                    return Ok(false);
                }
                break;
            }
            self.next += 1;
        }
        self.part.decode(self.next, scratch, &mut self.held)?;
        self.next += 1;
        Ok(true)
    }

    /// The key behind the next `samples` that are held, and behind those that are equal to them.
    fn key_behind(&self, samples: usize) -> Option<Key> {
        let key = |at: usize| {
            let (series, time_ns) = (self.held.series.get(at)?, self.held.times_ns.get(at)?);
            Some(Key { series: *series, time_ns: *time_ns })
        };
        let last = key(self.at + samples - 1)?;
        (self.at + samples..self.held.len()).find_map(|at| key(at).filter(|key| *key > last))
    }

    /// First place at or behind the key among those held and not taken.
    fn end(&self, key: Key) -> usize {
        let series = self.held.series.get(self.at..).unwrap_or(&[]);
        let start = self.at + series.partition_point(|id| *id < key.series);
        let end = self.at + series.partition_point(|id| *id <= key.series);
        let times_ns = self.held.times_ns.get(start..end).unwrap_or(&[]);
        start + times_ns.partition_point(|time_ns| *time_ns < key.time_ns)
    }
}

fn append(from: &Columns, range: std::ops::Range<usize>, wanted: &Wanted<'_>, to: &mut Columns) {
    let Interval { from_ns, to_ns } = wanted.interval;
    if wanted.series.is_none() && from_ns == i64::MIN && to_ns == i64::MAX {
        to.extend(from, range);
        return;
    }
    let mut at = range.start;
    while let Some(series) = from.series.get(at).copied().filter(|_| at < range.end) {
        let rest = from.series.get(at..range.end).unwrap_or(&[]);
        let end = at + rest.partition_point(|id| *id <= series);
        if wanted.series.is_none_or(|ids| ids.binary_search(&series).is_ok()) {
            let times_ns = from.times_ns.get(at..end).unwrap_or(&[]);
            let first = at + times_ns.partition_point(|time_ns| *time_ns < from_ns);
            let last = if to_ns == i64::MAX {
                end
            } else {
                at + times_ns.partition_point(|time_ns| *time_ns < to_ns)
            };
            to.extend(from, first..last.max(first));
        }
        at = end;
    }
}

#[cfg(test)]
mod tests;
