//! Which runs go in one commit.
//!
//! Runs wait with the oldest data first, and a table is told up to which number it has them. A run that was
//! merged has a higher number than younger ones. So a portion ends only where the runs before it are those
//! with the lowest numbers, too. There the orders of its rows are its own numbers, and the orders of those
//! that follow are the same whether they are counted now or after a restart.
//!
//! Invariant: what follows a portion has higher numbers and higher orders. Held by
//! `a_portion_ends_where_all_that_follow_are_later`.

use baro_store::Waiting;

/// So many runs are the first ones both by age and by number, for each place where that is so.
fn closed(runs: &[Waiting]) -> impl Iterator<Item = usize> {
    let mut numbers: Vec<u64> = runs.iter().map(|run| run.run).collect();
    let highest = numbers.clone().into_iter().scan(0, |highest, number| {
        *highest = number.max(*highest);
        Some(*highest)
    });
    let highest: Vec<u64> = highest.collect();
    numbers.sort_unstable();
    let ends = highest.into_iter().zip(numbers).enumerate();
    ends.filter(|(_, (highest, number))| highest == number).map(|(at, _)| at + 1)
}

/// How many runs the next commit has: of at least so many bytes, if there are as many.
pub(super) fn portion(runs: &[Waiting], bytes: u64) -> usize {
    let mut sum = 0_u64;
    let mut enough = 0;
    for run in runs {
        sum = sum.saturating_add(run.bytes);
        enough += 1;
        if sum >= bytes {
            break;
        }
    }
    closed(runs).find(|end| *end >= enough).unwrap_or(runs.len())
}

/// How many runs may go without the one at this place and those behind it.
pub(super) fn closed_before(runs: &[Waiting], at: usize) -> usize {
    closed(runs).take_while(|end| *end <= at).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_ends_where_all_that_follow_are_later() {
        let runs = |numbers: &[u64]| -> Vec<Waiting> {
            numbers.iter().map(|run| Waiting { run: *run, bytes: 10, order: *run }).collect()
        };
        // The second was merged after the third had been made.
        let four = runs(&[2, 7, 5, 9]);
        let cases = [(1, 1), (10, 1), (11, 3), (20, 3), (30, 3), (31, 4), (1000, 4)];
        for (bytes, count) in cases {
            assert_eq!(portion(&four, bytes), count, "{bytes}");
        }
        assert_eq!([0, 1, 2, 3, 4].map(|at| closed_before(&four, at)), [0, 1, 1, 3, 4]);
        // The oldest was merged last: all or nothing.
        let all = runs(&[9, 2, 5]);
        assert_eq!((portion(&all, 1), closed_before(&all, 2)), (3, 0));
        assert_eq!((portion(&[], 1), closed_before(&[], 1)), (0, 0));
    }
}
