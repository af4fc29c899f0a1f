//! Columns of numbers as the bytes that the format wants, without a copy.

#[cfg(not(target_endian = "little"))]
compile_error!("the format is little-endian and columns are copied as they are");

mod sealed {
    pub trait Sealed {}
}

/// Numbers that are their little-endian bytes.
pub trait Plain: sealed::Sealed + Copy {}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl Plain for $number {}
    )*};
}
plain!(u8, u32, u64, i64, f64);

/// The bytes of a column.
#[must_use]
#[inline]
pub fn as_bytes<T: Plain>(column: &[T]) -> &[u8] {
    // SAFETY: `Plain` is sealed to numbers without padding; u8 has no alignment; same lifetime.
    unsafe { std::slice::from_raw_parts(column.as_ptr().cast(), size_of_val(column)) }
}

/// The bytes of a column, to be filled in: any bytes are a number.
#[must_use]
#[inline]
pub fn as_bytes_mut<T: Plain>(column: &mut [T]) -> &mut [u8] {
    let bytes = size_of_val(column);
    // SAFETY: `Plain` is sealed to numbers without padding, of which every bit pattern is one; u8
    // has no alignment; same lifetime, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(column.as_mut_ptr().cast(), bytes) }
}

/// The same 64 bits each, as floats.
#[must_use]
pub fn as_floats(bits: &[u64]) -> &[f64] {
    // SAFETY: f64 has the size and alignment of u64 (asserted below), and any bits are an f64.
    unsafe { std::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
}

/// The same 64 bits each, as signed integers.
#[must_use]
pub fn as_integers(bits: &[u64]) -> &[i64] {
    // SAFETY: i64 has the size and alignment of u64, and any bits are an i64.
    unsafe { std::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
}

const _: () =
    assert!(size_of::<f64>() == size_of::<u64>() && align_of::<f64>() == align_of::<u64>());
