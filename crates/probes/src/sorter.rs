//! Records in the order of time, though processors write them side by side.
//!
//! A record takes its time a moment before it takes its place in the ring, so neighbours may be the
//! wrong way round. What is younger than a moment is kept for the next time.
//!
//! Invariant: every record comes out once, and times go back only where a record came later than
//! that moment. Held by `records_come_out_once_and_in_order`.

/// Records that have been taken from the ring and not yet handed on.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    bytes: Vec<u8>,
    /// Time, and where in `bytes`.
    records: Vec<(u64, usize, usize)>,
}

impl Sorter {
    /// Takes an event of this time.
    pub(crate) fn push(&mut self, time_ns: u64, event: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(event);
        self.records.push((time_ns, from, self.bytes.len()));
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Hands on what is older than `until_ns`, in order. After an error the rest is dropped.
    pub(crate) fn take<E>(
        &mut self,
        until_ns: u64,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.records.sort_by_key(|(time_ns, _, _)| *time_ns);
        let older = self.records.partition_point(|(time_ns, _, _)| *time_ns < until_ns);
        let (records, bytes) = (std::mem::take(&mut self.records), std::mem::take(&mut self.bytes));
        for (index, (time_ns, from, to)) in records.into_iter().enumerate() {
            let event = bytes.get(from..to).unwrap_or_default();
            if index < older {
                each(time_ns, event)?;
            } else {
                self.push(time_ns, event);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(sorter: &mut Sorter, until_ns: u64) -> Vec<(u64, usize, u8)> {
        let mut out = Vec::new();
        let each = |time_ns, event: &[u8]| {
            out.push((time_ns, event.len(), event[0]));
            Ok::<_, ()>(())
        };
        sorter.take(until_ns, each).unwrap();
        out
    }

    #[test]
    fn records_come_out_once_and_in_order() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        for (index, time_ns) in [5_u64, 3, 9, 3, 12, 8, 20].into_iter().enumerate() {
            sorter.push(time_ns, &[index as u8; 3][..index % 3 + 1]);
            if index == 4 {
                out.extend(taken(&mut sorter, 9));
                assert_eq!(sorter.len(), 2);
            }
        }
        out.extend(taken(&mut sorter, u64::MAX));
        // Of one time in the order of the ring; 8 came too late.
        let expected =
            [(3, 2, 1), (3, 1, 3), (5, 1, 0), (8, 3, 5), (9, 3, 2), (12, 2, 4), (20, 1, 6)];
        assert_eq!(out, expected);
        assert_eq!(sorter.len(), 0);
    }

    #[test]
    fn an_error_ends_it() {
        let mut sorter = Sorter::default();
        (0..3).for_each(|time_ns| sorter.push(time_ns, &[1]));
        assert_eq!(sorter.take(9, |time_ns, _| if time_ns == 1 { Err(7) } else { Ok(()) }), Err(7));
        assert_eq!(sorter.len(), 0);
    }
}
