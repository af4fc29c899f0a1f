//! Which row a span is drawn in, so that spans of one row do not cut each other.
//!
//! Viewers take a span that begins in another as part of it. Where that is meant (a wait in a call),
//! [`Nest`] keeps them in one row as long as the inner ends first; where not (requests of a disk),
//! [`Rows`] gives each the lowest row that is free.
//!
//! Invariant: two spans of a row are apart or one holds the other; time and memory are bounded
//! whatever the spans. Held by `spans_of_a_row_never_cut_each_other`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows for spans that may hold each other. Spans must come in the order of their beginnings, of two
/// that begin together the longer first.
#[derive(Debug)]
pub(super) struct Nest {
    /// Of each row: ends of the spans that are open, the innermost last.
    /// Ends of the spans of each row, the outermost first, and how many of them are still open: those
    /// behind are over, and nobody has asked for them yet.
    rows: Vec<(Vec<u64>, usize)>,
    rows_max: usize,
}

impl Nest {
    pub(super) fn new(rows_max: usize) -> Self {
        Self { rows: Vec::new(), rows_max }
    }

    /// The row of the next span; None if all of them are cut by it. What ends in that row before the
    /// span begins is told to `closed`, in order.
    pub(super) fn place(
        &mut self,
        (begin_ns, end_ns): (u64, u64),
        mut closed: impl FnMut(u64),
    ) -> Option<usize> {
        let fits = |(row, open): &mut (Vec<u64>, usize)| {
            let innermost = |open: usize| open.checked_sub(1).and_then(|last| row.get(last));
            while innermost(*open).is_some_and(|open_ns| *open_ns <= begin_ns) {
                *open -= 1;
            }
            innermost(*open).is_none_or(|open_ns| *open_ns >= end_ns)
        };
        let index = match self.rows.iter_mut().position(fits) {
            Some(index) => index,
            None if self.rows.len() < self.rows_max => {
                self.rows.push((Vec::new(), 0));
                self.rows.len() - 1
            }
            None => return None,
        };
        let (row, open) = self.rows.get_mut(index)?;
        while let Some(open_ns) = row.pop_if(|open_ns| *open_ns <= begin_ns) {
            closed(open_ns);
        }
        row.push(end_ns);
        *open = row.len();
        Some(index)
    }

    /// Ends of all spans that are open: (row, end), those of one row in order.
    pub(super) fn finish(self) -> impl Iterator<Item = (usize, u64)> {
        let rows = self.rows.into_iter().enumerate();
        rows.flat_map(|(index, (row, _))| row.into_iter().rev().map(move |end_ns| (index, end_ns)))
    }
}

/// Rows for spans that stand alone, each in the lowest row that is free. Spans must come in the order
/// of their beginnings.
#[derive(Debug)]
pub(super) struct Rows {
    free: BinaryHeap<Reverse<usize>>,
    /// (end, row) of those that are open.
    open: BinaryHeap<Reverse<(u64, usize)>>,
    rows: usize,
    rows_max: usize,
}

impl Rows {
    pub(super) fn new(rows_max: usize) -> Self {
        Self { free: BinaryHeap::new(), open: BinaryHeap::new(), rows: 0, rows_max }
    }

    /// The row of the next span; None if none is free.
    pub(super) fn place(&mut self, (begin_ns, end_ns): (u64, u64)) -> Option<usize> {
        while let Some(Reverse((open_ns, row))) = self.open.peek().copied()
            && open_ns <= begin_ns
        {
            self.open.pop();
            self.free.push(Reverse(row));
        }
        let row = match self.free.pop() {
            Some(Reverse(row)) => row,
            None if self.rows < self.rows_max => {
                self.rows += 1;
                self.rows - 1
            }
            None => return None,
        };
        self.open.push(Reverse((end_ns, row)));
        Some(row)
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let span = (0_u64..50, 0_u64..20).prop_map(|(begin, length)| (begin, begin + length));
        prop::collection::vec(span, 0..60).prop_map(|mut spans| {
            spans.sort_by_key(|(begin, end)| (*begin, Reverse(*end)));
            spans
        })
    }

    proptest! {
        #[test]
        fn spans_of_a_row_never_cut_each_other(spans in spans(), rows_max in 1_usize..6) {
            let mut nest = Nest::new(rows_max);
            let mut rows = Rows::new(rows_max);
            let mut ended = 0;
            let placed: Vec<_> = spans.iter().map(|span| nest.place(*span, |_| ended += 1)).collect();
            let alone: Vec<_> = spans.iter().map(|span| rows.place(*span)).collect();
            prop_assert!(rows.rows() <= rows_max);
            let open = nest.finish().count();
            prop_assert_eq!(ended + open, placed.iter().flatten().count(), "each ends once");
            for (index, (begin, end)) in spans.iter().enumerate() {
                for (other, (other_begin, other_end)) in spans.iter().enumerate().skip(index + 1) {
                    let apart = other_begin >= end;
                    let inside = other_begin >= begin && other_end <= end;
                    if placed[index].is_some() && placed[index] == placed[other] {
                        prop_assert!(apart || inside);
                    }
                    if alone[index].is_some() && alone[index] == alone[other] {
                        prop_assert!(apart);
                    }
                }
            }
        }
    }
}
