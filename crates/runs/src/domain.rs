//! Values as integers: what a page stores in place of 64-bit values, and the way back.
//!
//! Floats that are decimal numbers, `i / 10^e` with one `e` for the page, are stored as `i`. That is
//! proven for every value: `i / 10^e` must give back all 64 bits, so -0.0, NaN and values that no
//! short decimal gives never pass. A few values that do not pass are kept beside as *patches*; if
//! there are more, the bits themselves are the integers.
//!
//! **Invariant:** what is read back has the bits that were written; held by the property tests in
//! `tests/round_trip.rs`.

use baro_ondisk::Type;

/// 10^e, exact in binary up to e = 22.
const POWERS: [f64; 13] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12];

/// Largest exponent of a decimal page.
pub(crate) const EXPONENT_MAX: u8 = 12;

/// 1.5 x 2^52: added and taken away it leaves the nearest integer, without a call to `round`.
const NEAREST: f64 = 6_755_399_441_055_744.0;

/// How integers stand for values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// The 64 bits are an i64: i64 and bool series, and numbers of texts.
    Integer,
    /// Floats i / 10^e.
    Decimal(u8),
    /// The 64 bits, less as many zero bits at the lower end as all values have.
    Bits(u8),
}

impl Domain {
    pub(crate) fn bytes(self) -> [u8; 2] {
        match self {
            Domain::Integer => [0, 0],
            Domain::Decimal(exponent) => [1, exponent],
            Domain::Bits(shift) => [2, shift],
        }
    }

    pub(crate) fn from_bytes(bytes: [u8; 2]) -> Option<Self> {
        match bytes {
            [0, 0] => Some(Domain::Integer),
            [1, exponent] if exponent <= EXPONENT_MAX => Some(Domain::Decimal(exponent)),
            [2, shift] if shift < 64 => Some(Domain::Bits(shift)),
            _ => None,
        }
    }

    /// Whether order and sums of the integers are those of the values.
    pub(crate) fn is_exact(self) -> bool {
        !matches!(self, Domain::Bits(_))
    }

    /// 10^e, or 1.
    pub(crate) fn divisor(self) -> f64 {
        match self {
            Domain::Decimal(exponent) => POWERS.get(usize::from(exponent)).copied().unwrap_or(1.0),
            _ => 1.0,
        }
    }

    /// The value's bits, added to `to`, for each integer.
    pub(crate) fn restore(self, integers: impl ExactSizeIterator<Item = i64>, to: &mut Vec<u64>) {
        match self {
            Domain::Integer => to.extend(integers.map(|integer| integer as u64)),
            Domain::Decimal(_) => {
                let divisor = self.divisor();
                to.extend(integers.map(|integer| (integer as f64 / divisor).to_bits()));
            }
            Domain::Bits(shift) => to.extend(integers.map(|integer| (integer as u64) << shift)),
        }
    }

    /// What an integer (or a sum of them) is as a float; only where [`Domain::is_exact`].
    pub(crate) fn float(self, integer: i128) -> f64 {
        integer as f64 / self.divisor()
    }
}

/// A value that the page's domain cannot hold: its place among the page's samples, and its bits.
pub(crate) type Patch = (u32, u64);

/// Turns values into integers; returns how, and fills `integers` and `patches`.
/// In place of a patched value stands the integer before it, which costs next to nothing.
pub(crate) fn to_integers(
    kind: Type,
    bits: &[u64],
    integers: &mut Vec<i64>,
    patches: &mut Vec<Patch>,
) -> Domain {
    integers.clear();
    patches.clear();
    if kind != Type::F64 {
        integers.extend(bits.iter().map(|bits| *bits as i64));
        return Domain::Integer;
    }
    if let Some(domain) = to_decimals(bits, integers, patches) {
        return domain;
    }
    integers.clear();
    patches.clear();
    let all = bits.iter().fold(0, |all, bits| all | bits);
    let shift = all.trailing_zeros().min(63);
    integers.extend(bits.iter().map(|bits| (bits >> shift) as i64));
    Domain::Bits(shift as u8)
}

fn to_decimals(bits: &[u64], integers: &mut Vec<i64>, patches: &mut Vec<Patch>) -> Option<Domain> {
    let most_patches = bits.len() / 32;
    // The first values say which exponent to try; a later value may ask for a larger one.
    let mut exponent = 0;
    for bits in bits.iter().take(64) {
        if let Some(found) = exponent_of(*bits, exponent) {
            exponent = found;
        }
    }
    'exponents: loop {
        let power = *POWERS.get(usize::from(exponent))?;
        integers.clear();
        patches.clear();
        integers.reserve(bits.len());
        let mut before = 0;
        for (index, bits) in bits.iter().enumerate() {
            let integer = nearest(f64::from_bits(*bits), power);
            if (integer as f64 / power).to_bits() == *bits {
                before = integer;
            } else if let Some(larger) = exponent_of(*bits, exponent) {
                exponent = larger;
                continue 'exponents;
            } else if patches.len() < most_patches {
                patches.push((index as u32, *bits));
            } else {
                return None;
            }
            integers.push(before);
        }
        return Some(Domain::Decimal(exponent));
    }
}

#[inline]
fn nearest(value: f64, power: f64) -> i64 {
    ((value * power + NEAREST) - NEAREST) as i64
}

/// The least exponent from `least` on that gives back all bits.
fn exponent_of(bits: u64, least: u8) -> Option<u8> {
    (least..=EXPONENT_MAX).find(|exponent| {
        POWERS.get(usize::from(*exponent)).is_some_and(|power| {
            (nearest(f64::from_bits(bits), *power) as f64 / power).to_bits() == bits
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(kind: Type, values: &[u64]) -> (Domain, usize) {
        let (mut integers, mut patches, mut back) = (Vec::new(), Vec::new(), Vec::new());
        let domain = to_integers(kind, values, &mut integers, &mut patches);
        domain.restore(integers.iter().copied(), &mut back);
        for (index, bits) in &patches {
            back[*index as usize] = *bits;
        }
        assert_eq!(back, values);
        assert_eq!(Domain::from_bytes(domain.bytes()), Some(domain));
        (domain, patches.len())
    }

    #[test]
    fn decimals_are_found_and_the_rest_keeps_its_bits() {
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let f64 = Type::F64;
        assert_eq!(there_and_back(f64, &bits(&[1.0, 20.5, -3.125])), (Domain::Decimal(3), 0));
        assert_eq!(there_and_back(f64, &bits(&[0.1 + 0.2])).0, Domain::Bits(2));
        assert_eq!(there_and_back(f64, &bits(&[-0.0])).0, Domain::Bits(63));
        assert_eq!(there_and_back(f64, &bits(&[f64::NAN, f64::INFINITY, -0.0])).1, 0);
        assert_eq!(there_and_back(f64, &bits(&[1e300, 5e-324, f64::MAX])).0, Domain::Bits(0));
        assert_eq!(there_and_back(f64, &bits(&[f64::from(0.1_f32)])).0, Domain::Bits(29));
        assert_eq!(there_and_back(Type::I64, &[u64::MAX, 0, 1 << 63]).0, Domain::Integer);
        let mut rare: Vec<f64> = (0..1000).map(|n| f64::from(n) / 100.0).collect();
        rare[500] = f64::NAN;
        rare[999] = -0.0;
        assert_eq!(there_and_back(f64, &bits(&rare)), (Domain::Decimal(2), 2));
    }
}
