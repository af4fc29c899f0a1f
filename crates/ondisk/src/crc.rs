//! CRC32C (Castagnoli): with the processor's instructions where the `std` feature is on, else by a
//! table, so that the crate also runs on a bare target. A test holds all of them to RFC 3720's
//! vectors and to each other.
//!
//! Two crates, because the CRC was half of the writer's time at full rate: on x86-64 carry-less
//! multiplication gives 65 GB/s where the CRC32 instruction gives 26 (16 KiB in the cache, one core
//! of a Zen 5). Elsewhere, and for short pieces, the plain crate does as well.

/// Below this the set-up of the wide method costs more than it gains.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
const WIDE_FROM_BYTES: usize = 1024;

/// CRC32C of `bytes` appended to data whose CRC is `before` (0 at the start).
#[must_use]
#[inline]
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if bytes.len() >= WIDE_FROM_BYTES {
        return wide(before, bytes);
    }
    #[cfg(feature = "std")]
    return crc32c::crc32c_append(before, bytes);
    #[cfg(not(feature = "std"))]
    by_table(before, bytes)
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
fn wide(before: u32, bytes: &[u8]) -> u32 {
    use crc_fast::{CrcAlgorithm, Digest};
    // The digest's state is the CRC before its final inversion.
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!before));
    digest.update(bytes);
    digest.finalize() as u32
}

#[cfg(any(test, not(feature = "std")))]
fn by_table(before: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes
        .iter()
        .fold(!before, |crc, byte| (crc >> 8) ^ TABLE[usize::from((crc & 0xff) as u8 ^ byte)])
}

#[cfg(any(test, not(feature = "std")))]
const fn table() -> [u32; 256] {
    let mut table = [0_u32; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{by_table, crc32c};
    use std::vec::Vec;

    #[test]
    fn matches_rfc_3720_and_appends() {
        let ascending: Vec<u8> = (0..32).collect();
        for (bytes, crc) in
            [(&[0_u8; 32][..], 0x8a91_36aa), (&[0xff; 32], 0x62a8_ab43), (&ascending, 0x46dd_794e)]
        {
            assert_eq!(crc32c(0, bytes), crc);
            assert_eq!(by_table(0, bytes), crc);
            assert_eq!(crc32c(crc32c(0, &bytes[..5]), &bytes[5..]), crc);
        }
    }

    #[test]
    fn all_methods_agree_at_all_lengths() {
        let bytes: Vec<u8> = (0..70_000_u32).map(|n| (n.wrapping_mul(n) >> 3) as u8).collect();
        for length in (0..3000).chain([4096, 16_384, 65_536, 69_999]) {
            for before in [0, 0xdead_beef] {
                assert_eq!(crc32c(before, &bytes[..length]), by_table(before, &bytes[..length]));
            }
        }
    }
}
