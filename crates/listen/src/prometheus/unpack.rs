//! A block of snappy, which says how large it is unpacked. Needs no server, so that it is fuzzed too.
//!
//! Invariant: memory follows from the bytes that came, and not from what they say. Held by
//! `what_comes_over_the_network_is_read_in_proportion` (`fuzz/tests/bounds`).

/// Why a block is not unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is none.
    NoSnappy,
    /// It would be larger than may be.
    TooLarge,
}

/// How large a block is unpacked, at most `most`.
pub(crate) fn unpacked_bytes(packed: &[u8], most: usize) -> Result<usize, Refused> {
    let length = snap::raw::decompress_len(packed).map_err(|_| Refused::NoSnappy)?;
    if length > most {
        return Err(Refused::TooLarge);
    }
    // What is said is taken only as far as a block of this size can unpack: 64 bytes of three.
    if length > packed.len().saturating_mul(32) {
        return Err(Refused::NoSnappy);
    }
    Ok(length)
}

/// What is in it; its size was asked for before.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Refused> {
    snap::raw::Decoder::new().decompress_vec(packed).map_err(|_| Refused::NoSnappy)
}
