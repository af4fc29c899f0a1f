//! Large pages for memory that is about to be filled: the kernel then meets it 512 pages at a time.
//!
//! Only advice: where the kernel has no large pages to give, or none at all, memory is as it was.

use super::map::page_bytes;
use std::mem::MaybeUninit;

/// Less is filled before a large page would have been found.
const LEAST_BYTES: usize = 4 << 20;

/// Asks the kernel for large pages behind memory that has not been filled yet, such as the spare capacity of
/// a `Vec`. Does nothing for less than 4 MiB. Does not block.
pub fn prefer_large_pages<T>(spare: &mut [MaybeUninit<T>]) {
    let (bytes, page) = (size_of_val(spare), page_bytes());
    if bytes < LEAST_BYTES {
        return;
    }
    // Whole pages alone: what lies beside may be somebody else's.
    let skipped = spare.as_ptr().addr().wrapping_neg() % page;
    let whole = (bytes - skipped) / page * page;
    // SAFETY: the range lies within the slice; the advice changes neither contents nor rights.
    unsafe {
        let start = spare.as_mut_ptr().cast::<u8>().add(skipped);
        libc::madvise(start.cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_with_large_pages_holds_what_is_written() {
        for count in [0, 1, 100, 1 << 20, (1 << 20) + 7] {
            let mut values: Vec<u64> = Vec::with_capacity(count);
            prefer_large_pages(values.spare_capacity_mut());
            values.extend(0..count as u64);
            assert!(values.iter().copied().eq(0..count as u64));
        }
    }
}
