//! Pushes. What stands between C and the recorder's push is a test of pointers.
//!
//! Invariant: a push makes no system call, allocates nothing and takes no lock; a refused one
//! neither, so it sets no text (`tests/push.rs`) but where an argument is a mistake.

use crate::arguments::slice;
use crate::error::{guard, invalid, refused};
use crate::producer::{baro_producer, pushing};
use crate::structs::baro_value;
use ::baro_recorder::Refused;
use std::ffi::{c_char, c_void};

/// The end of each push. `sequence` may be null.
#[inline]
unsafe fn pushed(result: std::result::Result<u64, Refused>, sequence: *mut u64) -> i32 {
    match result {
        Ok(found) => {
            if !sequence.is_null() {
                // SAFETY: not null, and the caller's.
                unsafe { sequence.write(found) };
            }
            0
        }
        Err(reason) => refused(reason),
    }
}

/// Pushes a frame of `channel`, taken at `time_ns`. `sequence` may be null. Never blocks, never
/// enters the kernel. BARO_EAGAIN: the ring is full; the record is counted and will be a gap.
///
/// Of a record a push checks its size and its pointers, and of text that it is UTF-8, but looks no id
/// up. The recorder does, before it writes: a record in which an id is declared with another type than
/// it is pushed with, here and in all pushes below, is not recorded. It is counted in `lost` of
/// baro_status, told by baro_complaints and to the callback of baro_on_event, and will be a gap. An id
/// that nobody declared is recorded, and no name finds it:
/// baro_complaints and baro verify tell of it.
///
/// Returns 0, BARO_EAGAIN, BARO_EMSGSIZE, BARO_ESHUTDOWN, BARO_EPERM, BARO_EINVAL, and BARO_EBUSY
/// in builds of the library with checks, if two threads push at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_frame(
    producer: *mut baro_producer,
    channel: u32,
    time_ns: i64,
    frame: *const c_void,
    frame_bytes: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let frame = slice(frame.cast::<u8>(), frame_bytes, "frame")?;
            Ok(pushed(producer.push_frame(channel, time_ns, frame), sequence))
        }
    })
}

/// Pushes a batch of `count` samples as columns, all taken at `time_ns`: values of series of type
/// BARO_F64. Otherwise as baro_push_frame.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_samples(
    producer: *mut baro_producer,
    time_ns: i64,
    series: *const u32,
    values: *const f64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_samples(time_ns, series, values), sequence))
        }
    })
}

/// The same for series of any other type than BARO_F64.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_integers(
    producer: *mut baro_producer,
    time_ns: i64,
    series: *const u32,
    values: *const i64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_samples(time_ns, series, values), sequence))
        }
    })
}

/// Pushes a batch of `count` samples as columns, each with a time of its own, in any order: values
/// of series of type BARO_F64. Otherwise as baro_push_frame; BARO_EINVAL if there is none.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_batch(
    producer: *mut baro_producer,
    times_ns: *const i64,
    series: *const u32,
    values: *const f64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let times_ns = slice(times_ns, count, "times_ns")?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_batch(times_ns, series, values), sequence))
        }
    })
}

/// The same for series of any other type than BARO_F64 and BARO_TEXT.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_integer_batch(
    producer: *mut baro_producer,
    times_ns: *const i64,
    series: *const u32,
    values: *const i64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let times_ns = slice(times_ns, count, "times_ns")?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_batch(times_ns, series, values), sequence))
        }
    })
}

/// Pushes a batch of `count` samples of series of several types as columns, all taken at `time_ns`.
/// The caller puts each value into the field of its series' type: the recorder looks whether the ids
/// are of series of numbers, but cannot see which field was meant. Otherwise as baro_push_frame.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_mixed(
    producer: *mut baro_producer,
    time_ns: i64,
    series: *const u32,
    values: *const baro_value,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says; a value is 64 bits, of which every pattern is an integer.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let (series, words) =
                (slice(series, count, "series")?, slice(values.cast::<i64>(), count, "values")?);
            Ok(pushed(producer.push_words(&[time_ns], series, words), sequence))
        }
    })
}

/// The same with a time for each sample, in any order; BARO_EINVAL if there is none.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_mixed_batch(
    producer: *mut baro_producer,
    times_ns: *const i64,
    series: *const u32,
    values: *const baro_value,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says; a value is 64 bits, of which every pattern is an integer.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let times_ns = slice(times_ns, count, "times_ns")?;
            let (series, words) =
                (slice(series, count, "series")?, slice(values.cast::<i64>(), count, "values")?);
            Ok(pushed(producer.push_words(times_ns, series, words), sequence))
        }
    })
}

/// Pushes one sample of a series of type BARO_TEXT: `text_bytes` of UTF-8, at most 65536, without a
/// zero byte at the end. Otherwise as baro_push_frame; BARO_EINVAL if it is not UTF-8.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_text(
    producer: *mut baro_producer,
    series: u32,
    time_ns: i64,
    text: *const c_char,
    text_bytes: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let text = slice(text.cast::<u8>(), text_bytes, "text")?;
            let Ok(text) = std::str::from_utf8(text) else {
                return Ok(invalid("text: not UTF-8; frames take any bytes, see baro_push_frame"));
            };
            Ok(pushed(producer.push_text(series, time_ns, text), sequence))
        }
    })
}

/// Pushes one sample of a series of type BARO_F64. A batch costs less for each sample.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_sample(
    producer: *mut baro_producer,
    series: u32,
    time_ns: i64,
    value: f64,
    sequence: *mut u64,
) -> i32 {
    // SAFETY: one element each, and as the header says.
    unsafe {
        baro_push_samples(producer, time_ns, &raw const series, &raw const value, 1, sequence)
    }
}

/// Pushes one sample of a series of any other type.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_integer(
    producer: *mut baro_producer,
    series: u32,
    time_ns: i64,
    value: i64,
    sequence: *mut u64,
) -> i32 {
    // SAFETY: one element each, and as the header says.
    unsafe {
        baro_push_integers(producer, time_ns, &raw const series, &raw const value, 1, sequence)
    }
}
