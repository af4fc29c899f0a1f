//! Cuts the time of one series where its pieces do not touch each other, so that a page which has
//! its times for itself can be asked for aggregates.

use super::sources::{Sources, touches};
use crate::interval::Interval;
use crate::merge::Part;
use baro_ondisk::Type;

/// A part of the interval that the pieces of a series fill without a gap between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Its part of the interval.
    pub(super) interval: Interval,
    /// The run and its page, if this is one page and it holds the series alone.
    pub(super) page: Option<(usize, usize)>,
}

/// Earliest and latest time, and the page if it is one that holds the series alone.
type Span = (i64, i64, Option<(usize, usize)>);

/// The stretches of a series, by time; what lies between them has no samples.
pub(super) fn stretches(sources: &Sources, series: u32, interval: Interval) -> Vec<Stretch> {
    let mut pieces: Vec<Span> = Vec::new();
    for (number, run) in sources.runs.iter().enumerate() {
        for at in run.index.find(series) {
            let Some(page) = run.index.pages().get(at).filter(|page| page.kind != Type::Text)
            else {
                continue;
            };
            let alone = page.first_series == page.last_series;
            let place = alone.then_some((number, at));
            pieces.push((page.time_min_ns, page.time_max_ns, place));
        }
    }
    for part in &sources.parts {
        let found = part.find(series).map(|at| part.piece(at));
        pieces.extend(found.map(|piece| (piece.time_min_ns, piece.time_max_ns, None)));
    }
    pieces.retain(|piece| touches((piece.0, piece.1), interval));
    pieces.sort_unstable();
    let mut stretches: Vec<Span> = Vec::new();
    for (min_ns, max_ns, page) in pieces {
        // An interval that ends at the last time there is has it within: no cut before that one. Two that
        // are read and not asked for aggregates are read together, whatever is between them.
        let joins = |last: &&mut Span| {
            last.1 >= min_ns || last.1 == i64::MAX - 1 || (last.2.is_none() && page.is_none())
        };
        match stretches.last_mut().filter(joins) {
            Some(last) => (last.1, last.2) = (last.1.max(max_ns), None),
            None => stretches.push((min_ns, max_ns, page)),
        }
    }
    let clip = |(min_ns, max_ns, page): Span| {
        let from_ns = min_ns.max(interval.from_ns);
        let to_ns = max_ns.saturating_add(1).min(interval.to_ns);
        Stretch { interval: Interval { from_ns, to_ns }, page }
    };
    stretches.into_iter().map(clip).collect()
}
