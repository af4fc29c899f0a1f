//! Values that look decimal as integers: `i / 10^e`, proven bit-exact for every value, or else the
//! value's 64 bits as they are.
//!
//! The proof: `i / 10^e` is computed by the writer as the reader will, and compared bit by bit; so
//! -0.0, NaN, infinities and integers that are no doubles at all keep their bits. Raising the
//! exponent keeps the proof, for both operands of the division stay exact (below 2^51, and 10^18)
//! and it rounds the same quotient.

/// Powers of ten that doubles hold exactly.
pub(super) const POWERS: [f64; 19] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];
const INTEGER_POWERS: [i64; 16] = {
    let mut powers = [1; 16];
    let mut at = 1;
    while at < 16 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};
/// The code of values that keep their bits.
pub(super) const RAW: u8 = POWERS.len() as u8;
/// Integers are from minus this up to below it, so that adding [`MAGIC`] rounds to whole numbers.
const INTEGER_MAX: i64 = 1 << 51;
/// 1.5 x 2^52: a double near it has the ulp 1, so its low bits are an integer.
const MAGIC: f64 = 6_755_399_441_055_744.0;
const MAGIC_BITS: i64 = MAGIC.to_bits() as i64;

/// Zero if a sum with [`MAGIC`] has its exponent, and so an integer of at most 51 bits below.
#[inline]
fn beyond(sum: u64) -> u64 {
    (sum >> 52) ^ (MAGIC_BITS as u64 >> 52)
}

/// The integer of `value` with this power, and zero if that is exact; without a branch.
#[inline]
fn scaled(bits: u64, power: f64) -> (i64, u64) {
    let product = f64::from_bits(bits) * power;
    let sum = product + MAGIC;
    let integer = (sum.to_bits() as i64).wrapping_sub(MAGIC_BITS);
    let back = ((sum - MAGIC) / power).to_bits();
    (integer, (back ^ bits) | beyond(sum.to_bits()))
}

/// The least exponent of one value from `from` on; [`RAW`] if there is none.
pub(super) fn exponent_of(bits: u64, from: u8) -> u8 {
    // Zero, or no decimal of at most 18 digits behind the point: integers among the bits end here.
    let biased = (bits >> 52) & 0x7ff;
    if bits == 0 {
        return from;
    }
    if !(1023 - 60..1023 + 51).contains(&biased) {
        return RAW;
    }
    let powers = POWERS.iter().enumerate().skip(usize::from(from));
    let mut found = powers.filter(|(_, power)| scaled(bits, **power).1 == 0);
    found.next().map_or(RAW, |(exponent, _)| exponent as u8)
}

/// Puts the integers of a series' values into `to`, all of one exponent, at least `from`: returns
/// it, or [`RAW`], for which `to` has the bits.
pub(super) fn scale(bits: &[u64], from: u8, to: &mut [i64]) -> u8 {
    let mut exponent = from;
    let mut done = 0;
    while exponent != RAW {
        let power = POWERS.get(usize::from(exponent)).copied().unwrap_or(1.0);
        // In pieces, so that the loop has no branch and yet stops early.
        while let (Some(from), Some(to)) = (piece(bits, done), piece_mut(to, done)) {
            let mut inexact = 0;
            for (place, bits) in to.iter_mut().zip(from) {
                let (integer, this) = scaled(*bits, power);
                *place = integer;
                inexact |= this;
            }
            if inexact != 0 {
                break;
            }
            done += from.len();
        }
        let Some(failed) = piece(bits, done) else { return exponent };
        let needed =
            failed.iter().fold(exponent, |e, b| if e == RAW { e } else { exponent_of(*b, e) });
        if needed != RAW && !raise(to.get_mut(..done).unwrap_or(&mut []), needed - exponent) {
            break;
        }
        exponent = needed;
    }
    for (place, bits) in to.iter_mut().zip(bits) {
        *place = *bits as i64;
    }
    RAW
}

const PIECE: usize = 64;

fn piece(all: &[u64], at: usize) -> Option<&[u64]> {
    all.get(at..)?.chunks(PIECE).next()
}

fn piece_mut(all: &mut [i64], at: usize) -> Option<&mut [i64]> {
    all.get_mut(at..)?.chunks_mut(PIECE).next()
}

/// Multiplies integers by 10^by; false, with some multiplied, if one would be too large.
fn raise(integers: &mut [i64], by: u8) -> bool {
    let Some(power) = INTEGER_POWERS.get(usize::from(by)) else {
        return integers.iter().all(|integer| *integer == 0);
    };
    let limit = (INTEGER_MAX - 1) / power;
    integers.iter_mut().all(|integer| {
        let fits = (-limit..=limit).contains(integer);
        *integer = integer.wrapping_mul(*power);
        fits
    })
}

/// Turns integers into values' bits; false if one is beyond what a writer stores.
#[inline]
pub(super) fn unscale(integers: &[i64], code: u8, to: &mut [u64]) -> bool {
    let Some(power) = POWERS.get(usize::from(code)) else {
        for (place, integer) in to.iter_mut().zip(integers) {
            *place = *integer as u64;
        }
        return code == RAW;
    };
    let mut outside = 0;
    for (place, integer) in to.iter_mut().zip(integers) {
        let sum = integer.wrapping_add(MAGIC_BITS) as u64;
        outside |= beyond(sum);
        *place = ((f64::from_bits(sum) - MAGIC) / power).to_bits();
    }
    outside == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn check(values: &[u64], code: u8) {
        let mut integers = vec![0; values.len()];
        assert_eq!(scale(values, 0, &mut integers), code, "{values:x?}");
        let mut read = vec![0; values.len()];
        assert!(unscale(&integers, code, &mut read));
        assert_eq!(read, values);
    }

    #[test]
    fn what_is_decimal_is_an_integer_and_all_else_keeps_its_bits() {
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<vec::Vec<_>>();
        check(&bits(&[1.0, -2.0, 3e9, 0.0]), 0);
        check(&bits(&[1.0, 20.5, -17.125, 1e-3]), 3);
        check(&bits(&[0.1, 0.2, 0.1 + 0.2]), RAW);
        check(&bits(&[1.0, -0.0]), RAW);
        check(&bits(&[1.0, f64::NAN]), RAW);
        check(&bits(&[f64::INFINITY]), RAW);
        check(&bits(&[f64::MIN_POSITIVE, f64::MAX]), RAW);
        check(&bits(&[1e-18, 0.0]), 18);
        // Together they would need 10^18 and 10^15: no integer holds both.
        check(&bits(&[1e14, 1e-18]), RAW);
        check(&[0, 1, 2, u64::MAX], RAW);
        check(&bits(&[2_251_799_813_685_247.0]), 0);
        check(&bits(&[2_251_799_813_685_248.0]), RAW);
        let long: vec::Vec<f64> =
            (0..300).map(|n| if n == 250 { 0.001 } else { f64::from(n) }).collect();
        check(&bits(&long), 3);
        assert!(!unscale(&[INTEGER_MAX], 0, &mut [0]));
        assert!(!unscale(&[0], RAW + 1, &mut [0]));
    }
}
