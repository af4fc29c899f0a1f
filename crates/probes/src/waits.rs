//! Waits for handles as they were counted in the kernel: sums over its processors, told as events.
//!
//! The counts in the kernel only grow; an event has what was added since the one before.
//!
//! Invariant: the events' counts add up to the kernel's. Held by
//! `what_was_added_is_told_once`.

use crate::records::{BUCKETS, FIRST_ID, HANDLES};

/// `struct waits` of the programs: count, unpaired, sum, longest, classes.
pub(crate) const WORDS: usize = 4 + BUCKETS;
/// The one of these that is no sum.
const LONGEST: usize = 3;

/// One device's counts, summed over processors.
pub(crate) fn summed(processors: &[[u64; WORDS]]) -> [u64; WORDS] {
    let mut all = [0_u64; WORDS];
    for one in processors {
        for (index, (sum, value)) in all.iter_mut().zip(one).enumerate() {
            *sum = if index == LONGEST { (*sum).max(*value) } else { sum.saturating_add(*value) };
        }
    }
    all
}

/// An event of what `now` has more than `before`; None if no handle began.
pub(crate) fn event(
    device: u32,
    begin_ns: u64,
    before: &[u64; WORDS],
    now: &[u64; WORDS],
) -> Option<Vec<u8>> {
    if now[0] <= before[0] {
        return None;
    }
    let mut bytes = (FIRST_ID + HANDLES).to_le_bytes().to_vec();
    // Flags, and the task: none of them.
    bytes.extend([0; 6]);
    bytes.extend(device.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(begin_ns.to_le_bytes());
    for (index, (now, before)) in now.iter().zip(before).enumerate() {
        let value = if index == LONGEST { *now } else { now.saturating_sub(*before) };
        bytes.extend(value.to_le_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{header_event, header_page};
    use baro_trace::file::Preamble;
    use baro_trace::record::Device;
    use baro_trace::schema::{KernelEvent, Schemas};

    #[test]
    fn what_was_added_is_told_once() {
        let mut one = [0; WORDS];
        let mut other = [0; WORDS];
        (one[0], one[1], one[2], one[3], one[4 + 10]) = (5, 1, 4_000, 1_500, 4);
        (other[0], other[2], other[3], other[4 + 39]) = (1, 9, 9, 1);
        let before = summed(&[one]);
        let now = summed(&[one, other]);
        let preamble = Preamble {
            header_page: header_page().into(),
            header_event: header_event().into(),
            formats: crate::formats(),
            ..Preamble::default()
        };
        let schemas = Schemas::resolve(&preamble.events().unwrap()).unwrap();
        let decode = |bytes: &[u8]| match schemas.decode(FIRST_ID + HANDLES, bytes) {
            Ok(Some(KernelEvent::HandleWaits(waits))) => waits,
            other => panic!("{other:?}"),
        };
        let first = decode(&event(7, 11, &[0; WORDS], &before).unwrap());
        assert_eq!((first.dev, first.begin_ns), (Device(7), 11));
        assert_eq!((first.count, first.unpaired), (5, 1));
        assert_eq!((first.sum_wait_ns, first.max_wait_ns), (4_000, 1_500));
        assert_eq!((first.buckets[10], first.buckets.iter().sum::<u64>()), (4, 4));
        let second = decode(&event(7, 12, &before, &now).unwrap());
        assert_eq!((second.count, second.unpaired, second.sum_wait_ns), (1, 0, 9));
        assert_eq!((second.max_wait_ns, second.buckets[39]), (1_500, 1));
        assert_eq!(event(7, 13, &now, &now), None);
    }
}
