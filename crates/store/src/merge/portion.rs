//! Samples of several parts, sorted by series and time. The parts' samples come one part behind
//! the other, the oldest first; so a stable sort leaves equals in the order of recording.

use crate::columns::Columns;
use std::ops::Range;

/// See the module. Its memory is used again from portion to portion.
#[derive(Debug, Default)]
pub(crate) struct Portion {
    sorted: Columns,
    counts: Vec<u32>,
    order: Vec<u32>,
}

impl Portion {
    /// Samples in order of arrival, sorted.
    pub(crate) fn of(arrived: &Columns) -> Columns {
        let mut portion = Portion::default();
        portion.sort(arrived);
        portion.sorted
    }

    pub(crate) fn clear(&mut self) {
        self.sorted.clear();
    }

    /// The result.
    pub(crate) fn samples(&self) -> &Columns {
        &self.sorted
    }

    /// Each series of the result and its range, ascending.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (u32, Range<usize>)> {
        let mut at = 0;
        self.sorted.series.chunk_by(|a, b| a == b).map(move |group| {
            let range = at..at + group.len();
            at = range.end;
            (group.first().copied().unwrap_or(0), range)
        })
    }

    /// Sorts and keeps the last of equal series and time.
    pub(super) fn sort(&mut self, gathered: &Columns) {
        let (low, high) = gathered
            .series
            .iter()
            .fold((u32::MAX, 0), |(low, high), id| (low.min(*id), high.max(*id)));
        if gathered.is_empty() {
            return;
        }
        let span = ((high - low) as usize).saturating_add(1);
        if span <= 2 * gathered.len() + 65_536 {
            self.count(gathered, low, span);
        } else {
            self.permute(gathered);
        }
        self.each_series();
    }

    /// Counting sort by series: one pass that counts, one that moves.
    fn count(&mut self, gathered: &Columns, low: u32, span: usize) {
        self.counts.clear();
        self.counts.resize(span + 1, 0);
        for id in &gathered.series {
            if let Some(count) = self.counts.get_mut((id - low) as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut self.counts {
            sum += *count;
            *count = sum;
        }
        let Columns { series, times_ns, bits } = gathered;
        self.sorted.resize(series.len());
        let sorted = &mut self.sorted;
        for ((id, time_ns), bits) in series.iter().zip(times_ns).zip(bits) {
            let Some(next) = self.counts.get_mut((id - low) as usize) else { continue };
            let to = *next as usize;
            *next += 1;
            let places =
                (sorted.series.get_mut(to), sorted.times_ns.get_mut(to), sorted.bits.get_mut(to));
            if let (Some(series), Some(time), Some(value)) = places {
                (*series, *time, *value) = (*id, *time_ns, *bits);
            }
        }
    }

    /// For ids that lie far apart: a stable sort of places.
    fn permute(&mut self, gathered: &Columns) {
        let Columns { series, times_ns, bits } = gathered;
        self.order.clear();
        self.order.extend(0..series.len() as u32);
        self.order.sort_by_key(|at| series.get(*at as usize));
        self.sorted.clear();
        for at in &self.order {
            let at = *at as usize;
            if let (Some(id), Some(time), Some(value)) =
                (series.get(at), times_ns.get(at), bits.get(at))
            {
                self.sorted.series.push(*id);
                self.sorted.times_ns.push(*time);
                self.sorted.bits.push(*value);
            }
        }
    }

    /// Within a series times mostly rise already; where they do not they are sorted, and only the
    /// last of equals is kept.
    fn each_series(&mut self) {
        let Columns { series, times_ns, bits } = &mut self.sorted;
        let pairs = series.windows(2).zip(times_ns.windows(2));
        let rises = |(id, time): (&[u32], &[i64])| id[0] < id[1] || time[0] < time[1];
        let mut wrong = pairs.map(rises);
        if wrong.all(|rises| rises) {
            return;
        }
        let (mut to, mut at) = (0, 0);
        let mut rows: Vec<(i64, u64)> = Vec::new();
        while at < series.len() {
            let id = series[at];
            let end = at + series[at..].partition_point(|other| *other == id);
            rows.clear();
            rows.extend(times_ns[at..end].iter().copied().zip(bits[at..end].iter().copied()));
            if !rows.is_sorted_by_key(|row| row.0) {
                rows.sort_by_key(|row| row.0);
            }
            for (place, (time_ns, value)) in rows.iter().enumerate() {
                if rows.get(place + 1).is_some_and(|next| next.0 == *time_ns) {
                    continue;
                }
                (series[to], times_ns[to], bits[to]) = (id, *time_ns, *value);
                to += 1;
            }
            at = end;
        }
        series.truncate(to);
        times_ns.truncate(to);
        bits.truncate(to);
    }
}
