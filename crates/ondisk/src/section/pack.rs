//! Bit packing of at most 128 integers of one width, low bits first.
//!
//! Widths 1 to 56 are read by one unaligned load a value; wider ones are stored as whole 64 bits,
//! which costs little where values are that random. No branch depends on a value. Invariant: what
//! is packed unpacks to the same (tests below, and `tests/section.rs`).

use crate::bytes::array_at;

/// Integers in a mini-block.
pub(super) const MINI: usize = 128;
/// Widest that is packed; above it 64.
const WIDTH_MAX: u32 = 56;
/// The largest packed mini-block and what a load or store may reach beyond it.
pub(super) const PACKED_BYTES: usize = MINI * 8 + 8;
/// Room for one packed mini-block.
pub(super) type Packed = [u8; PACKED_BYTES];

/// Bits that offsets up to `most` take: 0 to 56, or 64.
#[inline]
pub(super) fn width_for(most: u64) -> u32 {
    let width = u64::BITS - most.leading_zeros();
    if width > WIDTH_MAX { u64::BITS } else { width }
}

/// Whether a width is one that a writer uses.
#[inline]
pub(super) fn is_width(width: u32) -> bool {
    width <= WIDTH_MAX || width == u64::BITS
}

/// Bytes of `count` integers.
#[inline]
pub(super) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Packs `values`, at most [`MINI`], as offsets from `min`; returns the bytes used.
#[inline]
pub(super) fn pack(values: &[i64], min: i64, width: u32, to: &mut Packed) -> usize {
    let bytes = packed_bytes(values.len(), width);
    if width == u64::BITS {
        for (place, value) in to.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.wrapping_sub(min).to_le_bytes());
        }
        return bytes;
    }
    if width == 0 {
        return 0;
    }
    // As many as fit beside up to seven bits that are left are gathered before a store.
    let together = (WIDTH_MAX / width) as usize;
    let (mut at, mut gathered, mut held) = (0, 0_u64, 0_u32);
    for group in values.chunks(together) {
        for value in group {
            gathered |= (value.wrapping_sub(min) as u64) << (held & 63);
            held += width;
        }
        if let Some(place) = to.get_mut(at..at + 8) {
            place.copy_from_slice(&gathered.to_le_bytes());
        }
        at += held as usize / 8;
        gathered = if held < 64 { gathered >> (held & 56) } else { 0 };
        held &= 7;
    }
    bytes
}

/// Unpacks `to.len()` values of `width`, each added to `min`.
#[inline]
pub(super) fn unpack(packed: &Packed, width: u32, min: i64, to: &mut [i64]) {
    match width {
        0 => to.fill(min),
        u64::BITS => {
            for (value, bytes) in to.iter_mut().zip(packed.chunks_exact(8)) {
                *value = min.wrapping_add(i64::from_le_bytes(array_at(bytes, 0).unwrap_or([0; 8])));
            }
        }
        1..=8 => unpack_narrow(packed, width, min, to),
        _ => unpack_wide(packed, width, min, to),
    }
}

/// Eight values of at most a byte lie in `width` bytes: one load for all.
#[inline]
fn unpack_narrow(packed: &Packed, width: u32, min: i64, to: &mut [i64]) {
    let mask = (1_u64 << width) - 1;
    let mut at = 0;
    let mut groups = to.chunks_exact_mut(8);
    for group in &mut groups {
        let word = word_at(packed, at);
        for (index, value) in group.iter_mut().enumerate() {
            let offset = (word >> (index as u32 * width)) & mask;
            *value = min.wrapping_add(offset as i64);
        }
        at += width as usize;
    }
    let word = word_at(packed, at);
    for (index, value) in groups.into_remainder().iter_mut().enumerate() {
        *value = min.wrapping_add(((word >> (index as u32 * width)) & mask) as i64);
    }
}

#[inline]
fn unpack_wide(packed: &Packed, width: u32, min: i64, to: &mut [i64]) {
    let mask = (1_u64 << width) - 1;
    let mut bit = 0;
    for value in to {
        let word = word_at(packed, bit >> 3);
        *value = min.wrapping_add(((word >> (bit & 7)) & mask) as i64);
        bit += width as usize;
    }
}

/// The mask is above every offset that is read; it spares a test for each.
#[inline]
fn word_at(packed: &Packed, at: usize) -> u64 {
    array_at::<8>(packed, at & (PACKED_BYTES - 9)).map_or(0, u64::from_le_bytes)
}

const _: () = assert!((PACKED_BYTES - 8).is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_width_and_count_round_trips() {
        let mut state = 1_u64;
        for width in (0..=WIDTH_MAX).chain([64]) {
            for count in [1, 2, 7, 8, 9, 63, 100, 127, MINI] {
                let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
                let min = i64::MIN + 3;
                let values: Vec<i64> = (0..count)
                    .map(|at| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let offset = if at == 1 { mask } else { (state >> 8) & mask };
                        min.wrapping_add(offset as i64)
                    })
                    .collect();
                let mut packed = [0xff; PACKED_BYTES];
                let bytes = pack(&values, min, width, &mut packed);
                assert_eq!(bytes, packed_bytes(count, width));
                // What lies behind does not matter.
                packed[bytes..].fill(0xee);
                let mut read = std::vec![0; count];
                unpack(&packed, width, min, &mut read);
                assert_eq!(read, values, "width {width} count {count}");
            }
        }
        assert_eq!([0, 1, 255, 256].map(width_for), [0, 1, 8, 9]);
        assert_eq!(width_for(1 << 56), 64);
        assert!(is_width(56) && is_width(64) && !is_width(57) && !is_width(65));
    }
}
