//! Varints: low 7 bits first, at most 10 bytes, shortest form only, so that a value has one
//! encoding; zigzag for signed differences.

/// Writes `value` at `at` and returns the offset behind it, or `None` if it does not fit.
#[inline]
pub(crate) fn put_varint(bytes: &mut [u8], mut at: usize, mut value: u64) -> Option<usize> {
    loop {
        let place = bytes.get_mut(at)?;
        at += 1;
        if value < 0x80 {
            *place = value as u8;
            return Some(at);
        }
        *place = (value as u8) | 0x80;
        value >>= 7;
    }
}

/// Reads a varint at `at`: the value and the offset behind it. `None` if the bytes end, the value
/// exceeds 64 bits, or the form is not the shortest.
#[inline]
pub(crate) fn varint_at(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        let low = u64::from(byte & 0x7f);
        if (shift == 63 && low > 1) || (shift > 0 && byte == 0) {
            return None;
        }
        value |= low << shift;
        if byte < 0x80 {
            return Some((value, at));
        }
    }
    None
}

#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_refuses_long_forms() {
        for value in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX - 1, u64::MAX]
        {
            let mut bytes = [0; 10];
            let end = put_varint(&mut bytes, 0, value).unwrap();
            assert_eq!(varint_at(&bytes, 0), Some((value, end)));
            assert_eq!(varint_at(&bytes[..end - 1], 0), None);
        }
        assert_eq!(varint_at(&[0x80, 0], 0), None);
        assert_eq!(varint_at(&[0xff; 10], 0), None);
        assert_eq!(put_varint(&mut [0; 1], 0, 300), None);
        for value in [0, 1, -1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
