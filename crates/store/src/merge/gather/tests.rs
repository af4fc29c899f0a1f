//! Merging held against a stable sort of everything with the last of equals kept, whatever the sizes
//! of parts, pieces and portions.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A part in memory, cut into pieces of a given size.
#[derive(Debug)]
struct Sorted {
    samples: Vec<(u32, i64, u64)>,
    piece: usize,
}

impl Part for Sorted {
    fn pieces(&self) -> usize {
        self.samples.len().div_ceil(self.piece)
    }

    fn piece(&self, at: usize) -> Piece {
        let part = self.samples.chunks(self.piece).nth(at).unwrap();
        Piece {
            first_series: part[0].0,
            last_series: part[part.len() - 1].0,
            time_min_ns: part.iter().map(|s| s.1).min().unwrap(),
            time_max_ns: part.iter().map(|s| s.1).max().unwrap(),
            samples: part.len() as u32,
        }
    }

    fn decode(&mut self, at: usize, _: &mut SampleColumns, to: &mut Columns) -> Result<()> {
        for (series, time_ns, bits) in self.samples.chunks(self.piece).nth(at).unwrap() {
            to.push(*series, *time_ns, *bits);
        }
        Ok(())
    }
}

/// Few series and times, so that equals are common; some far apart.
fn parts() -> impl Strategy<Value = Vec<(Vec<(u32, i64)>, usize)>> {
    let series = prop_oneof![4 => 0..6_u32, 1 => Just(u32::MAX), 1 => Just(900_000_000_u32)];
    let time = prop_oneof![6 => 0..20_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    let part = (prop::collection::vec((series, time), 0..60), 1..9_usize);
    prop::collection::vec(part, 0..6)
}

proptest! {
    #[test]
    fn portions_are_what_a_stable_sort_gives(
        parts in parts(),
        portion_samples in 1..40_usize,
        cut_at in prop_oneof![Just(usize::MAX), 1..40_usize],
        from_ns in prop_oneof![Just(i64::MIN), 0..20_i64],
        to_ns in prop_oneof![Just(i64::MAX), 0..20_i64],
        only in prop::option::of(prop::collection::btree_set(0..8_u32, 0..4)),
    ) {
        let mut number = 0;
        let parts: Vec<Sorted> = parts
            .into_iter()
            .map(|(keys, piece)| {
                let mut samples: Vec<_> = keys
                    .into_iter()
                    .map(|(series, time_ns)| {
                        number += 1;
                        (series, time_ns, number)
                    })
                    .collect();
                samples.sort_by_key(|sample| (sample.0, sample.1));
                Sorted { samples, piece }
            })
            .collect();
        let ids: Option<Vec<u32>> = only.map(|ids| ids.into_iter().collect());
        let mut expected = BTreeMap::new();
        for (series, time_ns, bits) in parts.iter().flat_map(|part| &part.samples) {
            let timely = *time_ns >= from_ns && (*time_ns < to_ns || to_ns == i64::MAX);
            if timely && ids.as_ref().is_none_or(|ids| ids.contains(series)) {
                expected.insert((*series, *time_ns), *bits);
            }
        }
        let wanted = Wanted { series: ids.as_deref(), interval: Interval { from_ns, to_ns } };
        let mut gather = Gather::new(parts, wanted, portion_samples).cut_at(cut_at);
        let (mut portion, mut found) = (Portion::default(), Vec::new());
        while gather.next(&mut portion).unwrap() {
            let Columns { series, times_ns, bits } = portion.samples();
            for ((series, time_ns), bits) in series.iter().zip(times_ns).zip(bits) {
                found.push(((*series, *time_ns), *bits));
            }
        }
        prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn one_series_comes_in_portions_by_time() {
    let part = |from: i64| Sorted {
        samples: (from..from + 1000).map(|at| (7, at, at as u64)).collect(),
        piece: 100,
    };
    let mut gather = Gather::new(vec![part(0), part(1000), part(500)], Wanted::ALL, 150);
    let (mut portion, mut longest, mut count) = (Portion::default(), 0, 0);
    while gather.next(&mut portion).unwrap() {
        longest = longest.max(portion.samples().len());
        count += portion.samples().len();
    }
    assert_eq!(count, 2000);
    assert!(longest <= 400, "{longest}");
}

#[test]
fn large_pieces_that_meet_come_in_portions_that_are_cut() {
    let part = |from: i64| Sorted {
        samples: (from..from + 4000).map(|at| (7, at * 4 % 16_001, at as u64)).collect(),
        piece: 1000,
    };
    let sorted = |from| {
        let mut part = part(from);
        part.samples.sort_unstable();
        part
    };
    let parts = (0..4).map(sorted).collect();
    let mut gather = Gather::new(parts, Wanted::ALL, 100).cut_at(200);
    let (mut portion, mut longest, mut found) = (Portion::default(), 0, 0);
    while gather.next(&mut portion).unwrap() {
        longest = longest.max(portion.samples().len());
        found += portion.samples().len();
    }
    assert_eq!(found, 4003);
    assert!(longest <= 400, "{longest}");
}
