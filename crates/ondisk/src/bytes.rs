//! Reading and writing little-endian fields at fixed offsets, with bounds checked once.
//! Used with buffers whose length the caller has checked; out of range reads give zeros, never a
//! panic, so that a slip here becomes a CRC error and not a crash.

pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    array_at(bytes, offset).map_or(0, u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    array_at(bytes, offset).map_or(0, u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    array_at(bytes, offset).map_or(0, u64::from_le_bytes)
}

pub(crate) fn i64_at(bytes: &[u8], offset: usize) -> i64 {
    array_at(bytes, offset).map_or(0, i64::from_le_bytes)
}

pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn put(bytes: &mut [u8], offset: usize, field: &[u8]) {
    if let Some(place) = bytes.get_mut(offset..offset + field.len()) {
        place.copy_from_slice(field);
    } else {
        debug_assert!(false, "field at {offset} does not fit");
    }
}
