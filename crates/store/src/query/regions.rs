//! Cuts an interval where sources begin and end, so that where one source alone has samples its
//! aggregates are used, and only where several have some are samples read and merged.
//!
//! Pages are read once for each region that they touch. So a short time that one source has for itself
//! between two that are shared is merged with them.
//!
//! Invariant: each time of the interval at which there are samples is in one region, and that region has
//! all sources with samples then. Held by the tests below and by `tests/model`.

use crate::interval::Interval;

/// Regions of one source between shared ones last at least such a part of all; so there are few.
const PARTS: u64 = 4;

/// A time in which the same sources have samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) interval: Interval,
    /// Places of the sources, rising.
    pub(super) sources: Vec<usize>,
}

impl Region {
    fn is_shared(&self) -> bool {
        self.sources.len() > 1
    }

    fn join(&mut self, later: Region) {
        self.interval.to_ns = later.interval.to_ns;
        self.sources.extend(later.sources);
        self.sources.sort_unstable();
        self.sources.dedup();
    }

    fn length_ns(&self) -> u64 {
        self.interval.to_ns.abs_diff(self.interval.from_ns)
    }
}

/// The regions of an interval, by time; `spans` are earliest and latest time of each source, if it has
/// any.
pub(super) fn regions(spans: &[Option<(i64, i64)>], interval: Interval) -> Vec<Region> {
    // What ends at the last time there is has it within: no cut lies before that one.
    const LAST_NS: i64 = i64::MAX - 1;
    let clip = |(min_ns, max_ns): (i64, i64)| {
        let from_ns = min_ns.min(LAST_NS).max(interval.from_ns);
        let to_ns = max_ns.saturating_add(1).min(interval.to_ns);
        (from_ns < to_ns || (from_ns == to_ns && to_ns == i64::MAX)).then_some((from_ns, to_ns))
    };
    let touching = spans.iter().enumerate();
    let touching = touching.filter_map(|(at, span)| {
        let span = (*span).filter(|span| interval.meets(*span))?;
        clip(span).map(|span| (at, span))
    });
    let clipped: Vec<_> = touching.collect();
    if interval.from_ns >= LAST_NS || clipped.len() < 2 {
        let sources: Vec<usize> = clipped.iter().map(|(at, _)| *at).collect();
        return if sources.is_empty() { Vec::new() } else { vec![Region { interval, sources }] };
    }
    let mut cuts: Vec<i64> = clipped.iter().flat_map(|(_, (from, to))| [*from, *to]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut regions: Vec<Region> = Vec::new();
    for cut in cuts.windows(2) {
        let &[from_ns, to_ns] = cut else { continue };
        let within = clipped.iter().filter(|(_, (from, to))| *from <= from_ns && *to >= to_ns);
        let sources: Vec<usize> = within.map(|(at, _)| *at).collect();
        if sources.is_empty() {
            continue;
        }
        let next = Region { interval: Interval { from_ns, to_ns }, sources };
        match regions.last_mut().filter(|last| last.interval.to_ns == from_ns) {
            // Neighbours that are shared, by others perhaps, are merged together.
            Some(last) if last.is_shared() && next.is_shared() => last.join(next),
            _ => regions.push(next),
        }
    }
    without_short(regions)
}

/// Puts a short region of one source and the shared ones on both sides of it together.
fn without_short(regions: Vec<Region>) -> Vec<Region> {
    let ends = regions.first().zip(regions.last());
    let all_ns =
        ends.map_or(0, |(first, last)| last.interval.to_ns.abs_diff(first.interval.from_ns));
    let mut kept: Vec<Region> = Vec::new();
    let mut regions = regions.into_iter().peekable();
    while let Some(region) = regions.next() {
        let short = !region.is_shared() && region.length_ns() < all_ns / PARTS;
        let follows = regions
            .peek()
            .is_some_and(|next| next.is_shared() && next.interval.from_ns == region.interval.to_ns);
        match kept
            .last_mut()
            .filter(|last| last.is_shared() && last.interval.to_ns == region.interval.from_ns)
        {
            Some(last) if region.is_shared() || (short && follows) => last.join(region),
            _ => kept.push(region),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(spans: &[(i64, i64)], from_ns: i64, to_ns: i64) -> Vec<(i64, i64, Vec<usize>)> {
        let spans: Vec<_> = spans.iter().map(|span| Some(*span)).collect();
        let regions = regions(&spans, Interval { from_ns, to_ns }).into_iter();
        regions.map(|r| (r.interval.from_ns, r.interval.to_ns, r.sources)).collect()
    }

    #[test]
    fn an_interval_is_cut_where_sources_begin_and_end() {
        let all = (i64::MIN, i64::MAX);
        assert_eq!(found(&[], all.0, all.1), []);
        assert_eq!(found(&[(3, 9)], 0, 3), []);
        assert_eq!(found(&[(3, 9)], 4, 20), [(4, 20, vec![0])]);
        let apart = [(0, 99, vec![0]), (100, 200, vec![1])];
        assert_eq!(found(&[(0, 98), (100, 199)], 0, 300), apart);
        let overlap = [(0, 100, vec![0]), (100, 111, vec![0, 1]), (111, 200, vec![1])];
        assert_eq!(found(&[(0, 110), (100, 199)], 0, 300), overlap);
        assert_eq!(found(&[(0, 110), (100, 199)], 20, 60), [(20, 60, vec![0])]);
        assert_eq!(found(&[(0, 99), (0, 99)], 0, 300), [(0, 100, vec![0, 1])]);
    }

    #[test]
    fn short_times_between_shared_ones_are_merged() {
        // One large source, and small ones in it, close to each other and far.
        let spans = [(0, 999), (100, 109), (120, 129), (800, 809)];
        let regions = [
            (0, 100, vec![0]),
            (100, 130, vec![0, 1, 2]),
            (130, 800, vec![0]),
            (800, 810, vec![0, 3]),
            (810, 1000, vec![0]),
        ];
        assert_eq!(found(&spans, 0, 2000), regions);
    }

    #[test]
    fn the_last_times_there_are_are_in_one_region() {
        const MAX: i64 = i64::MAX;
        for spans in [[(0, MAX - 1), (MAX, MAX)], [(0, MAX), (MAX - 1, MAX)], [(0, MAX), (5, MAX)]]
        {
            let regions = found(&spans, i64::MIN, MAX);
            let last = regions.last().unwrap();
            assert_eq!((last.1, &last.2), (MAX, &vec![0, 1]), "{spans:?}");
        }
        assert_eq!(found(&[(0, MAX), (MAX, MAX)], MAX, MAX), [(MAX, MAX, vec![0, 1])]);
        assert_eq!(found(&[(0, MAX), (MAX, MAX)], 0, MAX - 1), [(0, MAX - 1, vec![0])]);
    }

    #[test]
    fn every_time_is_in_the_region_of_all_its_sources() {
        let mut draw = baro_sys::sim::Rng::new(7);
        for _ in 0..of_all(20_000, 2_000) {
            let spans: Vec<Option<(i64, i64)>> = (0..draw.below(6))
                .map(|_| {
                    let from = draw.below(60) as i64;
                    let span = (from, from + draw.below(30) as i64);
                    draw.chance(5, 6).then_some(span)
                })
                .collect();
            let from_ns = draw.below(70) as i64;
            let interval = Interval { from_ns, to_ns: from_ns + draw.below(70) as i64 };
            let regions = regions(&spans, interval);
            assert!(regions.is_sorted_by(|a, b| a.interval.to_ns <= b.interval.from_ns));
            for time_ns in interval.from_ns..interval.to_ns {
                let has = |span: &Option<(i64, i64)>| {
                    span.is_some_and(|(min, max)| (min..=max).contains(&time_ns))
                };
                let of: Vec<_> = regions.iter().filter(|r| r.interval.holds(time_ns)).collect();
                for at in (0..spans.len()).filter(|at| has(&spans[*at])) {
                    assert_eq!(of.len(), 1, "{spans:?} {interval:?} at {time_ns}");
                    assert!(of[0].sources.contains(&at), "{spans:?} {interval:?} at {time_ns}");
                }
            }
        }
    }

    fn of_all(all: u64, some: u64) -> u64 {
        if std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push") { some } else { all }
    }
}
