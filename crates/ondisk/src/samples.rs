//! The payload of a samples record: columns of series, times (or one time for all) and values.

use crate::bytes::{i64_at, u32_at, u64_at};
use crate::limits::RECORD_BYTES_MAX;
use crate::{Error, What};

const HEAD_BYTES: usize = 8;
const TIMES_PRESENT: u32 = 1;

/// A batch of samples, read in place. Values are 64 bits, f64 or i64 by the catalog.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    payload: &'a [u8],
    count: usize,
    time_ns: i64,
    times: bool,
}

impl<'a> Samples<'a> {
    /// Bytes before the columns.
    pub const HEAD_BYTES: usize = HEAD_BYTES;

    /// Bytes of the payload for `count` samples, with or without a time of its own for each.
    #[must_use]
    pub fn payload_bytes(count: usize, times: bool) -> usize {
        count
            .checked_mul(if times { 20 } else { 12 })
            .and_then(|bytes| bytes.checked_add(HEAD_BYTES))
            .unwrap_or(usize::MAX)
    }

    /// The eight bytes before the columns.
    #[must_use]
    pub fn head(count: u32, times: bool) -> [u8; HEAD_BYTES] {
        // One number, so that a push copies it from a register.
        (u64::from(count) | u64::from(times) << 32).to_le_bytes()
    }

    /// What the first eight bytes of a payload of `length` bytes say: number of samples, and
    /// whether each has a time. `None` if the length is another one, or a flag is unknown.
    #[must_use]
    #[inline]
    pub fn shape(head: [u8; HEAD_BYTES], length: usize) -> Option<(usize, bool)> {
        let head = u64::from_le_bytes(head);
        let (count, flags) = ((head & 0xffff_ffff) as usize, (head >> 32) as u32);
        let times = flags & TIMES_PRESENT != 0;
        let valid = flags & !TIMES_PRESENT == 0 && length <= RECORD_BYTES_MAX;
        (valid && Self::payload_bytes(count, times) == length).then_some((count, times))
    }

    /// Reads a payload; `time_ns` is the record's time.
    ///
    /// # Errors
    /// The length does not fit the count, or a flag is unknown.
    pub fn decode(payload: &'a [u8], time_ns: i64) -> Result<Self, Error> {
        let what = What::Samples;
        let found = payload.len() as u64;
        if payload.len() < HEAD_BYTES || payload.len() > RECORD_BYTES_MAX {
            return Err(Error::Truncated {
                what,
                offset: found,
                expected: HEAD_BYTES as u64,
                found,
            });
        }
        let count = u32_at(payload, 0) as usize;
        let flags = u32_at(payload, 4);
        if flags & !TIMES_PRESENT != 0 {
            let (limit, found) = (u64::from(TIMES_PRESENT), u64::from(flags));
            return Err(Error::OutOfRange { what, field: "flags", offset: 4, limit, found });
        }
        let times = flags & TIMES_PRESENT != 0;
        let expected = Self::payload_bytes(count, times);
        if expected != payload.len() {
            let expected = expected as u64;
            return Err(Error::Mismatch { what, field: "length", offset: 0, expected, found });
        }
        Ok(Samples { payload, count, time_ns, times })
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// (series, time in nanoseconds, value bits) of sample number `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(u32, i64, u64)> {
        (index < self.count).then(|| self.at(index))
    }

    /// (series, time in nanoseconds, value bits) of each sample.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i64, u64)> + use<'a> {
        let samples = *self;
        (0..samples.count).map(move |index| samples.at(index))
    }

    fn at(&self, index: usize) -> (u32, i64, u64) {
        let Samples { payload, count, time_ns, times } = *self;
        let times_at = HEAD_BYTES + count * 4;
        let values_at = times_at + if times { count * 8 } else { 0 };
        let time = if times { i64_at(payload, times_at + index * 8) } else { time_ns };
        (u32_at(payload, HEAD_BYTES + index * 4), time, u64_at(payload, values_at + index * 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn reads_both_forms_and_refuses_wrong_lengths() {
        for times in [false, true] {
            let mut payload = Samples::head(2, times).to_vec();
            payload.extend([7_u32, 8].iter().flat_map(|s| s.to_le_bytes()));
            if times {
                payload.extend([100_i64, 200].iter().flat_map(|t| t.to_le_bytes()));
            }
            payload.extend([1.5_f64, -2.0].iter().flat_map(|v| v.to_le_bytes()));
            let read: Vec<_> = Samples::decode(&payload, 50).unwrap().iter().collect();
            let expected = if times { [100, 200] } else { [50, 50] };
            assert_eq!(read[0], (7, expected[0], 1.5_f64.to_bits()));
            assert_eq!(read[1], (8, expected[1], (-2.0_f64).to_bits()));
            let samples = Samples::decode(&payload, 50).unwrap();
            assert_eq!((samples.get(1), samples.get(2)), (Some(read[1]), None));
            for length in 0..payload.len() {
                assert!(Samples::decode(&payload[..length], 0).is_err());
            }
            payload[3] = 0xff;
            assert!(Samples::decode(&payload, 0).is_err());
        }
    }
}
