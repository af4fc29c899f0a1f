//! CRC32C (Castagnoli): with the processor's instruction where the `std` feature is on, else by a
//! table, so that the crate also runs on a bare target. A test holds both to RFC 3720's vectors.

/// CRC32C of `bytes` appended to data whose CRC is `before` (0 at the start).
#[must_use]
#[inline]
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    #[cfg(feature = "std")]
    return crc32c::crc32c_append(before, bytes);
    #[cfg(not(feature = "std"))]
    by_table(before, bytes)
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
}
