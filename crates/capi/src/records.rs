//! What is inside the payload of a record.

use crate::arguments::{fill, slice};
use crate::error::{BARO_EBADMSG, Failure, guard};
use crate::structs::{baro_gap, baro_sample};
use baro_ondisk::{Gap, Samples};
use std::ffi::c_void;

fn damaged(error: baro_ondisk::Error) -> Failure {
    Failure::new(BARO_EBADMSG, format!("payload: {error}"))
}

/// Sample number `index` of a record of kind BARO_KIND_SAMPLES, whose time is `time_ns`. Returns 1,
/// or 0 if there are no more.
///
/// Returns 1, 0, BARO_EINVAL, BARO_EBADMSG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_sample_get(
    payload: *const c_void,
    payload_bytes: usize,
    time_ns: i64,
    index: usize,
    sample: *mut baro_sample,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let payload = unsafe { slice(payload.cast::<u8>(), payload_bytes, "payload")? };
        let samples = Samples::decode(payload, time_ns).map_err(damaged)?;
        let Some((series, time_ns, bits)) = samples.get(index) else { return Ok(0) };
        let (value, integer) = (f64::from_bits(bits), bits.cast_signed());
        // SAFETY: as the header says.
        unsafe { fill(sample, baro_sample { type_size: 0, series, time_ns, value, integer })? };
        Ok(1)
    })
}

/// What a record of kind BARO_KIND_GAP says: how many were lost, by cause.
///
/// Returns 0, BARO_EINVAL, BARO_EBADMSG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_gap_get(
    payload: *const c_void,
    payload_bytes: usize,
    gap: *mut baro_gap,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let payload = unsafe { slice(payload.cast::<u8>(), payload_bytes, "payload")? };
        let Gap { ring_full, too_large, damaged, unknown } =
            Gap::decode(payload).map_err(damaged)?;
        let found = baro_gap { type_size: 0, reserved: 0, ring_full, too_large, damaged, unknown };
        // SAFETY: as the header says.
        unsafe { fill(gap, found)? };
        Ok(0)
    })
}
